/* The cuda backend, for the list of those that are built in. */
#ifndef MD_CUDA_BACKEND_H
#define MD_CUDA_BACKEND_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const MdBackendOps md_backend_cuda;

#ifdef __cplusplus
}
#endif
#endif
