/* Bricks of cells, host side (memory.sort = brick, force.kernel = brick): the room that their blocks need.
 * How large they are, division.c tells, and choices.c what auto takes. The kernels stand in kernels/bricks/search.cuh, load_tile.cuh and kernels/bricks/force.cuh.
 *
 * A brick as large as fits has the least around it: with three cells along each edge a block looks into 125 cells for 27. What
 * it stages must fit its shared memory and 12 bits of an entry. Rooms are planned for a uniform system; one that is
 * denser somewhere is noticed when the list is built, and gets more room or smaller bricks. */
#include <math.h>

#include "cuda/bricks/division.h"

bool cuda_brick_has_matrices(const MdConfig *config) { return config->neighbor_distances == MD_DISTANCES_MATRIX; }

bool cuda_brick_sorts(const CudaContext *context) { return context->config.memory_sort == MD_SORT_BRICK; }

int cuda_brick_rows_of_warp(const MdConfig *config) {
    return config->neighbor_rows_per_warp == MD_ROWS_PER_WARP_8 ? 8 : 16;
}

int64_t cuda_brick_count(const CudaGrid *grid) {
    return (int64_t)grid->n_bricks[0] * grid->n_bricks[1] * grid->n_bricks[2];
}

void cuda_brick_divide(const CudaContext *context, const double extent[3], CudaGrid *grid) {
    const int dimension = context->box.dimension, cells = context->brick_cells;
    const int on_each = cuda_bricks_on_each(context->brick_grid);
    if (on_each > 0) {
        const CudaDivision division =
            cuda_divide_by_device(extent, dimension, context->range, cells, on_each * cuda_device_multiprocessors());
        for (int a = 0; a < 3; a++) {
            grid->n[a] = (int)fmin(grid->n[a], division.cells[a]);
            grid->n_bricks[a] = (int)fmin(grid->n[a], division.bricks[a]);
        }
    } else {
        for (int a = 0; a < 3; a++) grid->n_bricks[a] = a < dimension ? (grid->n[a] + cells - 1) / cells : 1;
    }
}

/* --- room ---------------------------------------------------------------------------------------------------------- */

/* What the search has in shared memory: an atom as the force kernel has it, or four doubles; the cells (kernels/bricks/load_tile.cuh:
 * three numbers and two bytes each); and for each warp of kernels/bricks/search_matrix.cuh those entries without a place and the
 * eights of atoms it is to test, four of which may stand behind the last. */
static size_t staged_atom_bytes(const MdConfig *config) {
    return cuda_brick_has_matrices(config) ? 4 * sizeof(double) : 4 * cuda_pair_size(config);
}
/* To 16: kernels read several entries at once. */
static size_t round_up(double bytes) { return ((size_t)bytes + 15) / 16 * 16; }
static void make_room(CudaBricks *bricks, const MdConfig *config, int cells, int dimension, int32_t atoms) {
    const int eights = (atoms + CUDA_STAGED_BESIDE) / 8 + 4, rows = cuda_brick_rows_of_warp(config);
    bricks->capacity = atoms;
    bricks->cell_bytes = (int32_t)round_up(14 * pow(cells + 2, dimension) + 8);
    bricks->warp_bytes =
        cuda_brick_has_matrices(config) ? (int32_t)round_up(2 * (rows * CUDA_MOST_SPARES + eights)) : 0;
}
static CudaBricks room_of(const CudaContext *context, int32_t atoms) {
    CudaBricks bricks = context->arguments.bricks;
    make_room(&bricks, &context->config, context->brick_cells, context->box.dimension, atoms);
    return bricks;
}

size_t cuda_brick_search_bytes(const CudaBricks *bricks, const MdConfig *config, int block) {
    return ((size_t)bricks->capacity + CUDA_STAGED_BESIDE) * staged_atom_bytes(config) + (size_t)bricks->cell_bytes +
           (size_t)block / 32 * (size_t)bricks->warp_bytes;
}

