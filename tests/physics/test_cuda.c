/* What only the cuda backend promises: the work that its searches are counted with, how little is issued in vain while the
 * device decides when the list is built, that it stands still in the middle of a batch, also where the list is full, which
 * of several faults it tells, and which calls stand for themselves in the times of stages.
 * MDMINI_TEST_SYSTEM as in walk.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "integrate/verlet.h"
#include "state.h"
#include "walk.h"

static MdStageTime stage_of(const MdStatistics *statistics, const char *stage) {
    for (int k = 0; k < statistics->n_stages; k++)
        if (strcmp(statistics->stages[k].stage, stage) == 0) return statistics->stages[k];
    return (MdStageTime){.calls = 0};
}

static int64_t calls_of(const MdStatistics *statistics, const char *stage) { return stage_of(statistics, stage).calls; }

/* --- counters ------------------------------------------------------------------------------------------------------ */

/* Distances that a search of all pairs computes: with atomic each pair's once, otherwise those of all rows. */
static void test_counted(const MdBackendOps *ops, const MdSystem *system, int search, int write, int list) {
    MdConfig config = state_config();
    const double n = (double)system->n_atoms;
    const bool once = write == MD_LIST_WRITE_ATOMIC;
    MdCounters counters;
    MdStatistics before, after;
    WalkRun run;
    config.neighbor_skin = 0.3;
    config.force_kernel = MD_KERNEL_LIST;
    config.neighbor_search = search;
    config.neighbor_write = write;
    config.neighbor_list = list;
    config.neighbor_capacity = 4; /* it has to grow before anything is counted */
    check_context("search %s, write %s, list %s", md_switch_words(MD_OPTION_neighbor_search)[search],
                  md_switch_words(MD_OPTION_neighbor_write)[write], md_switch_words(MD_OPTION_neighbor_list)[list]);
    if (!walk_create(&run, ops, &config, system)) return;
    if (walk_prepare(&run)) {
        ops->statistics(run.context, &before);
        CHECK(walk_ok(&run, ops->count(run.context, &counters)));
        ops->statistics(run.context, &after);
        CHECK(counters.search_pairs_tested == (int64_t)(once ? n * (n - 1) / 2 : n * n));
        CHECK(counters.search_pairs_inside * (once && list == MD_LIST_FULL ? 2 : 1) == counters.list_entries);
        CHECK(after.n_overflows == before.n_overflows && after.n_rebuilds == before.n_rebuilds);
    }
    walk_destroy(&run);
}

/* The largest change of a force component by what is counted; NaN where the forces could not be had. */
static double change_by_counting(WalkRun *run, const MdBackendOps *ops, const MdSystem *system, MdCounters *counters) {
    const size_t n = 3 * (size_t)system->n_atoms;
    double *force[2], change = 0;
    bool ok = true;
    for (int k = 0; k < 2; k++) {
        force[k] = md_alloc(n, sizeof(double), "test");
        MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .force = force[k]};
        ok = ok && walk_ok(run, ops->gather(run->context, &frame));
        if (k == 0) ok = ok && walk_ok(run, ops->count(run->context, counters));
    }
    for (size_t k = 0; ok && k < n; k++) change = fmax(change, fabs(force[1][k] - force[0][k]));
    md_free(force[0]);
    md_free(force[1]);
    return ok ? change : (double)NAN;
}

/* Bricks: what is counted inside is what rows hold, though a warp may have more rows than its brick, and forces are of no more;
 * and the forces are there afterwards. Returns how many pairs are in range of the forces. */
static int64_t test_counted_bricks(const MdBackendOps *ops, const MdSystem *system, int distances, int cells,
                                   int threads) {
    MdConfig config = state_config();
    MdCounters counters = {0};
    WalkRun run;
    config.neighbor_skin = 0.3;
    config.run_precision = MD_PRECISION_MIXED;
    config.force_kernel = MD_KERNEL_BRICK;
    config.memory_sort = MD_SORT_BRICK;
    config.memory_brick_cells = cells;
    config.force_threads_per_atom = threads;
    config.neighbor_distances = distances;
    config.neighbor_bank_order = distances == MD_DISTANCES_MATRIX ? MD_BANK_ORDER_ON : MD_BANK_ORDER_OFF;
    check_context("bricks, distances %s, cells %s, threads per atom %s",
                  md_switch_words(MD_OPTION_neighbor_distances)[distances],
                  md_switch_words(MD_OPTION_memory_brick_cells)[cells],
                  md_switch_words(MD_OPTION_force_threads_per_atom)[threads]);
    if (!walk_create(&run, ops, &config, system)) return -1;
    if (walk_prepare(&run) && walk_ok(&run, ops->compute_forces(run.context, false))) {
        CHECK(change_by_counting(&run, ops, system, &counters) < 1e-3);
        CHECK(counters.search_pairs_inside == counters.list_entries && counters.list_entries > 0);
        CHECK(counters.search_pairs_tested >= counters.search_pairs_inside);
        CHECK(counters.force_pairs_tested == counters.list_entries);
    }
    walk_destroy(&run);
    return counters.force_pairs_inside;
}

