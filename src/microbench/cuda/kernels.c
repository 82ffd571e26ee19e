/* Rows that are a kernel: what it is called with, and what must come of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "microbench/cuda/results.h"

/* How threads are laid out: one an element (or for `per` of them); as many as the GPU holds; blocks of tiles, or over pictures; as
 * many blocks as `prepare` says, an element a thread. */
typedef enum Shape { ELEMENTS, RESIDENT, TILES, PICTURES, WAVE } Shape;

/* What is left out is zero or NULL: then a block has 256 threads, a thread one element, and elements are compared. */
typedef struct Kernel {
    const char *group, *variant; /* of the row; `*` at the end: of all rows that begin so */
    const char *symbol;          /* NULL: a call of the runtime in its place */
    Shape shape;
    int x, y, per; /* threads of a block; elements of a thread, or of the edge of a tile */
    CudaCeilingElement *expected;
    CudaCeilingStep *check;
    CudaCeilingRun *run;
    CudaCeilingStep *prepare; /* what else it needs, when it is loaded and shaped */
    const char *unit;         /* where that is not called as the group */
    CudaCount count;          /* of atomics: what is counted, in how many places */
    int places, shift, mask;
    unsigned shared;
    bool doubles; /* elements are twice as long */
} Kernel;

/* --- what is not plain --------------------------------------------------------------------------------------------- */

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

/* Places to gather from, out of four times as many. */
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

enum { MANY = 1 << 20 }; /* places of atomics */

/* clang-format off */
#define TRANSPOSE(variant_, symbol_, expected_, doubles_) \
    {"transpose", variant_, symbol_, TILES, 32, 8, 32, .expected = expected_, .doubles = doubles_}
#define MATRIX(variant_, symbol_, x_, edge_) \
    {"matrix", variant_, symbol_, TILES, x_, x_, edge_, .check = cuda_ceiling_check_product}
#define OCCUPANCY(variant_, symbol_, shape_, x_, y_, expected_, prepare_) \
    {"occupancy", variant_, symbol_, shape_, x_, y_, .expected = expected_, .prepare = prepare_, .unit = "grids"}
#define ATOMICS(variant_, symbol_, per_, count_, shift_, places_, mask_) \
    {"atomics", variant_, symbol_, ELEMENTS, 256, 1, per_, .check = cuda_ceiling_check_counts, .count = count_, \
     .shift = shift_, .places = places_, .mask = mask_}

