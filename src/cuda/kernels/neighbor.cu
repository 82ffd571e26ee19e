/* Stage neighbor: the list of all pairs within cutoff plus skin.
 *
 * Ladder (search, then write, list, order; each combination is a variant):
 *   brute        a thread reads all n particles for its row: O(N^2), no set-up. All threads of a warp read the same
 *                particle at once, but each warp reads all of them through the cache hierarchy.
 *   brute-tiled  a block brings MD_BLOCK particles at a time into shared memory, each thread one, and all threads read
 *                them there: a read of global memory serves MD_BLOCK rows. Still O(N^2).
 *   cell         only the 27 (2-D: 9) adjacent cells: O(N). Threads of a warp own neighbouring slots, mostly of the same
 *                cell, so they read the same particles as well. Properties of a whole cell (its nearest image)
 *                are computed once for it, not for each pair.
 *   32 threads   (neighbor.threads_per_atom; cell and nonatomic) a warp finds a row: its lanes test 32 candidates at once, and a
 *                vote says where each entry goes. The same rows, entry for entry; where there are fewer atoms than threads, the
 *                search takes a fraction of the time.
 *   atomic       the distance of each pair is computed once, by the particle with the smaller number, which appends it to
 *                its rows by atomicAdd: appends go to foreign rows, and rows come out in a different order in every run. The host
 *                sets the counts to 0 before
 *                (stages/neighbor.c).
 *   nonatomic    a thread owns its row and counts in a register: no atomics, same bits in every run. Distances are
 *                computed from both sides.
 *   half         each pair is in one row, chosen so that rows are of equal length (owns). With nonatomic the thread
 *                of the other row computes the distance all the same: whether a row owns an atom alternates from lane to
 *                lane, so that a branch round it would not save the warp anything.
 *   row          rows are contiguous: the threads of a warp, each in its own row, touch 32 lines at each entry.
 *   column       entry k of all rows is contiguous: one line or two for a warp. The force kernel reads it many times.
 *   sorted       rows in ascending order after the search: atomics then leave no trace in the results (neighbor_sorted.cuh).
 *   cluster      (force.kernel) a warp tests clusters of 8 atoms against clusters of 8: an entry stands for 64 pairs (cluster.cuh).
 *   brick        (force.kernel) a block loads a tile of cells with its halo into shared memory, and finds the rows of the tile
 *                there, 16 bits an entry: a read of global memory serves all rows that are near (bricks/search.cuh).
 *   matrix       (neighbor.distances, brick) a warp has tensor cores compute the distances of 8 or 16 rows to 8 atoms at a time:
 *                the fastest (bricks/search_matrix.cuh).
 *
 * A thread that is past the capacity keeps counting but writes nothing; the host reads the largest count, grows the
 * list and repeats the search. */
#include "cuda/kernels/cluster.cuh"
#include "cuda/kernels/count.cuh"
#include "cuda/kernels/list.cuh"
#include "cuda/kernels/neighbor_sorted.cuh"

constexpr bool is_atomic = MD_SW_neighbor_write == MD_LIST_WRITE_ATOMIC;
constexpr bool stores_once = MD_SW_neighbor_list == MD_LIST_HALF;

/* neighbor.list = half: the pair is stored in row i, whichever thread stores it. Exactly one of (i, j) and (j, i) is true; each row
 * owns every other particle. */
__device__ inline bool owns(int i, int j) { return (((i + j) & 1) != 0) == (i < j); }

/* The pair with j is one for the thread of row i. */
__device__ inline bool tests(int i, int j) {
    if constexpr (is_atomic) return i < j;
    else if constexpr (stores_once) return i != j && owns(i, j);
    else return i != j;
}

/* The first one of all in question. */
__device__ inline int first_partner(int i) { return is_atomic ? i + 1 : 0; }

/* A row in the hands of its thread, or of the threads of its warp, each of which has it all. */
struct Row {
    int i, count;
    Vec3<Pair> x;
    int32_t *next; /* where entry `count` goes; by warps: entry 0 */
};

