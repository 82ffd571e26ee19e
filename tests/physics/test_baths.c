/* Thermostats on the velocities of a small gas that nothing else changes, whose degrees of freedom can be told from others. Those of
 * csvr and langevin have the mean, the variance and the correlation in time of the canonical ensemble; a wrong count of degrees of
 * freedom and a wrong relaxation time show. Random numbers follow from seed, id and step alone; heat is the energy that came. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "integrate/thermostat.h"

enum { N_ATOMS = 8, N_STEPS = 400000, N_EVERY = 4 };
static const double temperature = 1.3, timestep = 0.005, relaxation = 0.1;
static const double masses[N_ATOMS] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1, 4}; /* 8 in all */

/* Stands for a backend. */
typedef struct Gas {
    double v[N_ATOMS][3];
} Gas;

static MdStatus gas_sum(void *context, MdSums *sums) {
    const Gas *gas = context;
    *sums = (MdSums){0};
    for (int i = 0; i < N_ATOMS; i++)
        for (int a = 0; a < 3; a++) {
            sums->kinetic += masses[i] * gas->v[i][a] * gas->v[i][a] / 2;
            sums->momentum[a] += masses[i] * gas->v[i][a];
        }
    return MD_OK;
}

static MdStatus gas_scale(void *context, double factor, const double shift[3]) {
    Gas *gas = context;
    for (int i = 0; i < N_ATOMS; i++)
        for (int a = 0; a < 3; a++) gas->v[i][a] = factor * gas->v[i][a] + shift[a];
    return MD_OK;
}

static MdStatus gas_collide(void *context, const MdCollisions *collisions) {
    Gas *gas = context;
    for (int i = 0; i < N_ATOMS; i++) md_noise_collide(collisions, (uint32_t)i, 1 / masses[i], gas->v[i]);
    return MD_OK;
}

static double kinetic_of(Gas *gas) {
    MdSums sums;
    gas_sum(gas, &sums);
    return sums.kinetic;
}

/* With a kinetic energy without that of the momentum, which is along x. */
static Gas make_gas(double kinetic, double momentum) {
    Gas gas;
    for (int i = 0; i < N_ATOMS; i++)
        for (int a = 0; a < 3; a++) gas.v[i][a] = (i % 2 ? -1 : 1) * (1.0 + a) / masses[i];
    MdSums sums;
    gas_sum(&gas, &sums);
    const double shift[3] = {-sums.momentum[0] / 8, -sums.momentum[1] / 8, -sums.momentum[2] / 8};
    gas_scale(&gas, 1, shift);
    gas_scale(&gas, sqrt(kinetic / kinetic_of(&gas)), (double[3]){momentum / 8, 0, 0});
    return gas;
}

static const MdBackendOps ops = {.sum = gas_sum, .scale_velocities = gas_scale, .collide = gas_collide};

static MdThermostat make(int choice, int64_t seed) {
    const MdConfig config = {.ensemble_thermostat = choice,
                             .ensemble_target = {.n = 1, .values = {temperature}},
                             .ensemble_every = N_EVERY,
                             .ensemble_last_step = MD_AUTO_INT,
                             .ensemble_relaxation = relaxation,
                             .run_steps = (int64_t)N_STEPS * N_EVERY,
                             .run_timestep = timestep,
                             .run_precision = MD_PRECISION_DOUBLE,
                             .system_seed = seed};
    const MdSystemPlan plan = {.n_atoms = N_ATOMS, .box = {.dimension = 3}};
    MdThermostat thermostat = md_thermostat_make(&config, &plan);
    thermostat.mass = 8;
    return thermostat;
}

/* What is found, in units of what the canonical ensemble has. */
typedef struct Found {
    double mean, variance, time; /* of the kinetic energy; in which its correlation falls to 1/e */
} Found;

static Found observe(MdThermostat *thermostat) {
    const double degrees = 3 * (N_ATOMS - 1), right = degrees * temperature / 2;
    Gas gas = make_gas(right, 0);
    double sum = 0, square = 0, product = 0, last = 0;
    for (int k = 1; k <= N_STEPS; k++) {
        md_thermostat_apply(thermostat, &ops, &gas, (int64_t)k * N_EVERY);
        const double off = kinetic_of(&gas) - right;
        sum += off, square += off * off, product += off * last;
        last = off;
    }
    const double mean = sum / N_STEPS, variance = square / N_STEPS - mean * mean;
    return (Found){.mean = 1 + mean / right,
                   .variance = variance / (degrees * temperature * temperature / 2),
                   .time = -N_EVERY * timestep / log((product / N_STEPS - mean * mean) / variance) / relaxation};
}

/* The errors: a variance of 2 / 21 of the mean squared, with 10 steps of correlation (1 + c) / (1 - c) in 400,000, is 0.15 % of the
 * mean; of the variance 0.6 %, of the time 1 %. Five times as much is allowed. */
static bool is_canonical(const Found *found) {
    return fabs(found->mean - 1) < 0.008 && fabs(found->variance - 1) < 0.03 && fabs(found->time - 1) < 0.05;
}

