/* Bricks of cells, host side (memory.sort = brick, force.kernel = brick): how large they are, and the room that their blocks
 * need. The kernels stand in kernels/brick.cuh and kernels/force_brick.cuh.
 *
 * A brick as large as fits has the least around it: with three cells along each edge a block stages 125 cells for 27. What
 * it stages must fit its shared memory and 12 bits of an entry. Rooms are planned for a uniform system; one that is
 * denser somewhere is noticed when the list is built, and gets more room or smaller bricks. */
#include <math.h>

#include "cuda/context.h"

static const int brick_cells[] = {[MD_BRICK_CELLS_1] = 1, [MD_BRICK_CELLS_2] = 2, [MD_BRICK_CELLS_3] = 3,
                                  [MD_BRICK_CELLS_4] = 4, [MD_BRICK_CELLS_6] = 6, [MD_BRICK_CELLS_8] = 8};

bool cuda_brick_sorts(const CudaContext *context) { return context->config.memory_sort == MD_SORT_BRICK; }

static bool has_matrices(const MdConfig *config) { return config->neighbor_distances == MD_DISTANCES_MATRIX; }

int64_t cuda_brick_count(const CudaGrid *grid) {
    return (int64_t)grid->n_bricks[0] * grid->n_bricks[1] * grid->n_bricks[2];
}

void cuda_brick_divide(const CudaContext *context, CudaGrid *grid) {
    for (int a = 0; a < 3; a++) {
        const int cells = a < context->box.dimension ? context->brick_cells : 1;
        grid->n_bricks[a] = (grid->n[a] + cells - 1) / cells;
    }
}

/* Atoms in a cube of that many ranges, in a uniform system. */
static double atoms_in(const MdBox *box, int64_t n_atoms, double edge) {
    double atoms = (double)n_atoms;
    for (int a = 0; a < box->dimension; a++) atoms *= edge / fmax(box->length[a], edge);
    return atoms;
}

/* Atoms that a block stages: of a brick and the cells around it. Cells are somewhat longer than the range. */
static double staged_atoms(const MdBox *box, int64_t n_atoms, double range, int cells) {
    double atoms = (double)n_atoms;
    for (int a = 0; a < box->dimension; a++) {
        const double n = cuda_sort_cells_along(box->length[a], range), n_bricks = ceil(n / cells);
        atoms *= (ceil(n / n_bricks) + 2) / n; /* more than all where cells are there as several images */
    }
    return atoms;
}

/* Atoms of the largest brick of a uniform system, and how many bricks there are. */
static double largest_brick(const MdBox *box, int64_t n_atoms, double range, int cells) {
    double rows = (double)n_atoms;
    for (int a = 0; a < box->dimension; a++) {
        const double n = cuda_sort_cells_along(box->length[a], range);
        rows *= ceil(n / ceil(n / cells)) / n;
    }
    return rows;
}

/* Atoms for which a brick of so many is to have threads. Where a round goes through all of them one atom more would cost
 * another one: their number fluctuates, in a liquid by a third of its root. */
static double crowded(double rows, int row_threads) { return row_threads == 1 ? 1.03 * rows : rows + sqrt(rows); }

static double count_bricks(const MdBox *box, double range, int cells) {
    double n_bricks = 1;
    for (int a = 0; a < box->dimension; a++) n_bricks *= ceil(cuda_sort_cells_along(box->length[a], range) / cells);
    return n_bricks;
}

/* Room for so many and some more, and no more than most. */
static int32_t room_for(double staged, int32_t most) { return (int32_t)fmin(ceil(staged / 64) * 64, most); }

/* Room for what a block stages, until it is known how much that is: liquids differ by a few dozen atoms, and with room for
 * many more there would be fewer blocks on a multiprocessor. */
static int32_t planned_room(const MdBox *box, int64_t n_atoms, double range, int cells) {
    const double staged = staged_atoms(box, n_atoms, range, cells);
    return room_for(fmin(1.02 * staged + 64, 27 * (double)n_atoms), CUDA_MAX_STAGED);
}

static bool cells_fit(int cells, int dimension) { return pow(cells + 2, dimension) <= CUDA_BRICK_STENCIL; }

/* Three cells along an edge, of which a block stages some 43 KiB in a liquid (of doubles twice as much), while that makes
 * bricks for every multiprocessor; more in two dimensions, and fewer where there is less room. */
