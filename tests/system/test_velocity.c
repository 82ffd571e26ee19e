/* Initial velocities: exact temperature, no momentum, and Maxwell's distribution by statistical tests that reject
 * other distributions. Significance of each test: 1e-6. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "physics/thermo.h"
#include "state.h"
#include "system/random.h"

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov: sqrt(n) times the largest distance of the empirical distribution from the normal one.
 * Sorts the sample. */
static double ks_statistic(double *sample, int64_t n) {
    qsort(sample, (size_t)n, sizeof *sample, by_value);
    double worst = 0;
    for (int64_t k = 0; k < n; k++) {
        double expected = 0.5 * erfc(-sample[k] / sqrt(2));
        worst = fmax(worst, fmax(expected - (double)k / (double)n, (double)(k + 1) / (double)n - expected));
    }
    return worst * sqrt((double)n);
}

/* Fourth moment over squared variance, less 3, in standard deviations of a normal sample. */
static double kurtosis_statistic(const double *sample, int64_t n) {
    double square = 0, fourth = 0;
    for (int64_t k = 0; k < n; k++) {
        double s = sample[k] * sample[k];
        square += s;
        fourth += s * s;
    }
    return (fourth * (double)n / (square * square) - 3) / sqrt(24.0 / (double)n);
}

/* Of the limit distribution: 2 exp(-2 x^2) = 1e-6, and 4.9 standard deviations. */
static const double ks_limit = 2.694, kurtosis_limit = 4.9;

/* Each component of each type, scaled to variance 1. */
static void check_maxwell(const MdSystem *system, double temperature) {
    double *sample = md_alloc((size_t)system->n_atoms, sizeof *sample, "sample");
    for (int t = 0; t < system->potential.n_types; t++)
        for (int a = 0; a < system->box.dimension; a++) {
            int64_t n = 0;
            for (int64_t i = 0; i < system->n_atoms; i++)
                if (system->type[i] == t)
                    sample[n++] = system->velocity[3 * i + a] * sqrt(system->mass[t] / temperature);
            CHECK(n > 3000);
            CHECK_NEAR(kurtosis_statistic(sample, n), 0, kurtosis_limit);
            CHECK_NEAR(ks_statistic(sample, n), 0, ks_limit);
        }
    /* Components of one atom, and of neighbours in the list, are independent. */
    double same = 0, next = 0, sum_sq = 0;
    for (int64_t i = 0; i + 1 < system->n_atoms; i++) {
        const double *v = system->velocity + 3 * i;
        same += v[0] * v[1];
        next += v[0] * v[3];
        sum_sq += v[0] * v[0];
    }
    double limit = 4.9 * sqrt((double)system->n_atoms) * 2; /* 2: unequal masses only widen it */
    CHECK_NEAR(same / (sum_sq / (double)system->n_atoms), 0, limit);
    CHECK_NEAR(next / (sum_sq / (double)system->n_atoms), 0, limit);
    md_free(sample);
}

static void check_exact(const MdSystem *system, double temperature) {
    double momentum[3] = {0, 0, 0}, twice_kinetic = 0, scale = 0, n = (double)system->n_atoms;
    for (int64_t i = 0; i < system->n_atoms; i++) {
        double m = system->mass[system->type[i]];
        for (int a = 0; a < 3; a++) {
            double v = system->velocity[3 * i + a];
            momentum[a] += m * v;
            twice_kinetic += m * v * v;
            scale += fabs(m * v);
        }
    }
    double dof = md_degrees_of_freedom(system->n_atoms, system->box.dimension, true);
    CHECK_NEAR(twice_kinetic / dof, temperature, 1e-12 * temperature);
    /* sums of n terms round at 2^-53 of the sum of their sizes, in the test as well */
    for (int a = 0; a < 3; a++) CHECK_NEAR(momentum[a] / n, 0, scale / n * 2e-15 * sqrt(n));
    if (temperature > 0) CHECK(twice_kinetic > 0);
}

