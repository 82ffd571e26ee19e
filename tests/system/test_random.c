/* Random numbers: known answers of cuRAND, the fallback against cuRAND bit by bit, streams, any count at a time. */
#include "system/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/backends.h"
#include "base/memory.h"
#include "check.h"
#include "deck/choices.h"
#ifdef MDMINI_HAVE_CUDA
#include "cuda/device/random_curand.h"
#endif
#include "system/random_source.h"

enum { N = 3 * MD_RANDOM_CHUNK / 2 }; /* ends within the second chunk */

static const int generators[] = {MD_GENERATOR_PHILOX,
#ifdef MDMINI_HAVE_CUDA
                                 MD_GENERATOR_XORWOW, MD_GENERATOR_MRG32K3A, MD_GENERATOR_MT19937
#endif
};
enum { N_GENERATORS = sizeof generators / sizeof *generators };

static void draw(int generator, uint64_t seed, int stream, bool normal, size_t at_a_time, double *values) {
    MdErrors *errors = md_errors_create();
    MdRandom *random = md_random_create(md_backend_random(), generator, seed, stream, errors);
    CHECK(random != NULL);
    for (size_t n = 0; n < N; n += at_a_time) {
        size_t n_now = N - n < at_a_time ? N - n : at_a_time;
        if (normal) md_random_normal(random, values + n, n_now);
        else md_random_uniform(random, values + n, n_now);
    }
    md_random_destroy(random);
    md_errors_destroy(errors);
}

/* What curandGenerateUniformDouble and curandGenerateNormalDouble of cuRAND 10.4 put first for this seed, and from
 * number 262144 on, where the second round of its sequences begins. */
static void test_known_answers(void) {
    const uint64_t seed = 0x123456789abcdef;
    const double uniform[] = {0.77167830092463929, 0.47859188081656973,  0.32125907654757385, 0.69766003382449493,
                              0.42212698607179872, 0.021743582749169599, 0.55710787977854004, 0.19250009686782182};
    const double normal[] = {0.096553940474434108, -0.7134790715091881, -1.4262300083547641, -0.48670601180062839,
                             0.17887138376069187,  1.3011161434596121,  1.011834525680728,   0.38233970260843114};
    const double uniform_later[] = {0.50874024593331413, 0.10375814360951946, 0.49900136969861647, 0.99248542992362143};
    const double normal_later[] = {0.70537532085901933, 0.92416507549603644, -0.055651359999261824, 1.1777927673512814};
    const double relative = 1e-15; /* the last bit of logarithm and sine may differ between mathematics libraries */
    double *values = md_alloc(MD_RANDOM_CHUNK, sizeof *values, "test");
    check_context("known answers of cuRAND");
    md_philox_fill(seed, 0, false, values);
    for (int k = 0; k < 8; k++) CHECK(values[k] == uniform[k]);
    md_philox_fill(seed, 1, false, values);
    for (int k = 0; k < 4; k++) CHECK(values[k] == uniform_later[k]);
    md_philox_fill(seed, 0, true, values);
    for (int k = 0; k < 8; k++) CHECK_NEAR(values[k], normal[k], relative * fabs(normal[k]));
    md_philox_fill(seed, 1, true, values);
    for (int k = 0; k < 4; k++) CHECK_NEAR(values[k], normal_later[k], relative * fabs(normal_later[k]));
    md_free(values);
}

#ifdef MDMINI_HAVE_CUDA
/* Number for number over several chunks: raw equality for uniform numbers, a few units in the last place for normal
 * ones, whose logarithm and sine are those of the mathematics library. */
static void test_fallback(uint64_t seed) {
    double *own = md_alloc(MD_RANDOM_CHUNK, sizeof *own, "test"),
           *theirs = md_alloc(MD_RANDOM_CHUNK, sizeof *own, "test");
    for (int normal = 0; normal < 2; normal++) {
        MdCurand *curand = md_curand_create(MD_GENERATOR_PHILOX, seed, false);
        for (uint64_t chunk = 0; chunk < 4; chunk++) {
            check_context("fallback, seed %llu, chunk %d, %s", (unsigned long long)seed, (int)chunk,
                          normal ? "normal" : "uniform");
            md_curand_fill(curand, normal, theirs);
            md_philox_fill(seed, chunk, normal, own);
            double worst = 0; /* in units of the last place */
            for (int k = 0; k < MD_RANDOM_CHUNK; k++)
                worst = fmax(worst, fabs(own[k] - theirs[k]) / (fabs(theirs[k]) * 0x1p-52));
            CHECK_NEAR(worst, 0, normal ? 4 : 0);
        }
        md_curand_destroy(curand);
    }
    md_free(own);
    md_free(theirs);
}
#endif