static int choose_cells(const MdConfig *config, const MdSystemPlan *plan) {
    static const int candidates[] = {MD_BRICK_CELLS_8, MD_BRICK_CELLS_6, MD_BRICK_CELLS_4, MD_BRICK_CELLS_3,
                                     MD_BRICK_CELLS_2};
    const double range = plan->potential.cutoff_max + config->neighbor_skin;
    const double most_staged = 3000, most_rows = 640, least_bricks = cuda_device_multiprocessors();
    for (size_t k = 0; k < sizeof candidates / sizeof *candidates; k++) {
        const int cells = brick_cells[candidates[k]];
        const double rows = atoms_in(&plan->box, plan->n_atoms, cells * range);
        if (cells_fit(cells, plan->box.dimension) && rows <= most_rows &&
            staged_atoms(&plan->box, plan->n_atoms, range, cells) <= most_staged &&
            (double)plan->n_atoms >= least_bricks * rows)
            return candidates[k];
    }
    return MD_BRICK_CELLS_1;
}

/* A brick for most of the multiprocessors (melt of 4,000 atoms: 125 for 132). In double precision bricks are twice as fast as
 * rows of numbers at 32,000 and 256,000 atoms, too (run/results/h200). */
static const double least_bricks = 0.75;

bool cuda_brick_is_enough(const MdConfig *config, const MdSystemPlan *plan) {
    const int choice = choose_cells(config, plan);
    const double n_bricks =
        count_bricks(&plan->box, plan->potential.cutoff_max + config->neighbor_skin, brick_cells[choice]);
    if (plan->box.dimension == 2 && choice < MD_BRICK_CELLS_6) return false;
    return n_bricks >= least_bricks * cuda_device_multiprocessors();
}

static void resolve_cells(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->memory_sort != MD_SORT_BRICK || config->memory_brick_cells != MD_BRICK_CELLS_AUTO) return;
    config->memory_brick_cells = choose_cells(config, plan);
    const int cells = brick_cells[config->memory_brick_cells];
    const double range = plan->potential.cutoff_max + config->neighbor_skin;
    md_choices_add(
        choices, "memory.brick_cells", md_switch_words(MD_OPTION_memory_brick_cells)[config->memory_brick_cells],
        "the most that leaves bricks for all multiprocessors; about %.0f atoms each, and %.0f with those around",
        atoms_in(&plan->box, plan->n_atoms, cells * range), staged_atoms(&plan->box, plan->n_atoms, range, cells));
}

/* As many threads a row as all bricks have room for on the GPU at once, so that the resident kernel has a block for each
 * brick. More than 8 would have a quad or two each, and all integrate. */
static void resolve_row_threads(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->force_kernel != MD_KERNEL_BRICK || config->force_threads_per_atom != MD_THREADS_AUTO) return;
    const double range = plan->potential.cutoff_max + config->neighbor_skin;
    const int cells = brick_cells[config->memory_brick_cells];
    const double rows = crowded(largest_brick(&plan->box, plan->n_atoms, range, cells), 2);
    const double on_each = ceil(count_bricks(&plan->box, range, cells) / cuda_device_multiprocessors());
    int log2_threads = 0;
    while (log2_threads < 3 && rows * (2 << log2_threads) * on_each <= CUDA_BRICK_THREADS) log2_threads++;
    config->force_threads_per_atom = log2_threads;
    md_choices_add(
        choices, "force.threads_per_atom", md_switch_words(MD_OPTION_force_threads_per_atom)[log2_threads],
        "the most, up to 8, with which every brick has a block on the GPU: %.0f a multiprocessor, of %.0f rows",
        on_each, rows);
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

/* Melts on an H200, every 20 steps: copies gain 1 to 2 % of a loop by kernels and 3 to 4 by a queue from a million atoms on, 5 % in
 * double precision, and nothing at 256,000. With the longer lists of a rebuild when needed they gain 1 % by a queue and lose 1 to 2
 * by kernels, and where all bricks are on the GPU at once up to 10 (run/results/h200). */
static const double least_copied_bricks = 3;

void cuda_brick_resolve_staging(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->memory_staging != MD_STAGING_AUTO) return;
    config->memory_staging = MD_STAGING_REGISTERS;
    if (config->force_kernel != MD_KERNEL_BRICK) return;
    const double n_bricks = count_bricks(&plan->box, plan->potential.cutoff_max + config->neighbor_skin,
                                         brick_cells[config->memory_brick_cells]);
    const char *why_not =
        config->memory_layout != MD_LAYOUT_VEC4                   ? "copies take positions of memory.layout = vec4"
        : config->memory_load != MD_LOAD_GLOBAL                   ? "copies take memory.load = global"
        : cuda_device_compute_capability() < CUDA_COPY_CAPABILITY ? "asynchronous copies take compute capability 8.0"
        : config->neighbor_rebuild != MD_REBUILD_EVERY && config->launch_passes != MD_PASSES_QUEUE
            ? "with the lists of a rebuild when needed copies were slower, but in a queue"
        : n_bricks < least_copied_bricks * cuda_device_multiprocessors() ? "few bricks for each multiprocessor"
                                                                         : NULL;
    if (!why_not) config->memory_staging = MD_STAGING_ASYNC;
    md_choices_add(choices, "memory.staging", why_not ? "registers" : "async", "%s",
                   why_not ? why_not : "a multiprocessor has many bricks, one after the other");
}

