/* The staging of a brick's block for building the list: the cells of the brick and around it, their atoms, which are the
 * candidates, and those of them that are in range of any point in the brick (tile.cuh). */
#ifndef MD_CUDA_BRICK_STAGE_CUH
#define MD_CUDA_BRICK_STAGE_CUH

#include "cuda/kernels/cells.cuh"
#include "cuda/kernels/bricks/tile.cuh"

/* Cells along an axis that bricks share out. */
__device__ inline int brick_cells_along(const CudaArguments &a, int axis) {
    return has_domain ? a.domain.n_own[axis] : a.grid.n[axis];
}

/* Number among those of the whole box of a cell of the grid. */
__device__ inline int global_cell(const CudaArguments &a, int axis, int c) {
    return has_domain ? c + a.domain.first[axis] : c;
}
__device__ inline int cells_of_box(const CudaArguments &a, int axis) {
    return has_domain ? a.domain.n_all[axis] : a.grid.n[axis];
}

/* Whether there are cells before cell `low`, and from `end` on; at the open end of a box that is cut there are none. */
__device__ inline bool has_before(const CudaArguments &a, int axis, int low) {
    if constexpr (!has_domain) return low > 0;
    return low > 0 && (a.inverse[axis] != 0 || global_cell(a, axis, low) > 0);
}
__device__ inline bool has_behind(const CudaArguments &a, int axis, int end) {
    if constexpr (!has_domain) return end < a.grid.n[axis];
    return end < a.grid.n[axis] && (a.inverse[axis] != 0 || global_cell(a, axis, end) < cells_of_box(a, axis));
}

/* The cells of brick b, and those around it. */
struct Region {
    int own_low[3], own_size[3]; /* cells of the brick */
    int low[3], size[3];         /* and with those around: -1 is the cell before 0, as another image */
};

__device__ inline Region region_of(const CudaArguments &a, int b) {
    const CudaGrid &grid = a.grid;
    Region region;
    const int line = b / grid.n_bricks[0];
    const int at[3] = {b - line * grid.n_bricks[0], line % grid.n_bricks[1], line / grid.n_bricks[1]};
    for (int k = 0; k < 3; k++) {
        const int n = brick_cells_along(a, k), m = grid.n_bricks[k], halo = has_domain ? a.domain.halo[k] : 0;
        const int low = halo + brick_begin(n, m, at[k]), end = halo + brick_begin(n, m, at[k] + 1);
        const bool is_flat = k >= MD_DIMENSION;
        region.own_low[k] = low;
        region.own_size[k] = end - low;
        region.low[k] = !is_flat && (grid.wraps[k] || has_before(a, k, low)) ? low - 1 : low;
        region.size[k] = (!is_flat && (grid.wraps[k] || has_behind(a, k, end)) ? end + 1 : end) - region.low[k];
    }
    return region;
}

/* Along an axis of n cells and m bricks, as brick_begin divides them, n % m are large: one cell larger than the rest. The
 * index among all of number j of the large ones, or of the others. */
__device__ inline int brick_of_size(int m, int n_large, bool is_large, int j) {
    return (int)(is_large ? ((j + 1) * (int64_t)m - 1) / n_large : j * (int64_t)m / (m - n_large));
}

/* Brick j in the order of their sizes, the largest first: a multiprocessor that gets one more gets a small one, and the last
 * blocks of a kernel are the short ones. Sizes: by the number of axes along which they are not large. */
