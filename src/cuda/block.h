/* Reductions over one thread block: a tree in static shared memory with sequential addressing.
 *
 * Ladder, from naive to best (reduce.method of the later switches has more rungs; these are the ones in use):
 *   interleaved addressing   active threads are spread over all warps: every warp diverges, banks conflict
 *   sequential addressing    (this) active threads are the first ones: whole warps drop out, no bank conflict
 * The order of the additions is fixed by the thread number, so the sums are the same in every run. */
#ifndef MD_CUDA_BLOCK_H
#define MD_CUDA_BLOCK_H

/* Sums N values over the BLOCK threads; the sums are in value[] of thread 0. Every thread of the block must call it,
 * and only once in a kernel: the shared array is not guarded against a second use. */
template <int BLOCK, int N> __device__ inline void cuda_block_sum(double (&value)[N]) {
    static_assert((BLOCK & (BLOCK - 1)) == 0, "the tree halves the block");
    __shared__ double s_value[N][BLOCK];
    const int t = (int)threadIdx.x;
    for (int q = 0; q < N; q++) s_value[q][t] = value[q];
    __syncthreads(); /* all values are there before any is read by another thread */
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half)
            for (int q = 0; q < N; q++) s_value[q][t] += s_value[q][t + half];
        __syncthreads(); /* this level is complete before the next one reads it */
    }
    if (t == 0)
        for (int q = 0; q < N; q++) value[q] = s_value[q][0];
}

/* The same for the largest of N values. */
template <int BLOCK, int N> __device__ inline void cuda_block_max(float (&value)[N]) {
    static_assert((BLOCK & (BLOCK - 1)) == 0, "the tree halves the block");
    __shared__ float s_value[N][BLOCK];
    const int t = (int)threadIdx.x;
    for (int q = 0; q < N; q++) s_value[q][t] = value[q];
    __syncthreads(); /* as above */
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half)
            for (int q = 0; q < N; q++) s_value[q][t] = fmaxf(s_value[q][t], s_value[q][t + half]);
        __syncthreads(); /* as above */
    }
    if (t == 0)
        for (int q = 0; q < N; q++) value[q] = s_value[q][0];
}

/* Floats as unsigned integers of the same order, so that the integer atomicMax serves. Every float maps above 0. */
__device__ inline unsigned cuda_float_key(float value) {
    unsigned bits = __float_as_uint(value);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

#endif
