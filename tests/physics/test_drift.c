/* The drift of the conserved energy and its error: of walks at random the error is what it says, over many of them; of energies
 * that fluctuate and do not walk it is at least that. */
#include <math.h>

#include "check.h"
#include "deck/choices.h"
#include "report/history.h"
#include "system/random.h"

static double normal(MdRandom *random) {
    double value;
    md_random_normal(random, &value, 1);
    return value;
}

/* n rows, `every` steps apart: a slope, a walk and a fluctuation. */
static MdHistory made(MdRandom *random, int n, int every, double slope, double walk, double noise) {
    MdHistory history = {0};
    double walked = 0;
    for (int k = 0; k < n; k++) {
        const MdThermo row = {.step = 1000 + (int64_t)k * every,
                              .conserved = -4 + slope * k * every + walked + noise * normal(random)};
        md_history_add(&history, &row);
        for (int s = 0; s < every; s++) walked += walk * normal(random);
    }
    return history;
}

/* The root of the mean square of what slopes are off, in units of the error that each was given. */
static double errors_off(MdRandom *random, int n, int every, double walk, double noise) {
    enum { N_WALKS = 2000 };
    const double slope = 3e-6;
    double sum = 0;
    for (int k = 0; k < N_WALKS; k++) {
        MdHistory history = made(random, n, every, slope, walk, noise);
        const double off = (md_history_drift(&history) - slope) / md_history_drift_error(&history);
        sum += off * off / N_WALKS;
        md_history_free(&history);
    }
    return sqrt(sum);
}

int main(void) {
    MdErrors *errors = md_errors_create();
    MdRandom *random = md_random_create(NULL, MD_GENERATOR_PHILOX, 20240607, 0, errors);
    if (!CHECK(random != NULL)) return check_finish();
    check_context("walks");
    /* 19 increments less a slope know their variance to a sixth, which makes the mean square of Student's t 1.12 in place of
     * 1; that rows are fewer than steps is worth a few per cent. */
    CHECK_NEAR(errors_off(random, 400, 3, 1e-3, 0), 1.06, 0.06);
    CHECK_NEAR(errors_off(random, 413, 1, 1e-3, 0), 1.06, 0.06); /* not a multiple of the blocks */
    CHECK_NEAR(errors_off(random, 59, 1, 1e-3, 0), 1.06, 0.08);  /* the blocks leave out a third */
    CHECK_NEAR(errors_off(random, 400, 1, 1e-3, 2e-3), 1.04, 0.08);
    check_context("fluctuations");
    CHECK(errors_off(random, 400, 1, 0, 1e-3) < 0.6);
    check_context("a line");
    MdHistory line = made(random, 100, 10, 2e-9, 0, 0), few = made(random, 39, 1, 0, 1e-3, 0),
              one = made(random, 1, 1, 0, 0, 0);
    CHECK_NEAR(md_history_drift(&line), 2e-9, 1e-15);
    CHECK(md_history_drift_error(&line) < 1e-13);
    check_context("few rows");
    CHECK(isfinite(md_history_drift(&few)) && isnan(md_history_drift_error(&few)));
    CHECK(isnan(md_history_drift(&one)));
    md_random_destroy(random, NULL);
    md_errors_destroy(errors);
    md_history_free(&line);
    md_history_free(&few);
    md_history_free(&one);
    return check_finish();
}