/* Counting between the last use of a list and its late build leaves the lateness in the books. */
static void test_lateness(const MdBackendOps *ops, const MdSystem *system, bool counts) {
    MdConfig config = state_config();
    MdCounters counters;
    MdStatistics statistics;
    WalkRun run;
    config.neighbor_skin = 0.4;
    config.force_kernel = MD_KERNEL_LIST;
    config.neighbor_rebuild = MD_REBUILD_EVERY;
    config.neighbor_every = 40;
    check_context("rebuild every 40 steps, counted at step 39: %s", counts ? "yes" : "no");
    if (!walk_create(&run, ops, &config, system)) return;
    if (walk_prepare(&run) && walk_steps(&run, 1, 39) &&
        (!counts || walk_ok(&run, ops->count(run.context, &counters))) && walk_steps(&run, 40, 1)) {
        ops->statistics(run.context, &statistics);
        CHECK(statistics.n_rebuilds == 1 && statistics.n_late_rebuilds == 1);
    }
    walk_destroy(&run);
}

/* Cells of 16-bit entries that would be too full are refused before anything is allocated. */
static void test_crowd(const MdBackendOps *ops, const MdSystem *system) {
    MdErrors *errors = md_errors_create();
    MdSystemPlan plan = state_plan(system);
    for (int crowded = 0; crowded < 2; crowded++) {
        MdConfig config = state_config();
        config.neighbor_index = MD_INDEX_16;
        config.force_kernel = MD_KERNEL_LIST;
        plan.n_atoms = crowded ? 1000000 : 8 * 2048; /* in eight cells */
        check_context("index 16, %lld atoms in few cells", (long long)plan.n_atoms);
        CHECK(ops->resolve(&config, &plan, NULL, errors) == (crowded ? MD_ERROR_INPUT : MD_OK));
    }
    md_errors_destroy(errors);
}

/* --- how steps are issued ------------------------------------------------------------------------------------------ */

typedef struct {
    int graph, persistent, fuse, passes;
} Way;

static const Way one_by_one = {MD_GRAPH_OFF, MD_PERSISTENT_OFF, MD_FUSE_OFF, MD_PASSES_KERNELS};
/* each step a few calls, behind the one before */
static const Way call_by_call = {MD_GRAPH_OFF, MD_PERSISTENT_OFF, MD_FUSE_ON, MD_PASSES_KERNELS};
/* many at a time, by the host, by a graph or by the kernel itself */
static const Way ahead[] = {{MD_GRAPH_ON, MD_PERSISTENT_OFF, MD_FUSE_ON, MD_PASSES_KERNELS},
                            {MD_GRAPH_OFF, MD_PERSISTENT_ON, MD_FUSE_ON, MD_PASSES_KERNELS},
                            {MD_GRAPH_OFF, MD_PERSISTENT_ON, MD_FUSE_STEP, MD_PASSES_KERNELS},
                            {MD_GRAPH_ON, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_KERNELS},
                            {MD_GRAPH_OFF, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_KERNELS}};
enum { N_AHEAD = sizeof ahead / sizeof ahead[0] };
/* of bricks alone */
static const Way queues[] = {{MD_GRAPH_ON, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_QUEUE},
                             {MD_GRAPH_OFF, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_QUEUE}};
enum { N_QUEUES = sizeof queues / sizeof queues[0] };

static void issue_by(MdConfig *config, Way way) {
    config->launch_graph = way.graph;
    config->launch_persistent = way.persistent;
    config->launch_fuse = way.fuse;
    config->launch_passes = way.passes;
}

/* Valid until the next call. */
static const char *way_text(Way way) {
    static char text[96];
    snprintf(text, sizeof text, "graph %s, persistent %s, fuse %s, passes %s",
             md_switch_words(MD_OPTION_launch_graph)[way.graph],
             md_switch_words(MD_OPTION_launch_persistent)[way.persistent],
             md_switch_words(MD_OPTION_launch_fuse)[way.fuse], md_switch_words(MD_OPTION_launch_passes)[way.passes]);
    return text;
}

/* Without energies, also of the last one: so no drift stands at the end of what is issued. */
static bool quiet_steps(const WalkRun *run, int64_t first, int64_t n) {
    for (int64_t step = first; step < first + n; step++)
        if (!walk_ok(run, md_verlet_step(run->ops, run->context, step, false))) return false;
    return true;
}

/* --- times of stages ------------------------------------------------------------------------------------------------ */

static void check_seconds(const MdStageTime *stage, double expected) {
    CHECK(fabs(stage->seconds - expected) <= 1e-12 * fabs(expected));
}

