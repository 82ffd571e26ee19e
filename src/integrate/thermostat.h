/* A thermostat: when it acts, and how the velocities change. The bath says by how much (physics/bath.h). Its target temperature may
 * ramp.
 *
 * It scales about the mean velocity, so that the total momentum does not change: the temperature is that of the motion
 * without it, and scaling all of it would turn heat into a drift of the whole system (Harvey, Tan, Cheatham, J. Comput. Chem.
 * 19, 726 (1998)). It keeps account of the energy it puts in, so that energy conservation can be judged in a heated run as well.
 *
 * A thermostat on each atom (MD_BATH_BY_ATOM) acts in the backends, in each step (physics/bath_atoms.h), and its heat since they were
 * created is in their sums. */
#ifndef MD_INTEGRATE_THERMOSTAT_H
#define MD_INTEGRATE_THERMOSTAT_H

#include "backend/backend.h"
#include "parallel/comm.h"
#include "physics/bath.h"
#include "physics/bath_atoms.h"

typedef struct MdThermostat {
    MdBath *bath;             /* NULL: none that acts here */
    bool by_atom;             /* it acts in the backend */
    MdRamp target;            /* no action after its last step */
    int64_t every;            /* steps between actions */
    double elapsed;           /* time between actions, in relaxation times */
    double noise;             /* share of the target speeds that only rounding of cancelling forces makes */
    double degrees, mass;     /* of freedom; of all particles */
    int chain;                /* MD_BATH_HAS_CHAIN: its length; 0: none */
    double state[MD_BATH_STATE]; /* of that */
    double heat; /* energy put in so far, epsilon, all particles; by_atom: before the backend was created */
    uint64_t key;             /* of its random numbers */
    const MdComm *comm;       /* the processes of the run */
} MdThermostat;

MdThermostat md_thermostat_make(const MdConfig *config, const MdSystemPlan *plan);

/* Before it is applied: the masses of the particles, of all processes, each of which calls it. */
void md_thermostat_weigh(MdThermostat *thermostat, const MdSystem *system);

/* Whether the velocities can be scaled to the targets after step and up to last_step: not if there is no motion, or only that
 * of rounding, and the target is above 0. kinetic: energy of the motion without that of the whole. An input error, with
 * the values of the deck. */
MdStatus md_thermostat_check(const MdThermostat *thermostat, double kinetic, int64_t step, const MdDeck *deck,
                             MdErrors *errors);

/* The same of the particles in the backend as they are. */
MdStatus md_thermostat_check_motion(const MdThermostat *thermostat, const MdBackendOps *ops, void *context,
                                    int64_t step, const MdDeck *deck, MdErrors *errors);

/* Acts if it is due at this step. Collective. */
MdStatus md_thermostat_apply(MdThermostat *thermostat, const MdBackendOps *ops, void *context, int64_t step);

/* For a restart file: all heat until now, and the state. Collective. */
MdStatus md_thermostat_save(const MdThermostat *thermostat, const MdBackendOps *ops, void *context, MdBathSaved *saved);

/* The first step after `step` at which it acts; INT64_MAX: never. */
int64_t md_thermostat_next(const MdThermostat *thermostat, int64_t step);

#endif
