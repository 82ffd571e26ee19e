/* Versions of the CUDA libraries, for --version and the provenance; no CUDA type is needed to ask. */
#ifndef MD_CUDA_VERSIONS_H
#define MD_CUDA_VERSIONS_H

#include <stddef.h>

/* `runtime 13.0, driver 13.0, NVRTC 13.0, cuRAND 10.4.0`; the driver is `none` where there is none. Returns buffer. */
const char *md_cuda_versions(char *buffer, size_t size);

#endif
