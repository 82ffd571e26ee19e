/* What `auto` becomes, on the cuda backend by size and by what else was asked for, of the switches whose best value hangs on
 * both: nothing runs, a plan is resolved. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "state.h"
#include "system/system.h"
#include "walk.h"

static const MdBackendOps *ops;

/* The configuration that runs, with an fcc crystal of so many cells along the axes (z = 0: there are two), and `more` on
 * top of the words. */
static MdConfig resolved(int x, int y, int z, const char *const *more) {
    char cells[64];
    const char *words[16] = {"system.density=0.8442", cells};
    MdSystemPlan plan;
    MdErrors *errors = md_errors_create();
    snprintf(cells, sizeof cells, z > 0 ? "system.cells=%d %d %d" : "system.cells=%d %d", x, y, z);
    for (int k = 0; more && more[k]; k++) words[2 + k] = more[k];
    MdDeck *deck = state_deck(words);
    MdConfig config = *md_deck_config(deck);
    CHECK(md_system_plan(deck, NULL, &plan, errors) == MD_OK && ops->resolve(&config, &plan, NULL, errors) == MD_OK);
    md_errors_print(errors, stdout);
    md_errors_destroy(errors);
    md_deck_destroy(deck);
    return config;
}

#define RESOLVED(x, y, z, ...) resolved(x, y, z, (const char *const[]){__VA_ARGS__, NULL})

/* That a plan is not resolved, for this reason alone. */
static void check_refused(const char *const *words, const char *why) {
    MdDeck *deck = state_deck(words);
    MdConfig config = *md_deck_config(deck);
    MdErrors *errors = md_errors_create();
    MdSystemPlan plan;
    CHECK(md_system_plan(deck, NULL, &plan, errors) == MD_OK &&
          ops->resolve(&config, &plan, NULL, errors) == MD_ERROR_INPUT);
    CHECK(md_errors_count(errors) == 1 && strstr(md_errors_text(errors, 0), why));
    md_errors_destroy(errors);
    md_deck_destroy(deck);
}

static void test_search(void) {
    const MdConfig few = RESOLVED(5, 5, 5, "force.kernel=list"), many = RESOLVED(60, 60, 60, "force.kernel=list"),
                   brute = RESOLVED(5, 5, 5, "neighbor.search=brute"),
                   atomic = RESOLVED(5, 5, 5, "neighbor.write=atomic"),
                   asked = RESOLVED(60, 60, 60, "neighbor.threads_per_atom=32");
    check_context("neighbor.threads_per_atom");
    CHECK(few.neighbor_threads_per_atom == MD_ROW_THREADS_32);
    CHECK(many.neighbor_threads_per_atom == MD_ROW_THREADS_1);
    CHECK(brute.neighbor_threads_per_atom == MD_ROW_THREADS_1);
    CHECK(atomic.neighbor_threads_per_atom == MD_ROW_THREADS_1);
    /* who asks for it asks for a list that has it */
    CHECK(asked.neighbor_threads_per_atom == MD_ROW_THREADS_32 && asked.force_kernel == MD_KERNEL_LIST);
}

/* Bricks where there is one for most multiprocessors, in two dimensions where there are many; and their skin. */
static void test_bricks(void) {
    const MdConfig many = RESOLVED(60, 60, 60, "neighbor.skin=auto"),
                   few = RESOLVED(20, 20, 0, "system.dimension=2", "system.start=square"),
                   small = RESOLVED(6, 6, 6, "neighbor.skin=auto"),
                   many_double = RESOLVED(60, 60, 60, "run.precision=double"),
                   few_double = RESOLVED(11, 11, 17, "run.precision=double"),
                   rows = RESOLVED(60, 60, 60, "neighbor.skin=auto", "force.kernel=list");
    check_context("force.kernel");
    CHECK(many.force_kernel == MD_KERNEL_BRICK && many_double.force_kernel == MD_KERNEL_BRICK);
    CHECK(few.force_kernel != MD_KERNEL_BRICK && few_double.force_kernel == MD_KERNEL_BRICK);
    CHECK(many.neighbor_skin < rows.neighbor_skin && rows.neighbor_skin < small.neighbor_skin);
}

