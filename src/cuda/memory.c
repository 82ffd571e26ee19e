/* Memory of the cuda backend: one table of arrays that allocation and estimate share, the regrowing list, and the way
 * from the device to the host.
 *
 * All arrays are allocated once, at start; only a list that overflows is allocated anew (and counted). */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "cuda/context.h"

void cuda_check(cudaError_t error, const char *expression, const char *file, int line) {
    if (error == cudaSuccess) return;
    int device = -1;
    if (cudaGetDevice(&device) != cudaSuccess) device = -1;
    md_panic_at(file, line, "%s failed on GPU %d: %s (%s)", expression, device, cudaGetErrorName(error),
                cudaGetErrorString(error));
}

/* Column order: rows side by side, padded so that each column starts on a 128-byte line. */
static int64_t column_stride(int64_t n_atoms) { return (n_atoms + 31) / 32 * 32; }

static void set_capacity(CudaContext *context, int64_t count) {
    int64_t most = context->n_atoms; /* a row has at most n - 1 entries */
    int64_t capacity = (count < most ? count : most);
    capacity = (capacity + 3) / 4 * 4;
    bool column = context->config.neighbor_order == MD_LIST_ORDER_COLUMN;
    context->arguments.list.capacity = (int32_t)capacity;
    context->arguments.list.row_stride = column ? 1 : capacity;
    context->arguments.list.entry_stride = column ? column_stride(context->n_atoms) : 1;
}

static size_t list_bytes(const CudaContext *context) {
    int64_t rows =
        context->config.neighbor_order == MD_LIST_ORDER_COLUMN ? column_stride(context->n_atoms) : context->n_atoms;
    return (size_t)rows * (size_t)context->arguments.list.capacity * sizeof(int32_t);
}

/* Entries of a row at first: the neighbours of a uniform system of this density, a fifth more for fluctuations (in a
 * dense liquid the longest of a million rows has about 25 per cent more than the mean), and eight for small ones. A box
 * that is mostly empty overflows at the first build, and grows then. */
static int64_t initial_capacity(const CudaContext *context) {
    if (context->config.neighbor_capacity != MD_AUTO_INT) return context->config.neighbor_capacity;
    double volume = 1, sphere = context->box.dimension == 2 ? 1.0 : 4.0 / 3.0;
    for (int a = 0; a < context->box.dimension; a++) volume *= fmax(context->box.length[a], 1.0);
    sphere *= 3.14159265358979323846 * pow(context->range, context->box.dimension);
    return (int64_t)fmin(ceil(1.2 * sphere * context->n_atoms / volume) + 8, (double)context->n_atoms);
}

/* --- the arrays --- */

typedef struct Array {
    void **where;
    size_t count, size;
    const char *what;
} Array;

typedef struct Arrays {
    int n;
    Array rows[CUDA_MAX_BLOCKS];
} Arrays;

static void add(Arrays *arrays, void *where, size_t count, size_t size, const char *what) {
    md_require(arrays->n < CUDA_MAX_BLOCKS);
    arrays->rows[arrays->n++] = (Array){where, count, size, what};
}

/* n vectors of numbers of `size` bytes, in the layout of the run. */
static void add_vectors(const CudaContext *context, Arrays *arrays, CudaVectors *vectors, size_t size,
                        const char *what) {
    size_t n = (size_t)context->n_atoms;
    switch (context->config.memory_layout) {
    case MD_LAYOUT_AOS: add(arrays, &vectors->part[0], n, 3 * size, what); break;
    case MD_LAYOUT_SOA:
        for (int k = 0; k < 3; k++) add(arrays, &vectors->part[k], n, size, what);
        break;
    default: add(arrays, &vectors->part[0], n, 4 * size, what);
    }
}

