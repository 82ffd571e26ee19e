/* Unified memory. A call is timed without the preparation that puts the pages where they must be. */

#include "base/cgroup.h"
#include "base/clock.h"
#include "microbench/cuda/results.h"

/* The rows by their parameter. */
enum {
    KIND_RESIDENT,
    KIND_FAULTS,
    KIND_PREFETCHED,
    KIND_READ_MOSTLY,
    KIND_ON_HOST,
    KIND_BACK,
    KIND_TOO_LARGE,
    KIND_UNTOUCHED
};

/* Over-subscription is bounded: so much of the device is left free, for any size of the device, and the array is
 * twice as large. */
static const size_t left_free_bytes = (size_t)256 << 20;

static size_t bytes_of(const CudaCeiling *c) { return (size_t)c->n * sizeof(float); }

static void place(const CudaCeiling *c, bool on_device, enum cudaMemoryAdvise advice, bool prefetch) {
    float *data = c->host[0];
    const size_t bytes = bytes_of(c);
#if CUDART_VERSION >= 13000
    const struct cudaMemLocation where = {on_device ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost,
                                          on_device ? c->m->device : 0};
    if (prefetch) CUDA_CHECK(cudaMemPrefetchAsync(data, bytes, where, 0, c->m->stream));
    else CUDA_CHECK(cudaMemAdvise(data, bytes, advice, where));
#else
    const int where = on_device ? c->m->device : cudaCpuDeviceId;
    if (prefetch) CUDA_CHECK(cudaMemPrefetchAsync(data, bytes, where, c->m->stream));
    else CUDA_CHECK(cudaMemAdvise(data, bytes, advice, where));
#endif
}
static void prefetch(const CudaCeiling *c) { place(c, true, cudaMemAdviseSetReadMostly, true); }

/* The host adds 1 to every element: all pages are with it then. */
static void touch_on_host(CudaCeiling *c) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < c->n; i++) c->host[0][i] += 1;
}

/* The host reads a number of every page. */
static void read_on_host(CudaCeiling *c) {
    const int64_t page = 4096 / sizeof(float); /* the smallest */
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < c->n; i += page) sum += (double)c->host[0][i];
    c->result = sum; /* never read; only keeps the compiler from removing the loads */
}

static void launch_and_wait(CudaCeiling *c) {
    cuda_ceiling_launch(c, &c->arguments, c->m->stream);
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
}

static double run_calls(CudaCeiling *c, int64_t n_calls) {
    const int kind = c->of.row->parameter;
    double seconds = 0;
    for (int64_t k = 0; k < n_calls; k++) {
        if (kind == KIND_FAULTS || kind == KIND_PREFETCHED) touch_on_host(c);
        if (kind == KIND_READ_MOSTLY) read_on_host(c);
        if (kind == KIND_BACK) launch_and_wait(c);
        const double start_s = md_clock_s();
        if (kind == KIND_PREFETCHED) prefetch(c);
        if (kind == KIND_BACK) touch_on_host(c);
        else launch_and_wait(c);
        seconds += md_clock_s() - start_s;
    }
    return seconds;
}

/* The number added to each element since the last check. */
static bool check_managed(CudaCeiling *c, char *reason) {
    const int kind = c->of.row->parameter;
    const bool twice = kind == KIND_FAULTS || kind == KIND_PREFETCHED || kind == KIND_BACK;
    const double added = (double)c->n_calls * (twice ? 2 : 1);
    bool right = true;
    for (int64_t i = 0; i < c->n && right; i++)
        right = cuda_ceiling_equal("an element", (double)c->host[0][i], cuda_ceiling_source(0, i) + added, reason);
    for (int64_t i = 0; i < c->n; i++) c->host[0][i] = (float)cuda_ceiling_source(0, i);
    if (kind == KIND_RESIDENT) prefetch(c);
    return right;
}

static void release(CudaCeiling *c) {
    if (c->host[0]) CUDA_CHECK(cudaFree(c->host[0]));
}

/* Allocates all of the device except left_free_bytes. */
static bool hold_device(CudaCeiling *c, char *reason) {
    size_t free_bytes = 0, total_bytes = 0;
    void *held = NULL;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    for (size_t more = 0; !held && more <= left_free_bytes / 2;
         more += left_free_bytes / 8) { /* not all is in one piece */
        if (free_bytes <= left_free_bytes + more) break;
        if (cudaMalloc(&held, free_bytes - left_free_bytes - more) != cudaSuccess) held = NULL;
        (void)cudaGetLastError();
    }
    if (!held) {
        snprintf(reason, MD_CEILING_REASON, "the free part of the device could not be held");
        return false;
    }
    c->owned[c->n_owned++] = held;
    return true;
}

