/* The list for force.kernel = brick. A block takes a brick: it stages the atoms of the brick and those around it that are in
 * range of any point in it (load_tile.cuh), notes where they came from, so that the force kernel stages the same ones at every
 * step, and finds the rows of the brick's atoms there, a thread a row.
 *
 * Cells are staged line by line along x, so that the candidates of a row are up to nine runs, each sorted by x (sort.cu):
 * of some 580 atoms of a liquid 250 are left to be tested. Lanes side by side own atoms side by side, and so test atoms side
 * by side: without bank conflicts. */
#ifndef MD_CUDA_BRICK_CUH
#define MD_CUDA_BRICK_CUH

#include "cuda/kernels/bricks/load_tile.cuh"
#include "cuda/kernels/count.cuh"

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

/* Stores the rest of a last quad, padded with entry 0 (far away). */
__device__ inline void end_row(BrickRow *row) {
    const int n = row->count % CUDA_QUAD;
    if (n == 0) return;
    row->last >>= 16 * (CUDA_QUAD - n);
    store_quad(row);
}

/* Neighbours of a row that are not stored yet: of the staged atoms first[k] .. first[k] + 31 those of mask[k], which is not
 * 0. */
enum { FOUND_WORDS = 32 };

struct Found {
    unsigned mask[FOUND_WORDS];
    uint16_t first[FOUND_WORDS];
    int n, n_atoms;
};

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

/* As they were found. */
__device__ inline void append_found(Found *found, BrickRow *row) {
    int next = 0, first = 0, n = found->n_atoms;
    unsigned left = 0;
    for (; n > 0 && row->count % CUDA_QUAD != 0; n--) append_staged(row, take_next(*found, &next, &left, &first));
    for (; n >= CUDA_QUAD; n -= CUDA_QUAD) { /* whole quads, without a look at each entry */
        row->last = 0;
#pragma unroll
        for (int k = 0; k < CUDA_QUAD; k++)
            row->last |= staged_entry(take_next(*found, &next, &left, &first)) << (16 * k);
        row->count += CUDA_QUAD;
        store_quad(row);
    }
    for (; n > 0; n--) append_staged(row, take_next(*found, &next, &left, &first));
    found->n = found->n_atoms = 0;
}

/* Which of the n staged atoms from `first` on, up to 32, are in range: bit k for the atom first + k. Only the test, alike for all
 * lanes: the work after it differs from lane to lane. Whole columns8 (tiles of 8 atoms) are tested, so up to seven atoms after
 * the last are read as well: there is room for them. */
