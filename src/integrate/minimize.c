#include "integrate/minimize.h"

#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/stop.h"
#include "parallel/comm.h"

enum { LOOK_EVERY = 10 }; /* steps from one look at the largest force to the next, at most */

/* Of FIRE, as in its paper. */
enum { FIRE_WAIT = 5 };
static const double fire_faster = 1.1, fire_slower = 0.5, fire_alpha = 0.1, fire_less_alpha = 0.99;

typedef struct Descent {
    const MdBackendOps *ops;
    void *context;
    const MdConfig *config;
    const MdSystem *system; /* with masses of 1 */
    double most;            /* largest displacement of an atom per step, sigma */
    double longest;         /* time step at which a pair in contact oscillates once in 2 pi steps */
    double half_skin;       /* a list holds until an atom has moved so far */
    double moved;           /* since the list was made, at most */
    double *force;          /* [n_own][3] */
} Descent;

/* --- the context ------------------------------------------------------------------------------------------------------ */

/* Physics, processes, threads and device as the deck asks for them; the rest as by default, in double precision, with sums that do not
 * depend on the order of their terms. asked: that before resolve. */
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
    unresolved->neighbor_capacity = defaults->neighbor_capacity;
    unresolved->neighbor_skin = NAN; /* auto: what the box has room for */
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
    if (status != MD_OK) return status;
    *memory = ops->estimate(&config, plan);
    memory->host_bytes += 3 * sizeof(double) * (uint64_t)md_comm_block_size(plan->comm, plan->n_atoms); /* forces */
    return MD_OK;
}

/* --- steps ------------------------------------------------------------------------------------------------------------ */

/* v = keep v + push F, x += move v; then forces, with a list that holds. way: no atom moves further. */
static MdStatus step(Descent *d, double keep, double push, double move, double way) {
    MdStatus status = d->ops->descend(d->context, keep, push, move, d->most);
    d->moved += fmin(way, d->most);
    if (status == MD_OK && d->moved > d->half_skin) {
        status = d->ops->rebuild(d->context);
        d->moved = 0;
    }
    return status == MD_OK ? d->ops->compute_forces(d->context, false) : status;
}

/* The largest force on an atom; NaN: one is not finite. */
static MdStatus find_largest(Descent *d, double *force) {
    MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .force = d->force};
    double largest[2] = {0, 0}; /* and whether any is not finite */
    const MdStatus status = d->ops->gather(d->context, &frame);
    for (int64_t i = 0; status == MD_OK && i < d->system->n_own; i++) {
        const double *f = d->force + 3 * i, size = sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]);
        largest[0] = fmax(largest[0], size);
        if (!isfinite(size)) largest[1] = 1;
    }
    md_comm_max(d->system->comm, largest, 2);
    *force = largest[1] > 0 ? NAN : largest[0];
    return status;
}

/* Whether any process is to stop. */
static bool is_stopped(const Descent *d) {
    double stops = md_stop_requested();
    md_comm_max(d->system->comm, &stops, 1);
    return stops > 0;
}

/* Whether to go on: there are steps left, and a larger force than wanted, which is finite. */
static bool goes_on(const Descent *d, const MdMinimization *result) {
    return result->force > d->config->run_minimize_force && result->n_steps < d->config->run_minimize_steps;
}

/* Whether another step comes before the next look. */
static bool has_step(const Descent *d, const MdMinimization *result, int k) {
    return k < LOOK_EVERY && result->n_steps < d->config->run_minimize_steps;
}

/* Atoms that overlap come apart, each by the largest displacement per step. If the largest force does not fall from look to look, as of
 * atoms that jump over each other's minimum, the factor s is halved. */
static MdStatus separate(Descent *d, MdMinimization *result) {
    double s = 0.25 * d->longest * d->longest;
    MdStatus status = find_largest(d, &result->force);
    result->force_before = result->force;
    while (status == MD_OK && goes_on(d, result) && s * result->force > d->most) {
        const double before = result->force;
        if (is_stopped(d)) return MD_STOPPED;
        for (int k = 0; has_step(d, result, k) && status == MD_OK; k++, result->n_steps++)
            status = step(d, 0, 1, s, d->most);
        if (status == MD_OK) status = find_largest(d, &result->force);
        if (!(result->force < before)) s *= 0.5;
    }
    return status;
}

/* With the changes x of positions and y of -F from step to step, s = x y / y^2. After a step the velocity is the old F: less the new one
 * it is y, whose square is twice the kinetic energy. */
