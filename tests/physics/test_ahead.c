/* What a cuda backend makes while the host does not look: it stops in the middle of a batch where the list is stale; it tells where an
 * atom became too fast; and blocks of the resident kernel need no barrier of the grid for it. For how many steps these speculate that
 * a list lasts, and what faults they tell: test_speculation. MDMINI_TEST_SYSTEM as in walk.h: unforeseen ahead, collision, or barrier. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "state.h"
#include "walk.h"
#include "way.h"

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
    config.memory_brick_grid =
        MD_BRICK_GRID_CELLS; /* which resident kernels would have otherwise, and their own sums */
    config.neighbor_rebuild = rebuild;
    way_take(&config, way);
    check_context("kernel %s, rebuild %s, %s", md_switch_words(MD_OPTION_force_kernel)[kernel],
                  md_switch_words(MD_OPTION_neighbor_rebuild)[rebuild], way_text(way));
    if (!walk_create(&run, ops, &config, system)) return -1;
    CHECK(walk_prepare(&run) && walk_steps(&run, 1, COLD_STEPS) && walk_ok(&run, ops->finish(run.context)));
    ops->statistics(run.context, &cold);
    CHECK(cold.n_rebuilds == 0);
    CHECK(walk_ok(&run, ops->scale_velocities(run.context, 400, walk_no_shift)));
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
        builds_unforeseen(ops, system, kernel, MD_REBUILD_HOST_CHECK, way_call_by_call, skin, piece, places);
    CHECK(expected >= 4);
    for (int k = -1; k < N_WAYS_AHEAD + (kernel == MD_KERNEL_BRICK ? N_WAYS_QUEUED : 0); k++) {
        const Way way = k < 0              ? way_call_by_call /* by the device, too, where nothing is issued ahead */
                        : k < N_WAYS_AHEAD ? ways_ahead[k]
                                           : ways_queued[k - N_WAYS_AHEAD];
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

/* In whatever way the steps are issued, it is of the same step and atom as where each is a call of its own. */
static void test_collision(const MdBackendOps *ops) {
    static const struct {
        int every;
        double speed; /* in that which is too fast */
    } rules[] = {{36, 0.5}, {4, 0.9}, {0, 0.9}, {0, 0.7}, {0, 0.65}};
    const char *words[] = {"system.density=0.8442", "system.cells=4", "system.temperature=1e-10", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    const MdConfig config = state_config();
    const double limit = md_fault_distance(&config, &system->potential) / config.run_timestep;
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        system->velocity[3 * 77 + 1] = rules[r].speed * limit / WAY_WARMER;
        const MdFault one = way_collision(ops, system, MD_KERNEL_LIST, rules[r].every, way_one_by_one);
        printf("a fault in a batch, every %d: step %lld, atom %d\n", rules[r].every, (long long)one.step, one.id);
        CHECK(one.step > 16 + 2);
        for (int k = 0; k < N_WAYS_AHEAD; k++) {
            const MdFault other = way_collision(ops, system, MD_KERNEL_LIST, rules[r].every, ways_ahead[k]);
            CHECK(other.step == one.step && other.id == one.id);
        }
    }
    md_system_destroy(system);
    md_deck_destroy(deck);
}

/* --- passes without a barrier -------------------------------------------------------------------------------------- */

/* What bricks are like, and the blocks that hold them. */
typedef struct {
    int brick_cells, block_size, threads_per_atom;
    double skin; /* 0: 0.25 */
} Blocks;

/* When lists are built: by count, or by displacements from where atoms were to be. */
typedef struct {
    int rebuild, predict;
} BarrierRule;
static const BarrierRule barrier_rules[] = {{MD_REBUILD_EVERY, MD_PREDICT_OFF},
                                            {MD_REBUILD_DEVICE_CHECK, MD_PREDICT_VELOCITY}};
enum { N_BARRIER_RULES = sizeof barrier_rules / sizeof barrier_rules[0] };

typedef struct {
    int64_t n_grid_barriers, n_rolled_back, n_rebuilds; /* as in MdStatistics */
    double potential;
} BarrierRun;

/* 32 steps and 28 more, three with energies, and of atoms that are four times as fast 20 and two with energies; by count a list
 * every ten steps, so that the batch before the first look begins with forces and ends with them. That before energies ends
 * with a drift. places: of the atoms at the three looks. */
static BarrierRun run_with_barrier(const MdBackendOps *ops, const MdSystem *system, BarrierRule rule, int barrier,
                                   Blocks blocks, double *places) {
    MdConfig config = state_config();
    MdStatistics statistics = {0};
    MdSums sums = {0};
    WalkRun run;
    config.run_precision = MD_PRECISION_MIXED;
    config.neighbor_rebuild = rule.rebuild;
    config.neighbor_predict = rule.predict;
    if (rule.rebuild == MD_REBUILD_EVERY) config.neighbor_every = 10;
    config.neighbor_skin = blocks.skin > 0 ? blocks.skin : 0.25;
    config.run_timestep = 0x1p-8;
    config.force_kernel = MD_KERNEL_BRICK;
    config.force_threads_per_atom = blocks.threads_per_atom;
    config.memory_brick_cells = blocks.brick_cells;
    config.launch_block_size = blocks.block_size;
    way_take(&config, (Way){MD_GRAPH_OFF, MD_PERSISTENT_ON, MD_FUSE_STEP, MD_PASSES_KERNELS});
    config.launch_barrier = barrier;
    check_context("rebuild %s, predict %s, barrier %s, brick cells %s, block size %s, threads per atom %s",
                  md_switch_words(MD_OPTION_neighbor_rebuild)[rule.rebuild],
                  md_switch_words(MD_OPTION_neighbor_predict)[rule.predict],
                  md_switch_words(MD_OPTION_launch_barrier)[barrier],
                  md_switch_words(MD_OPTION_memory_brick_cells)[blocks.brick_cells],
                  md_switch_words(MD_OPTION_launch_block_size)[blocks.block_size],
                  md_switch_words(MD_OPTION_force_threads_per_atom)[blocks.threads_per_atom]);
    if (!walk_create(&run, ops, &config, system)) return (BarrierRun){-1, -1, -1, 0};
    MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .position = places};
    CHECK(walk_prepare(&run) && walk_quiet_steps(&run, 1, 32) && walk_ok(&run, ops->gather(run.context, &frame)));
    frame.position += 3 * system->n_atoms;
    CHECK(walk_quiet_steps(&run, 33, 28) && walk_ok(&run, ops->gather(run.context, &frame)));
    frame.position += 3 * system->n_atoms;
    CHECK(walk_steps(&run, 61, 3) && walk_ok(&run, ops->scale_velocities(run.context, 4, walk_no_shift)) &&
          walk_quiet_steps(&run, 64, 20) && walk_steps(&run, 84, 2) && walk_ok(&run, ops->sum(run.context, &sums)) &&
          walk_ok(&run, ops->gather(run.context, &frame)));
    ops->statistics(run.context, &statistics);
    CHECK(ops->fault(run.context).step < 0);
    walk_destroy(&run);
    return (BarrierRun){statistics.n_grid_barriers, statistics.n_rolled_back, statistics.n_rebuilds, sums.potential};
}

