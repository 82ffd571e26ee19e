/* The imaginary GPU, its limits, and the texts of errors. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.h"

/* What a compute capability has (CUDA programming guide, technical specifications; 8.8 and 10.7: cuda_occupancy.h and ptxas of
 * CUDA 13.5); KiB of shared memory. */
static const struct {
    int compute_capability;
    unsigned sm_threads, sm_blocks, sm_shared, shared_opt_in, shared_reserved;
} capabilities[] = {{70, 2048, 32, 96, 96, 0},    {75, 1024, 16, 64, 64, 0},    {80, 2048, 32, 164, 163, 1},
                    {86, 1536, 16, 100, 99, 1},   {87, 1536, 16, 164, 163, 1},  {88, 1536, 16, 100, 99, 1},
                    {89, 1536, 24, 100, 99, 1},   {90, 2048, 32, 228, 227, 1},  {100, 2048, 32, 228, 227, 1},
                    {103, 2048, 32, 228, 227, 1}, {107, 1024, 16, 328, 327, 1}, {110, 1536, 24, 228, 227, 1},
                    {120, 1536, 24, 100, 99, 1},  {121, 1536, 24, 100, 99, 1}};
enum { N_CAPABILITIES = sizeof capabilities / sizeof capabilities[0] };

#ifdef EMULATOR_IDLE /* as an H200: what `auto` takes, and so what is compiled, depends on it */
static const char default_gpu[] = "9.0,132";
#else
static const char default_gpu[] = "9.0,4";
#endif

static EmulatorGpu gpu;

static void read_gpu(void) {
    const char *asked = getenv("MDMINI_EMULATOR_GPU"), *text = asked && *asked ? asked : default_gpu;
    int major = 0, minor = 0, k = 0, end = 0;
    unsigned n_sms = 0, kib = 0;
    const int n = sscanf(text, "%d.%d,%u%n,%u%n", &major, &minor, &n_sms, &end, &kib, &end);
    const int compute_capability = 10 * major + minor;
    while (k < N_CAPABILITIES && capabilities[k].compute_capability != compute_capability) k++;
    if (n < 3 || text[end] || n_sms < 1 || k == N_CAPABILITIES || (n == 4 && kib < EMULATOR_SHARED >> 10))
        emulator_fail(
            "MDMINI_EMULATOR_GPU=%s: a compute capability that is known, multiprocessors and, if it is to be another, "
            "the KiB of shared memory of a block are needed, as 12.0,48 or 12.0,48,99",
            text);
    const unsigned reserved = capabilities[k].shared_reserved;
    gpu = (EmulatorGpu){.compute_capability = compute_capability,
                        .n_sms = n_sms,
                        .sm_threads = capabilities[k].sm_threads,
                        .sm_blocks = capabilities[k].sm_blocks,
                        .sm_shared = (n == 4 ? kib + reserved : capabilities[k].sm_shared) << 10,
                        .shared_opt_in = (n == 4 ? kib : capabilities[k].shared_opt_in) << 10,
                        .shared_reserved = reserved << 10};
}

const EmulatorGpu *emulator_gpu(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_gpu);
    return &gpu;
}

int emulator_occupancy(unsigned threads, size_t shared_bytes) {
    const EmulatorGpu *g = emulator_gpu();
    unsigned rounded = (threads + EMULATOR_WARP - 1) / EMULATOR_WARP * EMULATOR_WARP;
    if (rounded == 0 || rounded > EMULATOR_MAX_THREADS || shared_bytes > g->shared_opt_in) return 0;
    const size_t unit = g->compute_capability < 80 ? 256 : 128;
    const size_t shared = (shared_bytes + g->shared_reserved + unit - 1) / unit * unit;
    unsigned blocks = g->sm_blocks, by_threads = g->sm_threads / rounded;
    unsigned by_registers = EMULATOR_SM_REGISTERS / (EMULATOR_REGISTERS * rounded);
    unsigned by_shared = shared > 0 ? (unsigned)(g->sm_shared / shared) : blocks;
    if (by_threads < blocks) blocks = by_threads;
    if (by_registers < blocks) blocks = by_registers;
    if (by_shared < blocks) blocks = by_shared;
    return (int)blocks;
}

