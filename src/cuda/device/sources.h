/* The text of the kernels and of the headers that they include, as the build found it (embed.cmake). */
#ifndef MD_CUDA_SOURCES_H
#define MD_CUDA_SOURCES_H

typedef struct CudaSource {
    const char *name; /* as it is included: `cuda/kernels/common.cuh` */
    const char *text;
} CudaSource;

extern const CudaSource cuda_sources[];
extern const int cuda_n_sources;

#endif
