#include "report/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/heat_bath.h"
#include "base/memory.h"
#include "base/stop.h"
#include "cpu/reference.h"
#include "cpu/slabs.h"
#include "parallel/comm.h"
#include "report/tolerance.h"

/* Names of checks that md_verify_conservation looks up. */
static const char resolution_name[] = "positions, rounded by up to (sigma)",
                  potential_name[] = "potential energy per atom", truncation_name[] = "truncation per atom";

static void add_check(MdVerification *verification, const char *name, int64_t step, double value, double limit) {
    size_t room = sizeof verification->checks / sizeof verification->checks[0];
    if ((size_t)verification->n_checks == room) md_panic("more checks than there is room for");
    MdCheck *check = &verification->checks[verification->n_checks++];
    snprintf(check->name, sizeof check->name, "%s", name);
    check->step = step;
    check->value = value;
    check->limit = limit;
    check->rms = NAN;
}

MdQuantity md_check_quantity(const MdCheck *check) {
    static const struct {
        const char *begin;
        MdQuantity quantity;
    } rows[] = {{"positions", MD_LENGTH},           {"displacement", MD_LENGTH},     {"potential energy", MD_ENERGY},
                {"truncation", MD_ENERGY},          {"virial", MD_ENERGY},           {"kinetic tensor", MD_ENERGY},
                {"trace of the tensor", MD_ENERGY}, {"conserved energy", MD_ENERGY}, {"total momentum", MD_MOMENTUM}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (strncmp(check->name, rows[k].begin, strlen(rows[k].begin)) == 0) return rows[k].quantity;
    return MD_NO_UNIT;
}

char *md_check_name(const MdCheck *check, MdUnits units) {
    const MdQuantity quantity = md_check_quantity(check);
    const char *reduced = strstr(check->name, " (sigma)");
    const int n = reduced ? (int)(reduced - check->name) : (int)strlen(check->name);
    if (units == MD_STYLE_LJ || quantity == MD_NO_UNIT) return md_copy_text(check->name);
    return md_format("%.*s (%s)", n, check->name, md_unit_name(units, quantity));
}

bool md_check_passed(const MdCheck *check) { return check->value <= check->limit; }

MdVerdict md_verify_verdict(const MdVerification *verification) {
    if (verification->fault.step >= 0) return MD_VERDICT_FAILED;
    for (int k = 0; k < verification->n_checks; k++)
        if (!md_check_passed(&verification->checks[k])) return MD_VERDICT_FAILED;
    return verification->complete ? MD_VERDICT_PASSED : MD_VERDICT_NOT_CHECKED;
}

const char *md_verdict_text(MdVerdict verdict) {
    static const char *const texts[] = {"NOT CHECKED", "PASSED", "FAILED"};
    return texts[verdict];
}

/* Largest of two numbers; NaN when either is. */
static double larger(double a, double b) { return isnan(a) || a > b ? a : b; }

/* Over all processes; NaN when one has it. */
static double largest_of_all(const MdComm *comm, double value) {
    double values[] = {value, isnan(value) ? 1 : 0};
    md_comm_max(comm, values, 2);
    return values[1] > 0 ? (double)NAN : values[0];
}

/* The largest error of a force component, in units of its bound; NaN when any of the numbers is not finite. */
static double worst_force(const MdSystem *system, const double *force, const double *expected, const double *bound) {
    double worst = 0;
    for (int64_t i = 0; i < system->n_own; i++)
        for (int a = 0; a < 3; a++) {
            double error = fabs(force[3 * i + a] - expected[3 * i + a]);
            if (!isfinite(error) || !isfinite(bound[i])) return NAN;
            if (error > 0) worst = fmax(worst, error / bound[i]); /* an atom with no neighbour has bound 0: inf */
        }
    return worst;
}

/* Root of the mean square of the errors of all components, as the bounds differ between precisions and this does not. */
static double rms_force(const MdSystem *system, const double *force, const double *expected) {
    double sum = 0;
    int64_t n = system->n_atoms * system->box.dimension;
    for (int64_t k = 0; k < 3 * system->n_own; k++) sum += (force[k] - expected[k]) * (force[k] - expected[k]);
    md_comm_add_doubles(system->comm, &sum, 1);
    return sqrt(sum / (double)n);
}

static void add_force_check(MdVerification *verification, const char *name, int64_t step, const MdSystem *system,
                            const double *force, const double *expected, const double *bound) {
    const double worst = largest_of_all(system->comm, worst_force(system, force, expected, bound));
    add_check(verification, name, step, worst, 1);
    verification->checks[verification->n_checks - 1].rms = rms_force(system, force, expected);
}

/* Where atoms are: the largest coordinate or periodic edge; the longest distance of atoms along an open axis; and the part
 * of both that an origin of positions may be away from the atoms of a pair: a brick of a wide open box. */
typedef struct Room {
    double extent, spread, wide;
} Room;

static Room measure_room(const MdSystem *system, const double *position, const MdConfig *config) {
    Room room = {0, 0, 0};
    for (int a = 0; a < system->box.dimension; a++) {
        double ends[] = {-INFINITY, -INFINITY}; /* of -x and of x */
        for (int64_t i = 0; i < system->n_own; i++) {
            ends[0] = fmax(ends[0], -position[3 * i + a]);
            ends[1] = fmax(ends[1], position[3 * i + a]);
        }
        md_comm_max(system->comm, ends, 2);
        const bool periodic = system->box.periodic[a];
        room.extent = fmax(room.extent, periodic ? system->box.length[a] : fmax(fabs(ends[0]), fabs(ends[1])));
        if (!periodic) room.spread = fmax(room.spread, ends[0] + ends[1]);
    }
    if (config->force_kernel == MD_KERNEL_BRICK) room.wide = room.spread;
    return room;
}

/* The largest difference of a coordinate from that which the system was made with; NaN where one is not finite. */
static double places_off(const MdSystem *system, const double *position) {
    double most = 0;
    for (int64_t k = 0; k < 3 * system->n_own; k++) {
        const int a = (int)(k % 3);
        const double off = fabs(md_nearest_image_d(position[k] - system->position[k], system->box.length[a],
                                                   md_box_inverse(&system->box, a)));
        if (isnan(off)) return off;
        most = fmax(most, off);
    }
    return most;
}

uint64_t md_verify_bytes(const MdSystemPlan *plan) {
    const uint64_t n_own = (uint64_t)md_comm_block_size(plan->comm, plan->n_atoms),
                   embeds = md_potential_embeds(&plan->potential),
                   n_here = (uint64_t)md_slab_most(plan, (embeds ? 2 : 1) * 1.05 * plan->potential.cutoff_max);
    /* five arrays (13 doubles an atom); the reference's cells: position, number, cell and bucket of an atom, and
     * the buckets, between one and two an atom; of a many-body form its densities; of several processes the messages, or the forces of a slab */
    return n_own * 13 * sizeof(double) +
           n_here * ((4 + 8 * embeds) * sizeof(double) + 7 * sizeof(int64_t) + 2 * sizeof(bool)) +
           (plan->comm ? n_here * 12 * sizeof(double) : 0);
}

/* The data of a check: positions and forces of the atoms of this process, and the totals. */
typedef struct Measured {
    double *position, *force[2]; /* [n_own][3], as in the system; force[1] with energy */
    MdSums sums;
    double kinetic_tensor
        [MD_N_TENSOR]; /* with analysis.pressure = tensor: sum of m v_a v_b over the velocities of all atoms */
    double row;        /* neighbours in a row of the list; NaN: no list */
} Measured;

/* velocity [n_own][3]: room for them. */
static MdStatus measure_kinetic(const MdBackendOps *ops, void *context, const MdSystem *system, double *velocity,
                                double tensor[MD_N_TENSOR]) {
    MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .velocity = velocity};
    const MdStatus status = ops->gather(context, &frame);
    if (status != MD_OK) return status;
    for (int64_t i = 0; i < system->n_own; i++)
        for (int k = 0; k < MD_N_TENSOR; k++)
            tensor[k] += system->mass[system->type[i]] * velocity[3 * i + MD_TENSOR_FIRST_AXIS(k)] *
                         velocity[3 * i + MD_TENSOR_SECOND_AXIS(k)];
    return MD_OK;
}

