/* Memory of the cuda backend: allocation, growth, and the way from the device to the host. Which arrays there are stands in
 * arrays.c, how and where one is allocated in allocate.c.
 *
 * All arrays are allocated at start, so that a system that does not fit is refused there. With memory.allocation = per-call or pool,
 * and reduce.scratch = per-call, arrays that are not needed between two calls are freed at once and allocated for each
 * call. Otherwise only arrays that turn out too small are allocated again (and counted, if it is the list). */
#include <string.h>

#include "cuda/stages/array_table.h"

/* Pinned memory of the host, without the part that the device writes. */
static void list_pinned(CudaContext *context, CudaArrays *arrays) {
    arrays->n = 0;
    cuda_array_keep(arrays, &context->h_status, 1, sizeof *context->h_status, "measures");
    cuda_array_keep(arrays, &context->sums.h_head, cuda_reduce_row_bytes(context), 1, "sums");
    for (int k = 0; k < 2; k++)
        cuda_array_keep(arrays, &context->h_staging[k], CUDA_CHUNK_BYTES, 1, "chunks of copies");
    if (context->comm) cuda_arrays_add_domain_pinned(context, arrays);
}

static uint64_t bytes_of(const CudaArrays *arrays) {
    uint64_t bytes = 0;
    for (int k = 0; k < arrays->n; k++) bytes += cuda_array_bytes(&arrays->rows[k]);
    return bytes;
}

static MdMemory memory_of(CudaContext *context, uint64_t array_bytes) {
    CudaArrays pinned;
    list_pinned(context, &pinned);
    MdMemory memory = {.host_bytes = bytes_of(&pinned) + sizeof(CudaContext) + sizeof(CudaHostStatus)};
    *(context->config.memory_space == MD_SPACE_MAPPED ? &memory.host_bytes : &memory.device_bytes) += array_bytes;
    return memory;
}

MdMemory cuda_memory_estimate(CudaContext *context) {
    CudaArrays arrays;
    cuda_arrays_plan(context);
    cuda_arrays_list(context, &arrays);
    return memory_of(context, bytes_of(&arrays));
}

MdMemory cuda_memory_held(CudaContext *context) { return memory_of(context, context->most_array_bytes); }

/* --- for one call -------------------------------------------------------------------------------------------------- */

static bool is_per_call(const CudaContext *context, CudaGroup group) {
    if (group == CUDA_KEPT) return false;
    if (group == CUDA_SCRATCH) return context->config.reduce_scratch == MD_SCRATCH_PER_CALL;
    return context->config.memory_allocation != MD_ALLOCATION_ONCE;
}

static MdStatus allocate(CudaContext *context, const CudaArray *array, MdStatus failure) {
    const bool pooled = context->config.memory_allocation == MD_ALLOCATION_POOL && array->group != CUDA_SCRATCH &&
                        is_per_call(context, array->group);
    return cuda_allocate(context, array->where, cuda_array_bytes(array), pooled, array->what, failure);
}

void cuda_memory_begin(CudaContext *context, CudaGroup group) {
    if (!is_per_call(context, group)) return;
    CudaArrays arrays;
    cuda_arrays_list(context, &arrays);
    for (const CudaArray *array = arrays.rows; array < arrays.rows + arrays.n; array++)
        if (array->group == group && !*array->where && allocate(context, array, MD_ERROR_INTERNAL) != MD_OK)
            md_panic("the memory for the %s is gone: it was there when the program started", array->what);
}

void cuda_memory_end(CudaContext *context, CudaGroup group) {
    if (!is_per_call(context, group)) return;
    CudaArrays arrays;
    cuda_arrays_list(context, &arrays);
    for (const CudaArray *array = arrays.rows; array < arrays.rows + arrays.n; array++) {
        if (array->group != group) continue;
        cuda_release(context, *array->where);
        *array->where = NULL;
    }
}

void cuda_memory_need_forces(CudaContext *context) {
    md_require(context->has_forces);
    if (context->arguments.now.force.part[0]) return;
    cuda_memory_begin(context, CUDA_FORCES);
    cuda_force_zero(context);
}

