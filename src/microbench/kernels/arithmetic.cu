/* Operations per second. Each thread makes a.n multiply-adds in registers and writes one number.
 *
 * Ladder, naive to best:
 *   not fused       a product rounded, then a sum: two instructions for two operations
 *   one chain       fused: one instruction for both, but each waits for the one before; other warps fill the gaps, as far as
 *                   there are enough of them
 *   two, four,      independent chains: a single warp has several instructions in flight
 *   eight chains */
#include "microbench/kernels/ceiling.cuh"

__device__ inline float apart(float x, float y, float z) { return __fadd_rn(__fmul_rn(x, y), z); }
__device__ inline double apart(double x, double y, double z) { return __dadd_rn(__dmul_rn(x, y), z); }

/* x = x * 1 + 1 in each chain: the sum of the chains is the number of multiply-adds. */
template <class Real, int CHAINS, bool FUSED> __device__ inline void run_chains(const CudaCeilingArguments &a) {
    const Real one = (Real)a.one;
    Real x[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; k++) x[k] = 0;
#pragma unroll 8
    for (int step = 0; step < (int)a.n / CHAINS; step++)
#pragma unroll
        for (int k = 0; k < CHAINS; k++) x[k] = FUSED ? fma(x[k], one, one) : apart(x[k], one, one);
    Real sum = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; k++) sum += x[k];
    a.b[thread_index()] = (float)sum;
}

RESIDENT_CEILING(arithmetic_single_apart) { run_chains<float, 8, false>(a); }
RESIDENT_CEILING(arithmetic_single_1) { run_chains<float, 1, true>(a); }
RESIDENT_CEILING(arithmetic_single_2) { run_chains<float, 2, true>(a); }
RESIDENT_CEILING(arithmetic_single_4) { run_chains<float, 4, true>(a); }
RESIDENT_CEILING(arithmetic_single_8) { run_chains<float, 8, true>(a); }
RESIDENT_CEILING(arithmetic_double_apart) { run_chains<double, 8, false>(a); }
RESIDENT_CEILING(arithmetic_double_1) { run_chains<double, 1, true>(a); }
RESIDENT_CEILING(arithmetic_double_2) { run_chains<double, 2, true>(a); }
RESIDENT_CEILING(arithmetic_double_4) { run_chains<double, 4, true>(a); }
RESIDENT_CEILING(arithmetic_double_8) { run_chains<double, 8, true>(a); }
