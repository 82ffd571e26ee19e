/* The cuda backend, for the list of those that are built in. */
#ifndef MD_CUDA_BACKEND_H
#define MD_CUDA_BACKEND_H

#include "backend/backend.h"

extern const MdBackendOps md_backend_cuda;

#endif