static void test_system(const char *name, double temperature, const char *const *words) {
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck), *again = state_system(deck);
    check_context("%s, temperature %g, %d atoms", name, temperature, (int)system->n_atoms);
    check_exact(system, temperature);
    if (system->n_atoms > 3000 && temperature > 0) check_maxwell(system, temperature);
    double largest_z = 0;
    for (int64_t i = 0; i < system->n_atoms; i++) largest_z = fmax(largest_z, fabs(system->velocity[3 * i + 2]));
    CHECK(memcmp(system->velocity, again->velocity, 3 * (size_t)system->n_atoms * sizeof *system->velocity) == 0);
    if (system->box.dimension == 2) CHECK(largest_z == 0);
    md_system_destroy(system);
    md_system_destroy(again);
    md_deck_destroy(deck);
}

#define SYSTEM(name, temperature, ...) test_system(name, temperature, (const char *const[]){__VA_ARGS__, NULL})

/* The tests themselves: normal numbers pass for every seed tried; uniform numbers of the same variance are rejected by
 * either test. */
static void test_statistics(void) {
    enum { SAMPLE = 20000 };
    double *sample = md_alloc(SAMPLE, sizeof *sample, "sample");
    MdErrors *errors = md_errors_create();
    for (uint64_t seed = 1; seed <= 20; seed++) {
        check_context("statistical tests, seed %d", (int)seed);
        MdRandom *normal = md_random_create(NULL, MD_GENERATOR_PHILOX, seed, 0, errors);
        MdRandom *uniform = md_random_create(NULL, MD_GENERATOR_PHILOX, seed, 1, errors);
        md_random_normal(normal, sample, SAMPLE);
        CHECK_NEAR(kurtosis_statistic(sample, SAMPLE), 0, kurtosis_limit);
        CHECK_NEAR(ks_statistic(sample, SAMPLE), 0, ks_limit);
        md_random_uniform(uniform, sample, SAMPLE);
        for (int k = 0; k < SAMPLE; k++) sample[k] = sqrt(12) * (sample[k] - 0.5);
        CHECK(fabs(kurtosis_statistic(sample, SAMPLE)) > kurtosis_limit);
        CHECK(ks_statistic(sample, SAMPLE) > ks_limit);
        md_random_destroy(normal, NULL);
        md_random_destroy(uniform, NULL);
    }
    md_errors_destroy(errors);
    md_free(sample);
}

int main(void) {
    test_statistics();
    SYSTEM("fcc", 1.44, "system.density=0.8442", "system.temperature=1.44", "system.cells=16");
    SYSTEM("fcc, other seed", 0.01, "system.density=0.8442", "system.temperature=0.01", "system.seed=9007199254740991");
    SYSTEM("hexagonal", 0.5, "system.dimension=2", "system.start=hexagonal", "system.density=0.9", "system.cells=75",
           "system.temperature=0.5");
    SYSTEM("three types", 2, "system.density=1", "system.temperature=2", "system.types=3", "system.masses=1 2.5 40",
           "system.cells=16");
    SYSTEM("two atoms", 3, "system.start=random", "system.atoms=2", "system.density=0.001", "system.temperature=3");
    SYSTEM("three atoms", 1e6, "system.dimension=2", "system.start=random", "system.atoms=3", "system.density=0.01",
           "system.temperature=1e6");
    SYSTEM("nearly at rest", 1e-20, "system.density=0.8442", "system.temperature=1e-20", "system.cells=16");
    SYSTEM("at rest", 0, "system.density=0.8442", "system.temperature=0");
#ifdef MDMINI_HAVE_CUDA
    SYSTEM("xorwow", 1, "system.density=0.8442", "system.generator=xorwow");
    SYSTEM("mrg32k3a", 1, "system.density=0.8442", "system.generator=mrg32k3a");
    SYSTEM("mt19937", 1, "system.density=0.8442", "system.generator=mt19937");
#endif
    return check_finish();
}
