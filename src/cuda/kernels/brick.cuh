/* The list for force.kernel = brick. A block takes a brick: it stages the atoms of the brick and those around it that are in
 * range of any place in it (staged.cuh), notes where they came from, so that the force kernel stages the same ones at every step,
 * and finds the rows of the brick's atoms there, a thread a row.
 *
 * Cells are staged line by line along x, so that the candidates of a row are up to nine runs, each sorted by x (sort.cu):
 * of some 580 atoms of a liquid 250 are left to be tested. Lanes side by side own atoms side by side, and so test atoms side
 * by side: without conflicts of banks. */
#ifndef MD_CUDA_BRICK_CUH
#define MD_CUDA_BRICK_CUH

#include "cuda/kernels/cells.cuh"
#include "cuda/kernels/count.cuh"
#include "cuda/kernels/staged.cuh"

/* The cells of brick b, and those around it. */
struct Region {
    int own_low[3], own_size[3]; /* cells of the brick */
    int low[3], size[3];         /* and with those around: -1 is the cell before 0, as another image */
};

__device__ inline Region region_of(const CudaGrid &grid, int b) {
    Region region;
    const int line = b / grid.n_bricks[0];
    const int at[3] = {b - line * grid.n_bricks[0], line % grid.n_bricks[1], line / grid.n_bricks[1]};
    for (int k = 0; k < 3; k++) {
        const int n = grid.n[k], m = grid.n_bricks[k];
        const int low = brick_begin(n, m, at[k]), end = brick_begin(n, m, at[k] + 1);
        const bool is_flat = k >= MD_DIMENSION;
        region.own_low[k] = low;
        region.own_size[k] = end - low;
        region.low[k] = !is_flat && (grid.wraps[k] || low > 0) ? low - 1 : low;
        region.size[k] = (!is_flat && (grid.wraps[k] || end < n) ? end + 1 : end) - region.low[k];
    }
    return region;
}

/* Along an axis of n cells and m bricks, as brick_begin shares them out, n % m are large: a cell larger than the rest. The
 * place among all of number j of the large ones, or of the others. */
__device__ inline int brick_of_size(int m, int n_large, bool is_large, int j) {
    return (int)(is_large ? ((j + 1) * (int64_t)m - 1) / n_large : j * (int64_t)m / (m - n_large));
}

/* Brick j in the order of their sizes, the largest first: a multiprocessor that gets one more gets a small one, and the last
 * blocks of a kernel are the short ones. Sizes: by the number of axes along which they are not large. */
__device__ inline int brick_by_size(const CudaGrid &grid, int j) {
    const int *m = grid.n_bricks, n_large[3] = {grid.n[0] % m[0], grid.n[1] % m[1], grid.n[2] % m[2]};
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
    if (MD_SW_launch_passes == MD_PASSES_QUEUE) a.queue.brick[brick_by_size(a.grid, b)] = b;
}

/* The cells of a region while its block builds, in shared memory behind the atoms. Their atoms, one cell after another, are the
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
__device__ inline int cell_of_region(const CudaGrid &grid, const Region &region, int k, int *image) {
    const int line = k / region.size[0];
    const int c[3] = {region.low[0] + k - line * region.size[0], region.low[1] + line % region.size[1],
                      region.low[2] + line / region.size[1]};
    int wrapped[3], boxes[3];
    for (int axis = 0; axis < 3; axis++) {
        wrapped[axis] = wrapped_cell(c[axis], grid.n[axis]);
        boxes[axis] = c[axis] < 0 ? -1 : c[axis] >= grid.n[axis] ? 1 : 0;
    }
    *image = image_at(boxes[0], boxes[1], boxes[2]);
    return (wrapped[2] * grid.n[1] + wrapped[1]) * grid.n[0] + wrapped[0];
}

/* What the search of a block measures with. Lengths along an axis without extent are 0. */
struct Bounds {
    double origin[3]; /* the corner that staged places are measured from */
    Pair edge[3];     /* of a cell */
    Pair low[3],
        high[3]; /* the brick; where it ends the grid along an open axis, atoms beyond it are its own as well */
    Pair range_sq;
    Pair
        margin; /* what rounding may do to a place or to the border of a cell, generously: nothing is lost by some more */
};

