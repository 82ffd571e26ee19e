/* Bricks of cells, host side (memory.sort = brick, force.kernel = brick): how large they are, and the room that their blocks
 * need. The kernels stand in kernels/brick.cuh, brick_stage.cuh and kernels/force_brick.cuh.
 *
 * A brick as large as fits has the least around it: with three cells along each edge a block looks into 125 cells for 27. What
 * it stages must fit its shared memory and 12 bits of an entry. Rooms are planned for a uniform system; one that is
 * denser somewhere is noticed when the list is built, and gets more room or smaller bricks. */
#include <math.h>

#include "cuda/context.h"

static const int brick_cells[] = {[MD_BRICK_CELLS_1] = 1, [MD_BRICK_CELLS_2] = 2, [MD_BRICK_CELLS_3] = 3,
                                  [MD_BRICK_CELLS_4] = 4, [MD_BRICK_CELLS_6] = 6, [MD_BRICK_CELLS_8] = 8};

bool cuda_brick_sorts(const CudaContext *context) { return context->config.memory_sort == MD_SORT_BRICK; }

static bool has_matrices(const MdConfig *config) { return config->neighbor_distances == MD_DISTANCES_MATRIX; }

int cuda_brick_rows_of_warp(const MdConfig *config) {
    return config->neighbor_rows_per_warp == MD_ROWS_PER_WARP_8 ? 8 : 16;
}

int64_t cuda_brick_count(const CudaGrid *grid) {
    return (int64_t)grid->n_bricks[0] * grid->n_bricks[1] * grid->n_bricks[2];
}

/* How a box is divided along each axis: bricks, and the cells that these share out among them, as evenly as can be. */
typedef struct Division {
    int dimension;
    double length[3], cells[3], bricks[3];
} Division;

/* Edges of the largest brick. */
static void largest_edges(const Division *division, double edges[3]) {
    for (int a = 0; a < 3; a++)
        edges[a] = a < division->dimension
                       ? ceil(division->cells[a] / division->bricks[a]) * division->length[a] / division->cells[a]
                       : 0;
}

static double count_bricks(const Division *division) {
    return division->bricks[0] * division->bricks[1] * division->bricks[2];
}

static double volume_of(const Division *division, const double edges[3]) {
    double volume = 1;
    for (int a = 0; a < division->dimension; a++) volume *= edges[a];
    return volume;
}

/* Of all points no further than `range` from a box with these edges, by Steiner's formula: in three dimensions e1 e2 e3 + 2
 * range (e1 e2 + e2 e3 + e3 e1) + pi range^2 (e1 + e2 + e3) + 4/3 pi range^3, in two e1 e2 + 2 range (e1 + e2) + pi
 * range^2. */
static double volume_around(const Division *division, const double edges[3], double range) {
    const double pi = 3.14159265358979323846, sum = edges[0] + edges[1] + edges[2],
                 faces = edges[0] * edges[1] + edges[1] * edges[2] + edges[2] * edges[0];
    if (division->dimension == 2) return faces + 2 * range * sum + pi * range * range;
    return volume_of(division, edges) + 2 * range * faces + pi * range * range * sum +
           4.0 / 3 * pi * range * range * range;
}

/* In a uniform system: atoms of the largest brick, those of the cells around it with it (as several images where the box is
 * small), and those of them that its block stages. */
static double largest_brick(const Division *division, int64_t n_atoms) {
    double atoms = (double)n_atoms;
    for (int a = 0; a < division->dimension; a++)
        atoms *= ceil(division->cells[a] / division->bricks[a]) / division->cells[a];
    return atoms;
}
static double candidate_atoms(const Division *division, int64_t n_atoms) {
    double atoms = (double)n_atoms;
    for (int a = 0; a < division->dimension; a++)
        atoms *= (ceil(division->cells[a] / division->bricks[a]) + 2) / division->cells[a];
    return atoms;
}
static double staged_atoms(const Division *division, int64_t n_atoms, double range) {
    double edges[3];
    largest_edges(division, edges);
    return fmin(candidate_atoms(division, n_atoms),
                (double)n_atoms * volume_around(division, edges, range) / volume_of(division, division->length));
}

