#define _GNU_SOURCE 1 /* RTLD_DEFAULT */
#include "cuda/device/driver.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

MdStatus cuda_driver_find(CudaDriver *driver, MdErrors *errors) {
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {
        {"cuModuleLoadData", offsetof(CudaDriver, module_load)},
        {"cuModuleUnload", offsetof(CudaDriver, module_unload)},
        {"cuModuleGetFunction", offsetof(CudaDriver, module_function)},
        {"cuModuleGetGlobal_v2", offsetof(CudaDriver, module_global)},
        {"cuLaunchKernelEx", offsetof(CudaDriver, launch)},
        {"cuLaunchCooperativeKernel", offsetof(CudaDriver, launch_cooperative)},
        {"cuFuncGetAttribute", offsetof(CudaDriver, function_attribute)},
        {"cuFuncSetAttribute", offsetof(CudaDriver, set_function_attribute)},
        {"cuOccupancyMaxActiveBlocksPerMultiprocessor", offsetof(CudaDriver, occupancy)},
        {"cuGetErrorString", offsetof(CudaDriver, error_text)},
    };
    /* In the program itself: an emulation of the driver, for tests. RTLD_DEFAULT may be NULL. */
    bool inside = dlsym(RTLD_DEFAULT, functions[0].name) != NULL;
    void *library = inside ? RTLD_DEFAULT : dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!inside && !library)
        return md_fail(errors, MD_ERROR_INPUT,
                       "run.backend=cuda: no NVIDIA driver is here (libcuda.so.1); start on a node with a GPU, or take "
                       "run.backend=cpu");
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
        void *function = dlsym(library, functions[k].name);
        if (!function)
            return md_fail(errors, MD_ERROR_INPUT,
                           "run.backend=cuda: the driver lacks %s; update it, or take run.backend=cpu",
                           functions[k].name);
        memcpy((char *)driver + functions[k].offset, &function, sizeof function);
    }
    return MD_OK; /* the library stays loaded until the program ends */
}

void cuda_driver_check(const CudaDriver *driver, int device, CUresult result, const char *what, const char *file,
                       int line) {
    if (result == CUDA_SUCCESS) return;
    const char *text = NULL;
    driver->error_text(result, &text);
    md_panic_at(file, line, "%s failed on GPU %d: %s", what, device, text ? text : "unknown error");
}

CUresult cuda_driver_launch(const CudaDriver *driver, CUfunction function, const unsigned grid[2],
                            const unsigned block[2], size_t dynamic_shared, CUstream stream, bool dependent,
                            void **parameters) {
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    early.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig config = {.gridDimX = grid[0],
                                   .gridDimY = grid[1],
                                   .gridDimZ = 1,
                                   .blockDimX = block[0],
                                   .blockDimY = block[1],
                                   .blockDimZ = 1,
                                   .sharedMemBytes = (unsigned)dynamic_shared,
                                   .hStream = stream,
                                   .attrs = &early,
                                   .numAttrs = dependent};
    return driver->launch(&config, function, parameters, NULL);
}
