/* Lists of all pairs of values that bear on them against brute force, as sets by id: built on disordered and uneven
 * states, regrown from a capacity that cannot do, kept complete while particles move. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "check.h"
#include "judge.h"
#include "path.h"
#include "rows.h"

/* Switches that no list depends on keep their defaults. */
#define NOT_OF_LISTS NOT_OF_PAIRS " force.cutoff_test"
/* Nor does which pairs are met depend on these. */
#define NOT_OF_PAIRS                                                                                                   \
    "memory.parameters force.threads_per_atom force.partial_sums force.arithmetic force.unroll "                       \
    "force.energy reduce.method reduce.addressing reduce.per_thread reduce.finish reduce.scratch reduce.accumulate "   \
    "output.pack output.host_memory output.streams output.pipeline"

/* A row in the order of ids; memory is in that order when it is not sorted. */
static bool ascending(const MdRows *rows) {
    for (int64_t i = 0; i < rows->n_atoms; i++)
        for (int64_t k = rows->offsets[i] + 1; k < rows->offsets[i + 1]; k++)
            if (rows->ids[k - 1] >= rows->ids[k]) return false;
    return true;
}

/* A list as it was built at these places; rows to be freed by the caller. */
static bool check_built(const WalkRun *run, const MdSystem *system, const double *position, MdRows *rows) {
    const MdConfig *config = &run->config;
    const bool half = md_option_has_effect(config, MD_OPTION_neighbor_list) && config->neighbor_list == MD_LIST_HALF;
    if (!walk_ok(run, run->ops->export_rows(run->context, rows))) return false;
    unsigned char *count = md_alloc((size_t)(system->n_atoms * system->n_atoms), 1, "entries");
    double error = rows_distance_error(system, position, config->run_precision);
    bool ok = rows_count_entries(rows, system->n_atoms, count) &&
              CHECK(rows_count_wrong(system, position, count, half, config->neighbor_skin - error,
                                     config->neighbor_skin + error, true) == 0);
    if (ok && config->neighbor_sorted == MD_ON && config->memory_sort == MD_SORT_NONE) CHECK(ascending(rows));
    MdStatistics statistics;
    run->ops->statistics(run->context, &statistics);
    double mean = (double)rows->offsets[system->n_atoms] * (half ? 2 : 1) / (double)system->n_atoms;
    CHECK_NEAR(statistics.neighbors_per_atom, mean, 1e-12 * mean);
    CHECK(statistics.n_entries == rows->offsets[system->n_atoms]);
    md_free(count);
    return ok;
}

static bool check_first_list(const WalkRun *run, const MdSystem *system, MdRows *rows) {
    return walk_ok(run, run->ops->update_neighbors(run->context, 0)) &&
           check_built(run, system, system->position, rows);
}

/* A force kernel without rows says so. */
static void check_no_rows(const WalkRun *run) {
    MdRows rows = {0};
    CHECK(walk_ok(run, run->ops->update_neighbors(run->context, 0)));
    CHECK(run->ops->export_rows(run->context, &rows) == MD_ERROR_INPUT);
    CHECK(md_errors_count(run->errors) == 1);
    md_rows_free(&rows);
}

static bool same_rows(const MdRows *one, const MdRows *other) {
    size_t n = (size_t)one->n_atoms;
    return memcmp(one->offsets, other->offsets, (n + 1) * sizeof *one->offsets) == 0 &&
           memcmp(one->ids, other->ids, (size_t)one->offsets[n] * sizeof *one->ids) == 0;
}

static int64_t longest_row(const MdRows *rows) {
    int64_t longest = 0;
    for (int64_t i = 0; i < rows->n_atoms; i++) {
        int64_t length = rows->offsets[i + 1] - rows->offsets[i];
        if (length > longest) longest = length;
    }
    return longest;
}

/* With room for a single entry the list must overflow where a row needs more, grow, and be right all the same; sorted rows,
 * which do not depend on how they were built, are the same to the last entry. */
static void check_regrown(Walk *walk, const Case *c, const MdConfig *base, const MdSystem *system,
                          const MdRows *first) {
    WalkRun run;
    MdStatistics statistics;
    MdRows rows = {0};
    MdConfig narrow = *base;
    narrow.neighbor_capacity = 1;
    if (!CHECK(walk_create_next(walk, &run, c->name, &narrow, system))) return;
    run.ops->statistics(run.context, &statistics);
    const int64_t room = statistics.capacity; /* rounded up by the backend */
    if (check_first_list(&run, system, &rows) && run.config.neighbor_sorted == MD_ON) CHECK(same_rows(first, &rows));
    run.ops->statistics(run.context, &statistics);
    CHECK(room >= 1 && room < 32);
    CHECK((statistics.n_overflows > 0) == (longest_row(&rows) > room));
    CHECK(statistics.capacity >= longest_row(&rows));
    md_rows_free(&rows);
    walk_destroy(&run);
}

