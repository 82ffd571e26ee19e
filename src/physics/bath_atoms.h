/* Thermostats that act on each atom by itself (trait MD_BATH_BY_ATOM), in the midst of each drift. With the kicks of velocity Verlet
 * a step is B A O A B (Leimkuhler, Matthews, Appl. Math. Res. Express 2013, 34):
 *   v += f/m dt/2;  x += v dt/2;  v = keep v + sqrt(drawn k T / m) R;  x += v dt/2;  v += f/m dt/2
 * with drawn = 1 - keep^2 and a normal number R for each direction. R follows from seed, id and the number of the step (noise.h): any
 * backend, order of atoms and division into ranks has the same. With a share below 1 only that part of the atoms is changed, drawn anew
 * at each step.
 *
 * Heat is the sum of the changes of the kinetic energy of atoms by this, each rounded to whole quanta: sums of integers are exact in
 * any order, so that it is the same on all ways. A quantum is 2^-24 of the hottest temperature of the deck, target or start, to the next power of two. Rounding is
 * unbiased: N atoms are off by 0.3 quanta sqrt(steps / N) each, 2e-7 k T an atom for 1,000 atoms after 10^5 steps. 64 bits last: the heat is
 * the change of the conserved part of the energy, so that it cannot grow without the energy; they hold 32,000 k T an atom for 2^24
 * atoms. Up to 2^53 quanta (32 k T an atom for as many) a restart file, a double, has it to the bit. An atom changes by less than 2^26
 * k T (kernels add halves of 24 and 32 bits over a warp). */
#ifndef MD_PHYSICS_BATH_ATOMS_H
#define MD_PHYSICS_BATH_ATOMS_H

#include "physics/noise.h"

/* A target temperature: `from` at step 0, `to` at last_step and after it. */
typedef struct MdRamp {
    double from, to;
    int64_t last_step;
} MdRamp;

MD_HD double md_ramp_at(const MdRamp *ramp, int64_t step) {
    if (step >= ramp->last_step) return ramp->to;
    return ramp->from + (ramp->to - ramp->from) * (double)step / (double)ramp->last_step;
}

/* Facts about it that kernels are compiled for, as bits: that it acts; not alike at all steps; on a share of the atoms. */
enum { MD_BATH_ACTS = 1, MD_BATH_CHANGES = 2, MD_BATH_SHARES = 4, MD_BATH_TYPES = 8 };

typedef struct MdBathAtoms {
    int facts;         /* 0: none */
    int32_t dimension; /* 2: z stays as it is */
    double share, keep, drawn;
    MdRamp target;
    int64_t last_action;                /* not at later steps */
    uint32_t keys[2 * MD_NOISE_ROUNDS]; /* of the random numbers */
    double quantum;                     /* of heat, epsilon */
    /* Of types: sqrt(1/mass); mass / 2 in quanta, a velocity squared times this is an energy; width of the noise without MD_BATH_CHANGES. */
    double root[MD_BATH_TYPES], quanta[MD_BATH_TYPES], width[MD_BATH_TYPES];
    float quanta_f[MD_BATH_TYPES], width_f[MD_BATH_TYPES], keep_f;
} MdBathAtoms;

/* Of the noise at a step for a type of mass 1/root^2. */
MD_HD double md_bath_width(const MdBathAtoms *bath, int64_t step, double root) {
    return sqrt(bath->drawn * md_ramp_at(&bath->target, step)) * root;
}

/* Whether it changes this atom at this step. */
MD_HD int md_bath_changes(const MdBathAtoms *bath, int64_t step, uint32_t id) {
    return step <= bath->last_action &&
           (!(bath->facts & MD_BATH_SHARES) || md_noise_collides(bath->keys, (uint64_t)step, id, bath->share));
}

/* The new velocity along an axis. */
MD_HD double md_bath_velocity_d(double v, double keep, double width, double normal) {
    return fma(keep, v, width * normal);
}
MD_HD float md_bath_velocity_f(float v, float keep, float width, float normal) { return fmaf(keep, v, width * normal); }

#endif