/* Of those that CUDA_VISIBLE_DEVICES names by numbers, up to the first that is not there; -1: device d is not visible. */
static int number_on_machine(int d) {
    const int n_there = (int)emulator_setting("MDMINI_EMULATOR_DEVICES", 1);
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    int number = d;
    for (int k = 0; text && k <= d; k++) {
        char *end;
        number = (int)strtol(text, &end, 10);
        if (end == text || number < 0 || number >= n_there) return -1;
        text = end + (*end == ',');
    }
    return number < n_there ? number : -1;
}

static int n_devices(void) {
    int n = 0;
    while (number_on_machine(n) >= 0) n++;
    return n;
}

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
    const EmulatorGpu *g = emulator_gpu();
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "emulated GPU");
    for (int k = 0; k < 16; k++) p->uuid.bytes[k] = (char)(16 * k + number_on_machine(d)); /* GPU-00102030-4050-... */
    p->totalGlobalMem = EMULATOR_MEMORY;
    p->sharedMemPerBlock = EMULATOR_SHARED;
    p->sharedMemPerBlockOptin = g->shared_opt_in;
    p->sharedMemPerMultiprocessor = g->sm_shared;
    p->reservedSharedMemPerBlock = g->shared_reserved;
    p->regsPerBlock = p->regsPerMultiprocessor = EMULATOR_SM_REGISTERS;
    p->warpSize = EMULATOR_WARP;
    p->maxThreadsPerBlock = EMULATOR_MAX_THREADS;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 2147483647;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->totalConstMem = 65536;
    p->major = g->compute_capability / 10;
    p->minor = g->compute_capability % 10;
    p->textureAlignment = 512;
    p->multiProcessorCount = (int)g->n_sms;
    p->canMapHostMemory = p->unifiedAddressing = p->concurrentKernels = 1;
    p->asyncEngineCount = 2;
    p->memoryBusWidth = 64;
    p->l2CacheSize = 4 << 20;
    p->maxThreadsPerMultiProcessor = (int)g->sm_threads;
    p->maxBlocksPerMultiProcessor = (int)g->sm_blocks;
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
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
    case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[attribute - cudaDevAttrMaxBlockDimX]; break;
    case cudaDevAttrMaxGridDimX:
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[attribute - cudaDevAttrMaxGridDimX]; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = EMULATOR_SHARED; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int)p.sharedMemPerBlockOptin; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = (int)p.sharedMemPerMultiprocessor; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = (int)p.reservedSharedMemPerBlock; break;
    case cudaDevAttrTotalConstantMemory: *value = (int)p.totalConstMem; break;
    case cudaDevAttrWarpSize: *value = EMULATOR_WARP; break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = EMULATOR_SM_REGISTERS; break;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate: *value = 1000000; break; /* kHz */
    case cudaDevAttrTextureAlignment: *value = (int)p.textureAlignment; break;
    case cudaDevAttrMaxTexture1DLinearWidth: *value = 1 << 28; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = p.maxBlocksPerMultiProcessor; break;
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
    snprintf(text, (size_t)size, "0000:00:%02x.0", (unsigned)number_on_machine(d));
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaDeviceGetByPCIBusId(int *d, const char *text) {
    unsigned number = 0;
    if (sscanf(text, "0000:00:%x.0", &number) == 1)
        for (*d = 0; *d < n_devices(); ++*d)
            if (number_on_machine(*d) == (int)number) return cudaSuccess;
    return emulator_error(cudaErrorInvalidDevice);
}

EMULATOR_API cudaError_t cudaDeviceCanAccessPeer(int *can, int one, int other) {
    *can = one != other && emulator_setting("MDMINI_EMULATOR_REACH", 1);
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
