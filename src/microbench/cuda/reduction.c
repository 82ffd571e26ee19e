/* Sums: the ladder of microbench/kernels/reduction.cu. A call is a kernel that stores the sums of its blocks, and a second
 * pass that adds them up; or, if blocks add to the total themselves, only the kernel.
 *
 * Numbers are zeros and ones, whose sum is exact in single precision in any order. A sum of numbers 1.23 shows the rounding
 * error of single precision. */

#include "base/memory.h"
#include "microbench/cuda/row.h"

enum { BLOCK = 256, FINISH_BLOCK = 1024 };

typedef enum Finish {
    TWO_PASSES,
    ALLOCATED, /* two passes; the sums of blocks in memory that is allocated at each call */
    ATOMIC,    /* kernels that add to the one sum, which is zero before */
    ITSELF     /* the kernel writes the one sum */
} Finish;

typedef struct Rung {
    const char *variant, *unit, *symbol;
    bool resident; /* as many threads as the GPU holds, not one an element */
    Finish finish;
} Rung;

#define ROW(how_, group_, variant_, ...) {variant_, MD_CEILING_HOW how_},

static const Rung rungs[] = {
#include "microbench/host/rows_reduction.def"
};

static const Rung *rung_of(const CudaCeiling *c) {
    size_t k = 0;
    while (!cuda_row_is(c, rungs[k].variant)) k++;
    return &rungs[k];
}

static int64_t count_blocks(const CudaCeiling *c, int64_t n) {
    const int64_t n_threads = rung_of(c)->resident ? cuda_ceiling_resident(c->m) : n;
    return (n_threads + BLOCK - 1) / BLOCK;
}

/* --- a sum --------------------------------------------------------------------------------------------------------- */

/* The sum of a.n numbers, issued. */
static void issue(CudaCeiling *c, CudaCeilingArguments a) {
    const Finish finish = rung_of(c)->finish;
    const CUfunction rung = c->function;
    const int64_t n_blocks = count_blocks(c, a.n);
    if (finish == ALLOCATED) CUDA_CHECK(cudaMalloc((void **)&a.b, (size_t)n_blocks * sizeof *a.b));
    if (finish == ATOMIC) CUDA_CHECK(cudaMemsetAsync(a.sum, 0, sizeof *a.sum, c->m->stream));
    c->grid[0] = (unsigned)n_blocks;
    c->block[0] = BLOCK;
    cuda_ceiling_launch(c, &a, c->m->stream);
    if (finish == TWO_PASSES || finish == ALLOCATED) {
        c->function = c->extra;
        c->grid[0] = 1;
        c->block[0] = FINISH_BLOCK;
        a.n = n_blocks;
        cuda_ceiling_launch(c, &a, c->m->stream);
        c->function = rung;
    }
    if (finish == ALLOCATED) CUDA_CHECK(cudaFree(a.b));
}

static void issue_sum(CudaCeiling *c) { issue(c, c->arguments); }

static double run_sums(CudaCeiling *c, int64_t n_calls) { return cuda_ceiling_time(c, n_calls, issue_sum); }

/* --- checks -------------------------------------------------------------------------------------------------------- */

static float number(int64_t i) { return i * 7 % 61 < 15 ? 1 : 0; }

static float take_sum(CudaCeiling *c) {
    float sum = 0;
    CUDA_CHECK(cudaMemcpy(&sum, c->arguments.sum, sizeof sum, cudaMemcpyDefault));
    CUDA_CHECK(cudaMemset(c->arguments.sum, 0xff, sizeof sum));
    if (c->arguments.b)
        CUDA_CHECK(cudaMemset(c->arguments.b, 0xff, (size_t)count_blocks(c, c->n) * sizeof *c->arguments.b));
    return sum;
}

static bool check_sum(CudaCeiling *c, char *reason) {
    double expected = 0;
#pragma omp parallel for schedule(static) reduction(+ : expected)
    for (int64_t i = 0; i < c->n; i++) expected += (double)number(i);
    return cuda_ceiling_equal("the sum", (double)take_sum(c), expected, reason);
}

