/* Stage sort: particles back into the box, into cells, and (memory.sort = cell) into the order of the cells.
 *
 * Ladder:
 *   none   the order of the particles stays; cells hold numbers of particles. Neighbours in space are anywhere in
 *          memory: each gather of the force kernel is a transaction of its own, mostly from L2 or beyond.
 *   cell   all arrays are reordered by cell at each rebuild. Neighbours share cache lines, and the particles of a cell
 *          are one contiguous run that needs no index. Costs one read and one write of all arrays a rebuild.
 *
 * The cells come from a counting sort: histogram by integer atomics (k_sort_bin), exclusive scan (CUB), scatter. The
 * atomics give each cell its particles in order of arrival, which differs from run to run; k_sort_rank therefore puts
 * each cell in the order of ids. Everything that follows (rows, sums) is then the same in every run. */
#include <cub/device/device_scan.cuh>
#include <string.h>

#include "cuda/context.h"

bool cuda_sort_needs_cells(const CudaContext *context) {
    return context->sort == MD_SORT_CELL || context->search == MD_SEARCH_CELL;
}

/* Where particles are, wrapped; where they were at the build, for the displacement. Positions may have left the box
 * since the last build: the image counters take what the wrap takes off. */
template <class P>
__global__ void __launch_bounds__(CUDA_BLOCK)
    k_sort_wrap(int n, CudaBox<double> box, CudaView<P> now, Vec4<typename P::Pair> *reference) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    typedef typename P::State State;
    Vec4<State> x = now.state[i];
    CudaTag tag = now.tag[i];
    x.x = cuda_wrap<State>((double)x.x, box.length[0], box.inverse[0], &tag.ix);
    x.y = cuda_wrap<State>((double)x.y, box.length[1], box.inverse[1], &tag.iy);
    x.z = cuda_wrap<State>((double)x.z, box.length[2], box.inverse[2], &tag.iz);
    now.state[i] = x;
    now.tag[i] = tag;
    Vec4<typename P::Pair> seen = cuda_pair_position<typename P::Pair>(x);
    if (P::has_copy) now.position[i] = seen;
    reference[i] = seen;
}

/* Cell along one axis. In double: with float the rounding of x / edge could part neighbours by two cells. Clamped, so
 * that no x, not even NaN, leads out of the grid; fmax drops a NaN. */
__device__ inline int cell_along(double x, double origin, double inverse_edge, int n) {
    return (int)fmin(fmax(floor((x - origin) * inverse_edge), 0.0), (double)(n - 1));
}

template <class State>
__global__ void __launch_bounds__(CUDA_BLOCK)
    k_sort_bin(int n, CudaGrid grid, const Vec4<State> *state, int32_t *cell, int32_t *arrival, int32_t *cell_count) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    Vec4<State> x = state[i];
    int cx = cell_along((double)x.x, grid.origin[0], grid.inverse_edge[0], grid.n[0]);
    int cy = cell_along((double)x.y, grid.origin[1], grid.inverse_edge[1], grid.n[1]);
    int cz = cell_along((double)x.z, grid.origin[2], grid.inverse_edge[2], grid.n[2]);
    int c = (cz * grid.n[1] + cy) * grid.n[0] + cx;
    cell[i] = c;
    arrival[i] = atomicAdd(&cell_count[c], 1);
}

__global__ void __launch_bounds__(CUDA_BLOCK)
    k_sort_scatter(int n, const CudaTag *tag, const int32_t *cell, const int32_t *arrival, const int32_t *cell_start,
                   int32_t *slot_id) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    slot_id[cell_start[cell[i]] + arrival[i]] = tag[i].id;
}

/* The place of a particle in its cell is the number of smaller ids there. Quadratic in the crowd of a cell, but so is
 * the search for neighbours, 27 times over. */
__global__ void __launch_bounds__(CUDA_BLOCK)
    k_sort_rank(int n, const CudaTag *tag, const int32_t *cell, const int32_t *cell_start, const int32_t *slot_id,
                int32_t *slot_atom, int32_t *slot_cell) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    int c = cell[i], id = tag[i].id;
    int begin = cell_start[c], end = cell_start[c + 1];
    int slot = begin;
    for (int s = begin; s < end; s++) slot += slot_id[s] < id;
    slot_atom[slot] = i;
    slot_cell[slot] = c;
}

