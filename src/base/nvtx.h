/* Ranges and names for NVIDIA's profilers (Nsight Systems and Compute): `nsys profile -t cuda,nvtx mdmini ...` shows them
 * beside kernels and copies. Without a profiler a range costs a call and a test; where the toolkit lacks the header, or
 * with MDMINI_NVTX=OFF, nothing is done. */
#ifndef MD_BASE_NVTX_H
#define MD_BASE_NVTX_H

#include <stdint.h>

/* A range of this thread, which may enclose others; number (a step, a frame, a count) goes with it. */
void md_nvtx_begin(const char *name, int64_t number);
void md_nvtx_end(void);

/* The name of this thread. */
void md_nvtx_name_thread(const char *name);

#endif
