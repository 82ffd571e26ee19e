/* Points in hashed cells: finds points near a position, while points are being added. The cells cover any extent at a cost
 * that depends only on the number of points, so that one stray point of an open box does no harm. */
#ifndef MD_SYSTEM_POINT_GRID_H
#define MD_SYSTEM_POINT_GRID_H

#include <stdint.h>

#include "physics/box.h"

typedef struct MdPointGrid MdPointGrid;

/* side: least edge of a cell; about the distance that will be asked for, or larger. Room for n_points points. */
MdPointGrid *md_point_grid_create(const MdBox *box, double side, int64_t n_points);
void md_point_grid_destroy(MdPointGrid *grid);

/* Adds the next point; its number is how many there were before. The grid keeps the pointer. Points lie in [0, length)
 * along periodic axes. */
void md_point_grid_add(MdPointGrid *grid, const double *point);

/* Number of a point nearer than distance to place (nearest image along periodic axes), -1 when there is none. */
int64_t md_point_grid_find(const MdPointGrid *grid, const double *place, double distance);

#endif