__device__ inline unsigned near_mask(const CudaArguments &a, const Atom *atoms, const Vec3<Pair> &place, int first,
                                     int n) {
    unsigned mask = 0;
    for (int k = 0; k < n; k += 8) {
        unsigned column8 = 0;
#pragma unroll
        for (int bit = 0; bit < 8; bit++) {
            const Vec3<Pair> &other = atoms[first + k + bit].v;
            const Vec3<Pair> d = {place.x - other.x, place.y - other.y,
                                  MD_DIMENSION == 3 ? place.z - other.z : Pair(0)};
            if (squared(d) < (Pair)a.range_sq) column8 |= 1u << bit;
        }
        mask |= column8 << k;
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

/* The entry of a brick before its atoms are staged; n_staged: how many they are. Reserves room for them: the order of the sources
 * is that in which blocks come here; nothing depends on it. By one thread. */
__device__ inline CudaBrick begin_brick(const CudaArguments &a, const Region &region, const Cells &cells,
                                        const Bounds &bounds, int n_staged, bool has_images) {
    CudaBrick brick;
    int first[3], last[3]; /* cell of the brick, in the region */
    for (int k = 0; k < 3; k++) {
        brick.origin[k] = bounds.origin[k];
        brick.origin_f[k] = (float)bounds.origin[k];
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
    atomicMax(&a.status->measures.staged, brick.n_staged);
    brick.slice = (int64_t)atomicAdd(&a.status->measures.slices, (brick.end - brick.begin + 31ull) / 32);
    brick.source = (int64_t)atomicAdd(&a.status->measures.sources, (unsigned long long)n_sources);
    return brick;
}

/* The counts of a block, in shared memory: rows of a brick have fewer entries than 32 bits count. */
struct Tally {
    int largest; /* row */
    unsigned entries;
};

__device__ inline void book_row(const CudaArguments &a, const CudaBrick &brick, int row, int count, Tally *tally) {
    a.list.counts[brick.begin + row] = count;
    atomicMax(&tally->largest, count);
    atomicAdd(&tally->entries, (unsigned)count);
}

/* Rows by threads, one each: the interface that search_brick needs. */
struct RowsByThreads {
    typedef Atom Staged;
    __device__ static void end_staging(Atom *, int) {}
    /* The loads of a thread before all atoms are staged. */
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

/* The sides on which there are cells around the brick: the result of choose_candidates if atoms are staged on each of them. */
__device__ inline unsigned all_sides(const Region &region) {
    unsigned along[3], all = 0; /* a bit each for before, in and after the brick */
    for (int axis = 0; axis < 3; axis++) {
        const int before = region.own_low[axis] - region.low[axis];
        along[axis] = (before > 0 ? 1u : 0u) | 2u | (region.size[axis] > before + region.own_size[axis] ? 4u : 0u);
    }
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < 3; y++)
            if ((along[2] >> z & along[1] >> y & 1u) != 0) all |= along[0] << (9 * z + 3 * y);
    return all;
}

/* launch.barrier = local: the input of needs_grid_barrier. By one thread. */
__device__ inline void note_grid_barrier(const CudaArguments &a, const CudaBrick &brick, const Region &region,
                                         unsigned sides) {
    CudaMeasures *measures = &a.status->measures;
    if (sides != all_sides(region)) atomicMax(&measures->sides_without_halo, 1);
    atomicMax(&measures->rows, brick.end - brick.begin);
}

/* Brick b in the order of sizes, which is that of the table. If there is no room for it here or in the list of sources, it
 * gets no atoms, its rows no entries, and it stops the device: the host reads the needed sizes, makes room, and starts
 * again. If all blocks together have too little room, one of them finds it. */
template <class Search> __device__ inline void search_brick(const CudaArguments &a, int b) {
    __shared__ CudaBrick s_brick;
    __shared__ Bounds s_bounds;
    __shared__ Shifts s_shifts;
    __shared__ Candidates s_candidates;
    __shared__ unsigned s_sides;
    __shared__ Tally s_tally;
    MD_DYNAMIC_SHARED(typename Search::Staged, s_atoms); /* [bricks.capacity + CUDA_STAGED_BESIDE], and cells */
    const Region region = region_of(a, brick_by_size(a, b));
    const int n_cells = region.size[0] * region.size[1] * region.size[2];
    const Cells s_cells = room_of_cells(s_atoms + a.bricks.capacity + CUDA_STAGED_BESIDE, n_cells);
    const int bookkeeper =
        (int)threadIdx.x - (MD_BLOCK - 32); /* from 0 on in the warp that has least to do with cells */
    const bool is_bookkeeper = bookkeeper == 0;
    if (bookkeeper >= 0) {
        if (is_bookkeeper) {
            s_bounds = search_bounds(a, region);
            s_sides = 0;
            s_tally = Tally{};
        }
        __syncwarp(); /* the bounds are there */
        list_shifts(a, s_bounds, b, bookkeeper, &s_shifts);
    }
    const bool has_images = list_cells(a, region, n_cells, s_cells); /* bounds and shifts are there for all, too */
    Visited visited;
    const int n_staged = choose_candidates(a, s_bounds, s_shifts, s_cells, n_cells, &s_candidates, &s_sides, &visited);
    if (is_bookkeeper) {
        s_brick = begin_brick(a, region, s_cells, s_bounds, n_staged, has_images);
        if (s_brick.n_staged > a.bricks.capacity || s_brick.source + s_brick.n_staged > a.bricks.source_capacity ||
            s_brick.slice + (s_brick.end - s_brick.begin + 31) / 32 > a.bricks.slice_capacity)
            s_brick.n_staged = -1;
        a.bricks.table[b] = s_brick;
        enter_brick(a, b);
        if (is_local) note_grid_barrier(a, s_brick, region, s_sides);
    }
    if (n_staged <= a.bricks.capacity) {
        count_staged(s_candidates, n_cells, s_cells);
        stage_round(s_candidates, (int)threadIdx.x, visited, s_atoms);
    }
    __syncthreads(); /* the brick, the table of cells and the first round of atoms are there */
    const int asked = Search::ask(a, s_brick);
    if (s_brick.n_staged > 0) {
        stage_rounds(a, s_brick, s_shifts, s_cells, n_cells, s_candidates, &visited, s_atoms);
        Search::end_staging(s_atoms, 1 + s_brick.n_staged);
    }
    __syncthreads(); /* all atoms are staged */
    Search::search(a, s_brick, region, s_cells, s_bounds, s_atoms, asked, &s_tally);
    __syncthreads(); /* all rows are there */
    if (threadIdx.x == 0) book_entries(a, s_tally.largest, s_tally.entries, s_brick.n_staged < 0);
}

#endif
