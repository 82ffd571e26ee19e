/* Throughput by operation (microbench/kernels/operations.cu): the expected result of each chain of operations.
 *
 * Operations of whole numbers, and those rounded by IEEE 754, must be right to the last bit. For the others the
 * CUDA C++ Programming Guide (Mathematical Functions) gives the largest error of its tests, in units of the last place
 * beyond half a unit of rounding; the host adds these errors up along the chain. A check compares the numbers after the calls
 * that were timed, and those after a few steps, where the bounds are narrow and no chain has come to rest. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "microbench/cuda/row.h"

enum { FEW_STEPS = 3 };

/* A number of a chain, and how far from it a GPU may be. */
typedef struct Value {
    double x, error;
} Value;

typedef struct Operation {
    const char *variant, *symbol;
    int chains, compute_capability; /* of a thread; the least that has the operation */
    /* One step of a number, or all of them where the numbers of a warp are mixed. */
    void (*step)(Value *v, const CudaCeiling *c);
    double (*after)(int64_t chain, int n_chains, int64_t n_steps);
} Operation;

/* --- numbers ------------------------------------------------------------------------------------------------------- */

/* The largest unit of the last place of a float is 2^-23 of it. Half of one is rounding. */
static const double unit = 0x1p-23;

static double start_of(int64_t chain) { return cuda_ceiling_source(0, chain % CUDA_CEILING_STARTS); }

/* The logarithm of the factor by which a GPU may be off: that of a product or quotient is the sum of those of its parts. */
static double factor(const Value *v) { return log1p(v->error / fabs(v->x)); }
/* A value by its factor before, to which units of the last place are added. */
static void set(Value *v, double x, double before, double units) {
    v->error = fabs(x) * expm1(before - log1p(-(units + 0.5) * unit));
    v->x = x;
}

static void step_divide(Value *v, const CudaCeiling *c) { (void)c, v->x = (double)(3 / (float)v->x); }
static void step_sqrt(Value *v, const CudaCeiling *c) { (void)c, v->x = (double)sqrtf((float)v->x); }
static void step_convert(Value *v, const CudaCeiling *c) { (void)c, v->x = floor(v->x) + 1; }
static void step_double(Value *v, const CudaCeiling *c) { (void)c, v->x = (double)(float)(v->x * 1.0001); }
static void step_float(Value *v, const CudaCeiling *c) { (void)c, v->x = (double)((float)v->x * 1.0001F); }
/* Two units each. */
static void step_divide_fast(Value *v, const CudaCeiling *c) { (void)c, set(v, 3 / v->x, factor(v), 2); }
static void step_rsqrt(Value *v, const CudaCeiling *c) { (void)c, set(v, 1 / sqrt(v->x), factor(v) / 2, 2); }
static void step_sqrt_rsqrt(Value *v, const CudaCeiling *c) { (void)c, set(v, sqrt(v->x), factor(v) / 2, 5); }
/* No sine changes faster than its argument. */
static void step_sin(Value *v, const CudaCeiling *c) {
    (void)c;
    v->x = sin(v->x);
    v->error += 2.5 * unit * fabs(v->x);
}
/* The absolute error, from -pi to pi. */
static void step_sin_fast(Value *v, const CudaCeiling *c) {
    (void)c;
    v->x = sin(v->x);
    v->error += exp2(-21.41);
}
static void step_multiply(Value *v, const CudaCeiling *c) {
    v->x = (double)((uint32_t)v->x * (uint32_t)c->arguments.parameter + 12345);
}
static void step_divide_whole(Value *v, const CudaCeiling *c) {
    v->x = (double)((uint32_t)c->arguments.parameter / (uint32_t)v->x);
}
static void step_modulo(Value *v, const CudaCeiling *c) {
    v->x = (double)(((uint32_t)v->x + 700) % (uint32_t)c->arguments.parameter);
}
static void step_popcount(Value *v, const CudaCeiling *c) {
    (void)c;
    v->x += __builtin_popcount((uint32_t)v->x);
}

/* --- numbers that lanes of a warp mix ------------------------------------------------------------------------------ */

