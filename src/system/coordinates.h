/* Coordinate files: a table of two or three columns, or XYZ, plain or extended. One configuration each.
 *
 * Table: a row of numbers for each atom, separated by blanks; `#` starts a comment; blank lines count for nothing.
 * XYZ: the number of atoms, a comment line, then `Symbol x y z` for each atom; further columns are left alone. Symbols
 * become types in the order of their first appearance. Extended XYZ (the comment line holds `key=value` pairs):
 *   Lattice="..."     nine numbers, the edge vectors; a cuboid along the axes is required;
 *   pbc="T T F"       which axes are periodic; all, where there is a Lattice and no pbc;
 *   Properties=...    columns, such as species:S:1:pos:R:3:velo:R:3; velocities (velo, vel or velocities) are used.
 * Other keys and properties are left alone. */
#ifndef MD_SYSTEM_COORDINATES_H
#define MD_SYSTEM_COORDINATES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "physics/box.h"
#include "system/system.h"

typedef struct MdCoordinates {
    int64_t n_atoms;
    double *position;                             /* [n_atoms][3]; as read, until md_coordinates_settle */
    double *velocity;                             /* [n_atoms][3], or NULL */
    int32_t *type;                                /* [n_atoms], or NULL: a table */
    int32_t *line;                                /* [n_atoms] of the file, for messages */
    int n_types;                                  /* 0: a table */
    char symbol[MD_MAX_TYPES][MD_TYPE_NAME_SIZE]; /* of each type */
    bool has_lattice, has_pbc;
    double lattice[3]; /* edge lengths */
    bool pbc[3];
} MdCoordinates;

/* Reads a whole file for a system of that dimension (2: two columns, or a third that is 0). NULL, with each problem as
 * `file:line: what was read` in errors (no more than ten), when it cannot be used. */
MdCoordinates *md_coordinates_read(const char *path, int dimension, MdErrors *errors);
void md_coordinates_destroy(MdCoordinates *coordinates);

/* Least and largest coordinate along each axis. */
void md_coordinates_extent(const MdCoordinates *coordinates, double low[3], double high[3]);

/* Wraps positions into the box along periodic axes, and refuses two atoms at one point (nearer than 1e-6 sigma). */
MdStatus md_coordinates_settle(MdCoordinates *coordinates, const MdBox *box, const char *path, MdErrors *errors);

#endif
