/* The elementary kernels for x86-64-v4; empty where the compiler does not know that set. */
#ifdef MDMINI_CPU_V4
#define MD_CEILING_KERNELS md_cpu_ceilings_v4
#include "microbench/cpu/ceilings.inc"
#else
typedef int md_no_ceilings_v4; /* ISO C wants a declaration in every file */
#endif
