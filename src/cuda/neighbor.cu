/* Stage neighbor: the full list of all pairs within cutoff plus skin, and the rule when to build it anew.
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
#include <string.h>

#include "base/memory.h"
#include "cuda/block.h"
#include "cuda/context.h"

template <class T> struct SearchArguments {
    int n;
    const Vec4<T> *position;
    CudaBox<T> box;
    T range_sq;
    CudaList list;
    CudaGrid grid;
    const int32_t *cell_start, *slot_cell, *slot_atom;
};

template <class T> __device__ inline bool in_range(const SearchArguments<T> &a, const Vec4<T> &x, const Vec4<T> &y) {
    T dx = md_nearest_image(x.x - y.x, a.box.length[0], a.box.inverse[0]);
    T dy = md_nearest_image(x.y - y.y, a.box.length[1], a.box.inverse[1]);
    T dz = md_nearest_image(x.z - y.z, a.box.length[2], a.box.inverse[2]);
    return dx * dx + dy * dy + dz * dz < a.range_sq;
}

__device__ inline void store_entry(const CudaList &list, int i, int k, int j) {
    if (k < list.capacity) list.entries[(int64_t)i * list.row_stride + (int64_t)k * list.entry_stride] = j;
}

/* One candidate j of row i. ATOMIC: the pair goes to both rows, when i finds it first. */
template <class T, bool ATOMIC>
__device__ inline void try_candidate(const SearchArguments<T> &a, int i, const Vec4<T> &x, int j, int *count) {
    if (ATOMIC ? j <= i : j == i) return;
    if (!in_range(a, x, a.position[j])) return;
    if (ATOMIC) {
        store_entry(a.list, i, atomicAdd(&a.list.counts[i], 1), j);
        store_entry(a.list, j, atomicAdd(&a.list.counts[j], 1), i);
    } else {
        store_entry(a.list, i, *count, j);
        *count += 1;
    }
}

template <class T, bool ATOMIC>
__global__ void __launch_bounds__(CUDA_ROW_BLOCK) k_neighbor_brute(const SearchArguments<T> a) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= a.n) return;
    Vec4<T> x = a.position[i];
    int count = 0;
    for (int j = 0; j < a.n; j++) try_candidate<T, ATOMIC>(a, i, x, j, &count);
    if (!ATOMIC) a.list.counts[i] = count;
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

/* INDEXED: slots hold numbers of particles; otherwise (sorted) the slot is the number. */
template <class T, bool ATOMIC, bool INDEXED>
__global__ void __launch_bounds__(CUDA_ROW_BLOCK) k_neighbor_cell(const SearchArguments<T> a) {
    int slot = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (slot >= a.n) return;
    int i = INDEXED ? a.slot_atom[slot] : slot;
    Vec4<T> x = a.position[i];
    int count = 0;
    int c = a.slot_cell[slot], cx = c % a.grid.n[0], rest = c / a.grid.n[0];
    int cy = rest % a.grid.n[1], cz = rest / a.grid.n[1];
    int x_low, x_high, y_low, y_high, z_low, z_high;
    stencil(a.grid.n[0], a.grid.wraps[0], cx, &x_low, &x_high);
    stencil(a.grid.n[1], a.grid.wraps[1], cy, &y_low, &y_high);
    stencil(a.grid.n[2], a.grid.wraps[2], cz, &z_low, &z_high);
    for (int dz = z_low; dz <= z_high; dz++) {
        int layer = wrapped_cell(cz + dz, a.grid.n[2]) * a.grid.n[1];
        for (int dy = y_low; dy <= y_high; dy++) {
            int line = (layer + wrapped_cell(cy + dy, a.grid.n[1])) * a.grid.n[0];
            for (int dx = x_low; dx <= x_high; dx++) {
                int other = line + wrapped_cell(cx + dx, a.grid.n[0]);
                int end = a.cell_start[other + 1];
                for (int s = a.cell_start[other]; s < end; s++)
                    try_candidate<T, ATOMIC>(a, i, x, INDEXED ? a.slot_atom[s] : s, &count);
            }
        }
    }
    if (!ATOMIC) a.list.counts[i] = count;
}

