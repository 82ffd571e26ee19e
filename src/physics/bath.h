/* Thermostats: their arguments and results.
 *
 * A bath is a row of baths.def and a file in baths/ with one function, md_bath_<file>, which is called at each step at which the
 * thermostat acts. There are two kinds:
 *   without MD_BATH_BY_ATOM  it returns the new kinetic energy, and the factor of all velocities;
 *   with MD_BATH_BY_ATOM     it returns how atoms collide with the heat bath, each with its own random numbers (noise.h).
 * A bath has no state: random numbers follow from key and step, so that a run that is resumed, or has more ranks, draws the same. What
 * rank 0 gets counts for all: the C libraries of two hosts differ in the last bit of an exponential.
 * integrate/thermostat.c changes the velocities, keeps the total momentum and adds up the heat. */
#ifndef MD_PHYSICS_BATH_H
#define MD_PHYSICS_BATH_H

#include <stdint.h>

#include "physics/baths.def"

typedef struct MdBathCall {
    double kinetic; /* energy of the motion without that of the whole, epsilon: above 0, except with MD_BATH_BY_ATOM */
    double temperature; /* the target, epsilon/k */
    double target;      /* mean kinetic energy there, degrees k T / 2 */
    double degrees;     /* of freedom: 2 at least */
    double elapsed;     /* time since it acted last over ensemble.relaxation; NaN without MD_BATH_RELAXES */
    uint64_t key, step; /* of random numbers */
} MdBathCall;

typedef struct MdBathChange {
    double kinetic, factor; /* energy afterwards; of the velocities: its square is the ratio of the energies */
    /* MD_BATH_BY_ATOM: the probability of an atom to collide; then v becomes keep v + spread / sqrt(mass) times a normal number in
     * each direction. To leave the canonical distribution as it is spread^2 is (1 - keep^2) temperature. */
    double share, keep, spread;
} MdBathChange;

typedef MdBathChange MdBath(const MdBathCall *call);

#define MD_DECLARE_BATH(name, word, file, ...) MdBath md_bath_##file;
MD_BATHS(MD_DECLARE_BATH)
#undef MD_DECLARE_BATH

#endif