/* --- all of it ----------------------------------------------------------------------------------------------------- */

/* Allocates the missing arrays. */
static void allocate_pinned(CudaContext *context) {
    CudaArrays pinned;
    list_pinned(context, &pinned);
    for (const CudaArray *array = pinned.rows; array < pinned.rows + pinned.n; array++)
        if (!*array->where) CUDA_CHECK(cudaMallocHost(array->where, cuda_array_bytes(array)));
}

/* Frees the existing arrays: any may be missing after a failure at start. traffic: only arrays for messages of several processes. */
static void free_pinned(CudaContext *context, bool traffic) {
    CudaArrays pinned;
    list_pinned(context, &pinned);
    for (const CudaArray *array = pinned.rows; array < pinned.rows + pinned.n; array++) {
        if (!*array->where || (traffic && array->group != CUDA_STAGING)) continue;
        CUDA_CHECK(cudaFreeHost(*array->where));
        *array->where = NULL;
    }
}

/* No pass has had a fault, nor stopped. */
static void clear_check(CudaContext *context) {
    CudaQueueCheck *check = context->arguments.queue.check;
    CUDA_CHECK(cudaMemsetAsync(check, 0, sizeof *check, context->stream));
    CUDA_CHECK(cudaMemsetAsync(&check->stop, 0xff, sizeof check->stop, context->stream));
    CUDA_CHECK(cudaMemsetAsync(&check->fault_step, 0xff, sizeof check->fault_step, context->stream));
}

/* No brick has come to any step. */
static void clear_queue(CudaContext *context) {
    const CudaQueue *queue = &context->arguments.queue;
    CUDA_CHECK(cudaMemsetAsync(queue->counts, 0, 2 * sizeof *queue->counts, context->stream));
    CUDA_CHECK(cudaMemsetAsync(queue->done, 0, (size_t)context->max_steps * sizeof *queue->done, context->stream));
}

void cuda_memory_clear_samples(CudaContext *context) {
    const size_t n = MD_OBSERVED_ROWS * cuda_row_sums(context);
    CUDA_CHECK(cudaMemsetAsync(context->arguments.observed, 0, n * sizeof(MdSplitSum), context->stream));
}

void cuda_memory_clear_counts(CudaContext *context) {
    const size_t n = MD_COUNTED_ROWS * md_pair_count_size(&context->pair_count);
    CUDA_CHECK(
        cudaMemsetAsync(context->arguments.pair_count.counts, 0, n * sizeof(unsigned long long), context->stream));
}

MdStatus cuda_memory_allocate(CudaContext *context) {
    CudaArrays arrays;
    cuda_arrays_plan(context);
    cuda_arrays_list(context, &arrays);
    if (context->config.memory_allocation == MD_ALLOCATION_POOL) cuda_pool_keep(context);
    for (int k = 0; k < arrays.n; k++) {
        MdStatus status = allocate(context, &arrays.rows[k], MD_ERROR_INPUT);
        if (status != MD_OK) return status;
    }
    cuda_arrays_share(context);
    allocate_pinned(context);
    CudaHostStatus *host_status = NULL;
    CUDA_CHECK(cudaHostAlloc((void **)&host_status, sizeof *host_status, cudaHostAllocMapped));
    CUDA_CHECK(cudaHostGetDevicePointer((void **)&context->arguments.host_status, host_status, 0));
    memset(host_status, 0, sizeof *host_status);
    context->h_host_status = host_status;

    const CudaArguments *a = &context->arguments;
    CUDA_CHECK(cudaMemsetAsync(a->status, 0, sizeof(CudaDeviceStatus), context->stream));
    CUDA_CHECK(cudaMemsetAsync(&a->status->fault_step, 0xff, sizeof a->status->fault_step, context->stream));
    CUDA_CHECK(cudaMemsetAsync(&a->status->fault_key, 0xff, sizeof a->status->fault_key, context->stream));
    CUDA_CHECK(cudaMemsetAsync(a->barrier, 0, 2 * CUDA_BARRIER_STRIDE * sizeof *a->barrier, context->stream));
    CUDA_CHECK(cudaMemsetAsync(a->totals, 0, CUDA_MOST_TOTALS * sizeof(double), context->stream));
    if (context->cell_counts)
        CUDA_CHECK(cudaMemsetAsync(context->cell_counts, 0, ((size_t)context->max_cells + 1) * sizeof(int32_t),
                                   context->stream));
    if (a->observed) cuda_memory_clear_samples(context);
    if (a->pair_count.counts) cuda_memory_clear_counts(context);
    if (a->queue.done) clear_queue(context);
    if (a->queue.check) clear_check(context);
    cuda_force_zero(context); /* nothing has acted yet */
    context->has_forces = true;
    if (a->partials)
        CUDA_CHECK(cudaMemsetAsync(a->partials, 0, cuda_arrays_partials(context) * sizeof(double), context->stream));
    const CudaGroup unused[] = {CUDA_REBUILD, CUDA_STAGING, CUDA_SCRATCH};
    for (size_t k = 0; k < sizeof unused / sizeof unused[0]; k++) cuda_memory_end(context, unused[k]);
    return MD_OK;
}

