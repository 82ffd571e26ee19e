/* Averages over the second half of the thermo table. Series of which the error of the mean is known: an autoregressive one,
 * x' = a x + noise, is correlated as a^k, and its mean has sqrt((1 + a) / (1 - a)) times the error of independent rows. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "deck/choices.h"
#include "report/averages.h"
#include "system/random.h"

static const double centre = 0.75;

static double normal(MdRandom *random) {
    double value;
    md_random_normal(random, &value, 1);
    return value;
}

static void add(MdHistory *history, int64_t step, double value) {
    const MdThermo row = {.step = step, .temperature = value, .potential = -10 * value, .pressure = NAN};
    md_history_add(history, &row);
}

/* n rows of the second half, of variance 1, behind others that have nothing to do with them. */
static MdHistory series(MdRandom *random, int n, double a) {
    MdHistory history = {0};
    double x = normal(random);
    for (int k = 0; k < n - 1; k++) add(&history, 10 * k, 1000);
    for (int k = n - 1; k < 2 * n - 1; k++) {
        add(&history, 10 * k, centre + x);
        x = a * x + sqrt(1 - a * a) * normal(random);
    }
    return history;
}

typedef struct Found {
    double error;   /* root of the mean square, over the right one */
    double off;     /* of the mean, in units of the error that was given: the same */
    double refused; /* share */
} Found;

/* Of many such series. */
static Found try(MdRandom *random, int n, double a) {
    enum { N_SERIES = 1000 };
    double right = 1; /* variance of the mean, times n */
    for (int k = 1; k < n; k++) right += 2 * (1 - (double)k / n) * pow(a, k);
    Found found = {0, 0, 0};
    for (int k = 0; k < N_SERIES; k++) {
        MdHistory history = series(random, n, a);
        const MdAverages averages = md_averages(&history, 3, false);
        const MdAverage *average = &averages.of[0];
        CHECK(averages.n_rows == n && averages.from_step == 10 * (n - 1) && averages.to_step == 10 * (2 * n - 2));
        CHECK(isnan(average->error) == (average->why != NULL));
        CHECK_NEAR(averages.of[1].mean, -10 * average->mean, 1e-9);
        if (average->why) found.refused += 1.0 / N_SERIES;
        else {
            CHECK_NEAR(averages.of[1].error, 10 * average->error, 1e-9);
            const double off = (average->mean - centre) / average->error;
            found.error += average->error * average->error * n / right;
            found.off += off * off;
        }
        md_history_free(&history);
    }
    const double n_given = (1 - found.refused) * N_SERIES;
    found.error = sqrt(found.error / n_given);
    found.off = sqrt(found.off / n_given);
    return found;
}

static MdAverages of_steps(int n, int64_t every, double (*value)(int k)) {
    MdHistory history = {0};
    for (int k = 0; k < n; k++) add(&history, every * k, value(k));
    const MdAverages found = md_averages(&history, 3, false);
    md_history_free(&history);
    return found;
}

static double constant(int k) { return 0 * k + centre; }
static double line(int k) { return 1e-3 * k; }
static double zigzag(int k) { return k % 2 ? 1 : -1; }

int main(void) {
    MdErrors *errors = md_errors_create();
    MdRandom *random = md_random_create(NULL, MD_GENERATOR_PHILOX, 20261130, 0, errors);
    if (!CHECK(random != NULL)) return check_finish();
    /* Student's t with 9 degrees of freedom has the mean square 9/7. */
    const double student = sqrt(9.0 / 7);
    const struct {
        int n;
        double a;
    } known[] = {{20, 0}, {39, 0}, {500, 0}, {500, 0.5}, {1000, 0.9}, {5000, 0.98}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        check_context("%d rows, correlation %g", known[k].n, known[k].a);
        const Found found = try(random, known[k].n, known[k].a);
        CHECK_NEAR(found.error, 1, 0.08); /* from independent rows: 0.58, 0.23, 0.10 for the last three */
        CHECK_NEAR(found.off, student, 0.12);
        CHECK(found.refused < 0.08);
    }
    check_context("rows that are correlated for longer than a block");
    CHECK(try(random, 100, 0.95).refused > 0.85);
    CHECK(try(random, 50, 0.99).refused > 0.9);
    check_context("what is no fluctuation");
    CHECK(of_steps(100, 10, constant).of[0].error == 0);
    CHECK(of_steps(100, 10, line).of[0].why && isnan(of_steps(100, 10, line).of[0].error));
    CHECK_NEAR(of_steps(100, 10, line).of[0].mean, 0.0745, 1e-12); /* rows 50 to 99 */
    CHECK(of_steps(100, 10, zigzag).of[0].error < 0.1);
    check_context("few rows");
    CHECK(of_steps(39, 10, zigzag).of[0].why == NULL); /* rows 19 to 38 */
    const MdAverages few = of_steps(38, 10, zigzag), one = of_steps(1, 10, constant), none = of_steps(0, 10, constant);
    CHECK(few.n_rows == 19 && isfinite(few.of[0].mean) && strstr(few.of[0].why, "too few rows (20"));
    CHECK(one.n_rows == 1 && one.of[0].mean == centre && strstr(one.of[0].why, "too few rows"));
    CHECK(none.n_rows == 0);
    check_context("an open box");
    CHECK(isnan(one.of[2].mean) && isnan(one.of[2].error) && strstr(one.of[2].why, "open box"));
    check_context("another interval from step 1000 on: half is half of the steps");
    MdHistory history = {0};
    for (int k = 0; k < 1000; k++) add(&history, k, 9);
    for (int k = 10; k <= 40; k++) add(&history, 100 * k, k % 2 ? 1 : 2);
    const MdAverages later = md_averages(&history, 3, false);
    CHECK(later.n_rows == 21 && later.from_step == 2000 && later.to_step == 4000);
    CHECK_NEAR(later.of[0].mean, 32.0 / 21, 1e-12);
    md_history_free(&history);
    md_random_destroy(random, NULL);
    md_errors_destroy(errors);
    return check_finish();
}
