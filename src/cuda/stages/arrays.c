/* The table of the device arrays: which the switches need, and how large they are. Arrays that only several processes have are in
 * arrays_domain.c. */
#include <math.h>

#include "cuda/stages/array_table.h"

/* Column order: rows side by side, padded so that each column starts on a 128-byte line. */
static int64_t column_stride(const CudaContext *context) {
    const int64_t line = 128 / (int64_t)sizeof(int32_t);
    return (context->room + line - 1) / line * line;
}

/* Rows of clusters are read by a warp each: entry after entry is as good as any. */
static bool has_columns(const CudaContext *context) {
    return context->config.neighbor_order == MD_LIST_ORDER_COLUMN && !context->facts.has_clusters;
}

void cuda_arrays_set_capacity(CudaContext *context, int64_t count) {
    const int64_t n = context->room, n_clusters = cuda_blocks(n, CUDA_CLUSTER);
    const int64_t most = context->facts.has_clusters ? n_clusters : n; /* entries of a row */
    const int64_t capacity = ((count < most ? count : most) + 3) / 4 * 4;
    const bool column = has_columns(context); /* rows of bricks are arranged otherwise: kernels/bricks/tile.cuh */
    context->arguments.list.n_rows = (int32_t)most;
    context->arguments.list.capacity = (int32_t)capacity;
    context->arguments.list.row_stride = column ? 1 : capacity;
    context->arguments.list.entry_stride = column ? column_stride(context) : 1;
}

/* Entries of a row at first, to the nearest quad: the neighbours of a uniform system of this density, and for fluctuations 1.65 times
 * the root of their number. In a dense liquid that has a standard deviation of 2.9 about 75 (melt at density 0.8442, range
 * 2.8), 92 entries are six of these above the mean. Rows of a gas, and of a box that is mostly empty, overflow at the first
 * build, and grow then; few neighbours have room for some more, which takes no memory to speak of. */
static int64_t initial_capacity(const CudaContext *context) {
    if (context->config.neighbor_capacity != MD_AUTO_INT) return context->config.neighbor_capacity;
    double volume = 1, sphere = context->box.dimension == 2 ? 1.0 : 4.0 / 3.0;
    for (int a = 0; a < context->box.dimension; a++) volume *= fmax(context->box.length[a], 1.0);
    sphere *= 3.14159265358979323846 * pow(context->range, context->box.dimension);
    double neighbors = sphere * (double)context->n_all / volume;
    /* nearly all that have a part in the cells around: most of a cube of three ranges */
    if (context->facts.has_clusters)
        neighbors =
            pow(3 * context->range, context->box.dimension) * (double)context->n_all / (volume * CUDA_CLUSTER) + 8;
    /* a half list has half of them, and fluctuates as much */
    if (context->facts.halves) neighbors = 0.5 * neighbors + 8;
    return (int64_t)fmin(fmax(4 * round((neighbors + 1.65 * sqrt(neighbors)) / 4), 16), (double)context->n_all);
}

/* --- the arrays --- */

/* n vectors of numbers of `size` bytes, in the layout of the run. */
static void add_vectors(const CudaContext *context, CudaArrays *arrays, CudaGroup group, CudaVectors *vectors, size_t n,
                        size_t size, const char *what) {
    const int n_parts = context->config.memory_layout == MD_LAYOUT_SOA ? 3 : 1;
    for (int k = 0; k < n_parts; k++)
        cuda_array_add(arrays, group, &vectors->part[k], n, cuda_vector_width(context) * size, what);
}

static bool has_positions_twice(const CudaContext *context) {
    return context->facts.reorders || context->facts.fuses_steps;
}

/* The second copy of the positions is for a sort and for the passes of fused steps: there are no forces then, except those
 * that the drift reads, each thread the force of its atom before it writes. So they share memory. */
static bool forces_are_second(const CudaContext *context) {
    return has_positions_twice(context) && context->config.memory_allocation == MD_ALLOCATION_ONCE;
}

static void place_forces(CudaContext *context) {
    CudaParticles *now = &context->arguments.now;
    const size_t bytes = (size_t)context->room * cuda_vector_width(context) * context->facts.pair_size;
    for (int k = 0; k < 3; k++)
        if (now->position.part[k]) now->force.part[k] = (char *)now->position.part[k] + bytes;
}

