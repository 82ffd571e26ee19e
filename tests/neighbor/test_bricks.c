/* Bricks in systems that they were not planned for: atoms crowded together in a corner of their box, so that blocks need more
 * room than a uniform system would, and then smaller bricks; atoms that gather, so that they need it on the way; and atoms
 * that spread, so that there are more and more bricks.
 * Rows are held against all pairs. Looks into the context of the cuda backend. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "state.h"
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
    config.neighbor_rows_per_warp = rows_per_warp;
    config.force_kernel = MD_KERNEL_BRICK;
    config.memory_sort = MD_SORT_BRICK;
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

static bool check_rows(const WalkRun *run, const MdSystem *system) {
    MdRows rows;
    MdStatistics statistics;
    if (!walk_ok(run, run->ops->export_rows(run->context, &rows))) return false;
    const CudaContext *context = run->context;
    run->ops->statistics(run->context, &statistics);
    CHECK(statistics.n_entries == rows.offsets[system->n_atoms]);
    CHECK(count_wrong(&rows, system, context->range) == 0);
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
    check_context("spreading");
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

int main(void) {
    MdConfig config = state_config();
    bool ran = false;
    for (const MdBackendOps *ops = NULL; (ops = walk_backend(ops, &config)) != NULL;) {
        if (ops != &md_backend_cuda) continue;
        rows_per_warp = MD_ROWS_PER_WARP_16;
        for (distances = MD_DISTANCES_THREAD; distances <= MD_DISTANCES_MATRIX; distances++) {
            test_room(ops);
            test_division(ops, MD_BRICK_CELLS_AUTO);
            test_division(ops, MD_BRICK_CELLS_3);
            test_long_rows(ops, MD_BANK_ORDER_ON);
            test_gathering(ops);
            test_spreading(ops);
            test_condensing(ops);
        }
        distances = MD_DISTANCES_MATRIX, rows_per_warp = MD_ROWS_PER_WARP_8;
        test_room(ops);
        test_division(ops, MD_BRICK_CELLS_3);
        test_long_rows(ops, MD_BANK_ORDER_ON);
        test_condensing(ops);
        distances = MD_DISTANCES_THREAD;
        test_long_rows(ops, MD_BANK_ORDER_OFF);
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
