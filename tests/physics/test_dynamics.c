/* Motion: conservation of momentum and energy, time reversal, the order of the integrator, the same bits again, and
 * the fault of a step that is too large; for every backend and precision. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/backend.h"
#include "check.h"
#include "judge.h"
#include "state.h"

enum { N_PRECISIONS = 3 };
static const int precisions[N_PRECISIONS] = {MD_PRECISION_DOUBLE, MD_PRECISION_MIXED, MD_PRECISION_SINGLE};
static const char *const precision_names[] = {
    [MD_PRECISION_DOUBLE] = "double", [MD_PRECISION_SINGLE] = "single", [MD_PRECISION_MIXED] = "mixed"};

/* The melt, 2,048 atoms. */
static MdDeck *melt_deck(const char *shift, const char *cells) {
    const char *words[] = {"system.start=fcc", "system.density=0.8442", "system.temperature=1.44", cells, shift, NULL};
    return state_deck(words);
}

static MdConfig melt_config(const MdDeck *deck, int precision) {
    MdConfig config = *md_deck_config(deck);
    config.run_precision = precision;
    config.run_threads = 1; /* small steps: threads that wait for each other would take longer on a busy machine */
    return config;
}

static double conserved(const MdSums *sums) { return sums->potential - sums->truncation + sums->kinetic; }

/* Goes on from what a context holds, in a system of its own. */
static void take_over(MdSystem *system, const Gathered *gathered) {
    size_t reals = (size_t)system->n_atoms * 3 * sizeof(double), ints = (size_t)system->n_atoms * 3 * sizeof(int32_t);
    memcpy(system->position, gathered->position, reals);
    memcpy(system->velocity, gathered->velocity, reals);
    memcpy(system->image, gathered->image, ints);
}

/* The melt after n steps, in double precision on the first backend that runs: a liquid to start from. */
static MdSystem *melted(const MdDeck *deck, const MdBackendOps *ops, int64_t n_steps) {
    MdSystem *system = state_system(deck);
    MdConfig config = melt_config(deck, MD_PRECISION_DOUBLE);
    WalkRun run;
    Gathered gathered;
    if (walk_create(&run, ops, &config, system)) {
        if (walk_prepare(&run) && walk_steps(&run, 1, n_steps) && judge_gather(&run, system, &gathered)) {
            take_over(system, &gathered);
            judge_gathered_free(&gathered);
        }
        walk_destroy(&run);
    }
    return system;
}

/* --- conservation ------------------------------------------------------------------------------------------------- */

typedef struct Line {
    double slope, slope_error; /* standard error of the slope */
} Line;

static Line fit(const double *x, const double *y, int n) {
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, residual = 0;
    for (int k = 0; k < n; k++) mean_x += x[k] / n, mean_y += y[k] / n;
    for (int k = 0; k < n; k++) {
        xx += (x[k] - mean_x) * (x[k] - mean_x);
        xy += (x[k] - mean_x) * (y[k] - mean_y);
    }
    for (int k = 0; k < n; k++) residual += pow(y[k] - mean_y - xy / xx * (x[k] - mean_x), 2);
    return (Line){xy / xx, sqrt(residual / (n - 2) / xx)};
}

/* How fast the energy may seem to drift, epsilon per atom and step, when nothing is wrong.
 *
 * The method itself has no drift; errors of either sign add up like a random walk, and a line fitted to n steps of a
 * random walk of step s has the slope s sqrt(1.2 / n) (Durlauf and Phillips, Econometrica 56, 1333 (1988)). Steps:
 *
 *  cutoff  With shift = energy the force jumps by F at the cutoff, so a pair that crosses it somewhere within a step
 *          gains or loses up to F v dt / 2, evenly spread: F v dt / sqrt(12), v = sqrt(2 T / m) along the pair; and
 *          rho 2 pi r^2 sqrt(4 T / (pi m)) dt pairs an atom cross in a step. (For the melt of 4,000 atoms over 5,000
 *          steps this is 7e-9; independent programs measured 5e-9.) With shift = force the jump is one order of dt
 *          less: nothing.
 *  places  Rounding a place by up to u X (X the box) does work f u X / sqrt(3),
 *  speeds  and a velocity, by u v, m v u v / sqrt(3). In double precision neither shows.
 *
 * Per atom, these steps of N atoms shrink by sqrt(N). Four standard deviations of it, and of the fit. That the pairs of mixed
 * precision see places rounded to single changes a force by some K u X = 2e-4 (K, the stiffness of a close pair, 500), a
 * walk that shows as 4e-10: less than the fit can see. */
