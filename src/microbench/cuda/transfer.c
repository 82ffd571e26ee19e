/* Copies between host and device. Timed by the clock of the host, with a wait at the end of a batch: events cannot
 * time several streams, or memory that the driver itself copies. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "microbench/cuda/results.h"

enum { CHUNKS = 32, LANES = 16 }; /* numbers that the CPU adds up side by side */

static size_t bytes_of(const CudaCeiling *c) { return (size_t)c->n * sizeof(float); }

static double is_doubled(const CudaCeiling *c, int64_t i) { return (void)c, 2 * cuda_ceiling_source(0, i); }

static double wait_for_all(CudaCeiling *c, double start_s) {
    for (int k = 0; k < CUDA_CEILING_STREAMS; k++)
        if (c->streams[k]) CUDA_CHECK(cudaStreamSynchronize(c->streams[k]));
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    return md_clock_s() - start_s;
}

/* --- rows ---------------------------------------------------------------------------------------------------------- */

/* host[0] to b, or a to host[1]. */
static double run_copy(CudaCeiling *c, int64_t n_calls) {
    const bool in = cuda_row_has(c, "to device");
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls; k++)
        if (in)
            CUDA_CHECK(cudaMemcpyAsync(c->arguments.b, c->host[0], bytes_of(c), cudaMemcpyHostToDevice, c->m->stream));
        else CUDA_CHECK(cudaMemcpyAsync(c->host[1], c->arguments.a, bytes_of(c), cudaMemcpyDeviceToHost, c->m->stream));
    return wait_for_all(c, start_s);
}

static double run_both_ways(CudaCeiling *c, int64_t n_calls) {
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls; k++) {
        CUDA_CHECK(cudaMemcpyAsync(c->arguments.b, c->host[0], bytes_of(c), cudaMemcpyHostToDevice, c->streams[0]));
        CUDA_CHECK(cudaMemcpyAsync(c->host[1], c->arguments.a, bytes_of(c), cudaMemcpyDeviceToHost, c->streams[1]));
    }
    return wait_for_all(c, start_s);
}

/* The kernel reads or writes the host's memory. */
static double run_mapped(CudaCeiling *c, int64_t n_calls) {
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls; k++) cuda_ceiling_launch(c, &c->arguments, c->m->stream);
    return wait_for_all(c, start_s);
}

/* As many chunks as the most streams, one after the other in the stream of their turn: in, kernel, out. */
static double run_chunks(CudaCeiling *c, int64_t n_calls) {
    const double start_s = md_clock_s();
    for (int64_t call = 0; call < n_calls; call++)
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            const cudaStream_t stream = c->streams[chunk % c->of.row->parameter];
            const int64_t first = c->n * chunk / CHUNKS, n = c->n * (chunk + 1) / CHUNKS - first;
            const size_t bytes = (size_t)n * sizeof(float);
            CudaCeilingArguments a = c->arguments;
            a.a = a.b = a.b + first; /* overwrites its input */
            a.n = n;
            a.parameter = 256; /* multiply-adds an element: a kernel of some weight */
            CUDA_CHECK(cudaMemcpyAsync(a.b, c->host[0] + first, bytes, cudaMemcpyHostToDevice, stream));
            cuda_ceiling_launch(c, &a, stream);
            CUDA_CHECK(cudaMemcpyAsync(c->host[1] + first, a.b, bytes, cudaMemcpyDeviceToHost, stream));
        }
    return wait_for_all(c, start_s);
}

/* Two arrays in, their sum out. */
static double run_add(CudaCeiling *c, int64_t n_calls) {
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls; k++) {
        CUDA_CHECK(cudaMemcpyAsync(c->arguments.a, c->host[0], bytes_of(c), cudaMemcpyHostToDevice, c->m->stream));
        CUDA_CHECK(cudaMemcpyAsync(c->arguments.c, c->host[0], bytes_of(c), cudaMemcpyHostToDevice, c->m->stream));
        cuda_ceiling_launch(c, &c->arguments, c->m->stream);
        CUDA_CHECK(cudaMemcpyAsync(c->host[1], c->arguments.b, bytes_of(c), cudaMemcpyDeviceToHost, c->m->stream));
    }
    return wait_for_all(c, start_s);
}

/* The CPU reads host[0]. Independent sums, as a single one would wait for each addition and not for memory. */
static double run_host_read(CudaCeiling *c, int64_t n_calls) {
    const double start_s = md_clock_s();
    for (int64_t call = 0; call < n_calls; call++) {
        const float *data = c->host[0];
        int sums[LANES] = {0};
        double sum = 0;
        for (int64_t i = 0; i < c->n / LANES * LANES; i += LANES)
#pragma omp simd
            for (int k = 0; k < LANES; k++) sums[k] += (int)data[i + k];
        for (int64_t i = c->n / LANES * LANES; i < c->n; i++) sum += (double)data[i];
        for (int k = 0; k < LANES; k++) sum += sums[k];
        c->result = sum;
        __asm__ volatile("" ::: "memory"); /* every pass is made */
    }
    return md_clock_s() - start_s;
}

