/* How large launches and arrays are that depend on the grid of cells, besides the facts of the configuration; and frames. */
#include "cuda/stages/stages.h"

int cuda_sort_count_cells(const CudaGrid *grid) { return grid->n[0] * grid->n[1] * grid->n[2]; }

int64_t cuda_brick_count(const CudaGrid *grid) {
    return (int64_t)grid->n_bricks[0] * grid->n_bricks[1] * grid->n_bricks[2];
}

int64_t cuda_neighbor_threads(const CudaContext *context) {
    const bool by_warps = context->config.neighbor_threads_per_atom == MD_ROW_THREADS_32;
    return (by_warps ? 32 : 1) * (int64_t)context->room;
}

int64_t cuda_force_items(const CudaContext *context) {
    switch (context->config.force_kernel) {
    case MD_KERNEL_CELL: return 32 * (int64_t)cuda_sort_count_cells(&context->arguments.grid); /* a warp each */
    case MD_KERNEL_CLUSTER: return 32 * cuda_blocks(context->room, CUDA_CLUSTER);
    case MD_KERNEL_BRICK: return cuda_brick_count(&context->arguments.grid);
    default: return (int64_t)context->room * context->facts.threads_per_atom;
    }
}

/* Stages may have blocks of different sizes. */
int64_t cuda_force_blocks(const CudaContext *context, CudaKernelId id) {
    const int64_t items = cuda_force_items(context);
    return context->facts.has_bricks ? items : cuda_blocks(items, context->kernels[id].block_size);
}

int64_t cuda_force_sum_blocks(const CudaContext *context) {
    const int64_t blocks = cuda_force_blocks(context, CUDA_K_force_energy);
    return context->facts.has_bricks && blocks > CUDA_MAX_SUM_BLOCKS ? CUDA_MAX_SUM_BLOCKS : blocks;
}

int64_t cuda_force_most_blocks(const CudaContext *context) {
    if (context->config.force_kernel == MD_KERNEL_CELL) return context->max_cells;
    if (context->facts.has_bricks) return CUDA_MAX_SUM_BLOCKS;
    return cuda_blocks(cuda_force_items(context), 32);
}

int cuda_sum_blocks(const CudaContext *context, CudaKernelId id) {
    int64_t blocks = cuda_blocks(context->room, context->kernels[id].block_size);
    bool one = context->config.reduce_per_thread == MD_PER_THREAD_ONE;
    return one || blocks < CUDA_MAX_SUM_BLOCKS ? (int)blocks : CUDA_MAX_SUM_BLOCKS;
}

int cuda_reduce_blocks(const CudaContext *context) { return cuda_sum_blocks(context, CUDA_K_reduce_sums); }

int64_t cuda_reduce_most_blocks(const CudaContext *context) {
    int64_t blocks = cuda_blocks(context->room, 32);
    bool one = context->config.reduce_per_thread == MD_PER_THREAD_ONE;
    return one || blocks < CUDA_MAX_SUM_BLOCKS ? blocks : CUDA_MAX_SUM_BLOCKS;
}

/* The one number a thread that a tree needs, in the kernels that reduce. */
size_t cuda_reduce_dynamic_shared(const CudaContext *context, CudaKernelId id, int block_size) {
    if (context->config.reduce_method != MD_METHOD_SHARED_DYNAMIC) return 0;
    switch (id) {
    case CUDA_K_force_energy:
    case CUDA_K_integrate_kick_drift:
    case CUDA_K_integrate_check:
    case CUDA_K_step_resident:
    case CUDA_K_step_drift:
    case CUDA_K_step_pass:
    case CUDA_K_reduce_sums:
    case CUDA_K_reduce_finish:
    case CUDA_K_observe_motion:
    case CUDA_K_reduce_measure: return (size_t)block_size * sizeof(double);
    default: return 0;
    }
}

size_t cuda_reduce_row_bytes(const CudaContext *context) {
    if (context->config.reduce_finish != MD_FINISH_HOST) return sizeof(CudaRowHead);
    return sizeof(CudaRowHead) + sizeof(double) * (size_t)context->facts.sum_parts *
                                     ((size_t)cuda_force_most_blocks(context) * (size_t)context->facts.pair_sums +
                                      (size_t)cuda_reduce_most_blocks(context) * (size_t)context->facts.atom_sums);
}

size_t cuda_force_shared_bytes(const CudaContext *context, int block) {
    const MdConfig *config = &context->config;
    const size_t threads = (size_t)block;
    if (config->force_kernel == MD_KERNEL_PAIRS_TILED || config->force_kernel == MD_KERNEL_CELL)
        return threads * 4 * context->facts.pair_size; /* an atom each */
    if (config->force_kernel == MD_KERNEL_BRICK) return cuda_brick_force_bytes(&context->arguments.bricks, config);
    if (cuda_facts(config).threads_per_atom > 1 && config->force_partial_sums == MD_PARTIAL_SUMS_SHARED)
        return threads * 3 * context->facts.pair_size;
    return 0;
}

enum { LINE_BYTES = 256 }; /* each quantity of a frame begins on a new line */

bool cuda_output_joins(const CudaContext *context) {
    const bool reaches_all = context->config.parallel_transport == MD_TRANSPORT_DIRECT;
    return cuda_domain_lists_by_kernels(context) && (reaches_all || !context->output.spec.by_blocks);
}

size_t cuda_frame_column_bytes(const CudaContext *context, int k, int64_t n) {
    const MdRingSpec *spec = &context->output.spec;
    if (k == CUDA_FRAME_IDS) return context->comm ? (size_t)n * sizeof(int32_t) : 0;
    return (size_t)md_frame_bytes(n, spec->quantities & 1u << k, spec->precision);
}

size_t cuda_frame_offset(const CudaContext *context, int k, int64_t room) {
    size_t offset = 0;
    for (int before = 0; before < k; before++)
        offset += (cuda_frame_column_bytes(context, before, room) + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    return offset;
}
