/* Memory of the cuda backend: one table of arrays that allocation and estimate share, the regrowing list, and the way
 * from the device to the host.
 *
 * All arrays are allocated once, at start; only a list that overflows is allocated anew (and counted). */
#include <stdlib.h>
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
    bool column = context->list_order == MD_LIST_ORDER_COLUMN;
    context->list.capacity = (int32_t)capacity;
    context->list.row_stride = column ? 1 : capacity;
    context->list.entry_stride = column ? column_stride(context->n_atoms) : 1;
}

static size_t list_bytes(const CudaContext *context) {
    int64_t rows = context->list_order == MD_LIST_ORDER_COLUMN ? column_stride(context->n_atoms) : context->n_atoms;
    return (size_t)rows * (size_t)context->list.capacity * sizeof(int32_t);
}

/* Entries of a row at first: the neighbours of a uniform system of this density, a fifth more for fluctuations (in a
 * dense liquid the longest of a million rows has about 25 per cent more than the mean), and eight for small ones. A box
 * that is mostly empty overflows at the first build, and grows then. */
static int64_t initial_capacity(const CudaContext *context) {
    if (context->capacity != MD_AUTO_INT) return context->capacity;
    double volume = 1, sphere = context->box.dimension == 2 ? 1.0 : 4.0 / 3.0;
    for (int a = 0; a < context->box.dimension; a++) volume *= fmax(context->box.length[a], 1.0);
    sphere *= 3.14159265358979323846 * pow(context->range, context->box.dimension);
    return (int64_t)fmin(ceil(1.2 * sphere * context->n_atoms / volume) + 8, (double)context->n_atoms);
}

/* --- the arrays --- */

struct Array {
    void **where;
    size_t count, size;
    const char *what;
};
enum { MAX_ARRAYS = 32 };

/* Bytes for the scan of the cells: an upper bound that needs no device (one descriptor of 16 bytes for each tile of 128
 * items at the least). */
static size_t scan_bytes(int n_cells) { return (size_t)n_cells / 8 + 65536; }

static int list_arrays(CudaContext *c, Array arrays[MAX_ARRAYS]) {
    size_t n = (size_t)c->n_atoms, pair = c->precision == MD_PRECISION_DOUBLE ? sizeof(double) : sizeof(float);
    size_t state = c->precision == MD_PRECISION_SINGLE ? sizeof(float) : sizeof(double);
    int k = 0, copies = c->sort == MD_SORT_CELL ? 2 : 1;
    for (int copy = 0; copy < copies; copy++) {
        CudaParticles *p = copy ? &c->spare : &c->now;
        arrays[k++] = Array{&p->position, n, 4 * pair, "positions"};
        if (c->precision == MD_PRECISION_MIXED) arrays[k++] = Array{&p->state, n, 4 * state, "positions in double"};
        arrays[k++] = Array{&p->velocity, n, 4 * state, "velocities"};
        arrays[k++] = Array{&p->force, n, 4 * pair, "forces"};
        arrays[k++] = Array{(void **)&p->tag, n, sizeof(CudaTag), "images and ids"};
    }
    arrays[k++] = Array{&c->reference, n, 4 * pair, "positions of the last build"};
    size_t types = (size_t)(c->potential.n_types * c->potential.n_types);
    arrays[k++] = Array{&c->pairs, types, pair == sizeof(float) ? sizeof(MdPair_f) : sizeof(MdPair_d), "parameters"};
    if (cuda_sort_needs_cells(c)) {
        arrays[k++] = Array{(void **)&c->cell, n, sizeof(int32_t), "cells of particles"};
        arrays[k++] = Array{(void **)&c->arrival, n, sizeof(int32_t), "arrivals in cells"};
        arrays[k++] = Array{(void **)&c->slot_id, n, sizeof(int32_t), "ids by cell"};
        arrays[k++] = Array{(void **)&c->slot_atom, n, sizeof(int32_t), "particles by cell"};
        arrays[k++] = Array{(void **)&c->slot_cell, n, sizeof(int32_t), "cells of slots"};
        arrays[k++] = Array{(void **)&c->cell_start, (size_t)c->max_cells + 1, sizeof(int32_t), "cell starts"};
        arrays[k++] = Array{&c->scan_scratch, c->scan_scratch_bytes, 1, "scratch of the scan"};
    }
    size_t row_blocks = (size_t)cuda_force_blocks(c->n_atoms) * CUDA_PAIR_TOTALS;
    size_t sum_blocks = (size_t)CUDA_MAX_SUM_BLOCKS * CUDA_ATOM_TOTALS;
    arrays[k++] =
        Array{(void **)&c->partials, row_blocks > sum_blocks ? row_blocks : sum_blocks, sizeof(double), "partial sums"};
    arrays[k++] = Array{(void **)&c->d_totals, CUDA_N_TOTALS, sizeof(double), "sums"};
    arrays[k++] = Array{(void **)&c->d_watch, 1, sizeof(CudaWatch), "measures"};
    arrays[k++] = Array{&c->staging, 3 * n, sizeof(double), "staging"};
    arrays[k++] = Array{(void **)&c->list.counts, n, sizeof(int32_t), "row lengths"};
    arrays[k++] = Array{(void **)&c->list.entries, list_bytes(c), 1, "neighbour list"};
    return k;
}

