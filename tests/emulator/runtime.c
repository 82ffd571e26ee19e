/* The runtime API for memory: allocations, copies and fills. */
#include <stdlib.h>
#include <string.h>

#include "emulator.h"

static cudaError_t allocate(enum EmulatorSpace space, void **data, size_t bytes, const char *call) {
    emulator_enter();
    cudaError_t error = cudaSuccess;
    if (emulator_capture_forbids(call)) error = cudaErrorStreamCaptureUnsupported;
    else if (bytes == 0) *data = NULL;
    else if (!(*data = emulator_memory_allocate(space, bytes, call))) error = cudaErrorMemoryAllocation;
    emulator_leave();
    return emulator_error(error);
}

static cudaError_t release(enum EmulatorSpace space, void *data, const char *call) {
    emulator_enter();
    cudaError_t error = cudaSuccess;
    if (emulator_capture_forbids(call)) error = cudaErrorStreamCaptureUnsupported;
    else if (data) {
        emulator_drain_all();
        emulator_memory_free(space, data, call);
    }
    emulator_leave();
    return emulator_error(error);
}

EMULATOR_API cudaError_t cudaMalloc(void **data, size_t bytes) {
    return allocate(EMULATOR_DEVICE, data, bytes, "cudaMalloc");
}
EMULATOR_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *data) {
    _Static_assert(sizeof(EmulatorHandle) <= sizeof *handle, "room in a handle");
    EmulatorHandle own;
    if (emulator_setting("MDMINI_EMULATOR_IPC", 1) == 0) return emulator_error(cudaErrorNotSupported);
    emulator_enter();
    emulator_memory_export(data, &own);
    emulator_leave();
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &own, sizeof own);
    return cudaSuccess;
}
EMULATOR_API cudaError_t cudaIpcOpenMemHandle(void **data, cudaIpcMemHandle_t handle, unsigned flags) {
    EmulatorHandle other;
    (void)flags;
    memcpy(&other, &handle, sizeof other);
    emulator_enter();
    *data = emulator_memory_import(&other);
    emulator_leave();
    return cudaSuccess;
}
EMULATOR_API cudaError_t cudaIpcCloseMemHandle(void *data) {
    return release(EMULATOR_DEVICE, data, "cudaIpcCloseMemHandle");
}
EMULATOR_API cudaError_t cudaMallocHost(void **data, size_t bytes) {
    return allocate(EMULATOR_PINNED, data, bytes, "cudaMallocHost");
}
EMULATOR_API cudaError_t cudaHostAlloc(void **data, size_t bytes, unsigned flags) {
    (void)flags;
    return allocate(EMULATOR_PINNED, data, bytes, "cudaHostAlloc");
}
EMULATOR_API cudaError_t cudaMallocManaged(void **data, size_t bytes, unsigned flags) {
    (void)flags;
    return allocate(EMULATOR_MANAGED, data, bytes, "cudaMallocManaged");
}
EMULATOR_API cudaError_t cudaFree(void *data) { return release(EMULATOR_DEVICE, data, "cudaFree"); }
EMULATOR_API cudaError_t cudaFreeHost(void *data) { return release(EMULATOR_PINNED, data, "cudaFreeHost"); }

/* The pool: memory that is freed is gone for good as soon as the stream gets there. */
EMULATOR_API cudaError_t cudaMallocAsync(void **data, size_t bytes, cudaStream_t stream) {
    enum cudaStreamCaptureStatus status;
    cudaStreamIsCapturing(stream, &status);
    if (status != cudaStreamCaptureStatusNone) emulator_fail("cudaMallocAsync in a capture is not emulated");
    emulator_enter();
    void *place = bytes ? emulator_memory_allocate(EMULATOR_DEVICE, bytes, "cudaMallocAsync") : NULL;
    if (bytes && !place) { /* what is to be freed may be enough */
        emulator_drain_all();
        place = emulator_memory_allocate(EMULATOR_DEVICE, bytes, "cudaMallocAsync");
    }
    *data = place;
    emulator_leave();
    return emulator_error(bytes && !place ? cudaErrorMemoryAllocation : cudaSuccess);
}

EMULATOR_API cudaError_t cudaFreeAsync(void *data, cudaStream_t stream) {
    if (!data) return cudaSuccess;
    emulator_enter();
    emulator_memory_check_free(EMULATOR_DEVICE, data, "cudaFreeAsync");
    EmulatorOp *op = emulator_op(EMULATOR_OP_FREE);
    op->to = data;
    cudaError_t error = emulator_issue(stream, op);
    emulator_leave();
    return error;
}

EMULATOR_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
    (void)device;
    *pool = (cudaMemPool_t)&emulator_services; /* nobody looks into it */
    return cudaSuccess;
}
EMULATOR_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
    (void)pool, (void)attribute, (void)value;
    return cudaSuccess;
}
EMULATOR_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
    (void)pool, (void)bytes;
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
    (void)flags;
    emulator_enter();
    bool pinned = emulator_memory_space(host, 1, "cudaHostGetDevicePointer") == EMULATOR_PINNED;
    emulator_leave();
    *device = host;
    return emulator_error(pinned ? cudaSuccess : cudaErrorInvalidValue);
}