static MdStatus measure(const MdBackendOps *ops, void *context, const MdSystem *system, const MdConfig *config,
                        Measured *measured) {
    MdStatus status = MD_OK;
    if (config->analysis_pressure == MD_PRESSURE_TENSOR)
        status = measure_kinetic(ops, context, system, measured->force[0], measured->kinetic_tensor);
    MdStatistics statistics;
    for (int with_energy = 0; with_energy < 2 && status == MD_OK; with_energy++) {
        MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE,
                         .position = measured->position,
                         .force = measured->force[with_energy]};
        status = ops->compute_forces(context, with_energy == 1);
        if (status == MD_OK) status = ops->gather(context, &frame);
    }
    if (status == MD_OK) status = ops->sum(context, &measured->sums);
    if (status != MD_OK) return status;
    ops->statistics(context, &statistics);
    measured->row = statistics.neighbors_per_atom;
    return MD_OK;
}

/* The mean curvature of the particles of a type, of that where it is largest. */
static double stiffest_type(const MdReferenceScales *scales) {
    double most = -INFINITY;
    for (int t = 0; t < MD_MAX_TYPES; t++)
        if (scales->n_of[t] > 0) most = fmax(most, scales->curvature_of[t] / scales->n_of[t]);
    return most;
}

/* The tensor against that of the reference, and its trace against the scalar sums, of which only additions and products differ.
 * limit: of a component of the virial; traced: of the trace of the virial, twice. Collective. */
