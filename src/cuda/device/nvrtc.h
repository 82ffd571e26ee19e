/* The compiler of kernels, which is in the program. */
#ifndef MD_CUDA_NVRTC_H
#define MD_CUDA_NVRTC_H

#include <nvrtc.h>
#include <stdbool.h>

/* A failure here is an internal fault. */
void cuda_nvrtc_check(nvrtcResult result, const char *what);

/* The output of NVRTC for a GPU: code for that GPU, or, for one that is newer than this NVRTC, PTX of the newest
 * architecture before it, which the driver compiles on. */
typedef struct CudaArchitecture {
    int number; /* 90 for 9.0; 0: the GPU is older than all that this NVRTC has */
    bool is_ptx;
} CudaArchitecture;
CudaArchitecture cuda_nvrtc_architecture(int compute_capability);

/* As CUDA counts: 12030 for 12.3; 0: not known. */
int cuda_nvrtc_version(void);

#endif