static double drift_limit(const MdSystem *system, const Judge *judge, int precision, double dt, int64_t n_steps,
                          double fit_error) {
    const double n = (double)system->n_atoms, rho = n / md_box_volume(&system->box), r = system->potential.cutoff_max;
    const double temperature =
        2 * judge->sums.kinetic / md_degrees_of_freedom(system->n_atoms, system->box.dimension, true);
    double walk_sq = 0;
    if (system->potential.shift != MD_SHIFT_FORCE) {
        double jump = md_pair_force(system->potential.form, &system->potential.pair[0], r * r) * r, speed = sqrt(2 * temperature);
        double crossings = rho * 2 * acos(-1) * r * r * sqrt(4 * temperature / acos(-1)) * dt;
        walk_sq += crossings * pow(jump * speed * dt, 2) / 12;
    }
    const double place = tolerance_place_roundoff(precision) * tolerance_extent(system, system->position);
    const double speed_u = tolerance_velocity_roundoff(precision), force_sq = judge->sums.force_sq_mass / n;
    walk_sq += (force_sq * place * place + 2 * pow(speed_u * 3 * temperature, 2)) / 3; /* two kicks a step */
    return 4 * (sqrt(walk_sq / n * 1.2 / (double)n_steps) + fit_error);
}

/* Rounding may move the total momentum: that of adding up each row, times dt (the pairs themselves cancel, since both
 * sides see the same distance), and that of each velocity twice a step; independent, so as the root of their number,
 * with the factor of tolerance.h. */
static double momentum_limit(const MdSystem *system, const Judge *judge, int precision, double dt, int64_t n_steps) {
    double speed_sq = 0, state = tolerance_velocity_roundoff(precision);
    for (int64_t i = 0; i < system->n_atoms; i++) {
        const double *v = system->velocity + 3 * i;
        speed_sq += 2 * state * state * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    }
    return TOLERANCE_LAMBDA * sqrt((double)n_steps * (judge->tolerance.accumulated_sq * dt * dt + speed_sq)) +
           judge->tolerance.momentum;
}

static void test_conservation(const MdBackendOps *ops, const MdDeck *deck, const MdSystem *system, int precision) {
    const char *shift = system->potential.shift == MD_SHIFT_FORCE ? "force" : "energy";
    /* Means of blocks of 0.4 tau, long enough to be independent of each other: else the fit would look too good. */
    enum { N_BLOCKS = 50, N_SAMPLES = 5, EVERY = 16 };
    const int64_t n_steps = N_BLOCKS * N_SAMPLES * EVERY;
    MdConfig config = melt_config(deck, precision);
    check_context("%s %s conservation, shift %s", ops->name, precision_names[precision], shift);
    Judge judge = judge_make(system, system->position, system->velocity, &config);
    double steps[N_BLOCKS] = {0}, energy[N_BLOCKS] = {0};
    MdSums sums, start;
    WalkRun run;
    if (!walk_create(&run, ops, &config, system)) return;
    bool ok = walk_prepare(&run) && walk_ok(&run, ops->sum(run.context, &start));
    for (int k = 0; ok && k < N_BLOCKS * N_SAMPLES; k++) {
        ok = walk_steps(&run, 1 + (int64_t)k * EVERY, EVERY) && walk_ok(&run, ops->sum(run.context, &sums));
        steps[k / N_SAMPLES] += (double)(k + 1) * EVERY / N_SAMPLES;
        energy[k / N_SAMPLES] += conserved(&sums) / (double)system->n_atoms / N_SAMPLES;
    }
    if (ok) {
        Line line = fit(steps, energy, N_BLOCKS);
        double limit = drift_limit(system, &judge, precision, config.run_timestep, n_steps, line.slope_error);
        double allowed = momentum_limit(system, &judge, precision, config.run_timestep, n_steps), momentum = 0;
        for (int a = 0; a < 3; a++) {
            CHECK_NEAR(sums.momentum[a], start.momentum[a], allowed);
            momentum = fmax(momentum, fabs(sums.momentum[a] - start.momentum[a]));
        }
        printf("%s %s, shift %s: drift %.2e +- %.1e per step and atom (limit %.1e), momentum %.1e (limit %.1e), %lld "
               "steps\n",
               ops->name, precision_names[precision], shift, line.slope, line.slope_error, limit, momentum, allowed,
               (long long)n_steps);
        CHECK_NEAR(line.slope, 0, limit);
        /* It is a hot liquid that was judged. */
        CHECK(2 * sums.kinetic / md_degrees_of_freedom(system->n_atoms, 3, true) > 0.5);
    }
    judge_free(&judge);
    walk_destroy(&run);
}