static void add_positions(CudaContext *context, CudaArrays *arrays) {
    CudaParticles *now = &context->arguments.now;
    const size_t n = (size_t)context->room, size = context->facts.pair_size;
    const size_t n_places = cuda_arrays_exported(context, has_positions_twice(context) ? 2 * n : n, 4 * size);
    add_vectors(context, arrays, CUDA_KEPT, &now->position, n_places, size, "positions");
    if (!forces_are_second(context)) add_vectors(context, arrays, CUDA_FORCES, &now->force, n, size, "forces");
}

/* Arrays that a reordering writes to another copy, which is then the one in use. */
static void add_carried(const CudaContext *context, CudaArrays *arrays, CudaGroup group, CudaParticles *p) {
    const size_t n = (size_t)context->room;
    add_vectors(context, arrays, group, &p->velocity, n, context->facts.pair_size, "velocities");
    cuda_array_add(arrays, group, &p->tag, n, sizeof(CudaTag), "images and ids");
    CudaColumn columns[MD_N_COLUMNS];
    const int n_columns = cuda_columns(context, p, columns);
    for (int k = 0; k < n_columns; k++)
        cuda_array_add(arrays, group, columns[k].array, n,
                       md_column_bytes(columns[k].column, context->config.run_precision),
                       md_columns[columns[k].column].what);
    if (context->config.memory_layout == MD_LAYOUT_VEC4) return;
    cuda_array_add(arrays, group, &p->type, n, sizeof(int32_t), "types");
    cuda_array_add(arrays, group, &p->inverse_mass, n, context->facts.pair_size, "masses");
    if (context->config.run_precision == MD_PRECISION_MIXED)
        cuda_array_add(arrays, group, &p->low, n, sizeof *p->low, "last bits of positions");
}

static size_t list_bytes(const CudaContext *context) {
    const CudaList *list = &context->arguments.list;
    const int64_t rows = context->facts.has_bricks ? context->arguments.bricks.slice_capacity * 32
                         : has_columns(context)    ? column_stride(context)
                                                   : list->n_rows;
    const size_t entry = context->facts.has_bricks ? sizeof(uint16_t) : sizeof(int32_t);
    return (size_t)rows * (size_t)list->capacity * entry;
}

/* Whether the cells of the last build are read until the next one. */
static bool cells_are_kept(const CudaContext *context) {
    return context->config.force_kernel == MD_KERNEL_CELL || context->facts.has_clusters;
}

/* The input of a sort is dead when the search begins, which overwrites the list: so it can be in the memory of the list, keys
 * (8 bytes each) and arrivals, or keys of few cells, at its beginning, and cell ranks at its end. */
static bool cells_are_in_list(const CudaContext *context) {
    return context->facts.needs_cells && context->facts.has_list && !cells_are_kept(context) &&
           context->config.memory_allocation == MD_ALLOCATION_ONCE;
}

static size_t places_bytes(const CudaContext *context) { return (size_t)context->room * sizeof(int32_t); }

static size_t entries_bytes(const CudaContext *context) {
    const size_t list = list_bytes(context), sort = 4 * places_bytes(context);
    return cells_are_in_list(context) && list < sort ? sort : list;
}

size_t cuda_arrays_few_keys_bytes(const CudaContext *context) {
    return entries_bytes(context) - (cells_are_in_list(context) ? places_bytes(context) : 0);
}

static void share_cells(CudaContext *context) {
    CudaArguments *a = &context->arguments;
    char *entries = a->list.entries;
    a->slot_key = entries;
    a->arrival = (int32_t *)(entries + 2 * places_bytes(context));
    a->place = (int32_t *)(entries + entries_bytes(context) - places_bytes(context));
}

static void add_cells(CudaContext *context, CudaArrays *arrays) {
    CudaArguments *a = &context->arguments;
    const CudaGroup group = cells_are_kept(context) ? CUDA_KEPT : CUDA_REBUILD;
    const size_t n = (size_t)context->room, n_cells = (size_t)context->max_cells;
    if (!cells_are_in_list(context)) {
        const size_t key = context->facts.sorts_bricks ? sizeof(uint64_t) : sizeof(int32_t);
        cuda_array_add(arrays, group, &a->slot_key, n, key, "keys by cell");
        cuda_array_add(arrays, group, &a->place, n, sizeof(int32_t), "cell ranks of particles");
        cuda_array_add(arrays, group, &a->arrival, n, sizeof(int32_t), "arrivals in cells");
    }
    if (!context->facts.reorders) cuda_array_add(arrays, group, &a->slot_atom, n, sizeof(int32_t), "particles by cell");
    cuda_array_add(arrays, group, &a->slot_cell, n, sizeof(int32_t), "cells of slots");
    /* kept in any case: a sort finds the zeros that the one before has left, of few cells in the other of two turns */
    cuda_array_keep(arrays, &context->cell_counts, n_cells + 1 + 2 * cuda_sort_few_counts(context), sizeof(int32_t),
                    "counts of cells");
    cuda_array_add(arrays, group, &a->cell_start, n_cells + 1, sizeof(int32_t), "cell starts");
    if (context->facts.places_cells) {
        cuda_array_keep(arrays, &a->cell_place, n_cells, sizeof(int32_t), "ranks of cells");
        cuda_array_keep(arrays, &a->place_cell, n_cells, sizeof(int32_t), "cells by rank");
    }
    /* a sum for each block of the scan, and no block is smaller than a warp */
    cuda_array_add(arrays, group, &a->scan_sums, n_cells / 32 + 2, sizeof(int32_t), "sums of the scan");
}

