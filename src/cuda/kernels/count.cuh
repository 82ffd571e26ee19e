/* The counts of a search, for the host: the largest row and the number of entries. If the list has too little room, the
 * device is stopped until the host has made room.
 *
 * A separate kernel counts when all rows are complete (k_neighbor_count), or each block counts its own rows as it finds them,
 * which saves that launch (bricks/search.cuh). */
#ifndef MD_CUDA_COUNT_CUH
#define MD_CUDA_COUNT_CUH

#include "cuda/kernels/common.cuh"

/* Adds the counts of the rows of a block, or of several; is_full: the list has no room for any counts. By one thread. */
__device__ inline void book_entries(const CudaArguments &a, int largest, unsigned long long entries, bool is_full) {
    atomicMax(&a.status->measures.largest_count, largest);
    atomicAdd(&a.status->measures.entries, entries);
    if (is_full || largest > a.list.capacity) set_stop_flag(a, CUDA_STOPPED_FULL);
}

/* Counts rows `first`, first + step, ... to before `end` of this thread, by all threads of a block. A warp adds up in
 * registers, and a block sends one atomic each: in shared memory those of 64 bits are loops. Integers: the order does not
 * matter. */
__device__ inline void count_entries(const CudaArguments &a, int64_t first, int64_t end, int64_t step) {
    constexpr int n_warps = MD_BLOCK / 32;
    __shared__ int s_largest[n_warps];
    __shared__ unsigned long long s_entries[n_warps];
    int largest = 0;
    unsigned long long entries = 0;
    for (int64_t i = first; i < end; i += step) { /* 64 bits: as in k_reduce_sums */
        largest = max(largest, a.list.counts[i]);
        entries += (unsigned long long)a.list.counts[i];
    }
    for (unsigned distance = 16; distance > 0; distance /= 2) {
        largest = max(largest, __shfl_down_sync(whole_warp, largest, distance));
        entries += __shfl_down_sync(whole_warp, entries, distance);
    }
    if (threadIdx.x % 32 == 0) {
        s_largest[threadIdx.x / 32] = largest;
        s_entries[threadIdx.x / 32] = entries;
    }
    __syncthreads(); /* all warps have written before the first thread reads */
    if (threadIdx.x > 0) return;
    for (int warp = 1; warp < n_warps; warp++) {
        largest = max(largest, s_largest[warp]);
        entries += s_entries[warp];
    }
    book_entries(a, largest, entries, false);
}

#endif
