/* What the readers of coordinate files share. Internal to src/system. */
#ifndef MD_SYSTEM_COORDINATES_READ_H
#define MD_SYSTEM_COORDINATES_READ_H

#include "system/coordinates.h"
#include "system/text_lines.h"

typedef struct MdRow {
    double position[3], velocity[3];
    int32_t type;
} MdRow;

/* Adds an atom read at that line; types are kept when c->n_types is not 0. */
void md_coordinates_append(MdCoordinates *c, int64_t *capacity, const MdRow *row, bool velocities, int line);

/* Whether a coordinate or velocity is of a size that can be computed with; if not, it is a problem of the line. */
bool md_coordinates_in_range(MdLines *lines, double value);

/* Reads an XYZ file whose first line, the number of atoms, is `line`; problems go to lines. */
void md_coordinates_read_xyz(MdLines *lines, char *line, int dimension, MdCoordinates *c);

#endif