typedef enum { NEVER, ALWAYS, BY_GPU } BarrierUse;

/* The same bits with the barrier of the grid and without, and the same lists. With a check, the first one of the fast atoms lasts
 * shorter than speculated. */
static void compare_barriers(const MdBackendOps *ops, const MdSystem *system, Blocks blocks, BarrierUse use) {
    const size_t n_places = 9 * (size_t)system->n_atoms;
    double *places = md_alloc(2 * n_places, sizeof *places, "positions"), *others = places + n_places;
    for (int k = 0; k < N_BARRIER_RULES; k++) {
        const BarrierRun grid = run_with_barrier(ops, system, barrier_rules[k], MD_BARRIER_GRID, blocks, places),
                         local = run_with_barrier(ops, system, barrier_rules[k], MD_BARRIER_LOCAL, blocks, others);
        const bool speculates = barrier_rules[k].rebuild == MD_REBUILD_DEVICE_CHECK && local.n_grid_barriers == 0;
        CHECK(grid.n_grid_barriers == 0 && local.n_grid_barriers >= 0 &&
              (use == BY_GPU || (local.n_grid_barriers > 0) == (use == ALWAYS)));
        CHECK(grid.n_rolled_back == 0 && (local.n_rolled_back > 0) == (speculates && local.n_rebuilds > 0));
        CHECK(grid.n_rebuilds == local.n_rebuilds && grid.potential == local.potential);
        CHECK(memcmp(places, others, n_places * sizeof *places) == 0);
    }
    md_free(places);
}

/* A place in the box whose last nine bits of 33 (mixed precision) are `low`. */
static double with_low_bits(double x, int low) {
    const float rounded = (float)x;
    return (double)rounded + (low - 256) / 512.0 * ((double)nextafterf(rounded, INFINITY) - (double)rounded);
}

