/* The sum of a.n numbers, added to a.sum.
 *
 * Ladder, naive to best; each removes a defect of the one before:
 *   global atomics    every thread adds to the one number: they queue for it
 *   interleaved       a tree in shared memory, one atomic a block; but threads that add are the multiples of 2, 4, 8 ...:
 *                     lanes of every warp diverge down to the last level
 *   strided           the first threads add, at strides of 2, 4, 8 ...: warps are whole, but lanes meet in few banks
 *   sequential        the upper half is added to the lower: whole warps, no conflicts; but a barrier for each level
 *   last warp         below 32 threads a barrier of the warp is enough
 *   shuffle           lanes hand over registers: no shared memory, no barrier within a warp
 *   several a thread  a grid stride of elements in a register first: the tree weighs nothing, memory is the limit
 *   float4            and 16 bytes a load: fewer instructions under way for the same bytes
 * With cooperative groups: reduction_groups.cu. */
#include "cuda/kernels/microbench/ceiling.cuh"

constexpr int block = 256;

__device__ inline float element(const CudaCeilingArguments &a) {
    const long long i = thread_index();
    return i < a.n ? a.a[i] : 0;
}

CEILING(reduction_global) {
    if (thread_index() < a.n) atomicAdd(a.sum, (double)element(a));
}

CEILING(reduction_interleaved) {
    __shared__ float s[block];
    const int t = (int)threadIdx.x;
    s[t] = element(a);
    for (int stride = 1; stride < block; stride *= 2) {
        __syncthreads(); /* the level below is complete */
        if (t % (2 * stride) == 0) s[t] += s[t + stride];
    }
    if (t == 0) atomicAdd(a.sum, (double)s[0]);
}

CEILING(reduction_strided) {
    __shared__ float s[block];
    const int t = (int)threadIdx.x;
    s[t] = element(a);
    for (int stride = 1; stride < block; stride *= 2) {
        __syncthreads(); /* the level below is complete */
        const int at = 2 * stride * t;
        if (at < block) s[at] += s[at + stride];
    }
    if (t == 0) atomicAdd(a.sum, (double)s[0]);
}

CEILING(reduction_sequential) {
    __shared__ float s[block];
    const int t = (int)threadIdx.x;
    s[t] = element(a);
    for (int half = block / 2; half > 0; half /= 2) {
        __syncthreads(); /* the level below is complete */
        if (t < half) s[t] += s[t + half];
    }
    if (t == 0) atomicAdd(a.sum, (double)s[0]);
}

CEILING(reduction_warp) {
    __shared__ float s[block];
    const int t = (int)threadIdx.x;
    s[t] = element(a);
    for (int half = block / 2; half > 16; half /= 2) {
        __syncthreads(); /* the level below is complete */
        if (t < half) s[t] += s[t + half];
    }
    if (t >= 32) return;
    for (int half = 16; half > 0; half /= 2) {
        __syncwarp(); /* the level below is complete */
        if (t < half) s[t] += s[t + half];
    }
    if (t == 0) atomicAdd(a.sum, (double)s[0]);
}

__device__ inline float warp_sum(float x) {
    for (int half = 16; half > 0; half /= 2) x += __shfl_down_sync(0xffffffffu, x, half);
    return x;
}

/* Sums of warps meet in shared memory; the first warp adds them. */
__device__ inline void add_block(const CudaCeilingArguments &a, float x) {
    __shared__ float s[block / 32];
    const int t = (int)threadIdx.x;
    x = warp_sum(x);
    if (t % 32 == 0) s[t / 32] = x;
    __syncthreads(); /* the sums of all warps are there */
    if (t >= 32) return;
    x = warp_sum(t < block / 32 ? s[t] : 0);
    if (t == 0) atomicAdd(a.sum, (double)x);
}

CEILING(reduction_shuffle) { add_block(a, element(a)); }

RESIDENT_CEILING(reduction_several) {
    float x = 0;
    for (long long i = thread_index(); i < a.n; i += grid_size()) x += a.a[i];
    add_block(a, x);
}

RESIDENT_CEILING(reduction_vector) {
    const float4 *vectors = (const float4 *)a.a;
    float x = 0;
    for (long long i = thread_index(); i < a.n / 4; i += grid_size()) {
        const float4 v = vectors[i];
        x += v.x + v.y + v.z + v.w;
    }
    if (thread_index() < a.n % 4) x += a.a[a.n / 4 * 4 + thread_index()];
    add_block(a, x);
}