void cuda_ceiling_sum_numbers(CudaCeiling *c, MdCeilingSum *sum) {
    CudaCeilingArguments a = c->arguments;
    a.a = c->m->d_text;
    a.n = c->m->n_text;
    issue(c, a);
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    *sum = (MdCeilingSum){.n = a.n, .value = (double)MD_CEILING_NUMBER, .result = (double)take_sum(c)};
}

/* --- preparing ----------------------------------------------------------------------------------------------------- */

/* Numbers for all rows: zeros and ones, and so many times 1.23. */
static bool make_numbers(CudaCeiling *c, char *reason) {
    CudaCeilings *m = c->m;
    const int64_t n = m->quick ? 1 << 15 : 1 << 25;
    if (m->d_numbers) return true;
    m->n_text = m->quick ? n : MD_CEILING_NUMBERS;
    if (cudaMalloc((void **)&m->d_numbers, (size_t)n * sizeof(float)) != cudaSuccess ||
        cudaMalloc((void **)&m->d_text, (size_t)m->n_text * sizeof(float)) != cudaSuccess) {
        (void)cudaGetLastError();
        CUDA_CHECK(cudaFree(m->d_numbers));
        m->d_numbers = NULL;
        snprintf(reason, MD_CEILING_REASON, "less than %.0f MiB of GPU memory are free",
                 (double)(n + m->n_text) * sizeof(float) / 1048576);
        return false;
    }
    float *host = md_alloc((size_t)n, sizeof *host, "ceilings");
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) host[i] = number(i);
    CUDA_CHECK(cudaMemcpy(m->d_numbers, host, (size_t)n * sizeof *host, cudaMemcpyDefault));
    md_free(host);
    if (!cuda_ceiling_load(c, "reduction", "k_reduction_fill", reason)) return false;
    const CudaCeilingArguments a = {.b = m->d_text, .n = m->n_text, .one = MD_CEILING_NUMBER};
    cuda_ceiling_shape(c, a.n);
    cuda_ceiling_launch(c, &a, m->stream);
    return true;
}

/* Room for the sums of blocks, if the row has any: allocated memory, or an array of the module. */
static bool make_room(CudaCeiling *c, char *reason) {
    const Finish finish = rung_of(c)->finish;
    CudaCeilingArguments *a = &c->arguments;
    const int64_t n_most = c->n > c->m->n_text ? c->n : c->m->n_text, n_blocks = count_blocks(c, n_most);
    if (cuda_row_is(c, "several, static scratch")) {
        CUdeviceptr place;
        size_t bytes = 0;
        CUDA_DRIVER_CHECK(c->m, c->m->driver.module_global(&place, &bytes, c->module, "static_sums"));
        md_require((size_t)n_blocks * sizeof *a->b <= bytes);
        a->b = (float *)(uintptr_t)place;
    } else if (finish == TWO_PASSES || finish == ITSELF) {
        a->b = cuda_ceiling_take(c, (size_t)n_blocks * sizeof *a->b, reason);
        if (!a->b) return false;
    }
    if (cuda_row_is(c, "global memory")) {
        a->c = cuda_ceiling_take(c, (size_t)n_blocks * BLOCK * sizeof *a->c, reason);
        if (!a->c) return false;
    }
    a->sum = cuda_ceiling_take(c, sizeof *a->sum, reason);
    if (finish == ITSELF) a->counts = cuda_ceiling_take(c, sizeof *a->counts, reason);
    return a->sum && (a->counts || finish != ITSELF);
}

bool cuda_ceiling_prepare_reduction(CudaCeiling *c, char *reason) {
    const Rung *rung = rung_of(c);
    c->run = run_sums;
    c->check = check_sum;
    if (!make_numbers(c, reason) || !cuda_ceiling_load(c, "reduction", "k_reduction_finish", reason)) return false;
    c->extra = c->function;
    if (!cuda_ceiling_load(c, rung->unit, rung->symbol, reason) || !make_room(c, reason)) return false;
    if (cuda_row_is(c, "dynamic shared")) c->shared = BLOCK * sizeof(float);
    c->arguments.a = c->m->d_numbers;
    c->arguments.n = c->n;
    c->block[1] = c->grid[1] = 1;
    return true;
}
