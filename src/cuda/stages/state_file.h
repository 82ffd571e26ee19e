/* What the cuda backend keeps in restart files, for state_save.c and state.c. The kernels are in kernels/gather_state.cuh.
 *
 * The list is not kept, but its input: the positions at the last build in the order of memory, and the grid. From
 * these the same kernels make the same rows with their entries in the same order. */
#ifndef MD_CUDA_STATE_FILE_H
#define MD_CUDA_STATE_FILE_H

#include "cuda/stages/stages.h"

/* Of the whole box. Without gaps: its bytes go into the file. */
typedef struct ListState {
    int32_t n[3], wraps[3];
    double origin[3], inverse_edge[3];
    int32_t n_bricks[3], brick_cells; /* 0 without bricks */
    int64_t brick_grid;
    int64_t age; /* steps since the list was made */
} ListState;

static const char *const raw_names[] = {[CUDA_RAW_POSITION] = "position",
                                        [CUDA_RAW_VELOCITY] = "velocity",
                                        [CUDA_RAW_FORCE] = "force",
                                        [CUDA_RAW_REFERENCE] = "cuda built at"};

static inline size_t raw_size(const CudaContext *context, int which) {
    return which == CUDA_RAW_POSITION || which == CUDA_RAW_VELOCITY ? context->facts.state_size
                                                                    : context->facts.pair_size;
}

#endif