void cuda_memory_free(CudaContext *context) {
    for (int k = 0; k < CUDA_MAX_BLOCKS; k++) cuda_release(context, context->blocks[k].data);
    if (context->stream && context->config.memory_allocation == MD_ALLOCATION_POOL) cuda_pool_trim(context);
    if (context->h_host_status) CUDA_CHECK(cudaFreeHost((void *)(uintptr_t)context->h_host_status));
    free_pinned(context, false);
}

/* --- growth -------------------------------------------------------------------------------------------------------- */

/* Allocates arrays again whose size has changed since `before`. keeps: the old content is copied to the beginning; else the old
 * ones are freed first, so that both need not fit. */
static MdStatus resize(CudaContext *context, const CudaArrays *before, bool keeps) {
    CudaArrays after;
    MdStatus status = MD_OK;
    cuda_arrays_list(context, &after);
    for (int k = 0; k < after.n && status == MD_OK; k++) {
        const CudaArray *array = &after.rows[k];
        const size_t old_bytes = cuda_array_bytes(&before->rows[k]), bytes = cuda_array_bytes(array);
        void *old = *array->where;
        if (bytes == old_bytes || !old) continue;
        if (!keeps) cuda_release(context, old); /* waits for the device */
        status = allocate(context, array, MD_ERROR_INTERNAL);
        if (!keeps || status != MD_OK) continue;
        CUDA_CHECK(cudaMemcpyAsync(*array->where, old, old_bytes < bytes ? old_bytes : bytes, cudaMemcpyDefault,
                                   context->stream));
        CUDA_CHECK(cudaStreamSynchronize(context->stream));
        cuda_release(context, old);
    }
    if (status == MD_OK) cuda_arrays_share(context);
    return status;
}

/* The second copies of positions, forces and the arrays of a sort are lost. */
MdStatus cuda_memory_grow_atoms(CudaContext *context, int64_t n) {
    CudaArrays before;
    cuda_arrays_list(context, &before);
    cuda_arrays_set_room(context, n + n / 10);
    return resize(context, &before, true);
}

MdStatus cuda_memory_grow_rows(CudaContext *context, int64_t n) {
    CudaArrays before;
    cuda_arrays_list(context, &before);
    cuda_domain_set_rows(context, n + n / 10);
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    free_pinned(context, true);
    allocate_pinned(context);
    return resize(context, &before, true);
}

/* A row that is some entries too long gets as many again, so that a list which nearly fits stays about as large (256 million atoms
 * have 50 GB of it); at least twice as many as the time before, so that a list which goes on growing grows seldom; a fifth at most. */
MdStatus cuda_memory_grow_list(CudaContext *context, int32_t count) {
    const int32_t lacking = count - context->arguments.list.capacity, twice = 2 * context->list_slack,
                  wanted = lacking > twice ? lacking : twice, most = count / 5 + 1;
    context->list_slack = wanted < most ? wanted : most;
    CudaArrays before;
    cuda_arrays_list(context, &before);
    cuda_arrays_set_capacity(context, count + context->list_slack);
    context->n_overflows++;
    return resize(context, &before, false);
}