/* What was timed stands for what was not, but for the calls that stand for themselves. */
static void test_extended(void) {
    static const struct {
        MdStageTime stage;
        double seconds;
    } cases[] = {{{.calls = 0}, 0},
                 {{.calls = 30, .in_vain = 10, .timed = 20, .timed_s = 2}, 4},
                 {{.calls = 30, .in_vain = 10, .timed = 20, .timed_s = 2, .alone = 8, .alone_s = 5}, 5 + 3.2},
                 {{.calls = 28, .timed = 20, .timed_s = 2, .alone = 8, .alone_s = 5}, 5 + 2},
                 {{.calls = 40, .alone = 8, .alone_s = 5}, 25},
                 {{.calls = 8, .alone = 8, .alone_s = 5}, 5}};
    check_context("times of stages, extended");
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        MdStageTime stage = cases[k].stage;
        md_stage_extend(&stage);
        check_seconds(&stage, cases[k].seconds);
    }
    MdStageTime untimed = {.calls = 3};
    md_stage_extend(&untimed);
    CHECK(isnan(untimed.seconds));
    static MdStatistics before, after;
    before.n_stages = after.n_stages = 1;
    before.stages[0] = cases[1].stage;
    after.stages[0] = (MdStageTime){.calls = 62, .in_vain = 18, .timed = 30, .timed_s = 4, .alone = 10, .alone_s = 7};
    md_statistics_subtract(&after, &before);
    CHECK(after.stages[0].timed == 10 && after.stages[0].alone == 10);
    check_seconds(&after.stages[0], 7 + 0.2 * 30);
    before.stages[0] = cases[2].stage;
    after.stages[0] = (MdStageTime){.calls = 62, .in_vain = 18, .timed = 30, .timed_s = 4, .alone = 10, .alone_s = 7};
    md_statistics_subtract(&after, &before);
    CHECK(after.stages[0].timed == 10 && after.stages[0].alone == 2);
    check_seconds(&after.stages[0], 2 + 0.2 * 38);
}

/* Pieces of the run: the first step of each is issued by itself, since somebody has looked, and the others are a batch. Those of
 * the same length have one graph. */
static void test_times(const MdBackendOps *ops, const MdSystem *system, int graph) {
    static const int pieces[] = {9, 9, 6, 9, 6, 12};
    enum { N_LATER = 40 }; /* more of 6 steps: events have come to be used again */
    MdConfig config = state_config();
    MdStatistics statistics;
    WalkRun run;
    config.neighbor_rebuild = MD_REBUILD_EVERY;
    config.neighbor_every = 1000;
    config.force_kernel = MD_KERNEL_LIST;
    issue_by(&config, (Way){graph, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_KERNELS});
    check_context("times of stages, graph %s", md_switch_words(MD_OPTION_launch_graph)[graph]);
    if (!walk_create(&run, ops, &config, system)) return;
    CHECK(walk_prepare(&run));
    const int n_pieces = sizeof pieces / sizeof pieces[0];
    for (int k = 0, step = 1, n; k < n_pieces + N_LATER; k++, step += n) {
        n = k < n_pieces ? pieces[k] : 6;
        CHECK(quiet_steps(&run, step, n) && walk_ok(&run, ops->finish(run.context)));
    }
    ops->statistics(run.context, &statistics);
    const MdStageTime step = stage_of(&statistics, "step");
    CHECK(step.calls == 8 + 8 + 5 + 8 + 5 + 11 + 5 * N_LATER && step.in_vain == 0);
    /* the first batch, which is not timed, has made the graph of the second and fourth */
    CHECK(step.alone == (graph == MD_GRAPH_ON ? 5 + 11 : 0));
    CHECK(step.alone + step.timed == step.calls - 8);
    CHECK((step.alone_s > 0) == (graph == MD_GRAPH_ON) && step.timed_s > 0);
    for (int k = 0; k < statistics.n_stages; k++) {
        const MdStageTime *stage = &statistics.stages[k];
        const double mean_s = stage->timed > 0 ? stage->timed_s / (double)stage->timed : 0;
        const int64_t rest = stage->calls + stage->in_vain - stage->alone;
        if (graph == MD_GRAPH_OFF) CHECK(stage->alone == 0 && stage->alone_s == 0);
        if (stage->timed > 0) check_seconds(stage, stage->alone_s + mean_s * (double)rest);
    }
    walk_destroy(&run);
}

/* --- steps issued in vain ------------------------------------------------------------------------------------------ */

