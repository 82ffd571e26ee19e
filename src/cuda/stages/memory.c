/* Memory of the cuda backend: one table of arrays that allocation and estimate share, the regrowing list, and the way
 * from the device to the host. How and where arrays are allocated stands in allocate.c.
 *
 * All arrays are allocated at start, so that what does not fit is refused there. With memory.allocation = per-call or pool,
 * and reduce.scratch = per-call, those that are of no use between two calls are given back at once and taken for each
 * call. Otherwise only a list that overflows is allocated anew (and counted). */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "cuda/stages/stages.h"

/* Column order: rows side by side, padded so that each column starts on a 128-byte line. */
static int64_t column_stride(const CudaContext *context) {
    const int64_t line = 128 / (int64_t)sizeof(int32_t);
    return (context->n_atoms + line - 1) / line * line;
}

/* Rows of clusters are read by a warp each: entry after entry is as good as any. */
static bool has_columns(const CudaContext *context) {
    return context->config.neighbor_order == MD_LIST_ORDER_COLUMN && !context->facts.has_clusters;
}

static void set_capacity(CudaContext *context, int64_t count) {
    const int64_t n = context->n_atoms, n_clusters = cuda_blocks(n, CUDA_CLUSTER);
    const int64_t most = context->facts.has_clusters ? n_clusters : n; /* entries of a row */
    int64_t capacity = (count < most ? count : most);
    capacity = (capacity + 3) / 4 * 4;
    const bool column =
        has_columns(context); /* rows of bricks have an arrangement of their own: kernels/bricks/tile.cuh */
    context->arguments.list.n_rows = (int32_t)most;
    context->arguments.list.capacity = (int32_t)capacity;
    context->arguments.list.row_stride = column ? 1 : capacity;
    context->arguments.list.entry_stride = column ? column_stride(context) : 1;
}

/* Entries of a row at first, to the nearest quad: the neighbours of a uniform system of this density, and for fluctuations twice
 * the root of their number. In a dense liquid that has a standard deviation of 2.9 about 75 (melt at density 0.8442, range
 * 2.8), of which this is six, half a quad more or less. Rows of a gas, and of a box that is mostly empty, overflow at the first
 * build, and grow then; few neighbours have room for some more, which takes no memory to speak of. */
static int64_t initial_capacity(const CudaContext *context) {
    if (context->config.neighbor_capacity != MD_AUTO_INT) return context->config.neighbor_capacity;
    double volume = 1, sphere = context->box.dimension == 2 ? 1.0 : 4.0 / 3.0;
    for (int a = 0; a < context->box.dimension; a++) volume *= fmax(context->box.length[a], 1.0);
    sphere *= 3.14159265358979323846 * pow(context->range, context->box.dimension);
    double neighbors = sphere * context->n_atoms / volume;
    /* nearly all that have a part in the cells around: most of a cube of three ranges */
    if (context->facts.has_clusters)
        neighbors = pow(3 * context->range, context->box.dimension) * context->n_atoms / (volume * CUDA_CLUSTER) + 8;
    /* a half list has half of them, and fluctuates as much */
    if (context->facts.halves) neighbors = 0.5 * neighbors + 8;
    return (int64_t)fmin(fmax(4 * round((neighbors + 2 * sqrt(neighbors)) / 4), 16), (double)context->n_atoms);
}

/* --- the arrays --- */

typedef struct Array {
    void **where;
    size_t count, size;
    CudaGroup group;
    const char *what;
} Array;

typedef struct Arrays {
    int n;
    Array rows[CUDA_MAX_BLOCKS];
} Arrays;

static void add(Arrays *arrays, CudaGroup group, void *where, size_t count, size_t size, const char *what) {
    md_require(arrays->n < CUDA_MAX_BLOCKS);
    arrays->rows[arrays->n++] = (Array){where, count, size, group, what};
}

/* n vectors of numbers of `size` bytes, in the layout of the run. */
static void add_vectors(const CudaContext *context, Arrays *arrays, CudaGroup group, CudaVectors *vectors, size_t n,
                        size_t size, const char *what) {
    switch (context->config.memory_layout) {
    case MD_LAYOUT_AOS: add(arrays, group, &vectors->part[0], n, 3 * size, what); break;
    case MD_LAYOUT_SOA:
        for (int k = 0; k < 3; k++) add(arrays, group, &vectors->part[k], n, size, what);
        break;
    default: add(arrays, group, &vectors->part[0], n, 4 * size, what);
    }
}

