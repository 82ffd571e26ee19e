/* Forces, energy and virial against the double-precision reference in systems of many cells and bricks: a liquid in two and
 * three dimensions, a slab with vacuum, a binary mixture, and a liquid 30 per cent denser than the melt; with the force
 * kernel that is chosen by itself and with bricks, in every precision, both at the start and after steps and a rebuild.
 *
 * MDMINI_TEST_ATOMS="4000 32000 256000 1000000": least numbers of atoms, by default one that takes seconds on the emulated
 * GPU. MDMINI_TEST_SYSTEM: see walk.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "judge.h"
#include "near.h"
#include "state.h"

enum { N_CASES = 5, N_PRECISIONS = 3, MAX_SIZES = 8 };
static const int precisions[N_PRECISIONS] = {MD_PRECISION_MIXED, MD_PRECISION_SINGLE, MD_PRECISION_DOUBLE};

typedef struct Large {
    const char *name;
    StateShape shape;
    double vacuum; /* what the last axis grows by, as a multiple of itself */
} Large;

static const Large larges[N_CASES] = {
    {"3-D liquid", {3, 0, 0.8442, 0.12, 2.5, 0.3, {true, true, true}, false, 1, MD_SHIFT_ENERGY, 31}, 0},
    {"2-D liquid", {2, 0, 0.8, 0.12, 2.5, 0.3, {true, true, false}, false, 1, MD_SHIFT_ENERGY, 32}, 0},
    {"slab with vacuum", {3, 0, 0.8442, 0.12, 2.5, 0.3, {true, true, true}, false, 1, MD_SHIFT_FORCE, 33}, 1.7},
    {"binary mixture", {3, 0, 0.8442, 0.12, 2.5, 0.3, {true, true, true}, false, 2, MD_SHIFT_ENERGY, 34}, 0},
    {"30 per cent denser", {3, 0, 1.3 * 0.8442, 0.12, 2.5, 0.3, {true, true, true}, false, 1, MD_SHIFT_NONE, 35}, 0},
};

static int read_sizes(int64_t sizes[MAX_SIZES]) {
    const char *text = getenv("MDMINI_TEST_ATOMS");
    char *end;
    int n = 0;
    for (text = text ? text : "4000"; n < MAX_SIZES; text = end) {
        const long long size = strtoll(text, &end, 10);
        if (end == text) break;
        sizes[n++] = size;
    }
    return n;
}

static MdSystem *make_system(const Large *large, int64_t n_atoms) {
    StateShape shape = large->shape;
    shape.n_atoms = n_atoms;
    MdSystem *system = state_shaken(&shape);
    system->box.length[2] *= 1 + large->vacuum;
    return system;
}

static bool has_value(const MdBackendOps *ops, const char *value) {
    const MdVariantTable table = ops->variants();
    for (int k = 0; k < table.n_rows; k++)
        if (strcmp(table.rows[k].value, value) == 0) return true;
    return false;
}

/* Forces of both paths, and the sums. */
static bool check_forces(const WalkRun *run, const MdSystem *system, const Judge *judge) {
    bool ok = true;
    for (int with_energy = 0; ok && with_energy < 2; with_energy++) {
        Gathered gathered = {0};
        MdSums sums;
        ok = walk_ok(run, run->ops->compute_forces(run->context, with_energy)) &&
             judge_gather(run, system, &gathered) && walk_ok(run, run->ops->sum(run->context, &sums)) &&
             CHECK(judge_count_faults(judge, gathered.force, with_energy ? &sums : NULL, true) == 0);
        judge_gathered_free(&gathered);
    }
    return ok;
}

/* judge: of the state as created, made by the first run that needs it. Returns the force kernel that ran. */
static int check_run(const MdBackendOps *ops, const MdConfig *config, const Large *large, const MdSystem *system,
                     Judge *judge) {
    enum { N_STEPS = 2 };
    WalkRun run;
    MdStatistics statistics;
    const char *const *kernels = md_switch_words(MD_OPTION_force_kernel);
    check_context("%s %s, %lld atoms, %s, %s", ops->name, large->name, (long long)system->n_atoms,
                  md_switch_words(MD_OPTION_run_precision)[config->run_precision], kernels[config->force_kernel]);
    if (!walk_create(&run, ops, config, system)) return -1;
    if (!judge->force) *judge = judge_make(system, system->position, system->velocity, &run.config);
    /* Most atoms of a liquid have partners: that the state is one, and not far apart or empty. */
    CHECK(judge->sums.pairs > (system->box.dimension == 3 ? 20 : 5) * (double)system->n_atoms);
    if (walk_ok(&run, ops->update_neighbors(run.context, 0)) && check_forces(&run, system, judge) &&
        walk_steps(&run, 1, N_STEPS) && walk_ok(&run, ops->rebuild(run.context)) &&
        walk_ok(&run, ops->compute_forces(run.context, true)))
        judge_run(&run, system, true);
    ops->statistics(run.context, &statistics);
    printf("%s %s: %lld atoms, %s, force.kernel=%s ran as %s, %lld overflows\n", ops->name, large->name,
           (long long)system->n_atoms, md_switch_words(MD_OPTION_run_precision)[config->run_precision],
           kernels[config->force_kernel], kernels[run.config.force_kernel], (long long)statistics.n_overflows);
    const int ran = run.config.force_kernel;
    walk_destroy(&run);
    return ran;
}

