/* Stage force, host side; the kernels and their ladder stand in kernels/force.cu. */
#include "cuda/context.h"

bool cuda_force_has_list(const CudaContext *context) {
    (void)context;
    return true;
}

int64_t cuda_force_blocks(const CudaContext *context) {
    return cuda_blocks(context->n_atoms, context->kernels[CUDA_K_force_energy].block_size);
}

int64_t cuda_force_most_blocks(const CudaContext *context) { return cuda_blocks(context->n_atoms, 32); }

void cuda_force_issue(CudaContext *context, bool with_energy) {
    int64_t blocks = cuda_force_blocks(context);
    if (with_energy) cuda_reduce_begin(context, CUDA_POTENTIAL, CUDA_PAIR_TOTALS);
    cuda_launch_blocks(context, with_energy ? CUDA_K_force_energy : CUDA_K_force_plain, blocks);
    if (with_energy) cuda_reduce_finish(context, CUDA_POTENTIAL, CUDA_PAIR_TOTALS, blocks);
}