static bool is_possible(const CudaCeiling *c, char *reason) {
    const int kind = c->of.row->parameter;
    const char *lack = NULL;
    if (!cuda_device_attribute(c->m->device, cudaDevAttrManagedMemory)) lack = "this device has no managed memory";
    else if (!cuda_device_attribute(c->m->device, cudaDevAttrConcurrentManagedAccess))
        lack = "managed memory moves as a whole at a launch here (concurrentManagedAccess = 0)";
    else if (kind == KIND_TOO_LARGE && bytes_of(c) < left_free_bytes)
        lack = "with --quick no array is larger than the free memory";
    else if (kind == KIND_TOO_LARGE && md_host_memory_available_bytes() < 4 * bytes_of(c))
        lack = "evicted pages need main memory, and four times 512 MiB are not free";
    if (lack) snprintf(reason, MD_CEILING_REASON, "%s", lack);
    return lack == NULL;
}

/* c->n_out floats, twice the memory of the device. */
static float *allocate_untouched(const CudaCeiling *c) {
    void *data = NULL;
    if (cudaMallocManaged(&data, (size_t)c->n_out * sizeof(float), cudaMemAttachGlobal) == cudaSuccess) return data;
    (void)cudaGetLastError();
    return NULL;
}

static double run_untouched(CudaCeiling *c, int64_t n_calls) {
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls * c->n; k++) {
        float *data = allocate_untouched(c);
        md_require(data != NULL);
        CUDA_CHECK(cudaFree(data));
    }
    return md_clock_s() - start_s;
}

/* The host writes the last number, a kernel adds 1 to it. */
static bool check_untouched(CudaCeiling *c, char *reason) {
    float *data = allocate_untouched(c);
    md_require(data != NULL);
    data[c->n_out - 1] = 7;
    c->arguments.b = data + c->n_out - 1;
    launch_and_wait(c);
    const double last = (double)data[c->n_out - 1];
    CUDA_CHECK(cudaFree(data));
    return cuda_ceiling_equal("the last number", last, 8, reason);
}

static bool prepare_untouched(CudaCeiling *c, char *reason) {
    size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    c->n_out = 2 * (int64_t)(total_bytes / sizeof(float));
    c->run = run_untouched;
    c->check = check_untouched;
    c->arguments.n = 1;
    cuda_ceiling_shape(c, 1);
    float *data = allocate_untouched(c);
    if (data) CUDA_CHECK(cudaFree(data));
    else snprintf(reason, MD_CEILING_REASON, "managed memory of twice the size of the device cannot be allocated");
    return data != NULL;
}

static void advise(const CudaCeiling *c) {
    const int kind = c->of.row->parameter;
    if (kind == KIND_READ_MOSTLY) place(c, true, cudaMemAdviseSetReadMostly, false);
    if (kind == KIND_ON_HOST) {
        place(c, false, cudaMemAdviseSetPreferredLocation, false);
        place(c, true, cudaMemAdviseSetAccessedBy, false);
    }
    if (kind == KIND_RESIDENT) prefetch(c);
}

bool cuda_ceiling_prepare_unified(CudaCeiling *c, char *reason) {
    const bool reads = c->of.row->parameter == KIND_READ_MOSTLY;
    if (!is_possible(c, reason)) return false;
    if (!cuda_ceiling_load(c, "transfer", reads ? "k_transfer_scale" : "k_transfer_increment", reason)) return false;
    if (c->of.row->parameter == KIND_UNTOUCHED) return prepare_untouched(c, reason);
    if (c->of.row->parameter == KIND_TOO_LARGE && !hold_device(c, reason)) return false;
    void *data = NULL;
    if (cudaMallocManaged(&data, bytes_of(c), cudaMemAttachGlobal) != cudaSuccess) {
        (void)cudaGetLastError();
        snprintf(reason, MD_CEILING_REASON, "there is no managed memory of %.0f MiB", (double)bytes_of(c) / 1048576);
        return false;
    }
    c->host[0] = data;
    c->release = release;
    c->n_out = c->arguments.n = c->n;
    for (int64_t i = 0; i < c->n; i++) c->host[0][i] = (float)cuda_ceiling_source(0, i);
    advise(c);
    c->run = run_calls;
    c->check = reads ? cuda_ceiling_check_elements : check_managed;
    c->expected = cuda_ceiling_is_tripled;
    c->arguments.a = c->arguments.b = data;
    cuda_ceiling_shape(c, reads ? c->n : cuda_ceiling_resident(c->m));
    return !reads || (c->arguments.b = cuda_ceiling_take(c, bytes_of(c), reason)) != NULL;
}
