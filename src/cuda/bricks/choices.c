/* The choices of `auto` for bricks, and refusals (memory.sort = brick, force.kernel = brick): see shape.c. */
#include <math.h>
#include <stdio.h>

#include "cuda/bricks/bricks.h"
#include "cuda/device/device.h"

static const int candidates[] = {MD_BRICK_CELLS_8, MD_BRICK_CELLS_6, MD_BRICK_CELLS_4,
                                 MD_BRICK_CELLS_3, MD_BRICK_CELLS_2, MD_BRICK_CELLS_1};
enum { N_CANDIDATES = sizeof candidates / sizeof *candidates };

/* Of a uniform system, so that one with some crowds still has room. */
static const double most_staged_atoms = 3000, most_candidates = 0.8 * CUDA_MAX_CANDIDATES, most_rows = 640;

/* The resident kernel where one thread an atom fits on the GPU, and everything else allows it. With bricks, except one or two a
 * multiprocessor, the limit is a part of that: a third, and two thirds if batches end by the check of displacements, as measured on
 * an H200 (every 20 steps: 2.81 G atom-steps/s and 3.43 by kernels at 55,296 atoms; run/results/h200). */
int64_t cuda_most_resident(int brick_grid, const MdConfig *config) {
    const int64_t most = cuda_device_resident_threads() / 2; /* at 64 registers a thread */
    if (config->force_kernel != MD_KERNEL_BRICK || brick_grid != MD_BRICK_GRID_CELLS) return most;
    return (config->neighbor_rebuild == MD_REBUILD_EVERY ? 1 : 2) * most / 3;
}

static const char *why_no_matrices(const MdSystemPlan *plan);

/* A division of the box, and the configuration with all that the shared memory of its blocks hangs on. */
typedef struct Trial {
    MdConfig config;
    CudaDivision division;
    int cells;
} Trial;

static Trial try_cells(const MdConfig *config, const MdSystemPlan *plan, int brick_grid, int brick_cells) {
    Trial trial = {.config = *config, .cells = cuda_brick_cells[brick_cells]};
    MdConfig *c = &trial.config;
    c->force_kernel = MD_KERNEL_BRICK;
    c->memory_brick_grid = brick_grid;
    c->memory_brick_cells = brick_cells;
    if (c->neighbor_distances == MD_DISTANCES_AUTO)
        c->neighbor_distances = why_no_matrices(plan) ? MD_DISTANCES_THREAD : MD_DISTANCES_MATRIX;
    trial.division =
        cuda_divide(c, &plan->box, cuda_list_range(config, &plan->potential), cuda_device_multiprocessors());
    return trial;
}

/* The room of entries and tables of a block, and of the device. */
static bool fits(const Trial *trial, const MdSystemPlan *plan) {
    const double range = cuda_list_range(&trial->config, &plan->potential);
    return cuda_division_staged(&trial->division, plan->n_atoms, range) <= CUDA_MAX_STAGED &&
           cuda_division_candidates(&trial->division, plan->n_atoms) <= CUDA_MAX_CANDIDATES &&
           cuda_brick_cells_fit(trial->cells, plan->box.dimension) &&
           cuda_brick_shared_bytes(&trial->config, plan) <= (size_t)cuda_device_shared_bytes();
}

static bool has_room(const Trial *trial, const MdSystemPlan *plan) {
    const double range = cuda_list_range(&trial->config, &plan->potential);
    return cuda_division_staged(&trial->division, plan->n_atoms, range) <= most_staged_atoms &&
           cuda_division_candidates(&trial->division, plan->n_atoms) <= most_candidates && fits(trial, plan);
}

/* Three cells along an edge, of which a block stages some 40 KiB in a liquid (of doubles twice as much), while that makes
 * bricks for every multiprocessor; more in two dimensions, and fewer where there is less room. */
static int choose_cells(const MdConfig *config, const MdSystemPlan *plan) {
    const double range = cuda_list_range(config, &plan->potential);
    const MdBox *box = &plan->box;
    const double least_bricks = cuda_device_multiprocessors();
    for (int k = 0; k < N_CANDIDATES - 1; k++) {
        const Trial trial = try_cells(config, plan, MD_BRICK_GRID_CELLS, candidates[k]);
        const int cells = trial.cells;
        double rows = (double)plan->n_atoms; /* of a brick of cells as small as can be */
        for (int a = 0; a < box->dimension; a++) rows *= cells * range / fmax(box->length[a], cells * range);
        if (rows <= most_rows && (double)plan->n_atoms >= least_bricks * rows && has_room(&trial, plan))
            return candidates[k];
    }
    return MD_BRICK_CELLS_1;
}

