/* The readers of coordinate files, and what they do in the end. Internal to src/system. */
#ifndef MD_SYSTEM_COORDINATES_READ_H
#define MD_SYSTEM_COORDINATES_READ_H

#include "system/coordinates_rows.h"

/* Puts atoms in the order of their ids; two of the same id are a problem. */
void md_coordinates_sort(MdCoordinates *c, MdLines *lines);

/* Reads an XYZ file whose first line, the number of atoms, is `line`; problems go to lines. */
void md_coordinates_read_xyz(MdLines *lines, char *line, int dimension, MdCoordinates *c);

#endif
