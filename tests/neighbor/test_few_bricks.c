/* memory.brick_grid = device, device-2: few bricks, of long cells, in systems that suit them and in such that do not, so that there
 * come to be as many as cells make. Rows are held against all pairs, and what each brick stages against what is in range of it.
 * MDMINI_TEST_SYSTEM as in walk.h: device, or device condensing. */
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

static const struct {
    int brick_grid, on_each; /* bricks for each multiprocessor */
    const char *word;
} device_grids[] = {{MD_BRICK_GRID_DEVICE, 1, "device"}, {MD_BRICK_GRID_DEVICE_2, 2, "device-2"}};
enum { N_DEVICE_GRIDS = sizeof device_grids / sizeof device_grids[0] };

static MdConfig device_config(int cells, int grid) {
    MdConfig config = bricks_config(cells, distances);
    config.memory_brick_grid = device_grids[grid].brick_grid;
    return config;
}

/* From here on as if this brick_grid, and its cells, were what auto took: then bricks may become others. */
static void leave_open(CudaContext *context) {
    context->asked.memory_brick_grid = MD_BRICK_GRID_AUTO;
    context->asked.memory_brick_cells = MD_BRICK_CELLS_AUTO;
}

static void check_grid(const CudaContext *context, int of) {
    const CudaGrid *grid = &context->arguments.grid;
    CHECK(context->brick_grid == device_grids[of].brick_grid &&
          cuda_brick_count(grid) <= device_grids[of].on_each * context->n_sms);
    for (int a = 0; a < context->box.dimension; a++) {
        CHECK(grid->n[a] * context->range <= grid->n[a] * grid->n[a] / grid->inverse_edge[a]);
        CHECK(grid->n_bricks[a] >= 1 && grid->n[a] <= grid->n_bricks[a] * context->brick_cells);
    }
}

/* No more bricks than multiprocessors, or twice as many, of cells that are long enough, in boxes of all shapes, in the plane, and in the open. */
static void test_device_grid(const MdBackendOps *ops) {
    static const int cells[] = {MD_BRICK_CELLS_2, MD_BRICK_CELLS_3, MD_BRICK_CELLS_AUTO};
    static const StateShape shapes[] = {
        {3, 500, 0.80, 0.12, 2.5, 0.3, {true, true, true}, false, 1, MD_SHIFT_ENERGY, 31},
        {3, 900, 0.70, 0.12, 2.5, 0.3, {true, false, true}, true, 1, MD_SHIFT_ENERGY, 32},
        {3, 1200, 0.10, 0.20, 2.5, 0.3, {false, false, false}, false, 1, MD_SHIFT_ENERGY, 33},
        {2, 1500, 0.40, 0.20, 2.5, 0.3, {true, false, false}, false, 1, MD_SHIFT_ENERGY, 34}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        if (shapes[s].dimension == 2 && distances == MD_DISTANCES_MATRIX) continue;
        MdSystem *system = state_shaken(&shapes[s]);
        enum { N_CELLS = sizeof cells / sizeof cells[0] };
        for (int k = 0; k < N_CELLS * N_DEVICE_GRIDS; k++) {
            WalkRun run;
            const int grid = k / N_CELLS;
            const MdConfig config = device_config(cells[k % N_CELLS], grid);
            check_context("memory.brick_grid=%s, state %d, memory.brick_cells=%s, neighbor.distances=%d",
                          device_grids[grid].word, (int)s,
                          md_switch_words(MD_OPTION_memory_brick_cells)[config.memory_brick_cells], distances);
            if (!walk_create(&run, ops, &config, system)) continue;
            if (walk_ok(&run, ops->update_neighbors(run.context, 0))) {
                check_grid(run.context, grid);
                bricks_check_rows(&run, system);
            }
            walk_destroy(&run);
        }
        md_system_destroy(system);
    }
}

/* More in a brick than an entry can tell apart, or beside it than the table of candidates has room for, however many
 * multiprocessors there are: as many bricks as cells make where that was left open, and smaller ones; else an error that says what
 * to take. */
