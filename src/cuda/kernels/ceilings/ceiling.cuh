/* What the elementary kernels share. */
#ifndef MD_CUDA_CEILING_CUH
#define MD_CUDA_CEILING_CUH

#include "cuda/kernels/ceilings/arguments.h"

#define CEILING(name) extern "C" __global__ void k_##name(const CudaCeilingArguments a)

__device__ inline long long thread_index() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline long long grid_size() { return (long long)gridDim.x * blockDim.x; }

#endif