/* --- reversal and order ------------------------------------------------------------------------------------------- */

static double distance_max(const MdSystem *system, const Gathered *one, const MdSystem *other) {
    double largest = 0;
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) {
        double length = system->box.periodic[k % 3] ? system->box.length[k % 3] : 0;
        largest =
            fmax(largest, fabs(one->position[k] - other->position[k] + (one->image[k] - other->image[k]) * length));
    }
    return largest;
}

/* There and back again: after n steps the velocities are reversed, and n steps later all atoms are where they came
 * from, but for rounding: up to u times the box each step, amplified as chaos does it. How much that is over 2 n steps
 * is measured with places off by 1e-8. */
static void test_reversal(const MdBackendOps *ops, const MdDeck *deck, const MdSystem *start) {
    enum { N_STEPS = 100 };
    const double shift = 1e-8;
    MdConfig config = melt_config(deck, MD_PRECISION_DOUBLE);
    MdSystem *other = state_system(deck);
    Gathered plain = {0}, shifted = {0}, back = {0};
    WalkRun run;
    size_t bytes = (size_t)start->n_atoms * 3 * sizeof(double);
    check_context("%s reversal", ops->name);
    bool ok = walk_create(&run, ops, &config, start) && walk_prepare(&run) && walk_steps(&run, 1, N_STEPS) &&
              walk_ok(&run, ops->scale_velocities(run.context, -1, walk_no_shift)) &&
              walk_steps(&run, N_STEPS + 1, N_STEPS) && judge_gather(&run, start, &back);
    if (run.ops) walk_destroy(&run);
    ok = ok && walk_create(&run, ops, &config, start) && walk_prepare(&run) && walk_steps(&run, 1, 2 * N_STEPS) &&
         judge_gather(&run, start, &plain);
    if (run.ops) walk_destroy(&run);
    memcpy(other->position, start->position, bytes), memcpy(other->velocity, start->velocity, bytes);
    memcpy(other->image, start->image, bytes / 2);
    for (int64_t k = 0; k < 3 * start->n_atoms; k++) /* towards the middle, so that all stay inside the box */
        other->position[k] += other->position[k] < start->box.length[k % 3] / 2 ? shift : -shift;
    ok = ok && walk_create(&run, ops, &config, other) && walk_prepare(&run) && walk_steps(&run, 1, 2 * N_STEPS) &&
         judge_gather(&run, start, &shifted);
    if (run.ops) walk_destroy(&run);
    if (ok) {
        MdSystem ahead = *start;
        ahead.position = shifted.position, ahead.image = shifted.image;
        double amplification = distance_max(start, &plain, &ahead) / shift;
        double u = DBL_EPSILON / 2,
               allowed = 2 * N_STEPS * u * tolerance_extent(start, start->position) * amplification;
        double off = distance_max(start, &back, start), forth = distance_max(start, &plain, start);
        printf("%s: reversed run comes back within %.1e (limit %.1e, errors grow %.0f times)\n", ops->name, off,
               allowed, amplification);
        CHECK(amplification >= 0.5);
        CHECK(allowed < 1e-8 * forth); /* else coming back would say nothing */
        CHECK(off <= allowed);
    }
    judge_gathered_free(&plain), judge_gathered_free(&shifted), judge_gathered_free(&back);
    md_system_destroy(other);
}