/* memory.brick_grid = cells: as many cells as the box has room for, in bricks of so many. */
static Division divide_by_cells(const double length[3], int dimension, double range, int cells) {
    Division division = {.dimension = dimension, .cells = {1, 1, 1}, .bricks = {1, 1, 1}};
    for (int a = 0; a < dimension; a++) {
        division.length[a] = length[a];
        division.cells[a] = cuda_sort_cells_along(length[a], range);
        division.bricks[a] = ceil(division.cells[a] / cells);
    }
    return division;
}

/* How long a block takes for its brick, in units of the time for the atoms of a unit of its volume: what is staged counts
 * at each step, and what the search looks at to find it at each list. From clocks in the resident kernel at 32,000 atoms
 * (run/results/h200). */
static double brick_time(const Division *division, double range) {
    double edges[3], around[3] = {0, 0, 0};
    largest_edges(division, edges);
    for (int a = 0; a < division->dimension; a++) around[a] = edges[a] + 2 * division->length[a] / division->cells[a];
    return volume_of(division, edges) + 0.06 * volume_around(division, edges, range) +
           0.004 * volume_of(division, around);
}

/* memory.brick_grid = device, device-2: bricks for each multiprocessor; cells: 0. */
static int bricks_on_each(int brick_grid) {
    return brick_grid == MD_BRICK_GRID_DEVICE ? 1 : brick_grid == MD_BRICK_GRID_DEVICE_2 ? 2 : 0;
}

/* No more bricks than so many, with `cells` cells along every axis that has room for them, such that the largest one takes the least
 * time. */
static Division divide_by_device(const double length[3], int dimension, double range, int cells, int most_bricks) {
    const Division most = divide_by_cells(length, dimension, range, 1);
    Division best = most;
    double best_time = INFINITY, room[3];
    for (int a = 0; a < 3; a++) room[a] = fmax(floor(most.cells[a] / cells), 1);
    for (double x = 1; x <= fmin(room[0], most_bricks); x++)
        for (double y = 1; y <= room[1] && x * y <= most_bricks; y++) {
            Division division = most;
            division.bricks[0] = x;
            division.bricks[1] = y;
            division.bricks[2] = fmin(room[2], floor(most_bricks / (x * y)));
            for (int a = 0; a < dimension; a++) division.cells[a] = fmin(most.cells[a], cells * division.bricks[a]);
            const double time = brick_time(&division, range);
            if (time < best_time) {
                best_time = time;
                best = division;
            }
        }
    return best;
}

static Division divide(const MdConfig *config, const MdBox *box, double range, int n_sms) {
    const int cells = brick_cells[config->memory_brick_cells];
    const int on_each = bricks_on_each(config->memory_brick_grid);
    if (on_each > 0) return divide_by_device(box->length, box->dimension, range, cells, on_each * n_sms);
    return divide_by_cells(box->length, box->dimension, range, cells);
}

void cuda_brick_divide(const CudaContext *context, const double extent[3], CudaGrid *grid) {
    const int dimension = context->box.dimension, cells = context->brick_cells;
    const int on_each = bricks_on_each(context->brick_grid);
    if (on_each > 0) {
        const Division division =
            divide_by_device(extent, dimension, context->range, cells, on_each * cuda_device_multiprocessors());
        for (int a = 0; a < 3; a++) {
            grid->n[a] = (int)fmin(grid->n[a], division.cells[a]);
            grid->n_bricks[a] = (int)fmin(grid->n[a], division.bricks[a]);
        }
    } else {
        for (int a = 0; a < 3; a++) grid->n_bricks[a] = a < dimension ? (grid->n[a] + cells - 1) / cells : 1;
    }
}

/* Atoms for which a brick of so many is to have threads. Where a round goes through all of them one atom more would cost
 * another one, and all blocks would meet at a barrier: their number fluctuates, in a liquid by a third of its root. Melts on an
 * H200 with some once, 1.4 times, and twice the root more: 4,000 atoms 299,800, 299,900 and 294,600 steps/s, 32,000 142,600,
 * 148,200 and 148,100 (run/results/h200/tried/halt-search-graph.txt). */
static double crowded(double rows, int row_threads) { return row_threads == 1 ? 1.03 * rows : rows + 1.4 * sqrt(rows); }

/* Room for so many and some more, and no more than most. */
static int32_t room_for(double staged, int32_t most) { return (int32_t)fmin(ceil(staged / 64) * 64, most); }

/* Room for what a block stages, until it is known how much that is: liquids differ by a few dozen atoms, and with room for
 * many more there would be fewer blocks on a multiprocessor. */
