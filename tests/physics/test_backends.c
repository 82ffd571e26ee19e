/* Every backend, every combination of switches, against the reference: forces with and without energy, sums, gathering,
 * and again after motion, sorting and rebuilds. States are disordered and uneven, with atoms on faces, partial blocks
 * and the smallest legal box; planted faults show that these tolerances would see a fault. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "check.h"
#include "cpu/reference.h"
#include "judge.h"

enum { N_PRECISIONS = 3 };
static const int precisions[N_PRECISIONS] = {MD_PRECISION_DOUBLE, MD_PRECISION_SINGLE, MD_PRECISION_MIXED};

/* Around the sizes of vectors, warps, blocks: 8, 32, 128, 256, 1024, and the least. */
static const int64_t sizes[] = {2, 3, 7, 9, 31, 33, 127, 128, 129, 255, 257, 1023, 1025};

/* --- one combination on one state --------------------------------------------------------------------------------- */

/* What is read again must be the same; the path without energy gives the same forces. */
static bool check_paths(const WalkRun *run, const MdSystem *system, const Judge *judge) {
    const MdBackendOps *ops = run->ops;
    MdSums first, second;
    Gathered gathered;
    if (!walk_prepare(run) || !walk_ok(run, ops->sum(run->context, &first)) ||
        !walk_ok(run, ops->sum(run->context, &second)))
        return false;
    CHECK(memcmp(&first, &second, sizeof first) == 0);
    bool ok = judge_gather(run, system, &gathered);
    ok = ok && CHECK(judge_count_faults(judge, gathered.force, &first, true) == 0);
    double state = tolerance_state_roundoff(judge->tolerance.precision);
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
    ok = ok && CHECK(judge_count_faults(judge, gathered.force, NULL, true) == 0);
    CHECK(first.potential == second.potential && first.virial == second.virial);
    judge_gathered_free(&gathered);
    return ok;
}

static bool check_scaling(const WalkRun *run, const Judge *judge) {
    const double factor = -0.75;
    MdSums sums;
    Judge scaled = *judge;
    if (!walk_ok(run, run->ops->scale_velocities(run->context, factor)) ||
        !walk_ok(run, run->ops->sum(run->context, &sums)))
        return false;
    scaled.sums.kinetic *= factor * factor;
    for (int a = 0; a < 3; a++) scaled.sums.momentum[a] *= factor;
    return CHECK(judge_count_faults(&scaled, NULL, &sums, true) == 0);
}

/* Some steps with rebuilds, short enough that nothing flies off: then forces and sums at the new places, and each id
 * where its own way led it. */
static bool check_motion(const WalkRun *run, const MdSystem *system, const MdConfig *config) {
    enum { N_STEPS = 24 };
    MdStatistics before, after;
    Gathered gathered;
    run->ops->statistics(run->context, &before);
    if (!walk_steps(run, 1, N_STEPS) || !judge_run(run, system, config, true)) return false;
    run->ops->statistics(run->context, &after);
    CHECK(run->ops->fault(run->context).step == -1);
    CHECK(after.n_late_rebuilds == before.n_late_rebuilds);
    if (config->neighbor_rebuild == MD_REBUILD_EVERY)
        CHECK(after.n_rebuilds - before.n_rebuilds == N_STEPS / config->neighbor_every);
    bool ok = judge_gather(run, system, &gathered);
    for (int64_t i = 0; ok && i < system->n_atoms; i++) {
        double moved_sq = 0;
        for (int a = 0; a < 3; a++) {
            double length = system->box.periodic[a] ? system->box.length[a] : 0;
            double moved = gathered.position[3 * i + a] - system->position[3 * i + a] +
                           (gathered.image[3 * i + a] - system->image[3 * i + a]) * length;
            moved_sq += moved * moved;
        }
        ok = CHECK(moved_sq < 0.16); /* half the least distance between two atoms */
    }
    judge_gathered_free(&gathered);
    return ok;
}

static void check_combination(const Walk *walk, const MdSystem *system, const Judge *judge) {
    WalkRun run;
    if (!walk_create(&run, walk->ops, &walk->config, system)) return;
    if (check_paths(&run, system, judge) && check_scaling(&run, judge)) check_motion(&run, system, &walk->config);
    walk_destroy(&run);
}

static MdConfig base_config(void) {
    MdConfig config = state_config();
    config.run_threads = 3;     /* not a divisor of what is worked on */
    config.run_timestep = 5e-4; /* forces of shaken atoms are large */
    config.neighbor_every = 4;
    return config;
}

static void test_case(const MdBackendOps *ops, const Case *c) {
    MdConfig config = base_config();
    MdSystem *system = cases_make(c, &config);
    Judge judges[N_PRECISIONS];
    for (int p = 0; p < N_PRECISIONS; p++)
        judges[precisions[p]] = judge_make(system, system->position, system->velocity, precisions[p]);
    Walk walk;
    int n_combinations = 0;
    for (walk_begin(&walk, ops, &config, NULL); walk_next(&walk); n_combinations++) {
        check_context("%s, N %lld: %s", c->name, (long long)system->n_atoms, walk.name);
        check_combination(&walk, system, &judges[walk.config.run_precision]);
    }
    printf("%s: %s, %lld atoms: %d combinations\n", ops->name, c->name, (long long)system->n_atoms, n_combinations);
    for (int p = 0; p < N_PRECISIONS; p++) judge_free(&judges[p]);
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
            double over_r = md_pair_force_d(pair, r_sq);
            if (fabs(over_r) * sqrt(r_sq) >= least) continue;
            least = fabs(over_r) * sqrt(r_sq);
            weakest[0] = i, weakest[1] = j;
            for (int a = 0; a < 3; a++) force[a] = over_r * d[a];
        }
}

/* A perfect answer passes; each damaged one must not. */
static void test_planted_faults(int precision) {
    static const char *const names[] = {"double", "single", "mixed"};
    MdConfig config = base_config();
    MdSystem *system = cases_make(&cases_table[0], &config);
    Judge judge = judge_make(system, system->position, system->velocity, precision);
    size_t n = (size_t)system->n_atoms * 3, bytes = n * sizeof(double);
    double *force = md_alloc(n, sizeof *force, "damaged forces");
    check_context("planted faults, %s", names[precision]);

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
    CHECK(judge_count_faults(&judge, NULL, &without, false) >= 2);

    md_free(force);
    judge_free(&judge);
    md_system_destroy(system);
}

int main(void) {
    for (int p = 0; p < N_PRECISIONS; p++) test_planted_faults(precisions[p]);
    MdConfig config = base_config();
    for (const MdBackendOps *ops = NULL; (ops = walk_backend(ops, &config)) != NULL;) {
        for (int k = 0; k < cases_count; k++) test_case(ops, &cases_table[k]);
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            Case c = cases_table[0];
            c.name = "partial blocks";
            c.shape.n_atoms = 1025;
            c.first_atoms = sizes[k];
            test_case(ops, &c);
        }
    }
    return check_finish();
}
