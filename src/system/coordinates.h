/* Coordinate files: a table of two or three columns, or XYZ, plain or extended. One configuration each.
 *
 * Table: a row of numbers for each atom, separated by blanks; `#` starts a comment; blank lines are ignored.
 * XYZ: the number of atoms, a comment line, then `Symbol x y z` for each atom. Symbols become types in the order of
 * their first appearance; if all are whole numbers, in the order of the numbers, and the note says so unless they are 1, 2, ... Extended XYZ
 * (https://github.com/libAtoms/extxyz): the comment line holds `key=value` pairs (base/pairs.h). These are used, in any case and order, each of them once:
 *   Lattice="..."     the edge vectors, nine numbers or [[..],[..],[..]], or the three edges of a cuboid. The box must
 *                     be a cuboid along the axes (to 1e-10 of its longest edge); an edge of 0: the axis has none;
 *   Origin="..."      three numbers, as OVITO and LAMMPS write: the corner of the box, which becomes 0 0 0;
 *   pbc="T T F"       which axes are periodic (T, true, 1; one word serves for all); all, where there is no pbc;
 *   Properties=...    columns as name:kind:count (kind R, I, S or L), such as species:S:1:pos:R:3:velo:R:3.
 * Columns that are used, by any of these names:
 *   species, symbols, symbol, element, elements; else type, types, atom_types     the name of the type
 *   Z, numbers, atomic_numbers      atomic number; names the type where no species does, else it must agree
 *   pos, position, positions        R:3; in two dimensions R:2 will do
 *   velo, vel, velocity, velocities R:3, or momenta, momentum: R:3, mass times velocity; both must agree
 *   mass, masses                    one for all atoms of a type
 *   id, ids                         atoms are put in the order of these numbers
 * All other keys and columns are named in the note. Numbers may have Fortran's exponent (1.5d0). */
#ifndef MD_SYSTEM_COORDINATES_H
#define MD_SYSTEM_COORDINATES_H

#include "base/status.h"
#include "physics/box.h"
#include "system/coordinates_rows.h"

/* Reads a file for a system of that dimension (2: two columns, or a third that is 0), or its text where that is in
 * memory (size bytes and a zero; else NULL). NULL, with each problem as `file:line: text` in errors (no more
 * than ten), when it cannot be used. */
MdCoordinates *md_coordinates_read(const char *path, const char *text, size_t size, int dimension, MdErrors *errors);

/* Least and largest coordinate along each axis. */
void md_coordinates_extent(const MdCoordinates *coordinates, double low[3], double high[3]);

/* Turns momenta into velocities; where the file has both, refuses momenta that are not mass times velocity. */
MdStatus md_coordinates_use_masses(MdCoordinates *coordinates, const double *mass, const char *path, MdErrors *errors);

/* Wraps positions into the box along periodic axes, and refuses two atoms at one point (nearer than 1e-6 sigma). */
MdStatus md_coordinates_settle(MdCoordinates *coordinates, const MdBox *box, const char *path, MdErrors *errors);

#endif
