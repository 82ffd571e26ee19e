#include "integrate/thermostat.h"

#include <float.h>
#include <string.h>

#include "base/number.h"
#include "system/random.h"
#include "system/velocity.h"

/* Roundings in the force on a particle, each of a part of it that the others cancel: 48 of a pair, and those of adding up a row
 * of some 80 pairs. */
static const double roundings = 128;

MdThermostat md_thermostat_make(const MdConfig *config, const MdSystemPlan *plan) {
    const MdBathRow row = md_bath_row(config->ensemble_thermostat);
    const bool by_atom = row.traits & MD_BATH_BY_ATOM, relaxes = row.traits & MD_BATH_RELAXES;
    MdThermostat thermostat = {
        .bath = by_atom ? NULL : row.bath,
        .by_atom = by_atom,
        .chain = row.traits & MD_BATH_HAS_CHAIN ? (int)config->ensemble_chain : 0,
        .target = md_config_target(config),
        .every = config->ensemble_every,
        .elapsed = relaxes ? (double)config->ensemble_every * config->run_timestep / md_config_relaxation(config)
                           : (double)NAN,
        .noise = roundings * (config->run_precision == MD_PRECISION_DOUBLE ? DBL_EPSILON : FLT_EPSILON),
        .degrees = md_config_degrees(config, plan->n_atoms, plan->box.dimension),
        .key = md_random_stream_seed((uint64_t)config->system_seed, MD_STREAM_BATH),
        .comm = plan->comm};
    return thermostat;
}

void md_thermostat_weigh(MdThermostat *thermostat, const MdSystem *system) {
    thermostat->mass = md_system_mass(system);
}

static double energy_at(const MdThermostat *thermostat, int64_t step) {
    return 0.5 * thermostat->degrees * md_ramp_at(&thermostat->target, step);
}

/* Kinetic energy of the motion without that of the whole. */
static double inner_kinetic(const MdThermostat *thermostat, const MdSums *sums) {
    double kinetic = sums->kinetic;
    for (int a = 0; a < 3; a++) kinetic -= sums->momentum[a] * sums->momentum[a] / (2 * thermostat->mass);
    return kinetic;
}

/* Whether there is more than noise. */
static bool is_motion(const MdThermostat *thermostat, double kinetic, double wanted) {
    return kinetic > thermostat->noise * thermostat->noise * wanted;
}

MdStatus md_thermostat_check(const MdThermostat *thermostat, double kinetic, int64_t step, const MdDeck *deck,
                             MdErrors *errors) {
    const int64_t n_steps = md_deck_config(deck)->run_steps, every = thermostat->every;
    const int64_t end = thermostat->target.last_step < n_steps ? thermostat->target.last_step : n_steps;
    const int64_t first = (step / every + 1) * every, last = end / every * every;
    if (!thermostat->bath || first > last) return MD_OK;
    const double wanted = fmax(energy_at(thermostat, first), energy_at(thermostat, last));
    if (wanted == 0 || is_motion(thermostat, kinetic, wanted)) return MD_OK;
    const double shown = 2 / thermostat->degrees * md_config_factor(md_deck_config(deck), MD_TEMPERATURE);
    char most[MD_NUMBER_BYTES];
    if (kinetic > 0)
        return md_fail(
            errors, MD_ERROR_INPUT,
            "%s: ensemble.target: read %g, but the temperature is %g at step %lld: too little to scale; allowed: up to "
            "%s",
            md_deck_origin(deck, MD_OPTION_ensemble_target), shown * wanted, shown * kinetic, (long long)step,
            md_number_at_most(most, shown * kinetic / (thermostat->noise * thermostat->noise)));
    return md_fail(errors, MD_ERROR_INPUT,
                   "%s: ensemble.thermostat: nothing to scale: all atoms are at rest at step %lld; start with a "
                   "system.temperature above 0",
                   md_deck_origin(deck, MD_OPTION_ensemble_thermostat), (long long)step);
}

MdStatus md_thermostat_check_motion(const MdThermostat *thermostat, const MdBackendOps *ops, void *context,
                                    int64_t step, const MdDeck *deck, MdErrors *errors) {
    if (!thermostat->bath) return MD_OK;
    MdSums sums;
    MdStatus status = ops->sum(context, &sums);
    return status == MD_OK ? md_thermostat_check(thermostat, inner_kinetic(thermostat, &sums), step, deck, errors)
                           : status;
}

MdStatus md_thermostat_apply(MdThermostat *thermostat, const MdBackendOps *ops, void *context, int64_t step) {
    if (!thermostat->bath || step > thermostat->target.last_step || step % thermostat->every != 0) return MD_OK;
    MdSums sums;
    MdStatus status = ops->sum(context, &sums);
    if (status != MD_OK) return status;
    const double kinetic = inner_kinetic(thermostat, &sums), wanted = energy_at(thermostat, step);
    /* A run that blew up is stopped by its fault, not here. */
    if (!isfinite(kinetic) || !is_motion(thermostat, kinetic, wanted)) return MD_OK;
    const MdBathCall call = {.kinetic = kinetic,
                             .temperature = md_ramp_at(&thermostat->target, step),
                             .target = wanted,
                             .degrees = thermostat->degrees,
                             .elapsed = thermostat->elapsed,
                             .key = thermostat->key,
                             .step = (uint64_t)step,
                             .chain = thermostat->chain,
                             .state = thermostat->state};
    MdBathChange change = thermostat->bath(&call);
    /* All have the same sums, and still the last bits of a logarithm are others on another kind of processor. */
    md_comm_broadcast(thermostat->comm, &change, sizeof change);
    md_comm_broadcast(thermostat->comm, thermostat->state, sizeof thermostat->state);
    double shift[3];
    for (int a = 0; a < 3; a++) shift[a] = (1 - change.factor) * sums.momentum[a] / thermostat->mass;
    thermostat->heat += thermostat->chain > 0 ? change.heat : change.kinetic - kinetic;
    return ops->scale_velocities(context, change.factor, shift);
}

MdStatus md_thermostat_save(const MdThermostat *thermostat, const MdBackendOps *ops, void *context,
                            MdBathSaved *saved) {
    MdSums sums = {0};
    const MdStatus status = thermostat->by_atom ? ops->sum(context, &sums) : MD_OK;
    saved->heat = thermostat->heat + sums.heat;
    memcpy(saved->state, thermostat->state, sizeof saved->state);
    return status;
}

int64_t md_thermostat_next(const MdThermostat *thermostat, int64_t step) {
    const int64_t next = thermostat->bath ? (step / thermostat->every + 1) * thermostat->every : INT64_MAX;
    return next <= thermostat->target.last_step ? next : INT64_MAX;
}