/* Root mean square of the total energy round its mean, per atom, over one unit of time. */
static double fluctuation(const MdBackendOps *ops, const MdConfig *config, const MdSystem *start) {
    int n = (int)lround(1 / config->run_timestep);
    double sum = 0, sum_sq = 0, first = 0;
    WalkRun run;
    MdSums sums;
    bool ok = walk_create(&run, ops, config, start) && walk_prepare(&run);
    for (int k = 0; ok && k < n; k++) {
        ok = walk_steps(&run, k + 1, 1) && walk_ok(&run, ops->sum(run.context, &sums));
        if (k == 0) first = conserved(&sums); /* subtracted, so that nothing cancels */
        sum += (conserved(&sums) - first) / n, sum_sq += pow(conserved(&sums) - first, 2) / n;
    }
    if (run.ops) walk_destroy(&run);
    return ok ? sqrt(sum_sq - sum * sum) / (double)start->n_atoms : NAN;
}

/* The energy error of a method of order two is divided by four when the step is halved: closer to that than to what
 * order one (2) or three (8) would give. */
static void test_order(const MdBackendOps *ops, const MdDeck *deck, const MdSystem *start) {
    MdConfig config = melt_config(deck, MD_PRECISION_DOUBLE);
    check_context("%s order", ops->name);
    config.run_timestep = 0.004;
    double coarse = fluctuation(ops, &config, start);
    config.run_timestep = 0.002;
    double fine = fluctuation(ops, &config, start);
    printf("%s: energy fluctuation %.3e at dt 0.004, %.3e at 0.002, ratio %.3f\n", ops->name, coarse, fine,
           coarse / fine);
    CHECK(coarse / fine > exp2(1.5) && coarse / fine < exp2(2.5));
}

/* --- the same bits ------------------------------------------------------------------------------------------------ */

typedef struct Bits {
    Gathered gathered;
    MdSums sums;
} Bits;

/* Numbers of which the bits differ; the first of them and both its values. */
static int64_t count_different(const double *one, const double *other, int64_t n, int64_t *first) {
    int64_t n_different = 0;
    for (int64_t k = n - 1; k >= 0; k--) {
        if (memcmp(&one[k], &other[k], sizeof *one) == 0) continue;
        n_different++;
        *first = k;
    }
    return n_different;
}

static bool same_numbers(const char *what, const double *one, const double *other, int64_t n, bool tells) {
    int64_t first = 0;
    const int64_t n_different = count_different(one, other, n, &first);
    if (n_different > 0 && tells)
        printf("%s: %lld of %lld numbers differ, first number %lld: %a and %a\n", what, (long long)n_different,
               (long long)n, (long long)first, one[first], other[first]);
    return n_different == 0;
}

/* tells: what differs is printed. */
static bool same_bits(const MdSystem *system, const Bits *one, const Bits *other, bool tells) {
    const int64_t n = system->n_atoms * 3;
    const bool same[] = {same_numbers("positions", one->gathered.position, other->gathered.position, n, tells),
                         same_numbers("velocities", one->gathered.velocity, other->gathered.velocity, n, tells),
                         same_numbers("forces", one->gathered.force, other->gathered.force, n, tells),
                         memcmp(&one->sums, &other->sums, sizeof one->sums) == 0};
    if (!same[3] && tells)
        printf("sums differ: potential %a and %a, kinetic %a and %a, virial %a and %a\n", one->sums.potential,
               other->sums.potential, one->sums.kinetic, other->sums.kinetic, one->sums.virial, other->sums.virial);
    return same[0] && same[1] && same[2] && same[3];
}

/* Steps whose forces are there, by whatever stage they were computed. */
static int64_t forced_steps(const WalkRun *run) {
    MdStatistics statistics;
    int64_t n = 0;
    run->ops->statistics(run->context, &statistics);
    for (int k = 0; k < statistics.n_stages; k++) {
        const MdStageTime *stage = &statistics.stages[k];
        if (strcmp(stage->stage, "force") == 0 || strcmp(stage->stage, "step") == 0) n += stage->calls;
    }
    return n;
}

/* Thirty steps, with rebuilds; is_watched: with energies and sums on the way, in the midst of what else is a batch of steps.
 * Work that a device has issued again since it had stopped counts once. */
