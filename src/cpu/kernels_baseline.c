/* The kernels for what every processor of the architecture has. */
#define MD_KERNELS md_cpu_kernels_baseline
#include "cpu/kernels.inc"
