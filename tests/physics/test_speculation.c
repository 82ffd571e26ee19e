/* Atoms of a cuda backend that become too fast while its blocks are at different steps: the first one is reported, also where passes
 * are replayed since the list lasted shorter than speculated. MDMINI_TEST_SYSTEM as in walk.h: leapers, or speculation. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "state.h"
#include "walk.h"
#include "way.h"

/* --- faults of several atoms ------------------------------------------------------------------------------------------ */

/* Rows of atoms along x, of which in each layer one leaps towards the next in its row: when a leap lands upon that, both fail
 * in the step after it. Nobody else meets anybody. */
enum { ROW = 4, LAYERS = 16, N_IN_ROWS = ROW * ROW * LAYERS, SHORT_STEPS = 8, LONG_STEPS = 64 };

/* Places and box of such rows, with all at rest; `more` atoms behind them are left for others to place. */
static MdSystem *system_of_rows(int more) {
    const char *words[] = {"system.density=0.8442", "system.cells=4 4 5", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    const double apart = system->potential.cutoff_max + 0.1;
    CHECK(system->n_atoms >= N_IN_ROWS + more);
    system->n_atoms = system->n_own = N_IN_ROWS + more;
    for (int k = 0; k < 3; k++) system->box.length[k] = (k == 2 ? LAYERS : ROW) * apart;
    for (int i = 0; i < system->n_atoms; i++) {
        const int at[3] = {i % ROW, i / ROW % ROW, i / ROW / ROW};
        for (int k = 0; k < 3; k++) {
            system->position[3 * i + k] = (at[k] + 0.25) * apart;
            system->velocity[3 * i + k] = 0;
        }
    }
    md_deck_destroy(deck);
    return system;
}

/* Of such rows: from each brick atoms of all around it are in range, so that no barrier of the grid is needed. */
static MdConfig config_of_rows(Way way, int barrier) {
    MdConfig config = state_config();
    config.run_precision = MD_PRECISION_MIXED;
    config.neighbor_skin = 2.1;
    config.force_kernel = MD_KERNEL_BRICK;
    config.force_threads_per_atom = MD_THREADS_2;
    config.memory_brick_cells = MD_BRICK_CELLS_1;
    config.launch_block_size = MD_BLOCK_SIZE_64;
    way_take(&config, way);
    config.launch_barrier = barrier;
    return config;
}

static int leaper_of(int layer) { return (layer * ROW + layer * 3 % ROW) * ROW; }

/* fails: the step in which that of each layer does. */
static MdSystem *system_of_leapers(const int fails[LAYERS]) {
    MdSystem *system = system_of_rows(0);
    const double leap = 0.5;
    const MdConfig config = state_config();
    CHECK(leap < md_fault_distance(&config, &system->potential));
    for (int layer = 0; layer < LAYERS; layer++) {
        const int i = leaper_of(layer);
        system->position[3 * i] = system->position[3 * (i + 1)] - 0.45 - leap * (fails[layer] - 1);
        system->velocity[3 * i] = leap / state_config().run_timestep;
    }
    return system;
}

typedef struct LeapWay {
    Way way;
    int barrier;
} LeapWay;

/* Nobody looks before the end, when all have failed. The first batch ends with a drift, before a build; others use the barrier of the
 * grid, also with launch.barrier = local. */
static MdFault fault_of_leapers(const MdBackendOps *ops, const MdSystem *system, const LeapWay *by, int n_steps) {
    MdConfig config = config_of_rows(by->way, by->barrier);
    MdStatistics statistics = {0};
    WalkRun run;
    config.neighbor_rebuild = MD_REBUILD_EVERY;
    config.neighbor_every = n_steps;
    if (!walk_create(&run, ops, &config, system)) return (MdFault){.step = -1};
    CHECK(walk_prepare(&run) && walk_quiet_steps(&run, 1, n_steps + 8) && walk_ok(&run, ops->finish(run.context)));
    const MdFault fault = ops->fault(run.context);
    ops->statistics(run.context, &statistics);
    CHECK(statistics.n_grid_barriers == 0);
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

/* --- how long a list is to last -------------------------------------------------------------------------------------- */

/* Atoms at rest, and some pairs, each between four rows of them, by which it is hardly felt: towards each other, or apart, so far a
 * step. Of pairs that are given a delay the atoms begin as much further from each other. */
enum { N_PAIRS = 4 };

static MdSystem *system_of_pairs(double gap, double speed, double timestep, double delay) {
    static const int delays[N_PAIRS] = {1, 0, 2, 0};
    MdSystem *system = system_of_rows(2 * N_PAIRS);
    const double *length = system->box.length;
    for (int i = N_IN_ROWS; i < system->n_atoms; i++) {
        const int pair = (i - N_IN_ROWS) / 2, side = i % 2 ? 1 : -1;
        for (int k = 0; k < 2; k++) system->position[3 * i + k] = (pair + 0.75) * length[k] / ROW;
        system->position[3 * i + 2] = length[2] / 2 + side * (gap / 2 + delays[pair] * delay);
        system->velocity[3 * i + 2] = -side * speed / timestep;
    }
    return system;
}

static bool create_run_of_pairs(const MdBackendOps *ops, const MdSystem *system, int precision, double timestep,
                                int barrier, WalkRun *run) {
    MdConfig config = config_of_rows((Way){MD_GRAPH_OFF, MD_PERSISTENT_ON, MD_FUSE_STEP, MD_PASSES_KERNELS}, barrier);
    config.run_precision = precision;
    config.run_timestep = timestep;
    config.neighbor_rebuild = MD_REBUILD_DEVICE_CHECK;
    config.neighbor_predict = MD_PREDICT_OFF;
    /* Too weak to be felt, but for the heat. */
    config.ensemble_thermostat = MD_THERMOSTAT_LANGEVIN;
    config.ensemble_target = (MdRealList){.n = 1, .values = {1e-10}};
    config.ensemble_friction = 1e-6 / timestep;
    return walk_create(run, ops, &config, system) && CHECK(walk_prepare(run));
}

/* Lists of twelve steps, of six, again of twelve and again of six: the first one of six lasts shorter than speculated, and none after
 * it. */
static void test_steady(const MdBackendOps *ops) {
    static const struct {
        int n_steps;
        double factor; /* of velocities, before */
    } phases[] = {{60, 1}, {20, 2}, {50, 0.5}, {26, 2}};
    const double timestep = 0.0005, half_skin = 1.05;
    MdSystem *system = system_of_pairs(3, -half_skin / 11.5, timestep, 0);
    MdStatistics statistics = {0};
    WalkRun run;
    int step = 1;
    check_context("speculation: steady");
    if (create_run_of_pairs(ops, system, MD_PRECISION_MIXED, timestep, MD_BARRIER_LOCAL, &run)) {
        for (size_t k = 0; k < sizeof phases / sizeof phases[0]; step += phases[k++].n_steps) {
            CHECK(walk_ok(&run, ops->scale_velocities(run.context, phases[k].factor, walk_no_shift)) &&
                  walk_quiet_steps(&run, step, phases[k].n_steps) && walk_ok(&run, ops->finish(run.context)));
            ops->statistics(run.context, &statistics);
            if (!CHECK(statistics.n_rolled_back == (k > 0)))
                printf("speculation: phase %zu, %lld again\n", k, (long long)statistics.n_rolled_back);
        }
        printf("speculation: %lld lists\n", (long long)statistics.n_rebuilds);
        CHECK(statistics.n_rebuilds >= 14 && statistics.n_grid_barriers == 0 && ops->fault(run.context).step < 0);
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* Slow, until a list has had to go, so that the next one is to last as long; then the same atoms so many times as fast, the other
 * way round if that is negative. In the end atoms of a pair come towards each other, and one more along x, if it has a speed,
 * to where those of the first pair will meet. */
typedef struct Turn {
    double timestep, gap, speed; /* of each in the end, a step */
    double factor, delay;
    double runner_gap, runner_speed;
    double first_nearer; /* than the others, the atoms of the first pair to where they meet */
    int n_slow, n_fast, n_rolled_back, n_rebuilds;
    int fault; /* the fast step in which the first pair does; 0: none */
} Turn;

typedef struct {
    MdFault fault;
    int64_t n_rebuilds, n_rolled_back;
    double heat;
} TurnEnd;

/* piece: steps before somebody looks; places: in the end. */
static TurnEnd end_of_turn(const MdBackendOps *ops, const MdSystem *system, const Turn *turn, int precision, int piece,
                           int barrier, double *places) {
    MdStatistics slow = {0}, fast = {0};
    TurnEnd end = {.fault = {.step = -1}, .n_rebuilds = -1};
    MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .position = places};
    WalkRun run;
    if (!create_run_of_pairs(ops, system, precision, turn->timestep, barrier, &run)) return end;
    CHECK(walk_quiet_steps(&run, 1, turn->n_slow) && walk_ok(&run, ops->finish(run.context)));
    ops->statistics(run.context, &slow);
    CHECK(slow.n_rebuilds == 1 && slow.n_rolled_back == 0);
    CHECK(walk_ok(&run, ops->scale_velocities(run.context, turn->factor, walk_no_shift)));
    for (int step = 1; step <= turn->n_fast; step += piece)
        CHECK(walk_quiet_steps(&run, turn->n_slow + step, piece) && walk_ok(&run, ops->gather(run.context, &frame)));
    MdSums sums = {0};
    CHECK(walk_ok(&run, ops->finish(run.context)) && walk_ok(&run, ops->sum(run.context, &sums)));
    end.heat = sums.heat;
    end.fault = ops->fault(run.context);
    ops->statistics(run.context, &fast);
    CHECK(fast.n_grid_barriers == 0);
    end.n_rebuilds = fast.n_rebuilds - slow.n_rebuilds;
    end.n_rolled_back = fast.n_rolled_back;
    walk_destroy(&run);
    return end;
}

static MdSystem *system_of_turn(const Turn *turn) {
    MdSystem *system = system_of_pairs(turn->gap, turn->speed / turn->factor, turn->timestep, turn->delay);
    if (turn->runner_speed == 0) return system;
    system->position[3 * N_IN_ROWS + 2] += turn->first_nearer;
    system->position[3 * N_IN_ROWS + 5] -= turn->first_nearer;
    const double *met = system->position + 3 * (size_t)N_IN_ROWS;
    double *position = system->position + 3 * (size_t)system->n_atoms,
           *velocity = system->velocity + 3 * (size_t)system->n_atoms;
    system->n_atoms++; /* it was made of more */
    position[0] = met[0] + turn->runner_gap;
    position[1] = met[1];
    position[2] = system->box.length[2] / 2;
    velocity[0] = -turn->runner_speed / turn->factor / turn->timestep;
    velocity[1] = velocity[2] = 0;
    return system;
}

static void compare_turn(const MdBackendOps *ops, const Turn *turn, int precision, int piece) {
    MdSystem *system = system_of_turn(turn);
    const size_t n = 3 * (size_t)system->n_atoms;
    double *places = md_alloc(2 * n, sizeof *places, "positions"), *others = places + n;
    check_context("speculation: gap %g, factor %g, precision %s, pieces of %d", turn->gap, turn->factor,
                  md_switch_words(MD_OPTION_run_precision)[precision], piece);
    const TurnEnd grid = end_of_turn(ops, system, turn, precision, piece, MD_BARRIER_GRID, places),
                  local = end_of_turn(ops, system, turn, precision, piece, MD_BARRIER_LOCAL, others);
    CHECK(grid.fault.step == (turn->fault > 0 ? turn->n_slow + turn->fault : -1));
    CHECK(turn->fault == 0 || grid.fault.id == N_IN_ROWS + 2); /* of two without delay */
    CHECK(grid.n_rebuilds == turn->n_rebuilds && grid.n_rolled_back == 0);
    CHECK(local.n_rebuilds == grid.n_rebuilds && (piece < turn->n_fast || local.n_rolled_back == turn->n_rolled_back));
    CHECK(local.fault.step == grid.fault.step && local.fault.id == grid.fault.id);
    CHECK(memcmp(&local.fault.displacement, &grid.fault.displacement, sizeof grid.fault.displacement) == 0);
    CHECK(turn->fault > 0 || (local.heat == grid.heat && grid.heat != 0)); /* that of steps made again counts once */
    /* In pieces the host may see the fault before it issues the next step, which is then not made. */
    if (turn->fault == 0 || piece == turn->n_fast) CHECK(memcmp(places, others, n * sizeof *places) == 0);
    md_free(places);
    md_system_destroy(system);
}

/* The list lasts as long as speculated, or not, and pairs fault before all blocks wait for all: that counts, or is of steps that are made
 * again, and told when it comes again. Those of the third turn are too far for the list for a while, and back again when
 * blocks wait. In the fourth all pairs fault in the same step, but the first one only as long as nobody sees who comes between its atoms,
 * of whom the old list does not know: that is not told, though its ids are the smallest; nor in the last turn, where no other pair
 * faults, when later passes are known to count. */
static void test_turns(const MdBackendOps *ops) {
    static const Turn turns[] = {{.timestep = 0.0005,
                                  .gap = 3.675,
                                  .speed = 0.15,
                                  .factor = 8,
                                  .delay = 0.15,
                                  .n_slow = 58,
                                  .n_fast = 12,
                                  .fault = 5},
                                 {.timestep = 0.0005,
                                  .gap = 1.425,
                                  .speed = 0.15,
                                  .factor = -8,
                                  .delay = 0.15,
                                  .n_slow = 58,
                                  .n_fast = 24,
                                  .n_rolled_back = 1,
                                  .n_rebuilds = 1,
                                  .fault = 12},
                                 {.timestep = 0.005,
                                  .gap = 1.5,
                                  .speed = 0.05,
                                  .factor = -2,
                                  .n_slow = 44,
                                  .n_fast = 48,
                                  .n_rolled_back = 1,
                                  .n_rebuilds = 1},
                                 {.timestep = 0.005,
                                  .gap = 5.0525,
                                  .speed = 0.13,
                                  .factor = 8,
                                  .runner_gap = 6.0725,
                                  .runner_speed = 0.34,
                                  .n_slow = 27,
                                  .n_fast = 24,
                                  .n_rolled_back = 2,
                                  .n_rebuilds = 3,
                                  .fault = 15},
                                 {.timestep = 0.005,
                                  .gap = 9.0525,
                                  .speed = 0.13,
                                  .factor = 8,
                                  .runner_gap = 6.0725,
                                  .runner_speed = 0.34,
                                  .first_nearer = 2,
                                  .n_slow = 27,
                                  .n_fast = 24,
                                  .n_rolled_back = 2,
                                  .n_rebuilds = 5}};
    for (size_t k = 0; k < sizeof turns / sizeof turns[0]; k++) {
        compare_turn(ops, &turns[k], MD_PRECISION_MIXED, turns[k].n_fast);
        compare_turn(ops, &turns[k], MD_PRECISION_SINGLE, turns[k].n_fast);
        for (int piece = 2; piece <= 4; piece++) compare_turn(ops, &turns[k], MD_PRECISION_MIXED, piece);
    }
    test_steady(ops);
}

int main(void) {
    const MdConfig base = state_config();
    const MdBackendOps *ops = walk_cuda(&base);
    if (!ops) return walk_no_cuda();
    if (walk_wants("leapers")) test_leapers(ops);
    if (walk_wants("speculation")) test_turns(ops);
    return check_finish();
}
