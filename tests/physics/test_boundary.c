/* How long the box is to particles that see each other across its boundary: as long as to those that are brought back, to far
 * more digits than a distance has in single precision. Else each particle that crosses jumps by the difference, and energy
 * drifts (run/results/h200/LOG.md). MDMINI_TEST_SYSTEM as in walk.h: precision and kernel (`mixed, brick`), or ways. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "cpu/reference.h"
#include "judge.h"
#include "state.h"
#include "way.h"

/* The box is half a unit of single precision longer or shorter than its edges in single precision: the most that may be lost. */
static const double lost_share[3] = {0.48, -0.48, 0.47};

static double unit_of(double length) { return (double)(nextafterf((float)length, INFINITY) - (float)length); }

/* At places that single precision has, of atoms that stand still: then all that it makes of a distance is its rounding. They are
 * shaken, so that this is by chance, but for some 5 % of what would be lost, and not so much that a few pairs decide. No force
 * jumps where a pair crosses the cutoff. */
static MdSystem *make_system(void) {
    const char *words[] = {"system.start=sc", "system.cells=13 14 15", "system.density=0.8442", "potential.shift=force",
                           NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    md_deck_destroy(deck);
    for (size_t k = 0; k < 3 * (size_t)system->n_atoms; k++) {
        system->position[k] = (double)(float)(system->position[k] + 0.05 + 0.05 * sin(12.9898 * (double)k));
        system->velocity[k] = 0;
    }
    for (int axis = 0; axis < 3; axis++) {
        const double length = (double)(float)system->box.length[axis];
        system->box.length[axis] = length + lost_share[axis] * unit_of(length);
    }
    return system;
}

/* How much longer than it is the box seems to be along an axis by the forces at these places, and the error of that. Forces differ
 * from the reference by that times their slope by the length at fixed places, which is that of pairs across the boundary, and by
 * what rounding does by chance, the more the steeper they are: least squares, weighted by that. Each pair stands in two rows with
 * the same error of its distance, hence sqrt(2). */
static double seeming_length(const MdSystem *system, int axis, const Gathered *gathered, double *error) {
    const double longer = 1e-6;
    const size_t n = 3 * (size_t)system->n_atoms;
    double *force[2] = {md_alloc(n, sizeof(double), "forces"), md_alloc(n, sizeof(double), "forces")};
    MdSystem stretched = *system;
    MdSums unused;
    stretched.box.length[axis] += longer;
    md_reference_forces(system, gathered->position, force[0], &unused);
    md_reference_forces(&stretched, gathered->position, force[1], &unused);
    double *slope = force[1], mean_sq = 0, product = 0, square = 0, noise = 0, n_steep = 0;
    for (size_t k = 0; k < n; k++) {
        slope[k] = (force[1][k] - force[0][k]) / longer;
        mean_sq += slope[k] * slope[k];
        n_steep += slope[k] != 0;
    }
    mean_sq /= n_steep;
    for (size_t k = 0; k < n; k++) {
        const double weight = 1 / (slope[k] * slope[k] + mean_sq);
        product += weight * slope[k] * (gathered->force[k] - force[0][k]);
        square += weight * slope[k] * slope[k];
    }
    const double length = product / square;
    for (size_t k = 0; k < n; k++) {
        const double weight = 1 / (slope[k] * slope[k] + mean_sq);
        const double rest = weight * slope[k] * (gathered->force[k] - force[0][k] - length * slope[k]);
        noise += rest * rest;
    }
    *error = sqrt(2 * noise) / square;
    md_free(force[0]);
    md_free(force[1]);
    return length;
}

static void check_launches(const WalkRun *run, Way way) {
    MdStatistics statistics = {0};
    run->ops->statistics(run->context, &statistics);
    CHECK((walk_launches(&statistics, "k_step_queue") > 0) == (way.passes == MD_PASSES_QUEUE));
    CHECK((walk_launches(&statistics, "k_step_resident") > 0) == (way.persistent == MD_PERSISTENT_ON));
}

/* After some steps that move nothing, so that kernels that make many steps themselves have a turn. way: NULL, or how steps are
 * issued. False: the backend refuses this. */
static bool compare(const MdBackendOps *ops, const MdSystem *system, const MdConfig *asked, const Way *way,
                    const char *name) {
    enum { N_STEPS = 12 };
    const MdSystemPlan plan = state_plan(system);
    MdConfig config = *asked;
    MdErrors *errors = md_errors_create();
    const bool serves = ops->resolve(&config, &plan, NULL, errors) == MD_OK;
    if (!serves) printf("%s, %s: refused: %s\n", ops->name, name, md_errors_text(errors, 0));
    md_errors_destroy(errors);
    if (!serves) return false;
    WalkRun run;
    check_context("%s: %s", ops->name, name);
    if (!walk_create(&run, ops, asked, system)) return true;
    Gathered gathered = {0};
    const bool ok = walk_prepare(&run) && walk_quiet_steps(&run, 1, N_STEPS) &&
                    walk_ok(&run, ops->finish(run.context)) && judge_gather(&run, system, &gathered);
    for (int axis = 0; axis < 3 && CHECK(ok); axis++) {
        const double most = 0.47 * unit_of(system->box.length[axis]);
        double error, longer = seeming_length(system, axis, &gathered, &error);
        printf("%s, %s: along %c longer by %.1e +- %.1e, single precision would lose %.1e\n", ops->name, name,
               'x' + axis, longer, error, most);
        CHECK(12 * error < most); /* so that it would be seen */
        CHECK(fabs(longer) < most / 3);
    }
    if (way) check_launches(&run, *way);
    judge_gathered_free(&gathered);
    walk_destroy(&run);
    return true;
}

/* Bricks of single cells, where bricks are asked for: one from face to face has places as large as the box in it, and their
 * rounding, though by chance, is large. */
static MdConfig make_config(int precision, int kernel) {
    MdConfig config = state_config();
    config.run_precision = precision;
    config.run_timestep = 1e-12;
    config.neighbor_skin = 0.3;
    config.force_kernel = kernel;
    if (kernel == MD_KERNEL_BRICK) {
        config.memory_brick_grid = MD_BRICK_GRID_CELLS;
        config.memory_brick_cells = MD_BRICK_CELLS_1;
    }
    return config;
}

static void test_kernels(const MdBackendOps *ops, const MdSystem *system, int precision) {
    const char *const *kernels = md_switch_words(MD_OPTION_force_kernel);
    for (int kernel = 0; kernels[kernel]; kernel++) {
        if (kernel == MD_KERNEL_AUTO) continue;
        char name[128];
        const MdConfig config = make_config(precision, kernel);
        snprintf(name, sizeof name, "%s, %s", md_switch_words(MD_OPTION_run_precision)[precision], kernels[kernel]);
        if (!walk_wants(name)) continue;
        const bool runs = compare(ops, system, &config, NULL, name);
        CHECK(runs || strcmp(ops->name, "cuda") != 0); /* the others have no clusters, bricks and the like */
    }
}

/* Of bricks: the resident kernel has stagings of its own, one for each barrier; the other ways stage as single steps do. */
static void test_ways(const MdBackendOps *ops, const MdSystem *system) {
    for (int k = 0; k < N_WAYS_AHEAD + N_WAYS_QUEUED; k++)
        for (int local = 0; local < 2; local++) {
            const Way way = k < N_WAYS_AHEAD ? ways_ahead[k] : ways_queued[k - N_WAYS_AHEAD];
            if (local && (way.persistent != MD_PERSISTENT_ON || way.fuse != MD_FUSE_STEP)) continue;
            char name[128];
            MdConfig config = make_config(MD_PRECISION_MIXED, MD_KERNEL_BRICK);
            way_take(&config, way);
            config.launch_barrier = local ? MD_BARRIER_LOCAL : MD_BARRIER_GRID;
            snprintf(name, sizeof name, "%s, barrier %s", way_text(way), local ? "local" : "grid");
            CHECK(compare(ops, system, &config, &way, name));
        }
}

int main(void) {
    const MdConfig base = state_config();
    MdSystem *system = make_system();
    for (const MdBackendOps *ops = walk_backend(NULL, &base); ops; ops = walk_backend(ops, &base)) {
        test_kernels(ops, system, MD_PRECISION_SINGLE);
        test_kernels(ops, system, MD_PRECISION_MIXED);
        if (strcmp(ops->name, "cuda") == 0 && walk_wants("ways")) test_ways(ops, system);
    }
    md_system_destroy(system);
    return check_finish();
}
