/* Kernels of the emulator's own test: what has to work, then what has to be caught. */
#include "selftest.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/block/block_reduce.cuh>

namespace cg = cooperative_groups;

typedef int int32;

extern "C" __global__ void __launch_bounds__(256) k_add(int n, const float *a, const float *b, float *c) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) c[i] = a[i] + b[i];
}

/* Sum of a block through shared memory; every barrier is needed. */
template <int N> __device__ inline float block_sum(float value) {
    __shared__ float s_value[N];
    s_value[threadIdx.x] = value;
    __syncthreads();
    for (int half = N / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) s_value[threadIdx.x] += s_value[threadIdx.x + half];
        __syncthreads();
    }
    return s_value[0];
}

extern "C" __global__ void k_block_sum(int n, const float *in, float *out) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    float sum = block_sum<128>(i < n ? in[i] : 0);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

/* The same, without the first barrier. */
extern "C" __global__ void k_block_sum_broken(const float *in, float *out) {
    __shared__ float s_value[128];
    s_value[threadIdx.x] = in[threadIdx.x];
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) s_value[threadIdx.x] += s_value[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[0] = s_value[0];
}

extern "C" __global__ void k_warp(const int *in, int *out) {
    const unsigned all = 0xffffffffu;
    int t = (int)threadIdx.x, value = in[t], sum = value;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(all, sum, d);
    out[8 * t + 0] = __shfl_sync(all, sum, 0);
    out[8 * t + 1] = (int)__ballot_sync(all, value & 1);
    out[8 * t + 2] = __reduce_max_sync(all, value);
    out[8 * t + 3] = __shfl_xor_sync(all, value, 3);
    out[8 * t + 4] = __shfl_up_sync(all, value, 1, 8);
    out[8 * t + 5] = __any_sync(all, value == in[5]) + 2 * __all_sync(all, value >= 0);
    __syncwarp();
    /* halves of the warp on their own; the shuffle asks for a lane of the other half */
    unsigned half = t < 16 ? 0xffffu : 0xffff0000u;
    out[8 * t + 6] = (int)__popc(__match_any_sync(half, value & 3));
    double d = __shfl_sync(half, (double)value, t ^ 16);
    out[8 * t + 7] = d != d;
}

extern "C" __global__ void k_atomics(int *i, unsigned *u, float *f, double *d, unsigned long long *l) {
    atomicAdd(i, 1);
    atomicMax(u, threadIdx.x + 1000 * blockIdx.x);
    atomicAdd(f, 0.5f);
    atomicAdd(d, 0.25);
    atomicMin(l, (unsigned long long)threadIdx.x + 7);
}

extern "C" __global__ void k_dynamic(float *out) {
    extern __shared__ __align__(16) float s_dynamic[];
    s_dynamic[threadIdx.x] = (float)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s_dynamic[blockDim.x - 1 - threadIdx.x];
}

/* Every block adds its number, then all read the sum: twice, through a barrier of the grid written by hand. */
__device__ inline void grid_barrier(unsigned *count) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        unsigned target = (atomicAdd(count, 1) / gridDim.x + 1) * gridDim.x;
        while (*(volatile unsigned *)count < target) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void k_cooperative(unsigned *count, int *sum, int *out) {
    __shared__ int s_own;
    extern __shared__ int s_more[];
    if (threadIdx.x == 0) {
        s_own = (int)blockIdx.x;
        atomicAdd(sum, (int)blockIdx.x);
    }
    s_more[threadIdx.x] = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    grid_barrier(count);
    int all = *(volatile int *)sum;
    grid_barrier(count);
    out[blockIdx.x * blockDim.x + threadIdx.x] = all + 1000 * s_own + 1000000 * s_more[threadIdx.x];
}

/* Each item waits for the one before it, and for a look of others on the way: most is how many blocks were ever at it at the
 * same time, order how many items were done when it was their turn. */
extern "C" __global__ void k_relay_queue(int n_items, unsigned *taken, unsigned *done, unsigned *at_it, unsigned *most,
                                         unsigned *order) {
    for (unsigned item; (item = atomicAdd(taken, 1u)) < (unsigned)n_items;) {
        atomicMax(most, atomicAdd(at_it, 1u) + 1);
        while (ptx_ld_acquire_gpu(done) < item) {}
        if (*done == item) atomicAdd(order, 1u);
        ptx_st_release_gpu(done, item + 1);
        atomicSub(at_it, 1u);
    }
}

