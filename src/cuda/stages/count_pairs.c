/* Stage observe, host side of kernels/count_pairs.cuh. */
#include "cuda/stages/array_table.h"

void cuda_count_plan(CudaContext *context, int64_t n_atoms) {
    context->pair_count = md_pair_count(&context->config, &context->box, &context->potential, n_atoms);
    context->arguments.pair_count.cells = context->pair_count.cells;
    context->arguments.pair_count.range = context->pair_count.range;
}

/* Blocks that share the atoms: some for each multiprocessor; more where a block could count to 2^32, each pair twice. */
static int64_t count_blocks(const CudaContext *context) {
    const double n = context->room;
    const int64_t all = cuda_blocks(context->room, context->kernels[CUDA_K_observe_pairs].block_size),
                  least = (int64_t)(n * n / 0x1p31) + 1, some = 16 * (int64_t)context->n_sms,
                  wanted = least > some ? least : some;
    return wanted < all ? wanted : all;
}

void cuda_count_issue(CudaContext *context, int row) {
    CudaArguments *a = &context->arguments;
    const MdPairCells *cells = &context->pair_count.cells;
    const size_t n_cells = (size_t)md_pair_count_cells(&context->pair_count);
    const int64_t of_atoms = cuda_sum_blocks(context, CUDA_K_observe_pair_cells),
                  n_lines = (int64_t)cells->n[1] * cells->n[2];
    cuda_timing_begin(context, CUDA_OBSERVE);
    a->count_row = row;
    CUDA_CHECK(cudaMemsetAsync(a->pair_count.cursor, 0, n_cells * sizeof(int32_t), context->stream));
    CUDA_CHECK(cudaMemsetAsync(a->pair_count.begin + n_cells, 0, sizeof(int32_t), context->stream));
    cuda_launch_blocks(context, CUDA_K_observe_pair_cells, of_atoms);
    cuda_launch_blocks(context, CUDA_K_observe_pair_lines,
                       cuda_blocks(32 * n_lines, context->kernels[CUDA_K_observe_pair_lines].block_size));
    cuda_launch_blocks(context, CUDA_K_observe_pair_atoms, of_atoms);
    cuda_launch_blocks(context, CUDA_K_observe_pairs, count_blocks(context));
    cuda_timing_end(context);
}

void cuda_count_take(CudaContext *context, int n_rows, int64_t *counts) {
    const size_t n = (size_t)n_rows * md_pair_count_size(&context->pair_count);
    cuda_memory_download(context, counts, context->arguments.pair_count.counts, n * sizeof *counts);
    cuda_memory_clear_counts(context);
    md_comm_add_integers(context->comm, counts, (int)n);
}
