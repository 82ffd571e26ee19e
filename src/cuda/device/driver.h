/* The driver API and NVRTC, as far as they are used. The driver is found when the program runs, so that it starts on
 * machines without one. */
#ifndef MD_CUDA_DRIVER_H
#define MD_CUDA_DRIVER_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct CudaDriver {
    CUresult (*module_load)(CUmodule *, const void *);
    CUresult (*module_unload)(CUmodule);
    CUresult (*module_function)(CUfunction *, CUmodule, const char *);
    CUresult (*module_global)(CUdeviceptr *, size_t *, CUmodule, const char *);
    CUresult (*launch)(const CUlaunchConfig *, CUfunction, void **, void **);
    CUresult (*launch_cooperative)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   CUstream, void **);
    CUresult (*function_attribute)(int *, CUfunction_attribute, CUfunction);
    CUresult (*set_function_attribute)(CUfunction, CUfunction_attribute, int);
    CUresult (*occupancy)(int *, CUfunction, int, size_t);
    CUresult (*error_text)(CUresult, const char **);
} CudaDriver;

/* Stops the run if a call has failed. owner: has the driver and the device. */
void cuda_driver_check(const CudaDriver *driver, int device, CUresult result, const char *what, const char *file,
                       int line);
#define CUDA_DRIVER_CHECK(owner, expression)                                                                           \
    cuda_driver_check(&(owner)->driver, (owner)->device, (expression), #expression, __FILE__, __LINE__)

/* A launch; dependent, programmatically: the kernel may come before the one ahead of it in the stream has ended. */
CUresult cuda_driver_launch(const CudaDriver *driver, CUfunction function, const unsigned grid[2],
                            const unsigned block[2], size_t dynamic_shared, CUstream stream, bool dependent,
                            void **parameters);

/* Fills driver; an input error where there is none. */
MdStatus cuda_driver_find(CudaDriver *driver, MdErrors *errors);

#endif
