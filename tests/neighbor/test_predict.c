/* neighbor.predict = velocity: lists of where atoms will be. They last longer; they lack no pair, not even when the atoms
 * are suddenly so fast that their places would be far from them; the atoms stay where they are. Rows with every switch of
 * lists are looked at in test_rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "judge.h"
#include "state.h"

enum { MAX_STEPS = 400 };

/* --- runs that are looked at ------------------------------------------------------------------------------------------ */

/* Exact, and what was issued is done. */
static int64_t count_rebuilds(const WalkRun *run) {
    MdSums sums;
    MdStatistics statistics = {.n_rebuilds = -1};
    if (walk_ok(run, run->ops->sum(run->context, &sums))) run->ops->statistics(run->context, &statistics);
    return statistics.n_rebuilds;
}

static bool has_entry(const MdRows *rows, int64_t row, int64_t id) {
    for (int64_t k = rows->offsets[row]; k < rows->offsets[row + 1]; k++)
        if (rows->ids[k] == id) return true;
    return false;
}

/* Pairs that the list lacks, by looking at all, though they are nearer than reach_in, or has though they are beyond
 * reach_out. */
static int64_t count_wrong(const WalkRun *run, const MdSystem *system, const double *position, double reach_in,
                           double reach_out) {
    const MdConfig *config = &run->config;
    const bool half = md_option_has_effect(config, MD_OPTION_neighbor_list) && config->neighbor_list == MD_LIST_HALF;
    MdRows rows = {0};
    int64_t n_wrong = 0, n_pairs = 0;
    if (!walk_ok(run, run->ops->export_rows(run->context, &rows))) return -1;
    for (int64_t i = 0; i < system->n_atoms; i++)
        for (int64_t j = 0; j < i; j++) {
            double d[3], wraps[3];
            const double r = sqrt(tolerance_separation(system, position, i, j, d, wraps));
            if (r >= reach_in && r <= reach_out) continue; /* either way */
            const int n_found = has_entry(&rows, i, j) + has_entry(&rows, j, i);
            n_pairs += r < reach_in;
            n_wrong += (r < reach_in && n_found != (half ? 1 : 2)) || (r > reach_out && n_found > 0);
        }
    CHECK(n_pairs > 3 * system->n_atoms);
    md_rows_free(&rows);
    return n_wrong;
}

/* The longest way of an atom from one look to the next, which a wrong image would make a whole box longer. */
static double longest_way(const MdSystem *system, const Gathered *from, const Gathered *to) {
    double longest = 0;
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) {
        const double length = system->box.periodic[k % 3] ? system->box.length[k % 3] : 0;
        const double way = to->position[k] - from->position[k] + (to->image[k] - from->image[k]) * length;
        longest = fmax(longest, fabs(way));
    }
    return longest;
}

/* --- complete --------------------------------------------------------------------------------------------------------- */

/* What there is to see of a list after a step: its rows, or the forces that come of it. fresh: it was made in this step, after
 * the one before had served for `age` steps. */
static bool check_list(const WalkRun *run, const MdSystem *system, const Gathered *now, bool fresh, int64_t age) {
    const double cutoff = system->potential.cutoff_max, unsure = 1e-5; /* of places in single precision */
    if (!walk_has_rows(run)) return judge_run(run, system, false);
    bool ok = CHECK(count_wrong(run, system, now->position, cutoff - unsure, INFINITY) == 0);
    if (!ok || !fresh) return ok;
    const double range = cutoff + run->config.neighbor_skin;
    double *place = judge_places(system, &run->config, now, age);
    ok = CHECK(count_wrong(run, system, place, range - unsure, range + unsure) == 0);
    md_free(place);
    return ok;
}

/* Looks at every step from the first build after the start on, over n_lists of them, which includes the first and the last
 * of each list. `faster` once the first list is some steps old: what is far ahead then would be beyond the skin. */
static void check_complete(const WalkRun *run, const MdSystem *system, int n_lists, double faster) {
    enum { OLD = 60 };
    int64_t n_before = 0, built = 0;
    Gathered before = {0};
    bool ok = walk_prepare(run) && judge_gather(run, system, &before);
    for (int64_t step = 1; ok && step < MAX_STEPS && n_before <= n_lists; step++) {
        Gathered now = {0};
        if (faster > 1 && step == OLD)
            ok = walk_ok(run, run->ops->scale_velocities(run->context, faster, walk_no_shift));
        ok = ok && walk_steps(run, step, 1) && judge_gather(run, system, &now);
        const int64_t n_now = ok ? count_rebuilds(run) : 0;
        if (ok && n_now > 0) ok = check_list(run, system, &now, n_now > n_before, step - built);
        ok = ok && CHECK(longest_way(system, &before, &now) < 1);
        if (n_before == 0 && n_now > 0) CHECK(faster == 1 || step > OLD + 5);
        if (n_now > n_before) built = step;
        n_before = n_now;
        judge_gathered_free(&before);
        before = now;
    }
    judge_gathered_free(&before);
    CHECK(!ok || n_before > n_lists);
    CHECK(run->ops->fault(run->context).step < 0); /* or there would be no more lists */
}

