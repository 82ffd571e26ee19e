/* Stage sort, host side; the kernels and their ladder are in kernels/sort.cu. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "cuda/stages/stages.h"

static bool same_cells(const CudaGrid *one, const CudaGrid *other) {
    return memcmp(one->n, other->n, sizeof one->n) == 0 &&
           memcmp(one->n_bricks, other->n_bricks, sizeof one->n_bricks) == 0;
}

/* The ranks of the cells in memory, if the grid has changed. */
static void place_cells(CudaContext *context, int n_cells) {
    CudaArguments *a = &context->arguments;
    if (same_cells(&context->placed, &a->grid)) return;
    context->placed = a->grid;
    a->n = n_cells;
    cuda_launch(context, CUDA_K_sort_curve, n_cells);
}

/* --- few cells ---
 *
 * Each block scans their counts, in less time than launches for it would take. So no kernel runs after the last one that
 * reads them, and the next sort has other counts. Their keys are in the memory of the list, which is not needed then: see
 * kernels/sort.cu. Cells are sorted as many are, by four launches more, if there is no list, or it is too small: rows
 * of a thin gas are shorter than the room of its cells. A device that has found a cell with more atoms than room, as in
 * drops that condense from a gas, sets a flag, and later sorts make room for as many.
 *
 * The gain (H200, run/results/h200/LOG.md): by two kernels instead of three a list takes 2.3 us less at 4,000 atoms, which
 * are 4.0 % faster by lists every 20 steps and 2.2 by safe ones, and 2.1 us less at 32,000, 1.7 and 1.2 %. Without it (H100,
 * run/results/h100/README.md) whole loops are 7.5 % slower at 4,000 atoms, 4.4 % there with safe lists, 3 % at 32,000. */
enum { FEW_TILES = 32, MOST_KEYS = 1 << 12 };

/* Particles that hardly a cell exceeds where they are spread by chance: six standard deviations, and for small averages, whose
 * tail is longer, four more. */
static double likely_largest_cell(double average) { return average + 6 * sqrt(average) + 4; }

static int64_t scan_tiles(const CudaContext *context, int n_cells) {
    return cuda_blocks(n_cells + 1, context->kernels[CUDA_K_sort_scan_tiles].block_size);
}

/* Keys of each cell that there is room for; 0: there is not enough, or cells are not few. */
static int find_few_keys(const CudaContext *context, int n_cells) {
    if (n_cells + 1 > CUDA_FEW_CELLS || scan_tiles(context, n_cells) > FEW_TILES || !context->facts.has_list) return 0;
    const size_t key = context->facts.sorts_bricks ? sizeof(uint64_t) : sizeof(int32_t);
    /* several processes: one more holds the atoms that have left, and copies are sorted as well */
    const int64_t n_sorted = context->n_own + context->rank.n_halo;
    const int n_places = n_cells + (context->comm != NULL);
    const double room = fmin((double)(cuda_arrays_few_keys_bytes(context) / key) / n_places, MOST_KEYS);
    const double wanted = fmax(likely_largest_cell((double)n_sorted / n_cells), context->h_host_status->largest_cell);
    return room < wanted ? 0 : (int)room;
}

static int32_t *few_counts(const CudaContext *context, int turn) {
    return context->cell_counts + context->max_cells + 1 + turn * (int64_t)cuda_sort_few_counts(context);
}

/* How the next sort goes, and which counts it has. Those of few cells are zero as far as the last sort of few went, and from the
 * start. */
static void choose_counts(CudaContext *context, int n_cells) {
    context->arguments.cell_count = context->cell_counts;
    context->few_keys = find_few_keys(context, n_cells);
    if (context->few_keys == 0) return;
    if (n_cells != context->few_counted)
        CUDA_CHECK(cudaMemsetAsync(few_counts(context, 0), 0,
                                   2 * cuda_sort_few_counts(context) * sizeof *context->cell_counts, context->stream));
    context->few_counted = n_cells;
    context->counts_buffer = 1 - context->counts_buffer;
    context->arguments.cell_count = few_counts(context, context->counts_buffer);
}

/* --- the kernels --- */

