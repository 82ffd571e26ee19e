#include "cuda/microbench/ceilings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cuda/device/compile.h"
#include "cuda/device/toolkit.h"

/* --- the driver's functions ---------------------------------------------------------------------------------------- */

static void driver_check(const CudaCeilings *m, CUresult result, const char *what, int line) {
    if (result == CUDA_SUCCESS) return;
    const char *text = NULL;
    m->driver.error_text(result, &text);
    md_panic_at(__FILE__, line, "%s failed on GPU %d: %s", what, m->device, text ? text : "unknown error");
}
#define DRIVER_CHECK(m, expression) driver_check((m), (expression), #expression, __LINE__)

/* --- kernels ------------------------------------------------------------------------------------------------------- */

static const MdBox no_box = {.dimension = 3};
static const MdPotential no_potential = {.n_types = 1};

static MdStatus compile(const MdConfig *config, int compute_capability, const char *unit, const char *header,
                        CudaImage *image, MdErrors *errors) {
    const CudaTarget target = {.config = config,
                               .box = &no_box,
                               .potential = &no_potential,
                               .compute_capability = compute_capability,
                               .header = header};
    char path[64];
    snprintf(path, sizeof path, "microbench/%s", unit);
    return cuda_compile(&target, path, 256, image, errors);
}

MdStatus cuda_ceilings_try(int compute_capability, MdErrors *errors) {
    static const struct {
        const char *unit, *header;
    } units[] = {{"bandwidth", NULL},
                 {"transpose", NULL},
                 {"reduction", NULL},
                 {"reduction_groups", CUDA_GROUPS_HEADER},
                 {"branch", NULL},
                 {"arithmetic", NULL},
                 {"matrix", NULL},
                 {"banks", NULL},
                 {"atomics", NULL},
                 {"paths", NULL},
                 {"transfer", NULL},
                 {"latency", NULL},
                 {"latency_groups", CUDA_GROUPS_HEADER}};
    const MdConfig config = {0};
    MdStatus status = MD_OK;
    for (size_t k = 0; k < sizeof units / sizeof units[0] && status == MD_OK; k++) {
        CudaImage image;
        status = compile(&config, compute_capability, units[k].unit, units[k].header, &image, errors);
        if (status == MD_OK && image.messages)
            status = md_fail(errors, MD_ERROR_INTERNAL, "messages from microbench/%s.cu:\n%s", units[k].unit,
                             image.messages);
        cuda_image_free(&image);
    }
    return status;
}

/* Each unit is compiled when a row wants it first. */
static CUmodule find_module(CudaCeilings *m, const char *unit, const char *header) {
    for (int k = 0; k < m->n_units; k++)
        if (strcmp(m->units[k].name, unit) == 0) return m->units[k].module;
    CudaImage image;
    CUmodule module = NULL;
    if (compile(&m->config, m->compute_capability, unit, header, &image, m->errors) == MD_OK)
        DRIVER_CHECK(m, m->driver.module_load(&module, image.bytes));
    cuda_image_free(&image);
    md_require(m->n_units < CUDA_CEILING_UNITS);
    m->units[m->n_units].name = unit;
    m->units[m->n_units++].module = module;
    return module;
}

bool cuda_ceiling_load(CudaCeiling *c, const char *unit, const char *header, const char *symbol, char *reason) {
    char folder[CUDA_TOOLKIT_BYTES];
    if (header && !cuda_toolkit_find(header, folder)) {
        snprintf(reason, MD_CEILING_REASON, "%s of the CUDA toolkit is not found: name the toolkit by CUDA_HOME",
                 header);
        return false;
    }
    c->module = find_module(c->m, unit, header);
    if (!c->module) snprintf(reason, MD_CEILING_REASON, "its kernels do not compile");
    if (c->module) DRIVER_CHECK(c->m, c->m->driver.module_function(&c->function, c->module, symbol));
    return c->module != NULL;
}

int64_t cuda_ceiling_resident(const CudaCeilings *m) { return (int64_t)m->n_sms * m->sm_threads; }