__device__ inline int brick_by_size(const CudaArguments &a, int j) {
    const int *m = a.grid.n_bricks;
    const int n_large[3] = {brick_cells_along(a, 0) % m[0], brick_cells_along(a, 1) % m[1],
                            brick_cells_along(a, 2) % m[2]};
    if ((n_large[0] | n_large[1] | n_large[2]) == 0) return j; /* all are alike */
    int n[3] = {0, 0, 0};
    unsigned small = 0; /* a bit an axis */
#pragma unroll 1
    for (int k = 0;; k++) {
        small = 0x76534210u >> (4 * k) & 7; /* none, each one, each two, all */
        for (int axis = 0; axis < 3; axis++) n[axis] = small >> axis & 1 ? m[axis] - n_large[axis] : n_large[axis];
        if (j < n[0] * n[1] * n[2]) break;
        j -= n[0] * n[1] * n[2];
    }
    const int x = brick_of_size(m[0], n_large[0], (small & 1) == 0, j % n[0]);
    const int y = brick_of_size(m[1], n_large[1], (small & 2) == 0, j / n[0] % n[1]);
    const int z = brick_of_size(m[2], n_large[2], (small & 4) == 0, j / n[0] / n[1]);
    return (z * m[1] + y) * m[0] + x;
}

constexpr bool is_local = MD_SW_launch_barrier == MD_BARRIER_LOCAL; /* step_local.cuh */

/* Where the queue of launch.passes finds brick b of the table. */
__device__ inline void enter_brick(const CudaArguments &a, int b) {
    if (MD_SW_launch_passes == MD_PASSES_QUEUE) a.queue.brick[brick_by_size(a, b)] = b;
}

/* The cells of a region while its block builds, in shared memory after the atoms. Their atoms, one cell after another, are the
 * candidates; those in range of the brick are staged, in the same order. */
struct Cells {
    int *first;            /* [n_cells + 1] candidates before; the last one: all */
    int *staged;           /* [n_cells + 1] atoms staged before; the last one: all */
    int *begin;            /* [n_cells] first slot */
    uint8_t *image, *side; /* [n_cells] */
};

__device__ inline Cells room_of_cells(void *behind_atoms, int n_cells) {
    Cells cells;
    cells.first = (int *)behind_atoms;
    cells.staged = cells.first + n_cells + 1;
    cells.begin = cells.staged + n_cells + 1;
    cells.image = (uint8_t *)(cells.begin + n_cells);
    cells.side = cells.image + n_cells;
    return cells;
}

/* Where cell k of the region is beside the brick, -1 to 1 along each axis, as a number below 27. */
constexpr int in_brick = 13;
__device__ inline int side_of_cell(const Region &region, int k) {
    const int line = k / region.size[0];
    const int at[3] = {k - line * region.size[0], line % region.size[1], line / region.size[1]};
    int side = 0;
    for (int axis = 2; axis >= 0; axis--) {
        const int own = at[axis] + region.low[axis] - region.own_low[axis];
        side = 3 * side + (own < 0 ? 0 : own < region.own_size[axis] ? 1 : 2);
    }
    return side;
}

/* Number and image of a cell of the region. */
__device__ inline int cell_of_region(const CudaArguments &a, const Region &region, int k, int *image) {
    const CudaGrid &grid = a.grid;
    const int line = k / region.size[0];
    const int c[3] = {region.low[0] + k - line * region.size[0], region.low[1] + line % region.size[1],
                      region.low[2] + line / region.size[1]};
    int wrapped[3], boxes[3];
    for (int axis = 0; axis < 3; axis++) {
        const int global = global_cell(a, axis, c[axis]);
        wrapped[axis] = wrapped_cell(c[axis], grid.n[axis]);
        boxes[axis] = global < 0 ? -1 : global >= cells_of_box(a, axis) ? 1 : 0;
    }
    *image = image_at(boxes[0], boxes[1], boxes[2]);
    return (wrapped[2] * grid.n[1] + wrapped[1]) * grid.n[0] + wrapped[0];
}

/* Lengths for the search of a block. Lengths along an axis without extent are 0. */
struct Bounds {
    double origin[3]; /* the corner that staged positions are measured from */
    Pair edge[3];     /* of a cell */
    /* The brick; where it ends the grid along an open axis, atoms beyond it are its own as well. */
    Pair low[3], high[3];
    Pair range_sq;
    /* A generous bound on the rounding of a position or of the border of a cell: a larger one does no harm. */
    Pair margin;
};

