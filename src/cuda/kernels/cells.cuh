/* The grid of cells as kernels walk it.
 *
 * Cells are numbered row by row, x fastest; where a cell's particles are in memory is another matter (memory.sort):
 *   none, cell       in that same order: a line of cells along x is one run of slots. With none, slots hold the numbers
 *                    of particles, and each particle is one more access away; with cell, a slot is a particle.
 *   morton, hilbert  in the order of the curve, so that cells near in space are near in memory along all axes, not only
 *                    along x; costs the look-up of a cell's rank.
 *   brick            brick by brick, row by row both the bricks and the cells of each: the atoms of a brick are one run. */
#ifndef MD_CUDA_CELLS_CUH
#define MD_CUDA_CELLS_CUH

#include "cuda/kernels/common.cuh"

constexpr bool is_indexed = MD_SW_memory_sort == MD_SORT_NONE;
constexpr bool in_bricks = MD_SW_memory_sort == MD_SORT_BRICK;
/* A table says where a cell is. */
constexpr bool is_placed = in_bricks || MD_SW_memory_sort == MD_SORT_MORTON || MD_SW_memory_sort == MD_SORT_HILBERT;

/* Slots of cell c: from cell_begin to before cell_end. */
__device__ inline int cell_place(const CudaArguments &a, int c) {
    if constexpr (is_placed) return a.cell_place[c];
    else return c;
}
__device__ inline int cell_begin(const CudaArguments &a, int c) { return a.cell_start[cell_place(a, c)]; }
__device__ inline int cell_end(const CudaArguments &a, int c) { return a.cell_start[cell_place(a, c) + 1]; }

__device__ inline int slot_particle(const CudaArguments &a, int slot) {
    if constexpr (is_indexed) return a.slot_atom[slot];
    else return slot;
}

/* Where cells and list take particle i to be. Its image is the one that is nearest to the particle: see k_sort_wrap. */
constexpr bool predicts = MD_SW_neighbor_predict == MD_PREDICT_VELOCITY;
__device__ inline Vec3<Pair> list_place(const CudaArguments &a, int64_t i) {
    return load<Pair>(predicts ? a.reference : a.now.position, i);
}

struct Cell {
    int x, y, z;
};

__device__ inline Cell cell_at(const CudaGrid &grid, int c) {
    const int line = c / grid.n[0], layer = line / grid.n[1];
    return Cell{c - line * grid.n[0], line - layer * grid.n[1], layer};
}

/* Cell along one axis. In double: with float the rounding of x / edge could part neighbours by two cells. Clamped, so
 * that no x, not even NaN, leads out of the grid; fmax drops a NaN. */
__device__ inline int cell_along(double x, double origin, double inverse_edge, int n) {
    return (int)fmin(fmax(floor((x - origin) * inverse_edge), 0.0), (double)(n - 1));
}

/* The cell of a position, among the cells of the whole box. */
__device__ inline Cell cell_of_place(const CudaArguments &a, const Vec3<Pair> &x) {
    const CudaGrid &grid = a.grid;
    const int *n = has_domain ? a.domain.n_all : grid.n;
    return Cell{cell_along((double)x.x, grid.origin[0], grid.inverse_edge[0], n[0]),
                cell_along((double)x.y, grid.origin[1], grid.inverse_edge[1], n[1]),
                cell_along((double)x.z, grid.origin[2], grid.inverse_edge[2], n[2])};
}

__device__ inline int cell_number(const CudaGrid &grid, const Cell &at) {
    return (at.z * grid.n[1] + at.y) * grid.n[0] + at.x;
}

/* Cells next to cell c along an axis, as offsets from *low to *high. An axis of one or two cells has no more of them
 * than that, and none may be visited twice. */
__device__ inline void stencil(int n, int wraps, int c, int *low, int *high) {
    if (wraps) {
        *low = n >= 3 ? -1 : 0;
        *high = n >= 3 ? 1 : n - 1;
    } else {
        *low = c > 0 ? -1 : 0;
        *high = c < n - 1 ? 1 : 0;
    }
}

__device__ inline int wrapped_cell(int c, int n) { return c < 0 ? c + n : c >= n ? c - n : c; }

/* Along an axis of n cells and n_bricks bricks: the first cell of brick b, and the brick of cell c. */
__device__ inline int brick_begin(int n, int n_bricks, int b) {
    const unsigned whole = (unsigned)n / (unsigned)n_bricks, rest = (unsigned)n - whole * (unsigned)n_bricks;
    const int begin = b * (int)whole; /* and no division of 64 bits where all bricks are alike */
    return rest == 0 ? begin : begin + (int)((int64_t)b * rest / n_bricks);
}
__device__ inline int brick_of(int n, int n_bricks, int c) { return (int)((((int64_t)c + 1) * n_bricks - 1) / n); }

/* visit(cell) for cell c and those around it, each once. */
template <class Visit> __device__ inline void for_cells_around(const CudaGrid &grid, int c, Visit visit) {
    const Cell cell = cell_at(grid, c);
    int x_low, x_high, y_low, y_high, z_low, z_high;
    stencil(grid.n[0], grid.wraps[0], cell.x, &x_low, &x_high);
    stencil(grid.n[1], grid.wraps[1], cell.y, &y_low, &y_high);
    stencil(grid.n[2], grid.wraps[2], cell.z, &z_low, &z_high);
    for (int dz = z_low; dz <= z_high; dz++) {
        const int layer = wrapped_cell(cell.z + dz, grid.n[2]) * grid.n[1];
        for (int dy = y_low; dy <= y_high; dy++) {
            const int line = (layer + wrapped_cell(cell.y + dy, grid.n[1])) * grid.n[0];
            for (int dx = x_low; dx <= x_high; dx++) visit(line + wrapped_cell(cell.x + dx, grid.n[0]));
        }
    }
}

#endif