/* The same for one or two bricks a multiprocessor. */
static int choose_device_cells(const MdConfig *config, const MdSystemPlan *plan, int brick_grid) {
    const double range = cuda_list_range(config, &plan->potential);
    int best = MD_BRICK_CELLS_1;
    double best_time = INFINITY;
    for (int k = 0; k < N_CANDIDATES; k++) {
        const Trial trial = try_cells(config, plan, brick_grid, candidates[k]);
        const double time = cuda_division_time(&trial.division, range);
        if (time < best_time && has_room(&trial, plan)) {
            best_time = time;
            best = candidates[k];
        }
    }
    return best;
}

/* A brick for most of the multiprocessors (melt of 4,000 atoms: 125 for 132). In double precision bricks are twice as fast as
 * rows of numbers at 32,000 and 256,000 atoms, too (run/results/h200). */
static const double least_bricks = 0.75;

bool cuda_brick_fits(const MdConfig *config, const MdSystemPlan *plan) {
    const int grid = config->memory_brick_grid == MD_BRICK_GRID_AUTO ? MD_BRICK_GRID_CELLS : config->memory_brick_grid,
              cells = config->memory_brick_cells != MD_BRICK_CELLS_AUTO ? config->memory_brick_cells
                      : grid == MD_BRICK_GRID_CELLS                     ? choose_cells(config, plan)
                                                                        : choose_device_cells(config, plan, grid);
    const Trial trial = try_cells(config, plan, grid, cells);
    return fits(&trial, plan);
}

bool cuda_brick_is_enough(const MdConfig *config, const MdSystemPlan *plan) {
    const int choice = choose_cells(config, plan);
    const Trial trial = try_cells(config, plan, MD_BRICK_GRID_CELLS, choice);
    if (plan->box.dimension == 2 && choice < MD_BRICK_CELLS_6) return false;
    return cuda_division_bricks(&trial.division) >= least_bricks * cuda_device_multiprocessors();
}

/* Shared memory of each block that the system takes, and static memory of a kernel that sums by warps. */
static const double most_beside = 1024 + 256;

/* Whether as many blocks fit with the resident kernel's shared memory of a brick, with room to grow. */
static bool shares_multiprocessor(const MdConfig *config, const MdSystemPlan *plan, const CudaDivision *division,
                                  double rows, int on_each) {
    const double held = (double)cuda_brick_held_bytes(config, CUDA_MAX_BLOCK) / CUDA_MAX_BLOCK *
                        cuda_facts(config).threads_per_atom * rows,
                 staged = 1.25 *
                          cuda_division_room(division, plan->n_atoms, cuda_list_range(config, &plan->potential)) * 4 *
                          (double)cuda_facts(config).pair_size,
                 beside = most_beside + CUDA_SHIFTS * (double)cuda_facts(config).pair_size;
    return held + staged + beside <= (double)cuda_device_shared_bytes() / on_each;
}

/* Whether one or two bricks a multiprocessor suit the system: in three dimensions, by the resident kernel, and with no more atoms in
 * each than were tried. Melts on an H200, every 20 steps, in G atom-steps/s (run/results/h200), by device and by cells at
 * 7bf672a: 6,912 atoms 1.65 and 1.33, 16,384 2.89 and 2.32, 32,000 4.24 and 3.45, 55,296 4.75 and 3.14, 70,304 5.72 and 4.31, 87,808
 * 5.53 and 4.32; on an H100, by device-2 and by cells (run/results/h100): 108,000 6.77 and 5.45, 131,072 6.08 and 5.31, and with safe
 * lists 5.43 and 3.92, 4.97 and 4.11, though of its blocks only one at a time fits a multiprocessor. Where device suits, device-2 was
 * mostly slower (H200): 32,000 4.55 and 4.77, 87,808 5.30 and 5.78; by three and four a multiprocessor all were. */
static const double most_device_rows = 900, most_device_2_rows = 530;

typedef enum Suits { SUITS, HAS_TOO_FEW, HAS_TOO_MANY } Suits;

