/* The latency of one load or one multiply-add: one thread, and each waits for the one before. By Little's law
 * bandwidth times latency must be in flight at once: in bytes of loads, or in multiply-adds.
 *
 * Ladder, near to far:
 *   multiply-add     registers
 *   shared memory
 *   L1 cache         on the multiprocessor as well, behind a look for the line
 *   L2 cache         one for all multiprocessors, bypassing L1 (__ldcg: cached only in L2)
 *   memory           the same load, of more memory than L2 holds
 *
 * A chain is one cycle through all its entries in random order: no cache and no prefetcher knows the next one before
 * it is loaded. Entries in global memory are lines of 128 bytes, each with the address of the next one. a.counts keeps the
 * reached entry from call to call. */
#include "microbench/kernels/ceiling.cuh"

using Entry = unsigned long long;

template <class Load> __device__ inline void chase(const CudaCeilingArguments &a, Load load) {
    Entry *reached = (Entry *)a.counts, at = *reached;
#pragma unroll 8
    for (int k = 0; k < (int)a.n; k++) at = load((const Entry *)at);
    *reached = at;
}
/* __ldg says that the address is one of global memory; otherwise the compiler would take a generic load. */
CEILING(chase_load) {
    chase(a, [](const Entry *entry) { return __ldg(entry); });
}
CEILING(chase_load_l2) {
    chase(a, [](const Entry *entry) { return __ldcg(entry); });
}

/* a.parameter entries of shared memory, each with the offset of the next one in bytes: nothing is computed between loads. */
CEILING(chase_shared) {
    __shared__ int s[CUDA_CEILING_TABLE];
    for (int j = (int)threadIdx.x; j < a.parameter; j += (int)blockDim.x) s[j] = a.index[j] * (int)sizeof *s;
    __syncthreads(); /* all is there */
    if (threadIdx.x != 0) return;
    Entry *reached = (Entry *)a.counts;
    int at = (int)*reached;
#pragma unroll 8
    for (int k = 0; k < (int)a.n; k++) at = *(const int *)((const char *)s + at);
    *reached = (Entry)at;
}

/* x = x * 1 + 1: the number of the multiply-adds, from call to call modulo 2^20. */
CEILING(chase_multiply_add) {
    Entry *reached = (Entry *)a.counts;
    float x = (float)*reached;
#pragma unroll 128
    for (int k = 0; k < (int)a.n; k++) x = fmaf(x, a.one, a.one);
    *reached = (Entry)x % (1 << 20);
}