static void test_canonical(int choice, const char *word) {
    static const double degrees_of[] = {1, 24.0 / 21, 1, 1, 22.0 / 21, 20.0 / 21}, elapsed_of[] = {1, 1, 2, 0.5, 1, 1};
    static const char *const names[] = {"as it is", "3 N degrees of freedom", "half of the relaxation time", "twice the relaxation time", "one degree more",
                                        "one degree less"};
    for (int k = 0; k < 6; k++) {
        MdThermostat thermostat = make(choice, 1 + k);
        CHECK(thermostat.degrees == 21);
        if (thermostat.by_atom && degrees_of[k] != 1) continue; /* it does not ask for them */
        thermostat.degrees *= degrees_of[k];
        thermostat.elapsed *= elapsed_of[k];
        const Found found = observe(&thermostat);
        check_context("%s, %s: mean %.4f, variance %.4f, time %.4f of what is right", word, names[k], found.mean, found.variance, found.time);
        CHECK(is_canonical(&found) == (k == 0));
    }
}

static void test_rescale(void) { /* the mean, and no variance */
    MdThermostat thermostat = make(MD_THERMOSTAT_RESCALE, 1);
    const Found found = observe(&thermostat);
    check_context("rescale: mean %.4f, variance %.4f", found.mean, found.variance);
    CHECK(fabs(found.mean - 1) < 1e-12 && fabs(found.variance) < 1e-12);
}

/* The sum of the squares in its full shape: skewness and excess of a chi-squared distribution, for few degrees of freedom and many, where
 * each step draws anew. */
static void test_shape(void) {
    static const double all[] = {2, 3, 4, 21, 3e6};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        const double n = all[k];
        MdBathCall call = {.kinetic = n / 2, .target = n / 2, .degrees = n, .elapsed = 1e300, .key = 5};
        double moment[5] = {0}, n_reversed = 0;
        for (call.step = 1; call.step <= N_STEPS; call.step++) {
            const MdBathChange change = md_bath_csvr(&call);
            const double z = (change.kinetic - n / 2) / sqrt(n / 2);
            for (int m = 1; m < 5; m++) moment[m] += pow(z, m) / N_STEPS;
            n_reversed += change.factor < 0;
            if (!(fabs(change.factor * change.factor * call.kinetic / change.kinetic - 1) < 1e-14)) CHECK(false);
        }
        check_context("%g degrees of freedom", n);
        CHECK_NEAR(moment[1], 0, 5 / sqrt(N_STEPS));
        CHECK_NEAR(moment[2], 1, 5 * sqrt((2 + 12 / n) / N_STEPS));
        CHECK_NEAR(moment[3], sqrt(8 / n), 0.03 + 0.3 / n);
        CHECK_NEAR(moment[4], 3 + 12 / n, 0.15 + 2.5 / n);
        CHECK_NEAR(n_reversed / N_STEPS, 0.5, 5 * 0.5 / sqrt(N_STEPS)); /* nothing is left of the velocities before */
    }
}

/* Logarithm and sine beside those of the C library, and the moments of the normal numbers. */
static void test_noise(void) {
    double moment[5] = {0}, product = 0, sine, cosine;
    uint32_t word = 12345, words[4];
    check_context("noise");
    for (int k = 0; k < N_STEPS; k++) {
        word = word * 1664525u + 1013904223u;
        const double x = k < 33 ? ldexp(1, -k) : ((double)word + 0.5) * 0x1p-32, angle = 6.283185307179586 * (word * 0x1p-32);
        if (!(fabs(md_noise_log(x) - log(x)) <= 3e-16 * fabs(log(x)))) CHECK(false);
        md_noise_sine(word, &sine, &cosine);
        if (!(fabs(sine - sin(angle)) < 2e-15 && fabs(cosine - cos(angle)) < 2e-15)) CHECK(false);
        double normal[4];
        md_noise_words(3, (uint64_t)k, 17, MD_NOISE_NORMAL, words);
        md_noise_normal_pair(words, normal);
        md_noise_normal_pair(words + 2, normal + 2);
        for (int n = 0; n < 4; n++)
            for (int m = 1; m < 5; m++) moment[m] += pow(normal[n], m) / (4.0 * N_STEPS);
        product += (normal[0] * normal[1] + normal[2] * normal[3] + normal[0] * normal[2]) / N_STEPS;
    }
    const double error = 1 / sqrt(4.0 * N_STEPS);
    CHECK_NEAR(moment[1], 0, 5 * error);
    CHECK_NEAR(moment[2], 1, 5 * sqrt(2) * error);
    CHECK_NEAR(moment[3], 0, 5 * sqrt(15) * error);
    CHECK_NEAR(moment[4], 3, 5 * sqrt(96) * error);
    CHECK_NEAR(product, 0, 5 * sqrt(3.0 / N_STEPS));
}

/* Atom by atom: kT / m in each direction also of unlike masses, no correlation between atoms or with the next step beyond that of the
 * friction, in 2-D nothing along z. */
