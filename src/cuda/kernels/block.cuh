/* Reductions over one thread block.
 *
 * Ladder (reduce.method):
 *   shared   a tree in static shared memory, sequential addressing: active threads are the first ones, whole warps
 *            drop out, no bank conflict.
 * The order of the additions is fixed by the thread number, so the sums are the same in every run. */
#ifndef MD_CUDA_BLOCK_CUH
#define MD_CUDA_BLOCK_CUH

#include "cuda/kernels/common.cuh"

/* What a sum over particles is held in. */
typedef double Sum;

/* Sums N values over the threads of the block; the sums are in value[] of thread 0. Every thread of the block must call
 * it. */
template <int N> __device__ inline void block_sum(const CudaArguments &a, Sum (&value)[N]) {
    __shared__ Sum s_value[N][MD_BLOCK];
    const int t = (int)threadIdx.x;
    __syncthreads(); /* an earlier use of the array is over */
    for (int q = 0; q < N; q++) s_value[q][t] = value[q];
    __syncthreads(); /* all values are there before any is read by another thread */
    for (int half = MD_BLOCK / 2; half > 0; half /= 2) {
        if (t < half)
            for (int q = 0; q < N; q++) s_value[q][t] += s_value[q][t + half];
        __syncthreads(); /* this level is complete before the next one reads it */
    }
    if (t == 0)
        for (int q = 0; q < N; q++) value[q] = s_value[q][0];
}

/* The same for the largest of N values. */
template <int N> __device__ inline void block_max(const CudaArguments &a, float (&value)[N]) {
    __shared__ float s_value[N][MD_BLOCK];
    const int t = (int)threadIdx.x;
    __syncthreads(); /* as above */
    for (int q = 0; q < N; q++) s_value[q][t] = value[q];
    __syncthreads(); /* as above */
    for (int half = MD_BLOCK / 2; half > 0; half /= 2) {
        if (t < half)
            for (int q = 0; q < N; q++) s_value[q][t] = fmaxf(s_value[q][t], s_value[q][t + half]);
        __syncthreads(); /* as above */
    }
    if (t == 0)
        for (int q = 0; q < N; q++) value[q] = s_value[q][0];
}

/* The sums of this block, known to thread 0, as partial sums first, first + 1, ... of `n_partials` blocks. */
template <int N> __device__ inline void store_partials(const CudaArguments &a, const Sum (&value)[N]) {
    if (threadIdx.x == 0)
        for (int q = 0; q < N; q++) ((Sum *)a.partials)[(int64_t)q * gridDim.x + blockIdx.x] = value[q];
}

/* Floats as unsigned integers of the same order, so that the integer atomicMax serves. Every float maps above 0. */
__device__ inline unsigned float_key(float value) {
    unsigned bits = __float_as_uint(value);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

#endif