static bool has_positions_twice(const CudaContext *context) {
    return context->facts.reorders || context->config.launch_fuse == MD_FUSE_STEP;
}

/* The second copy of the positions is for a sort and for the passes of fused steps: there are no forces then, but for those
 * that the drift into it reads, each thread that of its atom before it writes. So they have the same memory. */
static bool forces_are_second(const CudaContext *context) {
    return has_positions_twice(context) && context->config.memory_allocation == MD_ALLOCATION_ONCE;
}

static void place_forces(CudaContext *context) {
    static const size_t widths[] = {[MD_LAYOUT_AOS] = 3, [MD_LAYOUT_SOA] = 1, [MD_LAYOUT_VEC4] = 4};
    CudaParticles *now = &context->arguments.now;
    const size_t bytes = (size_t)context->n_atoms * widths[context->config.memory_layout] * context->facts.pair_size;
    for (int k = 0; k < 3; k++)
        if (now->position.part[k]) now->force.part[k] = (char *)now->position.part[k] + bytes;
}

static void add_positions(CudaContext *context, Arrays *arrays) {
    CudaParticles *now = &context->arguments.now;
    const size_t n = (size_t)context->n_atoms, copies = has_positions_twice(context) ? 2 : 1;
    add_vectors(context, arrays, CUDA_KEPT, &now->position, copies * n, context->facts.pair_size, "positions");
    if (!forces_are_second(context))
        add_vectors(context, arrays, CUDA_FORCES, &now->force, n, context->facts.pair_size, "forces");
}

/* What a reordering writes to another copy, which is then the one in use. */
static void add_carried(const CudaContext *context, Arrays *arrays, CudaGroup group, CudaParticles *p) {
    const size_t n = (size_t)context->n_atoms;
    add_vectors(context, arrays, group, &p->velocity, n, context->facts.pair_size, "velocities");
    add(arrays, group, &p->tag, n, sizeof(CudaTag), "images and ids");
    if (context->config.memory_layout == MD_LAYOUT_VEC4) return;
    add(arrays, group, &p->type, n, sizeof(int32_t), "types");
    add(arrays, group, &p->inverse_mass, n, context->facts.pair_size, "masses");
    if (context->config.run_precision == MD_PRECISION_MIXED)
        add(arrays, group, &p->low, n, sizeof *p->low, "last bits of positions");
}

size_t cuda_memory_list_bytes(const CudaContext *context) {
    const CudaList *list = &context->arguments.list;
    const int64_t rows = context->facts.has_bricks ? context->arguments.bricks.slice_capacity * 32
                         : has_columns(context)    ? column_stride(context)
                                                   : list->n_rows;
    const size_t entry = context->facts.has_bricks ? sizeof(uint16_t) : sizeof(int32_t);
    return (size_t)rows * (size_t)list->capacity * entry;
}

static MdStatus replace(CudaContext *context, void **array, size_t bytes, const char *what) {
    cuda_release(context, *array); /* waits for the device; first, so that both need not fit */
    *array = NULL;
    return cuda_allocate(context, array, bytes, false, what, MD_ERROR_INTERNAL);
}

static MdStatus replace_list(CudaContext *context, const char *what) {
    return replace(context, &context->arguments.list.entries, cuda_memory_list_bytes(context), what);
}

/* Whether the cells of the last build are read until the next one. */
static bool cells_are_kept(const CudaContext *context) {
    const MdConfig *config = &context->config;
    return config->force_kernel == MD_KERNEL_CELL || context->facts.has_clusters;
}

/* Cells are of use during a rebuild and staging between two of them, so that both can have the same memory: of each particle
 * 8 bytes for its key, and 16 for the rest. */
static bool cells_are_staged(const CudaContext *context) {
    return context->facts.needs_cells && !cells_are_kept(context) &&
           context->config.memory_allocation == MD_ALLOCATION_ONCE;
}

static void stage_cells(CudaContext *context) {
    CudaArguments *a = &context->arguments;
    const size_t n = (size_t)context->n_atoms;
    int32_t *words = (int32_t *)context->staging + 2 * n;
    a->slot_key = context->staging;
    a->place = words;
    a->arrival = words + n;
    a->slot_atom = words + 2 * n;
    a->slot_cell = words + 3 * n;
}

