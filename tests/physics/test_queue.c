/* launch.passes = queue: the same bits as of a kernel a pass, whatever the number of bricks along each axis, their order in the
 * table, and the length of the batches; also where an atom becomes too fast in the midst of one, and where the list becomes
 * too old, whatever was made beyond that by then. MDMINI_TEST_SYSTEM as in walk.h: the name of a case, behind "checked: " that with
 * device-check; unforeseen, lone, collision, checked collision, or discarded fault. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "judge.h"
#include "state.h"
#include "way.h"

/* --- all that moves ------------------------------------------------------------------------------------------------- */

/* Somebody looks after so many steps, in the midst of a batch or at its end. Lists are built every 10 steps, or every 7: the
 * batches between them are of even and of odd length, or begin with forces, or end with a drift. */
enum { N_LOOKS = 4 };
static const int look_after[N_LOOKS] = {32, 40, 41, 63};

static const struct Case {
    const char *name, *words[8];
    int brick_cells, precision, layout, every, graph;
} cases[] = {
    {"one brick", {"system.cells=4"}, MD_BRICK_CELLS_2, MD_PRECISION_MIXED, MD_LAYOUT_VEC4, 10, MD_GRAPH_ON},
    {"2 x 3 x 4 bricks", {"system.cells=4 5 7"}, MD_BRICK_CELLS_1, MD_PRECISION_MIXED, MD_LAYOUT_VEC4, 7, MD_GRAPH_ON},
    {"2 x 1 x 2 bricks",
     {"system.cells=7 4 5"},
     MD_BRICK_CELLS_2,
     MD_PRECISION_DOUBLE,
     MD_LAYOUT_AOS,
     10,
     MD_GRAPH_OFF},
    {"1 x 3 x 2 bricks",
     {"system.cells=4 10 7"},
     MD_BRICK_CELLS_2,
     MD_PRECISION_SINGLE,
     MD_LAYOUT_VEC4,
     7,
     MD_GRAPH_OFF},
    {"5 x 2 x 1 bricks",
     {"system.cells=9 4 2", "system.boundary=periodic periodic open"},
     MD_BRICK_CELLS_1,
     MD_PRECISION_MIXED,
     MD_LAYOUT_SOA,
     10,
     MD_GRAPH_ON},
    {"5 x 4 x 6 bricks, 2 types",
     {"system.cells=9 7 10", "system.types=2", "system.fractions=0.5 0.5"},
     MD_BRICK_CELLS_1,
     MD_PRECISION_SINGLE,
     MD_LAYOUT_SOA,
     10,
     MD_GRAPH_ON},
    {"3-D mixed boundary, 2 types",
     {"system.cells=4 5 9", "system.types=2", "system.fractions=0.5 0.5", "system.boundary=open periodic open"},
     MD_BRICK_CELLS_1,
     MD_PRECISION_MIXED,
     MD_LAYOUT_AOS,
     7,
     MD_GRAPH_ON},
    {"3-D open",
     {"system.cells=7 7 4", "system.boundary=open"},
     MD_BRICK_CELLS_1,
     MD_PRECISION_DOUBLE,
     MD_LAYOUT_VEC4,
     10,
     MD_GRAPH_OFF},
    {"2-D, 8 x 3 uneven bricks",
     {"system.dimension=2", "system.start=square", "system.cells=40 13"},
     MD_BRICK_CELLS_2,
     MD_PRECISION_MIXED,
     MD_LAYOUT_VEC4,
     7,
     MD_GRAPH_OFF},
    {"2-D, 2 x 3 bricks",
     {"system.dimension=2", "system.start=square", "system.cells=10 16"},
     MD_BRICK_CELLS_2,
     MD_PRECISION_DOUBLE,
     MD_LAYOUT_SOA,
     10,
     MD_GRAPH_ON},
    {"2-D mixed boundary",
     {"system.dimension=2", "system.start=square", "system.cells=30 10", "system.boundary=open periodic"},
     MD_BRICK_CELLS_2,
     MD_PRECISION_SINGLE,
     MD_LAYOUT_AOS,
     7,
     MD_GRAPH_ON},
};
enum { N_CASES = sizeof cases / sizeof cases[0], MOST_WORDS = 12 };

