/* Thermostats on the velocities of a small gas that nothing else changes, whose degrees of freedom can be told from others. Those of
 * csvr have the mean, the variance and the correlation in time of the canonical ensemble, and so have free atoms with friction and noise,
 * which diffuse as D = kT / (m gamma); a wrong count of degrees of freedom and a wrong relaxation time show. Random numbers follow
 * from seed, id and step alone; heat is the energy that came. */
#include <math.h>
#include <string.h>

#include "backend/heat_bath.h"
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

static const MdBackendOps ops = {.sum = gas_sum, .scale_velocities = gas_scale};

static MdThermostat make(int choice, int64_t seed) {
    const MdConfig config = {.ensemble_thermostat = choice,
                             .ensemble_target = {.n = 1, .values = {temperature}},
                             .ensemble_every = N_EVERY,
                             .ensemble_last_step = MD_AUTO_INT,
                             .ensemble_relaxation = relaxation,
                             .ensemble_friction = NAN,
                             .ensemble_chain = 3,
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

/* Numbers of single and double precision beside those by the C library, and their moments. */
static void test_noise(void) {
    double moment[7] = {0}, product = 0;
    uint32_t keys[2 * MD_NOISE_ROUNDS], words[4];
    md_philox_keys(3, MD_NOISE_ROUNDS, keys);
    check_context("noise");
    for (int k = 0; k < N_STEPS; k++) {
        md_noise_words_of_atom(keys, (uint64_t)k, 17, MD_NOISE_NORMAL, words);
        if (k < 33) words[0] = words[2] = k < 32 ? 1u << k : 0;
        if (k == 33) words[0] = words[2] = 0xffffffffu;
        double d[3], right[3], radius[2];
        float f[3];
        md_noise_normals_d(words, d);
        md_noise_normals_f(words, f);
        for (int n = 0; n < 2; n++) radius[n] = sqrt(-2 * log(((double)words[2 * n] + 0.5) * 0x1p-32));
        const double quarter = 1.5707963267948966 * (int32_t)words[1] * 0x1p-32,
                     along = (words[1] & 1 ? -1 : 1) * radius[0] * cos(quarter), across = radius[0] * sin(quarter);
        right[0] = words[1] & 2 ? across : along, right[1] = words[1] & 2 ? along : across;
        right[2] = radius[1] * sin(3.1415926535897932 * (int32_t)words[3] * 0x1p-32);
        for (int n = 0; n < 3; n++) {
            const double length = radius[n / 2];
            if (!(fabs(d[n] - right[n]) < 3e-15)) CHECK(false);
            if (!(fabs((double)f[n] - right[n]) < (length < 0.01 ? 5e-4 : 2e-6 * length + 1.5e-7 / length)))
                CHECK(false);
            if (k < 34) continue;
            for (int m = 1; m < 7; m++) moment[m] += pow((double)f[n], m) / (3.0 * (N_STEPS - 34));
        }
        product += (d[0] * d[1] + d[1] * d[2] + d[0] * d[2]) / N_STEPS;
    }
    const double error = 1 / sqrt(3.0 * N_STEPS);
    CHECK_NEAR(moment[1], 0, 5 * error);
    CHECK_NEAR(moment[2], 1, 5 * sqrt(2) * error);
    CHECK_NEAR(moment[3], 0, 5 * sqrt(15) * error);
    CHECK_NEAR(moment[4], 3, 5 * sqrt(96) * error);
    CHECK_NEAR(moment[6], 15, 5 * sqrt(10170) * error);
    CHECK_NEAR(product, 0, 5 * sqrt(3.0 / N_STEPS));
}

/* In single precision, by the words of all parts of the range alike: the moments of the length, 2, 8, 48 of its square, and of the sides
 * of a direction. Gaussian numbers have these. */
static void test_moments(void) {
    enum { N = 1 << 22 };
    double squares[4] = {0}, sides[3] = {0}, half[3] = {0};
    check_context("moments of single noise");
    for (uint32_t k = 0; k < N; k++) {
        const double r = (double)md_noise_radius_f(k << 10 | (k * 2654435761u) >> 22), z = r * r;
        const uint32_t words[4] = {1u << 30, k << 10, 1u << 30, k << 10};
        const double length = (double)md_noise_radius_f(1u << 30);
        float normal[3];
        md_noise_normals_f(words, normal);
        const double cosine = (double)normal[0] / length, sine = (double)normal[1] / length,
                     side = (double)normal[2] / length;
        for (int m = 1; m < 4; m++) squares[m] += pow(z, m) / N;
        sides[1] += cosine * cosine / N, sides[2] += pow(sine, 4) / N;
        half[1] += side * side / N, half[2] += pow(side, 4) / N;
        if (!(fabs(cosine * cosine + sine * sine - 1) < 4e-7)) CHECK(false);
    }
    CHECK_NEAR(squares[1], 2, 2e-5);
    CHECK_NEAR(squares[2], 8, 1e-3);
    CHECK_NEAR(squares[3], 48, 2e-2);
    CHECK_NEAR(sides[1], 0.5 + 1 / 3.14159265358979, 2e-6); /* a quarter around the axis: the swap makes the other */
    CHECK_NEAR(sides[2], 0.375 - 1 / 3.14159265358979, 2e-6);
    CHECK_NEAR(half[1], 0.5, 2e-6);
    CHECK_NEAR(half[2], 0.375, 2e-6);
}

/* --- friction and noise on each atom --------------------------------------------------------------------------------- */

static const double friction = 10; /* gamma dt = 0.05 */

static MdBathAtoms make_bath(int64_t seed, double gamma) {
    const MdConfig config = {.ensemble_thermostat = MD_THERMOSTAT_LANGEVIN,
                             .ensemble_target = {.n = 1, .values = {temperature}},
                             .ensemble_last_step = MD_AUTO_INT,
                             .ensemble_relaxation = NAN,
                             .ensemble_friction = gamma,
                             .run_steps = N_STEPS,
                             .run_timestep = timestep,
                             .system_seed = seed};
    MdSystem system = {.n_atoms = N_ATOMS, .box = {.dimension = 3}, .potential = {.n_types = 3}, .mass = {0.5, 1, 4}};
    return md_heat_bath_make(&config, &system);
}

/* Free atoms by BAOAB. */
typedef struct Free {
    Gas gas;
    double x[N_ATOMS][3];
} Free;

static void step_free(const MdBathAtoms *bath, int64_t step, uint32_t first_id, bool has_mass, Free *f) {
    for (int i = 0; i < N_ATOMS; i++) {
        uint32_t words[4];
        double normal[3];
        md_noise_words_of_atom(bath->keys, (uint64_t)step, first_id + (uint32_t)i, MD_NOISE_NORMAL, words);
        md_noise_normals_d(words, normal);
        const double width = md_bath_width(bath, step, has_mass ? 1 / sqrt(masses[i]) : 1);
        for (int a = 0; a < 3; a++) {
            const double before = f->gas.v[i][a];
            f->gas.v[i][a] = md_bath_velocity_d(before, bath->keep, width, normal[a]);
            f->x[i][a] += timestep / 2 * (before + f->gas.v[i][a]);
        }
    }
}

/* In units of what is right: mean and variance of the kinetic energy of `degrees`, kurtosis of velocities, friction by their correlation
 * from step to step, and the mean square displacement in 25 times 1/friction. */
typedef struct FreeFound {
    double mean, variance, kurtosis, friction, displacement;
} FreeFound;

static FreeFound observe_free(double gamma, double degrees, bool has_mass) {
    enum { BLOCK = 500 };
    const MdBathAtoms bath = make_bath(11, gamma);
    Free f = {{{{0}}}, {{0}}};
    double sum = 0, square = 0, second = 0, fourth = 0, next = 0, way_sq = 0, begin[N_ATOMS][3] = {{0}};
    for (int64_t step = -1000; step < N_STEPS; step++) {
        const Gas before = f.gas;
        step_free(&bath, step + 1000, 5, has_mass, &f);
        if (step < 0) continue;
        const double kinetic = kinetic_of(&f.gas);
        sum += kinetic / N_STEPS, square += kinetic * kinetic / N_STEPS;
        for (int i = 0; i < N_ATOMS; i++)
            for (int a = 0; a < 3; a++) {
                const double v = f.gas.v[i][a] * sqrt(masses[i] / temperature), n = 3.0 * N_ATOMS * N_STEPS;
                second += v * v / n, fourth += v * v * v * v / n;
                next += v * before.v[i][a] * sqrt(masses[i] / temperature) / n;
                const double way = f.x[i][a] - begin[i][a];
                if (step % BLOCK == 0 && step > 0)
                    way_sq += masses[i] * way * way / temperature / (3 * N_ATOMS * ((N_STEPS - 1) / BLOCK));
                if (step % BLOCK == 0) begin[i][a] = f.x[i][a];
            }
    }
    const double time = friction * timestep * BLOCK, right = 2 / (friction * friction) * (time - 1 + exp(-time)),
                 mean = degrees * temperature / 2;
    return (FreeFound){.mean = sum / mean,
                       .variance = (square - sum * sum) / (mean * temperature),
                       .kurtosis = fourth / (second * second),
                       .friction = -log(next / second) / (friction * timestep),
                       .displacement = way_sq / right};
}

/* Errors: of the mean 0.2 % (20 steps of correlation in 400,000, 24 degrees of freedom), of the variance 0.7 %, of the kurtosis 0.006, of
 * the friction 0.15 %, of the displacement, D = kT / (m gamma), 1 %. Five times as much is allowed, of the displacement 3.5 times. */
static bool is_free(const FreeFound *f) {
    return fabs(f->mean - 1) < 0.01 && fabs(f->variance - 1) < 0.035 && fabs(f->kurtosis - 3) < 0.03;
}
static bool diffuses(const FreeFound *f) { return fabs(f->friction - 1) < 0.0075 && fabs(f->displacement - 1) < 0.035; }

static void test_free(void) {
    static const struct {
        const char *what;
        double friction, degrees;
        bool has_mass, is_free, diffuses;
    } rows[] = {{"as it is", 1, 24, true, true, true},
                {"5 % more friction", 1.05, 24, true, true, false},
                {"5 % less friction", 0.95, 24, true, true, false},
                {"D N less D degrees of freedom", 1, 21, true, false, true},
                {"noise without mass", 1, 24, false, false, false}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const FreeFound f = observe_free(rows[k].friction * friction, rows[k].degrees, rows[k].has_mass);
        check_context("%s: mean %.4f, variance %.4f, kurtosis %.4f, friction %.4f, displacement %.4f", rows[k].what,
                      f.mean, f.variance, f.kurtosis, f.friction, f.displacement);
        CHECK(is_free(&f) == rows[k].is_free);
        CHECK(!rows[k].has_mass || diffuses(&f) == rows[k].diffuses);
    }
}

/* No correlation of the noise with that of another atom, another step, or a neighbouring seed. */
static void test_independence(void) {
    const MdBathAtoms bath = make_bath(7, friction), other = make_bath(8, friction);
    double across = 0, later = 0, seeds = 0;
    check_context("independence");
    for (int k = 0; k < N_STEPS; k++) {
        double n[4][3];
        uint32_t words[4];
        for (int c = 0; c < 4; c++) {
            md_noise_words_of_atom(c == 3 ? other.keys : bath.keys, (uint64_t)(c == 2 ? k + 1 : k), c == 1 ? 18 : 17,
                                   MD_NOISE_NORMAL, words);
            md_noise_normals_d(words, n[c]);
        }
        for (int a = 0; a < 3; a++) across += n[0][a] * n[1][a], later += n[0][a] * n[2][a], seeds += n[0][a] * n[3][a];
    }
    const double error = 5 / sqrt(3.0 * N_STEPS), n = 3.0 * N_STEPS;
    CHECK_NEAR(across / n, 0, error);
    CHECK_NEAR(later / n, 0, error);
    CHECK_NEAR(seeds / n, 0, error);
}

/* The share of atoms that are changed in a step. */
static void test_share(void) {
    MdBathAtoms bath = make_bath(7, friction);
    bath.share = 0.1, bath.facts |= MD_BATH_SHARES;
    double n = 0;
    for (int k = 0; k < N_STEPS; k++) n += md_bath_changes(&bath, k, 17);
    check_context("a tenth is changed");
    CHECK_NEAR(n / N_STEPS, 0.1, 5 * sqrt(0.09 / N_STEPS));
    bath.last_action = 3;
    bath.share = 1;
    CHECK(md_bath_changes(&bath, 3, 17) && !md_bath_changes(&bath, 4, 17));
}

/* Ramps, and their end. */
static void test_ramp(void) {
    const MdRamp ramp = {.from = 1, .to = 3, .last_step = 100};
    check_context("ramp");
    CHECK(md_ramp_at(&ramp, 0) == 1 && md_ramp_at(&ramp, 50) == 2 && md_ramp_at(&ramp, 100) == 3 &&
          md_ramp_at(&ramp, 1000) == 3);
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
        if (md_bath_traits(choices[k]) & MD_BATH_BY_ATOM) continue; /* it acts in the backends */
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
        CHECK_NEAR(sums.kinetic - thermostat.heat, 31,
                   thermostat.chain ? 1e-3 : 1e-9); /* 1 is the energy of the momentum */
        CHECK_NEAR(sums.momentum[0], 4, 1e-9);
        CHECK_NEAR(sums.momentum[1], 0, 1e-9);
        CHECK(thermostat.heat != 0);
    }
}

/* Far from the target, of many atoms, the rates of a chain are thousands of its own: what is conserved stays, and the kinetic energy comes
 * to its mean. */
static void test_far_chain(void) {
    static const double degrees[] = {24, 2589, 3e6}, ratios[] = {0.01, 0.5, 2, 15};
    for (size_t a = 0; a < sizeof degrees / sizeof degrees[0]; a++)
        for (size_t b = 0; b < sizeof ratios / sizeof ratios[0]; b++) {
            const double mean = degrees[a] * temperature / 2;
            double state[MD_BATH_STATE] = {0}, kinetic = ratios[b] * mean, heat = 0, sum = 0;
            check_context("chain of %g degrees of freedom from %g times the target", degrees[a], ratios[b]);
            for (int k = 0; k < 600; k++) {
                const MdBathCall call = {.elapsed = 0.1, .kinetic = kinetic, .temperature = temperature, .target = mean,
                                         .degrees = degrees[a], .chain = 3, .state = state};
                const MdBathChange change = md_bath_nose_hoover(&call);
                heat += change.heat;
                kinetic = change.kinetic;
                if (k >= 300) sum += kinetic / mean / 300;
                CHECK(fabs(kinetic - ratios[b] * mean - heat) < 600 * md_bath_chain_lost * fmax(ratios[b], 2) * mean);
            }
            CHECK(degrees[a] < 1000 || fabs(sum - 1) < 0.1);
        }
}

int main(void) {
    test_far_chain();
    test_canonical(MD_THERMOSTAT_CSVR, "csvr");
    test_rescale();
    test_shape();
    test_noise();
    test_moments();
    test_free();
    test_independence();
    test_share();
    test_ramp();
    test_numbers(MD_THERMOSTAT_CSVR);
    test_account();
    return check_finish();
}