static void add_tensor_checks(MdVerification *verification, const Measured *measured, const MdSums *reference,
                              const MdSystem *system, const MdConfig *config, double limit, double traced,
                              int64_t step) {
    const MdSums *sums = &measured->sums;
    double kinetic[MD_N_TENSOR], off = 0, kinetic_off = 0, trace = 0, n = (double)system->n_atoms;
    memcpy(kinetic, measured->kinetic_tensor, sizeof kinetic);
    md_comm_add_doubles(system->comm, kinetic, MD_N_TENSOR);
    for (int k = 0; k < MD_N_TENSOR; k++) {
        off = larger(fabs(sums->virial_tensor[k] - reference->virial_tensor[k]), off);
        kinetic_off = larger(fabs(sums->kinetic_tensor[k] - kinetic[k]), kinetic_off);
        if (k < MD_XY) trace += sums->virial_tensor[k] + sums->kinetic_tensor[k];
    }
    /* a mass may be the inverse of its inverse, in the precision of pairs */
    const double rounded =
        4 * md_tolerance_unit(config->run_precision) + md_tolerance_accumulate(config, system->n_atoms);
    const double kinetic_limit = rounded * (kinetic[MD_XX] + kinetic[MD_YY] + kinetic[MD_ZZ]);
    add_check(verification, "virial tensor per atom, a component", step, off / n, limit / n);
    add_check(verification, "kinetic tensor per atom, a component", step, kinetic_off / n, kinetic_limit / n);
    add_check(verification, "trace of the tensor, off scalar, per atom", step,
              fabs(trace - sums->virial - 2 * sums->kinetic) / n, (traced + 2 * kinetic_limit) / n);
}