static MdSystem *case_system(const struct Case *of) {
    const char *words[MOST_WORDS] = {"system.density=0.8442", "system.temperature=1.44"};
    int n = 2;
    for (int k = 0; k < 8 && of->words[k]; k++) words[n++] = of->words[k];
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    md_deck_destroy(deck);
    return system;
}

/* What is seen at each look. */
typedef struct Seen {
    Gathered gathered[N_LOOKS];
    MdSums sums;
    int64_t n_rebuilds;
} Seen;

/* How lists are built: by count; or by displacements, where atoms are or will be. */
typedef struct Rule {
    int rebuild, predict;
} Rule;
static const Rule by_count = {MD_REBUILD_EVERY, MD_PREDICT_OFF};

static bool run_case(const MdBackendOps *ops, const struct Case *of, Rule rule, const MdSystem *system, int passes,
                     int block_size, Seen *seen) {
    MdConfig config = state_config();
    MdStatistics statistics = {0};
    WalkRun run;
    const bool checks = rule.rebuild == MD_REBUILD_DEVICE_CHECK;
    config.run_precision = of->precision;
    config.memory_layout = of->layout;
    config.memory_brick_cells = of->brick_cells;
    config.neighbor_skin = 0.25;
    config.neighbor_rebuild = rule.rebuild;
    config.neighbor_predict = rule.predict;
    if (!checks) config.neighbor_every = of->every;
    config.force_kernel = MD_KERNEL_BRICK;
    config.memory_staging = MD_STAGING_REGISTERS; /* copies measure places from another corner: other bits */
    config.launch_block_size = block_size;
    if (block_size == MD_BLOCK_SIZE_AUTO) { /* friction and noise: heat is that of the passes that count */
        config.ensemble_thermostat = MD_THERMOSTAT_LANGEVIN;
        config.ensemble_friction = 0.02 / config.run_timestep;
    }
    way_take(&config, (Way){of->graph, MD_PERSISTENT_OFF, MD_FUSE_STEP, passes});
    check_context("%s, %s, predict %s, passes %s", of->name, md_switch_words(MD_OPTION_neighbor_rebuild)[rule.rebuild],
                  md_switch_words(MD_OPTION_neighbor_predict)[rule.predict],
                  md_switch_words(MD_OPTION_launch_passes)[passes]);
    if (!walk_create(&run, ops, &config, system)) return false;
    bool ok = walk_prepare(&run);
    for (int k = 0, step = 0; k < N_LOOKS && ok; step = look_after[k++])
        ok = walk_quiet_steps(&run, step + 1, look_after[k] - step) && judge_gather(&run, system, &seen->gathered[k]);
    ok = ok && walk_steps(&run, look_after[N_LOOKS - 1] + 1, 5) && walk_ok(&run, ops->sum(run.context, &seen->sums));
    ops->statistics(run.context, &statistics);
    seen->n_rebuilds = statistics.n_rebuilds;
    CHECK((walk_launches(&statistics, "k_step_bring_back") > 0) == (checks && passes == MD_PASSES_QUEUE));
    CHECK((walk_launches(&statistics, "k_step_queue") > 0) == (passes == MD_PASSES_QUEUE));
    CHECK((walk_launches(&statistics, "k_step_pass") > 0) == (passes == MD_PASSES_KERNELS));
    CHECK(statistics.n_rebuilds > 0);
    walk_destroy(&run);
    return CHECK(ok);
}

static bool same_gathered(const MdSystem *system, const Gathered *one, const Gathered *other) {
    const size_t n = 3 * (size_t)system->n_atoms;
    return memcmp(one->position, other->position, n * sizeof(double)) == 0 &&
           memcmp(one->velocity, other->velocity, n * sizeof(double)) == 0 &&
           memcmp(one->force, other->force, n * sizeof(double)) == 0 &&
           memcmp(one->image, other->image, n * sizeof(int32_t)) == 0;
}

static void free_seen(Seen *seen) {
    for (int k = 0; k < N_LOOKS; k++) judge_gathered_free(&seen->gathered[k]);
}