typedef struct Kind {
    const char *name;
    int kernel, list, sort, search, precision, rebuild, fuse;
    double skin;
} Kind;

static const Kind kinds[] = {
    {"default", MD_KERNEL_AUTO, MD_LIST_FULL, MD_SORT_AUTO, MD_SEARCH_CELL, MD_PRECISION_MIXED, MD_REBUILD_DEVICE_CHECK,
     MD_FUSE_AUTO, 0.3},
    {"bricks", MD_KERNEL_BRICK, MD_LIST_FULL, MD_SORT_BRICK, MD_SEARCH_CELL, MD_PRECISION_SINGLE, MD_REBUILD_HOST_CHECK,
     MD_FUSE_ON, 0.2},
    {"rows", MD_KERNEL_LIST, MD_LIST_FULL, MD_SORT_CELL, MD_SEARCH_CELL, MD_PRECISION_DOUBLE, MD_REBUILD_DEVICE_CHECK,
     MD_FUSE_ON, 0.3},
    {"half rows in no order", MD_KERNEL_LIST, MD_LIST_HALF, MD_SORT_NONE, MD_SEARCH_CELL, MD_PRECISION_MIXED,
     MD_REBUILD_DEVICE_CHECK, MD_FUSE_OFF, 0.4},
    {"clusters", MD_KERNEL_CLUSTER, MD_LIST_FULL, MD_SORT_CELL, MD_SEARCH_CELL, MD_PRECISION_MIXED,
     MD_REBUILD_DEVICE_CHECK, MD_FUSE_ON, 0.2},
    {"cells", MD_KERNEL_CELL, MD_LIST_FULL, MD_SORT_CELL, MD_SEARCH_CELL, MD_PRECISION_MIXED, MD_REBUILD_DEVICE_CHECK,
     MD_FUSE_ON, 0.2},
    {"rows without cells", MD_KERNEL_LIST, MD_LIST_FULL, MD_SORT_NONE, MD_SEARCH_BRUTE, MD_PRECISION_MIXED,
     MD_REBUILD_HOST_CHECK, MD_FUSE_ON, 0.3},
};

static bool has_kernel(const MdBackendOps *ops, int kernel) {
    const MdVariantTable table = ops->variants();
    char value[64];
    snprintf(value, sizeof value, "force.kernel=%s", md_switch_words(MD_OPTION_force_kernel)[kernel]);
    if (kernel == MD_KERNEL_AUTO) return true;
    for (int k = 0; k < table.n_rows; k++)
        if (strcmp(table.rows[k].value, value) == 0) return true;
    return false;
}

/* Dense, or a gas, in which hardly anything happens to a velocity. An open system loses its outer atoms only slowly. */
static MdSystem *make_system(int dimension, bool open, bool gas, int64_t n_atoms) {
    StateShape shape = {dimension,
                        n_atoms,
                        gas ? dimension == 3 ? 0.2 : 0.4 : 0.8442,
                        0.08,
                        2.5,
                        0.4,
                        {true, !open, dimension == 3},
                        false,
                        1,
                        MD_SHIFT_ENERGY,
                        43};
    return state_shaken(&shape);
}

/* All at one speed in directions of their own, so that pairs that meet head on use up the whole skin. */
static void set_speed(MdSystem *system, double one) {
    for (int64_t i = 0; i < system->n_atoms; i++) {
        double *v = system->velocity + 3 * i, speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        for (int a = 0; a < 3; a++) v[a] *= one / speed;
    }
}

/* A skin of at least so much with which cells along x are no longer than they must be: what is in a wrong one is missed. */
static double cells_without_slack(const MdSystem *system, double skin) {
    const double length = system->box.length[0], cutoff = system->potential.cutoff_max;
    return length / floor(length / (cutoff + skin)) - cutoff - 1e-4;
}