/* Of the GPU, by what the backend says of it: "..., 132 SMs at ...". */
static int count_multiprocessors(MdMachine *machine) {
    const MdConfig config = state_config();
    MdErrors *errors = md_errors_create();
    int n = 0;
    if (CHECK(ops->probe(&config, NULL, machine, errors) == MD_OK)) {
        const char *at = strstr(machine->details, " SMs");
        while (at && at > machine->details && at[-1] >= '0' && at[-1] <= '9') at--;
        CHECK(at && sscanf(at, "%d SMs", &n) == 1 && n > 0);
    }
    md_errors_destroy(errors);
    return n;
}

static int compute_capability(void) {
    MdMachine machine;
    count_multiprocessors(&machine);
    return machine.compute_capability;
}

/* The search of bricks: by matrices in three dimensions, unless something else was asked for. */
static void test_distances(void) {
    const MdConfig melt = RESOLVED(60, 60, 60, "force.kernel=brick"),
                   thread = RESOLVED(60, 60, 60, "force.kernel=brick", "neighbor.distances=thread"),
                   flat = RESOLVED(200, 100, 0, "system.dimension=2", "system.start=square", "force.kernel=brick"),
                   list = RESOLVED(60, 60, 60, "force.kernel=list");
    check_context("neighbor.distances");
    if (compute_capability() == 90 || compute_capability() == 100) /* of doubles, which are as fast as floats there */
        CHECK(melt.neighbor_distances == MD_DISTANCES_MATRIX);
    else CHECK(melt.neighbor_distances == MD_DISTANCES_THREAD);
    CHECK(thread.neighbor_distances == MD_DISTANCES_THREAD);
    CHECK(flat.neighbor_distances == MD_DISTANCES_THREAD);
    CHECK(list.neighbor_distances == MD_DISTANCES_THREAD);
}

/* A brick for each multiprocessor between two sizes, of enough atoms for that and of no more than were tried, of more cells at
 * some than at the smallest, and the resident kernel; between the larger of them and a third size, two for each. Not in the
 * plane, nor where the resident kernel is ruled out, nor for who named the cells. */