__device__ inline Bounds search_bounds(const CudaArguments &a, const Region &region) {
    const CudaGrid &grid = a.grid;
    Bounds bounds;
    double farthest = 0;
    for (int axis = 0; axis < 3; axis++) {
        const double edge = grid.edge[axis];
        const int low = global_cell(a, axis, region.own_low[axis]), size = region.own_size[axis];
        const int n = cells_of_box(a, axis);
        const bool wraps = has_domain ? a.inverse[axis] != 0 : grid.wraps[axis] != 0;
        bounds.origin[axis] = grid.origin[axis] + low * edge;
        bounds.edge[axis] = (Pair)edge;
        bounds.low[axis] = wraps || low > 0 ? Pair(0) : Pair(-1e30);
        bounds.high[axis] = wraps || low + size < n ? (Pair)(size * edge) : Pair(1e30);
        farthest = fmax(farthest, fabs(grid.origin[axis]) + n * edge);
    }
    bounds.range_sq = (Pair)a.range_sq;
    bounds.margin = (Pair)(1e-3 * sqrt(a.range_sq) + 1e-6 * farthest);
    return bounds;
}

/* Of atoms that are measured from `corner`, which is as pairs have it. */
__device__ inline Shift shift_along(const CudaArguments &a, int axis, int boxes, Pair corner) {
    const double way = boxes * a.length[axis] - (double)corner;
    const Pair most = (Pair)way, rest = (Pair)(way - (double)most);
    return boxes > 0 ? Shift{rest, most} : Shift{most, rest};
}

/* Here, and for brick b of the table. By a warp, 3 * CUDA_IMAGES_ALONG lanes of it. */
__device__ inline void list_shifts(const CudaArguments &a, const Bounds &bounds, int b, int lane, Shifts *shifts) {
    const int axis = lane / CUDA_IMAGES_ALONG, bits = lane % CUDA_IMAGES_ALONG;
    if (axis >= 3) return;
    const Shift shift = shift_along(a, axis, bits - 1, (Pair)bounds.origin[axis]);
    shifts->along[axis][bits] = shift;
    shifts_of_brick(a, b)->along[axis][bits] = shift;
}

/* How far x is beyond the brick along an axis; 0: it is not. */
__device__ inline Pair beyond_brick(const Bounds &bounds, int axis, Pair x) {
    const Pair below = bounds.low[axis] - x, above = x - bounds.high[axis];
    return max(max(below, above) - bounds.margin, Pair(0));
}

/* Whether an atom at v may be in range of one of the brick. */
__device__ inline bool is_near_brick(const Bounds &bounds, const Vec3<Pair> &v) {
    const Vec3<Pair> d = {beyond_brick(bounds, 0, v.x), beyond_brick(bounds, 1, v.y),
                          MD_DIMENSION == 3 ? beyond_brick(bounds, 2, v.z) : Pair(0)};
    return !(squared(d) > bounds.range_sq);
}

/* Where the list takes it to be. Types are for the forces. */
__device__ inline Atom searched_particle(const CudaArguments &a, int particle) {
    if constexpr (!predicts) return fetch_atom(a.now, particle);
    return Atom{list_place(a, particle), 0};
}

/* Candidates 32 at a time: which of them are staged, a bit each, and how many before them. */
constexpr int most_groups = CUDA_MAX_CANDIDATES / 32;
struct Candidates {
    unsigned is_staged[most_groups];
    int before[most_groups + 1];
};

/* Inclusive sums over the lanes of a warp. */
__device__ inline int sum_up_to(int value) {
    for (int distance = 1; distance < 32; distance *= 2) {
        const int below = __shfl_up_sync(whole_warp, value, (unsigned)distance);
        if ((int)threadIdx.x % 32 >= distance) value += below;
    }
    return value;
}

/* Values k + 1 become sums of all values up to there, of n values; value 0 is 0. By a warp. */
__device__ inline void add_up(int *values, int n) {
    int before = 0;
    for (int first = 0; first < n; first += 32) {
        const int k = first + (int)threadIdx.x % 32;
        const int sum = sum_up_to(k < n ? values[k + 1] : 0);
        if (k < n) values[k + 1] = before + sum;
        before += __shfl_sync(whole_warp, sum, 31);
    }
    if (threadIdx.x % 32 == 0) values[0] = 0;
}

