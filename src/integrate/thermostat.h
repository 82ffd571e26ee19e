/* Velocity rescaling to a target temperature that may ramp.
 *
 * It keeps account of the energy it puts in, so that energy conservation can be judged in a heated run as well. */
#ifndef MD_INTEGRATE_THERMOSTAT_H
#define MD_INTEGRATE_THERMOSTAT_H

#include "backend/backend.h"

typedef struct MdThermostat {
    bool active;
    double from, to;          /* target temperature at step 0 and at last_step, epsilon/k */
    int64_t every, last_step; /* steps between rescalings; none after last_step */
    double heat;              /* energy put in so far, epsilon, all particles */
} MdThermostat;

MdThermostat md_thermostat_make(const MdConfig *config);

/* Rescales if it is due at this step. n_atoms and dimension give the degrees of freedom. */
MdStatus md_thermostat_apply(MdThermostat *thermostat, const MdBackendOps *ops, void *context, int64_t step,
                             int64_t n_atoms, int dimension);

#endif
