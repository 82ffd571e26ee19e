/* Elementary kernels of the GPU: mdmini --ceilings. ceilings.c has the machine and the table of rows; row.c the code shared by all rows;
 * kernels.c the rows that are a kernel, results.c their expected results. The others are in operations.c,
 * reduction.c, blas.c, transfer.c, streams.c, unified.c, latency.c, chase.c, random.c and peers.c. */
#ifndef MD_MICROBENCH_CUDA_ROW_H
#define MD_MICROBENCH_CUDA_ROW_H

#include <cuda_runtime_api.h>
#include <string.h>

#include "cuda/device/check.h"
#include "cuda/device/device.h"
#include "cuda/device/driver.h"
#include "cuda/device/occupancy.h"
#include "microbench/host/measure.h"
#include "microbench/kernels/arguments.h"

enum { CUDA_CEILING_UNITS = 24, CUDA_CEILING_OWNED = 8, CUDA_CEILING_STREAMS = 64 };

/* The GPU. */
typedef struct CudaCeilings {
    MdConfig config;
    MdErrors *errors;
    CudaDriver driver;
    int device, n_sms;
    CudaMultiprocessor sm;
    int block_shared, l2_bytes; /* bytes: of shared memory of a block, at most; of L2 */
    cudaStream_t stream;
    cudaEvent_t begun, ended;
    bool quick;
    MdComm *comm;              /* the processes that measure together; NULL: only this one */
    float *d_source[2];        /* of cuda_ceiling_source: read by many rows */
    float *d_numbers, *d_text; /* the terms of sums; NULL before the first */
    int64_t n_text;
    int n_units;
    struct {
        const char *name;
        CUmodule module;
    } units[CUDA_CEILING_UNITS];
} CudaCeilings;

/* The kind of atomics: sums of a type, or the largest number. */
typedef enum CudaCount { CUDA_COUNT_INT, CUDA_COUNT_FLOAT, CUDA_COUNT_DOUBLE, CUDA_COUNT_64, CUDA_COUNT_MAX } CudaCount;

/* Seconds of n_calls calls; whether a check or a preparation succeeded, else the reason; the expected element i. */
typedef struct CudaCeiling CudaCeiling;
typedef double CudaCeilingRun(CudaCeiling *c, int64_t n_calls);
typedef bool CudaCeilingStep(CudaCeiling *c, char *reason);
typedef double CudaCeilingElement(const CudaCeiling *c, int64_t i);

/* A row, prepared. */
struct CudaCeiling {
    CudaCeilings *m;
    MdCeilingCase of;
    CudaCeilingRun *run;
    CudaCeilingStep *check;
    void (*release)(CudaCeiling *c); /* of memory that is not owned; NULL: none */
    int64_t n, n_out;                /* elements of a call; of its output */
    int64_t n_calls;                 /* since the last check */
    /* the kernel */
    CUmodule module;
    CUfunction function;
    unsigned grid[2], block[2], shared;
    int per;        /* elements of a thread */
    bool dependent; /* launched so, programmatically */
    CudaCount count;
    CudaCeilingArguments arguments;
    CudaCeilingElement *expected; /* of an element that is written */
    const int *index;             /* on the host: from malloc */
    int n_owned;
    void *owned[CUDA_CEILING_OWNED]; /* device memory, freed with the row */
    /* transfers, unified memory, random numbers */
    float *host[2];
    bool host_pinned;
    cudaStream_t streams[CUDA_CEILING_STREAMS];
    double result;
    void *extra;
};

/* Whether the row is called so; whether its name has a word. */
static inline bool cuda_row_is(const CudaCeiling *c, const char *name) { return strcmp(c->of.row->variant, name) == 0; }
static inline bool cuda_row_has(const CudaCeiling *c, const char *word) {
    return strstr(c->of.row->variant, word) != NULL;
}

/* Element i of source k: a small whole number, so that sums are exact. */
static inline double cuda_ceiling_source(int k, int64_t i) { return (double)((i + 5 * k) * 7 % 61); }

/* Zeroed device memory that goes with the row; NULL, with the reason, where there is none. */
void *cuda_ceiling_take(CudaCeiling *c, size_t bytes, char *reason);
/* Loads k_<symbol> of microbench/kernels/<unit>.cu; false, with the reason, where that cannot be. */
bool cuda_ceiling_load(CudaCeiling *c, const char *unit, const char *symbol, char *reason);
/* For so many elements, one a thread, in blocks of 256; or in as many threads as the GPU holds. */
void cuda_ceiling_shape(CudaCeiling *c, int64_t n_threads);
int64_t cuda_ceiling_resident(const CudaCeilings *m);
/* Into a stream of the row. */
void cuda_ceiling_launch(CudaCeiling *c, const CudaCeilingArguments *arguments, cudaStream_t stream);
/* Issues n_calls calls into the stream, timed by events; a run of only the kernel. */
double cuda_ceiling_time(CudaCeiling *c, int64_t n_calls, void (*issue)(CudaCeiling *c));
double cuda_ceiling_run_kernel(CudaCeiling *c, int64_t n_calls);

/* Streams of the row, which do not wait for the default stream. */
void cuda_ceiling_make_streams(CudaCeiling *c, int n_streams);
void cuda_ceiling_release_streams(CudaCeiling *c);

/* Checks: n_out floats in arguments.b against expected, then spoiled. */
CudaCeilingStep cuda_ceiling_check_elements;
bool cuda_ceiling_compare(CudaCeiling *c, const float *host, char *reason);
bool cuda_ceiling_equal(const char *what, double is_value, double expected, char *reason);

/* Each prepares a row of its groups; cuBLAS is of the group matrix, the chase of the group latency. */
CudaCeilingStep cuda_ceiling_prepare_kernel, cuda_ceiling_prepare_blas, cuda_ceiling_prepare_reduction,
    cuda_ceiling_prepare_operations, cuda_ceiling_prepare_transfer, cuda_ceiling_prepare_streams,
    cuda_ceiling_prepare_unified, cuda_ceiling_prepare_latency, cuda_ceiling_prepare_chase, cuda_ceiling_prepare_random,
    cuda_ceiling_prepare_peers;

/* The sum of many numbers 1.23 in single precision. */
void cuda_ceiling_sum_numbers(CudaCeiling *c, MdCeilingSum *sum);

/* Compiles all kernels for a compute capability and throws the code away: for tests without a GPU. */
MdStatus cuda_ceilings_try(int compute_capability, MdErrors *errors);

#endif