void cuda_ceiling_shape(CudaCeiling *c, int64_t n_threads) {
    c->block[0] = 256;
    c->grid[0] = (unsigned)((n_threads + 255) / 256);
    c->block[1] = c->grid[1] = 1;
}

void cuda_ceiling_launch(CudaCeiling *c, const CudaCeilingArguments *arguments, cudaStream_t stream) {
    CudaCeilingArguments copy = *arguments;
    void *parameters[] = {&copy};
    DRIVER_CHECK(c->m, cuda_driver_launch(&c->m->driver, c->function, c->grid, c->block, c->shared, stream,
                                          c->dependent, parameters));
}

double cuda_ceiling_run_kernel(CudaCeiling *c, int64_t n_calls) {
    float milliseconds = 0;
    CUDA_CHECK(cudaEventRecord(c->m->begun, c->m->stream));
    for (int64_t k = 0; k < n_calls; k++) cuda_ceiling_launch(c, &c->arguments, c->m->stream);
    CUDA_CHECK(cudaEventRecord(c->m->ended, c->m->stream));
    CUDA_CHECK(cudaEventSynchronize(c->m->ended));
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, c->m->begun, c->m->ended));
    return 1e-3 * (double)milliseconds;
}

/* --- checks -------------------------------------------------------------------------------------------------------- */

bool cuda_ceiling_equal(const char *what, double is_value, double expected, char *reason) {
    if (is_value == expected) return true;
    snprintf(reason, MD_CEILING_REASON, "%s is %.17g and should be %.17g", what, is_value, expected);
    return false;
}

bool cuda_ceiling_compare(CudaCeiling *c, const float *host, char *reason) {
    int64_t first_bad = INT64_MAX;
#pragma omp parallel for schedule(static) reduction(min : first_bad)
    for (int64_t i = 0; i < c->n_out; i++)
        if ((double)host[i] != c->expected(c, i) && i < first_bad) first_bad = i;
    if (first_bad == INT64_MAX) return true;
    snprintf(reason, MD_CEILING_REASON, "element %lld is %.9g and should be %.9g", (long long)first_bad,
             (double)host[first_bad], c->expected(c, first_bad));
    return false;
}

bool cuda_ceiling_check_elements(CudaCeiling *c, char *reason) {
    const size_t bytes = (size_t)c->n_out * sizeof(float);
    float *host = md_alloc(bytes, 1, "a check");
    CUDA_CHECK(cudaMemcpy(host, c->arguments.b, bytes, cudaMemcpyDefault));
    const bool right = cuda_ceiling_compare(c, host, reason);
    md_free(host);
    CUDA_CHECK(cudaMemset(c->arguments.b, 0xff, bytes));
    return right;
}

/* --- the machine --------------------------------------------------------------------------------------------------- */

static int attribute(enum cudaDeviceAttr which, int device) {
    int value = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
    return value;
}

static void close_machine(void *machine) {
    CudaCeilings *m = machine;
    for (int k = 0; k < m->n_units; k++)
        if (m->units[k].module) DRIVER_CHECK(m, m->driver.module_unload(m->units[k].module));
    for (int k = 0; k < 2; k++) CUDA_CHECK(cudaFree(m->d_source[k]));
    CUDA_CHECK(cudaEventDestroy(m->begun));
    CUDA_CHECK(cudaEventDestroy(m->ended));
    CUDA_CHECK(cudaStreamDestroy(m->stream));
    md_free(m);
}

/* The most elements that a row reads side by side. */
static int64_t longest_array(const CudaCeilings *m) {
    int64_t most = 1 << 25;
    for (const MdCeiling *row = md_ceilings_cuda; row->variant; row++) {
        const int64_t n = row->outgrows ? md_ceiling_outgrown(row, sizeof(float), m->l2_bytes) : 0;
        if (n > most) most = n;
    }
    return most;
}

/* On the device what cuda_ceiling_source says; the first of the two at least as long as the longest stride takes, and what
 * lies behind an offset. */
