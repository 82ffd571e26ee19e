#include "microbench/cuda/results.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

/* --- expected elements --------------------------------------------------------------------------------------------- */

double cuda_ceiling_is_copy(const CudaCeiling *c, int64_t i) { return (void)c, cuda_ceiling_source(0, i); }
double cuda_ceiling_is_tripled(const CudaCeiling *c, int64_t i) { return (void)c, 3 * cuda_ceiling_source(0, i); }
double cuda_ceiling_is_three(const CudaCeiling *c, int64_t i) { return (void)c, (void)i, 3; }
double cuda_ceiling_is_triad(const CudaCeiling *c, int64_t i) {
    return (void)c, cuda_ceiling_source(0, i) + 3 * cuda_ceiling_source(1, i);
}
double cuda_ceiling_is_offset(const CudaCeiling *c, int64_t i) {
    return cuda_ceiling_source(0, i + c->of.row->parameter);
}
double cuda_ceiling_is_strided(const CudaCeiling *c, int64_t i) {
    return cuda_ceiling_source(0, i * c->of.row->parameter);
}
double cuda_ceiling_is_gathered(const CudaCeiling *c, int64_t i) { return cuda_ceiling_source(0, c->index[i]); }
double cuda_ceiling_is_broadcast(const CudaCeiling *c, int64_t i) { return (void)c, cuda_ceiling_source(0, i & ~31); }
double cuda_ceiling_is_reversed(const CudaCeiling *c, int64_t i) { return cuda_ceiling_source(0, c->n - 1 - i); }
double cuda_ceiling_is_reversed_by_block(const CudaCeiling *c, int64_t i) {
    const int64_t first = i - i % CUDA_CEILING_REVERSED, last = first + CUDA_CEILING_REVERSED - 1;
    return cuda_ceiling_source(0, first + (last < c->n ? last : c->n - 1) - i);
}

static int64_t transposed(const CudaCeiling *c, int64_t i) { return i % c->of.size * c->of.size + i / c->of.size; }
double cuda_ceiling_is_transpose(const CudaCeiling *c, int64_t i) { return cuda_ceiling_source(0, transposed(c, i)); }
/* A double is moved and not computed with: two elements of the source are its halves. */
double cuda_ceiling_is_transpose_of_doubles(const CudaCeiling *c, int64_t i) {
    return cuda_ceiling_source(0, 2 * transposed(c, i / 2) + i % 2);
}
double cuda_ceiling_is_path(const CudaCeiling *c, int64_t i) {
    const int64_t of_path = c->block[1] > 1 ? i / c->block[0] : i >> c->arguments.shift;
    const int64_t path = of_path % c->of.row->parameter;
    return cuda_ceiling_source(0, i) + CUDA_CEILING_PATH * (double)(path + 1);
}
/* Steps of seven, modulo 61, which is the period of the source, too. */
double cuda_ceiling_is_counted(const CudaCeiling *c, int64_t i) {
    return fmod(cuda_ceiling_source(0, i >> c->arguments.shift) + CUDA_CEILING_PATH * 7, 61);
}
double cuda_ceiling_is_raised(const CudaCeiling *c, int64_t i) {
    return cuda_ceiling_source(0, i) + (double)c->of.row->parameter;
}
double cuda_ceiling_is_wave(const CudaCeiling *c, int64_t i) { return (void)c, (void)i, CUDA_CEILING_WAVE_STEPS; }
double cuda_ceiling_is_steps(const CudaCeiling *c, int64_t i) { return (void)i, (double)c->n; }

/* The reads of a pass, side by side, by the index of the thread in its block. */
double cuda_ceiling_is_bank_sum(const CudaCeiling *c, int64_t i) {
    double sum = 0;
    const int64_t base = (i % 256 * c->of.row->parameter & 2047) ^ c->arguments.shift;
    for (int64_t k = 0; k < 32; k++) sum += (double)((base + k) % 7);
    return sum * (double)(c->n / 32);
}

double cuda_ceiling_is_table_sum(const CudaCeiling *c, int64_t i) {
    double sum = 0;
    const int64_t base = c->of.row->parameter ? i % CUDA_CEILING_TABLE * 67 : 0;
    const int64_t whole = c->n / CUDA_CEILING_TABLE, rest = c->n % CUDA_CEILING_TABLE;
    for (int64_t k = 0; k < (whole ? CUDA_CEILING_TABLE : rest); k++)
        sum += cuda_ceiling_source(0, (base + k) % CUDA_CEILING_TABLE) * (double)(whole + (k < rest));
    return sum;
}

double cuda_ceiling_is_own_sum(const CudaCeiling *c, int64_t i) {
    double sum = 0;
    for (int64_t k = 0; k < CUDA_CEILING_LOCAL; k++) sum += cuda_ceiling_source(0, k);
    return (void)i, sum * (double)(c->n / CUDA_CEILING_LOCAL);
}

/* --- checks -------------------------------------------------------------------------------------------------------- */