MdStatus cuda_memory_grow_bricks(CudaContext *context, int64_t n_sources, int64_t n_slices) {
    CudaBricks *bricks = &context->arguments.bricks;
    const int64_t n_bricks = cuda_brick_count(&context->arguments.grid),
                  n_steps = cuda_domain_count(context, context->arguments.grid.n_bricks);
    const bool more_bricks = n_bricks > context->max_bricks || n_steps > context->max_steps;
    CudaArrays before;
    cuda_arrays_list(context, &before);
    if (more_bricks) {
        context->max_bricks = n_bricks + n_bricks / 10; /* the box of the particles may grow on */
        context->max_steps = n_steps + n_steps / 10;
    }
    if (n_slices > bricks->slice_capacity) bricks->slice_capacity = n_slices;
    if (n_sources > bricks->source_capacity) bricks->source_capacity = n_sources;
    const MdStatus status = resize(context, &before, false);
    if (status == MD_OK && more_bricks && context->facts.queues) clear_queue(context);
    return status;
}

/* --- the way to the host ------------------------------------------------------------------------------------------- */

static size_t bytes_of_chunk(size_t bytes, size_t chunk_bytes, size_t k) {
    const size_t left = bytes - k * chunk_bytes;
    return left < chunk_bytes ? left : chunk_bytes;
}

void cuda_memory_download_chunks(CudaContext *context, void *host, size_t bytes, size_t chunk_bytes, CudaChunk *chunk,
                                 const void *of) {
    const size_t n_chunks = (bytes + chunk_bytes - 1) / chunk_bytes;
    md_require(chunk_bytes <= CUDA_CHUNK_BYTES);
    /* One chunk is copied by the device while the host empties the one before. */
    for (size_t k = 0; k <= n_chunks; k++) {
        if (k < n_chunks) {
            CUDA_CHECK(cudaMemcpyAsync(context->h_staging[k % 2], chunk(context, of, k),
                                       bytes_of_chunk(bytes, chunk_bytes, k), cudaMemcpyDefault, context->stream));
            CUDA_CHECK(cudaEventRecord(context->chunk_copied[k % 2], context->stream));
        }
        if (k > 0) {
            cuda_wait_event(context, context->chunk_copied[(k - 1) % 2], "wait: copy");
            memcpy((char *)host + (k - 1) * chunk_bytes, context->h_staging[(k - 1) % 2],
                   bytes_of_chunk(bytes, chunk_bytes, k - 1));
        }
    }
}

static const void *chunk_of_array(CudaContext *context, const void *device, size_t k) {
    (void)context;
    return (const char *)device + k * CUDA_CHUNK_BYTES;
}

void cuda_memory_download(CudaContext *context, void *host, const void *device, size_t bytes) {
    cuda_memory_download_chunks(context, host, bytes, CUDA_CHUNK_BYTES, chunk_of_array, device);
}

void cuda_status_read(CudaContext *context, bool wait) {
    CUDA_CHECK(cudaMemcpyAsync(context->h_status, context->arguments.status, sizeof(CudaDeviceStatus),
                               cudaMemcpyDefault, context->stream));
    CUDA_CHECK(cudaEventRecord(context->status_copied, context->stream));
    if (wait) cuda_wait_event(context, context->status_copied, "wait: device");
}

void cuda_status_release(CudaContext *context) {
    context->h_host_status->stopped = 0;
    CUDA_CHECK(cudaMemsetAsync(&context->arguments.status->stopped, 0, sizeof(unsigned), context->stream));
}

void cuda_force_zero(CudaContext *context) {
    const size_t bytes = (size_t)context->room * cuda_vector_width(context) * context->facts.pair_size;
    void *const *parts = context->arguments.now.force.part;
    for (int k = 0; k < 3; k++)
        if (parts[k]) CUDA_CHECK(cudaMemsetAsync(parts[k], 0, bytes, context->stream));
}
