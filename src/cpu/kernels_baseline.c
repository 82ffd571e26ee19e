/* The kernels for the instructions of every processor of the architecture. */
#define MD_KERNELS md_cpu_kernels_baseline
#include "cpu/kernels.inc"