/* The checks of measured against the reference. Collective, and the same on all ranks. */
static MdStatus compare(MdVerification *verification, const MdBackendOps *ops, const Measured *measured,
                        const MdSystem *system, const MdConfig *config, int64_t step) {
    const double n = (double)system->n_atoms, *position = measured->position;
    const MdSums *sums = &measured->sums;
    double *expected = md_alloc(3 * (size_t)system->n_own, sizeof(double), "verification"),
           *bound = md_alloc((size_t)system->n_own, sizeof(double), "verification");
    MdSums reference, limits;
    MdReferenceScales scales;
    md_reference_forces(system, position, expected, &reference);
    /* A kernel without a list adds only pairs inside the cutoff. */
    const double row = isfinite(measured->row) ? measured->row : 2 * reference.pairs / n;
    const double roundoff = md_tolerance_roundoff(config, row),
                 accumulate = md_tolerance_accumulate(config, system->n_atoms);
    const double shake = md_tolerance_shake(config->run_precision);
    const Room room = measure_room(system, position, config);
    md_reference_bounds(system, position, roundoff, accumulate, shake, room.wide, bound, &limits, &scales);
    /* It stopped because of a signal, which perhaps only one process got. */
    const int signal = (int)largest_of_all(system->comm, md_stop_signal());
    const bool is_stopped = signal > 0;
    if (is_stopped) md_stop_request(signal);
    if (!is_stopped) {
        /* The size of the potential energy is at most its bound divided by the factor there. */
        verification->accumulated =
            fmax(verification->accumulated, accumulate * limits.potential / (roundoff + accumulate) / n);
        verification->curvature = fmax(verification->curvature, scales.curvature / n);
        verification->curvature_at_end = stiffest_type(&scales);
        verification->force = fmax(verification->force, scales.force / n);
        if (step == 0)
            add_check(verification, "positions, difference from input (sigma)", step,
                      largest_of_all(system->comm, places_off(system, position)),
                      ops->rounding(config, &system->box, room.extent, room.spread));
        add_check(verification, resolution_name, step, ops->rounding(config, &system->box, scales.extent, room.spread),
                  md_tolerance_rounding(&system->potential));
        /* Forces are compared in units of their bound, so the limit is 1. */
        add_force_check(verification, "forces, force-only path (error / bound)", step, system, measured->force[0],
                        expected, bound);
        add_force_check(verification, "forces, energy path (error / bound)", step, system, measured->force[1], expected,
                        bound);
        add_check(verification, "pairs inside the cutoff, too many or few", step, fabs(sums->pairs - reference.pairs),
                  limits.pairs);
        add_check(verification, potential_name, step, fabs(sums->potential - reference.potential) / n,
                  limits.potential / n);
        add_check(verification, truncation_name, step, fabs(sums->truncation - reference.truncation) / n,
                  limits.truncation / n);
        add_check(verification, "virial per atom", step, fabs(sums->virial - reference.virial) / n, limits.virial / n);
        if (config->analysis_pressure == MD_PRESSURE_TENSOR)
            add_tensor_checks(verification, measured, &reference, system, config, limits.virial_tensor[0],
                              (roundoff + accumulate) * scales.force * system->potential.cutoff_max, step);
    }
    md_free(expected);
    md_free(bound);
    return is_stopped ? MD_STOPPED : MD_OK;
}

MdStatus md_verify_forces(MdVerification *verification, const MdBackendOps *ops, void *context, const MdSystem *system,
                          const MdConfig *config, int64_t step) {
    const size_t n = (size_t)system->n_own;
    Measured measured = {
        .position = md_alloc(3 * n, sizeof(double), "verification"),
        .force = {md_alloc(3 * n, sizeof(double), "verification"), md_alloc(3 * n, sizeof(double), "verification")}};
    MdStatus status = measure(ops, context, system, config, &measured);
    const bool is_measured = largest_of_all(system->comm, status == MD_OK ? 0 : 1) == 0;
    if (is_measured) status = compare(verification, ops, &measured, system, config, step);
    md_free(measured.position);
    md_free(measured.force[0]);
    md_free(measured.force[1]);
    return status;
}

/* Particles before a step and their positions after it. */
typedef struct Motion {
    double *position, *velocity, *force, *moved_to; /* [n_own][3] */
} Motion;

static MdStatus make_step(const MdBackendOps *ops, void *context, const Motion *motion, int64_t step) {
    MdFrame before = {.precision = MD_FILE_PRECISION_DOUBLE,
                      .position = motion->position,
                      .velocity = motion->velocity,
                      .force = motion->force},
            after = {.precision = MD_FILE_PRECISION_DOUBLE, .position = motion->moved_to};
    MdStatus status = ops->gather(context, &before);
    if (status == MD_OK) status = ops->advance(context, step + 1, 1, false);
    return status == MD_OK ? ops->gather(context, &after) : status;
}

/* Of the atoms of one type: how many, the squares of their displacements, how many lose more than a share of their step, the
 * longest displacement, and the largest error of one. */
typedef struct Displacements {
    double n, sum_sq, n_losing, longest, off;
} Displacements;

/* By friction and noise in the midst of the drift to `step` (bath_atoms.h): the mean of the velocities before and after it. */
static void pass_bath(const MdBathAtoms *bath, int precision, int64_t step, uint32_t id, int type, double v[3]) {
    uint32_t words[4];
    double normal[3];
    if (!bath->facts || !md_bath_changes(bath, step, id)) return;
    md_noise_words_of_atom(bath->keys, (uint64_t)step, id, MD_NOISE_NORMAL, words);
    if (precision == MD_PRECISION_DOUBLE) md_noise_normals_d(words, normal);
    else {
        float single[3];
        md_noise_normals_f(words, single);
        for (int a = 0; a < 3; a++) normal[a] = (double)single[a];
    }
    const double width = md_bath_width(bath, step, bath->root[type]);
    for (int a = 0; a < bath->dimension; a++)
        v[a] = 0.5 * (v[a] + md_bath_velocity_d(v[a], bath->keep, width, normal[a]));
}