__device__ inline Row begin_row(const CudaArguments &a, int i) {
    return Row{i, 0, list_place(a, i), row_entries(a, i)};
}

__device__ inline void end_row(const CudaArguments &a, const Row &row) {
    if (!is_atomic) a.list.counts[row.i] = row.count;
}

/* write = atomic: the index of an entry is the current count of its row. */
__device__ inline void append(const CudaArguments &a, int i, int entry) {
    const int k = atomicAdd(&a.list.counts[i], 1);
    if (k < a.list.capacity) row_entries(a, i)[k * a.list.entry_stride] = entry;
    MD_COUNT_ADD(CUDA_COUNT_ATOMICS, 1);
}

/* write = nonatomic: the entry is appended to the thread's own row. */
__device__ inline void append_to_own(const CudaArguments &a, Row *row, int j) {
    if (row->count < a.list.capacity) *row->next = j;
    row->next += a.list.entry_stride;
    row->count++;
}

/* write = atomic: the pair goes into both rows, of half lists into one. */
__device__ inline void append_to_both(const CudaArguments &a, int i, int j) {
    if (!stores_once || owns(i, j)) append(a, i, j);
    if (!stores_once || owns(j, i)) append(a, j, i);
}

/* A pair at distance d, into the list if it is this thread's and in range. The distance is computed before that is asked, because a
 * divergent branch round it saves a warp no time: it is wasted for i itself (full lists) or for every other lane (half lists). */
__device__ inline void try_pair(const CudaArguments &a, Row *row, int j, const Vec3<Pair> &d) {
    const bool is_tested = tests(row->i, j), is_inside = squared(d) < (Pair)a.range_sq;
    MD_COUNT_ADD(CUDA_COUNT_TESTED, 1);
    if (!(is_tested & is_inside)) return;
    MD_COUNT_ADD(CUDA_COUNT_INSIDE, 1);
    if constexpr (is_atomic) append_to_both(a, row->i, j);
    else append_to_own(a, row, j);
}

#if MD_SW_neighbor_search == MD_SEARCH_BRUTE
/* Reads position or reference [n_stored]; writes list [n, capacity], counts [n]. */
MD_KERNEL k_neighbor_brute(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= own_atoms(a)) return;
    Row row = begin_row(a, i);
    for (int j = first_partner(i); j < stored_atoms(a); j++)
        try_pair(a, &row, j, separation(a, row.x, list_place(a, j)));
    end_row(a, row);
}
#endif

#if MD_SW_neighbor_search == MD_SEARCH_BRUTE_TILED
/* Reads position or reference [n_stored]; writes list [n, capacity], counts [n]. */
MD_KERNEL k_neighbor_brute_tiled(MD_ARGUMENTS) {
    __shared__ Pair s_position[3][MD_BLOCK];
    const int t = (int)threadIdx.x, own = thread_index();
    const bool has_row = own < own_atoms(a); /* threads without one bring particles all the same */
    const int first_tile =
        first_partner(own - t) / MD_BLOCK * MD_BLOCK; /* of the block's first row: the same for all */
    Row row = begin_row(a, has_row ? own : 0);
    for (int first = first_tile; first < stored_atoms(a); first += MD_BLOCK) {
        __syncthreads(); /* the tile before has been read by all */
        if (first + t < stored_atoms(a)) {
            const Vec3<Pair> x = list_place(a, first + t);
            s_position[0][t] = x.x;
            s_position[1][t] = x.y;
            s_position[2][t] = x.z;
        }
        __syncthreads(); /* the tile is complete */
        const int n = has_row ? min(MD_BLOCK, stored_atoms(a) - first) : 0;
        for (int k = max(0, first_partner(row.i) - first); k < n; k++) {
            const int j = first + k;
            const Vec3<Pair> x = {s_position[0][k], s_position[1][k], s_position[2][k]};
            try_pair(a, &row, j, separation(a, row.x, x));
        }
    }
    if (has_row) end_row(a, row);
}
#endif

