/* The GPU, and its rows for the measuring code. */
#include "microbench/cuda/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "microbench/cuda/backend.h"

/* --- the machine --------------------------------------------------------------------------------------------------- */

static void close_machine(void *machine) {
    CudaCeilings *m = machine;
    for (int k = 0; k < m->n_units; k++)
        if (m->units[k].module) CUDA_DRIVER_CHECK(m, m->driver.module_unload(m->units[k].module));
    for (int k = 0; k < 2; k++) CUDA_CHECK(cudaFree(m->d_source[k]));
    CUDA_CHECK(cudaFree(m->d_numbers));
    CUDA_CHECK(cudaFree(m->d_text));
    CUDA_CHECK(cudaEventDestroy(m->begun));
    CUDA_CHECK(cudaEventDestroy(m->ended));
    CUDA_CHECK(cudaStreamDestroy(m->stream));
    md_free(m);
}

/* The most elements that a row reads side by side. */
static int64_t longest_array(const CudaCeilings *m) {
    int64_t most = 1 << 25;
    const MdCeiling *row;
    for (int k = 0; (row = md_ceiling_row(k)) != NULL; k++) {
        const bool grows = strcmp(row->backend, "cuda") == 0 && row->outgrows;
        const int64_t n = grows ? md_ceiling_outgrown(row, sizeof(float), m->l2_bytes) : 0;
        if (n > most) most = n;
    }
    return most;
}

/* Arrays on the device with the numbers of cuda_ceiling_source; the first is long enough for the longest stride and
 * the largest offset. */
static MdStatus make_sources(CudaCeilings *m) {
    const int64_t n_second = m->quick ? 1 << 20 : longest_array(m), n_strided = m->quick ? 1 << 20 : 1 << 27;
    const int64_t n_first = (n_second > n_strided ? n_second : n_strided) + 64;
    float *host = md_alloc((size_t)n_first, sizeof *host, "ceilings");
    cudaError_t error = cudaSuccess;
    for (int k = 0; k < 2 && error == cudaSuccess; k++) {
        const int64_t n = k == 0 ? n_first : n_second;
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < n; i++) host[i] = (float)cuda_ceiling_source(k, i);
        error = cudaMalloc((void **)&m->d_source[k], (size_t)n * sizeof *host);
        if (error == cudaSuccess)
            CUDA_CHECK(cudaMemcpy(m->d_source[k], host, (size_t)n * sizeof *host, cudaMemcpyDefault));
    }
    md_free(host);
    if (error == cudaSuccess) return MD_OK;
    (void)cudaGetLastError();
    return md_fail(m->errors, MD_ERROR_INPUT, "--ceilings: less than %.0f MiB of GPU memory are free: %s",
                   (double)(n_first + n_second) * sizeof *host / 1048576, cudaGetErrorString(error));
}

static MdStatus open_machine(void **machine, const MdConfig *config, bool quick, MdComm *comm, MdErrors *errors) {
    int device = 0;
    MdStatus status = cuda_device_choose(config, comm, &device, errors);
    if (status != MD_OK) return status;
    CUDA_CHECK(cudaSetDevice(device));
    CudaCeilings *m = md_alloc(1, sizeof *m, "ceilings");
    m->config = *config;
    m->errors = errors;
    m->quick = quick;
    m->comm = comm;
    m->device = device;
    m->n_sms = cuda_device_multiprocessors();
    m->sm = cuda_multiprocessor(device);
    m->block_shared = cuda_device_shared_bytes();
    m->l2_bytes = cuda_device_attribute(device, cudaDevAttrL2CacheSize);
    CUDA_CHECK(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaEventCreate(&m->begun));
    CUDA_CHECK(cudaEventCreate(&m->ended));
    *machine = m;
    status = cuda_driver_find(&m->driver, errors);
    if (status == MD_OK) status = make_sources(m);
    if (status != MD_OK) close_machine(m);
    return status;
}

static double cache_bytes(const void *machine) { return ((const CudaCeilings *)machine)->l2_bytes; }

static int most_threads(const void *machine) { return (int)cuda_ceiling_resident(machine); }