static void compare(const MdBackendOps *ops, const struct Case *of, Rule rule, const MdSystem *system, int block_size) {
    Seen kernels = {0}, queue = {0};
    if (run_case(ops, of, rule, system, MD_PASSES_KERNELS, block_size, &kernels) &&
        run_case(ops, of, rule, system, MD_PASSES_QUEUE, block_size, &queue)) {
        for (int look = 0; look < N_LOOKS; look++)
            CHECK(same_gathered(system, &kernels.gathered[look], &queue.gathered[look]));
        CHECK(memcmp(&kernels.sums, &queue.sums, sizeof queue.sums) == 0);
        CHECK(kernels.n_rebuilds == queue.n_rebuilds);
    }
    printf("%s: %lld atoms, list built %lld times\n", of->name, (long long)system->n_atoms,
           (long long)queue.n_rebuilds);
    free_seen(&kernels);
    free_seen(&queue);
}

static void test_case(const MdBackendOps *ops, const struct Case *of) {
    MdSystem *system = case_system(of);
    compare(ops, of, by_count, system, MD_BLOCK_SIZE_32);
    compare(ops, of, by_count, system, MD_BLOCK_SIZE_AUTO);
    md_system_destroy(system);
}

/* By displacements, with each way to predict. */
static void test_checked(const MdBackendOps *ops, const struct Case *of) {
    const int k = (int)(of - cases);
    MdSystem *system = case_system(of);
    for (int half = 0; half < 2; half++) {
        const Rule rule = {MD_REBUILD_DEVICE_CHECK, (k + half) % 2 ? MD_PREDICT_VELOCITY : MD_PREDICT_OFF};
        compare(ops, of, rule, system, half ? MD_BLOCK_SIZE_AUTO : MD_BLOCK_SIZE_32);
    }
    md_system_destroy(system);
}

/* --- a list that fails unforeseen ------------------------------------------------------------------------------------- */

enum { HOTTER = 400 }; /* velocities, so many times */

/* As in test_cuda: a cold crystal keeps its list for so long that batches have become long; then its atoms are made so fast
 * that many of a batch would find the list too old. With each skin that happens at another pass of one, and somebody looks
 * after so many steps. */
static int64_t unforeseen(const MdBackendOps *ops, const MdSystem *system, Rule rule, int precision, int layout,
                          int graph, int passes, double timestep, double skin, int n_hot, int piece, Gathered *end,
                          double *heat) {
    enum { COLD_STEPS = 64 };
    MdConfig config = state_config();
    MdStatistics statistics = {0};
    WalkRun run;
    config.run_precision = precision;
    config.memory_layout = layout;
    config.memory_brick_cells = MD_BRICK_CELLS_1;
    config.memory_staging = MD_STAGING_REGISTERS; /* as in run_case */
    config.run_timestep = timestep;
    config.neighbor_skin = skin;
    config.neighbor_rebuild = rule.rebuild;
    config.neighbor_predict = rule.predict;
    config.force_kernel = MD_KERNEL_BRICK;
    /* Too weak to be felt, but for the heat. */
    config.ensemble_thermostat = MD_THERMOSTAT_LANGEVIN;
    config.ensemble_target = (MdRealList){.n = 1, .values = {1e-8}};
    config.ensemble_friction = 1e-6 / timestep;
    way_take(&config, (Way){graph, MD_PERSISTENT_OFF, MD_FUSE_STEP, passes});
    check_context("fails unforeseen: precision %s, layout %s, skin %g, passes %s",
                  md_switch_words(MD_OPTION_run_precision)[precision], md_switch_words(MD_OPTION_memory_layout)[layout],
                  skin, md_switch_words(MD_OPTION_launch_passes)[passes]);
    if (!walk_create(&run, ops, &config, system)) return -1;
    bool ok = walk_prepare(&run) && walk_steps(&run, 1, COLD_STEPS) && walk_ok(&run, ops->finish(run.context)) &&
              walk_ok(&run, ops->scale_velocities(run.context, HOTTER, walk_no_shift));
    for (int step = 0; step < n_hot && ok; step += piece)
        ok = walk_quiet_steps(&run, COLD_STEPS + 1 + step, piece) && walk_ok(&run, ops->finish(run.context));
    MdSums sums = {0};
    ok = ok && judge_gather(&run, system, end) && walk_ok(&run, ops->sum(run.context, &sums));
    *heat = sums.heat;
    ops->statistics(run.context, &statistics);
    walk_destroy(&run);
    return CHECK(ok) ? statistics.n_rebuilds : -1;
}

