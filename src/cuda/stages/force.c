/* Stage force, host side; the kernels and their ladder are in kernels/force.cu. */
#include "cuda/stages/stages.h"

void cuda_force_issue(CudaContext *context, bool with_energy) {
    const CudaKernelId kernel = with_energy ? CUDA_K_force_energy : CUDA_K_force_plain;
    const int64_t blocks = with_energy ? cuda_force_sum_blocks(context) : cuda_force_blocks(context, kernel);
    cuda_halo_update(context, 0);
    if (context->facts.adds_forces) cuda_force_zero(context);
    if (with_energy) cuda_reduce_begin(context, CUDA_POTENTIAL, context->facts.pair_sums, blocks);
    cuda_launch_blocks(context, kernel, blocks);
    if (with_energy) cuda_reduce_finish(context, CUDA_POTENTIAL, context->facts.pair_sums, blocks);
    context->has_forces = true;
}

void cuda_force_compute(CudaContext *context, bool with_energy) {
    if (context->comm) {
        cuda_timing_begin(context, CUDA_HALO);
        cuda_halo_update(context, 0);
        cuda_timing_end(context);
    }
    cuda_timing_begin(context, CUDA_FORCE);
    cuda_memory_begin(context, CUDA_FORCES);
    cuda_force_issue(context, with_energy);
    cuda_timing_end(context);
}
