/* The cuda backend, for the list of built-in backends. */
#ifndef MD_CUDA_BACKEND_H
#define MD_CUDA_BACKEND_H

#include "backend/backend.h"

extern const MdBackendOps md_backend_cuda;

#endif
