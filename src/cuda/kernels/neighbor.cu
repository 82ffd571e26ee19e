/* Stage neighbor: the list of all pairs within cutoff plus skin.
 *
 * Ladder (search, then write, then order; each combination is a variant):
 *   brute       a thread reads all n particles for its row: O(N^2), no set-up. All threads of a warp read the same
 *               particle at once, so it is bound by arithmetic, not by memory.
 *   cell        only the 27 (2-D: 9) adjacent cells: O(N). Threads of a warp own neighbouring slots, mostly of the same
 *               cell, so they read the same particles as well.
 *   atomic      each pair is found once, by the particle with the smaller number, and appended to both rows by
 *               atomicAdd: half the appends are to foreign rows, and rows come out in a different order in every run.
 *   nonatomic   each pair is found twice, a thread owns its row and counts in a register: no atomics, same bits in
 *               every run.
 *   row         rows are contiguous: the threads of a warp, each in its own row, touch 32 lines at each entry.
 *   column      entry k of all rows is contiguous: one line or two for a warp. The force kernel reads it many times.
 *
 * A thread that is past the capacity keeps counting but writes nothing; the host reads the largest count, grows the
 * list and repeats the search. */
#include "cuda/kernels/common.cuh"

constexpr bool is_atomic = MD_SW_neighbor_write == MD_LIST_WRITE_ATOMIC;
[[maybe_unused]] constexpr bool is_indexed =
    MD_SW_memory_sort == MD_SORT_NONE; /* slots hold numbers of particles; else the slot is the number */

__device__ inline void store_entry(const CudaArguments &a, int i, int k, int j) {
    if (k < a.list.capacity) ((int32_t *)a.list.entries)[i * a.list.row_stride + k * a.list.entry_stride] = j;
}

/* One candidate j of row i. atomic: the pair goes to both rows, when i finds it first. */
__device__ inline void try_candidate(const CudaArguments &a, int i, const Vec3<Pair> &x, int j, int *count) {
    if (is_atomic ? j <= i : j == i) return;
    MD_COUNT_ADD(CUDA_COUNT_TESTED, 1);
    if (!(squared(separation(a, x, load<Pair>(a.now.position, j))) < (Pair)a.range_sq)) return;
    MD_COUNT_ADD(CUDA_COUNT_INSIDE, 1);
    if (is_atomic) {
        store_entry(a, i, atomicAdd(&a.list.counts[i], 1), j);
        store_entry(a, j, atomicAdd(&a.list.counts[j], 1), i);
        MD_COUNT_ADD(CUDA_COUNT_ATOMICS, 2);
    } else {
        store_entry(a, i, *count, j);
        *count += 1;
    }
}

#if MD_SW_neighbor_search == 0 /* brute */
MD_KERNEL k_neighbor_brute(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= a.n_atoms) return;
    const Vec3<Pair> x = load<Pair>(a.now.position, i);
    int count = 0;
    for (int j = 0; j < a.n_atoms; j++) try_candidate(a, i, x, j, &count);
    if (!is_atomic) a.list.counts[i] = count;
}
#endif

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

#if MD_SW_neighbor_search == 2 /* cell */
MD_KERNEL k_neighbor_cell(MD_ARGUMENTS) {
    const int slot = thread_index();
    if (slot >= a.n_atoms) return;
    const int i = is_indexed ? a.slot_atom[slot] : slot;
    const Vec3<Pair> x = load<Pair>(a.now.position, i);
    int count = 0;
    const int c = a.slot_cell[slot], cx = c % a.grid.n[0], rest = c / a.grid.n[0];
    const int cy = rest % a.grid.n[1], cz = rest / a.grid.n[1];
    int x_low, x_high, y_low, y_high, z_low, z_high;
    stencil(a.grid.n[0], a.grid.wraps[0], cx, &x_low, &x_high);
    stencil(a.grid.n[1], a.grid.wraps[1], cy, &y_low, &y_high);
    stencil(a.grid.n[2], a.grid.wraps[2], cz, &z_low, &z_high);
    for (int dz = z_low; dz <= z_high; dz++) {
        const int layer = wrapped_cell(cz + dz, a.grid.n[2]) * a.grid.n[1];
        for (int dy = y_low; dy <= y_high; dy++) {
            const int line = (layer + wrapped_cell(cy + dy, a.grid.n[1])) * a.grid.n[0];
            for (int dx = x_low; dx <= x_high; dx++) {
                const int other = line + wrapped_cell(cx + dx, a.grid.n[0]);
                const int end = a.cell_start[other + 1];
                for (int s = a.cell_start[other]; s < end; s++)
                    try_candidate(a, i, x, is_indexed ? a.slot_atom[s] : s, &count);
            }
        }
    }
    if (!is_atomic) a.list.counts[i] = count;
}
#endif

/* Largest row and number of entries. Integers: the order of the atomics does not matter. */
MD_KERNEL k_neighbor_count(MD_ARGUMENTS) {
    __shared__ int s_largest;
    __shared__ unsigned long long s_entries;
    if (threadIdx.x == 0) {
        s_largest = 0;
        s_entries = 0;
    }
    __syncthreads(); /* the zeros before the atomics */
    int largest = 0;
    unsigned long long entries = 0;
    for (int i = thread_index(); i < a.n_atoms; i += grid_size()) {
        largest = max(largest, a.list.counts[i]);
        entries += (unsigned long long)a.list.counts[i];
    }
    atomicMax(&s_largest, largest);
    atomicAdd(&s_entries, entries);
    __syncthreads(); /* the atomics before they are read */
    if (threadIdx.x == 0) {
        atomicMax(&a.watch->measures.largest_count, s_largest);
        atomicAdd(&a.watch->measures.entries, s_entries);
    }
}
