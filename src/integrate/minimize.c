#include "integrate/minimize.h"

#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/stop.h"
#include "parallel/comm.h"

enum { LOOK_EVERY = 10 }; /* steps from one look at the largest force to the next */

/* Of FIRE, as in its paper. */
enum { FIRE_WAIT = 5 };
static const double fire_faster = 1.1, fire_slower = 0.5, fire_alpha = 0.1, fire_less_alpha = 0.99, fire_most = 10;

typedef struct Descent {
    const MdBackendOps *ops;
    void *context;
    const MdConfig *config;
    const MdSystem *system;
    double most;       /* that an atom moves at a time, sigma */
    double half_skin;  /* a list holds until an atom has moved so far */
    double moved;      /* since the list was made, at most */
    double least_mass; /* of a type */
    double *force;     /* [n_own][3] */
} Descent;

/* --- the context ------------------------------------------------------------------------------------------------------ */

/* Physics, processes and device as the deck asks for them; the rest as by default, in double precision. asked: that before resolve. */
static MdStatus configure(const MdBackendOps *ops, const MdConfig *asked, const MdSystemPlan *plan,
                          MdConfig *unresolved, MdConfig *config, MdErrors *errors) {
    static const int none[] = {-1};
    MdDeck *plain = md_deck_read_overrides("relaxation", "minimize", none, 0, NULL, errors);
    if (!plain) return md_errors_status(errors);
    const MdConfig *defaults = md_deck_config(plain);
    *unresolved = *asked;
    for (int k = 0; k < MD_N_OPTIONS; k++)
        if (md_option_is_switch(k)) md_switch_set(unresolved, k, md_switch_value(defaults, k));
    unresolved->launch_registers = defaults->launch_registers;
    unresolved->run_backend = asked->run_backend;
    unresolved->parallel_transport = asked->parallel_transport;
    unresolved->run_precision = MD_PRECISION_DOUBLE;
    unresolved->ensemble_thermostat = MD_THERMOSTAT_NONE;
    unresolved->neighbor_predict = MD_PREDICT_OFF;
    unresolved->reduce_accumulate = MD_ACCUMULATE_REPRODUCIBLE;
    md_deck_destroy(plain);
    *config = *unresolved;
    return ops->resolve(config, plan, NULL, errors);
}

MdStatus md_minimize_estimate(const MdBackendOps *ops, const MdConfig *asked, const MdSystemPlan *plan,
                              MdMemory *memory, MdErrors *errors) {
    MdConfig unresolved, config;
    const MdStatus status = configure(ops, asked, plan, &unresolved, &config, errors);
    if (status == MD_OK) *memory = ops->estimate(&config, plan);
    return status;
}

/* --- steps ------------------------------------------------------------------------------------------------------------ */

/* v = keep v + push F/m, x += move v; then forces, with a list that holds. way: no atom moves further. */
static MdStatus step(Descent *d, double keep, double push, double move, double way) {
    MdStatus status = d->ops->descend(d->context, keep, push, move, d->most);
    d->moved += fmin(way, d->most);
    if (status == MD_OK && d->moved > d->half_skin) {
        status = d->ops->rebuild(d->context);
        d->moved = 0;
    }
    return status == MD_OK ? d->ops->compute_forces(d->context, false) : status;
}

/* The largest force on an atom, and the largest of force by mass; NaN: one is not finite. */
static MdStatus find_largest(Descent *d, double *largest, double *by_mass) {
    MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .force = d->force};
    double most[3] = {0, 0, 0}; /* and whether any is not finite */
    const MdStatus status = d->ops->gather(d->context, &frame);
    for (int64_t i = 0; status == MD_OK && i < d->system->n_own; i++) {
        const double *f = d->force + 3 * i, size = sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]);
        most[0] = fmax(most[0], size);
        most[1] = fmax(most[1], size / d->system->mass[d->system->type[i]]);
        if (!isfinite(size)) most[2] = 1;
    }
    md_comm_max(d->system->comm, most, 3);
    *largest = most[2] > 0 ? NAN : most[0];
    *by_mass = most[2] > 0 ? NAN : most[1];
    return status;
}

/* Whether any process is to stop. */
static bool is_stopped(const Descent *d) {
    double stops = md_stop_requested();
    md_comm_max(d->system->comm, &stops, 1);
    return stops > 0;
}

/* Whether to go on after a look: there are steps left, and a larger force than wanted. */
static bool goes_on(const Descent *d, const MdMinimization *result) {
    return !(result->force <= d->config->run_minimize_force) && result->n_steps < d->config->run_minimize_steps;
}

/* A stiff pair is stable with this factor of F/m: that of the longest step of FIRE. */
static double first_factor(const Descent *d) {
    const double longest = fire_most * d->config->run_timestep;
    return 0.25 * longest * longest;
}

/* Atoms that overlap come apart, each by the longest way that is allowed at a time. */
static MdStatus separate(Descent *d, MdMinimization *result) {
    double by_mass;
    MdStatus status = find_largest(d, &result->force, &by_mass);
    result->force_before = result->force;
    while (status == MD_OK && goes_on(d, result) && !(first_factor(d) * by_mass < d->most)) {
        if (is_stopped(d)) return MD_STOPPED;
        for (int k = 0; k < LOOK_EVERY && status == MD_OK; k++, result->n_steps++)
            status = step(d, 0, 1, first_factor(d), d->most);
        if (status == MD_OK) status = find_largest(d, &result->force, &by_mass);
    }
    return status;
}

/* With the differences x of places and y of F/m from step to step, s = x y / y^2 (in each product a factor m). After a step the velocity
 * is the old F/m: less the new one it is y, whose square is twice the kinetic energy. */
