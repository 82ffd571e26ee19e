/* Bricks in systems that they were not planned for: atoms crowded together in a corner of their box, so that blocks need more
 * room than a uniform system would, and then smaller bricks; atoms that gather, so that they need it on the way; and atoms
 * that spread, so that there are more and more bricks. With memory.brick_grid = device or device-2 there are few of them, of long cells.
 * Rows are held against all pairs, and what each brick stages against what is in range of it. Looks into the context of the cuda
 * backend. MDMINI_TEST_SYSTEM as in walk.h: uniform, far, beyond, spreading, crowds, gathering, condensing, device, or device condensing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "state.h"
#include "store.h"
#include "walk.h"

#ifdef MDMINI_HAVE_CUDA
#include "cuda/context.h"

/* A cube of edge^3 atoms at this spacing, somewhat shaken, in the corner of a periodic box. */
static MdSystem *crowd(int edge, double spacing, double box) {
    char cells[64], length[64];
    snprintf(cells, sizeof cells, "system.cells=%d", edge);
    snprintf(length, sizeof length, "system.density=%.17g", 1 / (spacing * spacing * spacing));
    const char *words[] = {"system.start=sc", cells, length, NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    md_deck_destroy(deck);
    for (int64_t k = 0; k < 3 * system->n_atoms; k++)
        system->position[k] = fabs(system->position[k] + 0.1 * spacing * sin(12.9898 * (double)k));
    for (int a = 0; a < 3; a++) system->box.length[a] = box;
    return system;
}

static int distances, rows_per_warp; /* by which search */

static MdConfig brick_config(int cells) {
    MdConfig config = state_config();
    config.neighbor_distances = distances;
    config.neighbor_bank_order = distances == MD_DISTANCES_MATRIX ? MD_BANK_ORDER_ON : MD_BANK_ORDER_OFF;
    config.neighbor_rows_per_warp = distances == MD_DISTANCES_MATRIX ? rows_per_warp : MD_ROWS_PER_WARP_32;
    config.force_kernel = MD_KERNEL_BRICK;
    config.memory_sort = MD_SORT_BRICK;
    config.memory_brick_grid = MD_BRICK_GRID_CELLS;
    config.memory_brick_cells = cells;
    return config;
}

static double distance_sq(const MdSystem *system, int64_t i, int64_t j) {
    double sum = 0;
    for (int a = 0; a < 3; a++) {
        double d = system->position[3 * i + a] - system->position[3 * j + a];
        if (system->box.periodic[a]) d -= system->box.length[a] * floor(d / system->box.length[a] + 0.5);
        sum += d * d;
    }
    return sum;
}

/* Pairs of ids, (lower, higher), that are missing, there though out of range, or not in both rows. Pairs this close to the
 * range may be either: places of some 10 in single precision. */
static int64_t count_wrong(const MdRows *rows, const MdSystem *system, double range) {
    const double unsure = 1e-4;
    const size_t n = (size_t)system->n_atoms;
    unsigned char *found = md_alloc(n * n, 1, "pairs");
    int64_t n_wrong = 0;
    for (int64_t i = 0; i < system->n_atoms; i++)
        for (int64_t k = rows->offsets[i]; k < rows->offsets[i + 1]; k++) {
            unsigned char *entry = &found[(size_t)i * n + (size_t)rows->ids[k]];
            n_wrong += *entry != 0 || rows->ids[k] == i;
            *entry = 1;
        }
    for (int64_t i = 0; i < system->n_atoms; i++)
        for (int64_t j = 0; j < i; j++) {
            const int both = found[(size_t)i * n + (size_t)j] + found[(size_t)j * n + (size_t)i];
            const double r = sqrt(distance_sq(system, i, j));
            n_wrong += both == 1 || (both == 0 && r < range - unsure) || (both == 2 && r > range + unsure);
        }
    md_free(found);
    return n_wrong;
}

static void *downloaded(CudaContext *context, const void *device, size_t bytes) {
    void *host = md_alloc(bytes, 1, "copy of the device");
    cuda_memory_download(context, host, device, bytes);
    return host;
}

/* A brick in space; where it ends the grid along an open axis it has no end. */
typedef struct Place {
    double low[3], high[3];
} Place;

static Place place_of_brick(const CudaGrid *grid, int dimension, const CudaBrick *brick) {
    Place place = {{0, 0, 0}, {0, 0, 0}};
    for (int a = 0; a < dimension; a++) {
        const int64_t n = grid->n[a], m = grid->n_bricks[a],
                      first = llround((brick->origin[a] - grid->origin[a]) * grid->inverse_edge[a]),
                      end = (((first + 1) * m - 1) / n + 1) * n / m;
        place.low[a] = grid->wraps[a] || first > 0 ? brick->origin[a] : -INFINITY;
        place.high[a] =
            grid->wraps[a] || end < n ? grid->origin[a] + (double)end / grid->inverse_edge[a] : (double)INFINITY;
    }
    return place;
}

/* Images of atom i that are so near to it. */
static int64_t images_near(const MdSystem *system, const Place *place, int64_t i, double range) {
    const MdBox *box = &system->box;
    const int z = box->dimension == 3 && box->periodic[2], y = box->periodic[1], x = box->periodic[0];
    int64_t n = 0;
    for (int layer = -z; layer <= z; layer++)
        for (int line = -y; line <= y; line++)
            for (int cell = -x; cell <= x; cell++) {
                const int boxes[3] = {cell, line, layer};
                double sum = 0;
                for (int a = 0; a < box->dimension; a++) {
                    const double at = system->position[3 * i + a] + boxes[a] * box->length[a];
                    sum += pow(fmax(fmax(place->low[a] - at, at - place->high[a]), 0), 2);
                }
                n += sum <= range * range;
            }
    return n;
}

/* Each brick stages what is in range of it, and no more than rounding may make of that. */
static void check_staged(CudaContext *context, const MdSystem *system) {
    const CudaGrid *grid = &context->arguments.grid;
    const int64_t n_bricks = cuda_brick_count(grid);
    CudaBrick *bricks = downloaded(context, context->arguments.bricks.table, (size_t)n_bricks * sizeof *bricks);
    double farthest = 0;
    int64_t n_wrong = 0, n_own = 0;
    for (int a = 0; a < system->box.dimension; a++)
        farthest = fmax(farthest, fabs(grid->origin[a]) + grid->n[a] / grid->inverse_edge[a]);
    const double margin = 1e-3 * context->range + 1e-6 * farthest;
    for (int64_t b = 0; b < n_bricks; b++) {
        const Place place = place_of_brick(grid, system->box.dimension, &bricks[b]);
        int64_t least = 0, most = 0;
        n_own += bricks[b].end - bricks[b].begin;
        for (int64_t i = 0; bricks[b].end > bricks[b].begin && i < system->n_atoms; i++) {
            least += images_near(system, &place, i, context->range - 1e-4);
            most += images_near(system, &place, i, context->range + 2 * margin);
        }
        if (bricks[b].n_staged >= least && bricks[b].n_staged <= most) continue;
        if (n_wrong++ == 0)
            printf("brick %lld stages %d atoms, of %lld to %lld that are near\n", (long long)b, bricks[b].n_staged,
                   (long long)least, (long long)most);
    }
    CHECK(n_wrong == 0 && n_own == system->n_atoms);
    md_free(bricks);
}

/* At the places of the list. */
static bool check_rows(const WalkRun *run, const MdSystem *system) {
    MdRows rows;
    MdStatistics statistics;
    if (!walk_ok(run, run->ops->export_rows(run->context, &rows))) return false;
    const CudaContext *context = run->context;
    run->ops->statistics(run->context, &statistics);
    CHECK(statistics.n_entries == rows.offsets[system->n_atoms]);
    CHECK(count_wrong(&rows, system, context->range) == 0);
    check_staged(run->context, system);
    md_rows_free(&rows);
    return true;
}

/* More atoms in a block than there was room for: it gets more. */
static void test_room(const MdBackendOps *ops) {
    check_context("more room");
    WalkRun run;
    const MdConfig config = brick_config(MD_BRICK_CELLS_3);
    MdSystem *system = crowd(13, 1.1, 60);
    if (walk_create(&run, ops, &config, system)) {
        const CudaContext *context = run.context;
        const CudaBricks planned = context->arguments.bricks;
        CHECK(planned.capacity < 800);
        if (walk_ok(&run, ops->update_neighbors(run.context, 0))) {
            CHECK(context->arguments.bricks.capacity > 1000 && context->n_overflows > 0);
            CHECK(context->brick_cells == 3);
            check_rows(&run, system);
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
    MdSystem *system = crowd(18, 0.8, 120);
    if (walk_create(&run, ops, &config, system)) {
        const CudaContext *context = run.context;
        CHECK(context->brick_cells >= 3);
        const MdStatus status = ops->update_neighbors(run.context, 0);
        if (cells == MD_BRICK_CELLS_AUTO) {
            CHECK(context->brick_cells < 3 && context->n_overflows > 0);
            if (walk_ok(&run, status)) check_rows(&run, system);
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
    MdSystem *system = crowd(21, 0.5, 120);
    CHECK(system->n_atoms > 8192);
    if (walk_create(&run, ops, &config, system)) {
        const CudaContext *context = run.context;
        CHECK(context->brick_cells >= 3);
        if (walk_ok(&run, ops->update_neighbors(run.context, 0))) {
            CHECK(context->brick_cells == 1);
            check_rows(&run, system);
        }
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* A liquid that fills its box, and so do its bricks. */
static void test_uniform(const MdBackendOps *ops) {
    check_context("uniform, neighbor.distances=%d", distances);
    static const int cells[] = {MD_BRICK_CELLS_1, MD_BRICK_CELLS_2, MD_BRICK_CELLS_3};
    MdSystem *system = crowd(11, 1.06, 11 * 1.06);
    for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++) {
        WalkRun run;
        const MdConfig config = brick_config(cells[k]);
        if (!walk_create(&run, ops, &config, system)) continue;
        if (walk_ok(&run, ops->update_neighbors(run.context, 0))) check_rows(&run, system);
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
    MdSystem *system = crowd(11, 1, 20);
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
            check_rows(&run, system);
        }
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* --- memory.brick_grid = device ------------------------------------------------------------------------------------- */

static const struct {
    int brick_grid, on_each; /* bricks for each multiprocessor */
    const char *word;
} device_grids[] = {{MD_BRICK_GRID_DEVICE, 1, "device"}, {MD_BRICK_GRID_DEVICE_2, 2, "device-2"}};
enum { N_DEVICE_GRIDS = sizeof device_grids / sizeof device_grids[0] };

static MdConfig device_config(int cells, int grid) {
    MdConfig config = brick_config(cells);
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
                check_rows(&run, system);
            }
            walk_destroy(&run);
        }
        md_system_destroy(system);
    }
}

/* More in a brick than an entry can tell apart, however many multiprocessors there are: as many bricks as cells make where that
 * was left open, and smaller ones; else an error that says what to take. */
static void test_device_division(const MdBackendOps *ops) {
    for (int k = 0; k < 2 * N_DEVICE_GRIDS; k++) {
        const int open = k % 2, grid = k / 2;
        check_context("memory.brick_grid=%s, %s, neighbor.distances=%d", device_grids[grid].word,
                      open ? "left open" : "named", distances);
        WalkRun run;
        const MdConfig config = device_config(MD_BRICK_CELLS_3, grid);
        MdSystem *system = crowd(18, 0.7, 40);
        if (walk_create(&run, ops, &config, system)) {
            CudaContext *context = run.context;
            if (open) leave_open(context);
            const MdStatus status = ops->update_neighbors(run.context, 0);
            if (open) {
                CHECK(context->brick_grid == MD_BRICK_GRID_CELLS && context->n_overflows > 0);
                if (walk_ok(&run, status)) check_rows(&run, system);
            } else {
                CHECK(status == MD_ERROR_INPUT && strstr(md_errors_text(run.errors, 0), "memory.brick_grid=cells"));
            }
            walk_destroy(&run);
        }
        md_system_destroy(system);
    }
}

/* Rows of so many that a thread puts down what it has found before it has found all. */
static void test_long_rows(const MdBackendOps *ops, int bank_order) {
    check_context("long rows, neighbor.bank_order=%d, neighbor.distances=%d", bank_order, distances);
    WalkRun run;
    MdConfig config = brick_config(MD_BRICK_CELLS_3);
    config.neighbor_bank_order = bank_order;
    MdSystem *system = crowd(12, 0.5, 40);
    if (walk_create(&run, ops, &config, system)) {
        const CudaContext *context = run.context;
        if (walk_ok(&run, ops->update_neighbors(run.context, 0)) && check_rows(&run, system)) /* 32 words of 32 atoms */
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
    MdSystem *system = crowd(10, 2, 20);
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

/* Moves the atoms of the system to where the last list took them to be (vec4, mixed precision). Returns the longest way. */
static double move_to_places(CudaContext *context, MdSystem *system) {
    const size_t n = (size_t)system->n_atoms;
    float(*place)[4] = md_alloc(n, sizeof *place, "places of the list");
    CudaTag *tag = md_alloc(n, sizeof *tag, "tags");
    double longest_sq = 0;
    cuda_memory_download(context, place, context->arguments.reference.part[0], n * sizeof *place);
    cuda_memory_download(context, tag, context->arguments.now.tag, n * sizeof *tag);
    for (size_t i = 0; i < n; i++) {
        double *x = system->position + 3 * tag[i].id, way_sq = 0;
        for (int a = 0; a < 3; a++) {
            way_sq += pow(place[i][a] - x[a], 2);
            x[a] = (double)place[i][a];
        }
        longest_sq = fmax(longest_sq, way_sq);
    }
    md_free(place), md_free(tag);
    return sqrt(longest_sq);
}

/* A hot drop in the open: bricks become many times as many as at the start, and rows stay right, which are those of atoms
 * a bit ahead. */
static void test_spreading(const MdBackendOps *ops) {
    check_context("spreading, neighbor.distances=%d", distances);
    WalkRun run;
    MdConfig config = brick_config(MD_BRICK_CELLS_2);
    config.run_timestep = 0.004;
    MdSystem *system = crowd(8, 1.1, 9);
    for (int a = 0; a < 3; a++) system->box.periodic[a] = false;
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) system->velocity[k] = 8 * (system->position[k] / 4.5 - 1);
    if (walk_create(&run, ops, &config, system)) {
        CudaContext *context = run.context;
        if (walk_prepare(&run)) {
            CHECK(context->arguments.grid.n[0] == 2); /* what is beyond one open face is not what is at the other */
            check_rows(&run, system);
            const int64_t at_first = cuda_brick_count(&context->arguments.grid);
            double *places = md_alloc(3 * (size_t)system->n_atoms, sizeof *places, "positions");
            MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .position = places};
            if (walk_steps(&run, 1, 400) && walk_ok(&run, ops->rebuild(run.context)) &&
                walk_ok(&run, ops->gather(run.context, &frame))) {
                memcpy(system->position, places, 3 * (size_t)system->n_atoms * sizeof *places);
                CHECK(cuda_brick_count(&context->arguments.grid) > 4 * at_first);
                const double longest = move_to_places(context, system), half_skin = run.config.neighbor_skin / 2;
                CHECK(longest > 0.01 * half_skin && longest < 0.9001 * half_skin);
                check_rows(&run, system);
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
    MdSystem *system = crowd(13, 1.1, 20);
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
            CHECK(move_to_places(run.context, system) > 0.8 * skin / 2);
            check_rows(&run, system);
        }
        md_free(places);
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* A hot cloud that draws together, until a block would stage more than an entry can tell apart: in the midst of the motion bricks
 * become smaller, and rows stay right, which are those of atoms ahead of where they are. */
static void test_condensing(const MdBackendOps *ops) {
    enum { PIECE = 1, MOST = 120 };
    check_context("condensing, neighbor.distances=%d", distances);
    WalkRun run;
    MdConfig config = brick_config(MD_BRICK_CELLS_AUTO);
    config.neighbor_predict = MD_PREDICT_VELOCITY;
    config.run_timestep = 0.004;
    MdSystem *system = crowd(18, 1.6, 120);
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
        CHECK(at_first > 3 && context->brick_cells < at_first && context->n_builds > 4);
        if (goes_on && walk_ok(&run, ops->gather(run.context, &frame))) {
            memcpy(system->position, places, 3 * (size_t)system->n_atoms * sizeof *places);
            CHECK(move_to_places(context, system) > 0.01 * run.config.neighbor_skin);
            check_rows(&run, system);
        }
        md_free(places);
        walk_destroy(&run);
    }
    md_system_destroy(system);
}

/* A liquid that draws together in the middle of one of few bricks, until that one holds too many. */
static MdSystem *drawn_together(void) {
    const double box = 18 * 1.6;
    MdSystem *system = crowd(18, 1.6, box);
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
            move_to_places(context, moved);
            check_rows(&run, moved);
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

static void test_crowds(const MdBackendOps *ops) {
    test_room(ops);
    test_division(ops, MD_BRICK_CELLS_AUTO);
    test_division(ops, MD_BRICK_CELLS_3);
    test_long_rows(ops, MD_BANK_ORDER_ON);
    if (distances == MD_DISTANCES_THREAD) test_crowd(ops);
}

static void test_device(const MdBackendOps *ops) {
    test_device_grid(ops);
    test_device_division(ops);
}

int main(void) {
    MdConfig config = state_config();
    bool ran = false;
    for (const MdBackendOps *ops = NULL; (ops = walk_backend(ops, &config)) != NULL;) {
        if (ops != &md_backend_cuda) continue;
        rows_per_warp = MD_ROWS_PER_WARP_16;
        for (distances = MD_DISTANCES_THREAD; distances <= MD_DISTANCES_MATRIX; distances++) {
            if (walk_wants("uniform")) test_uniform(ops);
            for (int axis = 0; axis < 3; axis++)
                if (walk_wants("far")) test_far(ops, axis, 114), test_far(ops, axis, 111);
            if (walk_wants("beyond")) test_beyond(ops, 3.2);
            if (walk_wants("beyond")) test_beyond(ops, 3.6);
            if (walk_wants("spreading")) test_spreading(ops);
            if (walk_wants("crowds")) test_crowds(ops);
            if (walk_wants("gathering")) test_gathering(ops);
            if (walk_wants("condensing")) test_condensing(ops);
            if (walk_wants("device")) test_device(ops);
            for (int grid = 0; grid < N_DEVICE_GRIDS; grid++)
                if (walk_wants("device condensing")) test_device_condensing(ops, grid);
        }
        distances = MD_DISTANCES_MATRIX, rows_per_warp = MD_ROWS_PER_WARP_8;
        if (walk_wants("crowds")) test_crowds(ops);
        if (walk_wants("condensing")) test_condensing(ops);
        if (walk_wants("device")) test_device(ops);
        distances = MD_DISTANCES_THREAD;
        if (walk_wants("crowds")) test_long_rows(ops, MD_BANK_ORDER_OFF);
        ran = true;
    }
    if (ran || getenv("MDMINI_TEST_BACKENDS")) return check_finish();
    printf("skipped: no GPU to look into\n");
    return CHECK_SKIPPED;
}
#else
int main(void) {
    printf("skipped: built without the cuda backend\n");
    return CHECK_SKIPPED;
}
#endif