static Suits suits_device(const MdConfig *config, const MdSystemPlan *plan, int on_each) {
    const int most_bricks = on_each * cuda_device_multiprocessors(),
              grid = on_each == 1 ? MD_BRICK_GRID_DEVICE : MD_BRICK_GRID_DEVICE_2;
    const Trial trial = try_cells(config, plan, grid, choose_device_cells(config, plan, grid));
    const double rows = cuda_division_largest(&trial.division, plan->n_atoms);
    MdConfig resident = trial.config;
    resident.launch_fuse = MD_FUSE_STEP;
    resident.force_threads_per_atom = MD_THREADS_1;
    if (plan->box.dimension == 2 || cuda_division_bricks(&trial.division) < least_bricks * most_bricks)
        return HAS_TOO_FEW;
    return rows <= (on_each == 1 ? most_device_rows : most_device_2_rows) &&
                   plan->n_atoms <= cuda_most_resident(MD_BRICK_GRID_DEVICE, config) && has_room(&trial, plan) &&
                   shares_multiprocessor(&resident, plan, &trial.division, rows, on_each)
               ? SUITS
               : HAS_TOO_MANY;
}

static void resolve_cells(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    const double range = cuda_list_range(config, &plan->potential);
    if (config->memory_sort != MD_SORT_BRICK) {
        if (config->memory_brick_grid == MD_BRICK_GRID_AUTO) config->memory_brick_grid = MD_BRICK_GRID_CELLS;
        return;
    }
    const int n_sms = cuda_device_multiprocessors();
    const bool asks_for_cells = config->memory_brick_cells != MD_BRICK_CELLS_AUTO;
    if (config->memory_brick_grid == MD_BRICK_GRID_AUTO) {
        const bool may_stay = config->launch_persistent != MD_PERSISTENT_OFF && config->launch_graph != MD_GRAPH_ON &&
                              config->launch_passes != MD_PASSES_QUEUE; /* blocks, from step to step */
        const Suits one = suits_device(config, plan, 1);
        const bool suits_one = one == SUITS, suits_two = one == HAS_TOO_MANY && suits_device(config, plan, 2) == SUITS;
        const char *why_not = asks_for_cells ? "memory.brick_cells was given"
                              : !may_stay    ? "other switches rule out the resident kernel"
                              : !suits_one && !suits_two
                                  ? "too many or too few atoms for one or two bricks a multiprocessor"
                                  : NULL;
        config->memory_brick_grid = why_not     ? MD_BRICK_GRID_CELLS
                                    : suits_one ? MD_BRICK_GRID_DEVICE
                                                : MD_BRICK_GRID_DEVICE_2;
        md_choices_add(choices, "memory.brick_grid",
                       why_not     ? "cells"
                       : suits_one ? "device"
                                   : "device-2",
                       "%s",
                       why_not     ? why_not
                       : suits_one ? "few atoms: a brick for each multiprocessor"
                                   : "more atoms than one brick a multiprocessor takes well");
    }
    const int on_each = cuda_bricks_on_each(config->memory_brick_grid);
    if (asks_for_cells) return;
    config->memory_brick_cells =
        on_each > 0 ? choose_device_cells(config, plan, config->memory_brick_grid) : choose_cells(config, plan);
    const CudaDivision division = cuda_divide(config, &plan->box, range, n_sms);
    md_choices_add(
        choices, "memory.brick_cells", md_switch_words(MD_OPTION_memory_brick_cells)[config->memory_brick_cells],
        "%s; up to %.0f atoms each, and %.0f with those around",
        on_each > 0 ? "short cells" : "the most that leaves bricks for all multiprocessors",
        cuda_division_largest(&division, plan->n_atoms), cuda_division_staged(&division, plan->n_atoms, range));
}

/* As many threads a row as all bricks have room for on the GPU at once, so that the resident kernel has a block for each
 * brick. More than 8 would have a quad or two each, and all integrate. Where a multiprocessor has a brick or two, larger blocks have
 * fewer registers a thread, and more threads integrate: melts on an H200, every 20 steps, in thousands of steps a second by as many
 * threads a row as there is room for, and by half as many (run/results/h200): blocks of 320 threads (4,000 atoms, 8) 307 and 283, of
 * 544 (6,912, 8) 259 and 262, of 800 (10,976, 8) 208 and 239, of 576 (16,384, 4) 188 and 176, of 704 (19,652, 4) 182 and 193, of 992
 * (27,436, 4) 133 and 169; two threads a row were always faster than one. */
static double most_threads_of_bricks(const MdConfig *config, double on_each, int log2_threads) {
    static const double by_device[] = {CUDA_MAX_BLOCK, CUDA_MAX_BLOCK, 600, 480};
    return config->memory_brick_grid != MD_BRICK_GRID_CELLS ? by_device[log2_threads]
           : on_each == 1                                   ? CUDA_MAX_BLOCK
                                                            : CUDA_BRICK_THREADS;
}

