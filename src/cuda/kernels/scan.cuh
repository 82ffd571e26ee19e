/* Sums of all values before a thread's own. */
#ifndef MD_CUDA_SCAN_CUH
#define MD_CUDA_SCAN_CUH

#include "cuda/kernels/common.cuh"

/* Inclusive scan over the block: over each warp by shuffles (Hillis and Steele), and the sums of the warps before it. Returns the
 * thread's own. A barrier must lie between two calls. */
__device__ inline int block_scan(int value) {
    constexpr int n_warps = MD_BLOCK / 32;
    __shared__ int s_sum[n_warps];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    for (int distance = 1; distance < 32; distance *= 2) {
        const int below = __shfl_up_sync(whole_warp, value, (unsigned)distance);
        if (lane >= distance) value += below;
    }
    if (lane == 31) s_sum[warp] = value;
    __syncthreads(); /* all sums are there */
#pragma unroll
    for (int w = 0; w < n_warps - 1; w++) value += w < warp ? s_sum[w] : 0;
    return value;
}

#endif
