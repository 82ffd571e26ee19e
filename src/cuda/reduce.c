/* Stage reduce, host side; the kernels and their ladder stand in kernels/reduce.cu and kernels/block.cuh. */
#include "cuda/context.h"

int cuda_reduce_blocks(const CudaContext *context) {
    int64_t blocks = cuda_blocks(context->n_atoms, context->kernels[CUDA_K_reduce_sums].block_size);
    return blocks < CUDA_MAX_SUM_BLOCKS ? (int)blocks : CUDA_MAX_SUM_BLOCKS;
}

void cuda_reduce_finish(CudaContext *context, int first, int n_sums, int n_partials) {
    context->arguments.first = first;
    context->arguments.n = n_partials;
    cuda_launch_blocks(context, CUDA_K_reduce_finish, n_sums);
}

void cuda_reduce_sums(CudaContext *context, MdSums *sums) {
    int blocks = cuda_reduce_blocks(context);
    cuda_timing_begin(context, CUDA_REDUCE);
    cuda_launch_blocks(context, CUDA_K_reduce_sums, blocks);
    cuda_reduce_finish(context, CUDA_KINETIC, CUDA_ATOM_TOTALS, blocks);
    CUDA_CHECK(cudaMemcpyAsync(context->h_totals, context->arguments.totals, CUDA_N_TOTALS * sizeof(double),
                               cudaMemcpyDeviceToHost, context->stream));
    cuda_timing_end(context);
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    const double *totals = context->h_totals;
    sums->pairs = totals[CUDA_PAIRS];
    sums->potential = totals[CUDA_POTENTIAL];
    sums->truncation = totals[CUDA_TRUNCATION];
    sums->virial = totals[CUDA_VIRIAL];
    sums->kinetic = totals[CUDA_KINETIC];
    for (int axis = 0; axis < 3; axis++) sums->momentum[axis] = totals[CUDA_MOMENTUM + axis];
    sums->force_sq_mass = totals[CUDA_FORCE_SQ];
}

void cuda_reduce_measure(CudaContext *context) {
    CUDA_CHECK(cudaMemsetAsync(&context->arguments.watch->measures, 0, sizeof(CudaMeasures), context->stream));
    cuda_launch_blocks(context, CUDA_K_reduce_measure, cuda_reduce_blocks(context));
}
