/* Langevin thermostat: between steps of velocity Verlet each atom follows dv = -gamma v dt + sqrt(2 gamma k T / m) dW, an
 * Ornstein-Uhlenbeck process, which is solved exactly for any time t:
 *   v' = c v + sqrt((1 - c^2) k T / m) R, c = exp(-gamma t),
 * with a normal number R in each direction (Allen, Tildesley, Computer Simulation of Liquids, 2nd ed. (2017), section 12.2). The
 * kinetic energy relaxes twice as fast as the velocity: gamma = 1 / (2 relaxation). */
#include <math.h>

#include "physics/bath.h"

MdBathChange md_bath_langevin(const MdBathCall *call) {
    return (MdBathChange){.share = 1,
                          .keep = exp(-call->elapsed / 2),
                          .spread = sqrt(-expm1(-call->elapsed) * call->temperature)};
}