static void add_cells(CudaContext *context, Arrays *arrays) {
    CudaArguments *a = &context->arguments;
    const CudaGroup group = cells_are_kept(context) ? CUDA_KEPT : CUDA_REBUILD;
    const size_t n = (size_t)context->n_atoms;
    if (!cells_are_staged(context)) {
        const size_t key = context->facts.sorts_bricks ? sizeof(uint64_t) : sizeof(int32_t);
        add(arrays, group, &a->slot_key, n, key, "keys by cell");
        add(arrays, group, &a->place, n, sizeof(int32_t), "places of cells of particles");
        add(arrays, group, &a->arrival, n, sizeof(int32_t), "arrivals in cells");
        if (!context->facts.reorders) add(arrays, group, &a->slot_atom, n, sizeof(int32_t), "particles by cell");
        add(arrays, group, &a->slot_cell, n, sizeof(int32_t), "cells of slots");
    }
    /* kept in any case: a sort finds the zeros that the one before has left, of few cells in the other of two turns */
    add(arrays, CUDA_KEPT, &context->cell_counts, (size_t)context->max_cells + 1 + 2 * cuda_sort_few_counts(context),
        sizeof(int32_t), "counts of cells");
    add(arrays, group, &a->cell_start, (size_t)context->max_cells + 1, sizeof(int32_t), "cell starts");
    if (context->facts.places_cells) {
        add(arrays, CUDA_KEPT, &a->cell_place, (size_t)context->max_cells, sizeof(int32_t), "places of cells");
        add(arrays, CUDA_KEPT, &a->place_cell, (size_t)context->max_cells, sizeof(int32_t), "cells of places");
    }
    /* a sum for each block of the scan, and no block is smaller than a warp */
    add(arrays, group, &a->scan_sums, (size_t)context->max_cells / 32 + 2, sizeof(int32_t), "sums of the scan");
}

/* Of a brick. */
static size_t shifts_bytes(const CudaContext *context) { return CUDA_SHIFTS * context->facts.pair_size; }

static void add_bricks(CudaContext *context, Arrays *arrays) {
    CudaBricks *bricks = &context->arguments.bricks;
    add(arrays, CUDA_KEPT, &bricks->table, (size_t)context->max_bricks, sizeof *bricks->table, "bricks");
    add(arrays, CUDA_KEPT, &bricks->shifts, (size_t)context->max_bricks, shifts_bytes(context), "shifts of images");
    add(arrays, CUDA_KEPT, &bricks->source, (size_t)bricks->source_capacity, sizeof *bricks->source, "atoms of bricks");
    add(arrays, CUDA_KEPT, &bricks->image, (size_t)bricks->source_capacity, sizeof *bricks->image, "images of bricks");
}

static bool has_queue(const CudaContext *context) { return context->config.launch_passes == MD_PASSES_QUEUE; }

static void add_queue(CudaContext *context, Arrays *arrays) {
    CudaQueue *queue = &context->arguments.queue;
    const size_t n = (size_t)context->max_bricks;
    add(arrays, CUDA_KEPT, &queue->counts, 2, sizeof *queue->counts, "counts of the queue");
    add(arrays, CUDA_KEPT, &queue->done, n, sizeof *queue->done, "steps of bricks");
    add(arrays, CUDA_KEPT, &queue->brick, n, sizeof *queue->brick, "queue of bricks");
}

/* A queue that may have to replay a step reads one copy of all that moves, and writes the other, which is that of a reordering. */
static bool is_checked(const CudaContext *context) {
    return has_queue(context) && context->config.neighbor_rebuild == MD_REBUILD_DEVICE_CHECK;
}

/* Whether passes may turn out not to count, so that faults in them wait until that is known. The resident kernel holds what it
 * goes back to. */
static bool defers_faults(const CudaContext *context) { return is_checked(context) || context->facts.may_roll_back; }

static void add_queue_check(CudaContext *context, Arrays *arrays) {
    CudaQueue *queue = &context->arguments.queue;
    add(arrays, CUDA_KEPT, &queue->check, 1, sizeof *queue->check, "check of passes");
}