static void compare_motion(MdVerification *verification, const MdBackendOps *ops, const Motion *motion,
                           const MdSystem *system, const MdConfig *config, int64_t step) {
    const double dt = config->run_timestep;
    const MdBathAtoms bath = md_heat_bath_make(config, system);
    const double loss = md_tolerance_step_loss(config, system, verification->curvature, step);
    Displacements of_type[MD_MAX_TYPES] = {{0}};
    for (int64_t i = 0; i < system->n_own; i++) {
        Displacements *d = &of_type[system->type[i]];
        double step_along = 0, off_along = 0, v[3]; /* the largest of the three axes */
        for (int a = 0; a < 3; a++)
            v[a] = motion->velocity[3 * i + a] + 0.5 * dt * motion->force[3 * i + a] / system->mass[system->type[i]];
        pass_bath(&bath, config->run_precision, step + 1, (uint32_t)(system->first + i), system->type[i], v);
        for (int a = 0; a < 3; a++) {
            const int64_t k = 3 * i + a;
            const double way = dt * v[a];
            const double off = fabs(md_nearest_image_d(motion->moved_to[k] - motion->position[k] - way,
                                                       system->box.length[a], md_box_inverse(&system->box, a)));
            d->sum_sq += way * way;
            step_along = larger(fabs(way), step_along);
            off_along = larger(off, off_along);
        }
        d->n += 1;
        d->n_losing += off_along > fmax(md_tolerance_step_share * step_along, loss);
        d->longest = larger(step_along, d->longest);
        d->off = larger(off_along, d->off);
    }
    const double extent = measure_room(system, motion->position, config).extent;
    double worst = 0, limit = INFINITY;
    for (int type = 0; type < system->potential.n_types; type++) {
        Displacements *d = &of_type[type];
        md_comm_add_doubles(system->comm, &d->n, 3);
        const double longest = largest_of_all(system->comm, d->longest), off = largest_of_all(system->comm, d->off);
        if (d->n == 0) continue;
        /* Where most atoms lose, the thermal speed is that of a few fast ones. */
        const double of_type_limit =
            2 * d->n_losing > d->n ? loss
                                   : md_tolerance_displacement(config, longest, extent, ops->position_roundoff(config),
                                                               sqrt(d->sum_sq / (d->n * system->box.dimension)), loss);
        if (off - of_type_limit <= worst - limit) continue;
        worst = off; /* a NaN comes here and fails */
        limit = of_type_limit;
        if (isnan(worst)) break;
    }
    add_check(verification, "displacement in a step, off by up to", step, worst, limit);
}

MdStatus md_verify_motion(MdVerification *verification, const MdBackendOps *ops, void *context, const MdSystem *system,
                          const MdConfig *config, int64_t step) {
    const size_t n = 3 * (size_t)system->n_own;
    double *rows = md_alloc(4 * n, sizeof(double), "verification");
    const Motion motion = {rows, rows + n, rows + 2 * n, rows + 3 * n};
    const MdStatus status = make_step(ops, context, &motion, step);
    if (largest_of_all(system->comm, status == MD_OK ? 0 : 1) == 0)
        compare_motion(verification, ops, &motion, system, config, step);
    md_free(rows);
    return status;
}

/* The rounding error of the potential energy of the rows of a run. */
typedef struct Rounding {
    double resolution; /* of distances, sigma: the most that one is rounded by */
    double known;      /* error of the first step and of the last, as their checks found it, per particle */
    double allowed;    /* that one step may have, by its check */
} Rounding;

static Rounding find_rounding(const MdVerification *verification, const MdConfig *config, const MdSystem *system) {
    Rounding r = {.resolution = md_tolerance_unit(config->run_precision) * system->potential.cutoff_max};
    bool knows_first = false;
    for (int k = 0; k < verification->n_checks; k++) {
        const MdCheck *check = &verification->checks[k];
        if (strcmp(check->name, resolution_name) == 0) r.resolution = fmax(r.resolution, check->value);
        if (strcmp(check->name, potential_name) != 0 && strcmp(check->name, truncation_name) != 0) continue;
        r.known += check->value;
        r.allowed = fmax(r.allowed, check->limit);
        knows_first = knows_first || check->step == 0;
    }
    if (!knows_first) r.known += r.allowed; /* of a run that began without verification */
    return r;
}

