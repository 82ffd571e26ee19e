/* neighbor.sorted: rows in ascending order. */
#ifndef MD_CUDA_NEIGHBOR_SORTED_CUH
#define MD_CUDA_NEIGHBOR_SORTED_CUH

#include "cuda/kernels/list.cuh"

/* A row that is sorted where it is, and one in shared memory. */
struct RowInPlace {
    int32_t *entries;
    int64_t stride;
    __device__ int32_t get(int k) const { return entries[k * stride]; }
    __device__ void set(int k, int32_t key) const { entries[k * stride] = key; }
};
struct RowInShared {
    int32_t *keys;
    __device__ int32_t get(int k) const { return keys[k]; }
    __device__ void set(int k, int32_t key) const { keys[k] = key; }
};

/* Bitonic merge sort by the 32 lanes of a warp. All comparators put the smaller key first, so that keys that are not
 * there, after the n that are, would be the largest and never move: n may be any number. */
template <class Keys> __device__ inline void sort_by_warp(const Keys &keys, int n, int lane) {
    for (int half = 1; half < n; half *= 2) {
        /* runs of `half` are in order: the first step of a merge compares them from opposite ends */
        for (int distance = half; distance > 0; distance /= 2) {
            const bool opposite = distance == half;
            __syncwarp(); /* the step before is complete */
            for (int t = lane;; t += 32) {
                const int within = t & (distance - 1), low = 2 * t - within;
                if (low >= n) break;
                const int high = opposite ? low + 2 * (distance - within) - 1 : low + distance;
                if (high >= n) continue;
                const int32_t first = keys.get(low), second = keys.get(high);
                if (second < first) {
                    keys.set(low, second);
                    keys.set(high, first);
                }
            }
        }
    }
    __syncwarp(); /* the last step is complete */
}

#endif