static void check_case(Walk *walk, const Case *of) {
    Case shifted = *of, *c = &shifted;
    MdConfig base = state_config();
    base.run_threads = 3;
    c->shape.shift =
        MD_SHIFT_ENERGY; /* no list depends on it, and kernels of forces, which are not looked at, are those of others */
    MdSystem *system = cases_make(c, &base);
    WalkRun run;
    if (walk_create_next(walk, &run, c->name, &base, system)) {
        MdRows rows = {0};
        bool has_rows = walk_has_rows(&run), ok = has_rows && check_first_list(&run, system, &rows);
        if (!has_rows) check_no_rows(&run);
        walk_destroy(&run);
        if (ok) check_regrown(walk, c, &base, system, &rows);
        md_rows_free(&rows);
    }
    md_system_destroy(system);
}

/* Plans of all cases: the caller's to free. */
static MdSystemPlan *make_plans(void) {
    MdSystemPlan *plans = md_alloc((size_t)cases_count, sizeof *plans, "plans");
    for (int k = 0; k < cases_count; k++) {
        MdConfig config = state_config();
        MdSystem *system = cases_make(&cases_table[k], &config);
        plans[k] = state_plan(system);
        md_system_destroy(system);
    }
    return plans;
}

/* Each combination on cases that follow each other, more if it is refused there. */
static void test_cases(const MdBackendOps *ops) {
    enum { N_EACH = 3 };
    MdConfig base = state_config();
    MdSystemPlan *plans = make_plans();
    Walk walk;
    for (walk_begin(&walk, ops, &base, DESIGN_PAIRS, NOT_OF_LISTS, plans, cases_count); walk_next(&walk);)
        for (int k = 0; k < N_EACH || (walk.n_created == 0 && k < cases_count); k++)
            check_case(&walk, &cases_table[(walk.k * N_EACH + k) % cases_count]);
    md_free(plans);
}

