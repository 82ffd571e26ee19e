/* Stochastic velocity rescaling (Bussi, Donadio, Parrinello, J. Chem. Phys. 126, 014101 (2007)): without the motion it changes the
 * kinetic energy K of N degrees of freedom by
 *   dK = (target - K) dt / tau + 2 sqrt(K target / N) dW / sqrt(tau),
 * whose stationary distribution is the canonical one. That is the equation of the sum of N squared numbers, each with
 * friction and noise, so that it is solved exactly for any time (A7 there): with c = exp(-t / tau), normal numbers R and
 * width^2 = (1 - c) target / N
 *   K' = (sqrt(c K) + width R_1)^2 + width^2 (R_2^2 + ... + R_N^2).
 * The factor has the sign of the bracket (A8): it is rarely negative, except with few atoms or a short relaxation time. */
#include <math.h>

#include "physics/bath.h"
#include "physics/noise.h"

/* Counter of the draws of one step. */
typedef struct Draws {
    uint64_t key, step;
    uint32_t n;
} Draws;

static void draw_uniform(Draws *draws, double pair[2]) {
    uint32_t words[4];
    md_noise_words(draws->key, draws->step, draws->n++, MD_NOISE_BATH, words);
    pair[0] = md_philox_uniform(words[0], words[1]);
    pair[1] = md_philox_uniform(words[2], words[3]);
}

static void draw_normal(Draws *draws, double pair[2]) {
    draw_uniform(draws, pair);
    md_normal_pair(pair);
}

/* Sum of the squares of n normal numbers: twice a gamma variate of shape n/2, by rejection of less than a twentieth (Marsaglia,
 * Tsang, ACM Trans. Math. Softw. 26, 363 (2000)), which needs a shape of 1 or more. */
static double draw_squares(Draws *draws, double n) {
    const double d = n / 2 - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double normal[2], uniform[2];
        draw_normal(draws, normal);
        if (n < 2) return normal[0] * normal[0];
        draw_uniform(draws, uniform);
        const double x = normal[0], root = 1 + c * x, v = root * root * root;
        if (v > 0 && log(uniform[0]) < x * x / 2 + d - d * v + d * log(v)) return 2 * d * v;
    }
}

MdBathChange md_bath_csvr(const MdBathCall *call) {
    Draws draws = {.key = call->key, .step = call->step};
    const double width_sq = -expm1(-call->elapsed) * call->target / call->degrees;
    double normal[2];
    draw_normal(&draws, normal);
    const double along = sqrt(exp(-call->elapsed) * call->kinetic) + sqrt(width_sq) * normal[0];
    const double kinetic = along * along + width_sq * draw_squares(&draws, call->degrees - 1);
    return (MdBathChange){.kinetic = kinetic, .factor = copysign(sqrt(kinetic / call->kinetic), along)};
}