__device__ inline Bounds search_bounds(const CudaArguments &a, const Region &region) {
    const CudaGrid &grid = a.grid;
    Bounds bounds;
    double farthest = 0;
    for (int axis = 0; axis < 3; axis++) {
        const double edge = grid.edge[axis];
        const int low = region.own_low[axis], size = region.own_size[axis];
        bounds.origin[axis] = grid.origin[axis] + low * edge;
        bounds.edge[axis] = (Pair)edge;
        bounds.low[axis] = grid.wraps[axis] || low > 0 ? Pair(0) : Pair(-1e30);
        bounds.high[axis] = grid.wraps[axis] || low + size < grid.n[axis] ? (Pair)(size * edge) : Pair(1e30);
        farthest = fmax(farthest, fabs(grid.origin[axis]) + grid.n[axis] * edge);
    }
    bounds.range_sq = (Pair)a.range_sq;
    bounds.margin = (Pair)(1e-3 * sqrt(a.range_sq) + 1e-6 * farthest);
    return bounds;
}

__device__ inline Vec3<Pair> searched_origin(const Bounds &bounds) {
    return Vec3<Pair>{(Pair)bounds.origin[0], (Pair)bounds.origin[1], (Pair)bounds.origin[2]};
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

/* Where the list takes it to be, as it is staged. Types are for the forces. */
__device__ inline Atom searched_particle(const CudaArguments &a, const Vec3<Pair> &origin, int particle) {
    if constexpr (!predicts) return staged_particle(a, origin, particle);
    return Atom{staged_place(origin, list_place(a, particle)), 0};
}

/* Candidates 32 at a time: which of them are staged, a bit each, and how many before them. */
constexpr int most_groups = CUDA_MAX_CANDIDATES / 32;
struct Candidates {
    unsigned is_staged[most_groups];
    int before[most_groups + 1];
};

constexpr unsigned whole_warp = 0xffffffffu;

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

/* Fills the table of cells but for `staged`, by all threads of the block; returns whether any of them is another image. */
__device__ inline bool list_cells(const CudaArguments &a, const Region &region, int n_cells, const Cells &cells) {
    bool images = false;
    for (int k = (int)threadIdx.x; k < n_cells; k += MD_BLOCK) {
        int image;
        const int c = cell_of_region(a.grid, region, k, &image);
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
    int cell[candidates_at_once]; /* -1: there is no such candidate, or nobody wants it */
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
__device__ inline void visit(const CudaArguments &a, const Cells &cells, int n_cells, const Vec3<Pair> &origin,
                             int first, IsWanted is_wanted, Visited *visited) {
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
    for (int k = 0; k < candidates_at_once; k++) visited->atom[k] = searched_particle(a, origin, visited->particle[k]);
#pragma unroll
    for (int k = 0; k < candidates_at_once; k++)
        if (visited->cell[k] >= 0) add_shift(shift_of_image(a, cells.image[visited->cell[k]]), &visited->atom[k]);
}

/* Finds out which candidates are staged, by all threads of the block, and returns how many, or, where there are more than the
 * table of candidates has room for, how many these are. sides: gains a bit for each side of the brick where atoms are
 * staged. The first round is the last that is visited, and stays in the hands of the threads. */
__device__ inline int choose_candidates(const CudaArguments &a, const Bounds &bounds, const Cells &cells, int n_cells,
                                        Candidates *candidates, unsigned *sides, Visited *visited) {
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
            a, cells, n_cells, searched_origin(bounds), first, [](int) { return true; }, visited);
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

/* What is left when the first round is staged, of which `visited` has what each thread knows. */
template <class Staged>
__device__ inline void stage_rounds(const CudaArguments &a, const CudaBrick &brick, const Bounds &bounds,
                                    const Cells &cells, int n_cells, const Candidates &candidates, Visited *visited,
                                    Staged *atoms) {
    int first = (int)threadIdx.x;
    book_round(a, brick, cells, candidates, first, *visited);
#pragma unroll 1
    for (first += candidates_of_round; first < cells.first[n_cells]; first += candidates_of_round) {
        visit(
            a, cells, n_cells, searched_origin(bounds), first, [&](int c) { return is_chosen(candidates, c); },
            visited);
        stage_round(candidates, first, *visited, atoms);
        book_round(a, brick, cells, candidates, first, *visited);
    }
}

/* --- rows ------------------------------------------------------------------------------------------------------------- */

/* A row as it grows: entries gather in a register until there are four. */
struct BrickRow {
    uint64_t *quads, last; /* last: the newest entry uppermost */
    int count, n_quads;    /* quads: that there is room for */
};

__device__ inline void store_quad(BrickRow *row) {
    const int quad = (row->count - 1) / CUDA_QUAD;
    if (quad < row->n_quads) row->quads[(int64_t)quad * 32] = row->last;
}

__device__ inline void append_staged(BrickRow *row, int staged) {
    row->last = row->last >> 16 | staged_entry(staged) << 48;
    row->count++;
    if (row->count % CUDA_QUAD == 0) store_quad(row);
}

/* Stores what is left of a last quad, entry 0 (nowhere) behind it. */
__device__ inline void end_row(BrickRow *row) {
    const int n = row->count % CUDA_QUAD;
    if (n == 0) return;
    row->last >>= 16 * (CUDA_QUAD - n);
    store_quad(row);
}

/* What was found for a row and is not in it yet: of the staged atoms first[k] .. first[k] + 31 those of mask[k], which is not
 * 0. */
enum { FOUND_WORDS = 32 };

struct Found {
    unsigned mask[FOUND_WORDS];
    uint16_t first[FOUND_WORDS];
    int n, n_atoms;
};

/* Atoms in shared memory that are a multiple of this apart share their banks: eight accesses of 16 bytes fill all 32 of
 * them, and the hardware serves a quarter of a warp at a time. */
constexpr int n_bank_groups = 128 / (int)sizeof(Atom);

/* neighbor.bank_order = off: as they were found. */
__device__ inline int take_next(const Found &found, int *next, unsigned *left, int *first) {
    if (*left == 0) {
        *left = found.mask[*next];
        *first = found.first[*next];
        *next += 1;
    }
    const int staged = *first + __ffs((int)*left) - 1;
    *left &= *left - 1;
    return staged;
}

__device__ inline void append_in_order(const Found &found, BrickRow *row) {
    int next = 0, first = 0, n = found.n_atoms;
    unsigned left = 0;
    for (; n > 0 && row->count % CUDA_QUAD != 0; n--) append_staged(row, take_next(found, &next, &left, &first));
    for (; n >= CUDA_QUAD; n -= CUDA_QUAD) { /* whole quads, without a look at each entry */
        row->last = 0;
#pragma unroll
        for (int k = 0; k < CUDA_QUAD; k++)
            row->last |= staged_entry(take_next(found, &next, &left, &first)) << (16 * k);
        row->count += CUDA_QUAD;
        store_quad(row);
    }
    for (; n > 0; n--) append_staged(row, take_next(found, &next, &left, &first));
}

/* neighbor.bank_order = on: entry k of the row of lane l is an atom of bank group l + k while there are any, so that lanes
 * side by side read different banks. Each group has a cursor of its own through the words, and they take turns; which group
 * a cursor is for depends on the lane, so that turns are the same for all. */
__device__ inline unsigned bits_of_turn(int turn, int first) {
    const unsigned group = (threadIdx.x + (unsigned)turn - (unsigned)first) % n_bank_groups; /* as seen from `first` */
    return (n_bank_groups == 8 ? 0x01010101u : 0x11111111u) << group;
}

__device__ inline void append_by_turns(const Found &found, BrickRow *row) {
    unsigned left[n_bank_groups];
    int next[n_bank_groups];
#pragma unroll
    for (int turn = 0; turn < n_bank_groups; turn++) {
        left[turn] = 0;
        next[turn] = 0;
    }
    for (bool any = true; any;) {
        any = false;
#pragma unroll
        for (int turn = 0; turn < n_bank_groups; turn++) {
            while (left[turn] == 0 && next[turn] < found.n) {
                const int k = next[turn]++;
                left[turn] = found.mask[k] & bits_of_turn(turn, found.first[k]);
            }
            if (left[turn] == 0) continue;
            append_staged(row, found.first[next[turn] - 1] + __ffs((int)left[turn]) - 1);
            left[turn] &= left[turn] - 1;
            any = true;
        }
    }
}

__device__ inline void append_found(Found *found, BrickRow *row) {
    if constexpr (MD_SW_neighbor_bank_order) append_by_turns(*found, row);
    else append_in_order(*found, row);
    found->n = found->n_atoms = 0;
}

/* Which of the n staged atoms from `first` on, up to 32, are in range: bit k for the atom first + k. The test alone, for all
 * lanes alike: what follows from it differs from lane to lane. Whole eights are tested, so that up to seven atoms behind
 * the last are read as well: there is room for them. */
__device__ inline unsigned near_mask(const CudaArguments &a, const Atom *atoms, const Vec3<Pair> &place, int first,
                                     int n) {
    unsigned mask = 0;
    for (int k = 0; k < n; k += 8) {
        unsigned eight = 0;
#pragma unroll
        for (int bit = 0; bit < 8; bit++) {
            const Vec3<Pair> &other = atoms[first + k + bit].v;
            const Vec3<Pair> d = {place.x - other.x, place.y - other.y,
                                  MD_DIMENSION == 3 ? place.z - other.z : Pair(0)};
            if (squared(d) < (Pair)a.range_sq) eight |= 1u << bit;
        }
        mask |= eight << k;
    }
    return n < 32 ? mask & ((1u << n) - 1) : mask;
}

/* Candidates `from` to before `end` of row `own`. */
__device__ inline void search_staged(const CudaArguments &a, const Atom *atoms, const Vec3<Pair> &place, int own,
                                     int from, int end, Found *found, BrickRow *row) {
    for (int first = from; first < end; first += 32) {
        const int n = min(32, end - first);
        unsigned mask = near_mask(a, atoms, place, first, n);
        if ((unsigned)(own - first) < 32u) mask &= ~(1u << (own - first));
        MD_COUNT_ADD(CUDA_COUNT_TESTED, n);
        MD_COUNT_ADD(CUDA_COUNT_INSIDE, __popc(mask));
        if (mask != 0) {
            found->mask[found->n] = mask;
            found->first[found->n] = (uint16_t)first;
            found->n++;
            found->n_atoms += __popc(mask);
        }
        if (found->n == FOUND_WORDS) append_found(found, row);
    }
}

/* The first of the staged atoms `low` to before `high`, which are sorted by x, at or beyond x. */
__device__ inline int first_beyond(const Atom *atoms, Pair x, int low, int high) {
    while (low < high) {
        const int middle = (low + high) / 2;
        if (atoms[middle].v.x < x) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* How far an atom at x in cell c of the brick is from the cell `step` further, along one axis. */
__device__ inline Pair gap(Pair x, int c, int step, Pair edge) {
    return step == 0 ? Pair(0) : step < 0 ? x - (Pair)c * edge : (Pair)(c + 1) * edge - x;
}

/* Where the atom in `slot`, of a cell of the region, is staged. */
__device__ inline int own_place(const Cells &cells, int cell, int slot) {
    return 1 + cells.staged[cell] + slot - cells.begin[cell];
}

/* Row of the brick's atom in `slot`. Of each line of three cells around it only that part along x is looked through which
 * may be in range at the distance that the line has. */
__device__ inline void search_row(const CudaArguments &a, const Region &region, const Cells &cells,
                                  const Bounds &bounds, const Atom *atoms, int slot, BrickRow *row) {
    const Cell at = cell_at(a.grid, a.slot_cell[slot]);
    const int x = at.x - region.low[0], y = at.y - region.low[1], z = at.z - region.low[2];
    const int own = own_place(cells, (z * region.size[1] + y) * region.size[0] + x, slot);
    const int x_low = max(x - 1, 0), x_high = min(x + 1, region.size[0] - 1);
    const Vec3<Pair> place = atoms[own].v;
    Found found;
    found.n = found.n_atoms = 0;
    for (int layer = max(z - 1, 0); layer <= min(z + 1, region.size[2] - 1); layer++)
        for (int line = max(y - 1, 0); line <= min(y + 1, region.size[1] - 1); line++) {
            const Pair dy = gap(place.y, at.y - region.own_low[1], line - y, bounds.edge[1]) - bounds.margin;
            const Pair dz = gap(place.z, at.z - region.own_low[2], layer - z, bounds.edge[2]) - bounds.margin;
            const Pair left_sq = bounds.range_sq - (dy > 0 ? dy * dy : 0) - (dz > 0 ? dz * dz : 0);
            if (!(left_sq > 0)) continue;
            const Pair reach = sqrt(left_sq) + bounds.margin;
            const int first = (layer * region.size[1] + line) * region.size[0];
            const int begin = 1 + cells.staged[first + x_low], end = 1 + cells.staged[first + x_high + 1];
            const int from = first_beyond(atoms, place.x - reach, begin, end);
            search_staged(a, atoms, place, own, from, first_beyond(atoms, place.x + reach, from, end), &found, row);
        }
    append_found(&found, row);
    end_row(row);
}

/* What a brick is before its atoms are staged; n_staged: how many they are. Books them: the order of the sources is that in
 * which blocks come here, which nothing depends on. By one thread. */
__device__ inline CudaBrick begin_brick(const CudaArguments &a, const Region &region, const Cells &cells,
                                        const Bounds &bounds, int n_staged, bool has_images) {
    CudaBrick brick;
    int first[3], last[3]; /* cell of the brick, in the region */
    for (int k = 0; k < 3; k++) {
        brick.origin[k] = bounds.origin[k];
        first[k] = region.own_low[k] - region.low[k];
        last[k] = first[k] + region.own_size[k] - 1;
    }
    const int low = (first[2] * region.size[1] + first[1]) * region.size[0] + first[0],
              high = (last[2] * region.size[1] + last[1]) * region.size[0] + last[0];
    brick.begin = cells.begin[low];
    brick.end = cells.begin[high] + cells.first[high + 1] - cells.first[high];
    brick.has_images = has_images;
    brick.n_staged = brick.end > brick.begin ? n_staged : 0;                      /* a void needs nothing */
    const int n_sources = brick.n_staged <= CUDA_MAX_STAGED ? brick.n_staged : 0; /* more are never staged */
    atomicMax(&a.watch->measures.staged, brick.n_staged);
    brick.slice = (int64_t)atomicAdd(&a.watch->measures.slices, (brick.end - brick.begin + 31ull) / 32);
    brick.source = (int64_t)atomicAdd(&a.watch->measures.sources, (unsigned long long)n_sources);
    return brick;
}

/* What a block has found, in shared memory: rows of a brick have fewer entries than 32 bits count. */
struct Tally {
    int largest; /* row */
    unsigned entries;
};

__device__ inline void book_row(const CudaArguments &a, const CudaBrick &brick, int row, int count, Tally *tally) {
    a.list.counts[brick.begin + row] = count;
    atomicMax(&tally->largest, count);
    atomicAdd(&tally->entries, (unsigned)count);
}

/* Rows by threads, one each: what search_brick asks of who finds them. */
struct RowsByThreads {
    typedef Atom Staged;
    __device__ static void end_staging(Atom *, int) {}
    /* What a thread asks for before all atoms are staged. */
    __device__ static int ask(const CudaArguments &, const CudaBrick &) { return 0; }
    /* All rows of the brick. */
    __device__ static void search(const CudaArguments &a, const CudaBrick &brick, const Region &region,
                                  const Cells &cells, const Bounds &bounds, const Atom *atoms, int, Tally *tally) {
        for (int r = (int)threadIdx.x; r < brick.end - brick.begin; r += MD_BLOCK) {
            BrickRow row = {brick_quads(a, brick, r), 0, 0, a.list.capacity / CUDA_QUAD};
            if (brick.n_staged >= 0) search_row(a, region, cells, bounds, atoms, brick.begin + r, &row);
            book_row(a, brick, r, row.count, tally);
        }
    }
};

/* The sides on which there are cells around the brick: what choose_candidates finds where atoms are staged on each of them. */
__device__ inline unsigned all_sides(const Region &region) {
    unsigned along[3], all = 0; /* a bit each for before, in and behind the brick */
    for (int axis = 0; axis < 3; axis++) {
        const int before = region.own_low[axis] - region.low[axis];
        along[axis] = (before > 0 ? 1u : 0u) | 2u | (region.size[axis] > before + region.own_size[axis] ? 4u : 0u);
    }
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < 3; y++)
            if ((along[2] >> z & along[1] >> y & 1u) != 0) all |= along[0] << (9 * z + 3 * y);
    return all;
}

/* launch.barrier = local: what decides whether all blocks have to meet between passes. By one thread. */
__device__ inline void note_meeting(const CudaArguments &a, const CudaBrick &brick, const Region &region,
                                    unsigned sides) {
    CudaMeasures *measures = &a.watch->measures;
    if (sides != all_sides(region)) atomicMax(&measures->strangers, 1);
    atomicMax(&measures->rows, brick.end - brick.begin);
}

/* Brick b in the order of sizes, which is that of the table. One for which there is no room here or in the list of sources is
 * left without atoms, its rows without entries, and halts the device: the host sees what is needed, makes room, and starts
 * again. What all blocks together lack, one of them lacks. */
template <class Search> __device__ inline void search_brick(const CudaArguments &a, int b) {
    __shared__ CudaBrick s_brick;
    __shared__ Bounds s_bounds;
    __shared__ Candidates s_candidates;
    __shared__ unsigned s_sides;
    __shared__ Tally s_tally;
    MD_DYNAMIC_SHARED(typename Search::Staged, s_atoms); /* [bricks.capacity + CUDA_STAGED_BESIDE], and cells */
    const Region region = region_of(a.grid, brick_by_size(a.grid, b));
    const int n_cells = region.size[0] * region.size[1] * region.size[2];
    const Cells s_cells = room_of_cells(s_atoms + a.bricks.capacity + CUDA_STAGED_BESIDE, n_cells);
    const bool is_clerk = threadIdx.x == MD_BLOCK - 32; /* of the warp that has least to do with cells */
    if (is_clerk) {
        s_bounds = search_bounds(a, region);
        s_sides = 0;
        s_tally = Tally{};
    }
    const bool has_images = list_cells(a, region, n_cells, s_cells); /* the bounds are there, too */
    Visited visited;
    const int n_staged = choose_candidates(a, s_bounds, s_cells, n_cells, &s_candidates, &s_sides, &visited);
    if (is_clerk) {
        s_brick = begin_brick(a, region, s_cells, s_bounds, n_staged, has_images);
        if (s_brick.n_staged > a.bricks.capacity || s_brick.source + s_brick.n_staged > a.bricks.source_capacity ||
            s_brick.slice + (s_brick.end - s_brick.begin + 31) / 32 > a.bricks.slice_capacity)
            s_brick.n_staged = -1;
        a.bricks.table[b] = s_brick;
        enter_brick(a, b);
        if (is_local) note_meeting(a, s_brick, region, s_sides);
    }
    if (n_staged <= a.bricks.capacity) {
        count_staged(s_candidates, n_cells, s_cells);
        stage_round(s_candidates, (int)threadIdx.x, visited, s_atoms);
    }
    __syncthreads(); /* the brick, the table of cells and the first round of atoms are there */
    const int asked = Search::ask(a, s_brick);
    if (s_brick.n_staged > 0) {
        stage_rounds(a, s_brick, s_bounds, s_cells, n_cells, s_candidates, &visited, s_atoms);
        Search::end_staging(s_atoms, 1 + s_brick.n_staged);
    }
    __syncthreads(); /* all atoms are staged */
    Search::search(a, s_brick, region, s_cells, s_bounds, s_atoms, asked, &s_tally);
    __syncthreads(); /* all rows are there */
    if (threadIdx.x == 0) book_entries(a, s_tally.largest, s_tally.entries, s_brick.n_staged < 0);
}

#endif
