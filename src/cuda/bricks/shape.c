/* Bricks of cells, host side (memory.sort = brick, force.kernel = brick): the room that their blocks need.
 * division.c has their sizes, choices.c the choices of auto. The kernels are in kernels/bricks/{search,load_tile,force}.cuh.
 *
 * The largest brick that fits has the smallest halo: with three cells along each edge a block looks into 125 cells for 27. The
 * staged atoms must fit its shared memory and 12 bits of an entry. Rooms are planned for a uniform system; one that is
 * denser somewhere is noticed when the list is built, and gets more room or smaller bricks. */
#include <math.h>

#include "cuda/bricks/bricks.h"
#include "cuda/device/device.h"

/* --- threads of a block ------------------------------------------------------------------------------------------------ */

/* One thread a row: half as many threads, since blocks stage and compute in turns, and so that they do at different times
 * it takes several on a multiprocessor. `whole`: as many as rows. Several: all rows at once, as far as a block has room for
 * them. */
static int threads_of_block(const MdConfig *config, double rows, int threads_per_atom, bool whole) {
    const double wanted = cuda_brick_likely_rows(rows, threads_per_atom) * threads_per_atom;
    const double rounds = threads_per_atom == 1 && !whole ? 2 : ceil(wanted / CUDA_MAX_BLOCK);
    const int warps = (int)fmin(fmax(ceil(wanted / rounds / 32), 2), CUDA_MAX_BLOCK / 32);
    if (config->reduce_method >= MD_METHOD_SHUFFLE) return 32 * warps;
    int power = 2; /* trees need one */
    while (power < warps) power *= 2;
    return 32 * power;
}

/* By matrices a warp searches 16 rows at a time; a block has as many warps as leave registers for a second block on the
 * multiprocessor. With one brick or two a multiprocessor a warp searches 8, and the blocks share 32 warps. Where a brick has few rows,
 * more warps load the tile. */
int cuda_brick_search_block_size(const CudaTarget *target, double range) {
    const MdConfig *config = target->config;
    const CudaDivision division = cuda_divide(config, target->box, range, target->n_sms);
    const double largest = cuda_division_largest(&division, target->n_atoms), rows = 1.03 * largest;
    if (!cuda_facts(config).has_matrices)
        return threads_of_block(config, largest, 1, config->run_precision == MD_PRECISION_DOUBLE);
    const int of_warp = cuda_facts(config).rows_per_warp;
    const int on_each = cuda_bricks_on_each(config->memory_brick_grid);
    const double least_warps = cuda_division_bricks(&division) <= target->n_sms ? 8 : 2,
                 most_warps = on_each > 0 ? 32.0 / on_each : 16;
    const double warps = fmax(ceil(rows / of_warp), least_warps);
    return 32 * (int)ceil(warps / ceil(warps / most_warps));
}

/* Bricks a multiprocessor between which a queue takes blocks of a thread a row: a pass of 512 bricks took 26.4 us by them
 * and 27.8 by blocks of half as many threads, of 343 25.0 and 24.4, of 729 35.9 and 35.3 (H200, run/results/h200). */
static const double least_whole_bricks = 3, most_whole_bricks = 5;

/* As many threads as rows where blocks are few: in double precision two are all that shared memory holds, and in a queue no
 * more can begin at a time than are between a brick and the bricks that it waits for. */
int cuda_brick_block_size(const CudaTarget *target, double range, int threads_per_atom) {
    const MdConfig *config = target->config;
    const CudaDivision division = cuda_divide(config, target->box, range, target->n_sms);
    const double n_bricks = cuda_division_bricks(&division);
    const bool are_few = config->launch_passes == MD_PASSES_QUEUE && n_bricks > least_whole_bricks * target->n_sms &&
                         n_bricks < most_whole_bricks * target->n_sms;
    double rows = cuda_division_largest(&division, target->n_atoms);
    /* With several processes blocks should hold their staged atoms, as barriers of all GPUs are slow. Halves of a box have long bricks. */
    if (md_config_has_domains(config) && config->memory_brick_grid != MD_BRICK_GRID_CELLS && threads_per_atom == 1)
        rows = fmax(rows, cuda_division_staged(&division, target->n_atoms, range) / CUDA_MOST_HELD_SOURCES);
    return threads_of_block(config, rows, threads_per_atom,
                            are_few || config->memory_brick_grid != MD_BRICK_GRID_CELLS ||
                                config->run_precision == MD_PRECISION_DOUBLE);
}

/* Threads of a block of the search, or of one that computes forces: as asked for, or by the bricks. */
static int block_threads(const CudaTarget *target, bool searches) {
    const double range = cuda_list_range(target->config, target->potential);
    if (target->config->launch_block_size != MD_BLOCK_SIZE_AUTO) return 32 << target->config->launch_block_size;
    return searches ? cuda_brick_search_block_size(target, range)
                    : cuda_brick_block_size(target, range, cuda_facts(target->config).threads_per_atom);
}

/* --- room ---------------------------------------------------------------------------------------------------------- */

/* The shared memory of the search: an atom as in the force kernel, or four doubles; the cells (kernels/bricks/load_tile.cuh:
 * three numbers and two bytes each); and for each warp of kernels/bricks/search_matrix.cuh its spare entries and the table of
 * columns8 (tiles of 8 atoms) that it tests, with room for four after the last. */
