/* Random numbers: known answers of cuRAND, the fallback against cuRAND bit by bit, streams, any count at a time, skipping. */
#include "system/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/backends.h"
#include "base/memory.h"
#include "check.h"
#include "deck/choices.h"
#include "system/random_source.h"

enum { N = 7 * MD_RANDOM_CHUNK / 2 }; /* ends within the fourth chunk */

static const int generators[] = {MD_GENERATOR_PHILOX,
#ifdef MDMINI_HAVE_CUDA
                                 MD_GENERATOR_XORWOW, MD_GENERATOR_MRG32K3A, MD_GENERATOR_MT19937
#endif
};
enum { N_GENERATORS = sizeof generators / sizeof *generators };

static void draw_from(const MdRandomSource *source, int generator, uint64_t seed, int stream, bool normal, size_t n_all,
                      size_t at_a_time, double *values) {
    MdErrors *errors = md_errors_create();
    MdRandom *random = md_random_create(source, generator, seed, stream, errors);
    MdRandomCost cost = {0};
    CHECK(random != NULL);
    for (size_t n = 0; n < n_all; n += at_a_time) {
        size_t n_now = n_all - n < at_a_time ? n_all - n : at_a_time;
        if (normal) md_random_normal(random, values + n, n_now);
        else md_random_uniform(random, values + n, n_now);
    }
    md_random_destroy(random, &cost);
    CHECK(cost.n_numbers == (int64_t)n_all && cost.seconds > 0);
    md_errors_destroy(errors);
}

static void draw(int generator, uint64_t seed, int stream, bool normal, size_t at_a_time, double *values) {
    draw_from(md_backend_random(), generator, seed, stream, normal, N, at_a_time, values);
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
    const MdRandomSource *const sources[] = {NULL, md_backend_random()};
    const size_t n = 2 * (size_t)MD_RANDOM_CHUNK;
    double *values = md_alloc(n, sizeof *values, "test");
    for (int s = 0; s < 2; s++) {
        check_context("known answers of cuRAND, %s", sources[s] ? "its own" : "the fallback");
        draw_from(sources[s], MD_GENERATOR_PHILOX, seed, 0, false, n, n, values);
        for (int k = 0; k < 8; k++) CHECK(values[k] == uniform[k]);
        for (int k = 0; k < 4; k++) CHECK(values[MD_RANDOM_CHUNK + k] == uniform_later[k]);
        draw_from(sources[s], MD_GENERATOR_PHILOX, seed, 0, true, n, n, values);
        for (int k = 0; k < 8; k++) CHECK_NEAR(values[k], normal[k], relative * fabs(normal[k]));
        for (int k = 0; k < 4; k++)
            CHECK_NEAR(values[MD_RANDOM_CHUNK + k], normal_later[k], relative * fabs(normal_later[k]));
    }
    md_free(values);
}

/* The Philox of our own against the one that is built in, over several chunks: the same bits. */
static void test_fallback(uint64_t seed) {
    enum { N_CHUNKS = 4 };
    const size_t n = (size_t)N_CHUNKS * MD_RANDOM_CHUNK;
    double *own = md_alloc(n, sizeof *own, "test"), *theirs = md_alloc(n, sizeof *own, "test");
    for (int normal = 0; normal < 2; normal++) {
        check_context("fallback, seed %llu, %s", (unsigned long long)seed, normal ? "normal" : "uniform");
        draw_from(NULL, MD_GENERATOR_PHILOX, seed, 0, normal, n, n, own);
        draw_from(md_backend_random(), MD_GENERATOR_PHILOX, seed, 0, normal, n, n, theirs);
        CHECK(memcmp(own, theirs, n * sizeof *own) == 0);
    }
    md_free(own);
    md_free(theirs);
}

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

/* Numbers at these places, in ascending order, and none between; two skips in a row make each way. */
static void check_places(int generator, bool normal, const double *all, const size_t *places, int n_places) {
    enum { AT_A_PLACE = 3 };
    MdErrors *errors = md_errors_create();
    MdRandom *random = md_random_create(md_backend_random(), generator, 7, 0, errors);
    size_t at = 0;
    for (int k = 0; k < n_places; k++) {
        double values[AT_A_PLACE];
        md_random_skip(random, (places[k] - at) / 3);
        md_random_skip(random, places[k] - at - (places[k] - at) / 3);
        (normal ? md_random_normal : md_random_uniform)(random, values, AT_A_PLACE);
        check_context("number %d after a skip, generator %d, %s", (int)places[k], generator,
                      normal ? "normal" : "uniform");
        CHECK(memcmp(values, all + places[k], sizeof values) == 0);
        at = places[k] + AT_A_PLACE;
    }
    md_random_destroy(random, NULL);
    md_errors_destroy(errors);
}

/* Within a chunk, to its end and over it, over whole chunks; and before any number was drawn. */
static void test_skip(int generator, bool normal, const double *all) {
    enum { CHUNK = MD_RANDOM_CHUNK };
    check_places(generator, normal, all, (const size_t[]){1, 4, 1001, CHUNK - 3, CHUNK, 3 * CHUNK - 1, N - 3}, 7);
    if (slow(generator)) return;
    check_places(generator, normal, all, (const size_t[]){3 * CHUNK, 3 * CHUNK + 7}, 2);
    check_places(generator, normal, all, (const size_t[]){2 * CHUNK + 12345, 3 * CHUNK + 12345}, 2);
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
        test_skip(generator, normal, one);
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
    if (md_backend_random()) {
        test_fallback(1);
        test_fallback(UINT64_MAX - 12345);
    }
    test_missing_generators();
    for (int k = 0; k < N_GENERATORS; k++) test_generator(generators[k]);
    return check_finish();
}