static int32_t planned_room(const Division *division, int64_t n_atoms, double range) {
    const double staged = staged_atoms(division, n_atoms, range);
    return room_for(fmin(1.02 * staged + 64, 27 * (double)n_atoms), CUDA_MAX_STAGED);
}

static bool cells_fit(int cells, int dimension) { return pow(cells + 2, dimension) <= CUDA_BRICK_STENCIL; }

static const int candidates[] = {MD_BRICK_CELLS_8, MD_BRICK_CELLS_6, MD_BRICK_CELLS_4,
                                 MD_BRICK_CELLS_3, MD_BRICK_CELLS_2, MD_BRICK_CELLS_1};
enum { N_CANDIDATES = sizeof candidates / sizeof *candidates };

/* Of a uniform system, so that one with some crowds still has room. */
static const double most_staged_atoms = 3000, most_candidates = 0.8 * CUDA_MAX_CANDIDATES, most_rows = 640;

static bool has_room(const Division *division, int64_t n_atoms, double range) {
    return staged_atoms(division, n_atoms, range) <= most_staged_atoms &&
           candidate_atoms(division, n_atoms) <= most_candidates;
}

/* Three cells along an edge, of which a block stages some 40 KiB in a liquid (of doubles twice as much), while that makes
 * bricks for every multiprocessor; more in two dimensions, and fewer where there is less room. */
static int choose_cells(const MdSystemPlan *plan, double range) {
    const MdBox *box = &plan->box;
    const double least_bricks = cuda_device_multiprocessors();
    for (int k = 0; k < N_CANDIDATES - 1; k++) {
        const int cells = brick_cells[candidates[k]];
        const Division division = divide_by_cells(box->length, box->dimension, range, cells);
        double rows = (double)plan->n_atoms; /* of a brick of cells as small as can be */
        for (int a = 0; a < box->dimension; a++) rows *= cells * range / fmax(box->length[a], cells * range);
        if (cells_fit(cells, box->dimension) && rows <= most_rows && has_room(&division, plan->n_atoms, range) &&
            (double)plan->n_atoms >= least_bricks * rows)
            return candidates[k];
    }
    return MD_BRICK_CELLS_1;
}

/* The same for so many bricks at most. */
static int choose_device_cells(const MdSystemPlan *plan, double range, int most_bricks) {
    int best = MD_BRICK_CELLS_1;
    double best_time = INFINITY;
    for (int k = 0; k < N_CANDIDATES; k++) {
        const int cells = brick_cells[candidates[k]];
        const Division division = divide_by_device(plan->box.length, plan->box.dimension, range, cells, most_bricks);
        const double time = brick_time(&division, range);
        if (cells_fit(cells, plan->box.dimension) && has_room(&division, plan->n_atoms, range) && time < best_time) {
            best_time = time;
            best = candidates[k];
        }
    }
    return best;
}

/* A brick for most of the multiprocessors (melt of 4,000 atoms: 125 for 132). In double precision bricks are twice as fast as
 * rows of numbers at 32,000 and 256,000 atoms, too (run/results/h200). */
static const double least_bricks = 0.75;

static double range_of(const MdConfig *config, const MdSystemPlan *plan) {
    return plan->potential.cutoff_max + config->neighbor_skin;
}

bool cuda_brick_is_enough(const MdConfig *config, const MdSystemPlan *plan) {
    const double range = range_of(config, plan);
    const int choice = choose_cells(plan, range);
    const Division division = divide_by_cells(plan->box.length, plan->box.dimension, range, brick_cells[choice]);
    if (plan->box.dimension == 2 && choice < MD_BRICK_CELLS_6) return false;
    return count_bricks(&division) >= least_bricks * cuda_device_multiprocessors();
}

/* Whether so many bricks a multiprocessor suit the system: in three dimensions, and no more atoms in each than was tried. Melts
 * on an H200, every 20 steps, in G atom-steps/s (run/results/h200), by device and by cells: 6,912 atoms 1.65 and 1.33, 16,384 2.89
 * and 2.32, 32,000 4.24 and 3.45, 55,296 4.75 and 3.14, 70,304 5.72 and 4.31, 87,808 5.53 and 4.32; by device-2 and by cells:
 * 108,000 5.52 and 5.22, 131,072 5.58 and 5.03. Where device suits, device-2 was mostly slower: 32,000 4.55 and 4.77, 87,808
 * 5.30 and 5.78; by three and four a multiprocessor all were. */
static const double most_device_rows = 900, most_device_2_rows = 530;

