/* The elementary kernels for what every processor of the architecture has. */
#define MD_CEILING_KERNELS md_cpu_ceilings_baseline
#include "microbench/cpu/ceilings.inc"
