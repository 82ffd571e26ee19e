/* Stage neighbor, host side: the rule when the list is rebuilt, growth after an overflow, and reading the list
 * by id. The kernels and their ladder are in kernels/neighbor.cu.
 *
 * A thread that is past the capacity keeps counting but writes nothing. The kernel that counts entries stops the device if there
 * is too little room; the host, which has gone on meanwhile, grows the list and repeats the search (batches/steps.c). */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/nvtx.h"
#include "cuda/stages/stages.h"

static void search(CudaContext *context) {
    const CudaList *list = &context->arguments.list;
    if (context->facts.has_bricks) {
        cuda_launch_blocks(context, CUDA_K_neighbor_brick, cuda_brick_count(&context->arguments.grid));
        return;
    }
    if (context->facts.has_clusters) {
        cuda_launch(context, CUDA_K_neighbor_cluster, 32 * (int64_t)list->n_rows); /* a warp a row */
        return;
    }
    size_t bytes = (size_t)context->room * sizeof(int32_t);
    if (context->config.neighbor_write == MD_LIST_WRITE_ATOMIC)
        CUDA_CHECK(cudaMemsetAsync(list->counts, 0, bytes, context->stream));
    static const CudaKernelId kernels[] = {[MD_SEARCH_BRUTE] = CUDA_K_neighbor_brute,
                                           [MD_SEARCH_BRUTE_TILED] = CUDA_K_neighbor_brute_tiled,
                                           [MD_SEARCH_CELL] = CUDA_K_neighbor_cell};
    cuda_launch(context, kernels[context->config.neighbor_search], cuda_neighbor_threads(context));
}

static void sort_rows(CudaContext *context) {
    if (!md_option_has_effect(&context->config, MD_OPTION_neighbor_sorted) || context->config.neighbor_sorted != MD_ON)
        return;
    const int rows_per_block = context->kernels[CUDA_K_neighbor_sort_rows].block_size / 32; /* a warp a row */
    cuda_launch_blocks(context, CUDA_K_neighbor_sort_rows, cuda_blocks(context->room, rows_per_block));
}

/* Before a search that no k_sort_wrap has come before: that zeroes them otherwise. */
static void zero_measures(CudaContext *context) {
    CUDA_CHECK(cudaMemsetAsync(&context->arguments.status->measures, 0, sizeof(CudaMeasures), context->stream));
}

static void issue_kernels(CudaContext *context) {
    search(context);
    if (!context->facts.has_bricks) cuda_launch_blocks(context, CUDA_K_neighbor_count, cuda_reduce_blocks(context));
    sort_rows(context);
}

/* An open box has more bricks as it grows; with all ranks alike. */
static MdStatus prepare_bricks(CudaContext *context) {
    const CudaGrid *grid = &context->arguments.grid;
    if (!context->facts.has_bricks || (cuda_brick_count(grid) <= context->max_bricks &&
                                       cuda_domain_count(context, grid->n_bricks) <= context->max_steps))
        return MD_OK;
    const bool released = context->comm && cuda_peers_release(context, true);
    const MdStatus status = cuda_memory_grow_bricks(context, 0, 0);
    return context->comm ? cuda_peers_take(context, released, status) : status;
}

static MdStatus issue_search(CudaContext *context) {
    MdStatus status = prepare_bricks(context);
    if (status != MD_OK) return status;
    cuda_timing_begin(context, CUDA_NEIGHBOR);
    issue_kernels(context);
    cuda_timing_end(context);
    return MD_OK;
}

/* Whether all entries had room, by h_status after a search. If not, makes room for the next search. */
static MdStatus make_room(CudaContext *context, bool *fits) {
    const int32_t largest = context->h_status->measures.largest_count;
    *fits = true;
    if (context->facts.has_bricks) {
        MdStatus status = cuda_brick_make_room(context, fits);
        if (status != MD_OK || !*fits) return status;
    }
    *fits = largest <= context->arguments.list.capacity;
    if (*fits) return MD_OK;
    /* Rows with room for everything overflow only where a kernel lists something twice: no growth would end that. */
    md_require(context->arguments.list.capacity < context->arguments.list.n_rows);
    return cuda_memory_grow_list(context, largest);
}

