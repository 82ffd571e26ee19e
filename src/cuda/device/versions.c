#include "cuda/device/versions.h"

#include <cuda_runtime_api.h>
#include <curand.h>
#include <nvrtc.h>
#include <stdio.h>

const char *md_cuda_versions(char *buffer, size_t size) {
    int runtime = 0, driver = 0, curand = 0, nvrtc[2] = {0, 0};
    char driver_text[32] = "none";
    if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0)
        snprintf(driver_text, sizeof driver_text, "%d.%d", driver / 1000, driver % 1000 / 10);
    if (curandGetVersion(&curand) != CURAND_STATUS_SUCCESS) curand = 0;
    if (nvrtcVersion(&nvrtc[0], &nvrtc[1]) != NVRTC_SUCCESS) nvrtc[0] = nvrtc[1] = 0;
    snprintf(buffer, size, "runtime %d.%d, driver %s, NVRTC %d.%d, cuRAND %d.%d.%d", runtime / 1000,
             runtime % 1000 / 10, driver_text, nvrtc[0], nvrtc[1], curand / 1000, curand % 1000 / 100, curand % 100);
    return buffer;
}
