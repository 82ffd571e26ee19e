/* What the readers of coordinate files share. Internal to src/system. */
#ifndef MD_SYSTEM_COORDINATES_READ_H
#define MD_SYSTEM_COORDINATES_READ_H

#include "system/coordinates.h"
#include "system/text_lines.h"

typedef struct MdRow {
    double position[3], velocity[3], momentum[3];
    int64_t id;
    int32_t type;
} MdRow;

/* What the rows of a file have besides positions. */
typedef struct MdRowParts {
    bool type, velocity, momentum, id;
} MdRowParts;

/* Adds an atom read at that line. */
void md_coordinates_append(MdCoordinates *c, int64_t *capacity, const MdRow *row, const MdRowParts *parts, int line);

/* Whether a coordinate or velocity is of a size that can be computed with; if not, it is a problem of the line. */
bool md_coordinates_in_range(MdLines *lines, double value);

/* A word as a number of that size; if it is none, it is a problem of the line. */
bool md_coordinates_number(MdLines *lines, char *word, size_t length, double *value);

/* Puts atoms in the order of their ids; two of the same id are a problem. */
void md_coordinates_sort(MdCoordinates *c, MdLines *lines);

/* Reads an XYZ file whose first line, the number of atoms, is `line`; problems go to lines. */
void md_coordinates_read_xyz(MdLines *lines, char *line, int dimension, MdCoordinates *c);

#endif
