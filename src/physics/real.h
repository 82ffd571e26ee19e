/* Physics formulas stand once, for single and double precision, in C and in CUDA C.
 *
 * A formula lives in a file NAME.inc, written with MD_REAL for the type and MD_NAME(f) for its own names. NAME.h
 * includes it twice. In C the two copies are f_f (float) and f_d (double); in C++ and CUDA they are overloads of f,
 * except that types keep the suffix. MD_HD marks functions for host and device. */
#ifndef MD_PHYSICS_REAL_H
#define MD_PHYSICS_REAL_H

#include <math.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "built with -ffast-math or -Ofast, energies become infinite: compile without them"
#endif

#ifdef __CUDACC__
#define MD_HD __host__ __device__ static inline __attribute__((always_inline))
#else
#define MD_HD static inline __attribute__((always_inline))
#endif

#endif
