/* Rows that are a kernel: its arguments, and its expected result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "microbench/cuda/results.h"

/* How threads are laid out: one an element (or for `per` of them); as many as the GPU holds; blocks of tiles, or over pictures; as
 * many blocks as `prepare` says, an element a thread. */
typedef enum Shape { ELEMENTS, RESIDENT, TILES, PICTURES, WAVE } Shape;

/* Omitted fields are zero or NULL: then a block has 256 threads, a thread one element, and elements are compared. */
typedef struct Kernel {
    const char *group, *variant; /* of the row */
    const char *symbol;          /* NULL: a call of the runtime instead */
    Shape shape;
    int x, y, per; /* threads of a block; elements of a thread, or of the edge of a tile */
    CudaCeilingElement *expected;
    CudaCeilingStep *check;
    CudaCeilingRun *run;
    CudaCeilingStep *prepare; /* further preparation, after it is loaded and its grid is known */
    const char *unit;         /* where that is not called as the group */
    CudaCount count;          /* of atomics: the kind of count, the number of counters */
    int n_counters, shift, mask;
    unsigned shared;
    bool doubles; /* elements are twice as long */
} Kernel;

/* --- preparations and special calls -------------------------------------------------------------------------------- */

/* By the runtime: no kernel of ours. */
static void copy(CudaCeiling *c) {
    const size_t bytes = (size_t)c->n * sizeof(float);
    CUDA_CHECK(cudaMemcpyAsync(c->arguments.b, c->arguments.a, bytes, cudaMemcpyDeviceToDevice, c->m->stream));
}
static double run_copy(CudaCeiling *c, int64_t n_calls) { return cuda_ceiling_time(c, n_calls, copy); }

static void set(CudaCeiling *c) {
    CUDA_CHECK(cudaMemsetAsync(c->arguments.b, 0, (size_t)c->n * sizeof(float), c->m->stream));
}
static double run_set(CudaCeiling *c, int64_t n_calls) { return cuda_ceiling_time(c, n_calls, set); }

/* Indices to gather from, out of four times as many. */
static bool make_index(CudaCeiling *c, char *reason) {
    const size_t bytes = (size_t)c->n * sizeof(int);
    const int kind = c->of.row->parameter;
    int *index = malloc(bytes);
    if (!index) md_panic("out of memory");
    c->index = index;
    uint64_t state = 1;
    for (int64_t i = 0; i < c->n; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth, MMIX */
        const int64_t random = (int64_t)(state >> 33);
        index[i] = (int)(kind == 0 ? i : kind == 1 ? 4 * i + random % 4 : random % (4 * c->n));
    }
    c->arguments.index = cuda_ceiling_take(c, bytes, reason);
    if (c->arguments.index) CUDA_CHECK(cudaMemcpy(c->arguments.index, index, bytes, cudaMemcpyDefault));
    return c->arguments.index != NULL;
}

static void release_texture(CudaCeiling *c) { CUDA_CHECK(cudaDestroyTextureObject(c->arguments.texture)); }

static bool make_texture(CudaCeiling *c, char *reason) {
    (void)reason;
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeLinear};
    resource.res.linear.devPtr = c->arguments.a;
    resource.res.linear.desc = (struct cudaChannelFormatDesc){.x = 32, .f = cudaChannelFormatKindFloat};
    resource.res.linear.sizeInBytes = CUDA_CEILING_TABLE * sizeof(float);
    const struct cudaTextureDesc how = {.readMode = cudaReadModeElementType};
    cudaTextureObject_t texture;
    CUDA_CHECK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
    c->arguments.texture = texture;
    c->release = release_texture;
    return true;
}

static bool fill_constant(CudaCeiling *c, char *reason) {
    (void)reason;
    CUdeviceptr place;
    size_t size = 0;
    md_require(c->m->driver.module_global(&place, &size, c->module, "c_table") == CUDA_SUCCESS);
    CUDA_CHECK(cudaMemcpy((void *)(uintptr_t)place, c->arguments.a, size, cudaMemcpyDefault));
    return true;
}

/* As many blocks as the GPU holds at once, of so many threads. */
static bool fill_by_threads(CudaCeiling *c, char *reason) {
    const int k = c->of.row->parameter, of_threads = c->m->sm.threads / k;
    (void)reason;
    c->block[0] = (unsigned)k;
    c->grid[0] = (unsigned)(c->m->n_sms * (of_threads < c->m->sm.blocks ? of_threads : c->m->sm.blocks));
    return true;
}

/* One or two on a multiprocessor, by registers: only if the compiler has given threads more than 64, or not. */
static bool fill_by_registers(CudaCeiling *c, char *reason) {
    const int k = c->of.row->parameter;
    int registers = 0;
    CUDA_DRIVER_CHECK(c->m, c->m->driver.function_attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, c->function));
    c->grid[0] = (unsigned)(c->m->n_sms * k);
    const bool right = (registers > 64) == (k == 1);
    if (!right) snprintf(reason, MD_CEILING_REASON, "the compiler gives its threads %d registers", registers);
    return right;
}