static bool suits_device(const MdSystemPlan *plan, double range, int on_each) {
    const int most_bricks = on_each * cuda_device_multiprocessors(),
              cells = choose_device_cells(plan, range, most_bricks);
    const Division division =
        divide_by_device(plan->box.length, plan->box.dimension, range, brick_cells[cells], most_bricks);
    return plan->box.dimension == 3 &&
           largest_brick(&division, plan->n_atoms) <= (on_each == 1 ? most_device_rows : most_device_2_rows) &&
           has_room(&division, plan->n_atoms, range) && count_bricks(&division) >= least_bricks * most_bricks;
}

static void resolve_cells(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    const double range = range_of(config, plan);
    if (config->memory_sort != MD_SORT_BRICK) {
        if (config->memory_brick_grid == MD_BRICK_GRID_AUTO) config->memory_brick_grid = MD_BRICK_GRID_CELLS;
        return;
    }
    const int n_sms = cuda_device_multiprocessors();
    const bool asks_for_cells = config->memory_brick_cells != MD_BRICK_CELLS_AUTO;
    if (config->memory_brick_grid == MD_BRICK_GRID_AUTO) {
        const bool may_stay = config->launch_persistent != MD_PERSISTENT_OFF && config->launch_graph != MD_GRAPH_ON &&
                              config->launch_passes != MD_PASSES_QUEUE; /* blocks, from step to step */
        const bool suits_one = suits_device(plan, range, 1), suits_two = !suits_one && suits_device(plan, range, 2);
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
    const int on_each = bricks_on_each(config->memory_brick_grid);
    if (asks_for_cells) return;
    config->memory_brick_cells =
        on_each > 0 ? choose_device_cells(plan, range, on_each * n_sms) : choose_cells(plan, range);
    const Division division = divide(config, &plan->box, range, n_sms);
    md_choices_add(choices, "memory.brick_cells",
                   md_switch_words(MD_OPTION_memory_brick_cells)[config->memory_brick_cells],
                   "%s; up to %.0f atoms each, and %.0f with those around",
                   on_each > 0 ? "short cells" : "the most that leaves bricks for all multiprocessors",
                   largest_brick(&division, plan->n_atoms), staged_atoms(&division, plan->n_atoms, range));
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

static void resolve_row_threads(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->force_kernel != MD_KERNEL_BRICK || config->force_threads_per_atom != MD_THREADS_AUTO) return;
    const Division division = divide(config, &plan->box, range_of(config, plan), cuda_device_multiprocessors());
    const double rows = crowded(largest_brick(&division, plan->n_atoms), 2);
    const double on_each = ceil(count_bricks(&division) / cuda_device_multiprocessors());
    int log2_threads = 0;
    while (log2_threads < 3 &&
           rows * (2 << log2_threads) * on_each <= most_threads_of_bricks(config, on_each, log2_threads + 1))
        log2_threads++;
    config->force_threads_per_atom = log2_threads;
    md_choices_add(choices, "force.threads_per_atom", md_switch_words(MD_OPTION_force_threads_per_atom)[log2_threads],
                   "the most, up to 8, with which every brick has a block on the GPU, of not too many threads: %.0f a "
                   "multiprocessor, of %.0f rows",
                   on_each, rows);
}

/* What may be taken back needs registers, of which larger blocks have fewer a thread, shared memory, and bricks that are near each
 * other (kernels/step.cu). Melts on an H200, by local and by grid, in thousands of steps a second (run/results/h200): blocks of 320
 * threads (4,000 atoms) 258 and 219, of 544 (6,912) 217 and 200, of 576 (32,000) 108 and 110, of 832 (10,976) 149 and 157. */
static const double most_watching_threads = 544;

bool cuda_brick_suits_watch(const MdConfig *config, const MdSystemPlan *plan) {
    const Division division = divide(config, &plan->box, range_of(config, plan), cuda_device_multiprocessors());
    for (int a = 0; a < plan->box.dimension; a++) {
        const double bricks = division.bricks[a];
        if ((plan->box.periodic[a] ? floor(bricks / 2) : bricks - 1) > CUDA_MOST_APART) return false;
    }
    const int row_threads = cuda_force_row_threads(config);
    const double threads = crowded(largest_brick(&division, plan->n_atoms), row_threads) * row_threads,
                 staged = 1.25 * planned_room(&division, plan->n_atoms, range_of(config, plan)); /* and room to grow */
    const int on_each = bricks_on_each(config->memory_brick_grid);
    return on_each > 0 && on_each * threads <= most_watching_threads &&
           (double)cuda_force_held_bytes(config, CUDA_MAX_BLOCK) * threads / CUDA_MAX_BLOCK +
                   staged * 4 * (double)cuda_pair_size(config) <=
               (double)cuda_device_shared_bytes() / on_each;
}

/* Products of matrices and the order by banks that comes out of them: a search of a million atoms takes 0.46 ms in place of
 * 0.52 without and 0.93 with that order by threads, and forces 0.104 in place of 0.146 (run/results/h200). In two
 * dimensions, where few candidates are in vain, both lost. */
static void resolve_distances(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    const bool has_effect = config->force_kernel == MD_KERNEL_BRICK,
               orders = config->neighbor_bank_order != MD_BANK_ORDER_OFF;
    const int capability = has_effect ? cuda_device_compute_capability() : 0;
    const char *why_not = plan->box.dimension == 2              ? "few candidates are in vain in two dimensions"
                          : capability < CUDA_MATRIX_CAPABILITY ? "matrices take compute capability 9.0"
                          : !orders                             ? "matrices come with neighbor.bank_order = on"
                          : config->neighbor_rows_per_warp == MD_ROWS_PER_WARP_32
                              ? "neighbor.rows_per_warp = 32 was given"
                              : NULL;
    if (config->neighbor_distances == MD_DISTANCES_AUTO) {
        config->neighbor_distances = has_effect && !why_not ? MD_DISTANCES_MATRIX : MD_DISTANCES_THREAD;
        if (has_effect)
            md_choices_add(choices, "neighbor.distances", why_not ? "thread" : "matrix", "%s",
                           why_not ? why_not : "the fastest search of bricks in three dimensions");
    }
    if (config->neighbor_bank_order == MD_BANK_ORDER_AUTO) {
        const bool by_matrix = config->neighbor_distances == MD_DISTANCES_MATRIX;
        config->neighbor_bank_order = by_matrix ? MD_BANK_ORDER_ON : MD_BANK_ORDER_OFF;
        if (has_effect)
            md_choices_add(choices, "neighbor.bank_order", by_matrix ? "on" : "off",
                           by_matrix ? "neighbor.distances = matrix makes rows so"
                                     : "by threads it costs a rebuild what forces gain by it");
    }
}

/* Eight rows where each brick has a multiprocessor for itself: melts on an H200, search in us by eight and by sixteen:
 * 4,000 atoms 17.6 and 19.9, 32,000 37.4 and 40.7, 70,304 52.1 and 55.2 (run/results/h200, commit 7bf672a). */
static void resolve_rows_per_warp(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->neighbor_rows_per_warp != MD_ROWS_PER_WARP_AUTO) return;
    config->neighbor_rows_per_warp = MD_ROWS_PER_WARP_32;
    if (config->force_kernel != MD_KERNEL_BRICK || !has_matrices(config)) return;
    const int n_sms = cuda_device_multiprocessors(), on_each = bricks_on_each(config->memory_brick_grid);
    const Division division = divide(config, &plan->box, range_of(config, plan), n_sms);
    const bool are_few = on_each > 0 || count_bricks(&division) <= n_sms;
    config->neighbor_rows_per_warp = are_few ? MD_ROWS_PER_WARP_8 : MD_ROWS_PER_WARP_16;
    md_choices_add(choices, "neighbor.rows_per_warp", are_few ? "8" : "16", "%s",
                   are_few ? on_each > 1 ? "few bricks share the warps of a multiprocessor"
                                         : "a brick has all warps of a multiprocessor"
                           : "a load serves more rows");
}

