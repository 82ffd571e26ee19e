/* The microbenchmarks of the cpu: mdmini --ceilings. */
#ifndef MD_CPU_MICROBENCH_BACKEND_H
#define MD_CPU_MICROBENCH_BACKEND_H

#include "microbench/host/measure.h"

extern const MdCeilingsBackend md_ceilings_of_cpu;

#endif
