/* Elementary kernels of the GPU: mdmini --ceilings. ceilings.c has the machine and hands out the rows; what all of them use
 * stands in row.c, rows that are a kernel in kernels.c, what must come of them in results.c, the others in operations.c,
 * reduction.c, transfer.c, streams.c, unified.c, latency.c, chase.c and random.c; blas.c has cuBLAS. */
#ifndef MD_CUDA_CEILINGS_H
#define MD_CUDA_CEILINGS_H

#include <cuda_runtime_api.h>

#include "ceilings/measure.h"
#include "cuda/device/check.h"
#include "cuda/device/device.h"
#include "cuda/device/driver.h"
#include "cuda/kernels/microbench/arguments.h"

enum { CUDA_CEILING_UNITS = 24, CUDA_CEILING_OWNED = 8, CUDA_CEILING_STREAMS = 64 };

/* The GPU. */
typedef struct CudaCeilings {
    MdConfig config;
    MdErrors *errors;
    CudaDriver driver;
    int device, compute_capability, n_sms, sm_threads, sm_blocks, sm_shared, block_shared,
        reserved_shared; /* bytes of shared memory */
    int l2_bytes;
    cudaStream_t stream;
    cudaEvent_t begun, ended;
    bool quick;
    float *d_source[2];        /* of cuda_ceiling_source: read by many rows */
    float *d_numbers, *d_text; /* what sums are made of; NULL before the first */
    int64_t n_text;
    int n_units;
    struct {
        const char *name;
        CUmodule module;
    } units[CUDA_CEILING_UNITS];
} CudaCeilings;

/* A row, prepared. */
typedef struct CudaCeiling CudaCeiling;
struct CudaCeiling {
    CudaCeilings *m;
    MdCeilingCase of;
    double (*run)(CudaCeiling *c, int64_t n_calls);
    bool (*check)(CudaCeiling *c, char reason[MD_CEILING_REASON]);
    void (*release)(CudaCeiling *c); /* of what is not owned; NULL: nothing */
    int64_t n, n_out;                /* elements of a call; of what it writes */
    int64_t n_calls;                 /* since the last check */
    /* the kernel */
    CUmodule module;
    CUfunction function;
    unsigned grid[2], block[2], shared;
    bool dependent; /* launched so, programmatically */
    CudaCeilingArguments arguments;
    double (*expected)(const CudaCeiling *c, int64_t i); /* of an element that is written */
    const int *index;                                    /* on the host: from malloc */
    int n_owned;
    void *owned[CUDA_CEILING_OWNED]; /* device memory, freed with the row */
    /* transfers, unified memory, random numbers */
    float *host[2];
    bool host_pinned;
    cudaStream_t streams[CUDA_CEILING_STREAMS];
    double result;
    void *extra;
};

/* Element i of source k: a small whole number, so that sums are exact. */
static inline double cuda_ceiling_source(int k, int64_t i) { return (double)((i + 5 * k) * 7 % 61); }

/* A call of the driver: a failure is an internal fault. */
void cuda_ceiling_driver_check(const CudaCeilings *m, CUresult result, const char *what, const char *file, int line);
#define CUDA_CEILING_CHECK(m, expression) cuda_ceiling_driver_check((m), (expression), #expression, __FILE__, __LINE__)

/* Zeroed device memory that goes with the row; NULL, with the reason, where there is none. */
void *cuda_ceiling_take(CudaCeiling *c, size_t bytes, char *reason);
/* Loads k_<symbol> of kernels/microbench/<unit>.cu; false, with the reason, where that cannot be. */
bool cuda_ceiling_load(CudaCeiling *c, const char *unit, const char *header, const char *symbol, char *reason);
/* For so many elements, one a thread, in blocks of 256; or in as many threads as the GPU holds. */
void cuda_ceiling_shape(CudaCeiling *c, int64_t n_threads);
int64_t cuda_ceiling_resident(const CudaCeilings *m);
/* Into a stream of the row. */
void cuda_ceiling_launch(CudaCeiling *c, const CudaCeilingArguments *arguments, cudaStream_t stream);
/* Issues n_calls calls into the stream, timed by events; a run of the kernel alone. */
double cuda_ceiling_time(CudaCeiling *c, int64_t n_calls, void (*issue)(CudaCeiling *c));
double cuda_ceiling_run_kernel(CudaCeiling *c, int64_t n_calls);

/* Streams of the row, which do not wait for the default stream. */
void cuda_ceiling_make_streams(CudaCeiling *c, int n_streams);
void cuda_ceiling_release_streams(CudaCeiling *c);
/* A product of matrices by cuBLAS, begun with the first and ended with the row; false, with the reason, where it is not here. */
bool cuda_ceiling_open_blas(CudaCeiling *c, char *reason);
double cuda_ceiling_run_blas(CudaCeiling *c, int64_t n_calls);

/* Checks: n_out floats in arguments.b against expected, then spoiled. */
bool cuda_ceiling_check_elements(CudaCeiling *c, char *reason);
bool cuda_ceiling_compare(CudaCeiling *c, const float *host, char *reason);
bool cuda_ceiling_equal(const char *what, double is_value, double expected, char *reason);

/* Each prepares a row of its groups; false, with the reason, where it cannot run. */
bool cuda_ceiling_prepare_kernel(CudaCeiling *c, char *reason);
bool cuda_ceiling_prepare_reduction(CudaCeiling *c, char *reason);
bool cuda_ceiling_prepare_operations(CudaCeiling *c, char *reason);
bool cuda_ceiling_prepare_transfer(CudaCeiling *c, char *reason);
bool cuda_ceiling_prepare_streams(CudaCeiling *c, char *reason);
bool cuda_ceiling_prepare_unified(CudaCeiling *c, char *reason);
bool cuda_ceiling_prepare_latency(CudaCeiling *c, char *reason);
bool cuda_ceiling_prepare_chase(CudaCeiling *c, char *reason); /* of the group latency */
bool cuda_ceiling_prepare_random(CudaCeiling *c, char *reason);

/* What single precision makes of many numbers 1.23. */
void cuda_ceiling_sum_numbers(CudaCeiling *c, MdCeilingSum *sum);

/* Compiles all kernels for a compute capability and throws the code away: for tests without a GPU. */
MdStatus cuda_ceilings_try(int compute_capability, MdErrors *errors);

#endif