/* Melts on an H200, every 20 steps: copies gain 1 to 2 % of a loop by kernels and 3 to 4 by a queue from a million atoms
 * on, 5 % in double precision, and nothing at 256,000. With the longer lists of a rebuild when needed they gain 1 % by a
 * queue and lose 1 to 2 by kernels, and where all bricks are on the GPU at once up to 10 (run/results/h200). */
static const double least_copied_bricks = 3;

void cuda_brick_resolve_staging(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->memory_staging != MD_STAGING_AUTO) return;
    config->memory_staging = MD_STAGING_REGISTERS;
    if (config->force_kernel != MD_KERNEL_BRICK) return;
    const Division division = divide(config, &plan->box, range_of(config, plan), cuda_device_multiprocessors());
    const char *why_not = config->memory_layout != MD_LAYOUT_VEC4 ? "copies take positions of memory.layout = vec4"
                          : config->memory_load != MD_LOAD_GLOBAL ? "copies take memory.load = global"
                          : cuda_device_compute_capability() < CUDA_COPY_CAPABILITY
                              ? "asynchronous copies take compute capability 8.0"
                          : config->neighbor_rebuild != MD_REBUILD_EVERY && config->launch_passes != MD_PASSES_QUEUE
                              ? "with the lists of a rebuild when needed copies were slower, but in a queue"
                          : count_bricks(&division) < least_copied_bricks * cuda_device_multiprocessors()
                              ? "few bricks for each multiprocessor"
                              : NULL;
    if (!why_not) config->memory_staging = MD_STAGING_ASYNC;
    md_choices_add(choices, "memory.staging", why_not ? "registers" : "async", "%s",
                   why_not ? why_not : "a multiprocessor has many bricks, one after the other");
}