static void add_bricks(CudaContext *context, CudaArrays *arrays) {
    CudaBricks *bricks = &context->arguments.bricks;
    const size_t n = (size_t)context->max_bricks, n_sources = (size_t)bricks->source_capacity;
    cuda_array_keep(arrays, &bricks->table, n, sizeof *bricks->table, "bricks");
    cuda_array_keep(arrays, &bricks->shifts, n, CUDA_SHIFTS * context->facts.pair_size, "shifts of images");
    cuda_array_keep(arrays, &bricks->source, n_sources, sizeof *bricks->source, "atoms of bricks");
    cuda_array_keep(arrays, &bricks->image, n_sources, sizeof *bricks->image, "images of bricks");
}

static void add_queue(CudaContext *context, CudaArrays *arrays) {
    CudaQueue *queue = &context->arguments.queue;
    const size_t n = (size_t)context->max_bricks,
                 n_steps = cuda_arrays_exported(context, (size_t)context->max_steps, sizeof *queue->done);
    cuda_array_keep(arrays, &queue->counts, 2, sizeof *queue->counts, "counts of the queue");
    cuda_array_keep(arrays, &queue->done, n_steps, sizeof *queue->done, "steps of bricks");
    cuda_array_keep(arrays, &queue->brick, n, sizeof *queue->brick, "queue of bricks");
}

static size_t pair_partials(const CudaContext *context) {
    return (size_t)cuda_force_most_blocks(context) * (size_t)(context->facts.pair_sums * context->facts.sum_parts);
}

static size_t atom_partials(const CudaContext *context) {
    return (size_t)cuda_reduce_most_blocks(context) * (size_t)(context->facts.atom_sums * context->facts.sum_parts);
}

size_t cuda_arrays_partials(const CudaContext *context) {
    const size_t pairs = pair_partials(context), atoms = atom_partials(context);
    return pairs > atoms ? pairs : atoms;
}

static void add_scratch(CudaContext *context, CudaArrays *arrays) {
    CudaArguments *a = &context->arguments;
    if (context->config.reduce_finish != MD_FINISH_ATOMIC)
        cuda_array_add(arrays, CUDA_SCRATCH, &a->partials, cuda_arrays_partials(context), sizeof(double),
                       "partial sums");
    if (context->config.reduce_method == MD_METHOD_GLOBAL)
        cuda_array_add(arrays, CUDA_SCRATCH, &a->tree, (size_t)context->tree_threads, sizeof(double), "trees of sums");
}

/* The second copy of the tags is that of a sort, after which slots by id are found anew. */
static bool places_are_in_tags(const CudaContext *context) {
    return context->facts.reorders && context->config.memory_allocation == MD_ALLOCATION_ONCE;
}

static void add_pair_count(CudaContext *context, CudaArrays *arrays) {
    CudaPairCount *count = &context->arguments.pair_count;
    const size_t n = (size_t)context->room, n_cells = (size_t)md_pair_count_cells(&context->pair_count);
    cuda_array_keep(arrays, &count->atoms, n, 4 * context->facts.pair_size, "atoms of pairs");
    cuda_array_keep(arrays, &count->cell_of, n, sizeof(int32_t), "cells of atoms of pairs");
    cuda_array_keep(arrays, &count->begin, n_cells + 1, sizeof(int32_t), "cells of pairs");
    cuda_array_keep(arrays, &count->cursor, n_cells, sizeof(int32_t), "ends of cells of pairs");
    cuda_array_keep(arrays, &count->counts, MD_COUNTED_ROWS * md_pair_count_size(&context->pair_count),
                    sizeof(unsigned long long), "pair counts");
}

