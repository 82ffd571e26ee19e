/* The list of pairs of clusters. A cluster is CUDA_CLUSTER particles that follow each other in the order of cells; row c
 * holds every cluster of which a particle is within range of one of cluster c (c itself as well).
 *
 * A warp a row: it goes through the cells around the cells of its particles, and through the clusters that have a part
 * there, the whole warp at one of them at a time. A cluster reaches into several cells, and would be found in each: clusters
 * that are already in the row are not tested again. */
#ifndef MD_CUDA_CLUSTER_CUH
#define MD_CUDA_CLUSTER_CUH

#include "cuda/kernels/cells.cuh"
#include "cuda/kernels/separation.cuh"

/* Whether cluster j is among the first `count` entries of row c, as far as they were stored. Called by whole warps. */
__device__ inline bool is_listed(const CudaArguments &a, int c, int count, int j) {
    const int32_t *row = (const int32_t *)a.list.entries + c * a.list.row_stride;
    bool found = false;
    for (int k = (int)threadIdx.x % 32; k < min(count, a.list.capacity); k += 32)
        found = found || row[k * a.list.entry_stride] == j;
    return __any_sync(whole_warp, found);
}

/* Whether any particle of cluster j is within range of any of cluster c: lanes are those of c by some of those of j. x:
 * the lane's particle of c, exists: there is one. Called by whole warps. */
__device__ inline bool is_near(const CudaArguments &a, int c, int j, const Vec3<Pair> &x, bool exists) {
    const int lane = (int)threadIdx.x % 32;
    bool near = false;
    for (int turn = 0; turn < CUDA_CLUSTER; turn += 32 / CUDA_CLUSTER) {
        const int other = j * CUDA_CLUSTER + lane / CUDA_CLUSTER + turn;
        if (!exists || other >= stored_atoms(a)) continue;
        const bool inside = squared(separation(a, x, list_place(a, other))) < (Pair)a.range_sq;
        MD_COUNT_ADD(CUDA_COUNT_TESTED, 1);
        if (inside) MD_COUNT_ADD(CUDA_COUNT_INSIDE, 1);
        near = near || inside;
    }
    return __any_sync(whole_warp, near);
}

/* Appends the clusters with a part in cell `other` to row c. Called by whole warps. */
__device__ inline void add_clusters(const CudaArguments &a, int c, int other, const Vec3<Pair> &x, bool exists,
                                    int *count) {
    const int begin = cell_begin(a, other), end = cell_end(a, other);
    if (begin == end) return;
    for (int j = begin / CUDA_CLUSTER; j <= (end - 1) / CUDA_CLUSTER; j++) {
        if (is_listed(a, c, *count, j) || !is_near(a, c, j, x, exists)) continue;
        if (threadIdx.x % 32 == 0 && *count < a.list.capacity)
            ((int32_t *)a.list.entries)[c * a.list.row_stride + *count * a.list.entry_stride] = j;
        *count += 1;
        __syncwarp(); /* the entry is there before any lane looks for it */
    }
}

/* Past the capacity clusters are found more than once: the count is then at least the needed one. */
__device__ inline void search_clusters(const CudaArguments &a) {
    /* By block: a thread's own number passes 2^31 at 2^29 atoms. */
    const int c = (int)blockIdx.x * (MD_BLOCK / 32) + (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    if (c >= a.list.n_rows) return;
    const int first = c * CUDA_CLUSTER, size = min(CUDA_CLUSTER, stored_atoms(a) - first);
    const bool exists = lane % CUDA_CLUSTER < size;
    const Vec3<Pair> x = list_place(a, first + min(lane % CUDA_CLUSTER, size - 1));
    int count = 0;
    for (int k = 0; k < size; k++) {
        const int own = a.slot_cell[first + k];
        if (k > 0 && own == a.slot_cell[first + k - 1]) continue;
        for_cells_around(a.grid, own, [&](int other) { add_clusters(a, c, other, x, exists, &count); });
    }
    if (lane == 0) a.list.counts[c] = count;
}

#endif
