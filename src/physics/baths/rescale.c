/* Velocity rescaling: the kinetic energy becomes its mean (Woodcock, Chem. Phys. Lett. 10, 257 (1971)). */
#include <math.h>

#include "physics/bath.h"

MdBathChange md_bath_rescale(const MdBathCall *call) {
    return (MdBathChange){.kinetic = call->target, .factor = sqrt(call->target / call->kinetic)};
}