static void clear_check(CudaContext *context) {
    CudaQueueCheck *check = context->arguments.queue.check;
    CUDA_CHECK(cudaMemsetAsync(check, 0, sizeof *check, context->stream));
    CUDA_CHECK(cudaMemsetAsync(&check->stop, 0xff, sizeof check->stop, context->stream));
    CUDA_CHECK(cudaMemsetAsync(&check->fault_step, 0xff, sizeof check->fault_step, context->stream));
}

/* No brick has come to any step. */
static void clear_queue(CudaContext *context) {
    const CudaQueue *queue = &context->arguments.queue;
    const size_t n = (size_t)context->max_bricks;
    CUDA_CHECK(cudaMemsetAsync(queue->counts, 0, 2 * sizeof *queue->counts, context->stream));
    CUDA_CHECK(cudaMemsetAsync(queue->done, 0, n * sizeof *queue->done, context->stream));
}

static size_t pair_partials(const CudaContext *context) {
    return (size_t)cuda_force_most_blocks(context) * CUDA_PAIR_TOTALS;
}

static size_t atom_partials(const CudaContext *context) {
    return (size_t)cuda_reduce_most_blocks(context) * CUDA_ATOM_TOTALS;
}

static size_t most_partials(const CudaContext *context) {
    const size_t pairs = pair_partials(context), atoms = atom_partials(context);
    return pairs > atoms ? pairs : atoms;
}

static void add_scratch(CudaContext *context, Arrays *arrays) {
    CudaArguments *a = &context->arguments;
    if (context->config.reduce_finish != MD_FINISH_ATOMIC)
        add(arrays, CUDA_SCRATCH, &a->partials, most_partials(context), sizeof(double), "partial sums");
    if (context->config.reduce_method == MD_METHOD_GLOBAL)
        add(arrays, CUDA_SCRATCH, &a->tree, (size_t)context->tree_threads, sizeof(double), "trees of sums");
}

static void list_arrays(CudaContext *context, Arrays *arrays) {
    CudaArguments *a = &context->arguments;
    size_t n = (size_t)context->n_atoms;
    arrays->n = 0;
    if (context->facts.has_bricks) add_bricks(context, arrays);
    if (has_queue(context)) add_queue(context, arrays);
    if (defers_faults(context)) add_queue_check(context, arrays);
    add_positions(context, arrays);
    add_carried(context, arrays, CUDA_KEPT, &a->now);
    if (context->facts.reorders) add_carried(context, arrays, CUDA_REBUILD, &a->spare);
    add_vectors(context, arrays, CUDA_KEPT, &a->reference, n, context->facts.pair_size, "places of the last build");
    size_t types = (size_t)(context->potential.n_types * context->potential.n_types);
    add(arrays, CUDA_KEPT, &a->pairs, types,
        context->facts.pair_size == sizeof(float) ? sizeof(MdPair_f) : sizeof(MdPair_d), "parameters");
    if (context->facts.needs_cells) add_cells(context, arrays);
    add_scratch(context, arrays);
    add(arrays, CUDA_KEPT, &a->totals, CUDA_N_TOTALS, sizeof(double), "sums");
    add(arrays, CUDA_KEPT, &context->sums.d_head, cuda_reduce_row_bytes(context), 1, "sums for the host");
    if (context->config.reduce_finish == MD_FINISH_HOST) {
        add(arrays, CUDA_KEPT, &context->pair_partials.sums, pair_partials(context), sizeof(double), "sums of pairs");
        add(arrays, CUDA_KEPT, &context->atom_partials.sums, atom_partials(context), sizeof(double), "sums of atoms");
    }
    if (context->config.output_pack != MD_PACK_NAIVE)
        add(arrays, CUDA_KEPT, &a->place_of_id, n, sizeof(int32_t), "places by id");
    add(arrays, CUDA_KEPT, &a->counters, CUDA_N_COUNTS, sizeof(unsigned long long), "counters");
    add(arrays, CUDA_KEPT, &a->barrier, 2 * CUDA_BARRIER_STRIDE, sizeof *a->barrier, "barrier");
    add(arrays, CUDA_KEPT, &a->status, 1, sizeof(CudaDeviceStatus), "measures");
    add(arrays, CUDA_STAGING, &context->staging, 3 * n, sizeof(double), "staging");
    if (!context->facts.has_list) return;
    add(arrays, CUDA_KEPT, &a->list.counts, n, sizeof(int32_t), "row lengths");
    add(arrays, CUDA_KEPT, &a->list.entries, cuda_memory_list_bytes(context), 1, "neighbour list");
}

