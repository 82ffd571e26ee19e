#ifndef MD_CUDA_CHECK_H
#define MD_CUDA_CHECK_H

#include <cuda_runtime_api.h>

/* A CUDA call that fails is an internal fault: it stops the run with the expression, file and line, and the device. */
void cuda_check(cudaError_t error, const char *expression, const char *file, int line);
#define CUDA_CHECK(expression) cuda_check((expression), #expression, __FILE__, __LINE__)

#endif
