/* Sums over all particles are exact (base/exact_sum.h): momenta cancel, and the velocities that follow from the sums must be the
 * same bits however the particles are divided among processes. */
#include "system/velocity.h"

#include <math.h>

#include "base/exact_sum.h"
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

/* Columns of terms up to `largest`, each summed over all particles. Inline, so that the compiler sees which term it is. */
static inline void sum_terms(const MdSystem *system, Term term, double largest, int n_columns, double *value) {
    MdExactSum sums[3];
    for (int k = 0; k < n_columns; k++) sums[k] = md_exact_begin(largest);
    for (int64_t i = 0; i < system->n_own; i++)
        for (int k = 0; k < n_columns; k++) md_exact_add(&sums[k], term(system, i, k));
    md_comm_add_exact(system->comm, sums, n_columns);
    for (int k = 0; k < n_columns; k++) value[k] = md_exact_value(&sums[k]);
}

double md_system_mass(const MdSystem *system) {
    int64_t count[MD_MAX_TYPES] = {0};
    for (int64_t i = 0; i < system->n_own; i++) count[system->type[i]]++;
    md_comm_add_integers(system->comm, count, MD_MAX_TYPES);
    double mass = 0;
    for (int t = 0; t < system->potential.n_types; t++) mass += (double)count[t] * system->mass[t];
    return mass;
}

static double heaviest(const MdSystem *system) {
    double mass = 0;
    for (int t = 0; t < system->potential.n_types; t++) mass = fmax(mass, system->mass[t]);
    return mass;
}

/* Largest component of a velocity over all particles. What bounds the terms follows from it without another pass: as rounding is
 * monotonic, the same operations on bounds give bounds. */
static double fastest(const MdSystem *system) {
    double largest = 0;
    for (int64_t k = 0; k < 3 * system->n_own; k++) largest = md_exact_larger(largest, system->velocity[k]);
    return md_comm_largest_magnitude(system->comm, largest);
}

/* bound: of the components of all velocities. Returns that of what is left. */
static double remove_momentum(MdSystem *system, double bound) {
    double drift[3], mass = md_system_mass(system), largest = 0;
    sum_terms(system, momentum_term, heaviest(system) * bound, 3, drift);
    for (int a = 0; a < 3; a++) {
        drift[a] /= mass;
        largest = fmax(largest, fabs(drift[a]));
    }
    for (int64_t i = 0; i < system->n_own; i++)
        for (int a = 0; a < 3; a++) system->velocity[3 * i + a] -= drift[a];
    return bound + largest;
}

void md_velocity_remove_momentum(MdSystem *system) { remove_momentum(system, fastest(system)); }

void md_velocity_fill(MdSystem *system, double temperature, MdRandom *random) {
    const int dimension = system->box.dimension;
    double *velocity = system->velocity, spread[MD_MAX_TYPES];
    for (int t = 0; t < system->potential.n_types; t++) spread[t] = sqrt(temperature / system->mass[t]);
    md_random_skip(random, (uint64_t)system->first * (uint64_t)dimension);
    md_random_normal(random, velocity, (size_t)(system->n_own * dimension));
    for (int64_t i = system->n_own; i-- > 0;) /* backwards: rows of two numbers become rows of three */
        for (int a = 3; a-- > 0;)
            velocity[3 * i + a] = a < dimension ? velocity[dimension * i + a] * spread[system->type[i]] : 0;
    if (temperature == 0) return; /* all at rest, and nothing to scale */

    const double bound = remove_momentum(system, fastest(system));
    double sum;
    sum_terms(system, twice_kinetic_term, heaviest(system) * (bound * bound + bound * bound + bound * bound), 1, &sum);
    const double scale = sqrt(temperature * md_degrees_of_freedom(system->n_atoms, dimension) / sum);
    for (int64_t k = 0; k < 3 * system->n_own; k++) velocity[k] *= scale;
    remove_momentum(system, scale * bound); /* what rounding has left */
}
