/* Shared memory has 32 banks of 4 bytes, each of which serves one word at a time. Lanes that want different words of one
 * bank wait for each other; lanes that want the same word share it.
 *
 * Ladder, bad to good:
 *   stride 32          all lanes in one bank: 32 times the time
 *   stride 16, 8 ...   as many lanes meet as the stride has factors of two
 *   stride 33          odd strides meet nowhere: padding by one word
 *   stride 1           neighbours, each in a bank of its own
 *   one word           all lanes read the same: one word is delivered to all
 *   float4             16 bytes a lane: fewer instructions, the same banks */
#include "cuda/kernels/microbench/ceiling.cuh"

constexpr int places = 2048, reads = 32; /* the reads of a pass lie side by side */

/* a.parameter: the stride; a.mask is zero, which keeps the compiler from reading once for all passes. */
RESIDENT_CEILING(banks_word) {
    __shared__ float s[places + reads];
    for (int j = (int)threadIdx.x; j < places + reads; j += (int)blockDim.x) s[j] = (float)(j % 7);
    __syncthreads(); /* all is there */
    const int base = (int)threadIdx.x * a.parameter & (places - 1);
    float sum = 0;
    for (int pass = 0; pass < (int)a.n / reads; pass++) {
        const float *p = s + (base ^ (pass & a.mask));
#pragma unroll
        for (int k = 0; k < reads; k++) sum += p[k];
    }
    a.b[thread_index()] = sum;
}

RESIDENT_CEILING(banks_vector) {
    __shared__ float4 s[256 + reads / 4];
    for (int j = (int)threadIdx.x; j < 256 + reads / 4; j += (int)blockDim.x)
        s[j] = make_float4((float)(4 * j % 7), (float)((4 * j + 1) % 7), (float)((4 * j + 2) % 7),
                           (float)((4 * j + 3) % 7));
    __syncthreads(); /* all is there */
    float sum = 0;
    for (int pass = 0; pass < (int)a.n / reads; pass++) {
        const float4 *p = s + (threadIdx.x ^ (pass & a.mask));
#pragma unroll 4
        for (int k = 0; k < reads / 4; k++) sum += (p[k].x + p[k].y) + (p[k].z + p[k].w);
    }
    a.b[thread_index()] = sum;
}