/* Largest row and number of entries. Integers: the order of the atomics does not matter. */
__global__ void __launch_bounds__(CUDA_BLOCK) k_neighbor_count(int n, const int32_t *counts, CudaMeasures *measures) {
    __shared__ int s_largest;
    __shared__ unsigned long long s_entries;
    if (threadIdx.x == 0) {
        s_largest = 0;
        s_entries = 0;
    }
    __syncthreads(); /* the zeros before the atomics */
    int largest = 0;
    unsigned long long entries = 0;
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += (int)(gridDim.x * blockDim.x)) {
        largest = max(largest, counts[i]);
        entries += (unsigned long long)counts[i];
    }
    atomicMax(&s_largest, largest);
    atomicAdd(&s_entries, entries);
    __syncthreads(); /* the atomics before they are read */
    if (threadIdx.x == 0) {
        atomicMax(&measures->largest_count, s_largest);
        atomicAdd(&measures->entries, s_entries);
    }
}

/* --- host --- */

template <class P> static void search(CudaContext *context) {
    typedef typename P::Pair T;
    SearchArguments<T> a;
    a.n = context->n_atoms;
    a.position = CudaView<P>(context->now).position;
    a.box = cuda_box<T>(context->box);
    a.range_sq = (T)(context->range * context->range);
    a.list = context->list;
    a.grid = context->grid;
    a.cell_start = context->cell_start;
    a.slot_cell = context->slot_cell;
    a.slot_atom = context->slot_atom;
    int blocks = cuda_blocks(a.n, CUDA_ROW_BLOCK);
    bool atomic = context->write == MD_LIST_WRITE_ATOMIC, indexed = context->sort != MD_SORT_CELL;
    if (atomic) CUDA_CHECK(cudaMemsetAsync(a.list.counts, 0, (size_t)a.n * sizeof(int32_t), context->stream));
    if (context->search == MD_SEARCH_BRUTE) {
        if (atomic) CUDA_LAUNCH(context, (k_neighbor_brute<T, true>), blocks, CUDA_ROW_BLOCK, a);
        else CUDA_LAUNCH(context, (k_neighbor_brute<T, false>), blocks, CUDA_ROW_BLOCK, a);
    } else if (indexed) {
        if (atomic) CUDA_LAUNCH(context, (k_neighbor_cell<T, true, true>), blocks, CUDA_ROW_BLOCK, a);
        else CUDA_LAUNCH(context, (k_neighbor_cell<T, false, true>), blocks, CUDA_ROW_BLOCK, a);
    } else {
        if (atomic) CUDA_LAUNCH(context, (k_neighbor_cell<T, true, false>), blocks, CUDA_ROW_BLOCK, a);
        else CUDA_LAUNCH(context, (k_neighbor_cell<T, false, false>), blocks, CUDA_ROW_BLOCK, a);
    }
}

static void zero_measures(CudaContext *context) {
    CUDA_CHECK(cudaMemsetAsync(&context->d_watch->measures, 0, sizeof(CudaMeasures), context->stream));
}

static MdStatus search_until_it_fits(CudaContext *context) {
    for (;;) {
        int n = context->n_atoms, blocks = cuda_blocks(n, CUDA_BLOCK);
        if (blocks > CUDA_MAX_SUM_BLOCKS) blocks = CUDA_MAX_SUM_BLOCKS;
        cuda_timing_begin(context, CUDA_NEIGHBOR);
        zero_measures(context);
        CUDA_BY_PRECISION(context, search, context);
        CUDA_LAUNCH(context, k_neighbor_count, blocks, CUDA_BLOCK, n, context->list.counts,
                    &context->d_watch->measures);
        cuda_watch_read(context, true);
        cuda_timing_end(context);
        int32_t largest = context->h_watch->measures.largest_count;
        context->n_entries = (int64_t)context->h_watch->measures.entries;
        if (largest <= context->list.capacity) return MD_OK;
        MdStatus status = cuda_memory_grow_list(context, largest);
        if (status != MD_OK) return status;
    }
}

