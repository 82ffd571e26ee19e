/* Cells in which pairs of atoms up to some distance are found, for a periodic box: edges are no shorter than that distance, so that
 * partners are in the cells around. A cell and its partners meet once: those after it in a half of the cells around, in the order z, y, x.
 * A step beyond the last cell is one to the image of the first, also if an axis has one or two cells; as the distance is no more than
 * half an edge of the box, a pair is found once. */
#ifndef MD_PHYSICS_PAIR_CELLS_H
#define MD_PHYSICS_PAIR_CELLS_H

#include "physics/real.h"

typedef struct MdPairCells {
    int n[3];
    double edge[3], inverse[3]; /* of an axis that space does not have: 1 and 0 */
} MdPairCells;

/* The cell of a coordinate, and in *rest its distance from the corner of the cell. A coordinate that is no number is in cell 0. */
MD_HD int md_pair_cell(const MdPairCells *cells, int axis, double x, double *rest) {
    double turns = floor(x * cells->inverse[axis]);
    if (!(fabs(turns) < 1e9)) turns = 0;
    *rest = x - turns * cells->edge[axis];
    const int cell = (int)turns % cells->n[axis];
    return cell < 0 ? cell + cells->n[axis] : cell;
}

/* The number of a pair of types, of n (n + 1) / 2. */
MD_HD int md_pair_kind(int a, int b, int n_types) {
    const int low = a < b ? a : b, high = a < b ? b : a;
    return low * (2 * n_types - low - 1) / 2 + high;
}

#endif
