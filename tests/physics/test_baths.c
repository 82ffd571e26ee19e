/* Thermostats on a kinetic energy that nothing else changes: of a small system, whose degrees of freedom can be told from others. That
 * of csvr has the mean, the variance and the correlation in time of the canonical ensemble; a wrong count of degrees of freedom and a
 * wrong relaxation time show. Its random numbers follow from seed and step alone; heat is the energy that came. */
#include <math.h>

#include "check.h"
#include "integrate/thermostat.h"

enum { N_ATOMS = 8, N_STEPS = 400000, N_EVERY = 4 };
static const double temperature = 1.3, timestep = 0.005, relaxation = 0.1, mass = 8;

/* Stands for a backend. */
typedef struct Gas {
    double kinetic, momentum; /* kinetic has the energy of the momentum, along x, too */
} Gas;

static MdStatus gas_sum(void *context, MdSums *sums) {
    const Gas *gas = context;
    *sums = (MdSums){.kinetic = gas->kinetic, .momentum = {gas->momentum, 0, 0}};
    return MD_OK;
}

/* Velocities v become factor v + shift. */
static MdStatus gas_scale(void *context, double factor, const double shift[3]) {
    Gas *gas = context;
    gas->kinetic = factor * factor * gas->kinetic + factor * gas->momentum * shift[0] + mass * shift[0] * shift[0] / 2;
    gas->momentum = factor * gas->momentum + mass * shift[0];
    return MD_OK;
}

static const MdBackendOps ops = {.sum = gas_sum, .scale_velocities = gas_scale};

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
    thermostat.mass = mass;
    return thermostat;
}

/* What is found, in units of what the canonical ensemble has. */
typedef struct Found {
    double mean, variance, time; /* of the kinetic energy; in which its correlation falls to 1/e */
} Found;

static Found observe(MdThermostat *thermostat) {
    const double degrees = 3 * (N_ATOMS - 1), right = degrees * temperature / 2;
    Gas gas = {.kinetic = right};
    double sum = 0, square = 0, product = 0, last = 0;
    for (int k = 1; k <= N_STEPS; k++) {
        md_thermostat_apply(thermostat, &ops, &gas, (int64_t)k * N_EVERY);
        const double off = gas.kinetic - right;
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

static void test_canonical(void) {
    static const double degrees_of[] = {1, 24.0 / 21, 1, 1, 22.0 / 21, 20.0 / 21}, elapsed_of[] = {1, 1, 2, 0.5, 1, 1};
    static const char *const names[] = {"as it is", "3 N degrees of freedom", "half of the relaxation time", "twice the relaxation time", "one degree more",
                                        "one degree less"};
    for (int k = 0; k < 6; k++) {
        MdThermostat thermostat = make(MD_THERMOSTAT_CSVR, 1 + k);
        CHECK(thermostat.degrees == 21);
        thermostat.degrees *= degrees_of[k];
        thermostat.elapsed *= elapsed_of[k];
        const Found found = observe(&thermostat);
        check_context("%s: mean %.4f, variance %.4f, time %.4f of what is right", names[k], found.mean, found.variance, found.time);
        CHECK(is_canonical(&found) == (k == 0));
    }
    /* rescale has the mean, and no variance */
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

/* The same from any step on, and others for another seed; next steps draw numbers of their own. */
static void test_numbers(void) {
    MdThermostat thermostat = make(MD_THERMOSTAT_CSVR, 7), late = make(MD_THERMOSTAT_CSVR, 7), other = make(MD_THERMOSTAT_CSVR, 8);
    Gas gas = {.kinetic = 20}, gas_late = gas, gas_other = gas;
    double before[] = {0, 0};
    check_context("numbers");
    for (int k = 1; k <= 200; k++) {
        if (k == 77) gas_late = gas, late.heat = thermostat.heat;
        md_thermostat_apply(&thermostat, &ops, &gas, k * N_EVERY);
        if (k >= 77) md_thermostat_apply(&late, &ops, &gas_late, k * N_EVERY);
        const double ratio = gas.kinetic / before[0];
        CHECK(ratio != before[1]);
        before[0] = gas.kinetic, before[1] = ratio;
    }
    CHECK(gas.kinetic == gas_late.kinetic && thermostat.heat == late.heat);
    for (int k = 1; k <= 200; k++) md_thermostat_apply(&other, &ops, &gas_other, k * N_EVERY);
    CHECK(gas.kinetic != gas_other.kinetic);
}

/* Between its steps it does nothing; what comes is the heat; the motion of the whole stays. */
static void test_account(void) {
    static const int choices[] = {MD_THERMOSTAT_RESCALE, MD_THERMOSTAT_CSVR};
    for (int k = 0; k < 2; k++) {
        MdThermostat thermostat = make(choices[k], 3);
        Gas gas = {.kinetic = 30, .momentum = 4};
        check_context("account of %s", k == 0 ? "rescale" : "csvr");
        for (int64_t step = 1; step <= 4000; step++) {
            const double before = gas.kinetic;
            md_thermostat_apply(&thermostat, &ops, &gas, step);
            if (step % N_EVERY != 0 || k == 1) CHECK((gas.kinetic != before) == (step % N_EVERY == 0));
        }
        CHECK_NEAR(gas.kinetic - thermostat.heat, 30, 1e-9);
        CHECK_NEAR(gas.momentum, 4, 1e-9);
        CHECK(thermostat.heat != 0);
    }
}

int main(void) {
    test_canonical();
    test_shape();
    test_numbers();
    test_account();
    return check_finish();
}