static MdStatus fit(CudaContext *context) {
    for (;;) {
        bool fits = false;
        cuda_status_read(context, true);
        if (context->h_status->stopped || context->h_host_status->stopped) cuda_status_release(context);
        const double start = md_clock_s(); /* the device has nothing to do */
        MdStatus status = make_room(context, &fits);
        if (status != MD_OK || fits) return status;
        context->overflow_s += md_clock_s() - start;
        zero_measures(context);
        status = issue_search(context);
        if (status != MD_OK) return status;
    }
}

/* Lists by kernels: some rank has sorted nothing, for want of room. */
static MdStatus repeat_list(CudaContext *context) {
    cuda_status_release(context);
    MdStatus status = cuda_sort_repeat(context);
    zero_measures(context);
    if (status == MD_OK) status = issue_search(context);
    if (status != MD_OK) return status;
    cuda_halo_end_list(context);
    cuda_status_read(context, true);
    cuda_domain_confirm(context);
    return MD_OK;
}

/* Several processes: all repeat a search for which any had too little room. If hosts make the lists, they exchange this. */
static MdStatus fit_all(CudaContext *context) {
    MdStatus status = MD_OK;
    if (cuda_domain_lists_by_kernels(context)) {
        cuda_status_read(context, true);
        cuda_domain_confirm(context);
        if (context->h_host_status->list & CUDA_LIST_LACKS_ROOM) status = repeat_list(context);
        if (status != MD_OK || !(context->h_host_status->list & CUDA_LIST_FULL)) return status;
        return cuda_domain_agree(context, fit(context));
    }
    status = cuda_domain_agree(context, fit(context));
    double has_fault = context->h_host_status->fault != 0;
    md_comm_max(context->comm, &has_fault, 1);
    context->halo.has_fault = has_fault > 0;
    return status;
}

MdStatus cuda_neighbor_fit(CudaContext *context) { return context->comm ? fit_all(context) : fit(context); }

/* Largest displacement from the positions of the build, from h_status; true: more than half the skin. */
static bool moved_too_far(const CudaContext *context) {
    float moved_sq;
    memcpy(&moved_sq, &context->h_status->measures.moved_sq, sizeof moved_sq);
    double of_all = (double)moved_sq;
    md_comm_max(context->comm, &of_all, 1);
    return (float)of_all > context->arguments.stale_sq;
}

static bool needs_bounds(const CudaContext *context) {
    bool open = false;
    for (int axis = 0; axis < context->box.dimension; axis++) open = open || !context->box.periodic[axis];
    return open && context->facts.needs_cells;
}

/* How long ago the list was used last; negative if no build can be late: for the first one, for builds caused by a
 * displacement, and with kernels over all pairs, which miss none. */
static double time_since_use(const CudaContext *context) {
    const int kernel = context->config.force_kernel;
    if (!context->built || context->config.neighbor_rebuild != MD_REBUILD_EVERY || kernel == MD_KERNEL_PAIRS ||
        kernel == MD_KERNEL_PAIRS_TILED)
        return -1;
    return context->is_drifted ? context->arguments.whole_step : 0;
}

/* Nobody waits for the search that was issued: from here on it can be asked whether it is over. */
static void note_search(CudaContext *context) {
    CUDA_CHECK(cudaEventRecord(context->searched, context->stream));
    context->unconfirmed = true;
}

static MdStatus build_list(CudaContext *context, bool waits) {
    MdStatus status = issue_search(context);
    if (status != MD_OK) return status;
    if (context->comm) cuda_halo_end_list(context);
    if (waits) return cuda_neighbor_fit(context);
    note_search(context);
    return MD_OK;
}

static MdStatus end_build(CudaContext *context, MdStatus status) {
    cuda_memory_end(context, CUDA_REBUILD);
    if (status != MD_OK) return status;
    context->built = true;
    context->n_builds++;
    cuda_halo_begin(context);
    return MD_OK;
}

/* The rest of a build when the particles are in their cells. */
static MdStatus build_sorted(CudaContext *context, bool waits) {
    context->arguments.n_force_items = cuda_force_items(context); /* as many cells as there are now */
    MdStatus status = MD_OK;
    if (context->facts.has_list) status = build_list(context, waits);
    return end_build(context, status);
}