/* --- checks -------------------------------------------------------------------------------------------------------- */

static bool check_host(CudaCeiling *c, char *reason) {
    const bool right = cuda_ceiling_compare(c, c->host[1], reason);
    memset(c->host[1], 0xff, bytes_of(c));
    return right;
}

static bool check_both(CudaCeiling *c, char *reason) {
    const bool right = cuda_ceiling_check_elements(c, reason);
    return check_host(c, reason) && right;
}

static bool check_read(CudaCeiling *c, char *reason) {
    double expected = 0;
    for (int64_t i = 0; i < c->n; i++) expected += cuda_ceiling_source(0, i);
    const double sum = c->result;
    c->result = NAN;
    return cuda_ceiling_equal("the sum", sum, expected, reason);
}

/* --- preparing ----------------------------------------------------------------------------------------------------- */

static void release(CudaCeiling *c) {
    for (int k = 0; k < 2; k++) {
        if (c->host[k] && c->host_pinned) CUDA_CHECK(cudaFreeHost(c->host[k]));
        else free(c->host[k]);
    }
    cuda_ceiling_release_streams(c);
}

static bool take_host(CudaCeiling *c, int which, char *reason) {
    void *data = NULL;
    const unsigned flags = cuda_row_has(c, "write-combined") ? cudaHostAllocWriteCombined
                           : cuda_row_has(c, "mapped")       ? cudaHostAllocMapped
                                                             : cudaHostAllocDefault;
    if (!c->host_pinned) {
        data = malloc(bytes_of(c));
    } else if (cudaHostAlloc(&data, bytes_of(c), flags) != cudaSuccess) {
        (void)cudaGetLastError();
        data = NULL;
    }
    c->host[which] = data;
    if (!data) snprintf(reason, MD_CEILING_REASON, "the host has not %.0f MiB for it", (double)bytes_of(c) / 1048576);
    else
        for (int64_t i = 0; i < c->n; i++) c->host[which][i] = which == 0 ? (float)cuda_ceiling_source(0, i) : NAN;
    return data != NULL;
}

static bool prepare_mapped(CudaCeiling *c, char *reason) {
    void *mapped = NULL;
    const bool reads = cuda_row_has(c, "read by kernel");
    c->run = run_mapped;
    c->expected = cuda_ceiling_is_tripled;
    CUDA_CHECK(cudaHostGetDevicePointer(&mapped, c->host[reads ? 0 : 1], 0));
    if (reads) c->arguments.a = mapped;
    else c->arguments.b = mapped;
    c->check = reads ? cuda_ceiling_check_elements : check_host;
    cuda_ceiling_shape(c, c->n);
    return cuda_ceiling_load(c, "transfer", "k_transfer_scale", reason);
}

static bool prepare_add(CudaCeiling *c, char *reason) {
    c->run = run_add;
    c->check = check_host;
    c->expected = is_doubled;
    c->arguments.a = cuda_ceiling_take(c, bytes_of(c), reason);
    c->arguments.c = cuda_ceiling_take(c, bytes_of(c), reason);
    cuda_ceiling_shape(c, c->n);
    return c->arguments.a && c->arguments.c && cuda_ceiling_load(c, "transfer", "k_transfer_add", reason);
}

bool cuda_ceiling_prepare_transfer(CudaCeiling *c, char *reason) {
    const bool chunks = cuda_row_has(c, "in, kernel, out"), both = cuda_row_has(c, "both ways");
    c->release = release;
    c->host_pinned = !cuda_row_has(c, "pageable");
    c->n_out = c->n;
    c->arguments.a = c->m->d_source[0];
    c->arguments.n = c->n;
    c->expected = cuda_ceiling_is_copy;
    if (!take_host(c, 0, reason) || !take_host(c, 1, reason)) return false;
    c->arguments.b = cuda_ceiling_take(c, bytes_of(c), reason);
    if (!c->arguments.b) return false;
    cuda_ceiling_make_streams(c, chunks ? c->of.row->parameter : both ? 2 : 0);
    if (cuda_row_has(c, "add")) return prepare_add(c, reason);
    if (cuda_row_has(c, "by kernel")) return prepare_mapped(c, reason);
    c->run = cuda_row_has(c, "read by CPU") ? run_host_read : both ? run_both_ways : chunks ? run_chunks : run_copy;
    c->check = cuda_row_has(c, "read by CPU") ? check_read
               : both                         ? check_both
               : cuda_row_has(c, "to device") ? cuda_ceiling_check_elements
                                              : check_host;
    if (!chunks) return true;
    c->expected = cuda_ceiling_is_tripled;
    cuda_ceiling_shape(c, c->n / CHUNKS + 1);
    return cuda_ceiling_load(c, "transfer", "k_transfer_scale", reason);
}