static cudaError_t check_managed(const void *data, size_t bytes, const char *call) {
    emulator_enter();
    bool managed = emulator_memory_space(data, bytes, call) == EMULATOR_MANAGED;
    emulator_leave();
    return emulator_error(managed ? cudaSuccess : cudaErrorInvalidValue);
}

#if CUDART_VERSION >= 13000
EMULATOR_API cudaError_t cudaMemAdvise(const void *data, size_t bytes, enum cudaMemoryAdvise advice,
                                       struct cudaMemLocation location) {
    (void)advice, (void)location;
    return check_managed(data, bytes, "cudaMemAdvise");
}
EMULATOR_API cudaError_t cudaMemPrefetchAsync(const void *data, size_t bytes, struct cudaMemLocation location,
                                              unsigned flags, cudaStream_t stream) {
    (void)location, (void)flags, (void)stream;
    return check_managed(data, bytes, "cudaMemPrefetchAsync");
}
#else
EMULATOR_API cudaError_t cudaMemAdvise(const void *data, size_t bytes, enum cudaMemoryAdvise advice, int device) {
    (void)advice, (void)device;
    return check_managed(data, bytes, "cudaMemAdvise");
}
EMULATOR_API cudaError_t cudaMemPrefetchAsync(const void *data, size_t bytes, int device, cudaStream_t stream) {
    (void)device, (void)stream;
    return check_managed(data, bytes, "cudaMemPrefetchAsync");
}
#endif

EMULATOR_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *data) {
    static const enum cudaMemoryType types[] = {cudaMemoryTypeUnregistered, cudaMemoryTypeDevice, cudaMemoryTypeHost,
                                                cudaMemoryTypeManaged};
    emulator_enter();
    enum EmulatorSpace space = emulator_memory_space(data, 1, "cudaPointerGetAttributes");
    emulator_leave();
    memset(attributes, 0, sizeof *attributes);
    attributes->type = types[space];
    attributes->devicePointer = space == EMULATOR_FOREIGN ? NULL : (void *)(uintptr_t)data;
    attributes->hostPointer = space == EMULATOR_DEVICE ? NULL : (void *)(uintptr_t)data;
    return cudaSuccess;
}

/* --- copies --------------------------------------------------------------------------------------------------------- */

static bool on_device(enum EmulatorSpace space) { return space == EMULATOR_DEVICE || space == EMULATOR_MANAGED; }

static void check_kind(enum EmulatorSpace to, enum EmulatorSpace from, enum cudaMemcpyKind kind) {
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    if (kind == cudaMemcpyDefault) return;
    /* managed memory is both, and so is mapped memory for the runtime */
    bool wrong = (from_device && from == EMULATOR_FOREIGN) || (to_device && to == EMULATOR_FOREIGN) ||
                 (!from_device && from == EMULATOR_DEVICE) || (!to_device && to == EMULATOR_DEVICE);
    if (wrong) emulator_fail("copy: the kind %d does not fit its pointers", (int)kind);
}

EMULATOR_API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                         cudaStream_t stream) {
    if (bytes == 0) return cudaSuccess;
    emulator_enter();
    enum EmulatorSpace target = emulator_memory_space(to, bytes, "cudaMemcpyAsync");
    enum EmulatorSpace source = emulator_memory_space(from, bytes, "cudaMemcpyAsync");
    check_kind(target, source, kind);
    EmulatorOp *op = emulator_op(EMULATOR_OP_COPY);
    op->to = to;
    op->from = from;
    op->bytes = bytes;
    if (source == EMULATOR_FOREIGN) {
        void *copy = malloc(bytes);
        if (!copy) emulator_fail("no memory");
        op->from = memcpy(copy, from, bytes);
        op->owns_from = true;
    }
    cudaError_t error = emulator_issue(stream, op);
    /* To pageable memory the runtime comes back when the copy is done. */
    const bool waits = error == cudaSuccess && target == EMULATOR_FOREIGN;
    emulator_leave();
    return waits ? cudaStreamSynchronize(stream) : error;
}

EMULATOR_API cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, NULL);
    return error == cudaSuccess ? cudaStreamSynchronize(NULL) : error;
}

EMULATOR_API cudaError_t cudaMemsetAsync(void *data, int value, size_t bytes, cudaStream_t stream) {
    if (bytes == 0) return cudaSuccess;
    emulator_enter();
    enum EmulatorSpace space = emulator_memory_space(data, bytes, "cudaMemsetAsync");
    if (!on_device(space) && space != EMULATOR_PINNED)
        emulator_fail("cudaMemsetAsync of memory that the device does not see");
    EmulatorOp *op = emulator_op(EMULATOR_OP_SET);
    op->to = data;
    op->value = value;
    op->bytes = bytes;
    cudaError_t error = emulator_issue(stream, op);
    emulator_leave();
    return error;
}

EMULATOR_API cudaError_t cudaMemset(void *data, int value, size_t bytes) {
    return cudaMemsetAsync(data, value, bytes, NULL);
}