static void test_brick_grid(void) {
    static const char *const ruled_out[][4] = {{"force.kernel=brick", "launch.passes=queue"},
                                               {"force.kernel=brick", "launch.persistent=off"},
                                               {"force.kernel=brick", "launch.graph=on"},
                                               {"force.kernel=brick", "memory.sort=brick", "memory.brick_cells=2"},
                                               {"force.kernel=brick", "memory.sort=brick", "memory.brick_grid=cells"}};
    enum { LEAST = 4, MOST = 48, MOST_TURNS = 4 };
    int turns[MOST_TURNS] = {0}, n_turns = 0, first_cells = -1, most_cells = 0, n_device = LEAST,
        threads = MD_THREADS_8;
    MdMachine machine;
    const int n_sms = count_multiprocessors(&machine);
    check_context("memory.brick_grid");
    for (int n = LEAST; n <= MOST; n += 1 + n / 24) {
        const MdConfig melt = RESOLVED(n, n, n, "force.kernel=brick");
        const int grid = melt.memory_brick_grid;
        if (n_turns == 0 || grid != turns[n_turns - 1]) {
            if (!CHECK(n_turns < MOST_TURNS)) return;
            turns[n_turns++] = grid;
        }
        CHECK(grid == MD_BRICK_GRID_CELLS || melt.launch_persistent == MD_PERSISTENT_ON);
        if (grid != MD_BRICK_GRID_DEVICE) continue;
        if (first_cells < 0) first_cells = melt.memory_brick_cells;
        if (melt.memory_brick_cells > most_cells) most_cells = melt.memory_brick_cells;
        n_device = n;
        CHECK(melt.force_threads_per_atom <= threads);   /* the more rows a block has, the fewer threads each, */
        if (melt.force_threads_per_atom >= MD_THREADS_4) /* and no more than leave each its registers */
            CHECK((4.0 * n * n * n / n_sms) * (1 << melt.force_threads_per_atom) <= 600);
        threads = melt.force_threads_per_atom;
    }
    CHECK(threads < MD_THREADS_8);
    /* The smallest may be too small for any multiprocessor but of the smallest GPUs, and two bricks share what memory there is. */
    const int *turn = turns, capability = machine.compute_capability;
    const bool holds_two = capability == 80 || capability == 90 || capability == 100;
    turn += turn[0] == MD_BRICK_GRID_CELLS;
    if (!CHECK(n_turns >= 2 && *turn++ == MD_BRICK_GRID_DEVICE)) return;
    const bool has_two = *turn == MD_BRICK_GRID_DEVICE_2;
    turn += has_two;
    CHECK((has_two || !holds_two) && *turn == MD_BRICK_GRID_CELLS && turn == turns + n_turns - 1);
    CHECK(first_cells < most_cells);
    const int n = n_device;
    for (size_t k = 0; k < sizeof ruled_out / sizeof ruled_out[0]; k++)
        CHECK(resolved(n, n, n, ruled_out[k]).memory_brick_grid == MD_BRICK_GRID_CELLS);
    const MdConfig named = RESOLVED(n, n, n, "force.kernel=brick", "memory.sort=brick", "memory.brick_grid=device",
                                    "memory.brick_cells=2"),
                   two = RESOLVED(n, n, n, "force.kernel=brick", "memory.sort=brick", "memory.brick_grid=device-2"),
                   large = RESOLVED(n, n, n, "force.kernel=brick", "memory.sort=brick", "memory.brick_grid=device",
                                    "launch.persistent=off"),
                   list = RESOLVED(n, n, n, "force.kernel=list"),
                   flat = RESOLVED(40, 40, 0, "system.dimension=2", "system.start=square", "force.kernel=brick"),
                   plane = RESOLVED(40, 40, 0, "system.dimension=2", "system.start=square", "force.kernel=brick",
                                    "memory.sort=brick", "memory.brick_grid=device");
    CHECK(named.memory_brick_grid == MD_BRICK_GRID_DEVICE && named.memory_brick_cells == MD_BRICK_CELLS_2);
    CHECK(two.memory_brick_grid == MD_BRICK_GRID_DEVICE_2 && two.launch_persistent == MD_PERSISTENT_ON);
    CHECK(large.memory_brick_grid == MD_BRICK_GRID_DEVICE && large.launch_persistent == MD_PERSISTENT_OFF);
    CHECK(list.memory_brick_grid == MD_BRICK_GRID_CELLS && flat.memory_brick_grid == MD_BRICK_GRID_CELLS);
    CHECK(plane.memory_brick_grid == MD_BRICK_GRID_DEVICE);
    check_refused((const char *const[]){"system.density=0.8442", "system.cells=24", "force.kernel=brick",
                                        "memory.sort=brick", "memory.brick_grid=device", "memory.brick_cells=1", NULL},
                  " in 27 cells, and has room for ");
}

/* Blocks of the resident kernel that are ahead of each other, as long as they hold their brick and what it stages: blocks of 64
 * threads do not, nor do those of two dimensions, with half as many threads as rows. With the check of displacements only where one
 * brick a multiprocessor has few threads, or few rows with one each. By the multiprocessors of the GPU: the emulated one, and an
 * H100 or H200. */
static void test_barrier(void) {
    static const struct {
        int n_sms, x, y, z;
        bool every, checked;
    } cases[] = {{4, 5, 5, 5, true, true},        {4, 7, 7, 7, true, true},        {4, 8, 8, 8, false, false},
                 {4, 9, 9, 9, true, false},       {4, 10, 10, 10, true, false},    {4, 35, 35, 0, false, false},
                 {132, 10, 10, 10, true, true},   {132, 20, 20, 20, true, true},   {132, 24, 24, 24, true, false},
                 {132, 26, 26, 26, true, true},   {132, 27, 27, 27, true, true},   {132, 28, 28, 28, true, false},
                 {132, 30, 30, 30, false, false}, {132, 200, 200, 0, false, false}};
    MdMachine machine;
    const int n_sms = count_multiprocessors(&machine);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const int x = cases[k].x, y = cases[k].y, z = cases[k].z;
        const char *dimension = z > 0 ? "system.dimension=3" : "system.dimension=2",
                   *start = z > 0 ? "system.start=fcc" : "system.start=square";
        const MdConfig every = RESOLVED(x, y, z, dimension, start, "neighbor.rebuild=every", "force.kernel=brick"),
                       checked =
                           RESOLVED(x, y, z, dimension, start, "neighbor.rebuild=device-check", "force.kernel=brick"),
                       small = RESOLVED(x, y, z, dimension, start, "neighbor.rebuild=every", "force.kernel=brick",
                                        "launch.block_size=64"),
                       off = RESOLVED(x, y, z, dimension, start, "neighbor.rebuild=every", "force.kernel=brick",
                                      "launch.persistent=off");
        check_context("launch.barrier: %d x %d x %d cells", x, y, z);
        if (cases[k].n_sms != n_sms || machine.compute_capability != 90) continue;
        CHECK(every.launch_persistent == MD_PERSISTENT_ON && checked.launch_persistent == MD_PERSISTENT_ON &&
              small.launch_persistent == MD_PERSISTENT_ON);
        CHECK(small.launch_barrier == MD_BARRIER_GRID && off.launch_barrier == MD_BARRIER_GRID);
        CHECK(every.launch_barrier == (cases[k].every ? MD_BARRIER_LOCAL : MD_BARRIER_GRID));
        CHECK(checked.launch_barrier == (cases[k].checked ? MD_BARRIER_LOCAL : MD_BARRIER_GRID));
    }
}

