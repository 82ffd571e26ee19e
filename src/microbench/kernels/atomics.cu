/* Atomic additions by contention. Each adds 1 to 4, so that the compiler cannot join those of a warp.
 *
 * Ladder, bad to good:
 *   one address     additions to one number come one after the other, in L2 or in the bank of shared memory
 *   one a warp      each warp has its own number
 *   spread          each thread has one of a million (global), or of its block (shared)
 *   warp sums       lanes add up by shuffles first: a 32nd of the additions to the one number
 *
 * By type: unsigned, float, double, 64 bits, and the maximum instead of the sum. By compare-and-swap: how an operation is
 * made that the hardware lacks, as it lacked the addition of doubles before compute capability 6.0. By scope: whom an addition
 * must be whole for, the threads of the block, of the device (default), or of the device and the host. */
#include "microbench/kernels/ceiling.cuh"

__device__ inline unsigned amount(long long i) { return 1 + (unsigned)(i & 3); }

/* Thread i adds to counter (i >> shift) & mask. */
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

/* The same counters, of another type. */
template <class T, class Update> __device__ inline void update_counter(const CudaCeilingArguments &a, Update update) {
    const long long i = thread_index();
    if (i < a.n) update((T *)a.counts + ((i >> a.shift) & a.mask), amount(i));
}
CEILING(atomics_float) {
    update_counter<float>(a, [](float *counter, unsigned x) { atomicAdd(counter, (float)x); });
}
CEILING(atomics_double) {
    update_counter<double>(a, [](double *counter, unsigned x) { atomicAdd(counter, (double)x); });
}
CEILING(atomics_wide) {
    using Wide = unsigned long long;
    update_counter<Wide>(a, [](Wide *counter, unsigned x) { atomicAdd(counter, (Wide)x); });
}
CEILING(atomics_max) {
    update_counter<unsigned>(a, [](unsigned *counter, unsigned x) { atomicMax(counter, x); });
}
CEILING(atomics_block) {
    update_counter<unsigned>(a, [](unsigned *counter, unsigned x) { atomicAdd_block(counter, x); });
}
CEILING(atomics_system) {
    update_counter<unsigned>(a, [](unsigned *counter, unsigned x) { atomicAdd_system(counter, x); });
}

/* An addition of doubles by compare-and-swap: made again as long as another thread was faster. Bits are compared, so that it
 * also ends at NaN (CUDA C++ Programming Guide, "Atomic Functions"). */
CEILING(atomics_cas) {
    using Bits = unsigned long long;
    update_counter<Bits>(a, [](Bits *counter, unsigned x) {
        Bits seen = *counter, expected;
        do {
            expected = seen;
            const double sum = __longlong_as_double((long long)expected) + (double)x;
            seen = atomicCAS(counter, expected, (Bits)__double_as_longlong(sum));
        } while (seen != expected);
    });
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