static void check_system(const MdBackendOps *ops, const Large *large, int64_t n_atoms) {
    MdConfig config = state_config();
    config.run_timestep = 5e-4; /* forces of shaken atoms are large */
    MdSystem *system = make_system(large, n_atoms);
    for (int p = 0; p < N_PRECISIONS; p++) {
        Judge judge = {0};
        config.run_precision = precisions[p];
        config.force_kernel = MD_KERNEL_AUTO;
        const int ran = check_run(ops, &config, large, system, &judge);
        config.force_kernel = MD_KERNEL_BRICK;
        if (ran != MD_KERNEL_BRICK && has_value(ops, "force.kernel=brick"))
            check_run(ops, &config, large, system, &judge);
        if (judge.force) judge_free(&judge);
    }
    md_system_destroy(system);
}

/* --- the test of the test ----------------------------------------------------------------------------------------- */

static int64_t count_pairs(const MdSystem *system, int64_t i, int64_t j, double reach) {
    double d[3], wraps[3];
    return i != j && tolerance_separation(system, system->position, i, j, d, wraps) < reach * reach;
}

/* The cells that tolerances stand on lose no pair and meet none twice: as many as there are among all pairs. */
static void test_near(const Large *large, const bool periodic[3], int64_t n_atoms) {
    Large open = *large;
    memcpy(open.shape.periodic, periodic, sizeof open.shape.periodic);
    MdSystem *system = make_system(&open, n_atoms);
    Near near = near_make(system, system->position, large->shape.cutoff);
    int64_t n_near = 0, n_all = 0;
    check_context("cells of the test, %s, %lld atoms, %d %d %d cells", large->name, (long long)n_atoms, (int)near.n[0],
                  (int)near.n[1], (int)near.n[2]);
    for (int64_t i = 0; i < system->n_atoms; i++) {
        for (int64_t k = 0, n = near_find(&near, i); k < n; k++)
            n_near += count_pairs(system, i, near.found[k], large->shape.cutoff);
        for (int64_t j = 0; j < system->n_atoms; j++) n_all += count_pairs(system, i, j, large->shape.cutoff);
    }
    CHECK(n_near == n_all && n_all > 8 * system->n_atoms);
    near_free(&near);
    md_system_destroy(system);
}

/* One pair of neighbours among very many that is lost: seen in the forces whatever the size. (A pair near the cutoff pulls so
 * little that in a large box the rounding of places to single precision could hide it; in double it could not.) */
static void test_lost_pair(int precision, int64_t n_atoms) {
    MdConfig config = state_config();
    config.run_precision = precision;
    MdSystem *system = make_system(&larges[0], n_atoms);
    Judge judge = judge_make(system, system->position, system->velocity, &config);
    double *force = md_alloc((size_t)system->n_atoms * 3, sizeof *force, "damaged forces");
    memcpy(force, judge.force, (size_t)system->n_atoms * 3 * sizeof *force);
    check_context("a lost pair, %s", md_switch_words(MD_OPTION_run_precision)[precision]);
    CHECK(judge_count_faults(&judge, force, &judge.sums, true) == 0);
    const bool exact = precision == MD_PRECISION_DOUBLE;
    Near near = near_make(system, system->position, system->potential.cutoff_max);
    for (int64_t k = 0, n = near_find(&near, 0); k < n; k++) {
        double d[3], wraps[3], r = sqrt(tolerance_separation(system, system->position, 0, near.found[k], d, wraps));
        if (near.found[k] == 0 || r < (exact ? 2.4 : 1.2) || r > (exact ? 2.49 : 1.4)) continue;
        for (int a = 0; a < 3; a++) force[a] -= md_pair_force(system->potential.form, &system->potential.pair[0], r * r) * d[a];
        break;
    }
    CHECK(judge_count_faults(&judge, force, NULL, false) > 0);
    near_free(&near);
    md_free(force);
    judge_free(&judge);
    md_system_destroy(system);
}

int main(void) {
    static const bool all[3] = {true, true, true}, some[3] = {true, false, true}, none[3] = {false, false, false};
    int64_t sizes[MAX_SIZES];
    const int n_sizes = read_sizes(sizes);
    if (walk_first_shard()) {
        test_near(&larges[0], all, 300), test_near(&larges[0], all, 1500), test_near(&larges[0], some, 1500);
        test_near(&larges[0], none, 1500), test_near(&larges[1], larges[1].shape.periodic, 1500);
        test_near(&larges[2], all, 1500);
        for (int p = 0; p < N_PRECISIONS && n_sizes > 0; p++) test_lost_pair(precisions[p], sizes[n_sizes - 1]);
    }
    MdConfig config = state_config();
    for (const MdBackendOps *ops = NULL; (ops = walk_backend(ops, &config)) != NULL;)
        for (int s = 0; s < n_sizes; s++)
            for (int k = 0; k < N_CASES; k++)
                if (walk_wants(larges[k].name)) check_system(ops, &larges[k], sizes[s]);
    return check_finish();
}