/* Sort and search as kernels of one graph. The search finds the particles where the sort puts them. */
static void issue_sort_and_search(CudaContext *context, int n_cells) {
    const CudaArguments before = context->arguments;
    cuda_sort_issue(context, n_cells);
    cuda_sort_take(context);
    issue_kernels(context);
    if (context->comm) cuda_halo_end_list(context);
    context->arguments = before;
}

/* Graphs can be used if the next build is like this one: the time since the list was used is the same in all builds without
 * a wait. With an open axis the host waits for builds, because bricks may become more than there is room for. */
static bool is_one_graph(const CudaContext *context, bool waits) {
    return !waits && cuda_graph_serves(context) && context->facts.needs_cells && context->facts.has_list &&
           cuda_timing_knows_shares(context);
}

static MdStatus build_as_graph(CudaContext *context) {
    cuda_timing_begin_list(context);
    const int n_cells = cuda_sort_prepare(context);
    context->arguments.n_force_items = cuda_force_items(context);
    cuda_graph_launch(context, &context->list_graphs, true, issue_sort_and_search, n_cells);
    cuda_sort_take(context);
    cuda_timing_end_list(context);
    note_search(context);
    return end_build(context, MD_OK);
}

/* Builds that the host waits for in any case: the first one, which often finds that the list is too small; those of a grid
 * that depends on the positions; those for which it sends atoms to other processes; and those whose cells are lost before
 * the search could be repeated. */
static bool must_wait(const CudaContext *context) {
    return !context->built || needs_bounds(context) || (context->comm && !cuda_sort_by_kernels(context)) ||
           context->config.memory_allocation != MD_ALLOCATION_ONCE;
}

MdStatus cuda_neighbor_build(CudaContext *context, bool waits) {
    waits = waits || must_wait(context);
    if (needs_bounds(context)) {
        cuda_reduce_measure(context);
        cuda_status_read(context, true);
    }
    /* After a fault the motion is over: the old list is still safe to use, a new one could be of any size. */
    if (cuda_has_fault(context)) return MD_OK;
    cuda_memory_begin(context, CUDA_REBUILD);
    md_nvtx_begin("rebuild", context->n_builds);
    context->arguments.factor = time_since_use(context);
    MdStatus status;
    if (is_one_graph(context, waits)) {
        status = build_as_graph(context);
    } else {
        status = cuda_sort_particles(context);
        if (status == MD_OK) status = build_sorted(context, waits);
    }
    md_nvtx_end();
    return status;
}

MdStatus cuda_neighbor_build_again(CudaContext *context, const CudaGrid *grid) {
    cuda_memory_begin(context, CUDA_REBUILD);
    const MdStatus status = cuda_sort_restored(context, grid);
    if (status != MD_OK) return status;
    zero_measures(context);
    return build_sorted(context, true);
}

bool cuda_neighbor_acts(const CudaContext *context, int64_t step) {
    int64_t every = context->config.neighbor_every;
    return context->config.neighbor_rebuild == MD_REBUILD_HOST_CHECK || step % every == 0;
}

MdStatus cuda_neighbor_update(CudaContext *context, int64_t step) {
    const bool waits = !context->is_drifted; /* not one of the steps */
    if (!context->built) return cuda_neighbor_build(context, waits);
    if (context->config.neighbor_rebuild == MD_REBUILD_HOST_CHECK) {
        /* cuda_integrate_drift has measured and sent the displacement of this step; the one wait of the step. The build comes
         * before the forces that would have missed a pair, so that none of these rebuilds is late. */
        cuda_wait_event(context, context->status_copied, "wait: displacement");
        return moved_too_far(context) ? cuda_neighbor_build(context, waits) : MD_OK;
    }
    return step % context->config.neighbor_every == 0 ? cuda_neighbor_build(context, waits) : MD_OK;
}

void cuda_neighbor_statistics(CudaContext *context, MdStatistics *statistics) {
    const bool has_list = context->facts.has_list, has_rows = has_list && !context->facts.has_clusters;
    const double rows_of_pair = context->facts.halves ? 2 : 1; /* where it is not stored */
    cuda_status_read(context, true);
    const double n_entries = (double)context->h_status->measures.entries;
    statistics->capacity = has_list ? context->arguments.list.capacity : 0;
    statistics->n_entries = has_list ? (int64_t)context->h_status->measures.entries : 0;
    statistics->neighbors_per_atom = has_rows ? rows_of_pair * n_entries / context->n_own : (double)NAN;
    statistics->n_late_rebuilds = context->h_status->n_late;
}