size_t cuda_brick_force_bytes(const CudaBricks *bricks, const MdConfig *config) {
    return ((size_t)bricks->capacity + CUDA_STAGED_BESIDE) * 4 * cuda_pair_size(config);
}

/* No kernel of bricks declares more, of up to 1024 threads (the search 2.4 KiB, sums by warps 1.2); and what trees of sums have for
 * each thread: two of doubles, one of floats. */
static const size_t most_static_shared = 3 << 10, most_tree_bytes = 20;

size_t cuda_brick_shared_bytes(const MdConfig *config, const MdSystemPlan *plan) {
    const double range = cuda_neighbor_range(config, &plan->potential);
    const CudaTarget target = {.config = config,
                               .box = &plan->box,
                               .potential = &plan->potential,
                               .n_atoms = plan->n_atoms,
                               .n_sms = cuda_device_multiprocessors()};
    const CudaDivision division = cuda_divide(config, &plan->box, range, target.n_sms);
    const int block = cuda_kernels_block_size(&target, CUDA_STEP);
    const bool is_resident = config->launch_persistent == MD_PERSISTENT_ON,
               has_trees = config->reduce_method == MD_METHOD_SHARED || config->reduce_method == MD_METHOD_SYNCWARP;
    CudaBricks bricks = {0};
    make_room(&bricks, config, cuda_brick_cells[config->memory_brick_cells], plan->box.dimension,
              cuda_division_room(&division, plan->n_atoms, range));
    const size_t search = cuda_brick_search_bytes(&bricks, config, cuda_kernels_block_size(&target, CUDA_NEIGHBOR)),
                 forces = cuda_brick_force_bytes(&bricks, config) + (has_trees ? most_tree_bytes * (size_t)block : 0) +
                          (is_resident ? cuda_force_held_bytes(config, block) : 0);
    return most_static_shared + (search > forces ? search : forces);
}

/* Atoms for which a kernel has room on this GPU, with so many bytes for each and so many beside them. */
static double staged_by(const CudaContext *context, CudaKernelId id, size_t beside, size_t atom_bytes) {
    const double bytes = (double)cuda_device_shared_bytes() - (double)(context->kernels[id].static_shared + beside);
    return floor(bytes / (double)atom_bytes) - CUDA_STAGED_BESIDE;
}

/* Atoms that a block can stage on this GPU, at most: beside them there are the tables of the search, for as many atoms as any
 * block has, and what the resident kernel holds. */
static int32_t most_staged(const CudaContext *context) {
    static const CudaKernelId by_pairs[] = {CUDA_K_force_plain, CUDA_K_force_energy, CUDA_K_step_resident,
                                            CUDA_K_step_pass, CUDA_K_step_queue};
    const CudaKernel *search = &context->kernels[CUDA_K_neighbor_brick];
    const CudaBricks most = room_of(context, CUDA_MAX_STAGED);
    const size_t tables = (size_t)(most.cell_bytes + search->block_size / 32 * most.warp_bytes);
    double atoms = staged_by(context, CUDA_K_neighbor_brick, tables, staged_atom_bytes(&context->config));
    for (size_t k = 0; k < sizeof by_pairs / sizeof by_pairs[0]; k++) {
        const CudaKernel *kernel = &context->kernels[by_pairs[k]];
        const size_t held =
            by_pairs[k] == CUDA_K_step_resident ? cuda_force_held_bytes(&context->config, kernel->block_size) : 0;
        if (kernel->function) atoms = fmin(atoms, staged_by(context, by_pairs[k], held, 4 * context->pair_size));
    }
    return (int32_t)fmin(atoms, CUDA_MAX_STAGED);
}

void cuda_brick_plan(CudaContext *context) {
    if (!cuda_brick_sorts(context)) return;
    const CudaDivision division =
        cuda_divide(&context->config, &context->box, context->range, cuda_device_multiprocessors());
    context->brick_cells = cuda_brick_cells[context->config.memory_brick_cells];
    context->brick_grid = context->config.memory_brick_grid;
    context->arguments.bricks = room_of(context, cuda_division_room(&division, context->n_atoms, context->range));
}