void cuda_brick_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    resolve_cells(config, plan, choices);
    resolve_distances(config, plan, choices);
    resolve_rows_per_warp(config, plan, choices);
    resolve_row_threads(config, plan, choices);
}

/* The queue counts the bricks of all passes of a batch, and blocks that find none, in 32 bits. */
enum { MOST_QUEUED = INT32_MAX / CUDA_GRAPH_STEPS };

MdStatus cuda_brick_check(const MdConfig *config, const MdSystemPlan *plan, MdErrors *errors) {
    if (config->force_kernel != MD_KERNEL_BRICK) return MD_OK;
    const double range = range_of(config, plan);
    const int cells = brick_cells[config->memory_brick_cells];
    const Division division = divide(config, &plan->box, range, cuda_device_multiprocessors());
    const double staged = staged_atoms(&division, plan->n_atoms, range);
    const int capability = cuda_device_compute_capability();
    if (has_matrices(config) && capability < CUDA_MATRIX_CAPABILITY)
        return md_fail(errors, MD_ERROR_INPUT,
                       "neighbor.distances=matrix: needs compute capability 9.0, and this GPU has %d.%d: take thread",
                       capability / 10, capability % 10);
    if (config->memory_staging == MD_STAGING_ASYNC && capability < CUDA_COPY_CAPABILITY)
        return md_fail(errors, MD_ERROR_INPUT,
                       "memory.staging=async: needs compute capability 8.0, and this GPU has %d.%d: take registers",
                       capability / 10, capability % 10);
    if (config->launch_passes == MD_PASSES_QUEUE && count_bricks(&division) > MOST_QUEUED)
        return md_fail(
            errors, MD_ERROR_INPUT,
            "launch.passes=queue: counts to %lld bricks, and this system may have more: take kernels, or more cells a "
            "brick",
            (long long)MOST_QUEUED);
    if (staged <= CUDA_MAX_STAGED && candidate_atoms(&division, plan->n_atoms) <= CUDA_MAX_CANDIDATES &&
        cells_fit(cells, plan->box.dimension))
        return MD_OK;
    return md_fail(
        errors, MD_ERROR_INPUT,
        "force.kernel=brick: with memory.brick_cells=%d a block would stage %.0f atoms of %.0f in %.0f cells, and has "
        "room for %d of %d in %d: take fewer cells, a smaller cutoff or neighbor.skin, or another force.kernel",
        cells, staged, candidate_atoms(&division, plan->n_atoms), pow(cells + 2, plan->box.dimension), CUDA_MAX_STAGED,
        CUDA_MAX_CANDIDATES, CUDA_BRICK_STENCIL);
}

/* --- room ---------------------------------------------------------------------------------------------------------- */

/* What the search has in shared memory: an atom as the force kernel has it, or four doubles; the cells (kernels/brick_stage.cuh:
 * three numbers and two bytes each); and for each warp of kernels/brick_matrix.cuh those entries without a place and the
 * eights of atoms it is to test, four of which may stand behind the last. */
