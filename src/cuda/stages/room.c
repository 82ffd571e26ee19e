/* Room for the bricks of a run: planned for a uniform system, and made where a search has found more. bricks/
 * has the limits of their sizes. */
#include <math.h>

#include "cuda/stages/stages.h"

/* Atoms for which a kernel has room on this GPU, with so many bytes for each and so many beside them. */
static double staged_by(const CudaContext *context, CudaKernelId id, size_t beside, size_t atom_bytes) {
    const double bytes = (double)cuda_device_shared_bytes() - (double)(context->kernels[id].static_shared + beside);
    return floor(bytes / (double)atom_bytes) - CUDA_STAGED_BESIDE;
}

/* Atoms that a block can stage on this GPU, at most: shared memory also has the tables of the search, for as many atoms as any
 * block has, and the data of the resident kernel. */
static int32_t most_staged(const CudaContext *context) {
    static const CudaKernelId by_pairs[] = {CUDA_K_force_plain, CUDA_K_force_energy, CUDA_K_step_resident,
                                            CUDA_K_step_pass, CUDA_K_step_queue};
    const CudaKernel *search = &context->kernels[CUDA_K_neighbor_brick];
    const CudaBricks most = cuda_brick_room(context, CUDA_MAX_STAGED);
    const size_t tables = (size_t)(most.cell_bytes + search->block_size / 32 * most.warp_bytes);
    double atoms = staged_by(context, CUDA_K_neighbor_brick, tables, cuda_brick_staged_bytes(&context->config));
    for (size_t k = 0; k < sizeof by_pairs / sizeof by_pairs[0]; k++) {
        const CudaKernel *kernel = &context->kernels[by_pairs[k]];
        const size_t held =
            by_pairs[k] == CUDA_K_step_resident ? cuda_brick_held_bytes(&context->config, kernel->block_size) : 0;
        if (kernel->function) atoms = fmin(atoms, staged_by(context, by_pairs[k], held, 4 * context->facts.pair_size));
    }
    return (int32_t)fmin(atoms, CUDA_MAX_STAGED);
}

/* Smaller bricks: as many as the cells allow, instead of one or two a multiprocessor; then bricks of fewer cells of the same
 * size. staged: atoms of the fullest block, or the atoms of its cells if they are more than it can visit. */
static MdStatus divide_further(CudaContext *context, int32_t staged) {
    const bool by_device = context->brick_grid != MD_BRICK_GRID_CELLS;
    const bool is_asked_for = by_device ? context->asked.memory_brick_grid != MD_BRICK_GRID_AUTO
                                        : context->asked.memory_brick_cells != MD_BRICK_CELLS_AUTO;
    if (is_asked_for || (!by_device && context->brick_cells == 1))
        return md_fail(context->errors, MD_ERROR_INPUT,
                       "force.kernel=brick: a block would have %d atoms of a brick and around it, and can stage %d "
                       "here: take %s",
                       staged, most_staged(context),
                       by_device                   ? "memory.brick_grid=cells, or auto"
                       : context->brick_cells == 1 ? "another force.kernel"
                                                   : "a smaller memory.brick_cells, or auto");
    if (context->facts.lists_copies)
        return md_fail(context->errors, MD_ERROR_INPUT,
                       "%s: bricks would have to be smaller here, and those of all processes must be alike: take "
                       "launch.persistent=off with launch.passes=kernels, or a smaller memory.brick_cells",
                       context->facts.queues ? "launch.passes=queue" : "launch.persistent=on");
    if (by_device) context->brick_grid = MD_BRICK_GRID_CELLS;
    else context->brick_cells--;
    CudaGrid grid = context->arguments.grid;
    double extent[3];
    cuda_grid_extent(context, extent);
    cuda_grid_fill(context, extent, &grid);
    cuda_sort_again(context, &grid);
    context->arguments.n_force_items = cuda_force_items(context);
    return MD_OK;
}

MdStatus cuda_brick_make_room(CudaContext *context, bool *fits) {
    const CudaMeasures *found = &context->h_status->measures;
    CudaBricks *bricks = &context->arguments.bricks;
    const int64_t n_sources = (int64_t)found->sources, n_slices = (int64_t)found->slices;
    *fits =
        found->staged <= bricks->capacity && n_sources <= bricks->source_capacity && n_slices <= bricks->slice_capacity;
    if (*fits) return MD_OK;
    context->n_overflows++;
    if (found->staged > most_staged(context)) {
        MdStatus status = divide_further(context, found->staged);
        if (status != MD_OK) return status;
    } else if (found->staged > bricks->capacity) {
        *bricks = cuda_brick_room(context, cuda_brick_room_for(1.1 * found->staged, most_staged(context)));
        MdStatus status = cuda_kernels_fit_shared(context);
        if (status != MD_OK) return status;
    }
    const int64_t most = cuda_brick_most_slices(context->n_own, (double)cuda_brick_count(&context->arguments.grid));
    int64_t more_slices = n_slices > bricks->slice_capacity ? n_slices + n_slices / 32 : 0;
    if (more_slices > most && most >= n_slices) more_slices = most;
    return cuda_memory_grow_bricks(context, n_sources > bricks->source_capacity ? n_sources + n_sources / 10 : 0,
                                   more_slices);
}
