/* Bricks in systems that they were not planned for: atoms crowded together in a corner of their box, so that blocks need more
 * room than a uniform system would, and then smaller bricks; atoms that gather, so that they need it on the way; and atoms
 * that spread, so that there are more and more bricks. Rows are held against all pairs, and what each brick stages against what is
 * in range of it. So is the sort of few cells, of other lists as well: with more in a cell than there was room for, and with fewer
 * cells and then more. MDMINI_TEST_SYSTEM as in walk.h: uniform, far, beyond, spreading, many keys, few cells, crowds, gathering, or
 * condensing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "bricks.h"
#include "check.h"
#include "state.h"
#include "store.h"
#include "walk.h"

#ifdef MDMINI_HAVE_CUDA
#include "cuda/stages/stages.h"

static int distances; /* by which search */

static MdConfig brick_config(int cells) { return bricks_config(cells, distances); }

/* More atoms in a block than there was room for: it gets more. */
static void test_room(const MdBackendOps *ops) {
    check_context("more room");
    WalkRun run;
    const MdConfig config = brick_config(MD_BRICK_CELLS_3);
    MdSystem *system = bricks_crowd(13, 1.1, 60);
    if (walk_create(&run, ops, &config, system)) {
        const CudaContext *context = run.context;
        const CudaBricks planned = context->arguments.bricks;
        CHECK(planned.capacity < 800);
        if (walk_ok(&run, ops->update_neighbors(run.context, 0))) {
            CHECK(context->arguments.bricks.capacity > 1000 && context->n_overflows > 0);
            CHECK(context->brick_cells == 3);
            bricks_check_rows(&run, system);
        }
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* More than an entry can tell apart: smaller bricks where that was left open, else an error that says what to take. */
static void test_division(const MdBackendOps *ops, int cells) {
    check_context("smaller bricks, asked for %d", cells);
    WalkRun run;
    const MdConfig config = brick_config(cells);
    MdSystem *system = bricks_crowd(18, 0.8, 120);
    if (walk_create(&run, ops, &config, system)) {
        const CudaContext *context = run.context;
        CHECK(context->brick_cells >= 3);
        const MdStatus status = ops->update_neighbors(run.context, 0);
        if (cells == MD_BRICK_CELLS_AUTO) {
            CHECK(context->brick_cells < 3 && context->n_overflows > 0);
            if (walk_ok(&run, status)) bricks_check_rows(&run, system);
        } else {
            CHECK(status == MD_ERROR_INPUT && strstr(md_errors_text(run.errors, 0), "memory.brick_cells") != NULL);
        }
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* More candidates than a block's table of them has room for: bricks become smaller until they are fewer. They are chosen in the same
 * way for both searches. */
static void test_crowd(const MdBackendOps *ops) {
    check_context("more candidates than a block can choose from");
    WalkRun run;
    const MdConfig config = brick_config(MD_BRICK_CELLS_AUTO);
    MdSystem *system = bricks_crowd(21, 0.5, 120);
    CHECK(system->n_atoms > 8192);
    if (walk_create(&run, ops, &config, system)) {
        const CudaContext *context = run.context;
        CHECK(context->brick_cells >= 3);
        if (walk_ok(&run, ops->update_neighbors(run.context, 0))) {
            CHECK(context->brick_cells == 1);
            bricks_check_rows(&run, system);
        }
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* A liquid that fills its box, and so do its bricks. Rows by matrices are read with few conflicts of banks. */
static void test_uniform(const MdBackendOps *ops) {
    check_context("uniform, neighbor.distances=%d", distances);
    static const int cells[] = {MD_BRICK_CELLS_1, MD_BRICK_CELLS_2, MD_BRICK_CELLS_3};
    MdSystem *system = bricks_crowd(11, 1.06, 11 * 1.06);
    for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++) {
        WalkRun run;
        const MdConfig config = brick_config(cells[k]);
        if (!walk_create(&run, ops, &config, system)) continue;
        if (walk_ok(&run, ops->update_neighbors(run.context, 0)) && bricks_check_rows(&run, system)) {
            const double turns = bricks_read_turns(run.context); /* eight at random: 2.6 */
            CHECK(distances == MD_DISTANCES_MATRIX ? turns < 1.5 : turns > 2.4 && turns < 2.9);
        }
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* A bar of five bricks so far from the origin that single precision has places in steps of an eighth, and corners of bricks only
 * nearly. Pairs that are 22 of these apart are in range, and would not be if it were shorter by a fifth of one, which is how much
 * corners may be off: one inner brick of a bar of 114 ends that much below its last atoms, and one of 111 as much above those of the
 * next. */
static void test_far(const MdBackendOps *ops, int axis, int length) {
    check_context("far from the origin, axis %d, length %d, neighbor.distances=%d", axis, length, distances);
    const double far = 0x1p20, whole = 0x1p-3;
    WalkRun run;
    MdConfig config = brick_config(MD_BRICK_CELLS_1);
    MdSystem *system = bricks_crowd(11, 1, 20);
    config.neighbor_skin = 22 * whole + 0.01 - system->potential.cutoff_max;
    for (int a = 0; a < 3; a++) system->box.periodic[a] = false;
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) {
        const double last = k % 3 == axis ? length : 8, part = 0.5 + 0.5 * sin(12.9898 * (double)(k * k % 7919));
        system->position[k] = far + whole * (k < 3 ? 0 : k < 6 ? last : nearbyint(last * part));
    }
    if (walk_create(&run, ops, &config, system)) {
        const CudaContext *context = run.context;
        if (walk_ok(&run, ops->update_neighbors(run.context, 0))) {
            CHECK(context->arguments.grid.n_bricks[axis] == 5);
            bricks_check_rows(&run, system);
        }
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* Rows of so many that a thread puts down what it has found before it has found all. */
static void test_long_rows(const MdBackendOps *ops) {
    check_context("long rows, neighbor.distances=%d", distances);
    WalkRun run;
    const MdConfig config = brick_config(MD_BRICK_CELLS_3);
    MdSystem *system = bricks_crowd(12, 0.5, 40);
    if (walk_create(&run, ops, &config, system)) {
        const CudaContext *context = run.context;
        if (walk_ok(&run, ops->update_neighbors(run.context, 0)) &&
            bricks_check_rows(&run, system)) /* 32 words of 32 atoms */
            CHECK(context->arguments.list.capacity > 600);
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* Everything falls towards the middle, where a block comes to stage more than there is room for, with room in rows for all:
 * nobody waits for a build, unless memory is allocated for each, and the motion is the same. */
static int64_t gather_atoms(const MdBackendOps *ops, int allocation, double *places) {
    WalkRun run;
    MdConfig config = brick_config(MD_BRICK_CELLS_3);
    MdSystem *system = bricks_crowd(10, 2, 20);
    int64_t at_first = 0, n_overflows = -1;
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) system->velocity[k] = 8 - 0.8 * system->position[k];
    config.memory_allocation = allocation;
    config.neighbor_capacity = (int)system->n_atoms;
    config.neighbor_rebuild = MD_REBUILD_EVERY;
    config.neighbor_every = 3;
    if (walk_create(&run, ops, &config, system)) {
        const CudaContext *context = run.context;
        MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .position = places};
        if (walk_prepare(&run)) {
            at_first = context->n_overflows;
            if (walk_steps(&run, 1, 150) && walk_ok(&run, ops->gather(run.context, &frame)))
                n_overflows = context->n_overflows - at_first;
        }
        walk_destroy(&run);
    }
    md_system_destroy(system);
    return n_overflows;
}

static void test_gathering(const MdBackendOps *ops) {
    check_context("gathering, neighbor.distances=%d", distances);
    enum { N = 3 * 10 * 10 * 10 };
    double *places = md_alloc(2 * N, sizeof *places, "positions");
    CHECK(gather_atoms(ops, MD_ALLOCATION_PER_CALL, places) > 0);
    CHECK(gather_atoms(ops, MD_ALLOCATION_ONCE, places + N) > 0);
    CHECK(memcmp(places, places + N, N * sizeof *places) == 0);
    md_free(places);
}

/* A hot drop in the open: bricks become many times as many as at the start, and rows stay right, which are those of atoms
 * a bit ahead. */
static void test_spreading(const MdBackendOps *ops) {
    check_context("spreading, neighbor.distances=%d", distances);
    WalkRun run;
    MdConfig config = brick_config(MD_BRICK_CELLS_2);
    config.run_timestep = 0.004;
    MdSystem *system = bricks_crowd(8, 1.1, 9);
    for (int a = 0; a < 3; a++) system->box.periodic[a] = false;
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) system->velocity[k] = 8 * (system->position[k] / 4.5 - 1);
    if (walk_create(&run, ops, &config, system)) {
        CudaContext *context = run.context;
        if (walk_prepare(&run)) {
            CHECK(context->arguments.grid.n[0] == 2); /* what is beyond one open face is not what is at the other */
            bricks_check_rows(&run, system);
            const int64_t at_first = cuda_brick_count(&context->arguments.grid);
            double *places = md_alloc(3 * (size_t)system->n_atoms, sizeof *places, "positions");
            MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .position = places};
            if (walk_steps(&run, 1, 400) && walk_ok(&run, ops->rebuild(run.context)) &&
                walk_ok(&run, ops->gather(run.context, &frame))) {
                memcpy(system->position, places, 3 * (size_t)system->n_atoms * sizeof *places);
                CHECK(cuda_brick_count(&context->arguments.grid) > 4 * at_first);
                const double longest = bricks_move_to_places(context, system), half_skin = run.config.neighbor_skin / 2;
                CHECK(longest > 0.01 * half_skin && longest < 0.9001 * half_skin);
                bricks_check_rows(&run, system);
            }
            md_free(places);
        }
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* A block of atoms that is torn in two: the outermost layers of both halves are to be far beyond the faces that were measured, and
 * bricks there stage what is in range of such places. */
static void test_beyond(const MdBackendOps *ops, double skin) {
    enum { N_BUILDS = 4, MOST = 40 };
    check_context("beyond open faces, neighbor.skin=%g, neighbor.distances=%d", skin, distances);
    WalkRun run;
    MdConfig config = brick_config(MD_BRICK_CELLS_1);
    config.neighbor_predict = MD_PREDICT_VELOCITY;
    config.neighbor_skin = skin;
    config.run_timestep = 0.004;
    MdSystem *system = bricks_crowd(13, 1.1, 20);
    for (int a = 0; a < 3; a++) system->box.periodic[a] = false;
    for (int64_t k = 0; k < 3 * system->n_atoms; k++)
        system->velocity[k] = k % 3 == 0 ? copysign(90, system->position[k] - 7) : 0;
    if (walk_create(&run, ops, &config, system)) {
        double *places = md_alloc(3 * (size_t)system->n_atoms, sizeof *places, "positions");
        MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .position = places};
        const CudaContext *context = run.context;
        bool goes_on = walk_prepare(&run);
        for (int step = 1; goes_on && step < MOST && context->n_builds < N_BUILDS; step++)
            goes_on = walk_steps(&run, step, 1) && walk_ok(&run, ops->finish(run.context));
        if (goes_on && walk_ok(&run, ops->gather(run.context, &frame))) {
            memcpy(system->position, places, 3 * (size_t)system->n_atoms * sizeof *places);
            CHECK(bricks_move_to_places(run.context, system) > 0.8 * skin / 2);
            bricks_check_rows(&run, system);
        }
        md_free(places);
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* A hot cloud that draws together, until a block would stage more than an entry can tell apart, or sooner where the GPU has less
 * shared memory: in the midst of the motion bricks become smaller, and rows stay right, which are those of atoms ahead of where they are. */
static void test_condensing(const MdBackendOps *ops) {
    enum { PIECE = 1, MOST = 120 };
    check_context("condensing, neighbor.distances=%d", distances);
    WalkRun run;
    MdConfig config = brick_config(MD_BRICK_CELLS_AUTO);
    config.neighbor_predict = MD_PREDICT_VELOCITY;
    config.run_timestep = 0.004;
    MdSystem *system = bricks_crowd(18, 1.6, 120);
    for (int64_t k = 0; k < 3 * system->n_atoms; k++)
        system->velocity[k] = 1.2 * (14.4 - system->position[k]) + 4 * sin(78.233 * (double)k);
    if (walk_create(&run, ops, &config, system)) {
        CudaContext *context = run.context;
        double *places = md_alloc(3 * (size_t)system->n_atoms, sizeof *places, "positions");
        MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .position = places};
        bool goes_on = walk_prepare(&run);
        const int at_first = context->brick_cells;
        for (int step = 1; goes_on && step < MOST && context->brick_cells == at_first; step += PIECE)
            goes_on = walk_steps(&run, step, PIECE) && walk_ok(&run, ops->finish(run.context));
        const bool is_roomy = cuda_device_shared_bytes() > 4 * (int)sizeof(double) * CUDA_MAX_STAGED;
        CHECK(!is_roomy || (at_first > 3 && context->brick_cells < at_first && context->n_builds > 4));
        if (goes_on && walk_ok(&run, ops->gather(run.context, &frame))) {
            memcpy(system->position, places, 3 * (size_t)system->n_atoms * sizeof *places);
            CHECK(bricks_move_to_places(context, system) > 0.01 * run.config.neighbor_skin);
            bricks_check_rows(&run, system);
        }
        md_free(places);
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

static int most_in_corner(const CudaContext *context, const MdSystem *system) {
    const double edge = context->arguments.grid.edge[0];
    int crowd = 0;
    for (int64_t i = 0; i < system->n_atoms; i++) {
        const double *x = &system->position[3 * i];
        crowd += x[0] < edge && x[1] < edge && x[2] < edge;
    }
    return crowd;
}

/* Cells of more atoms than the memory of the list has room for their keys, before that is made larger: see few cells in sort.c. */
static void test_many_keys(const MdBackendOps *ops, const MdConfig *config) {
    check_context("many keys in a cell, force.kernel=%d, memory.sort=%d, neighbor.distances=%d", config->force_kernel,
                  config->memory_sort, distances);
    WalkRun run;
    MdSystem *system = bricks_crowd(11, 0.7, 20);
    if (walk_create(&run, ops, config, system)) {
        const CudaContext *context = run.context;
        if (walk_ok(&run, ops->update_neighbors(run.context, 0))) {
            CHECK(context->few_keys > 0 && most_in_corner(context, system) > context->few_keys);
            if (context->facts.has_bricks) bricks_check_rows(&run, system);
            else bricks_check_list(&run, system);
        }
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

static MdConfig list_config(int sort) {
    MdConfig config = state_config();
    config.force_kernel = MD_KERNEL_LIST;
    config.memory_sort = sort;
    return config;
}

/* Keys of bricks are of 64 bits, others of 32. */
static void test_keys(const MdBackendOps *ops) {
    MdConfig of_bricks = brick_config(MD_BRICK_CELLS_1), of_cells = list_config(MD_SORT_CELL),
             of_numbers = list_config(MD_SORT_NONE);
    of_bricks.neighbor_capacity = 24;
    of_cells.neighbor_capacity = of_numbers.neighbor_capacity = 8;
    test_many_keys(ops, &of_bricks);
    if (distances != MD_DISTANCES_THREAD) return;
    test_many_keys(ops, &of_cells);
    test_many_keys(ops, &of_numbers);
}

/* A drop in a void: of its cells a sort finds that they are crowded, and the next one goes another way. */
static void test_drop(const MdBackendOps *ops) {
    check_context("a drop in a void, neighbor.distances=%d", distances);
    enum { BUILDS = 4 };
    WalkRun run;
    const MdConfig config = brick_config(MD_BRICK_CELLS_1);
    MdSystem *system = bricks_crowd(11, 0.7, 44);
    if (walk_create(&run, ops, &config, system)) {
        const CudaContext *context = run.context;
        int n_crowded = 0, n_after = 0;
        for (int build = 0; build < BUILDS; build++) {
            if (!walk_ok(&run, build == 0 ? ops->update_neighbors(run.context, 0) : ops->rebuild(run.context))) break;
            const bool is_crowded = context->few_keys > 0 && most_in_corner(context, system) > context->few_keys;
            n_after += n_crowded > 0;
            n_crowded += is_crowded;
            if (is_crowded) CHECK(context->h_host_status->largest_cell > context->few_keys);
            bricks_check_rows(&run, system);
        }
        CHECK(n_crowded == 1 && n_after > 0 && context->few_keys == 0);
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* An atom that passes a block of others, in the open: at first the box that holds all becomes shorter, and there are fewer cells,
 * and then it becomes longer. The block is in the last row of cells, so that counts that were left behind would be there. */
static void test_passing(const MdBackendOps *ops) {
    check_context("one passes by");
    enum { N_STEPS = 180, PIECE = 12 };
    WalkRun run;
    MdConfig config = list_config(MD_SORT_CELL);
    config.neighbor_rebuild = MD_REBUILD_EVERY;
    config.neighbor_every = 3;
    config.neighbor_skin = 3;
    config.run_timestep = 0.004;
    MdSystem *system = bricks_crowd(6, 1.1, 20);
    for (int a = 0; a < 3; a++) system->box.periodic[a] = false;
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) system->velocity[k] = 0;
    memcpy(system->position, (const double[]){-30, -8, 0}, 3 * sizeof(double));
    system->velocity[0] = 100;
    double *places = md_alloc(3 * (size_t)system->n_atoms, sizeof *places, "positions");
    if (walk_create(&run, ops, &config, system)) {
        const CudaContext *context = run.context;
        MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .position = places};
        bool goes_on = walk_prepare(&run);
        const int at_first = cuda_sort_count_cells(&context->arguments.grid);
        int least = at_first;
        for (int step = 1; goes_on && step <= N_STEPS; step += PIECE) {
            goes_on = walk_steps(&run, step, PIECE) && walk_ok(&run, ops->rebuild(run.context)) &&
                      walk_ok(&run, ops->gather(run.context, &frame));
            if (!goes_on) break;
            memcpy(system->position, places, 3 * (size_t)system->n_atoms * sizeof *places);
            CHECK(context->few_keys > 0);
            bricks_check_list(&run, system);
            const int n_cells = cuda_sort_count_cells(&context->arguments.grid);
            if (n_cells < least) least = n_cells;
        }
        CHECK(2 * least < at_first && 2 * least < cuda_sort_count_cells(&context->arguments.grid));
        walk_destroy(&run);
    }
    md_free(places);
    md_system_destroy(system);
}

static void test_crowds(const MdBackendOps *ops) {
    test_room(ops);
    test_division(ops, MD_BRICK_CELLS_AUTO);
    test_division(ops, MD_BRICK_CELLS_3);
    test_long_rows(ops);
    if (distances == MD_DISTANCES_THREAD) test_crowd(ops);
}

int main(void) {
    MdConfig config = state_config();
    const MdBackendOps *ops = walk_cuda(&config);
    if (!ops) return walk_no_cuda();
    const bool has_matrices = walk_gpu_has(ops, 90, "neighbor.distances=matrix");
    for (distances = MD_DISTANCES_THREAD; distances <= (has_matrices ? MD_DISTANCES_MATRIX : MD_DISTANCES_THREAD);
         distances++) {
        if (walk_wants("uniform")) test_uniform(ops);
        for (int axis = 0; axis < 3; axis++)
            if (walk_wants("far")) test_far(ops, axis, 114), test_far(ops, axis, 111);
        if (walk_wants("beyond")) test_beyond(ops, 3.2);
        if (walk_wants("beyond")) test_beyond(ops, 3.6);
        if (walk_wants("spreading")) test_spreading(ops);
        if (walk_wants("many keys")) test_keys(ops);
        if (walk_wants("few cells")) test_drop(ops);
        if (walk_wants("crowds")) test_crowds(ops);
        if (walk_wants("gathering")) test_gathering(ops);
        if (walk_wants("condensing")) test_condensing(ops);
    }
    distances = MD_DISTANCES_THREAD;
    if (walk_wants("few cells")) test_passing(ops);
    return check_finish();
}
#else
int main(void) { return walk_no_cuda(); }
#endif