/* Setting up mt19937 takes cuRAND's host generator seconds, as its states are made one after another: three of one kind
 * are enough, two seeds and one of them again. Numbers of a stream come by the same lines of every generator. */
static bool slow(int generator) { return generator == MD_GENERATOR_MT19937; }

static void test_any_count(int generator, bool normal, const double *all) {
    double *parts = md_alloc(N, sizeof *all, "test");
    check_context("any count at a time, generator %d, %s", generator, normal ? "normal" : "uniform");
    draw(generator, 7, 0, normal, 1001, parts);
    CHECK(memcmp(all, parts, N * sizeof *all) == 0);
    double sum = 0, sum_sq = 0, least = all[0], largest = all[0];
    for (int k = 0; k < N; k++) {
        sum += all[k];
        sum_sq += all[k] * all[k];
        least = fmin(least, all[k]);
        largest = fmax(largest, all[k]);
    }
    double mean = normal ? 0 : 0.5, variance = normal ? 1 : 1.0 / 12;
    CHECK_NEAR(sum / N, mean, 5 * sqrt(variance / N));
    CHECK_NEAR(sum_sq / N - mean * mean, variance, 5 * sqrt((normal ? 2 : 1.0 / 12) / N));
    if (!normal) CHECK(least > 0 && largest <= 1);
    /* The chunks are not the same numbers again. */
    CHECK(memcmp(all, all + MD_RANDOM_CHUNK, 100 * sizeof *all) != 0);
    md_free(parts);
}

/* Correlation of two sequences that should have none; 5 standard deviations. */
static void check_unrelated(const double *a, const double *b, bool normal) {
    double product = 0, mean = normal ? 0 : 0.5, variance = normal ? 1 : 1.0 / 12;
    for (int k = 0; k < N; k++) product += (a[k] - mean) * (b[k] - mean);
    CHECK_NEAR(product / N / variance, 0, 5 / sqrt((double)N));
}

static void test_streams(int generator, bool normal, const double *one) {
    double *other = md_alloc(N, sizeof *one, "test");
    struct {
        uint64_t seed;
        int stream;
    } others[] = {{7 + ((uint64_t)1 << 32), 0}, {7, 1}, {7, 2}, {8, 0}, {7 + ((uint64_t)1 << 52), 0}};
    size_t n_others = slow(generator) ? 1 : sizeof others / sizeof *others;
    for (size_t k = 0; k < n_others; k++) {
        check_context("generator %d, seed %llu, stream %d against seed 7, stream 0", generator,
                      (unsigned long long)others[k].seed, others[k].stream);
        draw(generator, others[k].seed, others[k].stream, normal, N, other);
        check_unrelated(one, other, normal);
    }
    md_free(other);
}

static void test_generator(int generator) {
    double *one = md_alloc(N, sizeof *one, "test");
    for (int normal = slow(generator); normal < 2; normal++) {
        draw(generator, 7, 0, normal, N, one);
        test_any_count(generator, normal, one);
        if (slow(generator) || !normal) test_streams(generator, normal, one);
    }
    md_free(one);
}

static void test_missing_generators(void) {
    const int missing[] = {MD_GENERATOR_XORWOW, MD_GENERATOR_MRG32K3A, MD_GENERATOR_MT19937};
    for (int k = 0; k < 3; k++) {
        MdErrors *errors = md_errors_create();
        check_context("generator %d without a toolkit", missing[k]);
        CHECK(md_random_create(NULL, missing[k], 1, 0, errors) == NULL);
        CHECK(md_errors_count(errors) == 1 && strstr(md_errors_text(errors, 0), "philox"));
        CHECK(md_errors_status(errors) == MD_ERROR_INPUT);
        md_errors_destroy(errors);
    }
}

int main(void) {
    test_known_answers();
#ifdef MDMINI_HAVE_CUDA
    test_fallback(1);
    test_fallback(UINT64_MAX - 12345);
#endif
    test_missing_generators();
    for (int k = 0; k < N_GENERATORS; k++) test_generator(generators[k]);
    return check_finish();
}
