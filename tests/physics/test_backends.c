/* Every backend, every value of every switch and all pairs of values, against the reference: forces with and without
 * energy, sums, gathering, and again after motion, sorting and rebuilds. States are disordered and uneven, with atoms on
 * faces, partial blocks and the smallest legal box; planted faults show that these tolerances would see a fault. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "check.h"
#include "cpu/reference.h"
#include "integrate/verlet.h"
#include "judge.h"
#include "path.h"

enum { N_PRECISIONS = 3 };
static const int precisions[N_PRECISIONS] = {MD_PRECISION_DOUBLE, MD_PRECISION_SINGLE, MD_PRECISION_MIXED};

/* Around the sizes of vectors, warps, blocks: 8, 32, 128, 256, 1024, and the least. */
static const int64_t sizes[] = {2, 3, 7, 9, 31, 33, 127, 128, 129, 255, 257, 1023, 1025};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

/* --- one combination on one state --------------------------------------------------------------------------------- */

/* The first forces of all, without energy: nothing that was computed before can stand in for a row left out. */
static bool check_first_forces(const WalkRun *run, const MdSystem *system, const Judge *judge) {
    Gathered gathered;
    if (!walk_ok(run, md_verlet_start(run->ops, run->context, false))) return false;
    bool ok = judge_gather(run, system, &gathered) && CHECK(judge_count_faults(judge, gathered.force, NULL, true) == 0);
    judge_gathered_free(&gathered);
    return ok;
}

/* What is read again must be right again, and the same if sums promise that; the path without energy gives the same
 * forces, and leaves the energies as they were. */
static bool check_paths(const WalkRun *run, const MdSystem *system, const Judge *judge) {
    const MdBackendOps *ops = run->ops;
    MdSums first, second;
    Gathered gathered;
    if (!check_first_forces(run, system, judge) || !walk_prepare(run) ||
        !walk_ok(run, ops->sum(run->context, &first)) || !walk_ok(run, ops->sum(run->context, &second)))
        return false;
    const bool same_bits = md_variants_deterministic(ops->variants(), &run->config);
    if (same_bits) CHECK(memcmp(&first, &second, sizeof first) == 0);
    bool ok = judge_gather(run, system, &gathered);
    ok = ok && CHECK(judge_count_faults(judge, gathered.force, &first, true) == 0) &&
         CHECK(judge_count_faults(judge, NULL, &second, true) == 0);
    double state = tolerance_velocity_roundoff(judge->tolerance.precision);
    double rounding = tolerance_position(system, system->position, judge->tolerance.precision);
    for (int64_t k = 0; ok && k < 3 * system->n_atoms; k++) {
        double length = system->box.periodic[k % 3] ? system->box.length[k % 3] : 0;
        ok = CHECK_NEAR(gathered.position[k] + gathered.image[k] * length,
                        system->position[k] + system->image[k] * length, rounding) &&
             CHECK_NEAR(gathered.velocity[k], system->velocity[k], state * fabs(system->velocity[k]));
    }
    judge_gathered_free(&gathered);
    if (!ok || !walk_ok(run, ops->compute_forces(run->context, false))) return false;
    ok = judge_gather(run, system, &gathered) && walk_ok(run, ops->sum(run->context, &second));
    ok = ok && CHECK(judge_count_faults(judge, gathered.force, &second, true) == 0);
    if (same_bits) CHECK(first.potential == second.potential && first.virial == second.virial);
    judge_gathered_free(&gathered);
    return ok;
}

#define SCALED -0.75
static bool check_scaling(const WalkRun *run, const Judge *judge) {
    const double factor = SCALED;
    MdSums sums;
    Judge scaled = *judge;
    if (!walk_ok(run, run->ops->scale_velocities(run->context, factor, walk_no_shift)) ||
        !walk_ok(run, run->ops->sum(run->context, &sums)))
        return false;
    scaled.sums.kinetic *= factor * factor;
    for (int k = 0; k < MD_N_TENSOR; k++) scaled.sums.kinetic_tensor[k] *= factor * factor;
    for (int a = 0; a < 3; a++) scaled.sums.momentum[a] *= factor;
    return CHECK(judge_count_faults(&scaled, NULL, &sums, true) == 0);
}