static void plan(CudaContext *context) {
    context->max_cells = cuda_grid_most_cells(context);
    cuda_brick_plan_tables(context);
    set_capacity(context, initial_capacity(context));
    /* As many threads as blocks of a warp have; the last block of a larger size may stand out by almost one. Blocks of bricks
     * are of any size. The second pass has a block a sum. */
    const int64_t of_block = context->facts.has_bricks ? 1024 : 32;
    int64_t force = of_block * cuda_force_most_blocks(context), atoms = 32 * cuda_blocks(context->n_atoms, 32);
    int64_t most = force > atoms ? force : atoms, second = CUDA_ATOM_TOTALS * 1024;
    context->tree_threads = most + 1024 > second ? most + 1024 : second;
}

static uint64_t host_bytes(const CudaContext *context) {
    return cuda_reduce_row_bytes(context) + 2 * (uint64_t)CUDA_CHUNK_BYTES + sizeof(CudaContext) +
           sizeof(CudaDeviceStatus) + sizeof(CudaHostStatus);
}

static MdMemory memory_of(const CudaContext *context, uint64_t array_bytes) {
    MdMemory memory = {.host_bytes = host_bytes(context)};
    *(context->config.memory_space == MD_SPACE_MAPPED ? &memory.host_bytes : &memory.device_bytes) += array_bytes;
    return memory;
}

MdMemory cuda_memory_estimate(CudaContext *context) {
    Arrays arrays;
    uint64_t bytes = 0;
    plan(context);
    list_arrays(context, &arrays);
    for (int k = 0; k < arrays.n; k++) bytes += (uint64_t)arrays.rows[k].count * arrays.rows[k].size;
    return memory_of(context, bytes);
}

MdMemory cuda_memory_held(const CudaContext *context) { return memory_of(context, context->most_array_bytes); }

/* --- for one call -------------------------------------------------------------------------------------------------- */

static bool is_per_call(const CudaContext *context, CudaGroup group) {
    if (group == CUDA_KEPT) return false;
    if (group == CUDA_SCRATCH) return context->config.reduce_scratch == MD_SCRATCH_PER_CALL;
    return context->config.memory_allocation != MD_ALLOCATION_ONCE;
}

static MdStatus allocate(CudaContext *context, const Array *array, MdStatus failure) {
    bool pooled = context->config.memory_allocation == MD_ALLOCATION_POOL && array->group != CUDA_SCRATCH &&
                  is_per_call(context, array->group);
    return cuda_allocate(context, array->where, array->count * array->size, pooled, array->what, failure);
}

void cuda_memory_begin(CudaContext *context, CudaGroup group) {
    if (!is_per_call(context, group)) return;
    Arrays arrays;
    list_arrays(context, &arrays);
    for (int k = 0; k < arrays.n; k++) {
        const Array *array = &arrays.rows[k];
        if (array->group != group || *array->where) continue;
        if (allocate(context, array, MD_ERROR_INTERNAL) != MD_OK)
            md_panic("the memory for the %s is gone: it was there when the program started", array->what);
    }
}

void cuda_memory_end(CudaContext *context, CudaGroup group) {
    if (!is_per_call(context, group)) return;
    Arrays arrays;
    list_arrays(context, &arrays);
    for (int k = 0; k < arrays.n; k++) {
        if (arrays.rows[k].group != group) continue;
        cuda_release(context, *arrays.rows[k].where);
        *arrays.rows[k].where = NULL;
    }
}

void cuda_memory_need_forces(CudaContext *context) {
    md_require(context->has_forces);
    if (context->arguments.now.force.part[0]) return;
    cuda_memory_begin(context, CUDA_FORCES);
    cuda_force_zero(context);
}

/* --- all of it ----------------------------------------------------------------------------------------------------- */