static void resolve_threads_per_atom(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->force_kernel != MD_KERNEL_BRICK || config->force_threads_per_atom != MD_THREADS_AUTO) return;
    const CudaDivision division =
        cuda_divide(config, &plan->box, cuda_list_range(config, &plan->potential), cuda_device_multiprocessors());
    const double rows = cuda_brick_likely_rows(cuda_division_largest(&division, plan->n_atoms), 2);
    const double on_each = ceil(cuda_division_bricks(&division) / cuda_device_multiprocessors());
    int log2_threads = 0;
    while (log2_threads < 3 &&
           rows * (2 << log2_threads) * on_each <= most_threads_of_bricks(config, on_each, log2_threads + 1))
        log2_threads++;
    config->force_threads_per_atom = log2_threads;
    md_choices_add(
        choices, "force.threads_per_atom", md_switch_words(MD_OPTION_force_threads_per_atom)[log2_threads],
        "the most, up to 8, that blocks have room and registers for: %.0f bricks a multiprocessor, of %.0f rows",
        on_each, rows);
}

/* With the check of displacements the data for a rollback take registers and shared memory. Melts, by local and by grid, in
 * thousands of steps a second, on an H100 (run/results/h100), of one brick a multiprocessor: 4,000 atoms 287 and 243, 6,912 233 and
 * 200, 10,976 191 and 168, 16,384 150 and 136, 23,328 152 and 137, 32,000 127 and 111 (blocks of 576 threads); 55,296, whose blocks
 * are larger, 73.8 and 76.8; one thread a row: 70,304 (608) 76.0 and 75.1. Of two: 108,000 46.5 and 49.7. On an H200
 * (run/results/h200/LOG.md), one thread a row, each of which spills 80 bytes or more: 78,732 (672) 66.8 and 68.2,
 * 87,808 (736) 59.5 and 60.4, 97,556 (800) 53.2 and 53.4. Sizes between 608 and 672 were not measured. */
static const double most_speculative_threads = CUDA_BRICK_THREADS, most_speculative_rows = 640;

bool cuda_brick_suits_speculation(const MdConfig *config, const MdSystemPlan *plan) {
    const CudaDivision division =
        cuda_divide(config, &plan->box, cuda_list_range(config, &plan->potential), cuda_device_multiprocessors());
    const int threads_per_atom = cuda_facts(config).threads_per_atom;
    const double rows = cuda_brick_likely_rows(cuda_division_largest(&division, plan->n_atoms), threads_per_atom);
    return cuda_bricks_on_each(config->memory_brick_grid) == 1 && rows * threads_per_atom <= most_speculative_threads &&
           (threads_per_atom > 1 || rows <= most_speculative_rows) &&
           shares_multiprocessor(config, plan, &division, rows, 1);
}

/* Matrices are of doubles for any run.precision: a multiprocessor of compute capability 9.0 and 10.0 (H100, H200,
 * B200) multiplies and adds doubles at the rate of floats, one of 10.3 and 12.0 (B300, RTX 50) at a sixty-fourth of it. */
static bool has_fast_matrices(int capability) { return capability == 90 || capability == 100; }

/* Products of matrices, and rows ordered by groups of banks: a search of a million atoms takes 0.46 ms instead of 0.52 by
 * threads, and forces 0.104 instead of 0.146. Threads took 0.93 for rows in such an order, which cost a rebuild as much as
 * forces gained (run/results/h200). In two dimensions, where most candidates are in range, both lost. */
static const char *why_no_matrices(const MdSystemPlan *plan) {
    const int capability = cuda_device_compute_capability();
    return plan->box.dimension == 2              ? "most candidates are in range in two dimensions"
           : capability < CUDA_MATRIX_CAPABILITY ? "matrices take compute capability 9.0"
           : !has_fast_matrices(capability)      ? "matrices are of doubles, which are slow on this GPU"
                                                 : NULL;
}

static void resolve_distances(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->neighbor_distances != MD_DISTANCES_AUTO) return;
    const bool has_effect = config->force_kernel == MD_KERNEL_BRICK;
    const char *why_not = has_effect ? why_no_matrices(plan) : NULL;
    config->neighbor_distances = has_effect && !why_not ? MD_DISTANCES_MATRIX : MD_DISTANCES_THREAD;
    if (has_effect)
        md_choices_add(choices, "neighbor.distances", why_not ? "thread" : "matrix", "%s",
                       why_not ? why_not : "the fastest search of bricks in three dimensions");
}