/* Some steps with rebuilds, short enough that nothing flies off: then forces and sums at the new places, and each id
 * where its own way leads it. */
enum { N_STEPS = 24 };
static bool check_motion(const WalkRun *run, const MdSystem *system, const Judge *judge, const Path *path) {
    const MdConfig *config = &run->config;
    MdStatistics before, after;
    Gathered gathered;
    run->ops->statistics(run->context, &before);
    if (!walk_steps(run, 1, N_STEPS) || !judge_run(run, system, true)) return false;
    run->ops->statistics(run->context, &after);
    CHECK(run->ops->fault(run->context).step == -1);
    CHECK(after.n_late_rebuilds == before.n_late_rebuilds);
    if (config->neighbor_rebuild == MD_REBUILD_EVERY)
        CHECK(after.n_rebuilds - before.n_rebuilds == N_STEPS / config->neighbor_every);
    bool ok = judge_gather(run, system, &gathered) && path_check(path, judge, config, &gathered);
    judge_gathered_free(&gathered);
    /* And the forces of a step without energy that a graph or the resident kernel makes: the first after a look is not,
     * nor is one before a rebuild. */
    ok = ok && walk_quiet_steps(run, N_STEPS + 1, 2);
    return ok && judge_run(run, system, false);
}

/* Velocities less a constant one, as a thermostat scales about the mean: behind the motion, which it ends. */
static bool check_shift(const WalkRun *run, const MdSystem *system) {
    const double shift[3] = {0.125, -0.25, system->box.dimension == 3 ? 0.0625 : 0};
    double mass = 0;
    MdSums before, after;
    if (!walk_ok(run, run->ops->sum(run->context, &before)) ||
        !walk_ok(run, run->ops->scale_velocities(run->context, 1, shift)) ||
        !walk_ok(run, run->ops->sum(run->context, &after)))
        return false;
    for (int64_t i = 0; i < system->n_atoms; i++) mass += system->mass[system->type[i]];
    bool ok = true;
    for (int a = 0; a < 3; a++) /* rounded in single precision at worst */
        ok = CHECK_NEAR(after.momentum[a], before.momentum[a] + mass * shift[a], 1e-4 * mass) && ok;
    return ok;
}

static MdConfig base_config(void) {
    MdConfig config = state_config();
    config.run_threads = 3;     /* not a divisor of what is worked on */
    config.run_timestep = 5e-4; /* forces of shaken atoms are large */
    config.neighbor_every = 4;
    return config;
}

/* --- systems ------------------------------------------------------------------------------------------------------ */

enum { N_TOLERANCES = 96, MAX_STATES = 160 };

/* A state, and what the reference says of it, kept for each kind of tolerance that was asked for. */
typedef struct State {
    Case described;
    MdConfig base;
    MdSystem *system;
    Judge judges[N_TOLERANCES];
    Path path; /* from here, when it was asked for */
} State;

typedef struct States {
    int n;
    State state[MAX_STATES];
    MdSystemPlan plan[MAX_STATES];
} States;

static void add_state(States *states, const Case *c) {
    md_require(states->n < MAX_STATES);
    State *state = &states->state[states->n];
    *state = (State){.described = *c, .base = base_config()};
    state->system = cases_make(c, &state->base);
    states->plan[states->n++] = state_plan(state->system);
}

/* Whether kernels for the one are those for the other. */
static bool same_kernels(const StateShape *a, const StateShape *b) {
    return a->dimension == b->dimension && memcmp(a->periodic, b->periodic, sizeof a->periodic) == 0 &&
           a->n_types == b->n_types &&
           (a->shift == b->shift || !(MD_SHIFTS_FORCE(a->shift) || MD_SHIFTS_FORCE(b->shift)));
}