static void add_particles(const CudaContext *context, Arrays *arrays, CudaParticles *p) {
    size_t n = (size_t)context->n_atoms;
    add_vectors(context, arrays, &p->position, context->pair_size, "positions");
    if (context->config.run_precision == MD_PRECISION_MIXED)
        add_vectors(context, arrays, &p->state, context->state_size, "positions in double");
    add_vectors(context, arrays, &p->velocity, context->state_size, "velocities");
    add_vectors(context, arrays, &p->force, context->pair_size, "forces");
    add(arrays, &p->tag, n, sizeof(CudaTag), "images and ids");
    if (context->config.memory_layout == MD_LAYOUT_VEC4) return;
    add(arrays, &p->type, n, sizeof(int32_t), "types");
    add(arrays, &p->inverse_mass, n, context->state_size, "masses");
}

static void add_cells(CudaContext *context, Arrays *arrays) {
    CudaArguments *a = &context->arguments;
    size_t n = (size_t)context->n_atoms;
    add(arrays, &a->cell, n, sizeof(int32_t), "cells of particles");
    add(arrays, &a->arrival, n, sizeof(int32_t), "arrivals in cells");
    add(arrays, &a->slot_id, n, sizeof(int32_t), "ids by cell");
    add(arrays, &a->slot_atom, n, sizeof(int32_t), "particles by cell");
    add(arrays, &a->slot_cell, n, sizeof(int32_t), "cells of slots");
    add(arrays, &a->cell_start, (size_t)context->max_cells + 1, sizeof(int32_t), "cell starts");
    /* a sum for each block of the scan, and no block is smaller than a warp */
    add(arrays, &a->scan_sums, (size_t)context->max_cells / 32 + 2, sizeof(int32_t), "sums of the scan");
}

static size_t pair_partials(const CudaContext *context) {
    return (size_t)cuda_force_most_blocks(context) * CUDA_PAIR_TOTALS;
}

static size_t atom_partials(const CudaContext *context) {
    return (size_t)cuda_reduce_most_blocks(context) * CUDA_ATOM_TOTALS;
}

static void add_scratch(CudaContext *context, Arrays *arrays) {
    CudaArguments *a = &context->arguments;
    size_t pairs = pair_partials(context), atoms = atom_partials(context);
    add(arrays, &a->partials, pairs > atoms ? pairs : atoms, sizeof(double), "partial sums");
    if (context->config.reduce_method == MD_METHOD_GLOBAL)
        add(arrays, &a->tree, (size_t)context->tree_threads, sizeof(double), "trees of sums");
}

static void list_arrays(CudaContext *context, Arrays *arrays) {
    CudaArguments *a = &context->arguments;
    size_t n = (size_t)context->n_atoms;
    arrays->n = 0;
    add_particles(context, arrays, &a->now);
    if (cuda_sort_reorders(context)) add_particles(context, arrays, &a->spare);
    add_vectors(context, arrays, &a->reference, context->pair_size, "positions of the last build");
    size_t types = (size_t)(context->potential.n_types * context->potential.n_types);
    add(arrays, &a->pairs, types, context->pair_size == sizeof(float) ? sizeof(MdPair_f) : sizeof(MdPair_d),
        "parameters");
    if (cuda_sort_needs_cells(context)) add_cells(context, arrays);
    add_scratch(context, arrays);
    add(arrays, &a->totals, CUDA_N_TOTALS, sizeof(double), "sums");
    add(arrays, &a->counters, CUDA_N_COUNTS, sizeof(unsigned long long), "counters");
    add(arrays, &a->barrier, 1, sizeof *a->barrier, "barrier");
    add(arrays, &a->watch, 1, sizeof(CudaWatch), "measures");
    add(arrays, &context->staging, 3 * n, sizeof(double), "staging");
    if (!cuda_force_has_list(context)) return;
    add(arrays, &a->list.counts, n, sizeof(int32_t), "row lengths");
    add(arrays, &a->list.entries, list_bytes(context), 1, "neighbour list");
}