/* The list lasts some eight steps. Nobody looks at 400 of them, so that the host could run far ahead. */
static void test_waste(const MdBackendOps *ops, const MdSystem *system, Way way) {
    enum { N_STEPS = 400 };
    MdConfig config = state_config();
    MdStatistics statistics;
    WalkRun run;
    config.neighbor_skin = 0.4;
    config.force_kernel = MD_KERNEL_LIST;
    issue_by(&config, way);
    check_context("%s", way_text(way));
    if (!walk_create(&run, ops, &config, system)) return;
    if (walk_prepare(&run) && walk_steps(&run, 1, N_STEPS) && walk_ok(&run, ops->finish(run.context))) {
        ops->statistics(run.context, &statistics);
        const int64_t builds = statistics.n_rebuilds, forces = walk_launches(&statistics, "k_force_plain");
        printf("%s: %d steps, list built %lld times, %lld force kernels without energy, %lld resident kernels, "
               "%lld calls\n",
               way_text(way), N_STEPS, (long long)builds, (long long)forces,
               (long long)walk_launches(&statistics, "k_step_resident"),
               (long long)(calls_of(&statistics, "step") + calls_of(&statistics, "force")));
        CHECK(builds > N_STEPS / 20 && builds < N_STEPS / 4);
        /* Two steps beyond the halt, those that it came early, and its own. */
        if (way.persistent == MD_PERSISTENT_OFF && way.graph == MD_GRAPH_ON) CHECK(forces <= N_STEPS + 4 * builds);
        if (way.persistent == MD_PERSISTENT_ON) CHECK(walk_launches(&statistics, "k_step_resident") <= 3 * builds);
    }
    walk_destroy(&run);
}

/* --- a list that fails unforeseen ---------------------------------------------------------------------------------- */

/* A cold crystal keeps its list for so long that batches have become long; then its atoms are made so fast that each of
 * them would need the list built several times. Returns how often it was built; places: of the atoms at the end. */
static int64_t builds_unforeseen(const MdBackendOps *ops, const MdSystem *system, int kernel, int rebuild, Way way,
                                 double skin, int piece, double *places) {
    enum { COLD_STEPS = 128, HOT_STEPS = 36 };
    MdConfig config = state_config();
    MdStatistics cold = {0}, hot = {0};
    WalkRun run;
    config.run_precision = MD_PRECISION_DOUBLE; /* so that the motion is the same whatever the order of additions */
    config.neighbor_skin = skin;
    config.force_kernel = kernel;
    config.neighbor_rebuild = rebuild;
    issue_by(&config, way);
    check_context("kernel %s, rebuild %s, %s", md_switch_words(MD_OPTION_force_kernel)[kernel],
                  md_switch_words(MD_OPTION_neighbor_rebuild)[rebuild], way_text(way));
    if (!walk_create(&run, ops, &config, system)) return -1;
    CHECK(walk_prepare(&run) && walk_steps(&run, 1, COLD_STEPS) && walk_ok(&run, ops->finish(run.context)));
    ops->statistics(run.context, &cold);
    CHECK(cold.n_rebuilds == 0);
    CHECK(walk_ok(&run, ops->scale_velocities(run.context, 400)));
    for (int step = 0; step < HOT_STEPS; step += piece) CHECK(walk_steps(&run, COLD_STEPS + 1 + step, piece));
    CHECK(walk_ok(&run, ops->finish(run.context)));
    ops->statistics(run.context, &hot);
    MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .position = places};
    CHECK(walk_ok(&run, ops->gather(run.context, &frame)));
    walk_destroy(&run);
    return hot.n_rebuilds;
}

/* Built at the very steps where a host that looks at each step builds it, though the device was given more of them. */
static void compare_unforeseen(const MdBackendOps *ops, const MdSystem *system, int kernel, double skin, int piece) {
    const size_t n = 3 * (size_t)system->n_atoms;
    double *places = md_alloc(2 * n, sizeof *places, "positions"), *others = places + n;
    const int64_t expected =
        builds_unforeseen(ops, system, kernel, MD_REBUILD_HOST_CHECK, call_by_call, skin, piece, places);
    CHECK(expected >= 4);
    for (int k = -1; k < N_AHEAD + (kernel == MD_KERNEL_BRICK ? N_QUEUES : 0); k++) {
        const Way way = k < 0         ? call_by_call /* by the device, too, where nothing is issued ahead */
                        : k < N_AHEAD ? ahead[k]
                                      : queues[k - N_AHEAD];
        CHECK(builds_unforeseen(ops, system, kernel, MD_REBUILD_DEVICE_CHECK, way, skin, piece, others) == expected);
        CHECK(memcmp(places, others, n * sizeof *places) == 0);
    }
    printf("a list that fails unforeseen: built %lld times\n", (long long)expected);
    md_free(places);
}