/* Where the sizes for case k begin: those of the first case with the same kernels. */
static int sizes_of(int k) {
    int first = 0, n_before = 0;
    while (!same_kernels(&cases_table[first].shape, &cases_table[k].shape)) {
        bool is_new = true;
        for (int other = 0; other < first; other++)
            is_new = is_new && !same_kernels(&cases_table[other].shape, &cases_table[first].shape);
        n_before += is_new;
        first++;
    }
    return cases_count + n_before * N_SIZES;
}

/* The cases first, then the sizes, of the first case and then of the others: what has kernels of its own need not compile them
 * for the sizes again. */
static States *make_states(void) {
    States *states = md_alloc(1, sizeof *states, "states");
    for (int k = 0; k < cases_count; k++) add_state(states, &cases_table[k]);
    for (int of = 0; of < cases_count; of++)
        for (int k = 0; k < N_SIZES && sizes_of(of) + k == states->n; k++) {
            Case c = cases_table[of];
            c.name = "partial blocks";
            c.shape.n_atoms = 1025;
            c.first_atoms = sizes[k];
            c.smallest_box = false;
            add_state(states, &c);
        }
    return states;
}

static void free_states(States *states) {
    for (int k = 0; k < states->n; k++) {
        for (int t = 0; t < N_TOLERANCES; t++)
            if (states->state[k].judges[t].force) judge_free(&states->state[k].judges[t]);
        path_free(&states->state[k].path);
        md_system_destroy(states->state[k].system);
    }
    md_free(states);
}

/* The switches on which a tolerance depends: see tolerance.h. */
static const Judge *judge_of(State *state, const MdConfig *config) {
    int key = config->run_precision +
              3 * (config->reduce_accumulate +
                   4 * (config->force_arithmetic + 2 * (config->neighbor_list + 2 * tolerance_has_bricks(config))));
    md_require(key < N_TOLERANCES);
    Judge *judge = &state->judges[key];
    if (!judge->force) *judge = judge_make(state->system, state->system->position, state->system->velocity, config);
    return judge;
}

/* False when this system is refused. */
static bool check_combination(Walk *walk, State *state) {
    WalkRun run;
    if (!walk_create_next(walk, &run, state->described.name, &state->base, state->system)) return false;
    const Judge *judge = judge_of(state, &run.config);
    if (!state->path.position)
        state->path = path_follow(state->system, SCALED, state->base.run_timestep, N_STEPS, NULL, 0);
    if (check_paths(&run, state->system, judge) && check_scaling(&run, judge) &&
        check_motion(&run, state->system, judge, &state->path))
        check_shift(&run, state->system);
    walk_destroy(&run);
    return true;
}

/* Each value alone on every case, and on sizes that follow each other from one combination to the next. */
static void test_singles(const MdBackendOps *ops, States *states) {
    enum { N_SIZES_EACH = 4 };
    Walk walk;
    MdConfig base = base_config();
    int n_runs = 0, n_refused = 0;
    for (walk_begin(&walk, ops, &base, DESIGN_SINGLES, NULL, states->plan, cases_count + N_SIZES); walk_next(&walk);) {
        for (int k = 0; k < cases_count + N_SIZES_EACH; k++) {
            int next = cases_count + (walk.k * N_SIZES_EACH + k) % N_SIZES;
            bool ran = check_combination(&walk, &states->state[k < cases_count ? k : next]);
            n_runs += ran, n_refused += !ran;
        }
    }
    printf("%s: %d runs of values alone, %d systems refused\n", ops->name, n_runs, n_refused);
}

/* Strong friction, and a ramp that ends early. */
static void add_bath(MdConfig *config) {
    config->ensemble_thermostat = MD_THERMOSTAT_LANGEVIN;
    config->ensemble_friction = 0.05 / config->run_timestep;
    config->ensemble_target = (MdRealList){.n = 2, .values = {0.5, 1.5}};
    config->ensemble_last_step = N_STEPS - 4;
}