static void plan(CudaContext *context) {
    context->max_cells = context->n_atoms > 64 ? context->n_atoms : 64;
    set_capacity(context, initial_capacity(context));
    /* As many threads as blocks of a warp have; the last block of a larger size may stand out by almost one. The second
     * pass has a block a sum. */
    int64_t force = 32 * cuda_force_most_blocks(context), atoms = 32 * cuda_blocks(context->n_atoms, 32);
    int64_t most = force > atoms ? force : atoms, second = CUDA_ATOM_TOTALS * 1024;
    context->tree_threads = most + 1024 > second ? most + 1024 : second;
}

static uint64_t host_bytes(const CudaContext *context) {
    bool finishes = context->config.reduce_finish == MD_FINISH_HOST;
    uint64_t partials = finishes ? (pair_partials(context) + atom_partials(context)) * sizeof(double) : 0;
    return partials + 2 * (uint64_t)CUDA_CHUNK_BYTES + sizeof(CudaContext) + sizeof(CudaWatch) +
           CUDA_N_TOTALS * sizeof(double) + sizeof(CudaSignals);
}

MdMemory cuda_memory_estimate(CudaContext *context) {
    Arrays arrays;
    plan(context);
    list_arrays(context, &arrays);
    MdMemory memory = {.host_bytes = host_bytes(context)};
    for (int k = 0; k < arrays.n; k++) memory.device_bytes += (uint64_t)arrays.rows[k].count * arrays.rows[k].size;
    return memory;
}

static MdStatus allocate(CudaContext *context, void **where, size_t bytes, const char *what, MdStatus failure) {
    *where = NULL;
    cudaError_t error = cudaMalloc(where, bytes > 0 ? bytes : 1);
    if (error == cudaErrorMemoryAllocation) {
        size_t free_bytes = 0, total_bytes = 0;
        (void)cudaGetLastError(); /* reported here; the next launch must not find it */
        CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
        return md_fail(context->errors, failure,
                       "GPU %d has no room for the %s: %.1f MiB asked for, %.1f MiB free after %.1f MiB taken; take "
                       "fewer atoms, run.precision=single, a smaller neighbor.skin or neighbor.capacity, or "
                       "run.backend=cpu",
                       context->device, what, (double)bytes / 1048576, (double)free_bytes / 1048576,
                       (double)context->device_bytes / 1048576);
    }
    CUDA_CHECK(error);
    for (int k = 0; k < CUDA_MAX_BLOCKS; k++) {
        if (context->blocks[k].data) continue;
        context->blocks[k].data = *where;
        context->blocks[k].bytes = bytes;
        context->device_bytes += bytes;
        return MD_OK;
    }
    md_panic("more than %d device arrays", CUDA_MAX_BLOCKS);
}

static void release(CudaContext *context, void *data) {
    if (!data) return;
    for (int k = 0; k < CUDA_MAX_BLOCKS; k++) {
        if (context->blocks[k].data != data) continue;
        CUDA_CHECK(cudaFree(data));
        context->device_bytes -= context->blocks[k].bytes;
        context->blocks[k].data = NULL;
        return;
    }
    md_panic("a device array that nobody allocated");
}

/* In single and double precision what pairs see is the state. */
static void share_positions(const CudaContext *context, CudaParticles *p) {
    if (context->config.run_precision != MD_PRECISION_MIXED) p->state = p->position;
}

static void allocate_partials(CudaPartials *partials, size_t room) {
    CUDA_CHECK(cudaMallocHost((void **)&partials->h_sums, room * sizeof(double)));
    partials->room = room;
}