MdStatus cuda_memory_allocate(CudaContext *context) {
    Arrays arrays;
    plan(context);
    list_arrays(context, &arrays);
    if (context->config.memory_allocation == MD_ALLOCATION_POOL) cuda_pool_keep(context);
    for (int k = 0; k < arrays.n; k++) {
        MdStatus status = allocate(context, &arrays.rows[k], MD_ERROR_INPUT);
        if (status != MD_OK) return status;
    }
    if (cells_are_staged(context)) stage_cells(context);
    if (forces_are_second(context)) place_forces(context);
    CUDA_CHECK(cudaMallocHost((void **)&context->h_status, sizeof(CudaDeviceStatus)));
    CUDA_CHECK(cudaMallocHost((void **)&context->sums.h_head, cuda_reduce_row_bytes(context)));
    for (int k = 0; k < 2; k++) CUDA_CHECK(cudaMallocHost((void **)&context->h_staging[k], CUDA_CHUNK_BYTES));
    CudaHostStatus *host_status = NULL;
    CUDA_CHECK(cudaHostAlloc((void **)&host_status, sizeof *host_status, cudaHostAllocMapped));
    CUDA_CHECK(cudaHostGetDevicePointer((void **)&context->arguments.host_status, host_status, 0));
    memset(host_status, 0, sizeof *host_status);
    context->h_host_status = host_status;

    const CudaArguments *a = &context->arguments;
    CUDA_CHECK(cudaMemsetAsync(a->status, 0, sizeof(CudaDeviceStatus), context->stream));
    CUDA_CHECK(cudaMemsetAsync(&a->status->fault_step, 0xff, sizeof a->status->fault_step, context->stream));
    CUDA_CHECK(cudaMemsetAsync(&a->status->fault_key, 0xff, sizeof a->status->fault_key, context->stream));
    CUDA_CHECK(cudaMemsetAsync(a->barrier, 0, 2 * CUDA_BARRIER_STRIDE * sizeof *a->barrier, context->stream));
    CUDA_CHECK(cudaMemsetAsync(a->totals, 0, CUDA_N_TOTALS * sizeof(double), context->stream));
    if (context->cell_counts)
        CUDA_CHECK(cudaMemsetAsync(context->cell_counts, 0, ((size_t)context->max_cells + 1) * sizeof(int32_t),
                                   context->stream));
    if (has_queue(context)) clear_queue(context);
    if (defers_faults(context)) clear_check(context);
    cuda_force_zero(context); /* nothing has acted yet */
    context->has_forces = true;
    if (a->partials)
        CUDA_CHECK(cudaMemsetAsync(a->partials, 0, most_partials(context) * sizeof(double), context->stream));
    const CudaGroup unused[] = {CUDA_REBUILD, CUDA_STAGING, CUDA_SCRATCH};
    for (size_t k = 0; k < sizeof unused / sizeof unused[0]; k++) cuda_memory_end(context, unused[k]);
    return MD_OK;
}

void cuda_memory_free(CudaContext *context) {
    for (int k = 0; k < CUDA_MAX_BLOCKS; k++) cuda_release(context, context->blocks[k].data);
    if (context->stream && context->config.memory_allocation == MD_ALLOCATION_POOL) cuda_pool_trim(context);
    /* any of these may be missing after a failure at start */
    void *pinned[] = {context->h_status, context->sums.h_head, context->h_staging[0], context->h_staging[1],
                      (void *)(uintptr_t)context->h_host_status};
    for (size_t k = 0; k < sizeof pinned / sizeof pinned[0]; k++)
        if (pinned[k]) CUDA_CHECK(cudaFreeHost(pinned[k]));
}

/* A row that is some entries too long gets as many again, so that a list which nearly fits stays about as large (256 million atoms
 * have 50 GB of it); at least twice as many as the time before, so that a list which goes on growing grows seldom; a fifth at most. */
MdStatus cuda_memory_grow_list(CudaContext *context, int32_t count) {
    const int32_t lacking = count - context->arguments.list.capacity, twice = 2 * context->list_slack,
                  wanted = lacking > twice ? lacking : twice, most = count / 5 + 1;
    context->list_slack = wanted < most ? wanted : most;
    set_capacity(context, count + context->list_slack);
    context->n_overflows++;
    return replace_list(context, "neighbour list that had to grow");
}