static void test_unforeseen(const MdBackendOps *ops) {
    static const struct {
        int precision, layout, graph, predict, piece;
    } ways[] = {{MD_PRECISION_MIXED, MD_LAYOUT_VEC4, MD_GRAPH_ON, MD_PREDICT_OFF, 24},
                {MD_PRECISION_MIXED, MD_LAYOUT_SOA, MD_GRAPH_OFF, MD_PREDICT_VELOCITY, 24},
                {MD_PRECISION_DOUBLE, MD_LAYOUT_VEC4, MD_GRAPH_OFF, MD_PREDICT_OFF, 4},
                {MD_PRECISION_MIXED, MD_LAYOUT_AOS, MD_GRAPH_ON, MD_PREDICT_OFF, 3},
                {MD_PRECISION_SINGLE, MD_LAYOUT_SOA, MD_GRAPH_ON, MD_PREDICT_VELOCITY, 24},
                {MD_PRECISION_DOUBLE, MD_LAYOUT_AOS, MD_GRAPH_ON, MD_PREDICT_VELOCITY, 24}};
    const char *words[] = {"system.density=0.8442", "system.cells=5 7 6", "system.temperature=1e-4", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    for (int k = 0; k < 8; k++) {
        const size_t w = (size_t)k % (sizeof ways / sizeof ways[0]);
        const Rule rule = {MD_REBUILD_DEVICE_CHECK, ways[w].predict};
        const double timestep = state_config().run_timestep, skin = 0.4 - 0.025 * k;
        Gathered one = {0}, other = {0};
        double heat[2] = {0};
        const int64_t expected = unforeseen(ops, system, rule, ways[w].precision, ways[w].layout, ways[w].graph,
                                            MD_PASSES_KERNELS, timestep, skin, 24, ways[w].piece, &one, &heat[0]),
                      built = unforeseen(ops, system, rule, ways[w].precision, ways[w].layout, ways[w].graph,
                                         MD_PASSES_QUEUE, timestep, skin, 24, ways[w].piece, &other, &heat[1]);
        printf("a list that fails unforeseen, skin %g: built %lld times\n", skin, (long long)expected);
        CHECK(expected >= 3 && built == expected);
        if (expected >= 0 && built >= 0) CHECK(same_gathered(system, &one, &other));
        CHECK(heat[0] == heat[1] && heat[0] != 0); /* discarded passes have none */
        judge_gathered_free(&one);
        judge_gathered_free(&other);
    }
    md_system_destroy(system);
    md_deck_destroy(deck);
}

/* One fast atom in a cold crystal of many bricks in a row: where it comes too far, the others need not know for long. It does
 * so in the first drift of a batch, or one of the first passes. Another one may follow a pass later, which may be discarded. */
static void test_lone(const MdBackendOps *ops) {
    enum { N_PASSES = 5, N_TRIES = 2, N_HOT = 8 };
    static const int layouts[] = {MD_LAYOUT_VEC4, MD_LAYOUT_SOA, MD_LAYOUT_AOS};
    const char *words[] = {"system.density=0.8442", "system.cells=4 4 16", "system.temperature=1e-10", NULL};
    const double timestep = 0.0005, skin = 0.3, per_step = 1 / (timestep * HOTTER);
    MdDeck *deck = state_deck(words);
    for (int k = 0; k < 2 * N_PASSES; k++) {
        const Rule rule = {MD_REBUILD_DEVICE_CHECK, MD_PREDICT_OFF};
        const int layout = layouts[k % 3], graph = k % 3 ? MD_GRAPH_ON : MD_GRAPH_OFF;
        MdSystem *system = state_system(deck);
        Gathered one = {0};
        for (int follower = 0; follower <= k / N_PASSES; follower++) {
            const double drifts = k % N_PASSES + 0.5 + follower; /* until it is too far */
            system->velocity[3 * ((77 + 90 * k + 512 * follower) % system->n_atoms)] = skin / 2 / drifts * per_step;
        }
        double heat;
        const int64_t expected = unforeseen(ops, system, rule, MD_PRECISION_MIXED, layout, graph, MD_PASSES_KERNELS,
                                            timestep, skin, N_HOT, N_HOT, &one, &heat);
        printf("a lone fast atom: built %lld times\n", (long long)expected);
        CHECK(expected >= 1);
        for (int try = 0; try < N_TRIES; try++) {
            Gathered other = {0};
            const int64_t built = unforeseen(ops, system, rule, MD_PRECISION_MIXED, layout, graph, MD_PASSES_QUEUE,
                                             timestep, skin, N_HOT, N_HOT, &other, &heat);
            CHECK(built == expected);
            if (expected >= 0 && built >= 0) CHECK(same_gathered(system, &one, &other));
            judge_gathered_free(&other);
        }
        judge_gathered_free(&one);
        md_system_destroy(system);
    }
    md_deck_destroy(deck);
}

/* --- a fault in the middle of a batch --------------------------------------------------------------------------------- */

static void test_collision(const MdBackendOps *ops, bool checks) {
    static const struct {
        int every;    /* 0: when displacements ask for it */
        double speed; /* in that which is too fast */
    } rules[] = {{36, 0.5}, {4, 0.9}, {9, 0.9}, {0, 0.9}, {0, 0.7}, {0, 0.65}};
    const Way by_kernels = {MD_GRAPH_AUTO, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_KERNELS},
              by_queue = {MD_GRAPH_AUTO, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_QUEUE};
    const char *words[] = {"system.density=0.8442", "system.cells=4", "system.temperature=1e-10", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    const MdConfig config = state_config();
    const double limit = md_fault_distance(&config, &system->potential) / config.run_timestep;
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        if (checks != (rules[r].every == 0)) continue;
        system->velocity[3 * 77 + 1] = rules[r].speed * limit / WAY_WARMER;
        const MdFault one = way_collision(ops, system, MD_KERNEL_BRICK, rules[r].every, by_kernels),
                      other = way_collision(ops, system, MD_KERNEL_BRICK, rules[r].every, by_queue);
        printf("a fault in a batch, every %d: step %lld, atom %d\n", rules[r].every, (long long)one.step, one.id);
        CHECK(one.step > 16 + 2 && other.step == one.step && other.id == one.id);
        CHECK(memcmp(&one.displacement, &other.displacement, sizeof one.displacement) == 0);
    }
    md_system_destroy(system);
    md_deck_destroy(deck);
}

/* --- a fault about where the list fails ------------------------------------------------------------------------------- */

/* What is left of a run with both. */
typedef struct Ending {
    MdFault fault;
    int64_t n_rebuilds; /* -1: there was no such run */
} Ending;

enum { STILL_STEPS = 64, FAULT_AFTER = 4 }; /* the fault: hot steps */

static Ending end_by_fault(const MdBackendOps *ops, const MdSystem *system, int graph, int passes) {
    Ending ending = {.n_rebuilds = -1};
    MdConfig config = state_config();
    MdStatistics statistics = {0};
    WalkRun run;
    config.run_precision = MD_PRECISION_DOUBLE;
    config.run_timestep = 0.0005;
    config.memory_brick_cells = MD_BRICK_CELLS_1;
    config.neighbor_skin = 0.8;
    config.neighbor_rebuild = MD_REBUILD_DEVICE_CHECK;
    config.neighbor_predict = MD_PREDICT_OFF;
    config.force_kernel = MD_KERNEL_BRICK;
    way_take(&config, (Way){graph, MD_PERSISTENT_OFF, MD_FUSE_STEP, passes});
    check_context("a fault and a list that fails: passes %s", md_switch_words(MD_OPTION_launch_passes)[passes]);
    if (!walk_create(&run, ops, &config, system)) return ending;
    const bool ok = walk_prepare(&run) && walk_steps(&run, 1, STILL_STEPS) && walk_ok(&run, ops->finish(run.context)) &&
                    walk_ok(&run, ops->scale_velocities(run.context, WAY_WARMER, walk_no_shift)) &&
                    walk_quiet_steps(&run, STILL_STEPS + 1, 8) && walk_ok(&run, ops->finish(run.context));
    ending.fault = ops->fault(run.context);
    ops->statistics(run.context, &statistics);
    if (CHECK(ok)) ending.n_rebuilds = statistics.n_rebuilds;
    walk_destroy(&run);
    return ending;
}

/* An atom and the one next to it, towards each other, so far a step while they are alone. */
static void aim(MdSystem *system, int64_t atom, double speed) {
    const double *x = &system->position[3 * atom];
    double least = INFINITY;
    int64_t next = atom;
    for (int64_t i = 0; i < system->n_atoms; i++) {
        const double *y = &system->position[3 * i];
        const double r = hypot(hypot(x[0] - y[0], x[1] - y[1]), x[2] - y[2]);
        if (i == atom || r >= least) continue;
        least = r;
        next = i;
    }
    for (int axis = 0; axis < 3; axis++) {
        const double way = (system->position[3 * next + axis] - x[axis]) / least;
        system->velocity[3 * atom + axis] = speed * way;
        system->velocity[3 * next + axis] = -speed * way;
    }
}

/* In a cold crystal two atoms run into each other and fault. Far away another one comes too far for the list: by the first
 * drifts, in the pass before the fault, along with it, behind it, or never. In the third case the fault is in a pass that is
 * discarded, and may be made all the same: it is told when the pass has been made again, and not before a list is built. */
static void test_discarded_fault(const MdBackendOps *ops) {
    static const struct {
        double distance; /* a step */
        int n_rebuilds;  /* until the fault; after it there are none */
        int n_tries;
    } ways[] = {{0.45, 3, 1}, {0.275, 1, 2}, {0.165, 1, 6}, {0.118, 0, 2}, {0.092, 0, 2}, {0.02, 0, 1}};
    const double per_step = 1 / (0.0005 * WAY_WARMER);
    const char *words[] = {"system.density=0.8442", "system.cells=4 4 16", "system.temperature=1e-10", NULL};
    MdDeck *deck = state_deck(words);
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
        for (int k = 0; k < ways[w].n_tries; k++) {
            const int graph = k % 3 ? MD_GRAPH_ON : MD_GRAPH_OFF;
            MdSystem *system = state_system(deck);
            aim(system, 200, 0.132 * per_step);
            system->velocity[3 * (640 + 32 * k)] = ways[w].distance * per_step;
            const Ending one = end_by_fault(ops, system, graph, MD_PASSES_KERNELS),
                         other = end_by_fault(ops, system, graph, MD_PASSES_QUEUE);
            CHECK(one.n_rebuilds == ways[w].n_rebuilds && one.fault.step == STILL_STEPS + FAULT_AFTER);
            CHECK(other.n_rebuilds == one.n_rebuilds);
            CHECK(other.fault.step == one.fault.step && other.fault.id == one.fault.id);
            CHECK(memcmp(&one.fault.displacement, &other.fault.displacement, sizeof one.fault.displacement) == 0);
            md_system_destroy(system);
        }
    md_deck_destroy(deck);
}

int main(void) {
    const MdConfig base = state_config();
    const MdBackendOps *ops = walk_cuda(&base);
    if (!ops) return walk_no_cuda();
    for (int k = 0; k < N_CASES; k++)
        if (walk_wants(cases[k].name)) test_case(ops, &cases[k]);
    for (int k = 0; k < N_CASES; k++) {
        char name[64];
        snprintf(name, sizeof name, "checked: %s", cases[k].name);
        if (walk_wants(name)) test_checked(ops, &cases[k]);
    }
    if (walk_wants("unforeseen")) test_unforeseen(ops);
    if (walk_wants("lone")) test_lone(ops);
    if (walk_wants("collision")) test_collision(ops, false);
    if (walk_wants("checked collision")) test_collision(ops, true);
    if (walk_wants("discarded fault")) test_discarded_fault(ops);
    return check_finish();
}
