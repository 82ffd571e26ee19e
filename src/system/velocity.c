#include "system/velocity.h"

#include <math.h>

#include "physics/thermo.h"

/* Sums of as many as 2e9 terms that cancel: long double keeps the rounding below that of a single velocity. */
void md_velocity_remove_momentum(MdSystem *system) {
    long double momentum[3] = {0, 0, 0}, mass = 0;
    for (int64_t i = 0; i < system->n_atoms; i++) {
        double m = system->mass[system->type[i]];
        mass += m;
        for (int a = 0; a < 3; a++) momentum[a] += (long double)m * system->velocity[3 * i + a];
    }
    for (int a = 0; a < 3; a++) {
        double drift = (double)(momentum[a] / mass);
        for (int64_t i = 0; i < system->n_atoms; i++) system->velocity[3 * i + a] -= drift;
    }
}

static double twice_kinetic(const MdSystem *system) {
    long double sum = 0;
    for (int64_t i = 0; i < system->n_atoms; i++) {
        const double *v = system->velocity + 3 * i;
        sum += (long double)system->mass[system->type[i]] * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    }
    return (double)sum;
}

void md_velocity_fill(MdSystem *system, double temperature, MdRandom *random) {
    int dimension = system->box.dimension;
    for (int64_t i = 0; i < system->n_atoms; i++) {
        double *v = system->velocity + 3 * i, spread = sqrt(temperature / system->mass[system->type[i]]);
        md_random_normal(random, v, (size_t)dimension);
        for (int a = 0; a < dimension; a++) v[a] *= spread;
    }
    if (temperature == 0) return; /* all at rest, and nothing to scale */
    md_velocity_remove_momentum(system);
    double scale = sqrt(temperature * md_degrees_of_freedom(system->n_atoms, dimension) / twice_kinetic(system));
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) system->velocity[k] *= scale;
    md_velocity_remove_momentum(system); /* what rounding has left */
}
