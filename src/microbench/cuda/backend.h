/* The microbenchmarks of a GPU: mdmini --ceilings. */
#ifndef MD_CUDA_MICROBENCH_BACKEND_H
#define MD_CUDA_MICROBENCH_BACKEND_H

#include "microbench/host/measure.h"

extern const MdCeilingsBackend md_ceilings_of_cuda;

#endif