/* Counts of cells to starts, and particles into cells; the entry after the last cell becomes n_atoms. */
static void scan_and_scatter(CudaContext *context, int n_cells) {
    CudaArguments *a = &context->arguments;
    const int64_t n_tiles = scan_tiles(context, n_cells);
    a->n = n_cells + 1;
    cuda_launch_blocks(context, CUDA_K_sort_scan_tiles, n_tiles + (context->comm ? CUDA_SIDES : 0));
    a->n = (int32_t)n_tiles;
    cuda_launch_blocks(context, CUDA_K_sort_scan_sums, 1);
    a->n = n_cells + 1;
    cuda_launch_blocks(context, CUDA_K_sort_scan_finish, n_tiles);
    cuda_launch(context, CUDA_K_sort_scatter, context->room);
    cuda_launch(context, CUDA_K_sort_rank, context->room);
}

/* Into cells, when the particles of each are counted. */
static void sort_counted(CudaContext *context, int n_cells) {
    CudaArguments *a = &context->arguments;
    if (a->keys_per_cell > 0) {
        if (context->comm) cuda_launch_blocks(context, CUDA_K_halo_sum, CUDA_SIDES);
        a->n = n_cells + 1;
        a->out = few_counts(context, 1 - context->counts_buffer);
        cuda_launch(context, CUDA_K_sort_rank_few, context->room);
    } else {
        scan_and_scatter(context, n_cells);
    }
}

/* The kernel that counts: k_sort_bin or, if particles are to be wrapped first, k_sort_wrap. */
static void sort_into_cells(CudaContext *context, CudaKernelId bin, int n_cells) {
    context->arguments.n = n_cells;
    context->arguments.keys_per_cell = context->few_keys;
    cuda_launch(context, bin, context->room);
    sort_counted(context, n_cells);
}

static void look_ahead(CudaContext *context) {
    if (context->config.neighbor_predict == MD_PREDICT_VELOCITY) cuda_launch(context, CUDA_K_sort_look_ahead, 1);
}

static void wrap(CudaContext *context, int n_cells) {
    context->arguments.n = n_cells;
    look_ahead(context);
    cuda_launch(context, CUDA_K_sort_wrap, context->room);
}

bool cuda_sort_by_kernels(const CudaContext *context) {
    return cuda_domain_lists_by_kernels(context) && context->built && !context->halo.wants_room;
}

/* Lists by kernels: they send atoms and copies, and count all in their cells. */
static void issue_bringing(CudaContext *context, int n_cells) {
    context->arguments.keys_per_cell = context->few_keys;
    wrap(context, n_cells);
    cuda_halo_send_migrants(context);
    cuda_launch(context, CUDA_K_migrate_take, context->arguments.domain.inbox_room);
    if (context->config.parallel_transport == MD_TRANSPORT_NCCL) {
        cuda_halo_send_copies(context);
        cuda_launch_blocks(context, CUDA_K_migrate_count, 1);
    }
    cuda_halo_arrive(context, n_cells);
}

void cuda_sort_issue(CudaContext *context, int n_cells) {
    if (context->comm) {
        issue_bringing(context, n_cells);
        sort_counted(context, n_cells);
    } else {
        look_ahead(context);
        sort_into_cells(context, CUDA_K_sort_wrap, n_cells);
    }
}

/* The reordered arrays become the current ones. */
void cuda_sort_take(CudaContext *context) {
    CudaParticles *now = &context->arguments.now, *spare = &context->arguments.spare, old = *now;
    if (!context->facts.reorders) return;
    context->places_stale = true;
    context->has_forces = false;
    *now = *spare;
    now->position = old.position;
    now->force = old.force;
    memcpy(now->texture, old.texture, sizeof now->texture);
    *spare = old;
    spare->position = spare->force = (CudaVectors){0};
    memset(spare->texture, 0, sizeof spare->texture);
    cuda_arrays_share(context);
}

int cuda_sort_prepare(CudaContext *context) {
    /* k_sort_wrap clears the stop flag on the device. Nothing that was issued before sets it again: with the flag set kernels return
     * at once, and every search before is known to be over. */
    context->h_host_status->stopped = 0;
    if (!context->facts.needs_cells) return 0;
    cuda_grid_plan(context);
    const int n_cells = cuda_sort_count_cells(&context->arguments.grid);
    if (context->facts.places_cells) place_cells(context, n_cells);
    choose_counts(context, n_cells);
    return n_cells;
}

/* --- several processes: atoms go to their owners, and copies of others come, before both are sorted ---------------------------------- */