/* Friction and noise on each atom by its id, its mass and the step, and their heat, with each value alone. */
static bool check_bath(const WalkRun *run, const MdSystem *system, const Judge *judge, const Path *path) {
    const int precision = run->config.run_precision;
    const double error = precision == MD_PRECISION_DOUBLE ? 1e-9 : 3e-4;
    MdSums sums;
    Gathered gathered;
    if (!walk_ok(run, md_verlet_start(run->ops, run->context, false)) || !walk_steps(run, 1, N_STEPS) ||
        !walk_ok(run, run->ops->sum(run->context, &sums)) || !judge_gather(run, system, &gathered))
        return false;
    const bool ok =
        path_check(path, judge, &run->config, &gathered) && CHECK_NEAR(sums.heat, path->heat, error * path->heat_size);
    judge_gathered_free(&gathered);
    return ok;
}

static void test_baths(const MdBackendOps *ops, States *states) {
    Walk walk;
    WalkRun run;
    MdConfig base = base_config();
    add_bath(&base);
    Path paths[MAX_STATES][2] = {{{0}}};
    int n_runs = 0;
    for (walk_begin(&walk, ops, &base, DESIGN_SINGLES, NULL, states->plan, cases_count + N_SIZES); walk_next(&walk);)
        for (int tries = 0, made = 0; made < 2 && tries < cases_count; tries++) {
            const int k = (walk.k + tries) % cases_count;
            State *state = &states->state[k];
            MdConfig config = state->base;
            add_bath(&config);
            if (!walk_create_next(&walk, &run, state->described.name, &config, state->system)) continue;
            const bool single = run.config.run_precision != MD_PRECISION_DOUBLE;
            const MdBathAtoms bath = md_heat_bath_make(&run.config, state->system);
            Path *path = &paths[k][single];
            if (!path->position)
                *path = path_follow(state->system, 1, config.run_timestep, N_STEPS, &bath, run.config.run_precision);
            check_bath(&run, state->system, judge_of(state, &run.config), path);
            walk_destroy(&run);
            made++, n_runs++;
        }
    for (int k = 0; k < MAX_STATES; k++)
        for (int p = 0; p < 2; p++) path_free(&paths[k][p]);
    printf("%s: %d runs with friction and noise\n", ops->name, n_runs);
}

/* All pairs, each combination on one of the cases and on a size of its kind: the next ones that can. */
static void test_pairs(const MdBackendOps *ops, States *states) {
    Walk walk;
    MdConfig base = base_config();
    int met[MAX_STATES] = {0}, n_combinations = 0;
    walk_begin(&walk, ops, &base, DESIGN_PAIRS, NULL, states->plan, cases_count + N_SIZES);
    for (; walk_next(&walk); n_combinations++)
        for (int tries = 0; walk.n_created < 2 && tries < cases_count + N_SIZES; tries++) {
            const int of = (walk.k + tries / 2) % cases_count, size = (walk.k + tries / 2) % N_SIZES;
            const int next = tries % 2 ? sizes_of(of) + size : of;
            met[next] += check_combination(&walk, &states->state[next]);
        }
    printf("%s: %d combinations for pairs of values; runs of each system:", ops->name, n_combinations);
    for (int k = 0; k < states->n; k++) printf(" %d", met[k]);
    printf("\n");
}

/* --- compensated and reproducible sums ---------------------------------------------------------------------------- */

/* All switches but those of reductions, and that one. */
static void list_fixed(char *fixed, size_t size) {
    size_t length = 0;
    for (int option = 0; option < MD_N_OPTIONS; option++) {
        const char *name = md_option_name(option);
        if (!md_option_is_switch(option) || (strncmp(name, "reduce.", 7) == 0 && option != MD_OPTION_reduce_accumulate))
            continue;
        length += (size_t)snprintf(fixed + length, size - length, "%s ", name);
        md_require(length < size);
    }
}

/* Kinetic energies that single precision holds exactly, one of 2^23 and all others of 2^-3 or 2^-31, which floats, and doubles, drop
 * beside it: compensated, the sum is right to the second order of the roundoff, n u^2; reproducible, it is right. */