static MdStatus steepest(Descent *d, MdMinimization *result) {
    double s = first_factor(d), f_sq = NAN, by_mass;
    MdStatus status = MD_OK;
    while (status == MD_OK && goes_on(d, result)) {
        if (is_stopped(d)) return MD_STOPPED;
        for (int k = 0; k < LOOK_EVERY && status == MD_OK; k++, result->n_steps++) {
            MdSums sums;
            status = d->ops->descend(d->context, 1, -1, 0, d->most);
            if (status == MD_OK) status = d->ops->sum(d->context, &sums);
            if (status != MD_OK) break;
            const double y_sq = 2 * sums.kinetic, wanted = s * (f_sq - sums.force_sq_mass + y_sq) / (2 * y_sq);
            s = wanted > 0 && wanted < 1e3 * first_factor(d) ? wanted : first_factor(d); /* also at the first step */
            f_sq = sums.force_sq_mass;
            status = step(d, 0, 1, s, s * sqrt(f_sq / d->least_mass));
        }
        if (status == MD_OK) status = find_largest(d, &result->force, &by_mass);
    }
    return status;
}

/* From rest. */
static MdStatus fire(Descent *d, MdMinimization *result) {
    const double least = 0.02 * d->config->run_timestep, longest = fire_most * d->config->run_timestep;
    double dt = d->config->run_timestep, alpha = fire_alpha, kinetic = 0, by_mass;
    int n_downhill = 0;
    MdStatus status = d->ops->descend(d->context, 0, 0, 0, d->most);
    while (status == MD_OK && goes_on(d, result)) {
        if (is_stopped(d)) return MD_STOPPED;
        for (int k = 0; k < LOOK_EVERY && status == MD_OK; k++, result->n_steps++) {
            MdSums sums;
            status = d->ops->descend(d->context, 1, dt, 0, d->most); /* v += F/m dt */
            if (status == MD_OK) status = d->ops->sum(d->context, &sums);
            if (status != MD_OK) break;
            /* F v before the kick and after it: the kick has changed the kinetic energy by dt F v + dt^2 F^2 / (2 m) */
            const double f_sq = sums.force_sq_mass, power = (sums.kinetic - kinetic) / dt - 0.5 * dt * f_sq,
                         power_now = power + dt * f_sq;
            double keep = 1 - alpha, push = f_sq > 0 ? alpha * sqrt(2 * sums.kinetic / f_sq) : 0;
            n_downhill = power >= 0 ? n_downhill + 1 : 0;
            if (power < 0) {
                dt = fmax(dt * fire_slower, least);
                alpha = fire_alpha;
                keep = 0;
                push = dt;
            } else if (n_downhill > FIRE_WAIT) {
                dt = fmin(dt * fire_faster, longest);
                alpha *= fire_less_alpha;
            }
            kinetic = keep * keep * sums.kinetic + keep * push * power_now + 0.5 * push * push * f_sq;
            status = step(d, keep, push, dt, dt * sqrt(2 * kinetic / d->least_mass));
        }
        if (status == MD_OK) status = find_largest(d, &result->force, &by_mass);
    }
    return status;
}

/* --- the whole --------------------------------------------------------------------------------------------------------- */

static MdStatus find_potential(const Descent *d, double *potential) {
    MdSums sums;
    MdStatus status = d->ops->compute_forces(d->context, true);
    if (status == MD_OK) status = d->ops->sum(d->context, &sums);
    if (status == MD_OK) *potential = sums.potential / (double)d->system->n_atoms;
    return status;
}

static MdStatus relax(Descent *d, MdMinimization *result, MdSystem *system, MdErrors *errors) {
    MdStatus status = d->ops->update_neighbors(d->context, 0);
    if (status == MD_OK) status = find_potential(d, &result->potential_before);
    if (status == MD_OK) status = separate(d, result);
    if (status == MD_OK) status = (d->config->run_minimize == MD_MINIMIZE_FIRE ? fire : steepest)(d, result);
    if (status == MD_OK && isnan(result->force))
        return md_fail(
            errors, MD_ERROR_INPUT,
            "run.minimize: the force on an atom is not finite after %lld steps: two atoms stand at one place, "
            "or the box has no room for them",
            (long long)result->n_steps);
    if (status == MD_OK) status = find_potential(d, &result->potential);
    MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .position = system->position, .image = system->image};
    return status == MD_OK ? d->ops->gather(d->context, &frame) : status;
}

MdStatus md_minimize(const MdBackendOps *ops, const MdConfig *asked, const MdSystemPlan *plan, MdSystem *system,
                     MdMinimization *result, MdErrors *errors) {
    const double start_s = md_clock_s();
    MdConfig unresolved, config;
    Descent d = {.ops = ops, .config = &config, .system = system, .most = INFINITY, .least_mass = INFINITY};
    *result = (MdMinimization){0};
    MdStatus status = configure(ops, asked, plan, &unresolved, &config, errors);
    if (status == MD_OK) status = ops->create(&d.context, &config, &unresolved, system, errors);
    status = md_comm_worst_status(system->comm, status, errors);
    if (status == MD_OK) {
        const int n_types = system->potential.n_types;
        for (int k = 0; k < n_types * n_types; k++)
            d.most = fmin(d.most, 0.1 * md_pair_contact(system->potential.form, &system->potential.pair[k]));
        for (int t = 0; t < n_types; t++) d.least_mass = fmin(d.least_mass, system->mass[t]);
        d.half_skin = 0.5 * config.neighbor_skin;
        d.force = md_alloc(3 * (size_t)system->n_own, sizeof *d.force, "forces");
        status = relax(&d, result, system, errors);
    }
    if (d.context) ops->destroy(d.context);
    md_free(d.force);
    result->seconds = md_clock_s() - start_s;
    return md_comm_worst_status(system->comm, status, errors);
}