#if MD_SW_neighbor_search == MD_SEARCH_CELL && MD_SW_force_kernel < MD_KERNEL_CLUSTER /* clusters have another search */
constexpr bool is_by_warps = MD_SW_neighbor_threads_per_atom == MD_ROW_THREADS_32;

/* Lines of cells that are one run of slots. */
constexpr bool has_lines = !is_placed;

/* How far the image of cell c that is meant is from the cell itself, in boxes. */
__device__ inline int image_of(int c, int n) { return c < 0 ? -1 : c >= n ? 1 : 0; }

/* A periodic axis of one or two cells shows a cell as two images at once: there the nearer one is found for each pair. */
__device__ inline bool is_narrow(const CudaGrid &grid) {
    return (MD_PERIODIC_X && grid.n[0] < 3) || (MD_PERIODIC_Y && grid.n[1] < 3) || (MD_PERIODIC_Z && grid.n[2] < 3);
}

/* The common data of a run of slots. */
struct Run {
    int begin, end;
    Vec3<Pair> shift; /* of its image, from where the particles are */
};

/* From particle j of the run to the row's. */
template <bool NARROW>
__device__ inline Vec3<Pair> run_separation(const CudaArguments &a, const Row &row, const Run &run, int j) {
    const Vec3<Pair> x = list_place(a, j);
    if constexpr (NARROW) return separation(a, row.x, x);
    /* i - j and j - i give the same distance. The difference of the edge and its float (box_rest) is left out: the skin is far larger,
     * and with a skin of 0 only pairs at the cutoff itself are affected. */
    Vec3<Pair> d = {row.x.x - x.x, row.x.y - x.y, MD_DIMENSION == 3 ? row.x.z - x.z : Pair(0)};
    if (MD_PERIODIC_X) d.x -= run.shift.x;
    if (MD_PERIODIC_Y) d.y -= run.shift.y;
    if (MD_PERIODIC_Z) d.z -= run.shift.z;
    return d;
}

template <bool NARROW> __device__ inline void search_run(const CudaArguments &a, Row *row, const Run &run) {
#pragma unroll 4
    for (int s = run.begin; s < run.end; s++) {
        const int j = slot_particle(a, s);
        if (is_atomic && !tests(row->i, j)) continue; /* whole cells of them */
        try_pair(a, row, j, run_separation<NARROW>(a, *row, run, j));
    }
}

/* The same by a warp: 32 candidates at once. Entries go where one thread would have put them. */
template <bool NARROW> __device__ inline void search_run_by_warp(const CudaArguments &a, Row *row, const Run &run) {
    const unsigned lane = threadIdx.x % 32, lanes_before = (1u << lane) - 1;
    for (int first = run.begin; first < run.end; first += 32) {
        const int s = first + (int)lane, j = s < run.end ? slot_particle(a, s) : row->i;
        const bool is_there = s < run.end && tests(row->i, j);
        const bool is_inside = squared(run_separation<NARROW>(a, *row, run, j)) < (Pair)a.range_sq;
        const unsigned found = __ballot_sync(whole_warp, is_there & is_inside);
        const int k = row->count + __popc(found & lanes_before);
        if (s < run.end) MD_COUNT_ADD(CUDA_COUNT_TESTED, 1);
        if (found >> lane & 1) {
            MD_COUNT_ADD(CUDA_COUNT_INSIDE, 1);
            if (k < a.list.capacity) row->next[k * a.list.entry_stride] = j;
        }
        row->count += __popc(found);
    }
}

