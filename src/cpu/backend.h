/* The cpu backend, for the list of built-in backends. */
#ifndef MD_CPU_BACKEND_H
#define MD_CPU_BACKEND_H

#include "backend/backend.h"

extern const MdBackendOps md_backend_cpu;

#endif