/* In a queue a multiprocessor has many bricks, one after the other. Melts on an H100, by copies and through registers, in steps a
 * second: a million atoms 8,083 and 7,970, safe 6,342 and 6,304, in double precision 3,789 and 3,696; 4 million 2,073 and 2,044,
 * safe 1,609 and 1,579 (run/results/h100). Kernels lost 1 to 2 % by copies with the lists of a rebuild when needed, and up to 10
 * where all bricks are on the GPU at once (run/results/h200). */
void cuda_brick_resolve_staging(MdConfig *config, MdChoices *choices) {
    if (config->memory_staging != MD_STAGING_AUTO) return;
    config->memory_staging = MD_STAGING_REGISTERS;
    if (config->force_kernel != MD_KERNEL_BRICK) return;
    const char *why_not = config->launch_passes != MD_PASSES_QUEUE  ? "copies gain where passes come from a queue"
                          : config->memory_layout != MD_LAYOUT_VEC4 ? "copies take positions of memory.layout = vec4"
                          : cuda_device_compute_capability() < CUDA_COPY_CAPABILITY
                              ? "asynchronous copies take compute capability 8.0"
                              : NULL;
    if (!why_not) config->memory_staging = MD_STAGING_ASYNC;
    md_choices_add(choices, "memory.staging", why_not ? "registers" : "async", "%s",
                   why_not ? why_not : "in a queue a multiprocessor has many bricks, one after the other");
}

void cuda_brick_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    resolve_cells(config, plan, choices);
    resolve_distances(config, plan, choices);
    resolve_threads_per_atom(config, plan, choices);
}

/* The queue counts the bricks of all passes of a batch, and blocks that find none, in 32 bits. */
enum { MOST_QUEUED = INT32_MAX / CUDA_GRAPH_STEPS };

MdStatus cuda_brick_check(const MdConfig *config, const MdSystemPlan *plan, MdErrors *errors) {
    if (config->force_kernel != MD_KERNEL_BRICK) return MD_OK;
    const double range = cuda_list_range(config, &plan->potential);
    const CudaDivision division = cuda_divide(config, &plan->box, range, cuda_device_multiprocessors());
    const int capability = cuda_device_compute_capability();
    if (cuda_facts(config).has_matrices && capability < CUDA_MATRIX_CAPABILITY)
        return md_fail(errors, MD_ERROR_INPUT,
                       "neighbor.distances=matrix: needs compute capability 9.0, and this GPU has %d.%d: take thread",
                       capability / 10, capability % 10);
    if (config->memory_staging == MD_STAGING_ASYNC && capability < CUDA_COPY_CAPABILITY)
        return md_fail(errors, MD_ERROR_INPUT,
                       "memory.staging=async: needs compute capability 8.0, and this GPU has %d.%d: take registers",
                       capability / 10, capability % 10);
    if (config->launch_passes == MD_PASSES_QUEUE && cuda_division_bricks(&division) > MOST_QUEUED)
        return md_fail(errors, MD_ERROR_INPUT,
                       "launch.passes=queue: counts to %lld bricks, and this system may have more: take kernels, or "
                       "more cells a brick",
                       (long long)MOST_QUEUED);
    return MD_OK;
}

bool cuda_brick_lacks_room(const MdConfig *config, const MdSystemPlan *plan, char *what, size_t size) {
    if (config->force_kernel != MD_KERNEL_BRICK || config->memory_brick_cells == MD_BRICK_CELLS_AUTO) return false;
    const Trial trial = try_cells(config, plan, config->memory_brick_grid, config->memory_brick_cells);
    if (fits(&trial, plan)) return false;
    const double range = cuda_list_range(config, &plan->potential),
                 staged = cuda_division_staged(&trial.division, plan->n_atoms, range),
                 around = cuda_division_candidates(&trial.division, plan->n_atoms);
    if (staged > CUDA_MAX_STAGED || around > CUDA_MAX_CANDIDATES ||
        !cuda_brick_cells_fit(trial.cells, plan->box.dimension))
        snprintf(what, size,
                 "with memory.brick_cells=%d a block would stage %.0f atoms of %.0f in %.0f cells, and has room for "
                 "%d of %d in %d",
                 trial.cells, staged, around, pow(trial.cells + 2, plan->box.dimension), CUDA_MAX_STAGED,
                 CUDA_MAX_CANDIDATES, CUDA_BRICK_STENCIL);
    else
        snprintf(what, size,
                 "with memory.brick_cells=%d a block needs %zu bytes of shared memory for %.0f atoms, and has %d on "
                 "this GPU",
                 trial.cells, cuda_brick_shared_bytes(&trial.config, plan), staged, cuda_device_shared_bytes());
    return true;
}
