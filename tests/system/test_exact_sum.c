/* Exact sums: any order and any division of the terms, cancellation, the ends of the range, and what is no number. */
#include "base/exact_sum.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "deck/choices.h"
#include "system/random.h"

static double largest_of(const double *terms, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) largest = md_exact_larger(largest, terms[i]);
    return largest;
}

static MdExactSum sum_of(double largest, const double *terms, int64_t n) {
    MdExactSum sum = md_exact_begin(largest);
    for (int64_t i = 0; i < n; i++) md_exact_add(&sum, terms[i]);
    return sum;
}

static double value_of(const double *terms, int64_t n) {
    const MdExactSum sum = sum_of(largest_of(terms, n), terms, n);
    return md_exact_value(&sum);
}

static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

#define SUM(...)                                                                                                       \
    value_of((const double[]){__VA_ARGS__}, (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

static void test_values(void) {
    check_context("sums known by hand");
    CHECK(SUM(0) == 0 && SUM(-1.5) == -1.5 && SUM(0.1, 0.2) == 0.1 + 0.2);
    CHECK(SUM(1e16, 1, -1e16) == 1);                /* plain addition loses the 1 */
    CHECK(SUM(1, 0x1p-53, 0x1p-90) == 1 + 0x1p-52); /* just above half way: up */
    CHECK(SUM(1, 0x1p-53) == 1);                    /* half way: to the even one */
    CHECK(SUM(1, 0x1p-40 + 0x1p-92, -1) == 0x1p-40 + 0x1p-92);
    CHECK(SUM(-0x1.fffffffffffffp0, 0x1p-92, 0x1.fffffffffffffp0) == 0x1p-92);
    CHECK(SUM(1, 0x1p-95, -1) == 0); /* below the quantum */
    CHECK(md_exact_larger(-3, 2) == 3 && md_exact_larger(0, -0.0) == 0);
}

/* Sums of integers, which 64-bit integers know as well. */
static void test_integers(const double *random, int64_t n) {
    int64_t expected = 0;
    MdExactSum sum = md_exact_begin(0x1p38);
    for (int64_t i = 0; i < n; i++) {
        const int64_t term = (int64_t)((random[i] - 0.5) * 0x1p38);
        md_exact_add(&sum, (double)term);
        expected += term;
    }
    check_context("sums of %d integers", (int)n);
    CHECK(md_exact_value(&sum) == (double)expected);
    CHECK(expected != 0);
}

/* Terms of all magnitudes, forwards, backwards, in blocks of any size, and with all that they are made of taken away again. */
static void test_orders(const double *random, int64_t n, double scale) {
    double *terms = md_alloc((size_t)n, sizeof *terms, "terms");
    for (int64_t i = 0; i < n; i++) terms[i] = scale * ldexp(random[i] - 0.5, -(int)(i % 40));
    const double largest = largest_of(terms, n), forwards = value_of(terms, n);
    check_context("orders and divisions of %d terms, largest %g", (int)n, largest);
    CHECK(forwards != 0 && isfinite(forwards));
    MdExactSum backwards = md_exact_begin(largest);
    for (int64_t i = n; i-- > 0;) md_exact_add(&backwards, terms[i]);
    CHECK(same_bits(md_exact_value(&backwards), forwards));
    for (int64_t size = 1; size < n; size = 7 * size + 2) {
        MdExactSum merged = md_exact_begin(largest);
        for (int64_t i = 0; i < n; i += size) {
            const MdExactSum part = sum_of(largest, terms + i, n - i < size ? n - i : size);
            md_exact_merge(&merged, &part);
        }
        CHECK(same_bits(md_exact_value(&merged), forwards));
    }
    MdExactSum none = sum_of(largest, terms, n);
    for (int64_t i = n; i-- > 0;) md_exact_add(&none, -terms[i]);
    CHECK(md_exact_value(&none) == 0);
    md_free(terms);
}

/* 2^31 terms fit, though no test adds so many: one of them, merged with itself 31 times. */
static void test_room(double largest) {
    check_context("2^31 terms of %g", largest);
    MdExactSum sum = sum_of(largest, &largest, 1), all = sum;
    for (int k = 0; k < 31; k++) {
        const MdExactSum half = all;
        md_exact_merge(&all, &half);
    }
    CHECK(md_exact_value(&all) == largest * 0x1p31);
}

static void test_ends(void) {
    check_context("the ends of the range");
    CHECK(SUM(DBL_TRUE_MIN) == DBL_TRUE_MIN);
    CHECK(SUM(DBL_MIN, -DBL_TRUE_MIN, DBL_TRUE_MIN, DBL_TRUE_MIN) == DBL_MIN + DBL_TRUE_MIN);
    CHECK(SUM(0x1.8p1000, -0x1.8p1000, 0x1p960) == 0x1p960);
    CHECK(isnan(SUM(0x1p1001)));
    check_context("what is no number");
    CHECK(isnan(SUM(1, NAN, 2)) && isnan(SUM(NAN)) && isnan(SUM(-NAN, 1)));
    CHECK(isnan(SUM(1, INFINITY)) && isnan(SUM(-INFINITY, 1)) && isnan(SUM(INFINITY, -INFINITY)));
    const double outside[] = {4,        -5,        NAN,
                              INFINITY, -INFINITY, 0x1p1023}; /* above the power of two over 3: not announced */
    for (int k = 0; k < 6; k++) {
        MdExactSum sum = md_exact_begin(3), clean = sum;
        md_exact_add(&sum, outside[k]);
        md_exact_merge(&clean, &sum);
        CHECK(isnan(md_exact_value(&sum)) == (k > 0) && isnan(md_exact_value(&clean)) == (k > 0));
    }
}

int main(void) {
    enum { N = 100000 };
    double *random = md_alloc(N, sizeof *random, "test");
    MdErrors *errors = md_errors_create();
    MdRandom *generator = md_random_create(NULL, MD_GENERATOR_PHILOX, 17, 0, errors);
    md_random_uniform(generator, random, N);
    test_values();
    test_integers(random, N);
    test_orders(random, N, 1);
    test_orders(random, N, 1e300);
    test_orders(random, 1000, 1e-310);
    test_room(1);
    test_room(0x1.fffffffffffffp0);
    test_room(-0x1.fffffffffffffp-1000);
    test_ends();
    md_random_destroy(generator, NULL);
    md_errors_destroy(errors);
    md_free(random);
    return check_finish();
}