void cuda_brick_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    resolve_cells(config, plan, choices);
    resolve_distances(config, plan, choices);
    resolve_row_threads(config, plan, choices);
}

/* The queue counts the bricks of all passes of a batch, and blocks that find none, in 32 bits. */
enum { MOST_QUEUED = INT32_MAX / CUDA_GRAPH_STEPS };

MdStatus cuda_brick_check(const MdConfig *config, const MdSystemPlan *plan, MdErrors *errors) {
    if (config->force_kernel != MD_KERNEL_BRICK) return MD_OK;
    const double range = plan->potential.cutoff_max + config->neighbor_skin;
    const int cells = brick_cells[config->memory_brick_cells];
    const double staged = staged_atoms(&plan->box, plan->n_atoms, range, cells);
    const int capability = cuda_device_compute_capability();
    if (has_matrices(config) && capability < CUDA_MATRIX_CAPABILITY)
        return md_fail(errors, MD_ERROR_INPUT,
                       "neighbor.distances=matrix: needs compute capability 9.0, and this GPU has %d.%d: take thread",
                       capability / 10, capability % 10);
    if (config->memory_staging == MD_STAGING_ASYNC && capability < CUDA_COPY_CAPABILITY)
        return md_fail(errors, MD_ERROR_INPUT,
                       "memory.staging=async: needs compute capability 8.0, and this GPU has %d.%d: take registers",
                       capability / 10, capability % 10);
    if (config->launch_passes == MD_PASSES_QUEUE && count_bricks(&plan->box, range, cells) > MOST_QUEUED)
        return md_fail(
            errors, MD_ERROR_INPUT,
            "launch.passes=queue: counts to %lld bricks, and this system may have more: take kernels, or more cells a "
            "brick",
            (long long)MOST_QUEUED);
    if (staged <= CUDA_MAX_STAGED && cells_fit(cells, plan->box.dimension)) return MD_OK;
    return md_fail(
        errors, MD_ERROR_INPUT,
        "force.kernel=brick: with memory.brick_cells=%d a block would stage %.0f atoms of %.0f cells, and has "
        "room for %d of %d: take fewer cells, a smaller cutoff or neighbor.skin, or another force.kernel",
        cells, staged, pow(cells + 2, plan->box.dimension), CUDA_MAX_STAGED, CUDA_BRICK_STENCIL);
}

/* --- room ---------------------------------------------------------------------------------------------------------- */

/* What the search has in shared memory: an atom as the force kernel has it, or four doubles; the cells (kernels/brick.cuh:
 * two numbers and a byte each); and for each warp of kernels/brick_matrix.cuh those entries without a place and the eights of
 * atoms it is to test, four of which may stand behind the last. */
static size_t staged_atom_bytes(const CudaContext *context) {
    return has_matrices(&context->config) ? 4 * sizeof(double) : 4 * context->pair_size;
}
static size_t round_up(double bytes) { return ((size_t)bytes + 15) / 16 * 16; }
static CudaBricks room_of(const CudaContext *context, int32_t atoms) {
    CudaBricks bricks = context->arguments.bricks;
    const int eights = (atoms + CUDA_STAGED_BESIDE) / 8 + 4;
    bricks.capacity = atoms;
    bricks.cell_bytes = (int32_t)round_up(9 * pow(context->brick_cells + 2, context->box.dimension) + 4);
    bricks.warp_bytes = has_matrices(&context->config) ? (int32_t)round_up(2 * (16 * CUDA_MOST_SPARES + eights)) : 0;
    return bricks;
}

size_t cuda_brick_search_bytes(const CudaContext *context, int block) {
    const CudaBricks *bricks = &context->arguments.bricks;
    return ((size_t)bricks->capacity + CUDA_STAGED_BESIDE) * staged_atom_bytes(context) + (size_t)bricks->cell_bytes +
           (size_t)block / 32 * (size_t)bricks->warp_bytes;
}

/* Atoms that a block can stage on this GPU, at most: beside them there are the tables, for as many atoms as any block has. */
static int32_t most_staged(const CudaContext *context) {
    int bytes = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, context->device));
    const CudaKernel *search = &context->kernels[CUDA_K_neighbor_brick];
    const CudaBricks most = room_of(context, CUDA_MAX_STAGED);
    const int64_t tables = most.cell_bytes + search->block_size / 32 * most.warp_bytes;
    const int64_t atoms = (bytes - (int64_t)search->static_shared - tables) / (int64_t)staged_atom_bytes(context);
    return (int32_t)fmin((double)(atoms - CUDA_STAGED_BESIDE), CUDA_MAX_STAGED);
}

