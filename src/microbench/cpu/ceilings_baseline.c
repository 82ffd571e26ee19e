/* The elementary kernels for the instructions of every processor of the architecture. */
#define MD_CEILING_KERNELS md_cpu_ceilings_baseline
#include "microbench/cpu/ceilings.inc"