static MdStatus grow_queue(CudaContext *context) {
    CudaQueue *queue = &context->arguments.queue;
    const size_t n = (size_t)context->max_bricks;
    MdStatus status = replace(context, (void **)&queue->done, n * sizeof *queue->done, "steps of bricks");
    if (status == MD_OK) status = replace(context, (void **)&queue->brick, n * sizeof *queue->brick, "queue of bricks");
    if (status == MD_OK) clear_queue(context);
    return status;
}

MdStatus cuda_memory_grow_bricks(CudaContext *context, int64_t n_sources, int64_t n_slices) {
    CudaBricks *bricks = &context->arguments.bricks;
    const int64_t n_bricks = cuda_brick_count(&context->arguments.grid);
    MdStatus status = MD_OK;
    if (n_bricks > context->max_bricks) {
        context->max_bricks = n_bricks + n_bricks / 10; /* the box of the particles may grow on */
        status =
            replace(context, (void **)&bricks->table, (size_t)context->max_bricks * sizeof *bricks->table, "bricks");
        if (status == MD_OK)
            status = replace(context, &bricks->shifts, (size_t)context->max_bricks * shifts_bytes(context),
                             "shifts of images");
        if (status == MD_OK && has_queue(context)) status = grow_queue(context);
    }
    if (status == MD_OK && n_slices > bricks->slice_capacity) {
        bricks->slice_capacity = n_slices;
        status = replace_list(context, "neighbour list");
    }
    if (status == MD_OK && n_sources > bricks->source_capacity) {
        bricks->source_capacity = n_sources;
        status =
            replace(context, (void **)&bricks->source, (size_t)n_sources * sizeof *bricks->source, "atoms of bricks");
        if (status == MD_OK)
            status = replace(context, (void **)&bricks->image, (size_t)n_sources * sizeof *bricks->image,
                             "images of bricks");
    }
    return status;
}

void cuda_memory_download(CudaContext *context, void *host, const void *device, size_t bytes) {
    const char *from = device;
    char *to = host;
    size_t n_chunks = (bytes + CUDA_CHUNK_BYTES - 1) / CUDA_CHUNK_BYTES;
    /* One chunk is copied by the device while the host empties the one before. */
    for (size_t k = 0; k <= n_chunks; k++) {
        size_t offset = k * CUDA_CHUNK_BYTES;
        if (k < n_chunks) {
            size_t size = bytes - offset < CUDA_CHUNK_BYTES ? bytes - offset : CUDA_CHUNK_BYTES;
            CUDA_CHECK(
                cudaMemcpyAsync(context->h_staging[k % 2], from + offset, size, cudaMemcpyDefault, context->stream));
            CUDA_CHECK(cudaEventRecord(context->chunk_copied[k % 2], context->stream));
        }
        if (k > 0) {
            size_t before = offset - CUDA_CHUNK_BYTES;
            size_t size = bytes - before < CUDA_CHUNK_BYTES ? bytes - before : CUDA_CHUNK_BYTES;
            cuda_wait_event(context, context->chunk_copied[(k - 1) % 2], "wait: copy");
            memcpy(to + before, context->h_staging[(k - 1) % 2], size);
        }
    }
}

void cuda_status_read(CudaContext *context, bool wait) {
    CUDA_CHECK(cudaMemcpyAsync(context->h_status, context->arguments.status, sizeof(CudaDeviceStatus),
                               cudaMemcpyDefault, context->stream));
    CUDA_CHECK(cudaEventRecord(context->status_copied, context->stream));
    if (wait) cuda_wait_event(context, context->status_copied, "wait: device");
}

void cuda_status_release(CudaContext *context) {
    context->h_host_status->stopped = 0;
    CUDA_CHECK(cudaMemsetAsync(&context->arguments.status->stopped, 0, sizeof(unsigned), context->stream));
}

void cuda_force_zero(CudaContext *context) {
    const size_t n = (size_t)context->n_atoms * context->facts.pair_size;
    const int layout = context->config.memory_layout;
    const CudaVectors *force = &context->arguments.now.force;
    for (int part = 0; part < (layout == MD_LAYOUT_SOA ? 3 : 1); part++)
        CUDA_CHECK(cudaMemsetAsync(force->part[part], 0,
                                   layout == MD_LAYOUT_SOA   ? n
                                   : layout == MD_LAYOUT_AOS ? 3 * n
                                                             : 4 * n,
                                   context->stream));
}