enum { N_BITS_STEPS = 30, N_SEEN_STEPS = 7 };
static bool run_bits(Walk *walk, const MdConfig *base, const MdSystem *system, bool is_watched, Bits *bits,
                     bool *promised) {
    const int n_seen = is_watched ? N_SEEN_STEPS : 0;
    WalkRun run;
    MdStatistics statistics;
    if (!walk_create_next(walk, &run, "bits", base, system)) return false;
    *promised = md_variants_deterministic(walk->ops->variants(), &run.config);
    bool ok = walk_prepare(&run);
    const int64_t before = forced_steps(&run);
    if (n_seen > 0) ok = ok && walk_steps(&run, 1, n_seen) && walk_ok(&run, run.ops->sum(run.context, &bits->sums));
    ok = ok && walk_steps(&run, n_seen + 1, N_BITS_STEPS - n_seen) && judge_gather(&run, system, &bits->gathered) &&
         walk_ok(&run, run.ops->sum(run.context, &bits->sums));
    CHECK(forced_steps(&run) - before == N_BITS_STEPS);
    run.ops->statistics(run.context, &statistics);
    CHECK(statistics.n_rebuilds > 0);
    walk_destroy(&run);
    return ok;
}

/* What the variants table promises: the same bits when run again, looked at on the way, and with other numbers of threads.
 * Of combinations that do not promise it, how many differ is printed. */
static void test_bits(const MdBackendOps *ops, const MdDeck *deck, DesignKind kind) {
    MdSystem *system = state_system(deck);
    MdConfig base = *md_deck_config(deck);
    MdSystemPlan plan = state_plan(system);
    static const int n_threads[] = {1, 1, 2, 3}; /* the first is what the others are compared with */
    const int n_runs = ops == &md_backend_cpu ? 4 : 2;
    Walk walk;
    int n_promised = 0, n_other = 0, n_differ = 0;
    for (walk_begin(&walk, ops, &base, kind, NULL, &plan, 1); walk_next(&walk);) {
        Bits first = {0}, again = {0};
        bool promised = false, same = true;
        for (int k = 0; k < n_runs && same; k++) {
            base.run_threads = n_threads[k];
            if (!run_bits(&walk, &base, system, k > 0, k ? &again : &first, &promised)) break;
            if (k == 0) continue;
            same = same_bits(system, &first, &again, promised);
            if (promised && !CHECK(same)) printf("%d threads\n", n_threads[k]);
            judge_gathered_free(&again.gathered);
        }
        judge_gathered_free(&first.gathered);
        n_promised += promised, n_other += !promised, n_differ += !promised && !same;
    }
    printf("%s: %d combinations promise the same bits; of %d that do not, %d gave others\n", ops->name, n_promised,
           n_other, n_differ);
    check_context("%s", ops->name);
    /* other shards may be of few combinations */
    if (kind == DESIGN_SINGLES && !design_is_narrowed() && walk_first_shard()) CHECK(n_promised > 0);
    md_system_destroy(system);
}

/* --- faults ------------------------------------------------------------------------------------------------------- */

/* One atom too fast: remembered with step, id and distance; an infinite one too. */
static void test_faults(const MdBackendOps *ops, const MdDeck *deck, int precision) {
    const int32_t fast = 77;
    static const double speeds[] = {400, INFINITY, NAN};
    MdConfig config = melt_config(deck, precision);
    for (int k = 0; k < 3; k++) {
        MdSystem *system = state_system(deck);
        WalkRun run;
        check_context("%s %s fault, speed %g", ops->name, precision_names[precision], speeds[k]);
        if (walk_create(&run, ops, &config, system)) {
            CHECK(walk_prepare(&run) && walk_steps(&run, 1, 2));
            CHECK(walk_ok(&run, ops->finish(run.context)) && ops->fault(run.context).step == -1);
            walk_destroy(&run);
        }
        system->velocity[3 * fast + 1] = speeds[k];
        if (walk_create(&run, ops, &config, system)) {
            MdSums sums;
            CHECK(walk_prepare(&run) && walk_steps(&run, 1, 1) && walk_ok(&run, ops->sum(run.context, &sums)));
            MdFault fault = ops->fault(run.context);
            CHECK(fault.step == 1);
            CHECK(fault.id == fast);
            if (k ==
                0) /* the atom moves by speed times step, and by what it had along the other axes: 1 per cent at most */
                CHECK_NEAR(fault.displacement, 400 * config.run_timestep, 0.01 * 400 * config.run_timestep);
            else CHECK(!isfinite(fault.displacement));
            walk_destroy(&run);
        }
        md_system_destroy(system);
    }
}