/* Sorted rows with memory in the order of ids, where ascending is seen, however they were found. */
static void test_sorted(const MdBackendOps *ops) {
    const Case *c = &cases_table[1];
    MdConfig base = state_config();
    MdSystem *system = cases_make(c, &base);
    MdSystemPlan plan = state_plan(system);
    base.memory_sort = MD_SORT_NONE;
    base.neighbor_sorted = MD_ON;
    base.force_kernel = MD_KERNEL_LIST;
    Walk walk;
    for (walk_begin(&walk, ops, &base, DESIGN_SINGLES,
                    NOT_OF_LISTS " memory.sort memory.brick_cells neighbor.sorted force.kernel", &plan, 1);
         walk_next(&walk);) {
        WalkRun run;
        MdRows rows = {0};
        if (!walk_create_next(&walk, &run, c->name, &base, system)) continue;
        CHECK(run.config.memory_sort == MD_SORT_NONE && run.config.neighbor_sorted == MD_ON);
        check_first_list(&run, system, &rows);
        md_rows_free(&rows);
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* --- in motion ---------------------------------------------------------------------------------------------------- */

static int64_t n_rebuilds(const WalkRun *run) {
    MdStatistics statistics;
    run->ops->statistics(run->context, &statistics);
    return statistics.n_rebuilds;
}

/* A list must hold each pair within the plain cutoff at every step under host-check, and be exact right after a rebuild
 * under either rule. */
static void check_motion(const WalkRun *run, const MdSystem *system) {
    enum { N_STEPS = 30 };
    const MdConfig *config = &run->config;
    const bool half = config->neighbor_list == MD_LIST_HALF;
    int64_t n = system->n_atoms, before = 0, built = 0;
    unsigned char *count = md_alloc((size_t)(n * n), 1, "entries");
    bool ok = walk_prepare(run);
    for (int step = 1; ok && step <= N_STEPS; step++) {
        MdRows rows = {0};
        Gathered gathered = {0};
        ok = walk_steps(run, step, 1) && judge_gather(run, system, &gathered) &&
             walk_ok(run, run->ops->export_rows(run->context, &rows)) && rows_count_entries(&rows, n, count);
        bool fresh = ok && n_rebuilds(run) > before;
        double error = ok ? rows_distance_error(system, gathered.position, config->run_precision) : 0;
        if (ok && fresh) {
            double *place = judge_places(system, config, &gathered, step - built);
            const double off = error + 1e-6 * config->neighbor_skin; /* velocities are rounded, too */
            ok = CHECK(rows_count_wrong(system, place, count, half, config->neighbor_skin - off,
                                        config->neighbor_skin + off, true) == 0);
            built = step;
            md_free(place);
        }
        if (ok && config->neighbor_rebuild != MD_REBUILD_EVERY)
            ok = CHECK(rows_count_wrong(system, gathered.position, count, half, -error, 1e300, true) == 0);
        if (ok && config->neighbor_rebuild == MD_REBUILD_EVERY) CHECK(fresh == (step % config->neighbor_every == 0));
        if (ok) before = n_rebuilds(run);
        judge_gathered_free(&gathered);
        md_rows_free(&rows);
    }
    CHECK(before >= 2);           /* several intervals were seen, */
    CHECK(before <= N_STEPS / 4); /* and steps between rebuilds: at the speed of the start half the skin takes seven */
    md_free(count);
}

static void test_motion(const MdBackendOps *ops, int dimension) {
    StateShape shape = {dimension, 400, 0.4, 0.2, 2.0, 0.3, {true, true, dimension == 3}, true, 1, MD_SHIFT_ENERGY, 21};
    if (dimension == 3) shape.periodic[1] = false;
    MdConfig config = state_config();
    config.neighbor_every = 6;
    config.run_timestep = 0.004;
    config.force_kernel = MD_KERNEL_LIST;
    MdSystem *system = state_shaken(&shape);
    /* A dilute gas, all at one speed in directions of their own: then pairs that meet head on use up the whole skin
     * when the largest displacement reaches half of it, and a rebuild that comes any later has missed some. */
    for (int64_t i = 0; i < system->n_atoms; i++) {
        double *v = system->velocity + 3 * i, speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        for (int a = 0; a < 3; a++) v[a] *= 5 / speed;
    }
    MdSystemPlan plan = state_plan(system);
    Walk walk;
    for (walk_begin(&walk, ops, &config, DESIGN_PAIRS, NOT_OF_LISTS " memory.brick_cells force.kernel", &plan, 1);
         walk_next(&walk);) {
        WalkRun run;
        if (!walk_create_next(&walk, &run, dimension == 2 ? "2-D in motion" : "3-D in motion", &config, system))
            continue;
        check_motion(&run, system);
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* Steps under the rule of `config`, with each switch of lists: all builds are late, or none is. */
static void walk_builds(const MdBackendOps *ops, const char *name, const MdConfig *config, MdSystem *system,
                        int n_steps, bool late) {
    MdSystemPlan plan = state_plan(system);
    Walk walk;
    for (walk_begin(&walk, ops, config, DESIGN_SINGLES,
                    NOT_OF_LISTS " memory.brick_cells force.kernel neighbor.rebuild", &plan, 1);
         walk_next(&walk);) {
        WalkRun run;
        MdStatistics statistics = {0};
        if (!walk_create_next(&walk, &run, name, config, system)) continue;
        MdSums sums; /* after them statistics are exact */
        CHECK(walk_prepare(&run) && walk_steps(&run, 1, n_steps) && walk_ok(&run, ops->sum(run.context, &sums)));
        ops->statistics(run.context, &statistics);
        CHECK(statistics.n_rebuilds > 0 && statistics.n_late_rebuilds == (late ? statistics.n_rebuilds : 0));
        walk_destroy(&run);
    }
}

/* Atoms that cross half the skin long before the fixed interval ends: counted as late. None is late when the interval
 * is short, or when displacements are looked at. */
static void test_late(const MdBackendOps *ops) {
    Case c = {
        "late", {3, 300, 0.8, 0.05, 2.0, 0.2, {true, true, true}, false, 1, MD_SHIFT_ENERGY, 22}, 0, false, false};
    static const struct {
        int rule, every;
        bool late;
    } rules[] = {{MD_REBUILD_EVERY, 25, true},
                 {MD_REBUILD_EVERY, 2, false},
                 {MD_REBUILD_HOST_CHECK, 25, false},
                 {MD_REBUILD_DEVICE_CHECK, 25, false}};
    MdConfig config = state_config();
    config.force_kernel = MD_KERNEL_LIST;
    MdSystem *system = cases_make(&c, &config);
    for (size_t k = 0; k < sizeof rules / sizeof rules[0]; k++) {
        config.neighbor_rebuild = rules[k].rule;
        config.neighbor_every = rules[k].every;
        walk_builds(ops, rules[k].late ? "late" : "never late", &config, system, 50, rules[k].late);
    }
    md_system_destroy(system);
}

/* Cells before that of an atom, in the order of memory.sort = cell. */
static double cells_before(const MdSystem *system, int64_t atom, double range) {
    double before = 0;
    for (int a = 2; a >= 0; a--) {
        const double n = floor(system->box.length[a] / range),
                     x = system->position[3 * atom + a] / system->box.length[a];
        before = before * n + floor((x - floor(x)) * n);
    }
    return before;
}

/* A dilute system at rest, but for one atom: the first one in memory, as it is sorted, the one in the middle (halves: 1), or the
 * last one (2). */
static MdSystem *one_moves(int halves, int axis, double speed) {
    StateShape shape = {3, 400, 0.05, 0.2, 2.0, 0.3, {true, true, true}, false, 1, MD_SHIFT_FORCE, 24};
    MdSystem *system = state_shaken(&shape);
    const int64_t n = system->n_atoms;
    const double range = system->potential.cutoff_max + state_config().neighbor_skin;
    memset(system->velocity, 0, (size_t)n * 3 * sizeof(double));
    for (int64_t atom = 0; atom < n; atom++) {
        const double own = cells_before(system, atom, range);
        int64_t before = 0; /* of one cell by number */
        for (int64_t other = 0; other < n; other++) {
            const double others = cells_before(system, other, range);
            before += others < own || (others == own && other < atom);
        }
        if (before == halves * (n - 1) / 2) system->velocity[3 * atom + axis] = speed;
    }
    return system;
}

/* One atom alone is fast, last, in the middle or first in memory, along one axis: it alone tells that the list is too old.
 * Issued without a look in between, so that a device that stops has steps behind it to hold back. */
static void test_one_moves(const MdBackendOps *ops, int axis) {
    enum { N_STEPS = 40 };
    const double speed = 5, dt = 0.004;
    MdConfig config = state_config();
    config.run_timestep = dt;
    config.neighbor_every = 5; /* soon enough */
    config.force_kernel = MD_KERNEL_LIST;
    MdSystem *system = one_moves(2 - axis, axis, speed);
    Path path = path_follow(system, 1, dt, N_STEPS, NULL, MD_PRECISION_DOUBLE);
    const double n_expected = floor(path.moved / (config.neighbor_skin / 2 + speed * dt)) - 1;
    CHECK(n_expected >= 2);
    MdSystemPlan plan = state_plan(system);
    Walk walk;
    for (walk_begin(&walk, ops, &config, DESIGN_SINGLES, NOT_OF_LISTS " memory.brick_cells force.kernel", &plan, 1);
         walk_next(&walk);) {
        WalkRun run;
        Gathered gathered = {0};
        if (!walk_create_next(&walk, &run, "one moves", &config, system)) continue;
        if (walk_prepare(&run) && walk_steps(&run, 1, N_STEPS) && judge_gather(&run, system, &gathered)) {
            Judge judge = judge_make(system, system->position, system->velocity, &run.config);
            path_check(&path, &judge, &run.config, &gathered);
            judge_free(&judge);
            if (run.config.neighbor_rebuild != MD_REBUILD_EVERY) CHECK((double)n_rebuilds(&run) >= n_expected);
        }
        judge_gathered_free(&gathered);
        walk_destroy(&run);
    }
    path_free(&path);
    md_system_destroy(system);
}

/* The same in a list that is rebuilt too late for that one: each build is counted. */
static void test_one_is_late(const MdBackendOps *ops) {
    MdConfig config = state_config();
    config.run_timestep = 0.004;
    config.neighbor_rebuild = MD_REBUILD_EVERY;
    config.neighbor_every = 10; /* 0.2 in that time, of which 0.15 are allowed */
    config.force_kernel = MD_KERNEL_LIST;
    MdSystem *system = one_moves(2, 0, 5);
    walk_builds(ops, "one is late", &config, system, 40, true);
    md_system_destroy(system);
}

/* Open boundaries: two atoms have flown off, one far, one very far, a third flies; nothing is lost near by, and no
 * cell grid grows with the distance. */
static void test_far(const MdBackendOps *ops, int dimension) {
    StateShape shape = {dimension, 200, 0.8, 0.08, 2.0, 0.3, {false, false, false}, true, 1, MD_SHIFT_ENERGY, 23};
    Case c = {"far", shape, 0, false, false};
    MdConfig config = state_config();
    config.run_timestep = 0.002;
    config.neighbor_every = 1; /* the flying atom crosses the skin in a step */
    MdSystem *system = cases_make(&c, &config);
    /* Along an open axis the cpu backend's places repeat after 64 ranges: where this atom was, its image seems to be. */
    system->position[3 * 10] += 20 * 64 * (shape.cutoff + config.neighbor_skin);
    system->position[3 * 20 + 1] = -7e4;
    int64_t out = 0;
    for (int64_t i = 1; i < system->n_atoms; i++)
        if (i != 10 && system->position[3 * i] > system->position[3 * out]) out = i;
    system->velocity[3 * out] = 200; /* 0.4 a step: just below what counts as a fault */
    MdSystemPlan plan = state_plan(system);
    Walk walk;
    for (walk_begin(&walk, ops, &config, DESIGN_SINGLES, NOT_OF_PAIRS, &plan, 1); walk_next(&walk);) {
        WalkRun run;
        MdStatistics statistics;
        MdRows rows = {0};
        if (!walk_create_next(&walk, &run, dimension == 2 ? "2-D, far atoms" : "3-D, far atoms", &config, system))
            continue;
        bool listed = !walk_has_rows(&run) || check_first_list(&run, system, &rows);
        if (listed && walk_prepare(&run) && walk_steps(&run, 1, 12)) judge_run(&run, system, true);
        md_rows_free(&rows);
        ops->statistics(run.context, &statistics);
        CHECK(statistics.host_bytes + statistics.device_bytes < 64u << 20);
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* --- the test of the test ----------------------------------------------------------------------------------------- */

static void test_planted_faults(void) {
    MdConfig config = state_config();
    MdSystem *system = cases_make(&cases_table[0], &config);
    int64_t n = system->n_atoms, near = 0;
    unsigned char *count = md_alloc((size_t)(n * n), 1, "entries");
    double reach = system->potential.cutoff_max + config.neighbor_skin;
    for (int64_t k = 0; k < n * n; k++)
        count[k] = k / n != k % n && rows_distance(system, system->position, k / n, k % n) < reach;
    while (!count[near]) near++;
    int64_t far = 1;
    while (count[far]) far++;
#define WRONG      WRONG_OF(false)
#define WRONG_HALF WRONG_OF(true)
#define WRONG_OF(half)                                                                                                 \
    rows_count_wrong(system, system->position, count, half, config.neighbor_skin, config.neighbor_skin, false)
    check_context("planted faults");
    CHECK(WRONG == 0);
    count[near] = 0;
    CHECK(WRONG == 1); /* lost from one row */
    count[near * n] = 0;
    CHECK(WRONG == 1); /* and from both */
    count[near] = count[near * n] = 2;
    CHECK(WRONG == 1); /* twice */
    count[near] = count[near * n] = 1;
    count[far] = count[far * n] = 1;
    CHECK(WRONG == 1); /* too far */
    count[far] = count[far * n] = 0;
    count[0] = 1;
    CHECK(WRONG == 1); /* its own neighbour */
    count[0] = 0;
    for (int64_t k = 0; k < n * n; k++) count[k] = count[k] && k / n < k % n;
    CHECK(WRONG > n); /* a half list is no full one, */
    CHECK(WRONG_HALF == 0);
    count[near * n] = 1;
    CHECK(WRONG_HALF == 1); /* in both rows */
    count[near] = count[near * n] = 0;
    CHECK(WRONG_HALF == 1); /* lost */
    count[near * n] = 1;
    CHECK(WRONG_HALF == 0); /* in the other row: fine */
#undef WRONG
#undef WRONG_HALF
#undef WRONG_OF
    md_free(count);
    md_system_destroy(system);
}

int main(void) {
    if (walk_first_shard()) test_planted_faults();
    MdConfig config = state_config();
    for (const MdBackendOps *ops = NULL; (ops = walk_backend(ops, &config)) != NULL;) {
        test_cases(ops);
        test_sorted(ops);
        for (int dimension = 2; dimension <= 3; dimension++) {
            test_motion(ops, dimension);
            test_far(ops, dimension);
        }
        for (int axis = 0; axis < 3; axis++) test_one_moves(ops, axis);
        test_late(ops);
        test_one_is_late(ops);
    }
    return check_finish();
}