static MdStatus steepest(Descent *d, MdMinimization *result) {
    const double first = 0.25 * d->longest * d->longest;
    double s = first, f_sq = NAN;
    MdStatus status = MD_OK;
    while (status == MD_OK && goes_on(d, result)) {
        if (is_stopped(d)) return MD_STOPPED;
        for (int k = 0; has_step(d, result, k) && status == MD_OK; k++, result->n_steps++) {
            MdSums sums;
            status = d->ops->descend(d->context, 1, -1, 0, d->most);
            if (status == MD_OK) status = d->ops->sum(d->context, &sums);
            if (status != MD_OK) break;
            const double y_sq = 2 * sums.kinetic, wanted = s * (f_sq - sums.force_sq_mass + y_sq) / (2 * y_sq);
            s = wanted > 0 && wanted < 1e3 * first ? wanted : first; /* also at the first step */
            f_sq = sums.force_sq_mass;
            status = step(d, 0, 1, s, s * sqrt(f_sq));
        }
        if (status == MD_OK) status = find_largest(d, &result->force);
    }
    return status;
}

/* From rest. */
static MdStatus fire(Descent *d, MdMinimization *result) {
    const double longest = d->longest, least = longest / 500;
    double dt = longest / 10, alpha = fire_alpha, kinetic = 0;
    int n_downhill = 0;
    MdStatus status = d->ops->descend(d->context, 0, 0, 0, d->most);
    while (status == MD_OK && goes_on(d, result)) {
        if (is_stopped(d)) return MD_STOPPED;
        for (int k = 0; has_step(d, result, k) && status == MD_OK; k++, result->n_steps++) {
            MdSums sums;
            status = d->ops->descend(d->context, 1, dt, 0, d->most); /* v += F dt */
            if (status == MD_OK) status = d->ops->sum(d->context, &sums);
            if (status != MD_OK) break;
            /* F v before the kick and after it: the kick has changed the kinetic energy by dt F v + dt^2 F^2 / 2 */
            const double f_sq = sums.force_sq_mass, power = (sums.kinetic - kinetic) / dt - 0.5 * dt * f_sq,
                         power_now = power + dt * f_sq;
            double keep = 1 - alpha, push = f_sq > 0 ? alpha * sqrt(2 * sums.kinetic / f_sq) : 0;
            const bool is_uphill = power < -1e-9 * sums.kinetic / dt; /* from rest it is 0 and rounding */
            n_downhill = is_uphill ? 0 : n_downhill + 1;
            if (is_uphill) {
                dt = fmax(dt * fire_slower, least);
                alpha = fire_alpha;
                keep = 0;
                push = dt;
            } else if (n_downhill > FIRE_WAIT) {
                dt = fmin(dt * fire_faster, longest);
                alpha *= fire_less_alpha;
            }
            kinetic = keep * keep * sums.kinetic + keep * push * power_now + 0.5 * push * push * f_sq;
            status = step(d, keep, push, dt, dt * sqrt(2 * kinetic));
        }
        if (status == MD_OK) status = find_largest(d, &result->force);
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
    MdSystem light = *system;
    Descent d = {.ops = ops, .config = &config, .system = &light, .most = INFINITY};
    double stiffness = 0;
    *result = (MdMinimization){0};
    MdStatus status = configure(ops, asked, plan, &unresolved, &config, errors);
    for (int t = 0; t < system->potential.n_types; t++) light.mass[t] = 1;
    if (status == MD_OK) status = ops->create(&d.context, &config, &unresolved, &light, errors);
    status = md_comm_worst_status(system->comm, status, errors);
    if (status == MD_OK) {
        const MdPotential *potential = &system->potential;
        for (int k = 0; k < potential->n_types * potential->n_types; k++) {
            const double contact = md_potential_contact(potential, k);
            d.most = fmin(d.most, 0.1 * contact);
            stiffness = fmax(stiffness, md_potential_shape(potential, k, contact).ddu);
        }
        d.longest = 1 / sqrt(stiffness);
        d.half_skin = 0.5 * config.neighbor_skin;
        d.force = md_alloc(3 * (size_t)system->n_own, sizeof *d.force, "forces");
        status = relax(&d, result, system, errors);
    }
    if (d.context) ops->destroy(d.context);
    md_free(d.force);
    result->seconds = md_clock_s() - start_s;
    return md_comm_worst_status(system->comm, status, errors);
}