template <bool NARROW> __device__ inline void search_cells(const CudaArguments &a, Row *row, int c) {
    const CudaGrid &grid = a.grid;
    const Cell at = cell_at(grid, c);
    int x_low, x_high, y_low, y_high, z_low, z_high;
    stencil(grid.n[0], grid.wraps[0], at.x, &x_low, &x_high);
    stencil(grid.n[1], grid.wraps[1], at.y, &y_low, &y_high);
    stencil(grid.n[2], grid.wraps[2], at.z, &z_low, &z_high);
    Run run = {};
    for (int dz = z_low; dz <= z_high; dz++) {
        const int layer = wrapped_cell(at.z + dz, grid.n[2]) * grid.n[1];
        run.shift.z = (Pair)image_of(at.z + dz, grid.n[2]) * box_length(a, 2);
        for (int dy = y_low; dy <= y_high; dy++) {
            const int line = (layer + wrapped_cell(at.y + dy, grid.n[1])) * grid.n[0];
            run.shift.y = (Pair)image_of(at.y + dy, grid.n[1]) * box_length(a, 1);
            for (int dx = x_low, last; dx <= x_high; dx = last + 1) {
                const int x = at.x + dx, image = image_of(x, grid.n[0]);
                /* a line of cells as far as it is inside the grid; around its end it is one cell */
                last = has_lines && image == 0 ? min(x_high, grid.n[0] - 1 - at.x) : dx;
                const int first = line + wrapped_cell(x, grid.n[0]);
                run.begin = cell_begin(a, first);
                run.end = cell_end(a, first + last - dx);
                run.shift.x = (Pair)image * box_length(a, 0);
                if constexpr (is_by_warps) search_run_by_warp<NARROW>(a, row, run);
                else search_run<NARROW>(a, row, run);
            }
        }
    }
}

/* Reads position or reference [n_stored], cell_start, slot_cell; writes list [n, capacity], counts [n]. */
MD_KERNEL k_neighbor_cell(MD_ARGUMENTS) {
    /* By block: a thread's own number passes 2^31 at 2^26 atoms. */
    const int slot = is_by_warps ? (int)blockIdx.x * (MD_BLOCK / 32) + (int)threadIdx.x / 32 : thread_index();
    if (slot >= stored_atoms(a)) return; /* the whole warp, where it has one row */
    const int i = slot_particle(a, slot);
    if (i >= own_atoms(a)) return;
    Row row = begin_row(a, i);
    if (is_narrow(a.grid)) search_cells<true>(a, &row, a.slot_cell[slot]);
    else search_cells<false>(a, &row, a.slot_cell[slot]);
    if (!is_by_warps || threadIdx.x % 32 == 0) end_row(a, row);
}
#endif

#if MD_SW_force_kernel == MD_KERNEL_CLUSTER
/* Reads position or reference [n_stored], cell_start, slot_cell; writes list, counts [clusters]. */
MD_KERNEL k_neighbor_cluster(MD_ARGUMENTS) { search_clusters(a); }
#endif

/* Reads counts [n_rows]; writes measures.largest_count, measures.entries. */
MD_KERNEL k_neighbor_count(MD_ARGUMENTS) { count_entries(a, thread_index(), a.list.n_rows, grid_size()); }

#if MD_SW_neighbor_sorted == MD_ON
/* A warp a row, in shared memory; rows that are too long for that are sorted in place. */
/* Reads list, counts [n]; writes list [n, capacity]. */
MD_KERNEL k_neighbor_sort_rows(MD_ARGUMENTS) {
    constexpr int n_warps = MD_BLOCK / 32, most = 32768 / (n_warps * (int)sizeof(int32_t)),
                  room = most < 512 ? most : 512;
    __shared__ int32_t s_keys[n_warps][room];
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int i = (int)blockIdx.x * n_warps + warp;
    if (i >= own_atoms(a) || a.status->stopped) return; /* the whole warp */
    const RowInPlace row = {row_entries(a, i), a.list.entry_stride};
    const RowInShared shared = {s_keys[warp]};
    const int n = a.list.counts[i];
    if (n > room) {
        sort_by_warp(row, n, lane);
        return;
    }
    for (int k = lane; k < n; k += 32) shared.set(k, row.get(k));
    sort_by_warp(shared, n, lane);
    for (int k = lane; k < n; k += 32) row.set(k, shared.get(k));
}
#endif