/* Results of an operation a clock and multiprocessor (CUDA C++ Programming Guide, throughput of arithmetic instructions). */
static double lanes(int compute_capability, bool is_double) {
    static const struct {
        int compute_capability, single_lanes, double_lanes;
    } known[] = {{50, 128, 4}, {52, 128, 4}, {60, 64, 32}, {61, 128, 4},  {70, 64, 32},   {75, 64, 2},
                 {80, 64, 32}, {86, 128, 2}, {89, 128, 2}, {90, 128, 64}, {100, 128, 64}, {120, 128, 2}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        if (known[k].compute_capability == compute_capability)
            return is_double ? known[k].double_lanes : known[k].single_lanes;
    return NAN;
}

static double sheet(const void *machine, MdSheet which) {
    const CudaCeilings *m = machine;
    const double clock_ghz = 1e-6 * cuda_device_attribute(m->device, cudaDevAttrClockRate);
    const double memory_ghz = 1e-6 * cuda_device_attribute(m->device, cudaDevAttrMemoryClockRate);
    const double bus_bytes = cuda_device_attribute(m->device, cudaDevAttrGlobalMemoryBusWidth) / 8.0;
    double figure = NAN;
    if (which == MD_SHEET_MEMORY) figure = 2 * memory_ghz * bus_bytes;    /* double data rate */
    if (which == MD_SHEET_SHARED) figure = clock_ghz * m->n_sms * 32 * 4; /* banks */
    if (which == MD_SHEET_SINGLE || which == MD_SHEET_DOUBLE)
        figure = clock_ghz * m->n_sms * lanes(m->sm.compute_capability, which == MD_SHEET_DOUBLE) * 2;
    return figure > 0 ? figure : NAN; /* some devices tell zero */
}

/* --- rows ---------------------------------------------------------------------------------------------------------- */

static void release(void *prepared) {
    CudaCeiling *c = prepared;
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    if (c->release) c->release(c);
    for (int k = 0; k < c->n_owned; k++) CUDA_CHECK(cudaFree(c->owned[k]));
    free((void *)(uintptr_t)c->index);
    md_free(c);
}

static void *prepare(void *machine, const MdCeilingCase *of, char reason[MD_CEILING_REASON]) {
    static const struct {
        const char *name; /* of the group, or of the row */
        CudaCeilingStep *prepare;
    } others[] = {{"operations", cuda_ceiling_prepare_operations},
                  {"reduction", cuda_ceiling_prepare_reduction},
                  {"matrix:cuBLAS", cuda_ceiling_prepare_blas},
                  {"transfer", cuda_ceiling_prepare_transfer},
                  {"streams", cuda_ceiling_prepare_streams},
                  {"unified", cuda_ceiling_prepare_unified},
                  {"latency", cuda_ceiling_prepare_latency},
                  {"random", cuda_ceiling_prepare_random},
                  {"peers", cuda_ceiling_prepare_peers}};
    CudaCeiling *c = md_alloc(1, sizeof *c, "ceilings");
    *c = (CudaCeiling){.m = machine, .of = *of, .n = of->size, .arguments.one = 1};
    CudaCeilingStep *make = cuda_ceiling_prepare_kernel;
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
        if (md_ceiling_is_named(of->row, others[k].name)) make = others[k].prepare;
    if (make(c, reason)) {
        CUDA_CHECK(cudaDeviceSynchronize()); /* memory has been set by the default stream */
        return c;
    }
    release(c);
    return NULL;
}

static double run(void *prepared, int64_t n_calls) {
    CudaCeiling *c = prepared;
    c->n_calls += n_calls;
    return c->run(c, n_calls);
}

static bool check(void *prepared, char reason[MD_CEILING_REASON]) {
    CudaCeiling *c = prepared;
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    const bool right = c->check(c, reason);
    CUDA_CHECK(cudaDeviceSynchronize()); /* the overwriting of the result went to the default stream */
    c->n_calls = 0;
    return right;
}

static void sum(void *prepared, MdCeilingSum *sum) { cuda_ceiling_sum_numbers(prepared, sum); }

const MdCeilingsBackend md_ceilings_of_cuda = {.name = "cuda",
                                               .budget_s = 120,
                                               .open = open_machine,
                                               .close = close_machine,
                                               .element_bytes = sizeof(float),
                                               .most_threads = most_threads,
                                               .cache_bytes = cache_bytes,
                                               .sheet = sheet,
                                               .prepare = prepare,
                                               .run = run,
                                               .check = check,
                                               .sum = sum,
                                               .release = release};