/* The sums of all threads, together the sum of the array, or of the part that was read again and again. */
bool cuda_ceiling_check_thread_sums(CudaCeiling *c, char *reason) {
    float *host = md_alloc((size_t)c->n_out, sizeof *host, "a check");
    const size_t bytes = (size_t)c->n_out * sizeof *host;
    CUDA_CHECK(cudaMemcpy(host, c->arguments.b, bytes, cudaMemcpyDefault));
    double sum = 0, expected = 0;
    for (int64_t i = 0; i < c->n_out; i++) sum += (double)host[i];
    const int64_t period = c->of.row->parameter > 0 ? c->of.row->parameter : c->n;
#pragma omp parallel for schedule(static) reduction(+ : expected)
    for (int64_t i = 0; i < c->n; i++) expected += cuda_ceiling_source(0, i % period);
    md_free(host);
    CUDA_CHECK(cudaMemset(c->arguments.b, 0xff, bytes));
    return cuda_ceiling_equal("the sum", sum, expected, reason);
}

static bool is_of_64_bits(const CudaCeiling *c) { return c->count == CUDA_COUNT_DOUBLE || c->count == CUDA_COUNT_64; }

size_t cuda_ceiling_count_bytes(const CudaCeiling *c) { return is_of_64_bits(c) ? 8 : 4; }

static double count_of(const CudaCeiling *c, const void *counts, int64_t i) {
    switch (c->count) {
    case CUDA_COUNT_FLOAT: return (double)((const float *)counts)[i];
    case CUDA_COUNT_DOUBLE: return ((const double *)counts)[i];
    case CUDA_COUNT_64: return (double)((const uint64_t *)counts)[i];
    default: return ((const unsigned *)counts)[i];
    }
}

/* The expected counts after so many calls; counters of 32 bits modulo 2^32. */
static bool check_counts_of(CudaCeiling *c, int64_t n_calls, char *reason) {
    const size_t bytes = (size_t)c->n_out * cuda_ceiling_count_bytes(c);
    void *counts = md_alloc(bytes, 1, "a check");
    uint64_t *expected = md_alloc((size_t)c->n_out, sizeof *expected, "a check");
    CUDA_CHECK(cudaMemcpy(counts, c->arguments.counts, bytes, cudaMemcpyDefault));
    CUDA_CHECK(cudaMemset(c->arguments.counts, 0, bytes));
    for (int64_t i = 0; i < c->n; i++) {
        uint64_t *to = &expected[((i / c->per) >> c->arguments.shift) & c->arguments.mask];
        const uint64_t amount = 1 + (uint64_t)(i & 3);
        if (c->count != CUDA_COUNT_MAX) *to += amount * (uint64_t)n_calls;
        else if (amount > *to) *to = amount;
    }
    const uint64_t most = is_of_64_bits(c) ? UINT64_MAX : UINT32_MAX;
    bool right = true;
    for (int64_t i = 0; i < c->n_out && right; i++)
        right = cuda_ceiling_equal("a count", count_of(c, counts, i), (double)(expected[i] & most), reason);
    md_free(counts);
    md_free(expected);
    return right;
}

bool cuda_ceiling_check_counts(CudaCeiling *c, char *reason) { return check_counts_of(c, c->n_calls, reason); }
bool cuda_ceiling_check_last_counts(CudaCeiling *c, char *reason) { return check_counts_of(c, 1, reason); }

/* A wrong product has B x = A (C x) by chance only (Freivalds 1977); all numbers are whole, so that both sides are exact. */
bool cuda_ceiling_check_product(CudaCeiling *c, char *reason) {
    const int64_t n = c->of.size;
    const size_t bytes = (size_t)(n * n) * sizeof(float);
    float *product = md_alloc(bytes, 1, "a check");
    double *y = md_alloc((size_t)n, sizeof *y, "a check");
    CUDA_CHECK(cudaMemcpy(product, c->arguments.b, bytes, cudaMemcpyDefault));
    CUDA_CHECK(cudaMemset(c->arguments.b, 0xff, bytes));
    bool right = true;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++) y[i] += cuda_ceiling_source(1, i * n + k) * (double)(k * 37 % 1021);
    for (int64_t i = 0; i < n && right; i++) {
        double left = 0, expected = 0;
        for (int64_t k = 0; k < n; k++) {
            left += (double)product[i * n + k] * (double)(k * 37 % 1021);
            expected += cuda_ceiling_source(0, i * n + k) * y[k];
        }
        right = cuda_ceiling_equal("an element of the product times x", left, expected, reason);
    }
    md_free(product);
    md_free(y);
    return right;
}

bool cuda_ceiling_check_zero(CudaCeiling *c, char *reason) {
    float *host = md_alloc((size_t)c->n, sizeof *host, "a check");
    const size_t bytes = (size_t)c->n * sizeof *host;
    bool right = true;
    CUDA_CHECK(cudaMemcpy(host, c->arguments.b, bytes, cudaMemcpyDefault));
    for (int64_t i = 0; i < c->n && right; i++) right = cuda_ceiling_equal("an element", (double)host[i], 0, reason);
    md_free(host);
    CUDA_CHECK(cudaMemset(c->arguments.b, 0xff, bytes));
    return right;
}
