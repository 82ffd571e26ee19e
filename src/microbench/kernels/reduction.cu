/* The sum of a.n numbers in single precision. Blocks leave their sums in a.b; the second pass, reduction_finish, adds those up
 * (two passes). Where a block ends in an atomic addition to a.sum, the name says so.
 *
 * Ladder, naive to best; each rung removes a defect of the one before:
 *   global atomics   every thread adds to the one number: they queue for it
 *   global memory    a tree for each block in a.c: each level is a trip to the cache and back
 *   interleaved      the tree in static shared memory; but threads that add are the multiples of 2, 4, 8 ...: lanes of every
 *                    warp diverge down to the last level
 *   strided          the first threads add, at strides of 2, 4, 8 ...: warps are whole, but banks conflict
 *   sequential       the upper half is added to the lower: whole warps, no conflicts; but a barrier for each level
 *   dynamic shared   the same; the launch says how much shared memory there is
 *   syncwarp         below 32 threads a barrier of the warp is enough
 *   shuffle          lanes hand over registers: no shared memory, no barrier within a warp
 *   several a thread a grid stride of elements in a register first: the tree weighs nothing, memory is the limit
 *   last block       the block that is last to end adds up the sums of all: no second pass
 *   float4           and 16 bytes a load: fewer instructions under way for the same bytes
 * With cooperative groups: reduction_groups.cu; by CUB: reduction_cub.cu. */
#include "microbench/kernels/ceiling.cuh"

constexpr int block = 256;

__device__ float static_sums[CUDA_CEILING_MOST_BLOCKS]; /* of blocks: memory without an allocation (static scratch) */

/* Equal numbers. */
CEILING(reduction_fill) {
    if (thread_index() < a.n) a.b[thread_index()] = a.one;
}

__device__ inline float element(const CudaCeilingArguments &a) {
    const long long i = thread_index();
    return i < a.n ? a.a[i] : 0;
}

/* The sum of a block for the second pass. */
__device__ inline void leave_sum(const CudaCeilingArguments &a, float sum) {
    if (threadIdx.x == 0) a.b[blockIdx.x] = sum;
}

/* --- trees --------------------------------------------------------------------------------------------------------- */

__device__ inline void add_up(float *s) {
    const int t = (int)threadIdx.x;
    for (int half = block / 2; half > 0; half /= 2) {
        __syncthreads(); /* the level below is complete */
        if (t < half) s[t] += s[t + half];
    }
}

CEILING(reduction_global) {
    float *tree = a.c + (long long)blockIdx.x * block;
    tree[threadIdx.x] = element(a);
    add_up(tree);
    leave_sum(a, tree[0]);
}

CEILING(reduction_interleaved) {
    __shared__ float s[block];
    const int t = (int)threadIdx.x;
    s[t] = element(a);
    for (int stride = 1; stride < block; stride *= 2) {
        __syncthreads(); /* the level below is complete */
        if (t % (2 * stride) == 0) s[t] += s[t + stride];
    }
    leave_sum(a, s[0]);
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
    leave_sum(a, s[0]);
}

CEILING(reduction_sequential) {
    __shared__ float s[block];
    s[threadIdx.x] = element(a);
    add_up(s);
    leave_sum(a, s[0]);
}

CEILING(reduction_dynamic) {
    extern __shared__ float s_dynamic[];
    s_dynamic[threadIdx.x] = element(a);
    add_up(s_dynamic);
    leave_sum(a, s_dynamic[0]);
}

CEILING(reduction_syncwarp) {
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
    leave_sum(a, s[0]);
}

/* --- registers ----------------------------------------------------------------------------------------------------- */

__device__ inline float warp_sum(float x) {
    for (int half = 16; half > 0; half /= 2) x += __shfl_down_sync(0xffffffffu, x, half);
    return x;
}

/* For thread 0. Warps leave their sums in shared memory; the first warp adds them. */
__device__ inline float block_sum(float x) {
    __shared__ float s[32];
    const int t = (int)threadIdx.x, n_warps = (int)blockDim.x / 32;
    x = warp_sum(x);
    if (t % 32 == 0) s[t / 32] = x;
    __syncthreads(); /* the sums of all warps are there */
    return t < 32 ? warp_sum(t < n_warps ? s[t] : 0) : 0;
}

__device__ inline float grid_stride_sum(const CudaCeilingArguments &a) {
    float x = 0;
    for (long long i = thread_index(); i < a.n; i += grid_size()) x += a.a[i];
    return x;
}

CEILING(reduction_shuffle) { leave_sum(a, block_sum(element(a))); }

RESIDENT_CEILING(reduction_several) { leave_sum(a, block_sum(grid_stride_sum(a))); }

RESIDENT_CEILING(reduction_vector) {
    const float4 *vectors = (const float4 *)a.a;
    float x = 0;
    for (long long i = thread_index(); i < a.n / 4; i += grid_size()) {
        const float4 v = vectors[i];
        x += (v.x + v.y) + (v.z + v.w);
    }
    if (thread_index() < a.n % 4) x += a.a[a.n / 4 * 4 + thread_index()];
    leave_sum(a, block_sum(x));
}

/* --- how it ends --------------------------------------------------------------------------------------------------- */

/* The second pass, in one block: a.n sums of blocks. */
CEILING(reduction_finish) {
    float x = 0;
#pragma unroll 8
    for (int i = (int)threadIdx.x; i < (int)a.n; i += (int)blockDim.x) x += a.b[i];
    x = block_sum(x);
    if (threadIdx.x == 0) *a.sum = x;
}

CEILING(reduction_atomics) {
    if (thread_index() < a.n) atomicAdd(a.sum, element(a));
}

CEILING(reduction_atomic_finish) {
    const float x = block_sum(element(a));
    if (threadIdx.x == 0) atomicAdd(a.sum, x);
}

/* The fence lets every thread see the sum of the block before its ticket (CUDA C++ Programming Guide, "Memory Fence
 * Functions"); a.counts is zero again at the end. */
RESIDENT_CEILING(reduction_last_block) {
    __shared__ bool s_is_last;
    leave_sum(a, block_sum(grid_stride_sum(a)));
    if (threadIdx.x == 0) {
        __threadfence();
        s_is_last = atomicInc(a.counts, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads(); /* the last one is known */
    if (!s_is_last) return;
    float x = 0;
    for (int i = (int)threadIdx.x; i < (int)gridDim.x; i += block) x += __ldcg(a.b + i);
    x = block_sum(x);
    if (threadIdx.x == 0) *a.sum = x;
}
