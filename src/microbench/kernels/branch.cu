/* Divergence. The 32 lanes of a warp share one instruction: where they want different ones, the warp runs each path in turn
 * with the other lanes idle. Every path does the same work here:
 * CUDA_CEILING_PATH multiply-adds.
 *
 * Ladder, bad to good:
 *   by lane, w ways    lanes of every warp go w ways: w times the time
 *   by warp, w ways    as many paths, but all lanes of a warp take the same one: no time is lost
 *   one way            no branch
 *
 * Beside it: a branch whose body is an instruction, which is predicated, and blocks of two and a half warps. */
#include "microbench/kernels/ceiling.cuh"

/* Number and comment are others in each path, so that the compiler does not make one loop of them all. */
#define WORK(k)                                                                                                        \
    case k:                                                                                                            \
        _Pragma("unroll 4") for (int step = 0; step < CUDA_CEILING_PATH; step++) {                                     \
            x = x * a.one + (float)(k + 1);                                                                            \
            asm volatile("/* path " #k " */");                                                                         \
        }                                                                                                              \
        break;
#define WORK4(k0, k1, k2, k3) WORK(k0) WORK(k1) WORK(k2) WORK(k3)

__device__ inline float take_path(const CudaCeilingArguments &a, float x, int path) {
    switch (path) {
        WORK4(0, 1, 2, 3)
        WORK4(4, 5, 6, 7)
        WORK4(8, 9, 10, 11)
        WORK4(12, 13, 14, 15)
        WORK4(16, 17, 18, 19)
        WORK4(20, 21, 22, 23)
        WORK4(24, 25, 26, 27)
        WORK4(28, 29, 30, 31)
    }
    return x;
}

/* a.shift: 0 by lane, 5 by warp; a.parameter: ways, a power of two. */
CEILING(branch) {
    const long long i = thread_index();
    if (i < a.n) a.b[i] = take_path(a, a.a[i], (int)(i >> a.shift) & (a.parameter - 1));
}

/* a.shift: 0 each lane by its own number, 5 each warp by one. Both bodies are one instruction: the compiler makes predicated
 * instructions or a selection of them, which all lanes pass together. The numbers count in sevens, modulo 61. */
CEILING(branch_short) {
    const long long i = thread_index();
    if (i >= a.n) return;
    float x = a.a[i >> a.shift];
#pragma unroll 4
    for (int step = 0; step < CUDA_CEILING_PATH; step++) {
        if (x < 54) x = x * a.one + 7;
        else x = x - 54;
    }
    a.b[i] = x;
}

/* Warps are cut from the threads of a block in the order of this index, x first. a.parameter: ways, by threadIdx.y. */
CEILING(branch_block) {
    const long long i = (long long)blockIdx.x * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
    if (i < a.n) a.b[i] = take_path(a, a.a[i], (int)threadIdx.y & (a.parameter - 1));
}
