/* Lists of 32,000 atoms at the end of a rebuild interval, when they are as old as they get: by brute force, no pair inside
 * the cutoff is missing where displacements are watched. With a fixed interval that is too long some are, and the run counts
 * its lists as late: the same search finds them, so it would find what a faulty rule misses.
 *
 * MDMINI_TEST_ATOMS: how many, by default 32,000, and 2,000 on an emulated GPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "judge.h"
#include "rows.h"
#include "state.h"

enum { MAX_STEPS = 200 };

/* --- the search --------------------------------------------------------------------------------------------------- */

typedef struct Pairs {
    int64_t n, room;
    int32_t (*ids)[2];
} Pairs;

static void add_pair(Pairs *pairs, int32_t i, int32_t j) {
    if (pairs->n == pairs->room) {
        pairs->room = pairs->room ? 2 * pairs->room : 1 << 20;
        int32_t(*grown)[2] = md_alloc((size_t)pairs->room, sizeof *grown, "pairs");
        if (pairs->n) memcpy(grown, pairs->ids, (size_t)pairs->n * sizeof *grown);
        md_free(pairs->ids);
        pairs->ids = grown;
    }
    pairs->ids[pairs->n][0] = i, pairs->ids[pairs->n++][1] = j;
}

/* Every pair of atoms nearer than reach, by looking at all of them, axis by axis. */
static Pairs find_pairs(const MdSystem *system, const double *position, double reach) {
    const int64_t n = system->n_atoms;
    double *x[3], *r_sq = md_alloc((size_t)n, sizeof *r_sq, "distances");
    Pairs pairs = {0};
    for (int a = 0; a < 3; a++) {
        x[a] = md_alloc((size_t)n, sizeof *x[a], "places");
        for (int64_t i = 0; i < n; i++) x[a][i] = position[3 * i + a];
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) r_sq[j] = 0;
        for (int a = 0; a < system->box.dimension; a++) {
            const double length = system->box.length[a], half = system->box.periodic[a] ? length / 2 : INFINITY;
            const double *along = x[a], at = x[a][i];
            for (int64_t j = 0; j < i; j++) {
                const double plain = fabs(at - along[j]), d = plain > half ? length - plain : plain;
                r_sq[j] += d * d;
            }
        }
        for (int64_t j = 0; j < i; j++)
            if (r_sq[j] < reach * reach) add_pair(&pairs, (int32_t)i, (int32_t)j);
    }
    for (int a = 0; a < 3; a++) md_free(x[a]);
    md_free(r_sq);
    return pairs;
}

static bool has_entry(const MdRows *rows, int32_t row, int32_t id) {
    for (int64_t k = rows->offsets[row]; k < rows->offsets[row + 1]; k++)
        if (rows->ids[k] == id) return true;
    return false;
}

/* Pairs that the list lacks: in a full list they must stand in both rows, in a half list in one. */
static int64_t count_missing(const Pairs *pairs, const MdRows *rows, bool half) {
    int64_t n_missing = 0;
    for (int64_t k = 0; k < pairs->n; k++) {
        const int32_t i = pairs->ids[k][0], j = pairs->ids[k][1];
        const int found = has_entry(rows, i, j) + has_entry(rows, j, i);
        n_missing += found != (half ? 1 : 2);
    }
    return n_missing;
}

/* --- states and intervals ------------------------------------------------------------------------------------------ */

/* Exact, and what was issued is done. */
static int64_t count_rebuilds(const WalkRun *run) {
    MdSums sums;
    MdStatistics statistics = {.n_rebuilds = -1};
    if (walk_ok(run, run->ops->sum(run->context, &sums))) run->ops->statistics(run->context, &statistics);
    return statistics.n_rebuilds;
}

/* The first step of a run that makes the list anew; 0: none did. */
static int64_t end_of_interval(const MdBackendOps *ops, const MdConfig *config, const MdSystem *system) {
    WalkRun run;
    int64_t step = 0, end = 0;
    if (!walk_create(&run, ops, config, system)) return 0;
    for (bool ok = walk_prepare(&run); ok && !end && step < MAX_STEPS; step++) {
        ok = walk_steps(&run, step + 1, 1);
        if (ok && count_rebuilds(&run) >= 1) end = step + 1;
    }
    walk_destroy(&run);
    return end;
}

/* The longest way of an atom since the start, where the list was made. */
static double largest_displacement(const MdSystem *system, const Gathered *now) {
    double largest_sq = 0;
    for (int64_t i = 0; i < system->n_atoms; i++) {
        double sum = 0;
        for (int a = 0; a < system->box.dimension; a++) {
            const int64_t k = 3 * i + a;
            const double length = system->box.periodic[a] ? system->box.length[a] : 0;
            sum += pow(now->position[k] - system->position[k] + (now->image[k] - system->image[k]) * length, 2);
        }
        largest_sq = fmax(largest_sq, sum);
    }
    return sqrt(largest_sq);
}

static bool is_half(const MdConfig *config) {
    return md_option_has_effect(config, MD_OPTION_neighbor_list) && config->neighbor_list == MD_LIST_HALF;
}