/* Fills the table of cells except `staged`, by all threads of the block; returns whether any of them is another image. */
__device__ inline bool list_cells(const CudaArguments &a, const Region &region, int n_cells, const Cells &cells) {
    bool images = false;
    for (int k = (int)threadIdx.x; k < n_cells; k += MD_BLOCK) {
        int image;
        const int c = cell_of_region(a, region, k, &image);
        cells.begin[k] = cell_begin(a, c);
        cells.first[k + 1] = cell_end(a, c) - cells.begin[k];
        cells.image[k] = (uint8_t)image;
        cells.side[k] = (uint8_t)side_of_cell(region, k);
        images = images || image != no_image;
    }
    images = __syncthreads_or(images); /* and the counts are there */
    if (threadIdx.x < 32) add_up(cells.first, n_cells);
    __syncthreads(); /* the sums are there */
    return images;
}

/* Candidates first, first + MD_BLOCK, ... in the hands of a thread: a round of them. */
constexpr int candidates_at_once = is_double ? 2 : 4, candidates_of_round = candidates_at_once * MD_BLOCK;
struct Visited {
    int cell[candidates_at_once]; /* -1: there is no such candidate, or it is not needed */
    int particle[candidates_at_once];
    Atom atom[candidates_at_once];
};

/* The cells of candidates first, first + MD_BLOCK, ...: the last one with no more candidates before it, by halving. */
__device__ inline void find_cells(const Cells &cells, int n_cells, int first, int (&cell)[candidates_at_once]) {
#pragma unroll
    for (int k = 0; k < candidates_at_once; k++) cell[k] = 0;
#pragma unroll 1
    for (int step = 1 << (31 - __clz(n_cells)); step > 0; step /= 2)
#pragma unroll
        for (int k = 0; k < candidates_at_once; k++)
            if (cells.first[min(cell[k] + step, n_cells)] <= first + k * MD_BLOCK)
                cell[k] = min(cell[k] + step, n_cells);
}

/* Those candidates c of the round for which is_wanted(c). All loads first: they are on the way together. */
template <class IsWanted>
__device__ inline void visit(const CudaArguments &a, const Cells &cells, int n_cells, const Shifts &shifts, int first,
                             IsWanted is_wanted, Visited *visited) {
    const int n = cells.first[n_cells];
    find_cells(cells, n_cells, first, visited->cell);
#pragma unroll
    for (int k = 0; k < candidates_at_once; k++) {
        const int c = first + k * MD_BLOCK;
        int &cell = visited->cell[k];
        if (c >= n || !is_wanted(c)) cell = -1;
        visited->particle[k] = cell < 0 ? 0 : cells.begin[cell] + c - cells.first[cell];
    }
#pragma unroll
    for (int k = 0; k < candidates_at_once; k++) visited->atom[k] = searched_particle(a, visited->particle[k]);
#pragma unroll
    for (int k = 0; k < candidates_at_once; k++) {
        if (visited->cell[k] < 0) continue;
        Vec3<Pair> &v = visited->atom[k].v;
        v = staged_image(shift_of_image(shifts, cells.image[visited->cell[k]]), v);
    }
}

/* Finds out which candidates are staged, by all threads of the block, and returns how many, or, where there are more than the
 * table of candidates has room for, how many these are. sides: gains a bit for each side of the brick where atoms are
 * staged. The first round is the last that is visited, and stays in the hands of the threads. */