/* Of many that are too fast in the same step the one of the smallest id, whoever tells last. */
static void test_least_fault(const MdBackendOps *ops, const MdDeck *deck, int precision) {
    const int32_t least = 77;
    MdConfig config = melt_config(deck, precision);
    MdSystem *system = state_system(deck);
    WalkRun run;
    check_context("%s %s faults of many", ops->name, precision_names[precision]);
    for (int64_t i = least; i < system->n_atoms; i++) system->velocity[3 * i + 1] = 400 + 0.5 * (double)(i - least);
    if (walk_create(&run, ops, &config, system)) {
        CHECK(walk_prepare(&run) && walk_steps(&run, 1, 1) && walk_ok(&run, ops->finish(run.context)));
        const MdFault fault = ops->fault(run.context);
        CHECK(fault.step == 1 && fault.id == least);
        CHECK_NEAR(fault.displacement, 400 * config.run_timestep, 0.01 * 400 * config.run_timestep);
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* The first fault stays the first, also where nobody looks for some steps. Another atom, of a smaller id, is just not too
 * fast in the first step, and twice as fast in those after it. */
static void test_first_fault(const MdBackendOps *ops, const MdDeck *deck, int precision) {
    const int32_t fast = 77, later = 5;
    MdConfig config = melt_config(deck, precision);
    MdSystem *system = state_system(deck);
    const double limit = md_fault_distance(&config, &system->potential);
    WalkRun run;
    check_context("%s %s first fault", ops->name, precision_names[precision]);
    config.neighbor_skin = 2 * limit; /* the step that is just not too large leaves the list as it is */
    system->velocity[3 * fast + 1] = 400;
    system->velocity[3 * later + 1] = 0.7 * limit / config.run_timestep;
    if (walk_create(&run, ops, &config, system)) {
        CHECK(walk_prepare(&run) && walk_steps(&run, 1, 1) &&
              walk_ok(&run, ops->scale_velocities(run.context, 2, walk_no_shift)) && walk_steps(&run, 2, 8) &&
              walk_ok(&run, ops->finish(run.context)));
        MdFault fault = ops->fault(run.context);
        CHECK(fault.step == 1);
        CHECK(fault.id == fast);
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

int main(void) {
    MdDeck *smooth = melt_deck("potential.shift=force", "system.cells=8");
    MdDeck *shifted = melt_deck("potential.shift=energy", "system.cells=8");
    MdDeck *small = melt_deck("potential.shift=energy", "system.cells=5");
    MdConfig config = *md_deck_config(shifted);
    for (const MdBackendOps *ops = NULL; (ops = walk_backend(ops, &config)) != NULL;) {
        if (walk_wants("bits")) test_bits(ops, small, DESIGN_SINGLES);
        if (walk_wants("bits") && !design_is_narrowed()) test_bits(ops, small, DESIGN_PAIRS);
        if (!walk_first_shard()) continue;
        for (int p = 0; p < N_PRECISIONS && walk_wants("faults"); p++) {
            test_faults(ops, small, precisions[p]);
            test_least_fault(ops, small, precisions[p]);
            test_first_fault(ops, small, precisions[p]);
        }
        if (!walk_wants("liquid")) continue;
        MdSystem *liquid = melted(shifted, ops, 400), *smooth_liquid = melted(smooth, ops, 400);
        for (int p = 0; p < N_PRECISIONS; p++) {
            test_conservation(ops, shifted, liquid, precisions[p]);
            test_conservation(ops, smooth, smooth_liquid, precisions[p]);
        }
        test_reversal(ops, smooth, smooth_liquid);
        test_order(ops, smooth, smooth_liquid);
        md_system_destroy(liquid), md_system_destroy(smooth_liquid);
    }
    md_deck_destroy(smooth), md_deck_destroy(shifted), md_deck_destroy(small);
    return check_finish();
}