static void *download(CudaContext *context, const void *device, size_t count, size_t size) {
    void *host = md_alloc(count, size, "export of the list");
    cuda_memory_download(context, host, device, count * size);
    return host;
}

/* The list on the host, as it is stored. */
typedef struct HostList {
    CudaTag *tags;
    int32_t *counts;
    void *entries;
    CudaBrick *bricks; /* force.kernel = brick */
    int32_t *source;
} HostList;

static void download_list(CudaContext *context, HostList *host) {
    const CudaArguments *a = &context->arguments;
    size_t n = (size_t)context->room;
    int64_t last = context->room - 1;
    int64_t n_stored = last * a->list.row_stride + (a->list.capacity - 1) * a->list.entry_stride + 1;
    memset(host, 0, sizeof *host);
    host->tags = download(context, a->now.tag, n, sizeof *host->tags);
    host->counts = download(context, a->list.counts, n, sizeof *host->counts);
    if (context->facts.has_bricks) {
        const CudaMeasures *found = &context->h_status->measures;
        const size_t n_bricks = (size_t)cuda_brick_count(&a->grid);
        cuda_status_read(context, true);
        host->bricks = download(context, a->bricks.table, n_bricks, sizeof *host->bricks);
        host->source = download(context, a->bricks.source, (size_t)found->sources, sizeof *host->source);
        host->entries =
            download(context, a->list.entries, (size_t)found->slices * 32 * (size_t)a->list.capacity, sizeof(uint16_t));
        return;
    }
    host->entries = download(context, a->list.entries, (size_t)n_stored, sizeof(int32_t));
}

/* Ids of the rows of a brick, into where offsets of rows by id say. As kernels/bricks/tile.cuh arranges them. */
static void export_brick(const HostList *host, const CudaBrick *brick, int64_t capacity, MdRows *rows) {
    const uint64_t *quads = host->entries;
    for (int32_t i = brick->begin; i < brick->end; i++) {
        const int64_t row = i - brick->begin, slice = brick->slice + row / 32;
        for (int32_t k = 0; k < host->counts[i]; k++) {
            const uint64_t quad = quads[(slice * (capacity / CUDA_QUAD) + k / CUDA_QUAD) * 32 + row % 32];
            const int64_t staged = (int64_t)(quad >> (16 * (k % CUDA_QUAD)) & 0xffff) / 16;
            rows->ids[rows->offsets[host->tags[i].id] + k] = host->tags[host->source[brick->source + staged - 1]].id;
        }
    }
}

MdStatus cuda_neighbor_export(CudaContext *context, MdRows *rows) {
    if (!context->facts.has_list || context->facts.has_clusters)
        return md_fail(context->errors, MD_ERROR_INPUT,
                       "there are no rows of neighbours with this force.kernel: take list, list-split or brick");
    if (!context->built) return md_fail(context->errors, MD_ERROR_INTERNAL, "there is no neighbour list yet");
    const CudaList *list = &context->arguments.list;
    int64_t n = context->room;
    HostList host;
    download_list(context, &host);
    const CudaTag *tags = host.tags;
    const int32_t *counts = host.counts;

    memset(rows, 0, sizeof *rows);
    rows->n_atoms = n;
    rows->offsets = md_alloc((size_t)n + 1, sizeof *rows->offsets, "offsets of rows");
    for (int64_t i = 0; i < n; i++) rows->offsets[tags[i].id + 1] = counts[i];
    for (int64_t id = 0; id < n; id++) rows->offsets[id + 1] += rows->offsets[id];
    rows->ids = md_alloc((size_t)rows->offsets[n], sizeof *rows->ids, "ids of rows");
    if (context->facts.has_bricks)
        for (int64_t b = 0; b < cuda_brick_count(&context->arguments.grid); b++)
            export_brick(&host, &host.bricks[b], list->capacity, rows);
    else
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < counts[i]; k++)
                rows->ids[rows->offsets[tags[i].id] + k] =
                    tags[((const int32_t *)host.entries)[i * list->row_stride + k * list->entry_stride]].id;
    void *arrays[] = {host.tags, host.counts, host.entries, host.bricks, host.source};
    for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++) md_free(arrays[k]);
    return MD_OK;
}