static size_t staged_atom_bytes(const CudaContext *context) {
    return has_matrices(&context->config) ? 4 * sizeof(double) : 4 * context->pair_size;
}
/* To 16: kernels read several entries at once. */
static size_t round_up(double bytes) { return ((size_t)bytes + 15) / 16 * 16; }
static CudaBricks room_of(const CudaContext *context, int32_t atoms) {
    CudaBricks bricks = context->arguments.bricks;
    const int eights = (atoms + CUDA_STAGED_BESIDE) / 8 + 4, rows = cuda_brick_rows_of_warp(&context->config);
    bricks.capacity = atoms;
    bricks.cell_bytes = (int32_t)round_up(14 * pow(context->brick_cells + 2, context->box.dimension) + 8);
    bricks.warp_bytes = has_matrices(&context->config) ? (int32_t)round_up(2 * (rows * CUDA_MOST_SPARES + eights)) : 0;
    return bricks;
}

size_t cuda_brick_search_bytes(const CudaContext *context, int block) {
    const CudaBricks *bricks = &context->arguments.bricks;
    return ((size_t)bricks->capacity + CUDA_STAGED_BESIDE) * staged_atom_bytes(context) + (size_t)bricks->cell_bytes +
           (size_t)block / 32 * (size_t)bricks->warp_bytes;
}

/* Atoms that a block can stage on this GPU, at most: beside them there are the tables, for as many atoms as any block has. */
static int32_t most_staged(const CudaContext *context) {
    const CudaKernel *search = &context->kernels[CUDA_K_neighbor_brick];
    const CudaBricks most = room_of(context, CUDA_MAX_STAGED);
    const int64_t tables = most.cell_bytes + search->block_size / 32 * most.warp_bytes;
    const int64_t atoms =
        (cuda_device_shared_bytes() - (int64_t)search->static_shared - tables) / (int64_t)staged_atom_bytes(context);
    return (int32_t)fmin((double)(atoms - CUDA_STAGED_BESIDE), CUDA_MAX_STAGED);
}

void cuda_brick_plan(CudaContext *context) {
    if (!cuda_brick_sorts(context)) return;
    const Division division = divide(&context->config, &context->box, context->range, cuda_device_multiprocessors());
    context->brick_cells = brick_cells[context->config.memory_brick_cells];
    context->brick_grid = context->config.memory_brick_grid;
    context->arguments.bricks = room_of(context, planned_room(&division, context->n_atoms, context->range));
}

void cuda_brick_plan_tables(CudaContext *context) {
    if (!cuda_force_has_bricks(context)) return;
    CudaArguments *a = &context->arguments;
    const int64_t n = context->n_atoms;
    const Division division = divide(&context->config, &context->box, context->range, cuda_device_multiprocessors());
    const double n_bricks = fmin(count_bricks(&division), context->max_cells); /* open axes: of the box as it stands */
    context->max_bricks = (int64_t)n_bricks;
    a->bricks.source_capacity = (int64_t)fmin(a->bricks.capacity * n_bricks, 27.0 * (double)n);
    /* The last slice of a brick is half full on the average, with a deviation of 0.29; most of very many are void. A crystal, whose
     * bricks are all alike, may take more. */
    const double begun = fmin(n_bricks, (double)(n / 16)), deviation = 0.29 * sqrt(begun);
    a->bricks.slice_capacity = n / 32 + 1 + (int64_t)fmin(0.5 * begun + 6 * deviation + 1, begun);
}

/* One thread a row: half as many threads, since blocks stage and compute in turns, and so that they do at different times
 * it takes several on a multiprocessor. `whole`: as many as rows. Several: all rows at once, as far as a block has room for
 * them. */
static int threads_of_block(const MdConfig *config, double rows, int row_threads, bool whole) {
    const double wanted = crowded(rows, row_threads) * row_threads;
    const double rounds = row_threads == 1 && !whole ? 2 : ceil(wanted / CUDA_MAX_BLOCK);
    const int warps = (int)fmin(fmax(ceil(wanted / rounds / 32), 2), CUDA_MAX_BLOCK / 32);
    if (config->reduce_method >= MD_METHOD_SHUFFLE) return 32 * warps;
    int power = 2; /* trees need one */
    while (power < warps) power *= 2;
    return 32 * power;
}

/* By matrices a warp takes 16 rows at a time; as many warps as two blocks of a multiprocessor have registers for, or one, of 8
 * rows. Where few rows have a multiprocessor for themselves, more warps stage what is around them. */
