/* How device arrays are taken and given back, and where they live.
 *
 * Ladder of memory.space
 *   mapped            pinned memory of the host that the GPU reads and writes over the bus: no copy, but every access
 *                     crosses the bus
 *   managed           pages move to the processor that touches them; each first touch by a kernel is a fault that stalls it
 *   managed-prefetch  the same pages, told to live on the GPU and sent there before the first kernel
 *   device            memory of the GPU
 *
 * Ladder of memory.allocation
 *   per-call          arrays that are not needed between two calls are allocated before a call and freed after it; each
 *                     free waits until the device has done all that was issued
 *   pool              the same from the stream-ordered pool: it keeps freed memory and reuses it, without
 *                     a wait
 *   once              at start */
#include "cuda/stages/stages.h"

static bool is_mapped(const CudaContext *context) { return context->config.memory_space == MD_SPACE_MAPPED; }

static cudaError_t prefer_device(const CudaContext *context, void *data, size_t bytes) {
#if CUDART_VERSION >= 13000
    const struct cudaMemLocation place = {.type = cudaMemLocationTypeDevice, .id = context->device};
    cudaError_t error = cudaMemAdvise(data, bytes, cudaMemAdviseSetPreferredLocation, place);
    return error == cudaSuccess ? cudaMemPrefetchAsync(data, bytes, place, 0, context->stream) : error;
#else
    cudaError_t error = cudaMemAdvise(data, bytes, cudaMemAdviseSetPreferredLocation, context->device);
    return error == cudaSuccess ? cudaMemPrefetchAsync(data, bytes, context->device, context->stream) : error;
#endif
}

static cudaError_t take(const CudaContext *context, void **where, size_t bytes, bool pooled) {
    if (pooled) return cudaMallocAsync(where, bytes, context->stream);
    cudaError_t error;
    void *host;
    switch (context->config.memory_space) {
    case MD_SPACE_MAPPED:
        error = cudaHostAlloc(&host, bytes, cudaHostAllocMapped);
        if (error != cudaSuccess) return error;
        CUDA_CHECK(cudaHostGetDevicePointer(where, host, 0));
        md_require(*where == host); /* one address for both, wherever 64-bit addresses are unified */
        return cudaSuccess;
    case MD_SPACE_MANAGED: return cudaMallocManaged(where, bytes, cudaMemAttachGlobal);
    case MD_SPACE_MANAGED_PREFETCH:
        error = cudaMallocManaged(where, bytes, cudaMemAttachGlobal);
        return error == cudaSuccess ? prefer_device(context, *where, bytes) : error;
    default: return cudaMalloc(where, bytes);
    }
}

static MdStatus refuse(CudaContext *context, size_t bytes, const char *what, MdStatus failure) {
    size_t free_bytes = 0, total_bytes = 0;
    (void)cudaGetLastError(); /* reported here; the next launch must not find it */
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    return md_fail(context->errors, failure,
                   "%s %d has no room for the %s: %.1f MiB asked for after %.1f MiB taken, %.1f MiB free on the GPU; "
                   "take fewer atoms, run.precision=single, a smaller neighbor.skin or neighbor.capacity, or "
                   "run.backend=cpu",
                   is_mapped(context) ? "pinned memory for GPU" : "GPU", context->device, what, (double)bytes / 1048576,
                   (double)context->array_bytes / 1048576, (double)free_bytes / 1048576);
}

MdStatus cuda_allocate(CudaContext *context, void **where, size_t bytes, bool pooled, const char *what,
                       MdStatus failure) {
    *where = NULL;
    cudaError_t error = take(context, where, bytes > 0 ? bytes : 1, pooled);
    if (error == cudaErrorMemoryAllocation) return refuse(context, bytes, what, failure);
    CUDA_CHECK(error);
    for (int k = 0; k < CUDA_MAX_BLOCKS; k++) {
        if (context->blocks[k].data) continue;
        context->blocks[k].data = *where;
        context->blocks[k].bytes = bytes;
        context->blocks[k].pooled = pooled;
        context->array_bytes += bytes;
        if (context->array_bytes > context->most_array_bytes) context->most_array_bytes = context->array_bytes;
        return MD_OK;
    }
    md_panic("more than %d device arrays", CUDA_MAX_BLOCKS);
}

void cuda_release(CudaContext *context, void *data) {
    if (!data) return;
    for (int k = 0; k < CUDA_MAX_BLOCKS; k++) {
        if (context->blocks[k].data != data) continue;
        if (context->blocks[k].pooled) {
            CUDA_CHECK(cudaFreeAsync(data, context->stream));
        } else if (is_mapped(context)) {
            CUDA_CHECK(cudaStreamSynchronize(context->stream)); /* the free need not wait */
            CUDA_CHECK(cudaFreeHost(data));
        } else {
            CUDA_CHECK(cudaFree(data)); /* waits for the device */
        }
        context->array_bytes -= context->blocks[k].bytes;
        context->blocks[k].data = NULL;
        return;
    }
    md_panic("a device array that was not allocated");
}

/* --- the pool ------------------------------------------------------------------------------------------------------ */

static cudaMemPool_t pool_of(const CudaContext *context) {
    cudaMemPool_t pool;
    CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, context->device));
    return pool;
}

/* By itself a pool gives its memory back at every wait of the host. */
void cuda_pool_keep(const CudaContext *context) {
    uint64_t all = UINT64_MAX;
    CUDA_CHECK(cudaMemPoolSetAttribute(pool_of(context), cudaMemPoolAttrReleaseThreshold, &all));
}

void cuda_pool_trim(const CudaContext *context) {
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    CUDA_CHECK(cudaMemPoolTrimTo(pool_of(context), 0));
}