static void test_unforeseen(const MdBackendOps *ops) {
    const char *words[] = {"system.density=0.8442", "system.cells=4", "system.temperature=1e-4", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    /* it fails at other steps of a batch with each skin, and in batches of two or three where somebody looks so often */
    static const int pieces[] = {36, 3, 4};
    for (int k_skin = 0; k_skin < 8; k_skin++)
        compare_unforeseen(ops, system, k_skin % 4 < 2 ? MD_KERNEL_LIST : MD_KERNEL_BRICK, 0.4 - 0.025 * k_skin,
                           pieces[k_skin % 3]);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

/* --- a fault in the middle of a batch -------------------------------------------------------------------------------- */

enum { WARMER = 1000 }; /* velocities, so many times */

/* A cold crystal keeps its list for so long that batches have become long; then an atom in it is made so fast that it all but
 * faults, and runs into the others, while nobody looks. every: a batch ends at a build, and the next one begins with it; 0:
 * rebuilt when needed. Returns the step of the fault; id: of its atom. */
static int64_t collision_step(const MdBackendOps *ops, const MdSystem *system, int every, Way way, int32_t *id) {
    enum { COLD_STEPS = 16, HOT_STEPS = 36 };
    MdConfig config = state_config();
    WalkRun run;
    config.run_precision = MD_PRECISION_DOUBLE;
    config.neighbor_skin = 0.75;
    config.neighbor_rebuild = every > 0 ? MD_REBUILD_EVERY : MD_REBUILD_DEVICE_CHECK;
    if (every > 0) config.neighbor_every = every;
    config.force_kernel = MD_KERNEL_LIST;
    issue_by(&config, way);
    check_context("a fault in a batch: every %d, %s", every, way_text(way));
    if (!walk_create(&run, ops, &config, system)) return -1;
    CHECK(walk_prepare(&run) && walk_steps(&run, 1, COLD_STEPS) && walk_ok(&run, ops->finish(run.context)));
    CHECK(walk_ok(&run, ops->scale_velocities(run.context, WARMER)));
    CHECK(walk_steps(&run, COLD_STEPS + 1, HOT_STEPS) && walk_ok(&run, ops->finish(run.context)));
    const MdFault fault = ops->fault(run.context);
    walk_destroy(&run);
    *id = fault.id;
    return fault.step;
}

/* In whatever way the steps are issued, it is of the same step and atom as where each is a call of its own. */
static void test_collision(const MdBackendOps *ops) {
    static const struct {
        int every;
        double speed; /* in that which is too fast */
    } rules[] = {{36, 0.5}, {4, 0.9}, {0, 0.9}, {0, 0.7}, {0, 0.65}};
    const char *words[] = {"system.density=0.8442", "system.cells=4", "system.temperature=1e-10", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    const double limit = MD_FAULT_SHARE * system->potential.cutoff_min / state_config().run_timestep;
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        int32_t id = -1, other = -1;
        system->velocity[3 * 77 + 1] = rules[r].speed * limit / WARMER;
        const int64_t step = collision_step(ops, system, rules[r].every, one_by_one, &id);
        printf("a fault in a batch, every %d: step %lld, atom %d\n", rules[r].every, (long long)step, id);
        CHECK(step > 16 + 2);
        for (int k = 0; k < N_AHEAD; k++) {
            CHECK(collision_step(ops, system, rules[r].every, ahead[k], &other) == step);
            CHECK(other == id);
        }
    }
    md_system_destroy(system);
    md_deck_destroy(deck);
}

/* --- blocks that do not meet ---------------------------------------------------------------------------------------- */

/* What bricks are like, and the blocks that hold them. */
typedef struct {
    int brick_cells, block_size, threads_per_atom;
} Blocks;

/* 32 steps and 28 more; a list every ten steps, so that the batch before the first look begins with forces and ends with
 * them. places: of the atoms at both looks. Returns in how many batches all blocks met against launch.barrier = local. */
static int64_t meetings(const MdBackendOps *ops, const MdSystem *system, int barrier, Blocks blocks, double *places) {
    MdConfig config = state_config();
    MdStatistics statistics = {0};
    WalkRun run;
    config.run_precision = MD_PRECISION_MIXED;
    config.neighbor_rebuild = MD_REBUILD_EVERY;
    config.neighbor_every = 10;
    config.neighbor_skin = 0.25;
    config.run_timestep = 0x1p-8;
    config.force_kernel = MD_KERNEL_BRICK;
    config.force_threads_per_atom = blocks.threads_per_atom;
    config.memory_brick_cells = blocks.brick_cells;
    config.launch_block_size = blocks.block_size;
    issue_by(&config, (Way){MD_GRAPH_OFF, MD_PERSISTENT_ON, MD_FUSE_STEP, MD_PASSES_KERNELS});
    config.launch_barrier = barrier;
    check_context("barrier %s, brick cells %s, block size %s, threads per atom %s",
                  md_switch_words(MD_OPTION_launch_barrier)[barrier],
                  md_switch_words(MD_OPTION_memory_brick_cells)[blocks.brick_cells],
                  md_switch_words(MD_OPTION_launch_block_size)[blocks.block_size],
                  md_switch_words(MD_OPTION_force_threads_per_atom)[blocks.threads_per_atom]);
    if (!walk_create(&run, ops, &config, system)) return -1;
    MdFrame first = {.precision = MD_FILE_PRECISION_DOUBLE, .position = places}, second = first;
    second.position = places + 3 * system->n_atoms;
    CHECK(walk_prepare(&run) && quiet_steps(&run, 1, 32) && walk_ok(&run, ops->gather(run.context, &first)));
    CHECK(quiet_steps(&run, 33, 28) && walk_ok(&run, ops->gather(run.context, &second)));
    ops->statistics(run.context, &statistics);
    walk_destroy(&run);
    return statistics.n_met;
}

/* The same bits whether or not blocks meet. */
static void compare_meetings(const MdBackendOps *ops, const MdSystem *system, Blocks blocks, bool meets) {
    const size_t n = 6 * (size_t)system->n_atoms;
    double *places = md_alloc(2 * n, sizeof *places, "positions"), *others = places + n;
    CHECK(meetings(ops, system, MD_BARRIER_GRID, blocks, places) == 0);
    CHECK((meetings(ops, system, MD_BARRIER_LOCAL, blocks, others) > 0) == meets);
    CHECK(memcmp(places, others, n * sizeof *places) == 0);
    md_free(places);
}

/* A place in the box whose last nine bits of 33 (mixed precision) are `low`. */
static double with_low_bits(double x, int low) {
    const float rounded = (float)x;
    return (double)rounded + (low - 256) / 512.0 * ((double)nextafterf(rounded, INFINITY) - (double)rounded);
}

/* Rows of atoms that meet no other, and all move alike along x, in steps that change no bit of y, z, or the last ones of x:
 * these are as if their places were of one of the steps 1 to 15. */
static void test_false_marks(const MdBackendOps *ops) {
    enum { NX = 8, NY = 8, NZ = 4, N = NX * NY * NZ };
    const char *words[] = {"system.density=0.8442", "system.cells=4", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    CHECK(system->n_atoms == N);
    const double apart[3] = {system->potential.cutoff_max + 0.001, 2.6, 2.6};
    for (int k = 0; k < 3; k++) system->box.length[k] = (k == 0 ? NX : k == 1 ? NY : NZ) * apart[k];
    for (int i = 0; i < N; i++) {
        const int at[3] = {i % NX, i / NX % NY, i / NX / NY};
        for (int k = 0; k < 3; k++) {
            system->position[3 * i + k] = with_low_bits((at[k] + 0.25) * apart[k], k == 0 ? (1 + i % 15) << 5 : 0);
            system->velocity[3 * i + k] = k == 0 ? 0.5 : 0;
        }
    }
    compare_meetings(ops, system, (Blocks){MD_BRICK_CELLS_4, MD_BLOCK_SIZE_1024, MD_THREADS_2}, false);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

/* They meet, and it is told, where a block has no room for all of its rows, where it has none for all that it stages, and where
 * cells are void. */
static void test_barrier(const MdBackendOps *ops) {
    static const struct {
        const char *density, *cells;
        Blocks blocks;
        bool meets;
    } cases[] = {
        {"system.density=0.8442", "system.cells=6", {MD_BRICK_CELLS_2, MD_BLOCK_SIZE_1024, MD_THREADS_2}, false},
        {"system.density=0.8442", "system.cells=6", {MD_BRICK_CELLS_2, MD_BLOCK_SIZE_1024, MD_THREADS_8}, true},
        {"system.density=0.8442", "system.cells=6", {MD_BRICK_CELLS_1, MD_BLOCK_SIZE_128, MD_THREADS_2}, true},
        {"system.density=0.075", "system.cells=3", {MD_BRICK_CELLS_2, MD_BLOCK_SIZE_1024, MD_THREADS_2}, true}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const char *words[] = {cases[k].density, cases[k].cells, "system.types=2", "system.fractions=0.5 0.5", NULL};
        MdDeck *deck = state_deck(words);
        MdSystem *system = state_system(deck);
        compare_meetings(ops, system, cases[k].blocks, cases[k].meets);
        md_system_destroy(system);
        md_deck_destroy(deck);
    }
    test_false_marks(ops);
}

/* --- faults of several atoms ------------------------------------------------------------------------------------------ */

/* Rows of atoms along x, of which in each layer one leaps towards the next in its row: when a leap lands upon that, both fail
 * in the step after it. Nobody else meets anybody. */
enum { ROW = 4, LAYERS = 16, SHORT_STEPS = 8, LONG_STEPS = 64 };

static int leaper_of(int layer) { return (layer * ROW + layer * 3 % ROW) * ROW; }

/* fails: the step in which that of each layer does. */
static MdSystem *system_of_leapers(const int fails[LAYERS]) {
    const char *words[] = {"system.density=0.8442", "system.cells=4", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    const double apart = system->potential.cutoff_max + 0.1, leap = 0.5;
    CHECK(system->n_atoms == ROW * ROW * LAYERS);
    CHECK(leap < MD_FAULT_SHARE * system->potential.cutoff_min);
    for (int k = 0; k < 3; k++) system->box.length[k] = (k == 2 ? LAYERS : ROW) * apart;
    for (int i = 0; i < system->n_atoms; i++) {
        const int at[3] = {i % ROW, i / ROW % ROW, i / ROW / ROW};
        for (int k = 0; k < 3; k++) system->position[3 * i + k] = (at[k] + 0.25) * apart;
        for (int k = 0; k < 3; k++) system->velocity[3 * i + k] = 0;
    }
    for (int layer = 0; layer < LAYERS; layer++) {
        const int i = leaper_of(layer);
        system->position[3 * i] = system->position[3 * (i + 1)] - 0.45 - leap * (fails[layer] - 1);
        system->velocity[3 * i] = leap / state_config().run_timestep;
    }
    md_deck_destroy(deck);
    return system;
}

typedef struct LeapWay {
    Way way;
    int barrier;
} LeapWay;

/* Nobody looks before the end, when all have failed. The first batch ends with a drift, before a build: in others blocks meet,
 * also with launch.barrier = local. */
static MdFault fault_of_leapers(const MdBackendOps *ops, const MdSystem *system, const LeapWay *by, int n_steps) {
    MdConfig config = state_config();
    MdStatistics statistics = {0};
    WalkRun run;
    config.run_precision = MD_PRECISION_MIXED;
    config.neighbor_rebuild = MD_REBUILD_EVERY;
    config.neighbor_every = n_steps;
    config.neighbor_skin = 0.5;
    config.force_kernel = MD_KERNEL_BRICK;
    config.force_threads_per_atom = MD_THREADS_2;
    config.memory_brick_cells = MD_BRICK_CELLS_1;
    config.launch_block_size = MD_BLOCK_SIZE_32;
    config.launch_barrier = by->barrier;
    issue_by(&config, by->way);
    if (!walk_create(&run, ops, &config, system)) return (MdFault){.step = -1};
    CHECK(walk_prepare(&run) && quiet_steps(&run, 1, n_steps + 8) && walk_ok(&run, ops->finish(run.context)));
    const MdFault fault = ops->fault(run.context);
    ops->statistics(run.context, &statistics);
    CHECK(statistics.n_met == 0);
    CHECK((walk_launches(&statistics, "k_step_queue") > 0) == (by->way.passes == MD_PASSES_QUEUE));
    CHECK((walk_launches(&statistics, "k_step_resident") > 0) == (by->way.persistent == MD_PERSISTENT_ON));
    walk_destroy(&run);
    return fault;
}

/* Told is the first one, though blocks may find another before it; of several in a step that of the smallest id. */
static void compare_leapers(const MdBackendOps *ops, const int fails[LAYERS], int leader, int n_steps) {
    static const LeapWay ways[] = {
        {{MD_GRAPH_OFF, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_KERNELS}, MD_BARRIER_GRID},
        {{MD_GRAPH_OFF, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_QUEUE}, MD_BARRIER_GRID},
        {{MD_GRAPH_OFF, MD_PERSISTENT_ON, MD_FUSE_STEP, MD_PASSES_KERNELS}, MD_BARRIER_LOCAL}};
    MdSystem *system = system_of_leapers(fails);
    MdFault expected = {.step = -1};
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        check_context("the first of several faults: step %d in layer %d, %s, barrier %s", fails[leader], leader,
                      way_text(ways[w].way), md_switch_words(MD_OPTION_launch_barrier)[ways[w].barrier]);
        const MdFault fault = fault_of_leapers(ops, system, &ways[w], n_steps);
        if (w == 0) expected = fault;
        if (!CHECK(fault.step == fails[leader] && fault.id == leaper_of(leader)))
            printf("told: step %lld, atom %d\n", (long long)fault.step, fault.id);
        CHECK(memcmp(&fault.displacement, &expected.displacement, sizeof fault.displacement) == 0);
    }
    md_system_destroy(system);
}

/* Wherever the first one is, and where there are two of them; others come a step later, or two. Once it goes on for so long that
 * smaller ids fail in steps that have the same key as the first one. */
static void test_leapers(const MdBackendOps *ops) {
    for (int k = 0; k < 2 * LAYERS; k++) {
        const int leader = k % LAYERS, second = leader + 7;
        int fails[LAYERS];
        for (int layer = 0; layer < LAYERS; layer++) fails[layer] = 5 + (layer + k / LAYERS) % 2;
        fails[leader] = 4;
        if (k % 4 == 0 && second < LAYERS) fails[second] = 4;
        compare_leapers(ops, fails, leader, k == LAYERS - 1 ? LONG_STEPS : SHORT_STEPS);
    }
}

/* --- a list that fills up -------------------------------------------------------------------------------------------- */

enum { CROWDING_STEPS = 42 };

/* Everything falls towards the middle, so that rows become three times as long. Energies at every seventh step, and nobody
 * looks before the end. Returns how often room was made on the way; places: of the atoms at the end. */
static int64_t overflows_on_the_way(const MdBackendOps *ops, const MdConfig *config, const MdSystem *system,
                                    double *places) {
    MdStatistics before = {0}, after = {0};
    WalkRun run;
    if (!walk_create(&run, ops, config, system)) return -1;
    CHECK(walk_prepare(&run));
    ops->statistics(run.context, &before);
    for (int step = 1; step <= CROWDING_STEPS; step += 7) CHECK(walk_steps(&run, step, 7));
    MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .position = places};
    CHECK(walk_ok(&run, ops->gather(run.context, &frame)));
    ops->statistics(run.context, &after);
    CHECK(ops->fault(run.context).step < 0);
    CHECK(after.n_rebuilds > 3 && after.capacity > 0 && after.n_entries > before.n_entries);
    if (config->neighbor_rebuild == MD_REBUILD_EVERY)
        CHECK(after.n_rebuilds == CROWDING_STEPS / config->neighbor_every);
    CHECK(calls_of(&after, "step") + calls_of(&after, "force") == CROWDING_STEPS + 1); /* what was in vain is no call */
    walk_destroy(&run);
    return after.n_overflows - before.n_overflows;
}

/* The same bits as where there was room from the start. */
static void test_filling(const MdBackendOps *ops, int kernel, int rebuild, Way way) {
    const char *words[] = {"system.density=0.25", "system.start=sc", "system.cells=8", "system.temperature=0.5", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    const size_t n = 3 * (size_t)system->n_atoms;
    MdConfig config = state_config();
    double *places = md_alloc(2 * n, sizeof *places, "positions"), *others = places + n;
    for (size_t k = 0; k < n; k++) system->velocity[k] -= 2.0 * (system->position[k] - 0.5 * system->box.length[k % 3]);
    config.neighbor_skin = 0.5;
    config.neighbor_rebuild = rebuild;
    config.neighbor_every = 6;
    config.force_kernel = kernel;
    issue_by(&config, way);
    check_context("fills up: kernel %s, rebuild %s, %s", md_switch_words(MD_OPTION_force_kernel)[kernel],
                  md_switch_words(MD_OPTION_neighbor_rebuild)[rebuild], way_text(way));
    config.neighbor_capacity = (int)system->n_atoms;
    const int64_t roomy = overflows_on_the_way(ops, &config, system, places);
    config.neighbor_capacity = 4;
    const int64_t tight = overflows_on_the_way(ops, &config, system, others);
    CHECK(tight > roomy);
    CHECK(memcmp(places, others, n * sizeof *places) == 0);
    printf("a list that fills up: room was made %lld times on the way, %lld times where rows had enough\n",
           (long long)tight, (long long)roomy);
    md_free(places);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

static void test_full(const MdBackendOps *ops) {
    static const int rules[] = {MD_REBUILD_EVERY, MD_REBUILD_DEVICE_CHECK};
    for (int k = -1; k < N_AHEAD; k++)
        for (size_t r = 0; r < 2; r++) test_filling(ops, MD_KERNEL_LIST, rules[r], k < 0 ? one_by_one : ahead[k]);
    test_filling(ops, MD_KERNEL_LIST, MD_REBUILD_HOST_CHECK, call_by_call);
    test_filling(ops, MD_KERNEL_BRICK, MD_REBUILD_EVERY,
                 (Way){MD_GRAPH_OFF, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_KERNELS});
    test_filling(ops, MD_KERNEL_BRICK, MD_REBUILD_EVERY, queues[0]);
    test_filling(ops, MD_KERNEL_BRICK, MD_REBUILD_DEVICE_CHECK,
                 (Way){MD_GRAPH_ON, MD_PERSISTENT_OFF, MD_FUSE_ON, MD_PASSES_KERNELS});
    test_filling(ops, MD_KERNEL_BRICK, MD_REBUILD_DEVICE_CHECK, queues[0]);
}

static void test_melt(const MdBackendOps *ops) {
    const char *words[] = {"system.density=0.8442", "system.cells=4", "system.temperature=6",
                           NULL}; /* hot: 256 atoms */
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    for (int search = MD_SEARCH_BRUTE; search <= MD_SEARCH_BRUTE_TILED; search++)
        for (int write = 0; write < 2; write++)
            for (int list = 0; list < 2; list++) test_counted(ops, system, search, write, list);
    for (int cells = MD_BRICK_CELLS_1; cells <= MD_BRICK_CELLS_2; cells++) {
        const int64_t n = test_counted_bricks(ops, system, MD_DISTANCES_THREAD, cells, MD_THREADS_1);
        CHECK(n > 0 && test_counted_bricks(ops, system, MD_DISTANCES_MATRIX, cells, MD_THREADS_1) == n);
        CHECK(test_counted_bricks(ops, system, MD_DISTANCES_MATRIX, cells, MD_THREADS_8) == n); /* in turns */
    }
    test_crowd(ops, system);
    test_extended();
    test_times(ops, system, MD_GRAPH_ON);
    test_times(ops, system, MD_GRAPH_OFF);
    test_lateness(ops, system, false);
    test_lateness(ops, system, true);
    test_waste(ops, system, ahead[0]);
    test_waste(ops, system, ahead[1]);
    test_waste(ops, system, call_by_call);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

int main(void) {
    const MdConfig base = state_config();
    const MdBackendOps *ops = walk_cuda(&base);
    if (!ops) return CHECK_SKIPPED;
    if (walk_wants("unforeseen")) test_unforeseen(ops);
    if (walk_wants("collision")) test_collision(ops);
    if (walk_wants("barrier")) test_barrier(ops);
    if (walk_wants("leapers")) test_leapers(ops);
    if (walk_wants("full")) test_full(ops);
    if (walk_wants("melt")) test_melt(ops);
    return check_finish();
}