static const Kernel kernels[] = {
    {"bandwidth", "read", "k_bandwidth_read", RESIDENT, .check = cuda_ceiling_check_thread_sums},
    {"bandwidth", "read, L2", "k_bandwidth_read_l2", RESIDENT, .check = cuda_ceiling_check_thread_sums},
    {"bandwidth", "write", "k_bandwidth_write", RESIDENT, .expected = cuda_ceiling_is_three},
    {"bandwidth", "copy", "k_bandwidth_copy", ELEMENTS, .expected = cuda_ceiling_is_copy},
    {"bandwidth", "copy, float2", "k_bandwidth_copy2", ELEMENTS, 256, 1, 2, .expected = cuda_ceiling_is_copy},
    {"bandwidth", "copy, float4", "k_bandwidth_copy4", ELEMENTS, 256, 1, 4, .expected = cuda_ceiling_is_copy},
    {"bandwidth", "copy, grid stride", "k_bandwidth_copy_loop", RESIDENT, .expected = cuda_ceiling_is_copy},
    {"bandwidth", "copy by the runtime", NULL, ELEMENTS, .expected = cuda_ceiling_is_copy, .run = run_copy},
    {"bandwidth", "set by the runtime", NULL, ELEMENTS, .check = cuda_ceiling_check_zero, .run = run_set},
    {"bandwidth", "triad", "k_bandwidth_triad", ELEMENTS, .expected = cuda_ceiling_is_triad},
    {"bandwidth", "offset *", "k_bandwidth_offset", ELEMENTS, .expected = cuda_ceiling_is_offset},
    {"bandwidth", "stride *", "k_bandwidth_stride", ELEMENTS, .expected = cuda_ceiling_is_strided},
    {"bandwidth", "gather, *", "k_bandwidth_gather", ELEMENTS, .expected = cuda_ceiling_is_gathered, .prepare = make_index},
    {"bandwidth", "permuted", "k_bandwidth_permuted", ELEMENTS, .expected = cuda_ceiling_is_copy},
    {"bandwidth", "broadcast", "k_bandwidth_broadcast", ELEMENTS, .expected = cuda_ceiling_is_broadcast},
    {"bandwidth", "reversed", "k_bandwidth_reversed", ELEMENTS, .expected = cuda_ceiling_is_reversed},
    {"bandwidth", "reversed, static shared", "k_bandwidth_reverse_static", ELEMENTS, CUDA_CEILING_REVERSED,
        .expected = cuda_ceiling_is_reversed_by_block},
    {"bandwidth", "reversed, dynamic shared", "k_bandwidth_reverse_dynamic", ELEMENTS, CUDA_CEILING_REVERSED,
        .expected = cuda_ceiling_is_reversed_by_block, .shared = CUDA_CEILING_REVERSED * sizeof(float)},
    TRANSPOSE("copy", "k_transpose_copy", cuda_ceiling_is_copy, false),
    TRANSPOSE("copy through shared memory", "k_transpose_copy_shared", cuda_ceiling_is_copy, false),
    TRANSPOSE("writes strided", "k_transpose_writes_strided", cuda_ceiling_is_transpose, false),
    TRANSPOSE("reads strided", "k_transpose_reads_strided", cuda_ceiling_is_transpose, false),
    TRANSPOSE("shared", "k_transpose_shared", cuda_ceiling_is_transpose, false),
    TRANSPOSE("padded", "k_transpose_padded", cuda_ceiling_is_transpose, false),
    TRANSPOSE("swizzled", "k_transpose_swizzled", cuda_ceiling_is_transpose, false),
    TRANSPOSE("copy, double", "k_transpose_copy_double", cuda_ceiling_is_copy, true),
    TRANSPOSE("writes strided, double", "k_transpose_writes_strided_double", cuda_ceiling_is_transpose_of_doubles, true),
    TRANSPOSE("shared, double", "k_transpose_shared_double", cuda_ceiling_is_transpose_of_doubles, true),
    TRANSPOSE("padded, double", "k_transpose_padded_double", cuda_ceiling_is_transpose_of_doubles, true),
    {"branch", "one way", "k_branch", ELEMENTS, .expected = cuda_ceiling_is_path},
    {"branch", "by warp, 32 ways", "k_branch", ELEMENTS, .expected = cuda_ceiling_is_path, .shift = 5},
    {"branch", "by lane, 2 ways", "k_branch", ELEMENTS, .expected = cuda_ceiling_is_path},
    {"branch", "by lane, 4 ways", "k_branch", ELEMENTS, .expected = cuda_ceiling_is_path},
    {"branch", "by lane, 8 ways", "k_branch", ELEMENTS, .expected = cuda_ceiling_is_path},
    {"branch", "by lane, 16 ways", "k_branch", ELEMENTS, .expected = cuda_ceiling_is_path},
    {"branch", "by lane, 32 ways", "k_branch", ELEMENTS, .expected = cuda_ceiling_is_path},
    {"branch", "by lane, short body", "k_branch_short", ELEMENTS, .expected = cuda_ceiling_is_counted},
    {"branch", "by warp, short body", "k_branch_short", ELEMENTS, .expected = cuda_ceiling_is_counted, .shift = 5},
    {"branch", "no lane idle", "k_branch_block", ELEMENTS, 48, 2, .expected = cuda_ceiling_is_path},
    {"branch", "half a warp idle", "k_branch_block", ELEMENTS, 40, 2, .expected = cuda_ceiling_is_path},
    {"branch", "half a warp idle, by row", "k_branch_block", ELEMENTS, 40, 2, .expected = cuda_ceiling_is_path},
    OCCUPANCY("block *", "k_grids_copy", RESIDENT, 256, 1, cuda_ceiling_is_copy, fill_by_threads),
    OCCUPANCY("1 block an SM", "k_grids_copy", RESIDENT, 128, 1, cuda_ceiling_is_copy, fill_by_shared),
    OCCUPANCY("2 blocks an SM", "k_grids_copy", RESIDENT, 128, 1, cuda_ceiling_is_copy, fill_by_shared),
    OCCUPANCY("4 blocks an SM", "k_grids_copy", RESIDENT, 128, 1, cuda_ceiling_is_copy, fill_by_shared),
    OCCUPANCY("8 blocks an SM", "k_grids_copy", RESIDENT, 128, 1, cuda_ceiling_is_copy, fill_by_shared),
    OCCUPANCY("16 blocks an SM", "k_grids_copy", RESIDENT, 128, 1, cuda_ceiling_is_copy, fill_by_shared),
    OCCUPANCY("up to 64 registers", "k_grids_few_registers", RESIDENT, 512, 1, cuda_ceiling_is_copy, fill_by_registers),
    OCCUPANCY("more than 64 registers", "k_grids_many_registers", RESIDENT, 512, 1, cuda_ceiling_is_copy, fill_by_registers),
    OCCUPANCY("picture, 16 x 16 blocks", "k_grids_picture", PICTURES, 16, 16, cuda_ceiling_is_raised, NULL),
    OCCUPANCY("picture, 76 x 8 blocks", "k_grids_picture", PICTURES, 76, 8, cuda_ceiling_is_raised, NULL),
    OCCUPANCY("one wave", "k_grids_wave", WAVE, 256, 1, cuda_ceiling_is_wave, fill_by_shared),
    OCCUPANCY("one wave and a block", "k_grids_wave", WAVE, 256, 1, cuda_ceiling_is_wave, fill_and_one),
    {"intensity", "*", "k_intensity", ELEMENTS, .expected = cuda_ceiling_is_raised},
    {"arithmetic", "single, not fused", "k_arithmetic_single_apart", RESIDENT, .expected = cuda_ceiling_is_steps},
    {"arithmetic", "single, one chain", "k_arithmetic_single_1", RESIDENT, .expected = cuda_ceiling_is_steps},
    {"arithmetic", "single, two chains", "k_arithmetic_single_2", RESIDENT, .expected = cuda_ceiling_is_steps},
    {"arithmetic", "single, four chains", "k_arithmetic_single_4", RESIDENT, .expected = cuda_ceiling_is_steps},
    {"arithmetic", "single, eight chains", "k_arithmetic_single_8", RESIDENT, .expected = cuda_ceiling_is_steps},
    {"arithmetic", "double, not fused", "k_arithmetic_double_apart", RESIDENT, .expected = cuda_ceiling_is_steps},
    {"arithmetic", "double, one chain", "k_arithmetic_double_1", RESIDENT, .expected = cuda_ceiling_is_steps},
    {"arithmetic", "double, two chains", "k_arithmetic_double_2", RESIDENT, .expected = cuda_ceiling_is_steps},
    {"arithmetic", "double, four chains", "k_arithmetic_double_4", RESIDENT, .expected = cuda_ceiling_is_steps},
    {"arithmetic", "double, eight chains", "k_arithmetic_double_8", RESIDENT, .expected = cuda_ceiling_is_steps},
    MATRIX("plain, by rows", "k_matrix_plain_rows", 16, 16),
    MATRIX("plain", "k_matrix_plain", 16, 16),
    MATRIX("tiled, 16", "k_matrix_tiled_16", 16, 16),
    MATRIX("tiled, 16, not unrolled", "k_matrix_tiled_16_loop", 16, 16),
    MATRIX("tiled, 32", "k_matrix_tiled_32", 32, 32),
    MATRIX("registers", "k_matrix_registers", 16, 64),
    {"banks", "stride *", "k_banks_word", RESIDENT, .expected = cuda_ceiling_is_bank_sum},
    {"banks", "permuted", "k_banks_word", RESIDENT, .expected = cuda_ceiling_is_bank_sum, .shift = 21},
    {"banks", "one word", "k_banks_word", RESIDENT, .expected = cuda_ceiling_is_bank_sum},
    {"banks", "8 bytes, stride *", "k_banks_wide", RESIDENT, .expected = cuda_ceiling_is_bank_sum},
    {"banks", "float4", "k_banks_vector", RESIDENT, .expected = cuda_ceiling_is_bank_sum},
    ATOMICS("global, one address", "k_atomics_global", 1, CUDA_COUNT_INT, 0, MANY, 0),
    ATOMICS("global, warp sums", "k_atomics_warp", 1, CUDA_COUNT_INT, 0, MANY, 0),
    ATOMICS("global, one a warp", "k_atomics_global", 1, CUDA_COUNT_INT, 5, MANY, MANY - 1),
    ATOMICS("global, spread", "k_atomics_global", 1, CUDA_COUNT_INT, 0, MANY, MANY - 1),
    ATOMICS("shared, one address", "k_atomics_shared", 64, CUDA_COUNT_INT, 0, 256, 0),
    ATOMICS("shared, one a warp", "k_atomics_shared", 64, CUDA_COUNT_INT, 5, 256, 7),
    ATOMICS("shared, spread", "k_atomics_shared", 64, CUDA_COUNT_INT, 0, 256, 255),
    {"atomics", "float, one address", "k_atomics_float", ELEMENTS, .check = cuda_ceiling_check_last_counts,
        .run = run_from_zero, .count = CUDA_COUNT_FLOAT, .places = MANY},
    ATOMICS("float, spread", "k_atomics_float", 1, CUDA_COUNT_FLOAT, 0, MANY, MANY - 1),
    ATOMICS("double, one address", "k_atomics_double", 1, CUDA_COUNT_DOUBLE, 0, MANY, 0),
    ATOMICS("double, spread", "k_atomics_double", 1, CUDA_COUNT_DOUBLE, 0, MANY, MANY - 1),
    ATOMICS("64 bits, one address", "k_atomics_wide", 1, CUDA_COUNT_64, 0, MANY, 0),
    ATOMICS("64 bits, spread", "k_atomics_wide", 1, CUDA_COUNT_64, 0, MANY, MANY - 1),
    ATOMICS("max, spread", "k_atomics_max", 1, CUDA_COUNT_MAX, 0, MANY, MANY - 1),
    ATOMICS("double by CAS, one address", "k_atomics_cas", 1, CUDA_COUNT_DOUBLE, 0, MANY, 0),
    ATOMICS("double by CAS, spread", "k_atomics_cas", 1, CUDA_COUNT_DOUBLE, 0, MANY, MANY - 1),
    ATOMICS("block scope, one a block", "k_atomics_block", 1, CUDA_COUNT_INT, 8, MANY, MANY - 1),
    ATOMICS("device scope, one a block", "k_atomics_global", 1, CUDA_COUNT_INT, 8, MANY, MANY - 1),
    ATOMICS("system scope, one a block", "k_atomics_system", 1, CUDA_COUNT_INT, 8, MANY, MANY - 1),
    {"paths", "constant, *", "k_paths_constant", RESIDENT, .expected = cuda_ceiling_is_table_sum, .prepare = fill_constant},
    {"paths", "texture, *", "k_paths_texture", RESIDENT, .expected = cuda_ceiling_is_table_sum, .prepare = make_texture},
    {"paths", "global, *", "k_paths_global", RESIDENT, .expected = cuda_ceiling_is_table_sum},
    {"paths", "read-only, *", "k_paths_ldg", RESIDENT, .expected = cuda_ceiling_is_table_sum},
    {"paths", "shared, *", "k_paths_shared", RESIDENT, .expected = cuda_ceiling_is_table_sum},
    {"paths", "local, dynamic index", "k_paths_local", RESIDENT, .expected = cuda_ceiling_is_own_sum},
    {"paths", "registers, unrolled", "k_paths_registers", RESIDENT, .expected = cuda_ceiling_is_own_sum},
};
/* clang-format on */

static bool fits(const Kernel *kernel, const MdCeiling *row) {
    const char *star = strchr(kernel->variant, '*');
    return strcmp(kernel->group, row->group) == 0 &&
           (star ? strncmp(kernel->variant, row->variant, (size_t)(star - kernel->variant)) == 0
                 : strcmp(kernel->variant, row->variant) == 0);
}

static const Kernel *kernel_of(const MdCeiling *row) {
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++)
        if (fits(&kernels[k], row)) return &kernels[k];
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

/* Floats that are written, or places that are added to. */
static int64_t count_results(const CudaCeiling *c, const Kernel *kernel) {
    const bool of_threads = c->of.row->each || kernel->shape == WAVE || kernel->check == cuda_ceiling_check_thread_sums;
    if (kernel->places > 0) return kernel->places;
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
    if (kernel->places > 0)
        return (a->counts = cuda_ceiling_take(c, (size_t)c->n_out * cuda_ceiling_count_bytes(c), reason)) != NULL;
    return (a->b = cuda_ceiling_take(c, (size_t)c->n_out * sizeof *a->b, reason)) != NULL;
}