static void test_collisions(void) {
    MdCollisions c = {.share = 1, .keep = 0.6, .spread = 0.8 * sqrt(temperature), .key = 9, .dimension = 2};
    double v[2][3] = {{0, 0, 0.25}, {0, 0, 0.25}}, square[2] = {0}, across = 0, ahead = 0;
    check_context("collisions");
    for (c.step = 1; c.step <= N_STEPS; c.step++) {
        const double before = v[0][0];
        for (uint32_t i = 0; i < 2; i++) {
            md_noise_collide(&c, 5 + i, i == 0 ? 1 : 0.25, v[i]);
            square[i] += (v[i][0] * v[i][0] + v[i][1] * v[i][1]) / (2.0 * N_STEPS);
        }
        across += v[0][0] * v[1][0] / N_STEPS;
        ahead += v[0][0] * before / N_STEPS;
    }
    CHECK_NEAR(square[0], temperature, 0.01 * temperature);
    CHECK_NEAR(square[1], temperature / 4, 0.01 * temperature / 4);
    CHECK_NEAR(across, 0, 0.01 * temperature);
    CHECK_NEAR(ahead, 0.6 * temperature, 0.01 * temperature);
    CHECK(v[0][2] == 0.25 && v[1][2] == 0.25);
}

/* Andersen's thermostat: the share of atoms that collide, each direction of which is drawn anew. The others keep their velocities, to
 * the bit. */
static void test_few_collide(void) {
    const MdCollisions start = {.share = 0.1, .spread = sqrt(temperature), .key = 9, .dimension = 3};
    MdCollisions c = start;
    double n = 0, square = 0;
    check_context("a tenth collides");
    for (c.step = 1; c.step <= N_STEPS; c.step++) {
        double v[3] = {1, 2, 3};
        md_noise_collide(&c, 7, 1, v);
        const bool has = v[0] != 1;
        CHECK(has == (v[1] != 2) && has == (v[2] != 3));
        n += has;
        square += has ? v[0] * v[0] + v[1] * v[1] + v[2] * v[2] : 0;
    }
    CHECK_NEAR(n / N_STEPS, 0.1, 5 * sqrt(0.09 / N_STEPS));
    CHECK_NEAR(square / (3 * n), temperature, 0.03 * temperature);
}

/* The same from any step on, and others for another seed; next steps draw numbers of their own. */
static void test_numbers(int choice) {
    MdThermostat thermostat = make(choice, 7), late = make(choice, 7), other = make(choice, 8);
    Gas gas = make_gas(20, 0), gas_late = gas, gas_other = gas;
    double before[] = {0, 0};
    check_context("numbers");
    for (int k = 1; k <= 200; k++) {
        if (k == 77) gas_late = gas, late.heat = thermostat.heat;
        md_thermostat_apply(&thermostat, &ops, &gas, k * N_EVERY);
        if (k >= 77) md_thermostat_apply(&late, &ops, &gas_late, k * N_EVERY);
        const double ratio = kinetic_of(&gas) / before[0];
        CHECK(ratio != before[1]);
        before[0] = kinetic_of(&gas), before[1] = ratio;
    }
    CHECK(memcmp(&gas, &gas_late, sizeof gas) == 0 && thermostat.heat == late.heat);
    for (int k = 1; k <= 200; k++) md_thermostat_apply(&other, &ops, &gas_other, k * N_EVERY);
    CHECK(kinetic_of(&gas) != kinetic_of(&gas_other));
}

/* Between its steps it does nothing; what comes is the heat; the motion of the whole stays. */
static void test_account(void) {
#define BATH(name, ...) MD_THERMOSTAT_##name,
    static const int choices[] = {MD_BATHS(BATH)};
#undef BATH
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++) {
        MdThermostat thermostat = make(choices[k], 3);
        Gas gas = make_gas(30, 4);
        MdSums sums;
        check_context("account of thermostat %d", choices[k]);
        for (int64_t step = 1; step <= 4000; step++) {
            const double before = kinetic_of(&gas);
            md_thermostat_apply(&thermostat, &ops, &gas, step);
            if (step % N_EVERY != 0) CHECK(kinetic_of(&gas) == before);
        }
        gas_sum(&gas, &sums);
        CHECK_NEAR(sums.kinetic - thermostat.heat, 31, 1e-9); /* 1 is the energy of the momentum */
        CHECK_NEAR(sums.momentum[0], 4, 1e-9);
        CHECK_NEAR(sums.momentum[1], 0, 1e-9);
        CHECK(thermostat.heat != 0);
    }
}

int main(void) {
    test_canonical(MD_THERMOSTAT_CSVR, "csvr");
    test_canonical(MD_THERMOSTAT_LANGEVIN, "langevin");
    test_rescale();
    test_shape();
    test_noise();
    test_collisions();
    test_few_collide();
    test_numbers(MD_THERMOSTAT_CSVR);
    test_numbers(MD_THERMOSTAT_LANGEVIN);
    test_account();
    return check_finish();
}