/* One kind of list on one system; faster: how much, all of a sudden. */
static void test_complete(const MdBackendOps *ops, const MdConfig *base, const Kind *kind, int dimension, bool open,
                          double faster) {
    const bool is_sudden = faster > 1;
    MdConfig config = *base;
    char name[64];
    snprintf(name, sizeof name, "%s%s", is_sudden ? "suddenly fast, " : open ? "open, " : "fast, ", kind->name);
    if (!walk_wants(name)) return;
    MdSystem *system = make_system(dimension, open, is_sudden, 700);
    set_speed(system, is_sudden ? 0.4 : 4);
    config.run_timestep = 0.002;
    config.neighbor_predict = MD_PREDICT_VELOCITY;
    config.force_kernel = kind->kernel;
    config.neighbor_list = kind->list;
    config.memory_sort = kind->sort;
    config.neighbor_search = kind->search;
    config.run_precision = kind->precision;
    config.neighbor_rebuild = kind->rebuild;
    config.launch_fuse = kind->fuse;
    config.neighbor_skin = cells_without_slack(system, kind->skin);
    check_context("%s, %d-D, %s", ops->name, dimension, name);
    WalkRun run;
    if (walk_create(&run, ops, &config, system)) {
        check_complete(&run, system, is_sudden ? 1 : 2, faster);
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

static void test_kinds(const MdBackendOps *ops, const MdConfig *base) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (!has_kernel(ops, kinds[k].kernel)) continue;
        for (int dimension = 2; dimension <= 3; dimension++) {
            test_complete(ops, base, &kinds[k], dimension, false, 1);
            test_complete(ops, base, &kinds[k], dimension, true, 1);
            test_complete(ops, base, &kinds[k], dimension, false, 12);
        }
    }
}

/* --- how long lists last ---------------------------------------------------------------------------------------------- */

/* The steps of a melt that make lists: their number is returned, the first of them go into steps[]. */
enum { MELT_STEPS = 160, MELTED = 40, KEPT = 8 };

static int64_t list_steps(const MdBackendOps *ops, const MdConfig *config, const MdSystem *system, int64_t *steps) {
    WalkRun run;
    int64_t n = 0, n_melted = 0;
    memset(steps, 0, KEPT * sizeof *steps);
    if (!walk_create(&run, ops, config, system)) return 0;
    bool ok = walk_prepare(&run);
    for (int64_t step = 1; ok && step <= MELT_STEPS; step++) {
        ok = walk_steps(&run, step, 1);
        const int64_t now = ok ? count_rebuilds(&run) : n;
        if (now > n && n < KEPT) steps[n] = step;
        n = now;
        if (step == MELTED) n_melted = n;
    }
    walk_destroy(&run);
    return n - n_melted;
}

/* steps: of the backend before this, if there was one. */
static void test_melt(const MdBackendOps *ops, const MdConfig *base, int64_t *steps) {
    MdSystem *system = make_system(3, false, false, 700);
    MdConfig config = *base;
    int64_t off_steps[KEPT], before[KEPT];
    set_speed(system, 2.1);
    config.run_timestep = 0.005;
    config.run_precision = MD_PRECISION_DOUBLE; /* backends go the same way for so long */
    config.neighbor_skin = 0.4;
    memcpy(before, steps, sizeof before);
    check_context("%s: a melt", ops->name);
    config.neighbor_predict = MD_PREDICT_OFF;
    const int64_t n_off = list_steps(ops, &config, system, off_steps);
    config.neighbor_predict = MD_PREDICT_VELOCITY;
    const int64_t n = list_steps(ops, &config, system, steps);
    printf("%s: %d steps of a melt, %.1f a list, with places ahead %.1f\n", ops->name, MELT_STEPS - MELTED,
           (double)(MELT_STEPS - MELTED) / (double)n_off, (double)(MELT_STEPS - MELTED) / (double)n);
    CHECK(n > 2 && (double)n_off > 1.25 * (double)n);
    CHECK(before[0] == 0 || memcmp(before, steps, sizeof before) == 0);
    config.neighbor_rebuild = MD_REBUILD_HOST_CHECK;
    CHECK(list_steps(ops, &config, system, before) == n && memcmp(before, steps, sizeof before) == 0);
    md_system_destroy(system);
}

int main(void) {
    MdConfig config = state_config();
    int64_t steps[KEPT] = {0};
    for (const MdBackendOps *ops = NULL; (ops = walk_backend(ops, &config)) != NULL;) {
        test_kinds(ops, &config);
        if (walk_wants("melt")) test_melt(ops, &config, steps);
    }
    return check_finish();
}