static void plan(CudaContext *context) {
    context->max_cells = context->n_atoms > 64 ? context->n_atoms : 64;
    context->scan_scratch_bytes = scan_bytes(context->max_cells);
    set_capacity(context, initial_capacity(context));
}

static uint64_t host_bytes(void) {
    return 2 * (uint64_t)CUDA_CHUNK_BYTES + sizeof(CudaContext) + sizeof(CudaWatch) + CUDA_N_TOTALS * sizeof(double) +
           sizeof(int);
}

MdMemory cuda_memory_estimate(CudaContext *context) {
    Array arrays[MAX_ARRAYS];
    plan(context);
    MdMemory memory = {};
    memory.host_bytes = host_bytes();
    for (int k = list_arrays(context, arrays) - 1; k >= 0; k--)
        memory.device_bytes += (uint64_t)arrays[k].count * arrays[k].size;
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

MdStatus cuda_memory_allocate(CudaContext *context) {
    Array arrays[MAX_ARRAYS];
    plan(context);
    if (cuda_sort_needs_cells(context)) {
        size_t needed = cuda_sort_scratch_bytes(context->max_cells + 1);
        if (needed > context->scan_scratch_bytes) context->scan_scratch_bytes = needed;
    }
    int n = list_arrays(context, arrays);
    for (int k = 0; k < n; k++) {
        MdStatus status =
            allocate(context, arrays[k].where, arrays[k].count * arrays[k].size, arrays[k].what, MD_ERROR_INPUT);
        if (status != MD_OK) return status;
    }
    CUDA_CHECK(cudaMallocHost((void **)&context->h_watch, sizeof(CudaWatch)));
    CUDA_CHECK(cudaMallocHost((void **)&context->h_totals, CUDA_N_TOTALS * sizeof(double)));
    for (int k = 0; k < 2; k++) CUDA_CHECK(cudaMallocHost((void **)&context->h_staging[k], CUDA_CHUNK_BYTES));
    int *raised = NULL;
    CUDA_CHECK(cudaHostAlloc((void **)&raised, sizeof *raised, cudaHostAllocMapped));
    CUDA_CHECK(cudaHostGetDevicePointer((void **)&context->d_fault_raised, raised, 0));
    *raised = 0;
    context->h_fault_raised = raised;
    context->host_bytes = host_bytes();

    CUDA_CHECK(cudaMemsetAsync(context->d_watch, 0xff, sizeof(CudaWatch), context->stream)); /* no fault */
    CUDA_CHECK(cudaMemsetAsync(&context->d_watch->measures, 0, sizeof(CudaMeasures), context->stream));
    CUDA_CHECK(cudaMemsetAsync(context->d_totals, 0, CUDA_N_TOTALS * sizeof(double), context->stream));
    CudaParticles *p = &context->now; /* nothing has acted yet */
    size_t pair = context->precision == MD_PRECISION_DOUBLE ? sizeof(double) : sizeof(float);
    CUDA_CHECK(cudaMemsetAsync(p->force, 0, (size_t)context->n_atoms * 4 * pair, context->stream));
    return MD_OK;
}

void cuda_memory_free(CudaContext *context) {
    for (int k = 0; k < CUDA_MAX_BLOCKS; k++) release(context, context->blocks[k].data);
    /* any of these may be missing after a failure at start */
    void *pinned[] = {context->h_watch, context->h_totals, context->h_staging[0], context->h_staging[1],
                      (void *)context->h_fault_raised};
    for (void *data : pinned)
        if (data) CUDA_CHECK(cudaFreeHost(data));
}

MdStatus cuda_memory_grow_list(CudaContext *context, int32_t count) {
    release(context, context->list.entries); /* waits for the device; first, so that both need not fit */
    context->list.entries = NULL;
    set_capacity(context, count + count / 5 + 1); /* a fifth more, so that it does not happen again soon */
    context->n_overflows++;
    return allocate(context, (void **)&context->list.entries, list_bytes(context), "neighbour list that had to grow",
                    MD_ERROR_INTERNAL);
}

void cuda_memory_download(CudaContext *context, void *host, const void *device, size_t bytes) {
    const char *from = (const char *)device;
    char *to = (char *)host;
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
    CUDA_CHECK(cudaMemcpyAsync(context->h_watch, context->d_watch, sizeof(CudaWatch), cudaMemcpyDeviceToHost,
                               context->stream));
    CUDA_CHECK(cudaEventRecord(context->watched, context->stream));
    if (wait) CUDA_CHECK(cudaEventSynchronize(context->watched));
}