MdStatus cuda_memory_allocate(CudaContext *context) {
    Arrays arrays;
    plan(context);
    list_arrays(context, &arrays);
    for (int k = 0; k < arrays.n; k++) {
        const Array *array = &arrays.rows[k];
        MdStatus status = allocate(context, array->where, array->count * array->size, array->what, MD_ERROR_INPUT);
        if (status != MD_OK) return status;
    }
    share_positions(context, &context->arguments.now);
    share_positions(context, &context->arguments.spare);
    CUDA_CHECK(cudaMallocHost((void **)&context->h_watch, sizeof(CudaWatch)));
    CUDA_CHECK(cudaMallocHost((void **)&context->h_totals, CUDA_N_TOTALS * sizeof(double)));
    for (int k = 0; k < 2; k++) CUDA_CHECK(cudaMallocHost((void **)&context->h_staging[k], CUDA_CHUNK_BYTES));
    if (context->config.reduce_finish == MD_FINISH_HOST) {
        allocate_partials(&context->pair_partials, pair_partials(context));
        allocate_partials(&context->atom_partials, atom_partials(context));
    }
    CudaSignals *signals = NULL;
    CUDA_CHECK(cudaHostAlloc((void **)&signals, sizeof *signals, cudaHostAllocMapped));
    CUDA_CHECK(cudaHostGetDevicePointer((void **)&context->arguments.signals, signals, 0));
    memset(signals, 0, sizeof *signals);
    context->h_signals = signals;
    context->host_bytes = host_bytes(context);

    const CudaArguments *a = &context->arguments;
    CUDA_CHECK(cudaMemsetAsync(a->watch, 0, sizeof(CudaWatch), context->stream));
    CUDA_CHECK(
        cudaMemsetAsync(&a->watch->fault_step, 0xff, 2 * sizeof a->watch->fault_step, context->stream)); /* none */
    CUDA_CHECK(cudaMemsetAsync(a->totals, 0, CUDA_N_TOTALS * sizeof(double), context->stream));
    for (int k = 0; k < arrays.n; k++) /* nothing has acted yet */
        for (int part = 0; part < 3; part++)
            if (arrays.rows[k].where == &a->now.force.part[part])
                CUDA_CHECK(cudaMemsetAsync(a->now.force.part[part], 0, arrays.rows[k].count * arrays.rows[k].size,
                                           context->stream));
    return MD_OK;
}

void cuda_memory_free(CudaContext *context) {
    for (int k = 0; k < CUDA_MAX_BLOCKS; k++) release(context, context->blocks[k].data);
    /* any of these may be missing after a failure at start */
    void *pinned[] = {context->h_watch,
                      context->h_totals,
                      context->h_staging[0],
                      context->h_staging[1],
                      context->pair_partials.h_sums,
                      context->atom_partials.h_sums,
                      (void *)(uintptr_t)context->h_signals};
    for (size_t k = 0; k < sizeof pinned / sizeof pinned[0]; k++)
        if (pinned[k]) CUDA_CHECK(cudaFreeHost(pinned[k]));
}

MdStatus cuda_memory_grow_list(CudaContext *context, int32_t count) {
    release(context, context->arguments.list.entries); /* waits for the device; first, so that both need not fit */
    context->arguments.list.entries = NULL;
    set_capacity(context, count + count / 5 + 1); /* a fifth more, so that it does not happen again soon */
    context->n_overflows++;
    return allocate(context, &context->arguments.list.entries, list_bytes(context), "neighbour list that had to grow",
                    MD_ERROR_INTERNAL);
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
            CUDA_CHECK(cudaMemcpyAsync(context->h_staging[k % 2], from + offset, size, cudaMemcpyDeviceToHost,
                                       context->stream));
            CUDA_CHECK(cudaEventRecord(context->chunk_copied[k % 2], context->stream));
        }
        if (k > 0) {
            size_t before = offset - CUDA_CHUNK_BYTES;
            size_t size = bytes - before < CUDA_CHUNK_BYTES ? bytes - before : CUDA_CHUNK_BYTES;
            CUDA_CHECK(cudaEventSynchronize(context->chunk_copied[(k - 1) % 2]));
            memcpy(to + before, context->h_staging[(k - 1) % 2], size);
        }
    }
}

void cuda_watch_read(CudaContext *context, bool wait) {
    CUDA_CHECK(cudaMemcpyAsync(context->h_watch, context->arguments.watch, sizeof(CudaWatch), cudaMemcpyDeviceToHost,
                               context->stream));
    CUDA_CHECK(cudaEventRecord(context->watched, context->stream));
    if (wait) CUDA_CHECK(cudaEventSynchronize(context->watched));
}
