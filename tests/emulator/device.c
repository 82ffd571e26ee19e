/* The imaginary GPU, its limits, and the texts of errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.h"

int emulator_occupancy(unsigned threads, size_t shared_bytes) {
    unsigned rounded = (threads + EMULATOR_WARP - 1) / EMULATOR_WARP * EMULATOR_WARP;
    if (rounded == 0 || rounded > EMULATOR_MAX_THREADS || shared_bytes > EMULATOR_SHARED_OPT_IN) return 0;
    unsigned blocks = EMULATOR_SM_BLOCKS, by_threads = EMULATOR_SM_THREADS / rounded;
    unsigned by_registers = EMULATOR_SM_REGISTERS / (EMULATOR_REGISTERS * rounded);
    unsigned by_shared = (unsigned)(EMULATOR_SM_SHARED / (shared_bytes + EMULATOR_SHARED_RESERVED));
    if (by_threads < blocks) blocks = by_threads;
    if (by_registers < blocks) blocks = by_registers;
    if (by_shared < blocks) blocks = by_shared;
    return (int)blocks;
}

static int n_devices(void) { return (int)emulator_setting("MDMINI_EMULATOR_DEVICES", 1); }
static _Thread_local int device;

EMULATOR_API cudaError_t cudaGetDeviceCount(int *count) {
    *count = n_devices();
    return emulator_error(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

EMULATOR_API cudaError_t cudaSetDevice(int d) {
    if (d < 0 || d >= n_devices()) return emulator_error(cudaErrorInvalidDevice);
    device = d;
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaInitDevice(int d, unsigned flags, unsigned more) {
    (void)flags, (void)more;
    return cudaSetDevice(d);
}

EMULATOR_API cudaError_t cudaGetDevice(int *d) {
    *d = device;
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaSetDeviceFlags(unsigned flags) {
    (void)flags;
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaDriverGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaRuntimeGetVersion(int *version) { return cudaDriverGetVersion(version); }

EMULATOR_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int d) {
    if (d < 0 || d >= n_devices()) return emulator_error(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "emulated GPU");
    for (int k = 0; k < 16; k++) p->uuid.bytes[k] = (char)(16 * k + d); /* GPU-00102030-4050-... */
    p->totalGlobalMem = EMULATOR_MEMORY;
    p->sharedMemPerBlock = EMULATOR_SHARED;
    p->sharedMemPerBlockOptin = EMULATOR_SHARED_OPT_IN;
    p->sharedMemPerMultiprocessor = EMULATOR_SM_SHARED;
    p->reservedSharedMemPerBlock = EMULATOR_SHARED_RESERVED;
    p->regsPerBlock = p->regsPerMultiprocessor = EMULATOR_SM_REGISTERS;
    p->warpSize = EMULATOR_WARP;
    p->maxThreadsPerBlock = EMULATOR_MAX_THREADS;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 2147483647;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->totalConstMem = 65536;
    p->major = 9;
    p->textureAlignment = 512;
    p->multiProcessorCount = EMULATOR_SMS;
    p->canMapHostMemory = p->unifiedAddressing = p->concurrentKernels = 1;
    p->asyncEngineCount = 2;
    p->memoryBusWidth = 64;
    p->l2CacheSize = 4 << 20;
    p->maxThreadsPerMultiProcessor = EMULATOR_SM_THREADS;
    p->maxBlocksPerMultiProcessor = EMULATOR_SM_BLOCKS;
    p->managedMemory = p->concurrentManagedAccess = p->cooperativeLaunch = p->memoryPoolsSupported = 1;
    p->streamPrioritiesSupported = 1;
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int d) {
    struct cudaDeviceProp p;
    cudaError_t error = cudaGetDeviceProperties(&p, d);
    if (error != cudaSuccess) return error;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxBlockDimX: *value = p.maxThreadsDim[0]; break;
    case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = EMULATOR_SHARED; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = EMULATOR_SHARED_OPT_IN; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = EMULATOR_SM_SHARED; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = EMULATOR_SHARED_RESERVED; break;
    case cudaDevAttrTotalConstantMemory: *value = (int)p.totalConstMem; break;
    case cudaDevAttrWarpSize: *value = EMULATOR_WARP; break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = EMULATOR_SM_REGISTERS; break;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate: *value = 1000000; break; /* kHz */
    case cudaDevAttrTextureAlignment: *value = (int)p.textureAlignment; break;
    case cudaDevAttrMaxTexture1DLinearWidth: *value = 1 << 28; break;
    case cudaDevAttrMultiProcessorCount: *value = EMULATOR_SMS; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = EMULATOR_SM_THREADS; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = EMULATOR_SM_BLOCKS; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = p.memoryBusWidth; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrAsyncEngineCount: *value = p.asyncEngineCount; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    case cudaDevAttrIntegrated:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrPciBusId:
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId:
    case cudaDevAttrComputeMode:
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrPageableMemoryAccess: *value = 0; break;
    default: emulator_fail("the emulated GPU does not know attribute %d", (int)attribute);
    }
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int d) {
    snprintf(text, (size_t)size, "0000:00:%02x.0", d);
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    emulator_enter();
    *total_bytes = EMULATOR_MEMORY;
    *free_bytes = EMULATOR_MEMORY - emulator_memory_used();
    emulator_leave();
    return cudaSuccess;
}

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "driver older than the runtime"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice", "no kernel image for the device"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState", "the operation cannot be performed in this state"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge", "merge of independent captures"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"}};

static size_t error_at(int code) {
    for (size_t k = 0; k < sizeof errors / sizeof errors[0]; k++)
        if (errors[k].code == code) return k;
    return sizeof errors / sizeof errors[0];
}

EMULATOR_API const char *cudaGetErrorName(cudaError_t error) {
    size_t k = error_at((int)error);
    return k < sizeof errors / sizeof errors[0] ? errors[k].name : "unrecognized error code";
}

EMULATOR_API const char *cudaGetErrorString(cudaError_t error) {
    size_t k = error_at((int)error);
    return k < sizeof errors / sizeof errors[0] ? errors[k].text : "unrecognized error code";
}

/* Codes of the driver are those of the runtime. */
EMULATOR_API CUresult cuGetErrorString(CUresult error, const char **text) {
    *text = cudaGetErrorString((cudaError_t)error);
    return CUDA_SUCCESS;
}

EMULATOR_API CUresult cuGetErrorName(CUresult error, const char **text) {
    *text = cudaGetErrorName((cudaError_t)error);
    return CUDA_SUCCESS;
}