static void test_sums(const MdBackendOps *ops, const char *name, int accumulate) {
    char fixed[4096];
    Case c = cases_table[0];
    MdConfig base = base_config();
    MdSystem *system = cases_make(&c, &base);
    const double n = (double)system->n_atoms, u = FLT_EPSILON / 2,
                 slow = accumulate == MD_ACCUMULATE_COMPENSATED ? 0.5 : exp2(-15),
                 exact = exp2(23) + (n - 1) * slow * slow / 2;
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) system->velocity[k] = k % 3 ? 0 : k == 3 * 500 ? 4096 : slow;
    CHECK(system->mass[0] == 1);
    base.reduce_accumulate = accumulate;
    base.run_precision = MD_PRECISION_MIXED;
    list_fixed(fixed, sizeof fixed);
    MdSystemPlan plan = state_plan(system);
    Walk walk;
    for (walk_begin(&walk, ops, &base, DESIGN_SINGLES, fixed, &plan, 1); walk_next(&walk);) {
        WalkRun run;
        MdSums sums;
        if (!walk_create_next(&walk, &run, name, &base, system)) continue;
        if (walk_prepare(&run) && walk_ok(&run, ops->sum(run.context, &sums)))
            CHECK_NEAR(sums.kinetic, exact, accumulate == MD_ACCUMULATE_COMPENSATED ? n * u * u * exact : 0);
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* --- planted faults ----------------------------------------------------------------------------------------------- */

/* The pair whose force is the smallest that there is: the hardest to miss. */
static void find_weakest(const MdSystem *system, int64_t weakest[2], double force[3]) {
    double least = 1e300;
    for (int64_t i = 0; i < system->n_atoms; i++)
        for (int64_t j = 0; j < i; j++) {
            const MdPair_d *pair =
                &system->potential.pair[system->type[i] * system->potential.n_types + system->type[j]];
            double d[3], r_sq = 0;
            for (int a = 0; a < 3; a++) {
                d[a] = md_nearest_image_d(system->position[3 * i + a] - system->position[3 * j + a],
                                          system->box.length[a], md_box_inverse(&system->box, a));
                r_sq += d[a] * d[a];
            }
            double beyond_well = 1.7; /* where force and energy both only fall with distance */
            if (r_sq >= pair->cutoff_sq || r_sq < beyond_well * beyond_well) continue;
            double over_r = md_pair_force(system->potential.form, pair, r_sq);
            if (fabs(over_r) * sqrt(r_sq) >= least) continue;
            least = fabs(over_r) * sqrt(r_sq);
            weakest[0] = i, weakest[1] = j;
            for (int a = 0; a < 3; a++) force[a] = over_r * d[a];
        }
}

/* A perfect answer passes; each damaged one must not, under the widest tolerances of each precision. */
static void test_planted_faults(int precision, int accumulate) {
    static const char *const names[] = {"double", "single", "mixed"};
    MdConfig config = base_config();
    MdSystem *system = cases_make(&cases_table[0], &config);
    config.run_precision = precision;
    config.reduce_accumulate = accumulate;
    config.force_arithmetic = MD_ARITHMETIC_FAST;
    config.neighbor_list = MD_LIST_HALF;
    config.analysis_pressure = MD_PRESSURE_TENSOR;
    Judge judge = judge_make(system, system->position, system->velocity, &config);
    size_t n = (size_t)system->n_atoms * 3, bytes = n * sizeof(double);
    double *force = md_alloc(n, sizeof *force, "damaged forces");
    check_context("planted faults, %s, sums in %s", names[precision],
                  md_switch_words(MD_OPTION_reduce_accumulate)[accumulate]);

    memcpy(force, judge.force, bytes);
    CHECK(judge_count_faults(&judge, force, &judge.sums, true) == 0);

    force[3 * 500 + 1] = -force[3 * 500 + 1]; /* a component negated */
    CHECK(fabs(force[3 * 500 + 1]) > 0.1);
    CHECK(judge_count_faults(&judge, force, &judge.sums, false) == 1);

    memcpy(force, judge.force, bytes); /* a pair lost, one just inside the cutoff: in both rows, and in one only */
    int64_t weakest[2] = {0, 0};
    double lost[3] = {0, 0, 0};
    find_weakest(system, weakest, lost);
    for (int a = 0; a < 3; a++) force[3 * weakest[0] + a] -= lost[a];
    CHECK(judge_count_faults(&judge, force, NULL, false) > 0);
    for (int a = 0; a < 3; a++) force[3 * weakest[1] + a] += lost[a];
    CHECK(judge_count_faults(&judge, force, NULL, false) > 1);

    MdSums sums = judge.sums; /* sums that lack the last block of 128 atoms, as a reduction short by one block does */
    int64_t short_by = 128;
    sums.potential *= 1 - (double)short_by / (double)system->n_atoms;
    CHECK(judge_count_faults(&judge, NULL, &sums, false) == 1);
    sums = judge.sums;
    sums.virial *= 1 - (double)short_by / (double)system->n_atoms;
    CHECK(judge_count_faults(&judge, NULL, &sums, false) == 1);
    sums = judge.sums;
    for (int64_t i = system->n_atoms - 1; i < system->n_atoms; i++) /* the last atom's kinetic energy missing */
        for (int a = 0; a < 3; a++)
            sums.kinetic -= system->mass[system->type[i]] * pow(system->velocity[3 * i + a], 2) / 2;
    CHECK(judge_count_faults(&judge, NULL, &sums, false) == 1);
    sums = judge.sums;
    sums.momentum[1] += 1e-3 * (double)system->n_atoms;
    CHECK(judge_count_faults(&judge, NULL, &sums, false) == 1);
    sums = judge.sums; /* two pairs' truncation counted too often: one may lie on the cutoff within rounding */
    sums.truncation += 2 * system->potential.pair[0].truncation;
    CHECK(judge_count_faults(&judge, NULL, &sums, false) == 1);
    sums = judge.sums; /* a pair lost from the list, in both of its rows (another may lie on the cutoff) */
    sums.pairs -= 1 + judge.tolerance.pairs;
    CHECK(judge.tolerance.pairs <= 2);
    CHECK(judge_count_faults(&judge, NULL, &sums, false) == 1);
    for (int k = 0; k < 2; k++) { /* two components swapped */
        sums = judge.sums;
        double *tensor = k ? sums.kinetic_tensor : sums.virial_tensor, xy = tensor[MD_XY];
        tensor[MD_XY] = tensor[MD_XZ];
        tensor[MD_XZ] = xy;
        CHECK(judge_count_faults(&judge, NULL, &sums, false) == 2);
    }
    sums = judge.sums;
    sums.potential = NAN;
    CHECK(judge_count_faults(&judge, NULL, &sums, false) == 1);

    system->n_atoms--; /* an atom missing from everybody's list */
    MdSums without;
    memset(force, 0, bytes);
    md_reference_forces(system, system->position, force, &without);
    system->n_atoms++;
    CHECK(judge_count_faults(&judge, force, NULL, false) > 3);
    without.kinetic = judge.sums.kinetic, without.force_sq_mass = judge.sums.force_sq_mass;
    memcpy(without.momentum, judge.sums.momentum, sizeof without.momentum);
    memcpy(without.kinetic_tensor, judge.sums.kinetic_tensor, sizeof without.kinetic_tensor);
    CHECK(judge_count_faults(&judge, NULL, &without, false) >= 2);

    md_free(force);
    judge_free(&judge);
    md_system_destroy(system);
}

int main(void) {
    for (int p = 0; walk_first_shard() && p < N_PRECISIONS; p++)
        for (int sums = MD_ACCUMULATE_SINGLE; sums <= MD_ACCUMULATE_REPRODUCIBLE; sums++)
            if (precisions[p] != MD_PRECISION_DOUBLE || sums >= MD_ACCUMULATE_DOUBLE)
                test_planted_faults(precisions[p], sums);
    States *states = make_states();
    MdConfig config = base_config();
    for (const MdBackendOps *ops = NULL; (ops = walk_backend(ops, &config)) != NULL;) {
        test_singles(ops, states);
        test_baths(ops, states);
        test_sums(ops, "compensated sums", MD_ACCUMULATE_COMPENSATED);
        test_sums(ops, "reproducible sums", MD_ACCUMULATE_REPRODUCIBLE);
        if (!design_is_narrowed()) test_pairs(ops, states);
    }
    free_states(states);
    return check_finish();
}