/* Every step moves the numbers one lane down. */
static double after_shuffle(int64_t chain, int n_chains, int64_t n_steps) {
    const int64_t thread = chain / n_chains, from = (thread & ~(int64_t)31) | ((thread + n_steps) & 31);
    return start_of(from * n_chains + chain % n_chains) + 1;
}
/* Each lane adds the number of odd ones among them; where that is odd, the odd ones become even, and the others odd. */
static double after_ballot(int64_t chain, int n_chains, int64_t n_steps) {
    const int64_t first = chain / n_chains / 32 * 32;
    int64_t n_odd = 0;
    for (int64_t lane = 0; lane < 32; lane++)
        n_odd += (int64_t)start_of((first + lane) * n_chains + chain % n_chains) % 2 == 0; /* one is added */
    const int64_t every_second = n_odd % 2 ? 32 - n_odd : n_odd;
    return start_of(chain) + 1 + (double)((n_steps + 1) / 2 * n_odd + n_steps / 2 * every_second);
}
/* Both halves count up. */
static double after_half2(int64_t chain, int n_chains, int64_t n_steps) {
    (void)n_chains;
    const double low = start_of(chain) + (double)n_steps, high = low + 1;
    return low + 1024 * high;
}
/* Four elements of the sum of products of matrices: rows g and g + 8, columns 2 t and 2 t + 1. */
static double after_tensor(int64_t chain, int n_chains, int64_t n_steps) {
    const int lane = (int)(chain / n_chains % 32);
    double number = 0;
    for (int e = 0; e < 4; e++) {
        const int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
        int product = 0;
        for (int k = 0; k < 16; k++) product += (1 + (row + k) % 3) * (1 + (2 * k + column) % 3);
        number += (start_of(chain) + (double)(product * n_steps)) * (double)(1 << e);
    }
    return number;
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

#define ROW(how_, group_, variant_, ...) {variant_, MD_CEILING_HOW how_},

static const Operation operations[] = {
#include "microbench/host/rows_operations.def"
};

static const Operation *operation_of(const MdCeiling *row) {
    size_t k = 0;
    while (strcmp(operations[k].variant, row->variant) != 0) k++;
    return &operations[k];
}

/* --- checks -------------------------------------------------------------------------------------------------------- */

/* x = x / 2 + sin(at), where `at` counts on: half of the error before, that of the sine, and a rounding of the sum, which is
 * below 2. */
static Value after_far(double start, int64_t n_steps) {
    Value v = {0, 0};
    for (int64_t k = 1; k <= n_steps; k++) {
        v.x = v.x / 2 + sin(131072 + 4096 * start + (double)k);
        v.error = v.error / 2 + 3 * unit;
    }
    return v;
}

/* An independent chain, by its first number. */
static Value follow(const CudaCeiling *c, const Operation *operation, double start, int64_t n_steps) {
    if (!operation->step) return after_far(start, n_steps);
    const bool whole = strncmp(operation->variant, "integer", 7) == 0 || strcmp(operation->variant, "popcount") == 0;
    Value v = {whole ? start + 1 : 1 + start / 32, 0};
    for (int64_t k = 0; k < n_steps; k++) operation->step(&v, c);
    if (whole) v.x = (double)((uint32_t)v.x & 0xffffff);
    return v;
}

static bool compare(CudaCeiling *c, int64_t n_steps, char *reason) {
    const Operation *operation = operation_of(c->of.row);
    const size_t bytes = (size_t)c->n_out * sizeof(float);
    float *host = md_alloc(bytes, 1, "a check");
    Value of_start[CUDA_CEILING_STARTS];
    for (int k = 0; k < CUDA_CEILING_STARTS && !operation->after; k++)
        of_start[k] = follow(c, operation, start_of(k), n_steps);
    CUDA_CHECK(cudaMemcpy(host, c->arguments.b, bytes, cudaMemcpyDefault));
    CUDA_CHECK(cudaMemset(c->arguments.b, 0xff, bytes));
    bool right = true;
    for (int64_t i = 0; i < c->n_out && right; i++) {
        Value expected = {0, 0};
        if (operation->after) expected.x = operation->after(i, operation->chains, n_steps);
        else expected = of_start[i % CUDA_CEILING_STARTS];
        right = fabs((double)host[i] - expected.x) <= expected.error; /* false for NaN */
        if (!right)
            snprintf(reason, MD_CEILING_REASON, "chain %lld after %lld steps is %.9g and should be %.9g, within %.2g",
                     (long long)i, (long long)n_steps, (double)host[i], expected.x, expected.error);
    }
    md_free(host);
    return right;
}

static bool check(CudaCeiling *c, char *reason) {
    const int chains = operation_of(c->of.row)->chains;
    if (!compare(c, c->n / chains, reason)) return false;
    CudaCeilingArguments few = c->arguments;
    few.n = FEW_STEPS * chains;
    CUDA_CHECK(cudaDeviceSynchronize()); /* the numbers have been spoiled by the default stream */
    cuda_ceiling_launch(c, &few, c->m->stream);
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    return compare(c, FEW_STEPS, reason);
}

bool cuda_ceiling_prepare_operations(CudaCeiling *c, char *reason) {
    const Operation *operation = operation_of(c->of.row);
    if (c->m->sm.compute_capability < operation->compute_capability) {
        snprintf(reason, MD_CEILING_REASON, "needs compute capability %d.%d", operation->compute_capability / 10,
                 operation->compute_capability % 10);
        return false;
    }
    if (!cuda_ceiling_load(c, "operations", operation->symbol, reason)) return false;
    cuda_ceiling_shape(c, cuda_ceiling_resident(c->m));
    c->run = cuda_ceiling_run_kernel;
    c->check = check;
    c->n_out = cuda_ceiling_resident(c->m) * operation->chains;
    c->arguments.a = c->m->d_source[0];
    c->arguments.n = c->n;
    c->arguments.parameter = c->of.row->parameter;
    c->arguments.b = cuda_ceiling_take(c, (size_t)c->n_out * sizeof *c->arguments.b, reason);
    return c->arguments.b != NULL;
}
