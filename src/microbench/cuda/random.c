/* Random numbers by cuRAND: its generators on the host and on the device. (mt19937 is left out: it takes four seconds to
 * begin.) */
#include <curand.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "microbench/cuda/row.h"

static void random_check(curandStatus_t status, int line) {
    if (status != CURAND_STATUS_SUCCESS) md_panic_at(__FILE__, line, "cuRAND failed with status %d", (int)status);
}
#define RANDOM_CHECK(call) random_check((call), __LINE__)

static double run_generator(CudaCeiling *c, int64_t n_calls) {
    const curandGenerator_t generator = c->extra;
    float *to = c->arguments.b ? c->arguments.b : c->host[0];
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls; k++)
        if (cuda_row_has(c, "normal")) RANDOM_CHECK(curandGenerateNormal(generator, to, (size_t)c->n, 0, 1));
        else RANDOM_CHECK(curandGenerateUniform(generator, to, (size_t)c->n));
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    return md_clock_s() - start_s;
}

/* Mean and variance within six standard errors, of the uniform and of the normal distribution; uniform numbers in (0, 1]. */
static bool check_numbers(CudaCeiling *c, char *reason) {
    const bool normal = cuda_row_has(c, "normal");
    const double n = (double)c->n, mean = normal ? 0 : 0.5, variance = normal ? 1 : 1.0 / 12;
    const double mean_error = sqrt(variance / n), variance_error = normal ? sqrt(2 / n) : sqrt(1.0 / 180 / n);
    if (c->arguments.b)
        CUDA_CHECK(cudaMemcpy(c->host[0], c->arguments.b, (size_t)c->n * sizeof(float), cudaMemcpyDefault));
    double sum = 0, square = 0, low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < c->n; i++) {
        const double x = (double)c->host[0][i];
        sum += x - mean;
        square += (x - mean) * (x - mean);
        low = fmin(low, x);
        high = fmax(high, x);
    }
    memset(c->host[0], 0xff, (size_t)c->n * sizeof(float));
    const bool right = fabs(sum / n) < 6 * mean_error && fabs(square / n - variance) < 6 * variance_error &&
                       (normal || (low > 0 && high <= 1));
    if (!right)
        snprintf(reason, MD_CEILING_REASON, "mean %.6g, variance %.6g, from %.6g to %.6g", mean + sum / n, square / n,
                 low, high);
    return right;
}

static void release(CudaCeiling *c) {
    if (c->extra) RANDOM_CHECK(curandDestroyGenerator(c->extra));
    md_free(c->host[0]);
}

bool cuda_ceiling_prepare_random(CudaCeiling *c, char *reason) {
    const curandRngType_t type = cuda_row_has(c, "philox")   ? CURAND_RNG_PSEUDO_PHILOX4_32_10
                                 : cuda_row_has(c, "xorwow") ? CURAND_RNG_PSEUDO_XORWOW
                                                             : CURAND_RNG_PSEUDO_MRG32K3A;
    const bool device = cuda_row_has(c, "device");
    curandGenerator_t generator = NULL;
    curandStatus_t status =
        device ? curandCreateGenerator(&generator, type) : curandCreateGeneratorHost(&generator, type);
    if (status == CURAND_STATUS_SUCCESS) {
        c->extra = generator;
        status = curandSetPseudoRandomGeneratorSeed(generator, 1);
        if (status == CURAND_STATUS_SUCCESS && device) status = curandSetStream(generator, c->m->stream);
    }
    c->release = release;
    c->run = run_generator;
    c->check = check_numbers;
    c->host[0] = md_alloc((size_t)c->n, sizeof(float), "random numbers");
    if (status != CURAND_STATUS_SUCCESS) {
        snprintf(reason, MD_CEILING_REASON, "cuRAND makes no such generator here (status %d)", (int)status);
        return false;
    }
    return !device || (c->arguments.b = cuda_ceiling_take(c, (size_t)c->n * sizeof(float), reason)) != NULL;
}