/* No more slices than that, unless most bricks have an atom or two: whole ones, and one of each brick that is begun. */
static int64_t most_slices(int64_t n_atoms, double n_bricks) {
    return n_atoms / 32 + 1 + (int64_t)fmin(n_bricks, (double)(n_atoms / 16)); /* most of very many bricks are void */
}

/* Slices of a brick that has so many atoms on the average, with that deviation: one if it has any, one more beyond 32, ... */
static double slices_of_brick(double atoms, double deviation) {
    double sum = 0;
    for (double full = 0; full < atoms + 6 * deviation; full += 32)
        sum += 0.5 * erfc((full - atoms) / (deviation * sqrt(2)));
    return sum;
}

/* Those that will be filled, and six deviations of what is begun in all bricks. The atoms of a brick fluctuate, in a liquid by a third
 * of their root, in a gas by all of it. A crystal, whose bricks are all alike, may take more, and gets them at the first build. */
static int64_t planned_slices(const CudaDivision *division, int64_t n_atoms, double n_bricks) {
    double filled = 0;
    for (int size = 0; size < 1 << 3; size++) { /* bricks that are large along an axis, or not */
        double count = 1, atoms = (double)n_atoms;
        for (int a = 0; a < 3; a++) {
            const double small = floor(division->cells[a] / division->bricks[a]),
                         n_large = division->cells[a] - small * division->bricks[a];
            const bool is_large = (size >> a & 1) != 0;
            count *= is_large ? n_large : division->bricks[a] - n_large;
            atoms *= (small + is_large) / division->cells[a];
        }
        if (count > 0 && atoms > 0)
            filled += count * fmax(slices_of_brick(atoms, sqrt(atoms) / 3), slices_of_brick(atoms, sqrt(atoms)));
    }
    const double planned = filled + 6 * 0.29 * sqrt(n_bricks) + 1, most = (double)most_slices(n_atoms, n_bricks);
    return (int64_t)fmin(planned, most);
}

void cuda_brick_plan_tables(CudaContext *context) {
    if (!cuda_force_has_bricks(context)) return;
    CudaArguments *a = &context->arguments;
    const int64_t n = context->n_atoms;
    const CudaDivision division =
        cuda_divide(&context->config, &context->box, context->range, cuda_device_multiprocessors());
    const double n_bricks =
        fmin(cuda_division_bricks(&division), context->max_cells); /* open axes: of the box as it stands */
    context->max_bricks = (int64_t)n_bricks;
    a->bricks.source_capacity = (int64_t)fmin(a->bricks.capacity * n_bricks, 27.0 * (double)n);
    a->bricks.slice_capacity = planned_slices(&division, n, n_bricks);
}

/* One thread a row: half as many threads, since blocks stage and compute in turns, and so that they do at different times
 * it takes several on a multiprocessor. `whole`: as many as rows. Several: all rows at once, as far as a block has room for
 * them. */
static int threads_of_block(const MdConfig *config, double rows, int row_threads, bool whole) {
    const double wanted = cuda_brick_crowded(rows, row_threads) * row_threads;
    const double rounds = row_threads == 1 && !whole ? 2 : ceil(wanted / CUDA_MAX_BLOCK);
    const int warps = (int)fmin(fmax(ceil(wanted / rounds / 32), 2), CUDA_MAX_BLOCK / 32);
    if (config->reduce_method >= MD_METHOD_SHUFFLE) return 32 * warps;
    int power = 2; /* trees need one */
    while (power < warps) power *= 2;
    return 32 * power;
}

/* By matrices a warp takes 16 rows at a time; as many warps as two blocks of a multiprocessor have registers for, or one, of 8
 * rows, which those of a multiprocessor share out. Where few rows have it for themselves, more warps stage what is around them. */