/* All by the host: the remaining leaving atoms, and copies. */
static MdStatus bring(CudaContext *context) {
    CudaHaloTable *table = &context->halo.table;
    const double begin_s = md_clock_s();
    table->lacks_room = 0;
    MdStatus status = cuda_migrate(context);
    if (status == MD_OK) status = cuda_halo_make(context);
    context->rank.n_atoms = context->n_own = (int)table->n_own;
    context->rank.n_halo = table->in[CUDA_SIDES];
    context->rank.halo_bytes += table->out[CUDA_SIDES] * (int64_t)cuda_domain_row_bytes(context);
    context->rank.exchange_seconds += md_clock_s() - begin_s;
    return status;
}

static MdStatus wrap_and_bring(CudaContext *context) {
    CudaHaloTable *table = &context->halo.table;
    wrap(context, 0);
    cuda_domain_download(context);
    table->n_slots = table->n_own;
    return bring(context);
}

static void sort_brought(CudaContext *context, int n_cells) {
    cuda_halo_arrive(context, 0);
    sort_into_cells(context, CUDA_K_sort_bin, n_cells);
}

static MdStatus sort_domain(CudaContext *context) {
    MdStatus status = MD_OK;
    cuda_timing_begin(context, CUDA_MIGRATE);
    const int n_cells = cuda_sort_prepare(context);
    const bool by_kernels = cuda_sort_by_kernels(context);
    if (by_kernels) issue_bringing(context, n_cells);
    else status = wrap_and_bring(context);
    cuda_timing_end(context);
    if (status != MD_OK) return status;
    cuda_timing_begin(context, CUDA_SORT);
    if (by_kernels) sort_counted(context, n_cells);
    else sort_brought(context, n_cells);
    cuda_sort_take(context);
    cuda_timing_end(context);
    return MD_OK;
}

MdStatus cuda_sort_repeat(CudaContext *context) {
    cuda_sort_take(context); /* back: the old arrays still have the atoms, also on ranks that had room */
    char *position = context->arguments.now.position.part[0];
    const size_t bytes =
        4 * context->facts.pair_size * (size_t)context->room; /* those on the way are the second ones */
    CUDA_CHECK(cudaMemcpyAsync(position, position + bytes, bytes, cudaMemcpyDefault, context->stream));
    cuda_domain_download(context);
    const MdStatus status = bring(context);
    if (status != MD_OK) return status;
    const int n_cells = cuda_sort_count_cells(&context->arguments.grid);
    choose_counts(context, n_cells); /* those of a while ago have atoms */
    sort_brought(context, n_cells);
    cuda_sort_take(context);
    return MD_OK;
}

MdStatus cuda_sort_particles(CudaContext *context) {
    if (context->comm) return sort_domain(context);
    cuda_timing_begin(context, CUDA_SORT);
    const int n_cells = cuda_sort_prepare(context);
    if (!context->facts.needs_cells) {
        wrap(context, 0);
    } else {
        cuda_sort_issue(context, n_cells);
        cuda_sort_take(context);
    }
    cuda_timing_end(context);
    return MD_OK;
}

static int prepare_again(CudaContext *context, const CudaGrid *grid) {
    const int n_cells = cuda_sort_count_cells(grid);
    context->arguments.grid = *grid;
    cuda_grid_set_edges(&context->arguments.grid);
    if (!context->facts.needs_cells) return 0;
    if (context->facts.places_cells) place_cells(context, n_cells);
    choose_counts(context, n_cells);
    return n_cells;
}

void cuda_sort_again(CudaContext *context, const CudaGrid *grid) {
    const int n_cells = prepare_again(context, grid);
    if (!context->facts.needs_cells) return;
    if (context->comm) { /* no slot is free any more */
        CudaHaloTable *table = &context->halo.table;
        cuda_domain_download(context);
        table->n_slots = table->n_own;
        table->n_sorted = table->n_stored;
        cuda_domain_upload(context);
    }
    sort_into_cells(context, CUDA_K_sort_bin, n_cells);
    cuda_sort_take(context);
}

MdStatus cuda_sort_restored(CudaContext *context, const CudaGrid *grid) {
    if (!context->comm) {
        cuda_sort_again(context, grid);
        return MD_OK;
    }
    const int n_cells = prepare_again(context, grid);
    const MdStatus status = bring(context);
    if (status != MD_OK) return status;
    sort_brought(context, n_cells);
    cuda_sort_take(context);
    return MD_OK;
}