/* Blocks of 64: the sum of the block by CUB, of each tile of 8, and the number of threads behind a barrier of the grid. */
extern "C" __global__ void k_groups(int *counter, int *out) {
    typedef cub::BlockReduce<int, 64> Reduction;
    __shared__ Reduction::TempStorage s_storage;
    const cg::grid_group grid = cg::this_grid();
    const cg::thread_block_tile<8> tile = cg::tiled_partition<8>(cg::this_thread_block());
    const int i = (int)grid.thread_rank();
    const int of_tile = cg::reduce(tile, i, cg::plus<int>());
    const int of_block = Reduction(s_storage).Sum(i);
    atomicAdd(counter, 1);
    grid.sync();
    out[i] = threadIdx.x == 0 ? of_block : threadIdx.x == 1 ? *(volatile int *)counter : of_tile;
}

__constant__ float c_scale[4];

extern "C" __global__ void k_constant(float *out) { out[threadIdx.x] = c_scale[threadIdx.x % 4]; }

extern "C" __global__ void k_texture(cudaTextureObject_t texture, int n, float *out) {
    int i = (int)threadIdx.x;
    if (i < n) {
        float4 v = tex1Dfetch<float4>(texture, i);
        out[i] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w;
    }
}

extern "C" __global__ void k_index(uint3 *out) {
    if (threadIdx.x == 1 && threadIdx.y == 2 && blockIdx.y == 1) *out = make_uint3(blockDim.y, gridDim.y, blockIdx.x);
}

extern "C" __global__ void k_increment(int *value) { *value += SELFTEST_INCREMENT; }

/* 64 bytes in a function that is not inlined, 32 of its own. */
template <class T> __device__ __noinline__ T swap(T value) {
    __shared__ T s_value[16];
    s_value[threadIdx.x % 16] = value;
    __syncthreads();
    return s_value[15 - threadIdx.x % 16];
}
extern "C" __global__ void k_shared_size(int *out) {
    __shared__ int s_own[8];
    s_own[threadIdx.x % 8] = 1;
    __syncthreads();
    out[threadIdx.x] = swap(out[threadIdx.x] + s_own[threadIdx.x % 8]);
}

/* --- faults --------------------------------------------------------------------------------------------------------- */

extern "C" __global__ void k_divergent(int *out) {
    if (threadIdx.x < 17) {
        __syncthreads();
        *out = 1;
    } else {
        while (*(volatile int *)out != 1) __nanosleep(100);
    }
}

extern "C" __global__ void k_two_barriers(int *out) {
    if (threadIdx.x < 17) __syncthreads();
    else __syncthreads();
    out[threadIdx.x] = 1;
}

extern "C" __global__ void k_behind(int n, int *out) { out[threadIdx.x + n] = 1; }
extern "C" __global__ void k_before(int *out) { out[-1 - (int)threadIdx.x] = 1; }
extern "C" __global__ void k_null(int *out) { *out = 1; }

extern "C" __global__ void k_shared_index(int n, int *out) {
    __shared__ int s_value[32];
    s_value[threadIdx.x + n] = 1;
    __syncthreads();
    out[threadIdx.x] = s_value[threadIdx.x];
}

extern "C" __global__ void k_dynamic_behind(float *out) {
    extern __shared__ float s_dynamic[];
    out[threadIdx.x] = s_dynamic[threadIdx.x + 8];
}

extern "C" __global__ void k_warp_missing(int *out) {
    if (threadIdx.x < 31) out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
    else __syncthreads();
}

extern "C" __global__ void k_warp_foreign(int *out) { out[threadIdx.x] = __shfl_sync(0xfffffffeu, 1, 1); }
extern "C" __global__ void k_spin(int *out) {
    while (atomicAdd(out, 0) == 0) __nanosleep(100);
}
/* With another process: each tells the other how far it is. */
extern "C" __global__ void k_talk(unsigned long long *words, unsigned *short_words, int own, int n) {
    for (int k = 1; k <= n; k++) {
        short_words[2 + own] = 10 * k + own;
        ptx_st_release_sys(&words[own], (unsigned long long)k << 32);
        while (ptx_ld_acquire_sys(&words[1 - own]) < (unsigned long long)k << 32) continue;
        ptx_st_release_sys(&short_words[own], short_words[3 - own]);
        while ((int)ptx_ld_acquire_sys(&short_words[1 - own]) < 10 * k + own) continue;
    }
}
extern "C" __global__ void k_uninitialised(float *out) {
    __shared__ float s_value[32];
    if (!out) s_value[threadIdx.x] = 0;
    out[threadIdx.x] = s_value[threadIdx.x];
}

/* What kernels launched as dependent ones (griddepcontrol) must do, and must not leave out. */
extern "C" __global__ void k_waits(int *out) {
    ptx_griddepcontrol_launch_dependents();
    ptx_griddepcontrol_wait();
    if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = 1;
}
extern "C" __global__ void k_does_not_wait(int *out) {
    if (blockIdx.x == 0) ptx_griddepcontrol_wait();
    if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = 1;
}