static void test_device_division(const MdBackendOps *ops) {
    for (int k = 0; k < 2 * N_DEVICE_GRIDS; k++) {
        const int open = k % 2, grid = k / 2;
        check_context("memory.brick_grid=%s, %s, neighbor.distances=%d", device_grids[grid].word,
                      open ? "left open" : "named", distances);
        WalkRun run;
        const MdConfig config = device_config(MD_BRICK_CELLS_4, grid);
        MdSystem *system = bricks_crowd(21, 0.7, 80);
        CHECK(system->n_atoms > CUDA_MAX_CANDIDATES);
        if (walk_create(&run, ops, &config, system)) {
            CudaContext *context = run.context;
            if (open) leave_open(context);
            const MdStatus status = ops->update_neighbors(run.context, 0);
            if (open) {
                CHECK(context->brick_grid == MD_BRICK_GRID_CELLS && context->n_overflows > 0);
                if (walk_ok(&run, status)) bricks_check_rows(&run, system);
            } else {
                CHECK(status == MD_ERROR_INPUT && strstr(md_errors_text(run.errors, 0), "memory.brick_grid=cells"));
            }
            walk_destroy(&run);
        }
        md_system_destroy(system);
    }
}

/* A liquid that draws together in the middle of one of few bricks, until that one holds too many. */
static MdSystem *drawn_together(void) {
    const double box = 18 * 1.6;
    MdSystem *system = bricks_crowd(18, 1.6, box);
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) {
        const double way = system->position[k] - box / 4;
        system->velocity[k] = 1.5 * (box * floor(way / box + 0.5) - way) + 2 * sin(78.233 * (double)k);
    }
    return system;
}

/* In the midst of the motion there come to be as many bricks as cells make; rows stay right, and who is loaded with what was saved
 * after that goes on with the same bits. */
static void test_device_condensing(const MdBackendOps *ops, int grid) {
    enum { PIECE = 2, MOST = 120, N_AFTER = 12 };
    check_context("condensing, memory.brick_grid=%s, neighbor.distances=%d", device_grids[grid].word, distances);
    WalkRun run, other;
    MdConfig config = device_config(MD_BRICK_CELLS_4, grid);
    config.neighbor_predict = MD_PREDICT_VELOCITY;
    config.run_timestep = 0.004;
    MdSystem *system = drawn_together(), *moved = drawn_together();
    if (walk_create(&run, ops, &config, system)) {
        CudaContext *context = run.context;
        double *places = md_alloc(3 * (size_t)system->n_atoms, sizeof *places, "positions");
        MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .position = places};
        leave_open(context);
        bool goes_on = walk_prepare(&run);
        check_grid(context, grid);
        int step = 1;
        for (; goes_on && step < MOST && context->brick_grid == device_grids[grid].brick_grid; step += PIECE)
            goes_on = walk_steps(&run, step, PIECE) && walk_ok(&run, ops->finish(run.context));
        CHECK(context->brick_grid == MD_BRICK_GRID_CELLS && context->n_builds > 4 && step > 4 * PIECE);
        if (goes_on && walk_ok(&run, ops->gather(run.context, &frame))) {
            memcpy(moved->position, places, 3 * (size_t)system->n_atoms * sizeof *places);
            bricks_move_to_places(context, moved);
            bricks_check_rows(&run, moved);
        }
        md_free(places);
        Store middle = {0}, end = {0}, end_of_other = {0};
        if (goes_on && store_save(&middle, &run, step - 1) && walk_create(&other, ops, &config, system)) {
            leave_open(other.context);
            if (store_load(&middle, &other, system) && walk_steps(&run, step, N_AFTER) &&
                walk_steps(&other, step, N_AFTER) && store_save(&end, &run, step - 1 + N_AFTER) &&
                store_save(&end_of_other, &other, step - 1 + N_AFTER))
                store_check_same(&end, &end_of_other);
            CHECK(((const CudaContext *)other.context)->brick_grid == MD_BRICK_GRID_CELLS);
            walk_destroy(&other);
        }
        store_free(&middle), store_free(&end), store_free(&end_of_other);
        walk_destroy(&run);
    }
    md_system_destroy(moved), md_system_destroy(system);
}

static void test_device(const MdBackendOps *ops) {
    test_device_grid(ops);
    test_device_division(ops);
}

int main(void) {
    MdConfig config = state_config();
    const MdBackendOps *ops = walk_cuda(&config);
    if (!ops) return walk_no_cuda();
    const bool has_matrices = walk_gpu_has(ops, 90, "neighbor.distances=matrix");
    for (distances = MD_DISTANCES_THREAD; distances <= (has_matrices ? MD_DISTANCES_MATRIX : MD_DISTANCES_THREAD);
         distances++) {
        if (walk_wants("device")) test_device(ops);
        for (int grid = 0; grid < N_DEVICE_GRIDS; grid++)
            if (walk_wants("device condensing")) test_device_condensing(ops, grid);
    }
    return check_finish();
}
#else
int main(void) { return walk_no_cuda(); }
#endif
