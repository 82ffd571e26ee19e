/* Shared by the elementary kernels. */
#ifndef MD_CUDA_CEILING_CUH
#define MD_CUDA_CEILING_CUH

#include "microbench/kernels/arguments.h"

#define CEILING(name) extern "C" __global__ void k_##name(const CudaCeilingArguments a)

/* In as many blocks of 256 threads as the GPU holds: the bound limits the registers of a thread so that all of them are
 * resident. A second wave of a few blocks would take as long as the first. */
#if __CUDA_ARCH__ == 750
#define MD_RESIDENT_BLOCKS 4
#elif (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ == 1010 || __CUDA_ARCH__ >= 1100
#define MD_RESIDENT_BLOCKS 6 /* 1536 threads: 8.6 to 8.9, Thor (10.1, now 11.0), 12.x (CUDA C++ Programming Guide) */
#else
#define MD_RESIDENT_BLOCKS 8
#endif
#define RESIDENT_CEILING(name)                                                                                         \
    extern "C" __global__ void __launch_bounds__(256, MD_RESIDENT_BLOCKS) k_##name(const CudaCeilingArguments a)

__device__ inline long long thread_index() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline long long grid_size() { return (long long)gridDim.x * blockDim.x; }

/* x + k by k multiply-adds, each of which waits for the one before; `one` is 1, which the compiler does not know. */
template <int TIMES> __device__ inline float raise_by(float x, float one) {
#pragma unroll
    for (int step = 0; step < TIMES; step++) x = fma(x, one, one);
    return x;
}
__device__ inline float raise(float x, float one, int k) {
#pragma unroll 1
    for (; k >= 100; k -= 100) x = raise_by<100>(x, one);
#pragma unroll 1
    for (; k >= 10; k -= 10) x = raise_by<10>(x, one);
#pragma unroll 1
    for (; k > 0; k--) x = raise_by<1>(x, one);
    return x;
}

#endif
