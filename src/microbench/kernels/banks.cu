/* Shared memory has 32 banks of 4 bytes, each of which serves one word at a time. Lanes that want different words of one
 * bank wait for each other; lanes that want the same word share it.
 *
 * Ladder, bad to good:
 *   stride 32          all lanes in one bank: 32 times the time
 *   stride 16, 8 ...   as many lanes meet as the stride has factors of two
 *   stride 33          odd strides meet nowhere: padding by one word
 *   stride 1           neighbours, each in another bank
 *   permuted           lanes in another order, still each in another bank
 *   one word           all lanes read the same: one word is delivered to all (broadcast)
 *   8 bytes            a word of two banks (double): two passes, of half a warp each; conflicts are those within a half
 *   float4             16 bytes a lane: fewer instructions, the same banks */
#include "microbench/kernels/ceiling.cuh"

constexpr int reads = 32; /* the reads of a pass lie side by side */

/* a.parameter: the stride; the index is combined with a.shift by an exclusive or: another order of the lanes. a.mask is zero,
 * which keeps the compiler from reading once for all passes. */
template <class Word, int PLACES> __device__ inline void read_words(const CudaCeilingArguments &a) {
    __shared__ Word s[PLACES + reads];
    for (int j = (int)threadIdx.x; j < PLACES + reads; j += (int)blockDim.x) s[j] = (Word)(j % 7);
    __syncthreads(); /* all is there */
    const int base = ((int)threadIdx.x * a.parameter & (PLACES - 1)) ^ a.shift;
    Word sum = 0;
    for (int pass = 0; pass < (int)a.n / reads; pass++) {
        const Word *p = s + (base ^ (pass & a.mask));
#pragma unroll
        for (int k = 0; k < reads; k++) sum += p[k];
    }
    a.b[thread_index()] = (float)sum;
}
RESIDENT_CEILING(banks_word) { read_words<float, 2048>(a); }
/* Whole numbers, as some GPUs add few doubles a clock. */
RESIDENT_CEILING(banks_wide) { read_words<long long, 512>(a); }

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