size_t cuda_brick_staged_bytes(const MdConfig *config) {
    return cuda_facts(config).has_matrices ? 4 * sizeof(double) : 4 * cuda_facts(config).pair_size;
}
/* To 16: kernels read several entries at once. */
static size_t round_up(double bytes) { return ((size_t)bytes + 15) / 16 * 16; }
void cuda_brick_set_room(CudaBricks *bricks, const MdConfig *config, int cells, int dimension, int32_t atoms) {
    const int columns8 = (atoms + CUDA_STAGED_BESIDE) / 8 + 4, rows = cuda_facts(config).rows_per_warp;
    bricks->capacity = atoms;
    bricks->cell_bytes = (int32_t)round_up(14 * pow(cells + 2, dimension) + 8);
    bricks->warp_bytes =
        cuda_facts(config).has_matrices ? (int32_t)round_up(2 * (rows * CUDA_MOST_SPARES + columns8)) : 0;
}

size_t cuda_brick_search_bytes(const CudaBricks *bricks, const MdConfig *config, int block) {
    return ((size_t)bricks->capacity + CUDA_STAGED_BESIDE) * cuda_brick_staged_bytes(config) +
           (size_t)bricks->cell_bytes + (size_t)block / 32 * (size_t)bricks->warp_bytes;
}

size_t cuda_brick_force_bytes(const CudaBricks *bricks, const MdConfig *config) {
    return ((size_t)bricks->capacity + CUDA_STAGED_BESIDE) * 4 * cuda_facts(config).pair_size;
}

/* HeldAtom of kernels/batches/step_brick.cuh, for each row that a block of the resident kernel holds. */
size_t cuda_brick_held_bytes(const MdConfig *config, int block) {
    if (config->force_kernel != MD_KERNEL_BRICK || config->launch_fuse != MD_FUSE_STEP) return 0;
    const size_t state = cuda_facts(config).state_size, pair = cuda_facts(config).pair_size,
                 moving = 3 * state + 4 * pair;
    const size_t bytes = (cuda_facts(config).may_roll_back ? 3 * state : 0) +
                         (md_config_has_domains(config) ? state : 0) + moving + 3 * pair;
    return (size_t)(block / cuda_facts(config).threads_per_atom) * ((bytes + state - 1) / state * state);
}

/* No kernel of bricks declares more, of up to 1024 threads (the search 2.4 KiB, sums by warps 1.2, of reproducible ones 3.2; with those of
 * a tensor 2.8, and 7.7); and
 * trees of sums have for each thread two doubles or one float. */
static const size_t most_static_shared = 3 << 10, more_of_parts = 2 << 10, most_tree_bytes = 20;

size_t cuda_brick_shared_bytes(const MdConfig *config, const MdSystemPlan *plan) {
    const double range = cuda_list_range(config, &plan->potential);
    const CudaTarget target = {.config = config,
                               .box = &plan->box,
                               .potential = &plan->potential,
                               .n_atoms = plan->n_atoms,
                               .n_sms = cuda_device_multiprocessors()};
    const CudaDivision division = cuda_divide(config, &plan->box, range, target.n_sms);
    const int block = block_threads(&target, false);
    const bool is_resident = config->launch_persistent == MD_PERSISTENT_ON,
               has_trees = config->reduce_method == MD_METHOD_SHARED || config->reduce_method == MD_METHOD_SYNCWARP,
               has_tensor = config->analysis_pressure == MD_PRESSURE_TENSOR;
    CudaBricks bricks = {0};
    cuda_brick_set_room(&bricks, config, cuda_brick_cells[config->memory_brick_cells], plan->box.dimension,
                        cuda_division_room(&division, plan->n_atoms, range));
    const size_t search = cuda_brick_search_bytes(&bricks, config, block_threads(&target, true)),
                 forces = cuda_brick_force_bytes(&bricks, config) + (has_trees ? most_tree_bytes * (size_t)block : 0) +
                          (is_resident ? cuda_brick_held_bytes(config, block) : 0);
    return most_static_shared + (cuda_facts(config).sum_parts > 1 ? (has_tensor ? 3 : 1) * more_of_parts : 0) +
           (search > forces ? search : forces);
}

int cuda_brick_held_sources(const CudaTarget *target, int block) {
    const double range = cuda_list_range(target->config, target->potential);
    if (target->config->force_kernel != MD_KERNEL_BRICK) return 1;
    for (int axis = 0; axis < target->box->dimension; axis++)
        if (!target->box->periodic[axis]) return CUDA_MOST_HELD_SOURCES; /* the system is as long as it comes to be */
    const CudaDivision division = cuda_divide(target->config, target->box, range, target->n_sms);
    const int32_t room = cuda_division_room(&division, target->n_atoms, range);
    return (int)fmin(ceil((double)room / block), CUDA_MOST_HELD_SOURCES);
}

/* Every 20 steps on an H200, by launch.barrier = local and grid, in thousands of steps a second
 * (run/results/h200/LOG.md has the commits): held are 32,000 atoms, 162.9 and 139.1, 78,732, 87.1 and 82.5, and
 * 97,556, 67.5 and 65.5; not held are the staged atoms of bricks of 108,000 atoms, 56.0 and 62.2, of 119,164, 42.5 and 46.4, and of 131,072, 44.3
 * and 46.6; nor, in two dimensions, the rows of 32,400, 131.2 and 165.4, and of 44,100, 130.2 and 164.1. */
bool cuda_brick_is_held(const CudaTarget *target) {
    const double range = cuda_list_range(target->config, target->potential);
    const CudaDivision division = cuda_divide(target->config, target->box, range, target->n_sms);
    const int block = block_threads(target, false);
    return cuda_division_largest(&division, target->n_atoms) * cuda_facts(target->config).threads_per_atom <= block &&
           cuda_division_staged(&division, target->n_atoms, range) <= CUDA_MOST_HELD_SOURCES * block;
}
