/* How a grid fills the GPU: threads without work, and blocks that are left over.
 *
 * Ladder, bad to good:
 *   one wave and a block     all multiprocessors but one wait for the last block
 *   one wave                 as many blocks as the GPU holds at once
 *
 *   picture, 16 x 16 blocks  the picture is no multiple of the block: lanes at its right edge are idle
 *   picture, 76 x 8 blocks   a block is as wide as the picture, and has no part of a warp
 *
 *   more than 64 registers   of a thread: a multiprocessor of 65,536 holds one block of 512
 *   up to 64 registers       it holds two, which wait for memory at the same time */
#include "microbench/kernels/ceiling.cuh"

/* One load of a thread is in flight at a time: only the number of threads counts. */
CEILING(grids_copy) {
    for (long long i = thread_index(); i < a.n; i += grid_size()) a.b[i] = a.a[i];
}

/* Pictures one below the other; a.shift blocks cover the height of one. */
CEILING(grids_picture) {
    const int picture = (int)blockIdx.y / a.shift;
    const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const int y = (int)blockIdx.y % a.shift * (int)blockDim.y + (int)threadIdx.y;
    if (x >= CUDA_CEILING_PICTURE_X || y >= CUDA_CEILING_PICTURE_Y) return;
    const long long i = ((long long)picture * CUDA_CEILING_PICTURE_Y + y) * CUDA_CEILING_PICTURE_X + x;
    a.b[i] = raise(a.a[i], a.one, a.parameter);
}

CEILING(grids_wave) { a.b[thread_index()] = raise(0, a.one, CUDA_CEILING_WAVE_STEPS); }

/* A copy by threads that hold so many more numbers: a.b may be a.c, so that the compiler must load them before the loop. None is
 * negative. */
template <int HELD> __device__ inline void copy_holding(const CudaCeilingArguments &a) {
    float held[HELD], sum = 0;
#pragma unroll
    for (int k = 0; k < HELD; k++) held[k] = a.c[threadIdx.x + k];
#pragma unroll 1
    for (long long i = thread_index(); i < a.n; i += grid_size()) a.b[i] = a.a[i];
#pragma unroll
    for (int k = 0; k < HELD; k++) sum += held[k];
    if (sum < 0) a.b[0] = sum;
}
extern "C" __global__ void __launch_bounds__(512, 2) k_grids_few_registers(const CudaCeilingArguments a) {
    copy_holding<48>(a);
}
extern "C" __global__ void __launch_bounds__(512, 1) k_grids_many_registers(const CudaCeilingArguments a) {
    copy_holding<64>(a);
}
