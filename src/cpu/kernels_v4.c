/* The kernels for x86-64-v4; empty where the compiler does not know that set. */
#ifdef MDMINI_CPU_V4
#define MD_KERNELS md_cpu_kernels_v4
#include "cpu/kernels.inc"
#else
typedef int md_no_kernels_v4; /* ISO C wants a declaration in every file */
#endif
