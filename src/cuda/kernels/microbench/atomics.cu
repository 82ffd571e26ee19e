/* Atomic additions by contention. Each adds 1 to 4, so that the compiler cannot join those of a warp.
 *
 * Ladder, bad to good:
 *   one address     additions to one number come one after the other, in L2 or in the bank of shared memory
 *   one a warp      each warp has a number of its own
 *   spread          each thread has one of a million (global), or of its block (shared)
 *   warp sums       lanes add up by shuffles first: a 32nd of the additions to the one number */
#include "cuda/kernels/microbench/ceiling.cuh"

__device__ inline unsigned amount(long long i) { return 1 + (unsigned)(i & 3); }

/* Thread i adds to place (i >> shift) & mask. */
CEILING(atomics_global) {
    const long long i = thread_index();
    if (i < a.n) atomicAdd(a.counts + ((i >> a.shift) & a.mask), amount(i));
}

CEILING(atomics_warp) {
    const long long i = thread_index();
    unsigned x = i < a.n ? amount(i) : 0;
    for (int half = 16; half > 0; half /= 2) x += __shfl_down_sync(0xffffffffu, x, half);
    if (threadIdx.x % 32 == 0) atomicAdd(a.counts, x);
}

/* Each thread a.parameter times, in the shared memory of its block. */
CEILING(atomics_shared) {
    __shared__ unsigned s[256];
    const int t = (int)threadIdx.x;
    s[t] = 0;
    __syncthreads(); /* all are zero */
    for (int k = 0; k < a.parameter; k++) {
        const long long i = thread_index() * a.parameter + k;
        if (i < a.n) atomicAdd(s + ((t >> a.shift) & a.mask), amount(i));
    }
    __syncthreads(); /* all have added */
    if (s[t]) atomicAdd(a.counts + t, s[t]);
}
