#include "cuda/device/nvrtc.h"

#include "base/status.h"

void cuda_nvrtc_check(nvrtcResult result, const char *what) {
    if (result != NVRTC_SUCCESS) md_panic("%s: %s", what, nvrtcGetErrorString(result));
}

CudaArchitecture cuda_nvrtc_architecture(int compute_capability) {
    enum { MAX_ARCHITECTURES = 256 };
    int n = 0, known[MAX_ARCHITECTURES];
    CudaArchitecture best = {0, true};
    cuda_nvrtc_check(nvrtcGetNumSupportedArchs(&n), "nvrtcGetNumSupportedArchs");
    md_require(n <= MAX_ARCHITECTURES);
    cuda_nvrtc_check(nvrtcGetSupportedArchs(known), "nvrtcGetSupportedArchs");
    for (int k = 0; k < n; k++)
        if (known[k] <= compute_capability && known[k] > best.number) best.number = known[k];
    best.is_ptx = best.number != compute_capability;
    return best;
}

int cuda_nvrtc_version(void) {
    int major = 0, minor = 0;
    return nvrtcVersion(&major, &minor) == NVRTC_SUCCESS ? 1000 * major + 10 * minor : 0;
}