__device__ inline int choose_candidates(const CudaArguments &a, const Bounds &bounds, const Shifts &shifts,
                                        const Cells &cells, int n_cells, Candidates *candidates, unsigned *sides,
                                        Visited *visited) {
    const int n = cells.first[n_cells], n_groups = (n + 31) / 32, lane = (int)threadIdx.x % 32;
    unsigned found = 0;
    if (n_groups > most_groups) return n;
#pragma unroll
    for (int k = 0; k < candidates_at_once; k++) visited->cell[k] = -1;
#pragma unroll 1
    for (int round = (n - 1) / candidates_of_round; round >= 0; round--) {
        const int first = round * candidates_of_round + (int)threadIdx.x;
        if (first - lane >= n) continue; /* the whole warp */
        visit(
            a, cells, n_cells, shifts, first, [](int) { return true; }, visited);
#pragma unroll
        for (int k = 0; k < candidates_at_once; k++) {
            const int c = first + k * MD_BLOCK, cell = visited->cell[k], side = cell < 0 ? 0 : cells.side[cell];
            const bool is_staged = cell >= 0 && (side == in_brick || is_near_brick(bounds, visited->atom[k].v));
            if (is_staged) found |= 1u << side;
            const unsigned staged = __ballot_sync(whole_warp, is_staged);
            if (lane != 0 || c >= n) continue;
            candidates->is_staged[c / 32] = staged;
            candidates->before[c / 32 + 1] = __popc(staged);
        }
    }
    if (is_local && found != 0) atomicOr(sides, found);
    __syncthreads(); /* the counts are there */
    if (threadIdx.x < 32) add_up(candidates->before, n_groups);
    __syncthreads(); /* the sums are there */
    return candidates->before[n_groups];
}

__device__ inline bool is_chosen(const Candidates &candidates, int c) {
    return (candidates.is_staged[c / 32] >> (c % 32) & 1u) != 0;
}
/* How many of the candidates before c are staged. */
__device__ inline int staged_before(const Candidates &candidates, int c) {
    const int group = c / 32, lane = c % 32;
    return candidates.before[group] + (lane == 0 ? 0 : __popc(candidates.is_staged[group] & ((1u << lane) - 1)));
}

/* Completes the table of cells, by all threads of the block. */
__device__ inline void count_staged(const Candidates &candidates, int n_cells, const Cells &cells) {
    for (int k = (int)threadIdx.x; k <= n_cells; k += MD_BLOCK)
        cells.staged[k] = staged_before(candidates, cells.first[k]);
}

/* An atom as the search wants it. */
__device__ inline void set_staged(Atom *to, const Atom &atom) { *to = atom; }

/* Stages those of a round that were chosen, */
template <class Staged>
__device__ inline void stage_round(const Candidates &candidates, int first, const Visited &visited, Staged *atoms) {
#pragma unroll
    for (int k = 0; k < candidates_at_once; k++) {
        const int c = first + k * MD_BLOCK;
        if (visited.cell[k] >= 0 && is_chosen(candidates, c))
            set_staged(&atoms[1 + staged_before(candidates, c)], visited.atom[k]);
    }
}

/* and writes down where they came from. */
__device__ inline void book_round(const CudaArguments &a, const CudaBrick &brick, const Cells &cells,
                                  const Candidates &candidates, int first, const Visited &visited) {
#pragma unroll
    for (int k = 0; k < candidates_at_once; k++) {
        const int c = first + k * MD_BLOCK;
        if (visited.cell[k] < 0 || !is_chosen(candidates, c)) continue;
        const int64_t source = brick.source + staged_before(candidates, c);
        a.bricks.source[source] = visited.particle[k];
        if (brick.has_images) a.bricks.image[source] = cells.image[visited.cell[k]];
    }
}

/* The rest after the first round is staged, of which `visited` has the data of each thread. */
template <class Staged>
__device__ inline void stage_rounds(const CudaArguments &a, const CudaBrick &brick, const Shifts &shifts,
                                    const Cells &cells, int n_cells, const Candidates &candidates, Visited *visited,
                                    Staged *atoms) {
    int first = (int)threadIdx.x;
    book_round(a, brick, cells, candidates, first, *visited);
#pragma unroll 1
    for (first += candidates_of_round; first < cells.first[n_cells]; first += candidates_of_round) {
        visit(
            a, cells, n_cells, shifts, first, [&](int c) { return is_chosen(candidates, c); }, visited);
        stage_round(candidates, first, *visited, atoms);
        book_round(a, brick, cells, candidates, first, *visited);
    }
}

#endif
