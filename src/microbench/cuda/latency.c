/* The time of single calls and barriers. A call of a row is of.size such operations. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "microbench/cuda/row.h"

enum { GRAPH_KERNELS = 20, POOL_BYTES = 1 << 20, GRID_THREADS = 256, BLOCK_THREADS = 1024 };

static double run_launches(CudaCeiling *c, int64_t n_calls) {
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls * c->n; k++) cuda_ceiling_launch(c, &c->arguments, c->m->stream);
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    return md_clock_s() - start_s;
}

static double run_launch_and_wait(CudaCeiling *c, int64_t n_calls) {
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls * c->n; k++) {
        cuda_ceiling_launch(c, &c->arguments, c->m->stream);
        CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    }
    return md_clock_s() - start_s;
}

static double run_cooperative(CudaCeiling *c, int64_t n_calls) {
    CudaCeilingArguments a = c->arguments;
    void *parameters[] = {&a};
    const int64_t n_launches = c->block[0] == GRID_THREADS ? n_calls : n_calls * c->n; /* of many barriers, or empty */
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_launches; k++)
        md_require(c->m->driver.launch_cooperative(c->function, c->grid[0], 1, 1, c->block[0], 1, 1, 0, c->m->stream,
                                                   parameters) == CUDA_SUCCESS);
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    return md_clock_s() - start_s;
}

static double run_graph(CudaCeiling *c, int64_t n_calls) {
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls * c->n / GRAPH_KERNELS; k++)
        CUDA_CHECK(cudaGraphLaunch((cudaGraphExec_t)c->extra, c->m->stream));
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    return md_clock_s() - start_s;
}

static double run_event(CudaCeiling *c, int64_t n_calls) {
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls * c->n; k++) {
        CUDA_CHECK(cudaEventRecord(c->m->ended, c->m->stream));
        CUDA_CHECK(cudaEventSynchronize(c->m->ended));
    }
    return md_clock_s() - start_s;
}

static double run_idle(CudaCeiling *c, int64_t n_calls) {
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls * c->n; k++) CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    return md_clock_s() - start_s;
}

static double run_small_copy(CudaCeiling *c, int64_t n_calls) {
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls * c->n; k++) {
        CUDA_CHECK(
            cudaMemcpyAsync(c->host[0], c->m->d_source[0] + 1, sizeof(float), cudaMemcpyDeviceToHost, c->m->stream));
        CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    }
    return md_clock_s() - start_s;
}

static double run_allocate(CudaCeiling *c, int64_t n_calls) {
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls * c->n; k++) {
        void *data = NULL;
        CUDA_CHECK(cudaMalloc(&data, POOL_BYTES));
        CUDA_CHECK(cudaFree(data));
    }
    return md_clock_s() - start_s;
}

static double run_pool(CudaCeiling *c, int64_t n_calls) {
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls * c->n; k++) {
        void *data = NULL;
        CUDA_CHECK(cudaMallocAsync(&data, POOL_BYTES, c->m->stream));
        CUDA_CHECK(cudaFreeAsync(data, c->m->stream));
    }
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    return md_clock_s() - start_s;
}

/* --- checks -------------------------------------------------------------------------------------------------------- */

/* Launches or barriers counted, and of barriers how often somebody was ahead. */
static bool check_counts(CudaCeiling *c, char *reason) {
    unsigned counts[2] = {0, 0};
    CUDA_CHECK(cudaMemcpy(counts, c->arguments.counts, sizeof counts, cudaMemcpyDefault));
    CUDA_CHECK(cudaMemset(c->arguments.counts, 0, sizeof counts));
    const unsigned expected = (unsigned)(c->n_calls * c->n); /* modulo 2^32, as the counter */
    return cuda_ceiling_equal("the count", counts[0], expected, reason) &&
           cuda_ceiling_equal("the count of early arrivals", counts[1], 0, reason);
}

/* The copy below waits for nothing that is in the stream: kernels that have not run when the wait is over are missing. */
static bool check_wait(CudaCeiling *c, char *reason) {
    enum { KERNELS = 1000 };
    unsigned n_run = 0;
    for (int k = 0; k < KERNELS; k++) cuda_ceiling_launch(c, &c->arguments, c->m->stream);
    if (c->run == run_event) {
        CUDA_CHECK(cudaEventRecord(c->m->ended, c->m->stream));
        CUDA_CHECK(cudaEventSynchronize(c->m->ended));
    } else CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    CUDA_CHECK(cudaMemcpy(&n_run, c->arguments.counts, sizeof n_run, cudaMemcpyDefault));
    CUDA_CHECK(cudaMemset(c->arguments.counts, 0, sizeof n_run));
    return cuda_ceiling_equal("the count of kernels that ran before the wait was over", n_run, KERNELS, reason);
}

