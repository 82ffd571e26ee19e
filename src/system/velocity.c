/* The velocities that follow from sums over all particles must be the same bits however these are divided among processes: the sums
 * are those of physics/split_sum.h. */
#include "system/velocity.h"

#include <math.h>

#include "base/memory.h"
#include "base/number.h"
#include "physics/split_sum.h"
#include "physics/thermo.h"

typedef double (*Term)(const MdSystem *system, int64_t i, int column);

static inline double momentum_term(const MdSystem *system, int64_t i, int axis) {
    return system->mass[system->type[i]] * system->velocity[3 * i + axis];
}

static inline double twice_kinetic_term(const MdSystem *system, int64_t i, int column) {
    (void)column;
    const double *v = system->velocity + 3 * i;
    return system->mass[system->type[i]] * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* Columns of terms, each summed over all particles; quanta are those of the largest term. Inline, so that the compiler sees which term it
 * is. */
static inline void sum_terms(const MdSystem *system, Term term, int n_columns, double *value) {
    MdSplitSum sums[3] = {{{0}}};
    double largest[3] = {0}, shift[3][MD_SPLIT_PARTS];
    for (int64_t i = 0; i < system->n_own; i++)
        for (int k = 0; k < n_columns; k++) largest[k] = fmax(largest[k], fabs(term(system, i, k)));
    md_comm_max(system->comm, largest, n_columns);
    for (int k = 0; k < n_columns; k++) {
        int size = 0;
        if (isfinite(largest[k])) frexp(largest[k], &size); /* else the sum is NaN */
        md_split_shifts(md_split_bits(system->n_atoms), size, shift[k]);
    }
    for (int64_t i = 0; i < system->n_own; i++)
        for (int k = 0; k < n_columns; k++) md_split_add(&sums[k], term(system, i, k), shift[k]);
    md_comm_add_doubles(system->comm, (double *)sums, n_columns * MD_SPLIT_PARTS);
    for (int k = 0; k < n_columns; k++) value[k] = md_split_value(&sums[k]);
}

double md_system_mass(const MdSystem *system) {
    int64_t count[MD_MAX_TYPES] = {0};
    for (int64_t i = 0; i < system->n_own; i++) count[system->type[i]]++;
    md_comm_add_integers(system->comm, count, MD_MAX_TYPES);
    double mass = 0;
    for (int t = 0; t < system->potential.n_types; t++) mass += (double)count[t] * system->mass[t];
    return mass;
}

void md_velocity_remove_momentum(MdSystem *system) {
    const double mass = md_system_mass(system);
    double momentum[3];
    sum_terms(system, momentum_term, 3, momentum);
    for (int64_t i = 0; i < system->n_own; i++)
        for (int a = 0; a < 3; a++) system->velocity[3 * i + a] -= momentum[a] / mass;
}

void md_velocity_fill(MdSystem *system, double temperature, double degrees, MdRandom *random) {
    const int dimension = system->box.dimension;
    double *velocity = system->velocity, spread[MD_MAX_TYPES];
    for (int t = 0; t < system->potential.n_types; t++) spread[t] = sqrt(temperature / system->mass[t]);
    md_random_skip(random, (uint64_t)system->first * (uint64_t)dimension);
    md_random_normal(random, velocity, (size_t)(system->n_own * dimension));
    for (int64_t i = system->n_own; i-- > 0;) /* backwards: rows of two numbers become rows of three */
        for (int a = 3; a-- > 0;)
            velocity[3 * i + a] = a < dimension ? velocity[dimension * i + a] * spread[system->type[i]] : 0;
    if (temperature == 0) return; /* all at rest, and nothing to scale */

    md_velocity_remove_momentum(system);
    double sum;
    sum_terms(system, twice_kinetic_term, 1, &sum);
    const double scale = sqrt(temperature * degrees / sum);
    for (int64_t k = 0; k < 3 * system->n_own; k++) velocity[k] *= scale;
    md_velocity_remove_momentum(system); /* the rest from rounding */
}

/* Temperature of the velocities of a file, less their mean. */
static double file_temperature(const MdCoordinates *c, const double *mass, int dimension, double mean[3]) {
    double kinetic = 0, whole = 0;
    for (int64_t i = 0; i < c->n_atoms; i++) {
        const double m = mass[c->type ? c->type[i] : 0], *v = c->velocity + 3 * i;
        whole += m;
        for (int a = 0; a < dimension; a++) {
            mean[a] += m * v[a];
            kinetic += m * v[a] * v[a];
        }
    }
    for (int a = 0; a < dimension; a++) {
        mean[a] /= whole;
        kinetic -= whole * mean[a] * mean[a];
    }
    return fmax(kinetic, 0) / ((double)dimension * (double)c->n_atoms);
}

/* Of the atoms of a file in the middle of their order by speed: its speed along an axis, as a share of the thermal speed in an
 * equilibrium, where it is 0.83 in two dimensions and 0.89 in three (chi distribution). Few fast atoms do not change it. */
static double middle_speed(const MdCoordinates *c, const double mean[3], int dimension) {
    double *speed = md_alloc((size_t)c->n_atoms, sizeof *speed, "speeds of a file");
    for (int64_t i = 0; i < c->n_atoms; i++) {
        double square = 0;
        for (int a = 0; a < dimension; a++) square += pow(c->velocity[3 * i + a] - mean[a], 2);
        speed[i] = sqrt(square / dimension);
    }
    md_sort_reals(speed, (size_t)c->n_atoms);
    const double middle = speed[c->n_atoms / 2];
    md_free(speed);
    return middle / 0.83;
}

double md_velocity_slowest(const MdConfig *config, const MdSystemPlan *plan, const double *mass,
                           const MdCoordinates *c) {
    const MdRealList *target = &config->ensemble_target;
    const int n_types = plan->potential.n_types, dimension = plan->box.dimension;
    double temperature = md_is_auto(config->system_temperature) ? 1 : config->system_temperature, heaviest = 0;
    double mean[3] = {0}, of_file = 0;
    if (plan->file_velocities) temperature = of_file = file_temperature(c, mass, dimension, mean);
    if (config->ensemble_thermostat != MD_THERMOSTAT_NONE)
        temperature = fmax(temperature, fmax(target->values[0], target->values[target->n - 1]));
    for (int t = 0; t < n_types; t++) heaviest = fmax(heaviest, mass[t]);
    const double thermal = sqrt(temperature / heaviest);
    return of_file > 0 ? fmin(thermal, sqrt(temperature / of_file) * middle_speed(c, mean, dimension)) : thermal;
}