void cuda_brick_plan(CudaContext *context) {
    if (!cuda_brick_sorts(context)) return;
    context->brick_cells = brick_cells[context->config.memory_brick_cells];
    context->arguments.bricks =
        room_of(context, planned_room(&context->box, context->n_atoms, context->range, context->brick_cells));
}

void cuda_brick_plan_tables(CudaContext *context) {
    if (!cuda_force_has_bricks(context)) return;
    CudaArguments *a = &context->arguments;
    const int64_t n = context->n_atoms;
    double n_bricks = 1; /* along open axes as many as the box has room for as it stands */
    for (int axis = 0; axis < context->box.dimension; axis++)
        n_bricks *= ceil(cuda_sort_cells_along(context->box.length[axis], context->range) / context->brick_cells);
    n_bricks = fmin(n_bricks, context->max_cells);
    context->max_bricks = (int64_t)n_bricks;
    a->bricks.source_capacity = (int64_t)fmin(a->bricks.capacity * n_bricks, 27.0 * (double)n);
    /* the last slice of a brick need not be full; most of very many are void */
    a->bricks.slice_capacity = n / 32 + 1 + (int64_t)fmin(n_bricks, (double)(n / 16));
}

/* One thread a row: half as many threads, since blocks stage and compute in turns, and so that they do at different times it takes
 * several on a multiprocessor. `whole`: as many as rows. Several: all rows at once, as far as a block has room for them. */
static int threads_of_block(const MdConfig *config, double rows, int row_threads, bool whole) {
    const double wanted = crowded(rows, row_threads) * row_threads;
    const double rounds = row_threads == 1 && !whole ? 2 : ceil(wanted / CUDA_MAX_BLOCK);
    const int warps = (int)fmin(fmax(ceil(wanted / rounds / 32), 2), CUDA_MAX_BLOCK / 32);
    if (config->reduce_method >= MD_METHOD_SHUFFLE) return 32 * warps;
    int power = 2; /* trees need one */
    while (power < warps) power *= 2;
    return 32 * power;
}

/* By matrices a warp takes 16 rows at a time; as many warps as two blocks of a multiprocessor have registers for. Where few
 * rows have a multiprocessor for themselves, more warps stage what is around them: a cell each, and loads take long. */
int cuda_brick_search_block_size(const CudaTarget *target, double range) {
    const MdConfig *config = target->config;
    const int cells = brick_cells[config->memory_brick_cells];
    const double largest = largest_brick(target->box, target->n_atoms, range, cells), rows = 1.03 * largest;
    if (!has_matrices(config))
        return threads_of_block(config, largest, 1, config->run_precision == MD_PRECISION_DOUBLE);
    const double n_bricks = count_bricks(target->box, range, cells);
    const double least_warps = n_bricks <= target->n_sms ? 8 : 2, most_warps = 16;
    const double sixteens = fmax(ceil(rows / 16), least_warps);
    return 32 * (int)ceil(sixteens / ceil(sixteens / most_warps));
}

/* Bricks a multiprocessor between which a queue takes blocks of a thread a row: a pass of 512 bricks took 26.4 us by them and 27.8
 * by blocks of half as many threads, of 343 25.0 and 24.4, of 729 35.9 and 35.3 (H200, run/results/h200). */
static const double least_whole_bricks = 3, most_whole_bricks = 5;

/* As many threads as rows where blocks are few: in double precision two are all that shared memory holds, and in a queue no more can
 * begin at a time than stand between a brick and what it waits for. */
int cuda_brick_block_size(const CudaTarget *target, double range, int row_threads) {
    const MdConfig *config = target->config;
    const int cells = brick_cells[config->memory_brick_cells];
    const double n_bricks = count_bricks(target->box, range, cells);
    const bool are_few = config->launch_passes == MD_PASSES_QUEUE && n_bricks > least_whole_bricks * target->n_sms &&
                         n_bricks < most_whole_bricks * target->n_sms;
    return threads_of_block(config, largest_brick(target->box, target->n_atoms, range, cells), row_threads,
                            are_few || config->run_precision == MD_PRECISION_DOUBLE);
}

/* Smaller bricks: the cells are the same, their order is another. */
static MdStatus divide_further(CudaContext *context, int32_t staged) {
    if (context->brick_cells == 1 || context->asked.memory_brick_cells != MD_BRICK_CELLS_AUTO)
        return md_fail(context->errors, MD_ERROR_INPUT,
                       "force.kernel=brick: a block would stage %d atoms, and has room for %d here: take %s", staged,
                       most_staged(context),
                       context->brick_cells == 1 ? "another force.kernel" : "a smaller memory.brick_cells, or auto");
    CudaGrid grid = context->arguments.grid;
    context->brick_cells--;
    cuda_brick_divide(context, &grid);
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
                                   n_slices > bricks->slice_capacity ? n_slices + n_slices / 10 : 0);
}