static void test_fuse(void) {
    const MdConfig few = resolved(5, 5, 5, NULL), energies = RESOLVED(5, 5, 5, "force.energy=every-step"),
                   graph = RESOLVED(5, 5, 5, "launch.graph=on", "force.kernel=list"),
                   bricks = RESOLVED(60, 60, 60, "launch.persistent=auto"),
                   off = RESOLVED(5, 5, 5, "launch.fuse=off", "launch.persistent=auto");
    check_context("launch.fuse");
    CHECK(few.launch_persistent == MD_PERSISTENT_ON && few.launch_fuse == MD_FUSE_STEP);
    CHECK(energies.launch_persistent == MD_PERSISTENT_OFF && energies.launch_fuse == MD_FUSE_ON);
    CHECK(graph.launch_persistent == MD_PERSISTENT_OFF && graph.launch_fuse == MD_FUSE_ON);
    CHECK(bricks.launch_persistent == MD_PERSISTENT_OFF && bricks.launch_fuse == MD_FUSE_STEP);
    CHECK(off.launch_persistent == MD_PERSISTENT_OFF && off.launch_fuse == MD_FUSE_OFF);
}

/* Copies where passes come from a queue, and nothing forbids them. */
static void test_staging(void) {
    if (!walk_gpu_has(ops, 80, "memory.staging=async")) return;
    const MdConfig queued = RESOLVED(60, 60, 60, "launch.passes=queue", "force.kernel=brick"),
                   kernels =
                       RESOLVED(60, 60, 60, "launch.persistent=off", "launch.passes=kernels", "force.kernel=brick"),
                   soa = RESOLVED(60, 60, 60, "launch.passes=queue", "force.kernel=brick", "memory.layout=soa"),
                   ldg = RESOLVED(60, 60, 60, "force.kernel=brick", "memory.load=ldg"),
                   named = RESOLVED(6, 6, 6, "force.kernel=brick", "memory.staging=async");
    check_context("memory.staging");
    CHECK(queued.memory_staging == MD_STAGING_ASYNC && kernels.memory_staging == MD_STAGING_REGISTERS);
    CHECK(soa.launch_passes == MD_PASSES_QUEUE && soa.memory_staging == MD_STAGING_REGISTERS);
    CHECK(ldg.memory_staging == MD_STAGING_REGISTERS && named.memory_staging == MD_STAGING_ASYNC);
}

/* The queue between two sizes, of which the GPU has more bricks than a few and less than very many; where the device checks
 * displacements it begins at the same size and ends at a larger one. It may be asked for in place of a resident kernel. */