static MdStatus make_sources(CudaCeilings *m, bool quick) {
    const int64_t n_second = quick ? 1 << 20 : longest_array(m), n_strided = quick ? 1 << 20 : 1 << 27;
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
    return md_fail(m->errors, MD_ERROR_INPUT, "--ceilings: the GPU has not %.0f MiB free: %s",
                   (double)(n_first + n_second) * sizeof *host / 1048576, cudaGetErrorString(error));
}

static MdStatus open_machine(void **machine, const MdConfig *config, bool quick, MdErrors *errors) {
    int device = 0;
    MdStatus status = cuda_device_choose(config, &device, errors);
    if (status != MD_OK) return status;
    CUDA_CHECK(cudaSetDevice(device));
    CudaCeilings *m = md_alloc(1, sizeof *m, "ceilings");
    m->config = *config;
    m->errors = errors;
    m->device = device;
    m->compute_capability = cuda_device_compute_capability();
    m->n_sms = cuda_device_multiprocessors();
    m->sm_threads = attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device);
    m->sm_shared = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
    m->block_shared = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    m->l2_bytes = attribute(cudaDevAttrL2CacheSize, device);
    m->reserved_shared = attribute(cudaDevAttrReservedSharedMemoryPerBlock, device);
    CUDA_CHECK(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaEventCreate(&m->begun));
    CUDA_CHECK(cudaEventCreate(&m->ended));
    *machine = m;
    status = cuda_driver_find(&m->driver, errors);
    if (status == MD_OK) status = make_sources(m, quick);
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
    const double clock_ghz = 1e-6 * attribute(cudaDevAttrClockRate, m->device);
    const double memory_ghz = 1e-6 * attribute(cudaDevAttrMemoryClockRate, m->device);
    const double bus_bytes = attribute(cudaDevAttrGlobalMemoryBusWidth, m->device) / 8.0;
    double figure = NAN;
    if (which == MD_SHEET_MEMORY) figure = 2 * memory_ghz * bus_bytes;    /* double data rate */
    if (which == MD_SHEET_SHARED) figure = clock_ghz * m->n_sms * 32 * 4; /* banks */
    if (which == MD_SHEET_SINGLE || which == MD_SHEET_DOUBLE)
        figure = clock_ghz * m->n_sms * lanes(m->compute_capability, which == MD_SHEET_DOUBLE) * 2;
    return figure > 0 ? figure : NAN; /* some devices tell zero */
}

/* --- rows ---------------------------------------------------------------------------------------------------------- */

void *cuda_ceiling_take(CudaCeiling *c, size_t bytes, char *reason) {
    void *data = NULL;
    md_require(c->n_owned < CUDA_CEILING_OWNED);
    if (cudaMalloc(&data, bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        snprintf(reason, MD_CEILING_REASON, "the GPU has not %.0f MiB free", (double)bytes / 1048576);
        return NULL;
    }
    CUDA_CHECK(cudaMemset(data, 0, bytes));
    return c->owned[c->n_owned++] = data;
}

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
        const char *group;
        bool (*prepare)(CudaCeiling *c, char *reason);
    } others[] = {{"transfer", cuda_ceiling_prepare_transfer},
                  {"unified", cuda_ceiling_prepare_unified},
                  {"latency", cuda_ceiling_prepare_latency},
                  {"random", cuda_ceiling_prepare_random}};
    CudaCeiling *c = md_alloc(1, sizeof *c, "ceilings");
    *c = (CudaCeiling){.m = machine, .of = *of, .n = of->size, .arguments.one = 1};
    bool (*make)(CudaCeiling *, char *) = cuda_ceiling_prepare_kernel;
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
        if (strcmp(others[k].group, of->row->group) == 0) make = others[k].prepare;
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
    CUDA_CHECK(cudaDeviceSynchronize()); /* what spoils the result went to the default stream */
    c->n_calls = 0;
    return right;
}

const MdCeilingsBackend md_ceilings_of_cuda = {.name = "cuda",
                                               .budget_s = 60,
                                               .open = open_machine,
                                               .close = close_machine,
                                               .element_bytes = sizeof(float),
                                               .most_threads = most_threads,
                                               .cache_bytes = cache_bytes,
                                               .sheet = sheet,
                                               .prepare = prepare,
                                               .run = run,
                                               .check = check,
                                               .release = release};
