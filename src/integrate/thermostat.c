#include "integrate/thermostat.h"

MdThermostat md_thermostat_make(const MdConfig *config) {
    const MdRealList *target = &config->ensemble_target;
    MdThermostat thermostat = {.active = config->ensemble_thermostat == MD_THERMOSTAT_RESCALE,
                               .from = target->values[0],
                               .to = target->values[target->n - 1],
                               .every = config->ensemble_every,
                               .last_step = config->ensemble_last_step};
    if (thermostat.last_step == MD_AUTO_INT) thermostat.last_step = config->run_steps;
    return thermostat;
}

/* Target temperature at a step. */
static double target_at(const MdThermostat *thermostat, int64_t step) {
    if (step >= thermostat->last_step) return thermostat->to;
    return thermostat->from + (thermostat->to - thermostat->from) * (double)step / (double)thermostat->last_step;
}

MdStatus md_thermostat_apply(MdThermostat *thermostat, const MdBackendOps *ops, void *context, int64_t step,
                             int64_t n_atoms, int dimension) {
    if (!thermostat->active || step > thermostat->last_step || step % thermostat->every != 0) return MD_OK;
    MdSums sums;
    MdStatus status = ops->sum(context, &sums);
    /* A system at rest has no velocities to scale; one that blew up is stopped by its fault, not by this. */
    if (status != MD_OK || !(sums.kinetic > 0) || !isfinite(sums.kinetic)) return status;
    double wanted = 0.5 * md_degrees_of_freedom(n_atoms, dimension) * target_at(thermostat, step);
    thermostat->heat += wanted - sums.kinetic;
    return ops->scale_velocities(context, sqrt(wanted / sums.kinetic));
}