static void test_passes(void) {
    static const int sizes[] = {5, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256};
    int n_begins = 0, n_ends[2] = {0}, n_queued[2] = {0};
    bool before[2] = {false};
    check_context("launch.passes");
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const int n = sizes[k];
        const MdConfig by[2] = {RESOLVED(n, n, n, "neighbor.rebuild=every", "force.kernel=brick",
                                         "launch.persistent=off"),
                                RESOLVED(n, n, n, "neighbor.rebuild=device-check", "force.kernel=brick",
                                         "launch.persistent=off")},
                       off = RESOLVED(n, n, n, "neighbor.rebuild=every", "force.kernel=brick", "launch.passes=kernels",
                                      "launch.persistent=off");
        const bool begun = before[0] || before[1];
        for (int checked = 0; checked < 2; checked++) {
            const bool queued = by[checked].launch_passes == MD_PASSES_QUEUE;
            n_queued[checked] += queued;
            n_begins += queued && !begun;
            n_ends[checked] += before[checked] && !queued;
            before[checked] = queued;
            CHECK(by[checked].launch_fuse == MD_FUSE_STEP);
        }
        CHECK(off.launch_passes == MD_PASSES_KERNELS);
    }
    CHECK(n_begins == 2 && n_ends[0] == 1 && n_ends[1] == 1 && n_queued[1] > n_queued[0]);
    const MdConfig few = RESOLVED(5, 5, 5, "neighbor.rebuild=every"),
                   named = RESOLVED(8, 8, 8, "neighbor.rebuild=every", "launch.passes=queue", "force.kernel=brick"),
                   asked = RESOLVED(8, 8, 8, "launch.passes=queue", "force.kernel=brick"),
                   list = RESOLVED(60, 60, 60, "neighbor.rebuild=every", "force.kernel=list", "launch.fuse=step");
    CHECK(asked.launch_passes == MD_PASSES_QUEUE && asked.neighbor_rebuild == MD_REBUILD_DEVICE_CHECK);
    CHECK(few.launch_passes == MD_PASSES_KERNELS && few.launch_persistent == MD_PERSISTENT_ON);
    CHECK(named.launch_passes == MD_PASSES_QUEUE && named.launch_persistent == MD_PERSISTENT_OFF);
    CHECK(named.launch_fuse == MD_FUSE_STEP && named.launch_graph == MD_GRAPH_ON);
    CHECK(list.launch_passes == MD_PASSES_KERNELS);
    check_refused((const char *const[]){"system.density=0.001", "system.cells=160", "neighbor.rebuild=every",
                                        "force.kernel=brick", "memory.sort=brick", "memory.brick_cells=1",
                                        "launch.passes=queue", NULL},
                  "launch.passes=queue: counts to ");
}

/* Places ahead of the atoms where displacements are watched and there is a list; refused where nobody watches. */
static void test_predict(void) {
    const MdConfig watched = resolved(5, 5, 5, NULL), by_host = RESOLVED(5, 5, 5, "neighbor.rebuild=host-check"),
                   by_count = RESOLVED(5, 5, 5, "neighbor.rebuild=every"),
                   all_pairs = RESOLVED(5, 5, 5, "force.kernel=pairs"), off = RESOLVED(5, 5, 5, "neighbor.predict=off");
    check_context("%s: neighbor.predict", ops->name);
    CHECK(watched.neighbor_predict == MD_PREDICT_VELOCITY && by_host.neighbor_predict == MD_PREDICT_VELOCITY);
    CHECK(by_count.neighbor_predict == MD_PREDICT_OFF && all_pairs.neighbor_predict == MD_PREDICT_OFF);
    CHECK(off.neighbor_predict == MD_PREDICT_OFF);
    check_refused((const char *const[]){"system.density=0.8442", "system.cells=5", "neighbor.predict=velocity",
                                        "neighbor.rebuild=every", NULL},
                  "neighbor.predict=velocity: needs neighbor.rebuild=host-check or device-check");
}

/* The skin of the cpu is smaller where lists last longer by themselves. */
static void test_skin(void) {
    const MdConfig ahead = RESOLVED(5, 5, 5, "neighbor.skin=auto"),
                   off = RESOLVED(5, 5, 5, "neighbor.skin=auto", "neighbor.predict=off");
    check_context("%s: neighbor.skin", ops->name);
    CHECK(ahead.neighbor_skin < off.neighbor_skin);
}

int main(void) {
    const MdConfig base = state_config();
    while ((ops = walk_backend(ops, &base)) != NULL) {
        test_predict();
        if (strcmp(ops->name, "cuda") == 0) break;
        test_skin();
    }
    if (!ops) return walk_no_cuda();
    test_search();
    test_bricks();
    test_brick_grid();
    test_distances();
    test_barrier();
    test_fuse();
    test_staging();
    test_passes();
    return check_finish();
}