/* Largest displacement since the build as the watch on the host has it; true: more than half the skin. */
static bool moved_too_far(const CudaContext *context) {
    float moved_sq;
    memcpy(&moved_sq, &context->h_watch->measures.moved_sq, sizeof moved_sq);
    return 4 * (double)moved_sq > context->skin * context->skin;
}

MdStatus cuda_neighbor_update(CudaContext *context, int64_t step) {
    bool check = context->rebuild == MD_REBUILD_HOST_CHECK, open = false;
    for (int a = 0; a < context->box.dimension; a++) open = open || !context->box.periodic[a];
    bool needs_bounds = open && cuda_sort_needs_cells(context);
    if (context->built) {
        if (check) {
            /* kick_drift has measured and sent the displacement of this step; the one wait of the step. The build comes
             * before the forces that would have missed a pair, so that none of these rebuilds is late. */
            CUDA_CHECK(cudaEventSynchronize(context->watched));
            if (!moved_too_far(context)) return MD_OK;
        } else if (step % context->every != 0) {
            /* The list is used as it is. How far atoms are from where it was built at the last use before the next
             * build tells whether that build comes late; the host looks when it builds. */
            if ((step + 1) % context->every == 0) {
                cuda_reduce_measure(context);
                cuda_watch_read(context, false);
                context->lateness_sent = true;
            }
            return MD_OK;
        }
    }
    if (context->lateness_sent) {
        CUDA_CHECK(cudaEventSynchronize(context->watched));
        context->lateness_sent = false;
        if (moved_too_far(context)) context->n_late_rebuilds++;
    }
    if (needs_bounds) {
        cuda_reduce_measure(context);
        cuda_watch_read(context, true);
    }
    /* After a fault the motion is over: the old list is still safe to use, a new one could be of any size. */
    if (*context->h_fault_raised) return MD_OK;
    cuda_sort_particles(context);
    MdStatus status = search_until_it_fits(context);
    if (status != MD_OK) return status;
    context->built = true;
    context->n_builds++;
    return MD_OK;
}

MdStatus cuda_neighbor_export(CudaContext *context, MdRows *rows) {
    if (!context->built) return md_fail(context->errors, MD_ERROR_INTERNAL, "there is no neighbour list yet");
    const CudaList *list = &context->list;
    int64_t n = context->n_atoms, last = n - 1;
    size_t n_stored = (size_t)(last * list->row_stride + (list->capacity - 1) * list->entry_stride + 1);
    CudaTag *tags = (CudaTag *)md_alloc((size_t)n, sizeof *tags, "ids for the export of the list");
    int32_t *counts = (int32_t *)md_alloc((size_t)n, sizeof *counts, "row lengths for the export of the list");
    int32_t *entries = (int32_t *)md_alloc(n_stored, sizeof *entries, "export of the list");
    cuda_memory_download(context, tags, context->now.tag, (size_t)n * sizeof *tags);
    cuda_memory_download(context, counts, list->counts, (size_t)n * sizeof *counts);
    cuda_memory_download(context, entries, list->entries, n_stored * sizeof *entries);

    memset(rows, 0, sizeof *rows);
    rows->n_atoms = n;
    rows->offsets = (int64_t *)md_alloc((size_t)n + 1, sizeof *rows->offsets, "offsets of rows");
    for (int64_t i = 0; i < n; i++) rows->offsets[tags[i].id + 1] = counts[i];
    for (int64_t id = 0; id < n; id++) rows->offsets[id + 1] += rows->offsets[id];
    rows->ids = (int32_t *)md_alloc((size_t)rows->offsets[n], sizeof *rows->ids, "ids of rows");
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < counts[i]; k++)
            rows->ids[rows->offsets[tags[i].id] + k] = tags[entries[i * list->row_stride + k * list->entry_stride]].id;
    md_free(tags);
    md_free(counts);
    md_free(entries);
    return MD_OK;
}