/* Up to the step before the first rebuild: the list is the oldest that this rule allows, and the step after makes another. */
static void check_interval(const MdBackendOps *ops, const MdConfig *config, const MdSystem *system, const char *what) {
    check_context("%s, %lld atoms, %s", ops->name, (long long)system->n_atoms, what);
    const int64_t end = end_of_interval(ops, config, system);
    WalkRun run;
    if (!CHECK(end > 2) || !walk_create(&run, ops, config, system)) return;
    MdRows rows = {0};
    Gathered gathered = {0};
    MdStatistics statistics;
    const bool watched = config->neighbor_rebuild != MD_REBUILD_EVERY;
    if (walk_prepare(&run) && walk_steps(&run, 1, end - 1) && CHECK(count_rebuilds(&run) == 0) &&
        judge_gather(&run, system, &gathered) && walk_ok(&run, ops->export_rows(run.context, &rows))) {
        const double error = rows_distance_error(system, gathered.position, run.config.run_precision);
        Pairs pairs = find_pairs(system, gathered.position, system->potential.cutoff_max - error);
        const int64_t n_missing = count_missing(&pairs, &rows, is_half(&run.config));
        CHECK(pairs.n > 5 * system->n_atoms);
        CHECK(watched ? n_missing == 0 : n_missing > 0);
        /* Complete by right, not by luck: two atoms that meet head on can have used up no more than the skin. */
        const double moved = largest_displacement(system, &gathered), half_skin = config->neighbor_skin / 2;
        CHECK(moved > half_skin / 2 && (moved <= half_skin + error) == watched);
        CHECK(walk_steps(&run, end, 1) && count_rebuilds(&run) == 1);
        ops->statistics(run.context, &statistics);
        CHECK(watched ? statistics.n_late_rebuilds == 0 : statistics.n_late_rebuilds == 1);
        printf("%s, %s: step %lld, the last of its list: %lld pairs inside the cutoff, %lld missing, ran as %s\n",
               ops->name, what, (long long)end - 1, (long long)pairs.n, (long long)n_missing,
               md_switch_words(MD_OPTION_force_kernel)[run.config.force_kernel]);
        md_free(pairs.ids);
    }
    judge_gathered_free(&gathered);
    md_rows_free(&rows);
    walk_destroy(&run);
}

/* --- what is run --------------------------------------------------------------------------------------------------- */

typedef struct Rule {
    const char *name;
    int kernel, list, precision, rebuild;
    int64_t every;
    double skin;
} Rule;

static const Rule rules[] = {
    {"default", MD_KERNEL_AUTO, MD_LIST_FULL, MD_PRECISION_MIXED, MD_REBUILD_DEVICE_CHECK, 20, 0.3},
    {"list, half", MD_KERNEL_LIST, MD_LIST_HALF, MD_PRECISION_DOUBLE, MD_REBUILD_HOST_CHECK, 20, 0.3},
    {"bricks", MD_KERNEL_BRICK, MD_LIST_FULL, MD_PRECISION_MIXED, MD_REBUILD_DEVICE_CHECK, 20, 0.3},
    {"bricks, single", MD_KERNEL_BRICK, MD_LIST_FULL, MD_PRECISION_SINGLE, MD_REBUILD_DEVICE_CHECK, 20, 0.2},
    {"bricks, watched by the host", MD_KERNEL_BRICK, MD_LIST_FULL, MD_PRECISION_MIXED, MD_REBUILD_HOST_CHECK, 20, 0.3},
    {"late list", MD_KERNEL_LIST, MD_LIST_FULL, MD_PRECISION_MIXED, MD_REBUILD_EVERY, 30, 0.1},
    {"late bricks", MD_KERNEL_BRICK, MD_LIST_FULL, MD_PRECISION_MIXED, MD_REBUILD_EVERY, 30, 0.1},
};

static bool has_value(const MdBackendOps *ops, const char *value) {
    const MdVariantTable table = ops->variants();
    for (int k = 0; k < table.n_rows; k++)
        if (strcmp(table.rows[k].value, value) == 0) return true;
    return false;
}

static int64_t n_atoms_for(const MdBackendOps *ops, const MdConfig *config) {
    const char *text = getenv("MDMINI_TEST_ATOMS");
    MdMachine machine = {0};
    MdErrors *errors = md_errors_create();
    if (ops->probe(config, NULL, &machine, errors) != MD_OK) md_errors_print(errors, stdout);
    md_errors_destroy(errors);
    return text ? strtoll(text, NULL, 10) : strstr(machine.name, "emulated") ? 2000 : 32000;
}

static void test_backend(const MdBackendOps *ops, const MdConfig *base, int dimension) {
    StateShape shape = {dimension,
                        n_atoms_for(ops, base),
                        dimension == 3 ? 0.8442 : 0.8,
                        0.08,
                        2.5,
                        0.3,
                        {true, true, dimension == 3},
                        false,
                        1,
                        MD_SHIFT_ENERGY,
                        41};
    MdSystem *system = state_shaken(&shape);
    /* All at one speed in directions of their own: pairs that meet head on use up the whole skin when the largest displacement
     * reaches half of it, so a rule that looks any later misses some. */
    for (int64_t i = 0; i < system->n_atoms; i++) {
        double *v = system->velocity + 3 * i, speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        for (int a = 0; a < 3; a++) v[a] *= 4 / speed;
    }
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        char what[64];
        MdConfig config = *base;
        config.run_timestep = 0.002;
        config.force_kernel = rules[k].kernel;
        config.neighbor_list = rules[k].list;
        config.run_precision = rules[k].precision;
        config.neighbor_rebuild = rules[k].rebuild;
        config.neighbor_every = rules[k].every;
        config.neighbor_skin = rules[k].skin;
        snprintf(what, sizeof what, "%d-D, %s", dimension, rules[k].name);
        if (rules[k].kernel != MD_KERNEL_BRICK || has_value(ops, "force.kernel=brick"))
            check_interval(ops, &config, system, what);
    }
    md_system_destroy(system);
}

int main(void) {
    MdConfig config = state_config();
    for (const MdBackendOps *ops = NULL; (ops = walk_backend(ops, &config)) != NULL;)
        for (int dimension = 2; dimension <= 3; dimension++) test_backend(ops, &config, dimension);
    return check_finish();
}