/* By the shared memory that each asks for. */
static bool fill_by_shared(CudaCeiling *c, char *reason) {
    const int k = c->of.row->parameter, share = (int)c->m->sm.shared_bytes / k - (int)c->m->sm.reserved_bytes;
    (void)reason;
    c->grid[0] = (unsigned)(c->m->n_sms * k);
    c->shared = (unsigned)((share < c->m->block_shared ? share : c->m->block_shared) / 128 * 128);
    CUDA_DRIVER_CHECK(c->m, c->m->driver.set_function_attribute(
                                c->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)c->shared));
    return true;
}

static bool fill_and_one(CudaCeiling *c, char *reason) {
    const bool filled = fill_by_shared(c, reason);
    c->grid[0]++;
    return filled;
}

/* Whole numbers end at 2^24 in a float, which one call reaches at one address: it begins at zero. */
static double run_from_zero(CudaCeiling *c, int64_t n_calls) {
    double seconds = 0;
    for (int64_t k = 0; k < n_calls; k++) {
        CUDA_CHECK(cudaMemsetAsync(c->arguments.counts, 0, sizeof(float), c->m->stream));
        seconds += cuda_ceiling_run_kernel(c, 1);
    }
    return seconds;
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

enum { MANY = 1 << 20 }; /* counters of atomics */

#define IS(name)                         .expected = cuda_ceiling_is_##name
#define CHECK(name)                      .check = cuda_ceiling_check_##name
#define ROW(how_, group_, variant_, ...) {group_, variant_, MD_CEILING_HOW how_},

static const Kernel kernels[] = {
#include "microbench/host/rows_memory.def"
#include "microbench/host/rows_tables.def"
#include "microbench/host/rows_compute.def"
#include "microbench/host/rows_matrix.def"
};

static const Kernel *kernel_of(const MdCeiling *row) {
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++)
        if (strcmp(kernels[k].group, row->group) == 0 && strcmp(kernels[k].variant, row->variant) == 0)
            return &kernels[k];
    md_panic("no kernel for %s: %s", row->group, row->variant);
}

/* --- preparing ----------------------------------------------------------------------------------------------------- */

static void shape(CudaCeiling *c, const Kernel *kernel) {
    const int x = kernel->x ? kernel->x : 256, y = kernel->y ? kernel->y : 1, per = kernel->per ? kernel->per : 1;
    const int64_t n_threads = kernel->shape == RESIDENT ? cuda_ceiling_resident(c->m) : (c->n + per - 1) / per;
    const unsigned tiles = (unsigned)((c->of.size + per - 1) / per);
    c->per = per;
    c->block[0] = (unsigned)x;
    c->block[1] = (unsigned)y;
    c->grid[0] = kernel->shape == TILES ? tiles : (unsigned)((n_threads + x * y - 1) / (x * y));
    c->grid[1] = kernel->shape == TILES ? tiles : 1;
    if (kernel->shape != PICTURES) return;
    c->arguments.shift = (CUDA_CEILING_PICTURE_Y + y - 1) / y;
    c->grid[0] = (unsigned)((CUDA_CEILING_PICTURE_X + x - 1) / x);
    c->grid[1] = (unsigned)(c->n / (CUDA_CEILING_PICTURE_X * CUDA_CEILING_PICTURE_Y) * c->arguments.shift);
}

/* Floats that are written, or counters that are added to. */
static int64_t count_results(const CudaCeiling *c, const Kernel *kernel) {
    const bool of_threads = c->of.row->each || kernel->shape == WAVE || kernel->check == cuda_ceiling_check_thread_sums;
    if (kernel->n_counters > 0) return kernel->n_counters;
    if (kernel->shape == TILES) return c->of.size * c->of.size * (kernel->doubles ? 2 : 1);
    return of_threads ? (int64_t)c->grid[0] * c->block[0] : c->n;
}

bool cuda_ceiling_prepare_kernel(CudaCeiling *c, char *reason) {
    const Kernel *kernel = kernel_of(c->of.row);
    CudaCeilingArguments *a = &c->arguments;
    a->a = c->m->d_source[0];
    a->c = c->m->d_source[1];
    a->n = c->n;
    a->width = c->of.size;
    a->parameter = c->of.row->parameter;
    a->shift = kernel->shift;
    a->mask = kernel->mask;
    c->shared = kernel->shared;
    c->count = kernel->count;
    c->expected = kernel->expected;
    c->check = kernel->check ? kernel->check : cuda_ceiling_check_elements;
    c->run = kernel->run ? kernel->run : cuda_ceiling_run_kernel;
    const char *unit = kernel->unit ? kernel->unit : kernel->group;
    if (kernel->symbol && !cuda_ceiling_load(c, unit, kernel->symbol, reason)) return false;
    shape(c, kernel);
    if (kernel->prepare && !kernel->prepare(c, reason)) return false;
    c->n_out = count_results(c, kernel);
    if (kernel->n_counters > 0)
        return (a->counts = cuda_ceiling_take(c, (size_t)c->n_out * cuda_ceiling_count_bytes(c), reason)) != NULL;
    return (a->b = cuda_ceiling_take(c, (size_t)c->n_out * sizeof *a->b, reason)) != NULL;
}
