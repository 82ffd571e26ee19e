/* Chain of Nose-Hoover thermostats (Martyna, Klein, Tuckerman, J. Chem. Phys. 97, 2635 (1992)): with masses Q_1 = N k T tau^2 and
 * Q_j = k T tau^2, for N degrees of freedom,
 *   dv/dt = f/m - u_1 v;  Q_1 du_1/dt = 2 K - N k T - Q_1 u_1 u_2;
 *   Q_j du_j/dt = Q_{j-1} u_{j-1}^2 - k T - Q_j u_j u_{j+1};  dx_j/dt = u_j.
 * Chain and factor of the velocities are advanced over the time between two actions by the factorization of Martyna, Tuckerman,
 * Tobias, Klein, Mol. Phys. 87, 1117 (1996), to fourth order (Yoshida, Phys. Lett. A 150, 262 (1990)) in steps of tau / 20 at
 * most. The total energy and
 *   sum Q_j u_j^2 / 2 + N k T x_1 + k T (x_2 + ... )
 * together are conserved: what the chain loses is the heat. All is in units of tau and k T: the numbers of the state have none. */
#include <math.h>

#include "physics/bath.h"

/* The state: positions of the chain, then velocities. */
enum { VELOCITIES = MD_BATH_STATE / 2 };

/* The force on link j divided by its mass; energy: K over its mean. */
static double force_on(const MdBathCall *call, const double *u, int j, double energy) {
    if (j == 0) return energy - 1;
    return (j == 1 ? call->degrees : 1) * u[j - 1] * u[j - 1] - 1;
}

/* Of the last link, then of each towards the first; or back. */
static void kick_link(const MdBathCall *call, double *u, int j, double energy, double time) {
    const double friction = j + 1 < call->chain ? exp(-u[j + 1] * time / 4) : 1;
    u[j] = (u[j] * friction + force_on(call, u, j, energy) * time / 2) * friction;
}

/* Returns the factor of the velocities. */
static double advance(const MdBathCall *call, double *x, double *u, double *energy, double time) {
    for (int j = call->chain - 1; j >= 0; j--) kick_link(call, u, j, *energy, time);
    const double factor = exp(-u[0] * time);
    *energy *= factor * factor;
    for (int j = 0; j < call->chain; j++) x[j] += u[j] * time;
    for (int j = 0; j < call->chain; j++) kick_link(call, u, j, *energy, time);
    return factor;
}

/* Of the chain, over k T. */
static double energy_of(const MdBathCall *call, const double *x, const double *u) {
    double energy = call->degrees * (u[0] * u[0] / 2 + x[0]);
    for (int j = 1; j < call->chain; j++) energy += u[j] * u[j] / 2 + x[j];
    return energy;
}

MdBathChange md_bath_nose_hoover(const MdBathCall *call) {
    double *x = call->state, *u = call->state + VELOCITIES, energy = call->kinetic / call->target, factor = 1;
    const double outer = 1 / (2 - cbrt(2)), parts[] = {outer, 1 - 2 * outer, outer}, before = energy_of(call, x, u);
    const int n = (int)ceil(20 * call->elapsed);
    for (int k = 0; k < n; k++)
        for (int part = 0; part < 3; part++) factor *= advance(call, x, u, &energy, parts[part] * call->elapsed / n);
    return (MdBathChange){.kinetic = energy * call->target,
                          .factor = factor,
                          .heat = call->temperature * (before - energy_of(call, x, u))};
}
