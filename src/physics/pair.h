/* Pair potentials.
 *
 * Lennard-Jones: U(r) = 4 epsilon ((sigma/r)^12 - (sigma/r)^6) for r < cutoff, 0 beyond, with
 *   shift none    U as it stands: the energy jumps at the cutoff;
 *   shift energy  U(r) - U(cutoff);
 *   shift force   U(r) - U(cutoff) + (r - cutoff) F(cutoff): energy and force go to zero, F(r) - F(cutoff).
 * WCA is the repulsive part: cutoff 2^(1/6) sigma, shift energy.
 * Source: Allen, Tildesley, Computer Simulation of Liquids, 2nd ed. (2017), sections 1.2 and 5.2. */
#ifndef MD_PHYSICS_PAIR_H
#define MD_PHYSICS_PAIR_H

#include "physics/real.h"

#define MD_MAX_TYPES 8

#define MD_REAL       float
#define MD_TYPE(name) name##_f
#ifdef __cplusplus
#define MD_NAME(name) name
#else
#define MD_NAME(name) name##_f
#endif
#define MD_SQRT sqrtf
#include "physics/pair.inc"
#undef MD_REAL
#undef MD_TYPE
#undef MD_NAME
#undef MD_SQRT

#define MD_REAL       double
#define MD_TYPE(name) name##_d
#ifdef __cplusplus
#define MD_NAME(name) name
#else
#define MD_NAME(name) name##_d
#endif
#define MD_SQRT sqrt
#include "physics/pair.inc"
#undef MD_REAL
#undef MD_TYPE
#undef MD_NAME
#undef MD_SQRT

#ifndef __CUDACC_RTC__ /* the host makes them */
/* One type pair, in double precision, from its plain parameters; shift_force implies shift_energy. */
static inline MdPair_d md_pair_make(double epsilon, double sigma, double cutoff, int shift_energy, int shift_force) {
    double s2 = sigma * sigma, s6 = s2 * s2 * s2, s12 = s6 * s6;
    MdPair_d pair = {.cutoff_sq = cutoff * cutoff,
                     .force_12 = 48 * epsilon * s12,
                     .attraction = 1 / (2 * s6),
                     .energy_12 = 4 * epsilon * s12,
                     .energy_6 = 4 * epsilon * s6,
                     .cutoff = cutoff,
                     .energy_shift = 0,
                     .force_shift = 0,
                     .truncation = 0};
#ifdef __cplusplus
    double over_r = md_pair_force(&pair, cutoff * cutoff), at_cutoff = md_pair_energy(&pair, cutoff * cutoff);
#else
    double over_r = md_pair_force_d(&pair, cutoff * cutoff), at_cutoff = md_pair_energy_d(&pair, cutoff * cutoff);
#endif
    pair.energy_shift = shift_energy || shift_force ? at_cutoff : 0;
    pair.truncation = at_cutoff - pair.energy_shift;
    if (shift_force) pair.force_shift = over_r * cutoff;
    return pair;
}

static inline MdPair_f md_pair_to_single(MdPair_d pair) {
    MdPair_f single = {(float)pair.cutoff_sq,    (float)pair.force_12,    (float)pair.attraction,
                       (float)pair.energy_12,    (float)pair.energy_6,    (float)pair.cutoff,
                       (float)pair.energy_shift, (float)pair.force_shift, (float)pair.truncation};
    return single;
}

#endif

#endif
