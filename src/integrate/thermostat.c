#include "integrate/thermostat.h"

#include <float.h>

#include "system/random.h"
#include "system/velocity.h"

/* Roundings in the force on a particle, each of a part of it that the others cancel: 48 of a pair, and those of adding up a row
 * of some 80 pairs. */
static const double roundings = 128;

MdThermostat md_thermostat_make(const MdConfig *config, const MdSystemPlan *plan) {
#define BATH(name, word, file, traits, help) [MD_THERMOSTAT_##name] = {md_bath_##file, traits},
    static const struct {
        MdBath *bath;
        int traits;
    } baths[] = {MD_BATHS(BATH)};
#undef BATH
    const MdRealList *target = &config->ensemble_target;
    MdThermostat thermostat = {
        .bath = baths[config->ensemble_thermostat].bath,
        .by_atom = baths[config->ensemble_thermostat].traits & MD_BATH_BY_ATOM,
        .dimension = plan->box.dimension,
        .from = target->values[0],
        .to = target->values[target->n - 1],
        .every = config->ensemble_every,
        .last_step = config->ensemble_last_step,
        .elapsed = (double)config->ensemble_every * config->run_timestep / config->ensemble_relaxation,
        .noise = roundings * (config->run_precision == MD_PRECISION_DOUBLE ? DBL_EPSILON : FLT_EPSILON),
        .degrees = md_degrees_of_freedom(plan->n_atoms, plan->box.dimension),
        .key = md_random_stream_seed((uint64_t)config->system_seed, MD_STREAM_BATH),
        .comm = plan->comm};
    if (thermostat.last_step == MD_AUTO_INT) thermostat.last_step = config->run_steps;
    return thermostat;
}

void md_thermostat_weigh(MdThermostat *thermostat, const MdSystem *system) {
    thermostat->mass = md_system_mass(system);
}

/* Target temperature at a step. */
static double target_at(const MdThermostat *thermostat, int64_t step) {
    if (step >= thermostat->last_step) return thermostat->to;
    return thermostat->from + (thermostat->to - thermostat->from) * (double)step / (double)thermostat->last_step;
}

static double energy_at(const MdThermostat *thermostat, int64_t step) {
    return 0.5 * thermostat->degrees * target_at(thermostat, step);
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
    const int64_t end = thermostat->last_step < n_steps ? thermostat->last_step : n_steps;
    const int64_t first = (step / every + 1) * every, last = end / every * every;
    if (!thermostat->bath || thermostat->by_atom || first > last) return MD_OK;
    const double wanted = fmax(energy_at(thermostat, first), energy_at(thermostat, last));
    if (wanted == 0 || is_motion(thermostat, kinetic, wanted)) return MD_OK;
    const double shown = 2 / thermostat->degrees * md_config_factor(md_deck_config(deck), MD_TEMPERATURE);
    if (kinetic > 0)
        return md_fail(
            errors, MD_ERROR_INPUT,
            "%s: ensemble.target: read %g, but the temperature is %g at step %lld: too little to scale; allowed: up to "
            "%.3g",
            md_deck_origin(deck, MD_OPTION_ensemble_target), shown * wanted, shown * kinetic, (long long)step,
            shown * kinetic / (thermostat->noise * thermostat->noise));
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

/* As the head of thermostat.h says. before: the sums as they are. */
static MdStatus collide(MdThermostat *thermostat, const MdBackendOps *ops, void *context, const MdBathCall *call,
                        const MdBathChange *change, const MdSums *before) {
    MdCollisions collisions = {.share = change->share,
                               .keep = change->keep,
                               .spread = change->spread,
                               .key = call->key,
                               .step = call->step,
                               .dimension = thermostat->dimension};
    uint32_t words[4];
    double normal[4], back[3];
    md_noise_words(call->key, call->step, 0, MD_NOISE_CENTRE, words);
    md_noise_normal_pair(words, normal);
    md_noise_normal_pair(words + 2, normal + 2);
    for (int a = 0; a < thermostat->dimension; a++)
        collisions.shift[a] =
            sqrt(call->temperature / thermostat->mass) * normal[a] - before->momentum[a] / thermostat->mass;
    MdSums after;
    MdStatus status = ops->collide(context, &collisions);
    if (status == MD_OK) status = ops->sum(context, &after);
    if (status != MD_OK) return status;
    for (int a = 0; a < 3; a++) back[a] = (before->momentum[a] - after.momentum[a]) / thermostat->mass;
    thermostat->heat += inner_kinetic(thermostat, &after) - call->kinetic;
    return ops->scale_velocities(context, 1, back);
}

MdStatus md_thermostat_apply(MdThermostat *thermostat, const MdBackendOps *ops, void *context, int64_t step) {
    if (!thermostat->bath || step > thermostat->last_step || step % thermostat->every != 0) return MD_OK;
    MdSums sums;
    MdStatus status = ops->sum(context, &sums);
    if (status != MD_OK) return status;
    const double kinetic = inner_kinetic(thermostat, &sums), wanted = energy_at(thermostat, step);
    /* A run that blew up is stopped by its fault, not here. */
    if (!isfinite(kinetic) || (!thermostat->by_atom && !is_motion(thermostat, kinetic, wanted))) return MD_OK;
    const MdBathCall call = {.kinetic = kinetic,
                             .temperature = target_at(thermostat, step),
                             .target = wanted,
                             .degrees = thermostat->degrees,
                             .elapsed = thermostat->elapsed,
                             .key = thermostat->key,
                             .step = (uint64_t)step};
    MdBathChange change = thermostat->bath(&call);
    /* All have the same sums, and still the last bits of a logarithm are others on another kind of processor. */
    md_comm_broadcast(thermostat->comm, &change, sizeof change);
    if (thermostat->by_atom) return collide(thermostat, ops, context, &call, &change, &sums);
    double shift[3];
    for (int a = 0; a < 3; a++) shift[a] = (1 - change.factor) * sums.momentum[a] / thermostat->mass;
    thermostat->heat += change.kinetic - kinetic;
    return ops->scale_velocities(context, change.factor, shift);
}

int64_t md_thermostat_next(const MdThermostat *thermostat, int64_t step) {
    const int64_t next = thermostat->bath ? (step / thermostat->every + 1) * thermostat->every : INT64_MAX;
    return next <= thermostat->last_step ? next : INT64_MAX;
}
