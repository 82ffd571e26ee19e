/* Sums over particles, and the thermodynamic quantities that follow from them. Pressure comes from the virial, never
 * from the temperature alone. */
#ifndef MD_PHYSICS_THERMO_H
#define MD_PHYSICS_THERMO_H

#include <stdbool.h>
#include <stdint.h>

#include "physics/box.h"
#include "physics/split_sum.h"
#include "physics/tensor.h"

/* Of the components of a tensor. */
static const char *const md_tensor_names[MD_N_TENSOR] = {"xx", "yy", "zz", "xy", "xz", "yz"};

/* Whether a tensor of so many dimensions has the component. */
static inline bool md_tensor_has(int dimension, int k) { return MD_TENSOR_SECOND_AXIS(k) < dimension; }

/* Totals over all particles, in double precision for any precision of the run. */
typedef struct MdSums {
    double pairs;         /* number of pairs inside their cutoff: exact, so that one pair lost from a list shows */
    double potential;     /* energy of all pairs, as the deck's shift defines it */
    double truncation;    /* sum over pairs of the energy step at the cutoff; potential - truncation is conserved */
    double virial;        /* sum over pairs of r . F */
    double kinetic;       /* sum of m v^2 / 2 */
    double momentum[3];   /* sum of m v */
    double force_sq_mass; /* sum of F^2 / m: scale of the time-step error of the energy */
    double heat;          /* energy that a thermostat on each atom has put in since the backend was created */
    /* with analysis.pressure = tensor, else 0 */
    double virial_tensor[MD_N_TENSOR];  /* sum over pairs of r_a F_b */
    double kinetic_tensor[MD_N_TENSOR]; /* sum of m v_a v_b */
} MdSums;

/* The same as they are added up: with reduce.accumulate = reproducible in parts; else the first part is all. */
typedef struct MdSumParts {
    MdSplitSum pairs, potential, truncation, virial, kinetic, momentum[3], force_sq_mass, heat;
    MdSplitSum virial_tensor[MD_N_TENSOR], kinetic_tensor[MD_N_TENSOR];
} MdSumParts;

typedef struct MdThermo {
    int64_t step;
    double time;                      /* tau */
    double temperature, pressure;     /* epsilon/k, epsilon/sigma^D; pressure NaN with an open boundary */
    double potential, kinetic, total; /* epsilon, per particle */
    double conserved;                 /* total less truncation and thermostat work, per particle */
    double pairs;                     /* inside their cutoff, per particle */
    double heat;                      /* that the thermostat has put in so far, per particle */
    double momentum;                  /* length of the total momentum, per particle */
    double fluctuation;               /* dt^2 <F^2/m>, per particle: scale of the time-step error */
    /* as pressure, a third or half of its trace; only with analysis.pressure = tensor (Irving and Kirkwood, J. Chem. Phys. 18,
     * 817 (1950)) */
    double pressure_tensor[MD_N_TENSOR];
} MdThermo;

/* Degrees of freedom. If the motion keeps the total momentum, which is removed at the start, D N less D. */
static inline double md_degrees_of_freedom(int64_t n_atoms, int dimension, bool keeps_momentum) {
    return (double)dimension * (double)(n_atoms - keeps_momentum);
}

/* Quantities per particle from the sums. degrees: of freedom; heat: energy that the thermostat has put in besides that in the sums, in
 * total. */
static inline MdThermo md_thermo_from_sums(const MdSums *sums, const MdBox *box, int64_t n_atoms, double degrees,
                                           int64_t step, double timestep, double heat) {
    double n = (double)n_atoms;
    MdThermo t = {.step = step, .time = (double)step * timestep};
    t.temperature = 2 * sums->kinetic / degrees;
    heat += sums->heat;
    t.pressure = (2 * sums->kinetic + sums->virial) / (box->dimension * md_box_volume(box));
    for (int k = 0; k < MD_N_TENSOR; k++)
        t.pressure_tensor[k] = (sums->kinetic_tensor[k] + sums->virial_tensor[k]) / md_box_volume(box);
    t.potential = sums->potential / n;
    t.pairs = sums->pairs / n;
    t.heat = heat / n;
    t.kinetic = sums->kinetic / n;
    t.total = t.potential + t.kinetic;
    t.conserved = (sums->potential - sums->truncation + sums->kinetic - heat) / n;
    t.momentum = sqrt(sums->momentum[0] * sums->momentum[0] + sums->momentum[1] * sums->momentum[1] +
                      sums->momentum[2] * sums->momentum[2]) /
                 n;
    t.fluctuation = timestep * timestep * sums->force_sq_mass / n;
    return t;
}

#endif
