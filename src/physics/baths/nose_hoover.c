/* Chain of Nose-Hoover thermostats (Martyna, Klein, Tuckerman, J. Chem. Phys. 97, 2635 (1992)): with masses Q_1 = N k T tau^2 and
 * Q_j = k T tau^2, for N degrees of freedom,
 *   dv/dt = f/m - u_1 v;  Q_1 du_1/dt = 2 K - N k T - Q_1 u_1 u_2;
 *   Q_j du_j/dt = Q_{j-1} u_{j-1}^2 - k T - Q_j u_j u_{j+1};  dx_j/dt = u_j.
 * Chain and factor of the velocities are advanced over the time between two actions by the factorization of Martyna, Tuckerman,
 * Tobias, Klein, Mol. Phys. 87, 1117 (1996), to second order. Its steps follow the fastest rate of the chain: far from the target,
 * of many atoms, u_2 and u_3 grow to thousands of 1 / tau (u_2 as the cube root of N t, u_3 as its square). (Factorizations of higher
 * order have steps backwards in time, in which friction makes velocities explode.) The total energy and
 *   sum Q_j u_j^2 / 2 + N k T x_1 + k T (x_2 + ... )
 * together are conserved: what the chain loses is the heat. All is in units of tau and k T: the numbers of the state have none. */
#include <math.h>
#include <string.h>

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

/* The fastest rate at which chain and kinetic energy change, in units of 1 / tau. */
static double fastest(const MdBathCall *call, const double *u, double energy) {
    double rate = fmax(1, fmax(sqrt(energy), sqrt(call->degrees) * fabs(u[0])));
    for (int j = 0; j < call->chain; j++) rate = fmax(rate, fabs(u[j]));
    return rate;
}

/* Chain, energy and factor after `time`, in steps of a share of the fastest rate, but no more than most_steps of them. */
static const double most_steps = 4e6;
static double follow(const MdBathCall *call, double *state, double *energy, double share) {
    double *x = state, *u = state + VELOCITIES, factor = 1;
    for (double left = call->elapsed; left > 0;) {
        const double wanted = fmax(share / fastest(call, u, *energy), call->elapsed / most_steps);
        const double time = wanted < left ? left / ceil(left / wanted) : left;
        factor *= advance(call, x, u, energy, time);
        left = time < left ? left - time : 0;
    }
    return factor;
}

/* Alone, chain and kinetic energy conserve their sum: steps become shorter until they do. */
static const double first_share = 0.1, least_share = 1e-4;

MdBathChange md_bath_nose_hoover(const MdBathCall *call) {
    const double first = call->kinetic / call->target, before = energy_of(call, call->state, call->state + VELOCITIES);
    double state[MD_BATH_STATE], energy, factor, heat, lost;
    double share = first_share;
    do {
        memcpy(state, call->state, sizeof state);
        energy = first;
        factor = follow(call, state, &energy, share);
        heat = before - energy_of(call, state, state + VELOCITIES);
        lost = fabs(call->degrees / 2 * (energy - first) - heat) / (call->degrees / 2 * fmax(fmax(energy, first), 1));
        share /= 4;
    } while (!(lost <= md_bath_chain_lost) && share >= least_share);
    memcpy(call->state, state, sizeof state);
    return (MdBathChange){.kinetic = energy * call->target, .factor = factor, .heat = call->temperature * heat};
}