void cuda_arrays_list(CudaContext *context, CudaArrays *arrays) {
    CudaArguments *a = &context->arguments;
    const size_t n = (size_t)context->room, of_pair = context->facts.pair_size;
    const size_t types = (size_t)(context->potential.n_types * context->potential.n_types);
    /* Passes that may turn out not to count: faults in them wait until that is known. */
    const bool defers_faults =
        (context->facts.queues && context->facts.checks_on_device) || context->facts.may_roll_back;
    arrays->n = 0;
    if (context->comm) cuda_arrays_add_domain(context, arrays);
    if (context->facts.has_bricks) add_bricks(context, arrays);
    if (context->facts.queues) add_queue(context, arrays);
    if (defers_faults) cuda_array_keep(arrays, &a->queue.check, 1, sizeof *a->queue.check, "check of passes");
    add_positions(context, arrays);
    add_carried(context, arrays, CUDA_KEPT, &a->now);
    if (context->facts.reorders) add_carried(context, arrays, CUDA_REBUILD, &a->spare);
    add_vectors(context, arrays, CUDA_KEPT, &a->reference, n, of_pair, "positions of the last build");
    cuda_array_keep(arrays, &a->pairs, types, of_pair == sizeof(float) ? sizeof(MdPair_f) : sizeof(MdPair_d),
                    "parameters");
    if (context->facts.needs_cells) add_cells(context, arrays);
    add_scratch(context, arrays);
    cuda_array_keep(arrays, &a->totals, CUDA_MOST_TOTALS, sizeof(double), "sums");
    cuda_array_keep(arrays, &context->sums.d_head, cuda_reduce_row_bytes(context), 1, "sums for the host");
    if (context->config.reduce_finish == MD_FINISH_HOST) {
        cuda_array_keep(arrays, &context->pair_partials.sums, pair_partials(context), sizeof(double), "sums of pairs");
        cuda_array_keep(arrays, &context->atom_partials.sums, atom_partials(context), sizeof(double), "sums of atoms");
    }
    if (context->config.output_pack != MD_PACK_NAIVE && !context->comm && !places_are_in_tags(context))
        cuda_array_keep(arrays, &a->place_of_id, n, sizeof(int32_t), "slots by id");
    if (context->facts.observes)
        cuda_array_keep(arrays, &a->observed, MD_OBSERVED_ROWS * cuda_row_sums(context), sizeof(MdSplitSum), "samples");
    if (context->facts.counts_pairs) add_pair_count(context, arrays);
    cuda_array_keep(arrays, &a->counters, CUDA_N_COUNTS, sizeof(unsigned long long), "counters");
    cuda_array_keep(arrays, &a->barrier, 2 * CUDA_BARRIER_STRIDE, sizeof *a->barrier, "barrier");
    cuda_array_keep(arrays, &a->status, 1, sizeof(CudaDeviceStatus), "measures");
    cuda_array_add(arrays, CUDA_STAGING, &context->staging, (size_t)cuda_staged_rows(context), 3 * sizeof(double),
                   "staging");
    if (!context->facts.has_list) return;
    cuda_array_keep(arrays, &a->list.counts, n, sizeof(int32_t), "row lengths");
    cuda_array_keep(arrays, &a->list.entries, entries_bytes(context), 1, "neighbour list");
}

static void plan_trees(CudaContext *context) {
    /* As many threads as blocks of a warp have; the last block of a larger size may stand out by almost one. Blocks of bricks
     * are of any size. The second pass has a block for each part of a sum. */
    const int64_t of_block = context->facts.has_bricks ? 1024 : 32;
    int64_t force = of_block * cuda_force_most_blocks(context), atoms = 32 * cuda_blocks(context->room, 32);
    int64_t most = force > atoms ? force : atoms, second = context->facts.atom_sums * context->facts.sum_parts * 1024;
    context->tree_threads = most + 1024 > second ? most + 1024 : second;
}

void cuda_arrays_plan(CudaContext *context) {
    context->max_cells = cuda_grid_most_cells(context);
    cuda_brick_plan_tables(context);
    cuda_arrays_set_capacity(context, initial_capacity(context));
    plan_trees(context);
}

void cuda_arrays_set_room(CudaContext *context, int64_t n) {
    CudaArguments *a = &context->arguments;
    context->room = (int)n;
    a->n_own = a->n_stored = a->stride = context->room;
    cuda_arrays_set_capacity(context, a->list.capacity);
    plan_trees(context);
}

void cuda_arrays_share(CudaContext *context) {
    if (cells_are_in_list(context)) share_cells(context);
    if (places_are_in_tags(context)) context->arguments.place_of_id = (int32_t *)context->arguments.spare.tag;
    if (forces_are_second(context)) place_forces(context);
}
