/* The barrier of a whole grid, all blocks of which are resident: cooperative groups' grid.sync, by way of L2. It needs a header
 * of the toolkit, which latency.cu does without. */
#include "microbench/kernels/ceiling.cuh"

#include <cooperative_groups.h>

/* a.n barriers; between them each thread looks whether thread 0 has come. */
RESIDENT_CEILING(latency_grid) {
    const cooperative_groups::grid_group all = cooperative_groups::this_grid();
    volatile unsigned *turn = a.counts + 2;
    unsigned late = 0;
    for (unsigned k = 0; k < (unsigned)a.n; k += 2) {
        if (thread_index() == 0) *turn = k;
        all.sync(); /* the turn is written */
        late += *turn != k;
        all.sync(); /* all have read it */
    }
    if (thread_index() == 0) atomicAdd(a.counts, (unsigned)a.n);
    if (late) atomicAdd(a.counts + 1, late);
}
