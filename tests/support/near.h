/* Atoms near an atom, through cells of the tests' own: for sums over all pairs within some reach of states too large for all
 * pairs. Shares nothing with the lists and grids under test. */
#ifndef MD_TESTS_NEAR_H
#define MD_TESTS_NEAR_H

#include "system/system.h"

typedef struct Near {
    double low[3], per_length[3]; /* of the cells */
    int64_t n[3];
    bool periodic[3];
    const double *position; /* the caller's */
    int64_t *start, *atom;  /* [cells + 1] first slot of a cell; [n_atoms] the atom in a slot */
    int64_t *found;         /* [n_atoms] what near_find has found */
} Near;

/* position [n_atoms][3], in [0, length] along periodic axes. Free with near_free. */
Near near_make(const MdSystem *system, const double *position, double reach);
void near_free(Near *near);

/* Every atom within reach of atom i, i itself and some further away: found[0 .. n), each once. Returns n. */
int64_t near_find(Near *near, int64_t i);

#endif
