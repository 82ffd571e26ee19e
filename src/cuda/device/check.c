#include "cuda/device/check.h"

#include "base/status.h"

void cuda_check(cudaError_t error, const char *expression, const char *file, int line) {
    if (error == cudaSuccess) return;
    int device = -1;
    if (cudaGetDevice(&device) != cudaSuccess) device = -1;
    md_panic_at(file, line, "%s failed on GPU %d: %s (%s)", expression, device, cudaGetErrorName(error),
                cudaGetErrorString(error));
}