static bool check_number(CudaCeiling *c, char *reason) {
    const double number = (double)c->host[0][0];
    c->host[0][0] = NAN;
    return cuda_ceiling_equal("the number", number, cuda_ceiling_source(0, 1), reason);
}

/* One more allocation, written and read. */
static bool check_memory(CudaCeiling *c, char *reason) {
    void *data = NULL;
    unsigned char last = 0;
    const bool pooled = c->run == run_pool;
    CUDA_CHECK(pooled ? cudaMallocAsync(&data, POOL_BYTES, c->m->stream) : cudaMalloc(&data, POOL_BYTES));
    CUDA_CHECK(cudaMemsetAsync(data, 7, POOL_BYTES, c->m->stream));
    CUDA_CHECK(cudaMemcpyAsync(&last, (char *)data + POOL_BYTES - 1, 1, cudaMemcpyDeviceToHost, c->m->stream));
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    CUDA_CHECK(pooled ? cudaFreeAsync(data, c->m->stream) : cudaFree(data));
    return cuda_ceiling_equal("the last byte", last, 7, reason);
}

/* --- preparing ----------------------------------------------------------------------------------------------------- */

static void release(CudaCeiling *c) {
    if (c->host[0]) CUDA_CHECK(cudaFreeHost(c->host[0]));
    if (c->extra) CUDA_CHECK(cudaGraphExecDestroy((cudaGraphExec_t)c->extra));
}

static void make_graph(CudaCeiling *c) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    CUDA_CHECK(cudaStreamBeginCapture(c->m->stream, cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < GRAPH_KERNELS; k++) cuda_ceiling_launch(c, &c->arguments, c->m->stream);
    CUDA_CHECK(cudaStreamEndCapture(c->m->stream, &graph));
    CUDA_CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CUDA_CHECK(cudaGraphDestroy(graph));
    c->extra = exec;
}

/* Programmatic dependent launch; graphs keep it since CUDA 12.3. */
static bool has_dependent_launch(void) {
    int driver = 0;
    CUDA_CHECK(cudaDriverGetVersion(&driver));
    return cuda_device_compute_capability() >= 90 && driver >= 12030;
}

/* The kernel of a row; by default one that is empty, of one warp. */
static bool load(CudaCeiling *c, char *reason) {
    const bool of_grid = cuda_row_is(c, "barrier of the grid"), of_block = cuda_row_is(c, "barrier of a block");
    c->block[0] = of_grid ? GRID_THREADS : of_block ? BLOCK_THREADS : 32;
    c->grid[0] = of_grid ? (unsigned)c->m->n_sms : 1;
    c->block[1] = c->grid[1] = 1;
    if (of_grid) return cuda_ceiling_load(c, "latency_groups", "k_latency_grid", reason);
    c->dependent = cuda_row_is(c, "graph, dependent");
    if (c->dependent && !has_dependent_launch()) {
        snprintf(reason, MD_CEILING_REASON, "needs compute capability 9.0 and a driver for CUDA 12.3");
        return false;
    }
    return cuda_ceiling_load(c, "latency",
                             of_block       ? "k_latency_block"
                             : c->dependent ? "k_latency_dependent"
                                            : "k_latency_empty",
                             reason);
}

typedef struct Call {
    const char *variant;
    CudaCeilingRun *run;    /* NULL: only the kernel */
    CudaCeilingStep *check; /* NULL: the row is of chase.c */
} Call;

#define ROW(how_, group_, variant_, ...) {variant_, MD_CEILING_HOW how_},

static const Call calls[] = {
#include "microbench/host/rows_latency.def"
};

bool cuda_ceiling_prepare_latency(CudaCeiling *c, char *reason) {
    const Call *call = calls;
    while (!cuda_row_is(c, call->variant)) call++;
    if (!call->check) return cuda_ceiling_prepare_chase(c, reason);
    c->run = call->run ? call->run : cuda_ceiling_run_kernel;
    c->check = call->check;
    c->release = release;
    c->arguments.n = c->n;
    c->arguments.counts = cuda_ceiling_take(c, 3 * sizeof *c->arguments.counts, reason);
    if (!c->arguments.counts || !load(c, reason)) return false;
    if (c->run == run_small_copy) CUDA_CHECK(cudaMallocHost((void **)&c->host[0], sizeof(float)));
    if (c->run == run_graph) make_graph(c);
    return true;
}
