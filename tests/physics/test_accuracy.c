/* How precise the forces of bricks are far from the origin, in mixed precision: as precise as near it, by every kernel that has
 * bricks, as places are measured from a corner of the brick before they are rounded (kernels/bricks/tile.cuh). The reference has
 * the places that the backend keeps, which have more bits than a float. Where a block reads what others wrote in the same launch
 * it must see the same bits of them: so all ways to make steps come to the same places and velocities.
 * MDMINI_TEST_SYSTEM as in walk.h: the names of the systems. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "cpu/reference.h"
#include "judge.h"
#include "state.h"
#include "way.h"

/* Of the rms force. A float at a coordinate of 500 makes it 1e-4 and more. */
static const double most_error = 1.5e-5;

typedef struct Place {
    const char *name, *boundary, *cells;
    double at[3];  /* the crystal is moved by that */
    double longer; /* the box along x, by so much; then half of the crystal is at either end of it */
} Place;

/* An open one is a cluster far from the origin, across a power of two along y, where the last bit of a float changes; a long one
 * is a slab across the face of a long periodic box, which pairs see as images. */
static const Place places[] = {
    {"near", "open", "9 10 11", {0, 0, 0}, 0},
    {"far", "open", "9 10 11", {500, -515.5, 300}, 0},
    {"long", "periodic", "22 7 7", {0, 0, 0}, 587.3},
};
enum { N_PLACES = sizeof places / sizeof *places, N_STEPS = 10 };

static MdSystem *make_system(const Place *place) {
    char boundary[64], cells[64];
    snprintf(boundary, sizeof boundary, "system.boundary=%s", place->boundary);
    snprintf(cells, sizeof cells, "system.cells=%s", place->cells);
    const char *words[] = {"system.start=sc", "system.density=0.8442", "potential.shift=force", boundary, cells, NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    md_deck_destroy(deck);
    const double edge = system->box.length[0];
    for (size_t k = 0; k < 3 * (size_t)system->n_atoms; k++)
        system->position[k] += 0.05 + 0.1 * sin(12.9898 * (double)k) + place->at[k % 3];
    for (int64_t i = 0; place->longer > 0 && i < system->n_atoms; i++)
        if (system->position[3 * i] > edge / 2) system->position[3 * i] += place->longer;
    system->box.length[0] += place->longer;
    return system;
}

static MdConfig make_config(void) {
    MdConfig config = state_config();
    config.run_precision = MD_PRECISION_MIXED;
    config.neighbor_skin = 0.3;
    config.neighbor_rebuild = MD_REBUILD_EVERY;
    config.neighbor_every = 5;
    config.force_kernel = MD_KERNEL_BRICK;
    config.force_threads_per_atom = MD_THREADS_1;
    config.memory_brick_grid = MD_BRICK_GRID_CELLS;
    config.memory_brick_cells = MD_BRICK_CELLS_2;
    config.launch_block_size = MD_BLOCK_SIZE_512;
    return config;
}

/* Root mean square of the error of the force, as a share of that of the force. */
static double error_of_forces(const MdSystem *system, const Gathered *gathered) {
    const size_t n = 3 * (size_t)system->n_atoms;
    double *force = md_alloc(n, sizeof(double), "forces"), error = 0, square = 0;
    MdSums unused;
    md_reference_forces(system, gathered->position, force, &unused);
    for (size_t k = 0; k < n; k++) {
        const double off = gathered->force[k] - force[k];
        error += off * off;
        square += force[k] * force[k];
    }
    md_free(force);
    return sqrt(error / square);
}

static void check_launches(const WalkRun *run, Way way, bool uses_grid_barrier) {
    MdStatistics statistics = {0};
    run->ops->statistics(run->context, &statistics);
    CHECK((walk_launches(&statistics, "k_step_queue") > 0) == (way.passes == MD_PASSES_QUEUE));
    CHECK((walk_launches(&statistics, "k_step_resident") > 0) == (way.persistent == MD_PERSISTENT_ON));
    CHECK(uses_grid_barrier || statistics.n_grid_barriers == 0);
}

/* first: NULL, or what all ways come to. */
static void check_way(const MdBackendOps *ops, const MdSystem *system, const MdConfig *config, Way way,
                      const char *name, bool uses_grid_barrier, Gathered *first) {
    const size_t bytes = 3 * sizeof(double) * (size_t)system->n_atoms;
    Gathered gathered = {0};
    WalkRun run;
    check_context("%s", name);
    if (!walk_create(&run, ops, config, system)) return;
    const bool ok = walk_prepare(&run) && walk_quiet_steps(&run, 1, N_STEPS) &&
                    walk_ok(&run, ops->finish(run.context)) && judge_gather(&run, system, &gathered);
    if (CHECK(ok)) {
        const double error = error_of_forces(system, &gathered);
        printf("%s: error of forces %.1e of the rms force\n", name, error);
        CHECK(error < most_error);
        check_launches(&run, way, uses_grid_barrier);
    }
    if (ok && first->position) {
        CHECK(memcmp(first->position, gathered.position, bytes) == 0);
        CHECK(memcmp(first->velocity, gathered.velocity, bytes) == 0);
    }
    if (ok && !first->position) *first = gathered;
    else judge_gathered_free(&gathered);
    walk_destroy(&run);
}

/* The resident kernel brings in places in two ways, with the barrier of the grid between steps or without; atoms are copied or not. */
static void check_place(const MdBackendOps *ops, const Place *place) {
    MdSystem *system = make_system(place);
    Gathered first = {0};
    for (int k = -1; k < N_WAYS_AHEAD + N_WAYS_QUEUED; k++)
        for (int local = 0; local < 2; local++)
            for (int staging = MD_STAGING_REGISTERS; staging <= MD_STAGING_ASYNC; staging++) {
                const Way way = k < 0              ? way_one_by_one
                                : k < N_WAYS_AHEAD ? ways_ahead[k]
                                                   : ways_queued[k - N_WAYS_AHEAD];
                const bool is_resident = way.persistent == MD_PERSISTENT_ON && way.fuse == MD_FUSE_STEP;
                if (local && !is_resident) continue;
                char name[192];
                MdConfig config = make_config();
                way_take(&config, way);
                config.launch_barrier = local ? MD_BARRIER_LOCAL : MD_BARRIER_GRID;
                config.memory_staging = staging;
                snprintf(name, sizeof name, "%s, %s, barrier %s, staging %s", place->name, way_text(way),
                         local ? "local" : "grid", staging == MD_STAGING_ASYNC ? "async" : "registers");
                check_way(ops, system, &config, way, name, !local || place->longer > 0, &first);
            }
    judge_gathered_free(&first);
    md_system_destroy(system);
}

int main(void) {
    const MdConfig base = state_config();
    const MdBackendOps *ops = walk_cuda(&base);
    if (!ops) return walk_no_cuda();
    for (int k = 0; k < N_PLACES; k++)
        if (walk_wants(places[k].name)) check_place(ops, &places[k]);
    return check_finish();
}