int cuda_brick_search_block_size(const CudaTarget *target, double range) {
    const MdConfig *config = target->config;
    const Division division = divide(config, target->box, range, target->n_sms);
    const double largest = largest_brick(&division, target->n_atoms), rows = 1.03 * largest;
    if (!has_matrices(config))
        return threads_of_block(config, largest, 1, config->run_precision == MD_PRECISION_DOUBLE);
    const int of_warp = cuda_brick_rows_of_warp(config);
    const int on_each = bricks_on_each(config->memory_brick_grid);
    const double least_warps = count_bricks(&division) <= target->n_sms ? 8 : 2,
                 most_warps = of_warp == 8 ? 32.0 / fmax(on_each, 1) : 16;
    const double warps = fmax(ceil(rows / of_warp), least_warps);
    return 32 * (int)ceil(warps / ceil(warps / most_warps));
}

/* Bricks a multiprocessor between which a queue takes blocks of a thread a row: a pass of 512 bricks took 26.4 us by them
 * and 27.8 by blocks of half as many threads, of 343 25.0 and 24.4, of 729 35.9 and 35.3 (H200, run/results/h200). */
static const double least_whole_bricks = 3, most_whole_bricks = 5;

/* As many threads as rows where blocks are few: in double precision two are all that shared memory holds, and in a queue no
 * more can begin at a time than stand between a brick and what it waits for. */
int cuda_brick_block_size(const CudaTarget *target, double range, int row_threads) {
    const MdConfig *config = target->config;
    const Division division = divide(config, target->box, range, target->n_sms);
    const double n_bricks = count_bricks(&division);
    const bool are_few = config->launch_passes == MD_PASSES_QUEUE && n_bricks > least_whole_bricks * target->n_sms &&
                         n_bricks < most_whole_bricks * target->n_sms;
    return threads_of_block(config, largest_brick(&division, target->n_atoms), row_threads,
                            are_few || config->memory_brick_grid != MD_BRICK_GRID_CELLS ||
                                config->run_precision == MD_PRECISION_DOUBLE);
}

/* Smaller bricks: as many as the cells make, in place of one a multiprocessor; then of fewer cells, which stay what they
 * are. staged: atoms of the fullest block, or where those of its cells are more than it can look at, these. */
static MdStatus divide_further(CudaContext *context, int32_t staged) {
    const bool by_device = context->brick_grid != MD_BRICK_GRID_CELLS;
    const bool is_asked_for = by_device ? context->asked.memory_brick_grid != MD_BRICK_GRID_AUTO
                                        : context->asked.memory_brick_cells != MD_BRICK_CELLS_AUTO;
    if (is_asked_for || (!by_device && context->brick_cells == 1))
        return md_fail(
            context->errors, MD_ERROR_INPUT,
            "force.kernel=brick: a block would have %d atoms of a brick and around it, and can stage %d here: "
            "take %s",
            staged, most_staged(context),
            by_device                   ? "memory.brick_grid=cells, or auto"
            : context->brick_cells == 1 ? "another force.kernel"
                                        : "a smaller memory.brick_cells, or auto");
    if (by_device) context->brick_grid = MD_BRICK_GRID_CELLS;
    else context->brick_cells--;
    CudaGrid grid = context->arguments.grid;
    double extent[3];
    for (int a = 0; a < 3; a++) extent[a] = grid.inverse_edge[a] > 0 ? grid.n[a] / grid.inverse_edge[a] : 0;
    cuda_sort_fill(context, extent, &grid);
    cuda_sort_again(context, &grid);
    context->arguments.n_force_items = cuda_force_items(context);
    return MD_OK;
}

MdStatus cuda_brick_make_room(CudaContext *context, bool *fits) {
    const CudaMeasures *found = &context->h_watch->measures;
    CudaBricks *bricks = &context->arguments.bricks;
    const int64_t n_sources = (int64_t)found->sources, n_slices = (int64_t)found->slices;
    *fits =
        found->staged <= bricks->capacity && n_sources <= bricks->source_capacity && n_slices <= bricks->slice_capacity;
    if (*fits) return MD_OK;
    context->n_overflows++;
    if (found->staged > most_staged(context)) {
        MdStatus status = divide_further(context, found->staged);
        if (status != MD_OK) return status;
    } else if (found->staged > bricks->capacity) {
        *bricks = room_of(context, room_for(1.1 * found->staged, most_staged(context)));
        MdStatus status = cuda_kernels_fit_shared(context);
        if (status != MD_OK) return status;
    }
    return cuda_memory_grow_bricks(context, n_sources > bricks->source_capacity ? n_sources + n_sources / 10 : 0,
                                   n_slices > bricks->slice_capacity ? n_slices + n_slices / 32 : 0);
}
