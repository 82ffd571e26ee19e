/* The drift of the conserved energy and its error: of walks at random the error is what it says, over many of them; of energies
 * that fluctuate and do not walk it is at least that. */
#include <math.h>
#include <stdint.h>

#include "check.h"
#include "report/history.h"

/* Knuth's linear congruential numbers, the upper bits. */
static double uniform(uint64_t *state) {
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* Of variance 1: twelve uniform ones less their mean. */
static double gaussian(uint64_t *state) {
    double sum = -6;
    for (int k = 0; k < 12; k++) sum += uniform(state);
    return sum;
}

/* n rows, `every` steps apart: a slope, a walk and a fluctuation. */
static MdHistory made(uint64_t *state, int n, int every, double slope, double walk, double noise) {
    MdHistory history = {0};
    double walked = 0;
    for (int k = 0; k < n; k++) {
        const MdThermo row = {.step = 1000 + (int64_t)k * every,
                              .conserved = -4 + slope * k * every + walked + noise * gaussian(state)};
        md_history_add(&history, &row);
        for (int s = 0; s < every; s++) walked += walk * gaussian(state);
    }
    return history;
}

/* The root of the mean square of what slopes are off, in units of the error that each was given. */
static double errors_off(int n, int every, double walk, double noise) {
    enum { N_WALKS = 2000 };
    const double slope = 3e-6;
    uint64_t state = 20240607;
    double sum = 0;
    for (int k = 0; k < N_WALKS; k++) {
        MdHistory history = made(&state, n, every, slope, walk, noise);
        const double off = (md_history_drift(&history) - slope) / md_history_drift_error(&history);
        sum += off * off / N_WALKS;
        md_history_free(&history);
    }
    return sqrt(sum);
}

int main(void) {
    check_context("walks");
    /* 19 increments less a slope know their variance to a sixth, which makes the mean square of Student's t 1.12 in place of
     * 1; that rows are fewer than steps is worth a few per cent. */
    CHECK_NEAR(errors_off(400, 3, 1e-3, 0), 1.06, 0.06);
    CHECK_NEAR(errors_off(413, 1, 1e-3, 0), 1.06, 0.06); /* not a multiple of the blocks */
    CHECK_NEAR(errors_off(59, 1, 1e-3, 0), 1.06, 0.08);  /* the blocks leave out a third */
    CHECK_NEAR(errors_off(400, 1, 1e-3, 2e-3), 1.04, 0.08);
    check_context("fluctuations");
    CHECK(errors_off(400, 1, 0, 1e-3) < 0.6);
    check_context("a line");
    uint64_t state = 1;
    MdHistory line = made(&state, 100, 10, 2e-9, 0, 0), few = made(&state, 39, 1, 0, 1e-3, 0),
              one = made(&state, 1, 1, 0, 0, 0);
    CHECK_NEAR(md_history_drift(&line), 2e-9, 1e-15);
    CHECK(md_history_drift_error(&line) < 1e-13);
    check_context("few rows");
    CHECK(isfinite(md_history_drift(&few)) && isnan(md_history_drift_error(&few)));
    CHECK(isnan(md_history_drift(&one)));
    md_history_free(&line);
    md_history_free(&few);
    md_history_free(&one);
    return check_finish();
}
