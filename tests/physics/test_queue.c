/* launch.passes = queue: the same bits as of a kernel a pass, whatever the number of bricks along each axis, their order in the
 * table, and the length of the batches; also where an atom becomes too fast in the midst of one. MDMINI_TEST_SYSTEM as in
 * walk.h: the name of a case, or collision. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "integrate/verlet.h"
#include "judge.h"
#include "state.h"

/* Without energies, so that no drift stands at the end of what is issued. */
static bool quiet_steps(const WalkRun *run, int64_t first, int64_t n) {
    for (int64_t step = first; step < first + n; step++)
        if (!walk_ok(run, md_verlet_step(run->ops, run->context, step, false))) return false;
    return true;
}

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
} Seen;

static bool run_case(const MdBackendOps *ops, const struct Case *of, const MdSystem *system, int passes, int block_size,
                     Seen *seen) {
    MdConfig config = state_config();
    MdStatistics statistics = {0};
    WalkRun run;
    config.run_precision = of->precision;
    config.memory_layout = of->layout;
    config.memory_brick_cells = of->brick_cells;
    config.neighbor_skin = 0.25;
    config.neighbor_rebuild = MD_REBUILD_EVERY;
    config.neighbor_every = of->every;
    config.force_kernel = MD_KERNEL_BRICK;
    config.launch_fuse = MD_FUSE_STEP;
    config.launch_persistent = MD_PERSISTENT_OFF;
    config.launch_graph = of->graph;
    config.launch_block_size = block_size;
    config.launch_passes = passes;
    check_context("%s, passes %s", of->name, md_switch_words(MD_OPTION_launch_passes)[passes]);
    if (!walk_create(&run, ops, &config, system)) return false;
    bool ok = walk_prepare(&run);
    for (int k = 0, step = 0; k < N_LOOKS && ok; step = look_after[k++])
        ok = quiet_steps(&run, step + 1, look_after[k] - step) && judge_gather(&run, system, &seen->gathered[k]);
    ok = ok && walk_steps(&run, look_after[N_LOOKS - 1] + 1, 5) && walk_ok(&run, ops->sum(run.context, &seen->sums));
    ops->statistics(run.context, &statistics);
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

static void test_case(const MdBackendOps *ops, const struct Case *of) {
    static const int block_sizes[] = {MD_BLOCK_SIZE_32, MD_BLOCK_SIZE_AUTO};
    MdSystem *system = case_system(of);
    for (size_t k = 0; k < sizeof block_sizes / sizeof block_sizes[0]; k++) {
        Seen kernels = {0}, queue = {0};
        if (run_case(ops, of, system, MD_PASSES_KERNELS, block_sizes[k], &kernels) &&
            run_case(ops, of, system, MD_PASSES_QUEUE, block_sizes[k], &queue)) {
            for (int look = 0; look < N_LOOKS; look++)
                CHECK(same_gathered(system, &kernels.gathered[look], &queue.gathered[look]));
            CHECK(memcmp(&kernels.sums, &queue.sums, sizeof queue.sums) == 0);
        }
        free_seen(&kernels);
        free_seen(&queue);
    }
    printf("%s: %lld atoms\n", of->name, (long long)system->n_atoms);
    md_system_destroy(system);
}

/* --- a fault in the middle of a batch --------------------------------------------------------------------------------- */

enum { WARMER = 1000 }; /* velocities, so many times */

/* As in test_cuda: in a cold crystal an atom becomes so fast that it all but faults, and runs into the others, while nobody
 * looks. */
static MdFault collision(const MdBackendOps *ops, const MdSystem *system, int every, int passes) {
    enum { COLD_STEPS = 16, HOT_STEPS = 36 };
    MdConfig config = state_config();
    WalkRun run;
    config.run_precision = MD_PRECISION_DOUBLE;
    config.neighbor_skin = 0.75;
    config.neighbor_rebuild = MD_REBUILD_EVERY;
    config.neighbor_every = every;
    config.force_kernel = MD_KERNEL_BRICK;
    config.launch_fuse = MD_FUSE_STEP;
    config.launch_persistent = MD_PERSISTENT_OFF;
    config.launch_passes = passes;
    check_context("a fault in a batch: every %d, passes %s", every, md_switch_words(MD_OPTION_launch_passes)[passes]);
    if (!walk_create(&run, ops, &config, system)) return (MdFault){.step = -1};
    CHECK(walk_prepare(&run) && walk_steps(&run, 1, COLD_STEPS) && walk_ok(&run, ops->finish(run.context)));
    CHECK(walk_ok(&run, ops->scale_velocities(run.context, WARMER)));
    CHECK(walk_steps(&run, COLD_STEPS + 1, HOT_STEPS) && walk_ok(&run, ops->finish(run.context)));
    const MdFault fault = ops->fault(run.context);
    walk_destroy(&run);
    return fault;
}

static void test_collision(const MdBackendOps *ops) {
    static const struct {
        int every;
        double speed; /* in that which is too fast */
    } rules[] = {{36, 0.5}, {4, 0.9}, {9, 0.9}};
    const char *words[] = {"system.density=0.8442", "system.cells=4", "system.temperature=1e-10", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    const double limit = MD_FAULT_SHARE * system->potential.cutoff_min / state_config().run_timestep;
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        system->velocity[3 * 77 + 1] = rules[r].speed * limit / WARMER;
        const MdFault one = collision(ops, system, rules[r].every, MD_PASSES_KERNELS),
                      other = collision(ops, system, rules[r].every, MD_PASSES_QUEUE);
        printf("a fault in a batch, every %d: step %lld, atom %d\n", rules[r].every, (long long)one.step, one.id);
        CHECK(one.step > 16 + 2 && other.step == one.step && other.id == one.id);
        CHECK(memcmp(&one.displacement, &other.displacement, sizeof one.displacement) == 0);
    }
    md_system_destroy(system);
    md_deck_destroy(deck);
}

int main(void) {
    const MdConfig base = state_config();
    const MdBackendOps *ops = walk_cuda(&base);
    if (!ops) return CHECK_SKIPPED;
    for (int k = 0; k < N_CASES; k++)
        if (walk_wants(cases[k].name)) test_case(ops, &cases[k]);
    if (walk_wants("collision")) test_collision(ops);
    return check_finish();
}