/* How far atoms of this mass move along an axis between two rows, at least. */
static double moved_between(const MdThermo *before, const MdThermo *row, double mass) {
    return sqrt(fmin(before->temperature, row->temperature) / mass) * (row->time - before->time);
}

/* How far they get from their sites in a crystal, as oscillators. */
static double amplitude(const MdThermo *row, double mass, double curvature, int dimension) {
    return curvature > 0 ? sqrt(row->temperature / mass * dimension / curvature) : INFINITY;
}

/* The largest value of each quantity that the limits depend on, over all rows. */
static MdThermo largest_of(const MdHistory *history, const MdThermo *end) {
    MdThermo largest = *end;
    largest.time = end->time - history->rows[0].time;
    for (size_t k = 0; k < history->n; k++) {
        const MdThermo *row = &history->rows[k];
        largest.fluctuation = larger(row->fluctuation, largest.fluctuation);
        largest.temperature = larger(row->temperature, largest.temperature);
        largest.heat = larger(fabs(row->heat), fabs(largest.heat));
        largest.pairs = larger(row->pairs, largest.pairs);
        largest.momentum = larger(row->momentum, largest.momentum);
    }
    return largest;
}

void md_verify_conservation(MdVerification *verification, const MdHistory *history, const MdThermo *end,
                            const MdSystem *system, const MdConfig *config) {
    double epsilon = 0, mass = 0;
    const MdPotential *potential = &system->potential;
    const MdThermo *first = &history->rows[0];
    const double quantum = md_heat_bath_quantum(config);
    for (int k = 0; k < potential->n_types * potential->n_types; k++) {
        const bool has_well = isfinite(md_potential_reach(potential, k, 0));
        epsilon = fmax(epsilon, fmax(md_potential_scale(potential, k), has_well ? 0 : first->temperature));
    }
    for (int k = 0; k < potential->n_types; k++) mass = fmax(mass, system->mass[k]);
    const MdThermo largest = largest_of(history, end);
    const double time_step = md_tolerance_time_step(&largest, verification->curvature, system, config->run_timestep);
    const double at_most = md_tolerance_energy_cap(first, epsilon);
    /* Of the potential and the kinetic energy of one row. */
    const double added_up =
        verification->accumulated + md_tolerance_accumulate(config, system->n_atoms) * 1.5 * largest.temperature;
    const Rounding rounding = find_rounding(verification, config, system);
    const double kick = md_tolerance_kick(config, &largest, rounding.resolution, mass, system->n_atoms);
    double path = 0;
    /* The row that is furthest beyond its limit, or comes nearest to it, is the one shown. */
    double worst_moved = 0, worst_limit = INFINITY;
    for (size_t k = 1; k <= history->n; k++) {
        const MdThermo *row = k < history->n ? &history->rows[k] : end;
        const double steps = (double)(row->step - first->step);
        double moved = fabs(row->conserved - first->conserved);
        path += moved_between(&history->rows[k - 1], row, mass);
        const double apart = fmin(path, amplitude(row, mass, verification->curvature, system->box.dimension));
        double limit = (time_step < at_most ? time_step : at_most) + md_tolerance_drift(config) * epsilon * steps +
                       kick * sqrt(steps) + md_tolerance_unit(config->run_precision) * fabs(first->conserved) +
                       md_tolerance_collisions(config, quantum, &largest, verification->curvature, system, steps) +
                       md_tolerance_chain(config, &largest, system->box.dimension, steps) + 2 * added_up +
                       rounding.known + md_tolerance_alike(apart, rounding.resolution) * rounding.allowed;
        if (moved - limit <= worst_moved - worst_limit) continue;
        worst_moved = moved; /* a NaN comes here, stays, and fails */
        worst_limit = limit;
        if (isnan(moved)) break;
    }
    add_check(verification, "conserved energy, change per atom", -1, worst_moved, worst_limit);
    add_check(verification, "total momentum per atom", -1, largest.momentum,
              md_tolerance_momentum(config, &largest, verification->force, mass, system) +
                  md_tolerance_momentum_of_bath(config, &largest, mass, system));
}