/* Forces travel too, so that they belong to their particles at every moment, not only after the next force call. */
template <class P>
__global__ void __launch_bounds__(CUDA_BLOCK) k_sort_reorder(int n, const int32_t *slot_atom, CudaView<P> from,
                                                             CudaView<P> to, Vec4<typename P::Pair> *reference) {
    int slot = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (slot >= n) return;
    int i = slot_atom[slot];
    Vec4<typename P::Pair> x = from.position[i];
    to.position[slot] = x;
    reference[slot] = x; /* k_sort_wrap has just set both to the same */
    if (P::has_copy) to.state[slot] = from.state[i];
    to.velocity[slot] = from.velocity[i];
    to.force[slot] = from.force[i];
    to.tag[slot] = from.tag[i];
}

/* --- host --- */

size_t cuda_sort_scratch_bytes(int n_cells) {
    size_t bytes = 0;
    CUDA_CHECK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, (int32_t *)nullptr, (int32_t *)nullptr, n_cells));
    return bytes;
}

static float key_value(unsigned key) {
    unsigned bits = key & 0x80000000u ? key & 0x7fffffffu : ~key;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* As many cells as the box has room for at edges of at least the range; along open axes the box is that of the
 * particles, as measured. Fewer, with longer edges, where there would be more cells than max_cells: a system that is
 * mostly void. */
static void plan_grid(CudaContext *context) {
    CudaGrid *grid = &context->grid;
    const CudaMeasures *measures = &context->h_watch->measures;
    double extent[3], edge = context->range * (1 + 1e-6); /* rounding must not part neighbours by two cells */
    for (int a = 0; a < 3; a++) {
        grid->wraps[a] = context->box.periodic[a];
        grid->origin[a] = 0;
        extent[a] = context->box.length[a];
        if (!grid->wraps[a]) {
            grid->origin[a] = -(double)key_value(measures->low[a]);
            extent[a] = (double)key_value(measures->high[a]) - grid->origin[a];
        }
        if (a >= context->box.dimension) extent[a] = 0;
        grid->n[a] = (int)fmin(fmax(floor(extent[a] / edge), 1.0), 1e6);
    }
    while ((double)grid->n[0] * grid->n[1] * grid->n[2] > context->max_cells) {
        int longest = grid->n[0] >= grid->n[1] && grid->n[0] >= grid->n[2] ? 0 : grid->n[1] >= grid->n[2] ? 1 : 2;
        grid->n[longest] -= (grid->n[longest] + 7) / 8;
    }
    for (int a = 0; a < 3; a++) grid->inverse_edge[a] = extent[a] > 0 ? grid->n[a] / extent[a] : 0;
}

template <class P> static void sort_particles(CudaContext *context) {
    typedef typename P::Pair Pair;
    int n = context->n_atoms, blocks = cuda_blocks(n, CUDA_BLOCK);
    CudaView<P> now(context->now);
    Vec4<Pair> *reference = (Vec4<Pair> *)context->reference;
    CUDA_LAUNCH(context, (k_sort_wrap<P>), blocks, CUDA_BLOCK, n, cuda_box<double>(context->box), now, reference);
    if (!cuda_sort_needs_cells(context)) return;

    plan_grid(context);
    const CudaGrid &grid = context->grid;
    int n_cells = grid.n[0] * grid.n[1] * grid.n[2];
    CUDA_CHECK(cudaMemsetAsync(context->cell_start, 0, ((size_t)n_cells + 1) * sizeof(int32_t), context->stream));
    CUDA_LAUNCH(context, (k_sort_bin<typename P::State>), blocks, CUDA_BLOCK, n, grid, now.state, context->cell,
                context->arrival, context->cell_start);
    /* In place: counts become starts; the entry after the last cell becomes n. */
    CUDA_CHECK(cub::DeviceScan::ExclusiveSum(context->scan_scratch, context->scan_scratch_bytes, context->cell_start,
                                             context->cell_start, n_cells + 1, context->stream));
    CUDA_LAUNCH(context, k_sort_scatter, blocks, CUDA_BLOCK, n, now.tag, context->cell, context->arrival,
                context->cell_start, context->slot_id);
    CUDA_LAUNCH(context, k_sort_rank, blocks, CUDA_BLOCK, n, now.tag, context->cell, context->cell_start,
                context->slot_id, context->slot_atom, context->slot_cell);
    if (context->sort != MD_SORT_CELL) return;
    CUDA_LAUNCH(context, (k_sort_reorder<P>), blocks, CUDA_BLOCK, n, context->slot_atom, now,
                CudaView<P>(context->spare), reference);
    CudaParticles old = context->now;
    context->now = context->spare;
    context->spare = old;
}

void cuda_sort_particles(CudaContext *context) {
    cuda_timing_begin(context, CUDA_SORT);
    CUDA_BY_PRECISION(context, sort_particles, context);
    cuda_timing_end(context);
}
