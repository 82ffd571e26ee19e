/* Thermostats that scale the velocities: what one is given, and what it gives.
 *
 * A bath is a row of baths.def and a file in baths/ with one function, md_bath_<file>. It is called at each step at which the
 * thermostat acts, and says what the kinetic energy becomes. It has no state: random numbers follow from key and step (philox.h),
 * so that a run that is resumed, or has more ranks, draws the same. Scaling and heat are those of integrate/thermostat.c. */
#ifndef MD_PHYSICS_BATH_H
#define MD_PHYSICS_BATH_H

#include <stdint.h>

#include "physics/baths.def"

typedef struct MdBathCall {
    double kinetic;     /* energy of the motion without that of the whole, epsilon: above 0 */
    double target;      /* its mean at the target temperature, degrees k T / 2 */
    double degrees;     /* of freedom: 2 at least */
    double elapsed;     /* time since it acted last over ensemble.relaxation; NaN without MD_BATH_RELAXES */
    uint64_t key, step; /* of random numbers */
} MdBathCall;

typedef struct MdBathChange {
    double kinetic, factor; /* energy afterwards; of the velocities: its square is the ratio of the energies */
} MdBathChange;

typedef MdBathChange MdBath(const MdBathCall *call);

#define MD_DECLARE_BATH(name, word, file, ...) MdBath md_bath_##file;
MD_BATHS(MD_DECLARE_BATH)
#undef MD_DECLARE_BATH

#endif