/* Rows of atoms that meet no other, and all move alike along x, in steps that change no bit of y, z, or the last one of x. These
 * stand where a word has the step that its place is of, but for the bit that tells there is one: all four steps occur. The range is so long that bricks stage some on every side. */
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
            system->position[3 * i + k] = with_low_bits((at[k] + 0.25) * apart[k], k < 2 ? i >> k & 1 : 0);
            system->velocity[3 * i + k] = k == 0 ? 0.5 : 0;
        }
    }
    compare_barriers(ops, system, (Blocks){MD_BRICK_CELLS_2, MD_BLOCK_SIZE_1024, MD_THREADS_2, 2}, NEVER);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

/* An atom in each cell, which gives places to bricks beside its own that it takes none from: what is far from one corner of a cell
 * is near the other one. */
static void test_strangers(const MdBackendOps *ops) {
    enum { N = 8 };
    const char *words[] = {"system.density=0.8442", "system.cells=4", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    const double apart = 1.3 * (system->potential.cutoff_max + 0.25);
    system->n_atoms = system->n_own = N;
    for (int k = 0; k < 3; k++) system->box.length[k] = 2 * apart;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            system->position[3 * i + k] = ((i >> k & 1) + 0.25) * apart;
            system->velocity[3 * i + k] = 0;
        }
    compare_barriers(ops, system, (Blocks){MD_BRICK_CELLS_1, MD_BLOCK_SIZE_1024, MD_THREADS_2, 0}, ALWAYS);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

/* The barrier of the grid is used, and counted, where a block has no room for all of its rows, where it has none for all that it stages, where
 * cells are void, and where a GPU has no room for a block for each brick. Not since an axis is open: beyond that there is nobody
 * to wait for; nor since bricks are far from each other. */
static void test_barrier(const MdBackendOps *ops) {
    static const struct {
        const char *density, *cells;
        Blocks blocks;
        BarrierUse use;
        bool is_open;
    } cases[] = {{"system.density=0.8442",
                  "system.cells=6",
                  {MD_BRICK_CELLS_2, MD_BLOCK_SIZE_1024, MD_THREADS_2, 0},
                  NEVER,
                  false},
                 {"system.density=0.8442",
                  "system.cells=6",
                  {MD_BRICK_CELLS_2, MD_BLOCK_SIZE_1024, MD_THREADS_2, 0},
                  NEVER,
                  true},
                 {"system.density=0.8442",
                  "system.cells=6",
                  {MD_BRICK_CELLS_2, MD_BLOCK_SIZE_1024, MD_THREADS_8, 0},
                  ALWAYS,
                  false},
                 {"system.density=0.8442",
                  "system.cells=6",
                  {MD_BRICK_CELLS_1, MD_BLOCK_SIZE_64, MD_THREADS_1, 0},
                  ALWAYS,
                  false},
                 {"system.density=0.075",
                  "system.cells=3",
                  {MD_BRICK_CELLS_2, MD_BLOCK_SIZE_1024, MD_THREADS_2, 0},
                  ALWAYS,
                  false},
                 {"system.density=0.8442",
                  "system.cells=6",
                  {MD_BRICK_CELLS_1, MD_BLOCK_SIZE_1024, MD_THREADS_2, 0},
                  BY_GPU,
                  false},
                 {"system.density=0.8442",
                  "system.cells=11 4 4",
                  {MD_BRICK_CELLS_1, MD_BLOCK_SIZE_128, MD_THREADS_2, 0},
                  NEVER,
                  false}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const char *words[] = {cases[k].density,          cases[k].cells,
                               "system.types=2",          "system.fractions=0.5 0.5",
                               "potential.epsilon=1 0.6", NULL};
        MdDeck *deck = state_deck(words);
        MdSystem *system = state_system(deck);
        if (cases[k].is_open) system->box.periodic[0] = system->box.periodic[2] = false;
        compare_barriers(ops, system, cases[k].blocks, cases[k].use);
        md_system_destroy(system);
        md_deck_destroy(deck);
    }
    test_strangers(ops);
    test_false_marks(ops);
}

int main(void) {
    const MdConfig base = state_config();
    const MdBackendOps *ops = walk_cuda(&base);
    if (!ops) return walk_no_cuda();
    if (walk_wants("unforeseen ahead")) test_unforeseen(ops);
    if (walk_wants("collision")) test_collision(ops);
    if (walk_wants("barrier")) test_barrier(ops);
    return check_finish();
}
