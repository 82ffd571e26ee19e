/* Shared by rows of all groups: compiling, launching, memory, checks. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cuda/device/compile.h"
#include "cuda/device/nvrtc.h"
#include "cuda/device/toolkit.h"
#include "microbench/cuda/row.h"

/* --- kernels ------------------------------------------------------------------------------------------------------- */

static const MdBox no_box = {.dimension = 3};
static const MdPotential no_potential = {.n_types = 1};

/* The header of the toolkit that a unit includes. */
static const char *header_of(const char *unit) {
    const bool groups = strcmp(unit, "reduction_groups") == 0 || strcmp(unit, "latency_groups") == 0;
    return groups ? CUDA_GROUPS_HEADER : strcmp(unit, "reduction_cub") == 0 ? CUDA_CUB_HEADER : NULL;
}

/* Why a unit does not compile with this NVRTC or for this GPU; NULL: it does. */
static const char *why_not(const char *unit, int compute_capability) {
    if (strcmp(unit, "reduction_cub") == 0 && cuda_nvrtc_version() < CUDA_CUB_VERSION) return "CUB needs NVRTC 12.6";
    const bool has_whole_words = compute_capability >= 70 && cuda_nvrtc_version() >= 12030; /* of 16 bytes */
    return strcmp(unit, "peers") != 0 || has_whole_words ? NULL : "needs compute capability 7.0 and NVRTC 12.3";
}

static MdStatus compile(const MdConfig *config, int compute_capability, const char *unit, CudaImage *image,
                        MdErrors *errors) {
    const CudaTarget target = {.config = config,
                               .box = &no_box,
                               .potential = &no_potential,
                               .compute_capability = compute_capability,
                               .header = header_of(unit)};
    char path[64];
    snprintf(path, sizeof path, "microbench/kernels/%s", unit);
    return cuda_compile(&target, path, 256, image, errors);
}

MdStatus cuda_ceilings_try(int compute_capability, MdErrors *errors) {
    static const char *const units[] = {"bandwidth",     "transpose",      "reduction", "reduction_groups",
                                        "reduction_cub", "branch",         "matrix",    "arithmetic",
                                        "intensity",     "operations",     "grids",     "banks",
                                        "atomics",       "paths",          "transfer",  "latency",
                                        "chase",         "latency_groups", "peers"};
    const MdConfig config = {0};
    MdStatus status = MD_OK;
    for (size_t k = 0; k < sizeof units / sizeof units[0] && status == MD_OK; k++) {
        CudaImage image;
        if (why_not(units[k], compute_capability)) continue;
        status = compile(&config, compute_capability, units[k], &image, errors);
        if (status == MD_OK && image.messages)
            status = md_fail(errors, MD_ERROR_INTERNAL, "messages from microbench/kernels/%s.cu:\n%s", units[k],
                             image.messages);
        cuda_image_free(&image);
    }
    return status;
}

/* Each unit is compiled when a row wants it first. */
static CUmodule find_module(CudaCeilings *m, const char *unit) {
    for (int k = 0; k < m->n_units; k++)
        if (strcmp(m->units[k].name, unit) == 0) return m->units[k].module;
    CudaImage image;
    CUmodule module = NULL;
    if (compile(&m->config, m->sm.compute_capability, unit, &image, m->errors) == MD_OK)
        CUDA_DRIVER_CHECK(m, m->driver.module_load(&module, image.bytes));
    cuda_image_free(&image);
    md_require(m->n_units < CUDA_CEILING_UNITS);
    m->units[m->n_units].name = unit;
    m->units[m->n_units++].module = module;
    return module;
}

bool cuda_ceiling_load(CudaCeiling *c, const char *unit, const char *symbol, char *reason) {
    char folder[CUDA_TOOLKIT_BYTES];
    const char *header = header_of(unit);
    if (header && !cuda_toolkit_find(header, folder)) {
        snprintf(reason, MD_CEILING_REASON, "%s of the CUDA toolkit is not found: name the toolkit by CUDA_HOME",
                 header);
        return false;
    }
    const char *why = why_not(unit, c->m->sm.compute_capability);
    if (why) {
        snprintf(reason, MD_CEILING_REASON, "%s", why);
        return false;
    }
    c->module = find_module(c->m, unit);
    if (!c->module) snprintf(reason, MD_CEILING_REASON, "its kernels do not compile");
    if (c->module) CUDA_DRIVER_CHECK(c->m, c->m->driver.module_function(&c->function, c->module, symbol));
    return c->module != NULL;
}

int64_t cuda_ceiling_resident(const CudaCeilings *m) { return (int64_t)m->n_sms * m->sm.threads; }

void cuda_ceiling_shape(CudaCeiling *c, int64_t n_threads) {
    c->block[0] = 256;
    c->grid[0] = (unsigned)((n_threads + 255) / 256);
    c->block[1] = c->grid[1] = 1;
}

void cuda_ceiling_launch(CudaCeiling *c, const CudaCeilingArguments *arguments, cudaStream_t stream) {
    CudaCeilingArguments copy = *arguments;
    void *parameters[] = {&copy};
    CUDA_DRIVER_CHECK(c->m, cuda_driver_launch(&c->m->driver, c->function, c->grid, c->block, c->shared, stream,
                                               c->dependent, parameters));
}

double cuda_ceiling_time(CudaCeiling *c, int64_t n_calls, void (*issue)(CudaCeiling *c)) {
    float milliseconds = 0;
    CUDA_CHECK(cudaEventRecord(c->m->begun, c->m->stream));
    for (int64_t k = 0; k < n_calls; k++) issue(c);
    CUDA_CHECK(cudaEventRecord(c->m->ended, c->m->stream));
    CUDA_CHECK(cudaEventSynchronize(c->m->ended));
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, c->m->begun, c->m->ended));
    return 1e-3 * (double)milliseconds;
}

static void issue_kernel(CudaCeiling *c) { cuda_ceiling_launch(c, &c->arguments, c->m->stream); }

double cuda_ceiling_run_kernel(CudaCeiling *c, int64_t n_calls) { return cuda_ceiling_time(c, n_calls, issue_kernel); }

void cuda_ceiling_make_streams(CudaCeiling *c, int n_streams) {
    md_require(n_streams <= CUDA_CEILING_STREAMS);
    for (int k = 0; k < n_streams; k++) CUDA_CHECK(cudaStreamCreateWithFlags(&c->streams[k], cudaStreamNonBlocking));
}

void cuda_ceiling_release_streams(CudaCeiling *c) {
    for (int k = 0; k < CUDA_CEILING_STREAMS; k++)
        if (c->streams[k]) CUDA_CHECK(cudaStreamDestroy(c->streams[k]));
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

void *cuda_ceiling_take(CudaCeiling *c, size_t bytes, char *reason) {
    void *data = NULL;
    md_require(c->n_owned < CUDA_CEILING_OWNED);
    if (cudaMalloc(&data, bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        snprintf(reason, MD_CEILING_REASON, "less than %.0f MiB of GPU memory are free", (double)bytes / 1048576);
        return NULL;
    }
    CUDA_CHECK(cudaMemset(data, 0, bytes));
    return c->owned[c->n_owned++] = data;
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
