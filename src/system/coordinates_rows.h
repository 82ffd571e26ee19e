/* The atoms of a coordinate file, to which its readers add row by row. Internal to src/system. */
#ifndef MD_SYSTEM_COORDINATES_ROWS_H
#define MD_SYSTEM_COORDINATES_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "system/system.h"
#include "system/text_lines.h"

typedef struct MdCoordinates {
    int64_t n_atoms;
    double *position;                             /* [n_atoms][3]; as read, until md_coordinates_settle */
    double *velocity, *momentum;                  /* [n_atoms][3], or NULL; see md_coordinates_use_masses */
    bool velocity_per_fs;                         /* in metal units angstrom/fs, else angstrom/ps */
    int64_t *id;                                  /* [n_atoms], or NULL; ascending */
    int32_t *type;                                /* [n_atoms], or NULL: a table */
    int32_t *line;                                /* [n_atoms] of the file, for messages */
    int n_types;                                  /* 0: a table */
    char symbol[MD_MAX_TYPES][MD_TYPE_NAME_SIZE]; /* of each type */
    double mass[MD_MAX_TYPES];                    /* of each type; 0: not in the file */
    bool has_lattice, has_pbc;
    double lattice[3]; /* edge lengths; 0: none along that axis */
    double origin[3];  /* of the box in the file; positions are counted from it */
    bool pbc[3];
    char *note; /* parts of the file that are interpreted specially, or ignored: for the log; or NULL */
} MdCoordinates;

void md_coordinates_destroy(MdCoordinates *coordinates);

/* Adds a part to the note, after a semicolon. */
void md_coordinates_note(MdCoordinates *coordinates, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct MdRow {
    double position[3], velocity[3], momentum[3];
    int64_t id;
    int32_t type;
} MdRow;

/* The columns of a file besides positions. */
typedef struct MdRowParts {
    bool type, velocity, momentum, id;
} MdRowParts;

/* Adds an atom read at that line. */
void md_coordinates_append(MdCoordinates *c, int64_t *capacity, const MdRow *row, const MdRowParts *parts, int line);

/* Puts atoms in the order of their ids; two of the same id are a problem. */
void md_coordinates_sort(MdCoordinates *c, MdLines *lines);

/* Whether a coordinate or velocity is of a size that can be computed with; if not, it is a problem of the line. */
bool md_coordinates_in_range(MdLines *lines, double value);

/* A word as a number of that size; if it is none, it is a problem of the line. */
bool md_coordinates_number(MdLines *lines, char *word, size_t length, double *value);

#endif
