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

#ifndef __CUDACC_RTC__                                   /* the host makes them */
static const double md_pair_minimum = 1.122462048309373; /* 2^(1/6): where the energy is least, in sigma of the pair */

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

/* What one particle per volume, evenly spread beyond the cutoff, adds to the energy of an atom and, times the density once more,
 * to the pressure: the integrals of U and of -r U' / D over half of its pairs (Allen, Tildesley, section 2.8). Of U as it stands,
 * without a shift. */
typedef struct MdTail {
    double energy, pressure;
} MdTail;

static inline MdTail md_pair_tail(const MdPair_d *pair, int dimension) {
    const double half_sphere = (dimension == 3 ? 2 : 1) * 3.141592653589793; /* half of the surface of radius 1 */
    const double power_12 = pair->energy_12 * pow(pair->cutoff, dimension - 12) / (12 - dimension),
                 power_6 = pair->energy_6 * pow(pair->cutoff, dimension - 6) / (6 - dimension);
    return (MdTail){half_sphere * (power_12 - power_6), half_sphere * (12 * power_12 - 6 * power_6) / dimension};
}

static inline MdPair_f md_pair_to_single(MdPair_d pair) {
    MdPair_f single = {(float)pair.cutoff_sq,    (float)pair.force_12,    (float)pair.attraction,
                       (float)pair.energy_12,    (float)pair.energy_6,    (float)pair.cutoff,
                       (float)pair.energy_shift, (float)pair.force_shift, (float)pair.truncation};
    return single;
}

#endif

#endif