int cuda_brick_search_block_size(const CudaTarget *target, double range) {
    const MdConfig *config = target->config;
    const CudaDivision division = cuda_divide(config, target->box, range, target->n_sms);
    const double largest = cuda_division_largest(&division, target->n_atoms), rows = 1.03 * largest;
    if (!cuda_brick_has_matrices(config))
        return threads_of_block(config, largest, 1, config->run_precision == MD_PRECISION_DOUBLE);
    const int of_warp = cuda_brick_rows_of_warp(config);
    const int on_each = cuda_bricks_on_each(config->memory_brick_grid);
    const double least_warps = cuda_division_bricks(&division) <= target->n_sms ? 8 : 2,
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
    const CudaDivision division = cuda_divide(config, target->box, range, target->n_sms);
    const double n_bricks = cuda_division_bricks(&division);
    const bool are_few = config->launch_passes == MD_PASSES_QUEUE && n_bricks > least_whole_bricks * target->n_sms &&
                         n_bricks < most_whole_bricks * target->n_sms;
    return threads_of_block(config, cuda_division_largest(&division, target->n_atoms), row_threads,
                            are_few || config->memory_brick_grid != MD_BRICK_GRID_CELLS ||
                                config->run_precision == MD_PRECISION_DOUBLE);
}

int cuda_brick_held_sources(const CudaTarget *target, int block) {
    const double range = cuda_neighbor_range(target->config, target->potential);
    if (target->config->force_kernel != MD_KERNEL_BRICK) return 1;
    for (int axis = 0; axis < target->box->dimension; axis++)
        if (!target->box->periodic[axis]) return CUDA_MOST_HELD_SOURCES; /* the system is as long as it comes to be */
    const CudaDivision division = cuda_divide(target->config, target->box, range, target->n_sms);
    const int32_t room = cuda_division_room(&division, target->n_atoms, range);
    return (int)fmin(ceil((double)room / block), CUDA_MOST_HELD_SOURCES);
}

/* Every 20 steps on an H200, by launch.barrier = local and grid, in thousands of steps a second
 * (run/results/h200/LOG.md has the commits): held are 32,000 atoms, 162.9 and 139.1, 78,732, 87.1 and 82.5, and
 * 97,556, 67.5 and 65.5; not what the bricks of 108,000 atoms stage, 56.0 and 62.2, of 119,164, 42.5 and 46.4, and of 131,072, 44.3
 * and 46.6; nor, in two dimensions, the rows of 32,400, 131.2 and 165.4, and of 44,100, 130.2 and 164.1. */
bool cuda_brick_is_held(const CudaTarget *target) {
    const double range = cuda_neighbor_range(target->config, target->potential);
    const CudaDivision division = cuda_divide(target->config, target->box, range, target->n_sms);
    const int block = cuda_kernels_block_size(target, CUDA_STEP);
    return cuda_division_largest(&division, target->n_atoms) * cuda_force_row_threads(target->config) <= block &&
           cuda_division_staged(&division, target->n_atoms, range) <= CUDA_MOST_HELD_SOURCES * block;
}

/* Smaller bricks: as many as the cells make, in place of one or two a multiprocessor; then of fewer cells, which stay what they
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
        *bricks = room_of(context, cuda_brick_room_for(1.1 * found->staged, most_staged(context)));
        MdStatus status = cuda_kernels_fit_shared(context);
        if (status != MD_OK) return status;
    }
    const int64_t most = most_slices(context->n_atoms, (double)cuda_brick_count(&context->arguments.grid));
    int64_t more_slices = n_slices > bricks->slice_capacity ? n_slices + n_slices / 32 : 0;
    if (more_slices > most && most >= n_slices) more_slices = most;
    return cuda_memory_grow_bricks(context, n_sources > bricks->source_capacity ? n_sources + n_sources / 10 : 0,
                                   more_slices);
}
