/* Langevin thermostat: dv = f/m dt - gamma v dt + sqrt(2 gamma k T / m) dW. In the midst of each drift friction and noise are an
 * Ornstein-Uhlenbeck process, which is solved exactly: v' = c v + sqrt((1 - c^2) k T / m) R, c = exp(-gamma dt). The kinetic energy relaxes
 * twice as fast as the velocity: gamma = 1 / (2 relaxation). (Leimkuhler, Matthews, Appl. Math. Res. Express 2013, 34: positions have
 * the smallest error of the time step there.) */
#include <math.h>

#include "physics/bath.h"

MdBathChange md_bath_langevin(const MdBathCall *call) {
    return (MdBathChange){.share = 1, .keep = exp(-call->elapsed / 2), .drawn = -expm1(-call->elapsed)};
}
