/* Rows that are a kernel: what it is called with, and what must come of it. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cuda/microbench/results.h"

/* How threads are laid out: one an element (or for `per` of them); as many as the GPU holds; blocks of tiles, or over pictures; a
 * block for each multiprocessor. */
typedef enum Shape { ELEMENTS, RESIDENT, TILES, PICTURES, WAVE } Shape;

typedef struct Kernel {
    const char *group, *variant; /* the first whose name that of the row begins with */
    const char *unit, *symbol;
    Shape shape;
    int x, y, per; /* threads of a block; elements of a thread, or of the edge of a tile */
    double (*expected)(const CudaCeiling *c, int64_t i); /* NULL: the kernel adds up */
} Kernel;

static bool begins(const char *text, const char *word) { return strncmp(text, word, strlen(word)) == 0; }
static bool is_of(const CudaCeiling *c, const char *group) { return strcmp(c->of.row->group, group) == 0; }
static bool is(const CudaCeiling *c, const char *variant) { return begins(c->of.row->variant, variant); }

/* --- the table ----------------------------------------------------------------------------------------------------- */

static const Kernel kernels[] = {
    {"bandwidth", "read, L2", "bandwidth", "k_bandwidth_read_l2", RESIDENT, 256, 1, 1, NULL},
    {"bandwidth", "read", "bandwidth", "k_bandwidth_read", RESIDENT, 256, 1, 1, NULL},
    {"bandwidth", "write", "bandwidth", "k_bandwidth_write", RESIDENT, 256, 1, 1, cuda_ceiling_is_three},
    {"bandwidth", "copy, float2", "bandwidth", "k_bandwidth_copy2", ELEMENTS, 256, 1, 2, cuda_ceiling_is_copy},
    {"bandwidth", "copy, float4", "bandwidth", "k_bandwidth_copy4", ELEMENTS, 256, 1, 4, cuda_ceiling_is_copy},
    {"bandwidth", "copy, grid", "bandwidth", "k_bandwidth_copy_loop", RESIDENT, 256, 1, 1, cuda_ceiling_is_copy},
    {"bandwidth", "copy", "bandwidth", "k_bandwidth_copy", ELEMENTS, 256, 1, 1, cuda_ceiling_is_copy},
    {"bandwidth", "set", "bandwidth", "k_bandwidth_write", ELEMENTS, 256, 1, 1, NULL},
    {"bandwidth", "triad", "bandwidth", "k_bandwidth_triad", ELEMENTS, 256, 1, 1, cuda_ceiling_is_triad},
    {"bandwidth", "offset", "bandwidth", "k_bandwidth_offset", ELEMENTS, 256, 1, 1, cuda_ceiling_is_offset},
    {"bandwidth", "stride", "bandwidth", "k_bandwidth_stride", ELEMENTS, 256, 1, 1, cuda_ceiling_is_strided},
    {"bandwidth", "permuted", "bandwidth", "k_bandwidth_permuted", ELEMENTS, 256, 1, 1, cuda_ceiling_is_copy},
    {"bandwidth", "broadcast", "bandwidth", "k_bandwidth_broadcast", ELEMENTS, 256, 1, 1, cuda_ceiling_is_broadcast},
    {"bandwidth", "reversed, static", "bandwidth", "k_bandwidth_reverse_static", ELEMENTS, CUDA_CEILING_REVERSED, 1, 1,
     cuda_ceiling_is_reversed_by_block},
    {"bandwidth", "reversed, dynamic", "bandwidth", "k_bandwidth_reverse_dynamic", ELEMENTS, CUDA_CEILING_REVERSED, 1,
     1, cuda_ceiling_is_reversed_by_block},
    {"bandwidth", "reversed", "bandwidth", "k_bandwidth_reversed", ELEMENTS, 256, 1, 1, cuda_ceiling_is_reversed},
    {"bandwidth", "gather", "bandwidth", "k_bandwidth_gather", ELEMENTS, 256, 1, 1, cuda_ceiling_is_gathered},
    {"transpose", "copy, double", "transpose", "k_transpose_copy_double", TILES, 32, 8, 32, cuda_ceiling_is_copy},
    {"transpose", "writes strided, double", "transpose", "k_transpose_writes_strided_double", TILES, 32, 8, 32,
     cuda_ceiling_is_transpose_of_doubles},
    {"transpose", "shared, double", "transpose", "k_transpose_shared_double", TILES, 32, 8, 32,
     cuda_ceiling_is_transpose_of_doubles},
    {"transpose", "padded, double", "transpose", "k_transpose_padded_double", TILES, 32, 8, 32,
     cuda_ceiling_is_transpose_of_doubles},
    {"transpose", "copy through", "transpose", "k_transpose_copy_shared", TILES, 32, 8, 32, cuda_ceiling_is_copy},
    {"transpose", "copy", "transpose", "k_transpose_copy", TILES, 32, 8, 32, cuda_ceiling_is_copy},
    {"transpose", "writes", "transpose", "k_transpose_writes_strided", TILES, 32, 8, 32, cuda_ceiling_is_transpose},
    {"transpose", "reads", "transpose", "k_transpose_reads_strided", TILES, 32, 8, 32, cuda_ceiling_is_transpose},
    {"transpose", "shared", "transpose", "k_transpose_shared", TILES, 32, 8, 32, cuda_ceiling_is_transpose},
    {"transpose", "padded", "transpose", "k_transpose_padded", TILES, 32, 8, 32, cuda_ceiling_is_transpose},
    {"transpose", "swizzled", "transpose", "k_transpose_swizzled", TILES, 32, 8, 32, cuda_ceiling_is_transpose},
    {"branch", "by lane, short", "branch", "k_branch_short", ELEMENTS, 256, 1, 1, cuda_ceiling_is_counted},
    {"branch", "by warp, short", "branch", "k_branch_short", ELEMENTS, 256, 1, 1, cuda_ceiling_is_counted},
    {"branch", "no lane idle", "branch", "k_branch_block", ELEMENTS, 48, 2, 1, cuda_ceiling_is_path},
    {"branch", "half a warp idle", "branch", "k_branch_block", ELEMENTS, 40, 2, 1, cuda_ceiling_is_path},
    {"branch", "", "branch", "k_branch", ELEMENTS, 256, 1, 1, cuda_ceiling_is_path},
    {"occupancy", "picture, 16", "grids", "k_grids_picture", PICTURES, 16, 16, 1, cuda_ceiling_is_raised},
    {"occupancy", "picture, 76", "grids", "k_grids_picture", PICTURES, 76, 8, 1, cuda_ceiling_is_raised},
    {"occupancy", "up to 64", "grids", "k_grids_few_registers", RESIDENT, 512, 1, 1, cuda_ceiling_is_copy},
    {"occupancy", "more than 64", "grids", "k_grids_many_registers", RESIDENT, 512, 1, 1, cuda_ceiling_is_copy},
    {"occupancy", "one wave", "grids", "k_grids_wave", WAVE, 256, 1, 1, cuda_ceiling_is_wave},
    {"occupancy", "", "grids", "k_grids_copy", RESIDENT, 128, 1, 1, cuda_ceiling_is_copy},
    {"intensity", "", "intensity", "k_intensity", ELEMENTS, 256, 1, 1, cuda_ceiling_is_raised},
    {"arithmetic", "single, not", "arithmetic", "k_arithmetic_single_apart", RESIDENT, 256, 1, 1,
     cuda_ceiling_is_steps},
    {"arithmetic", "single, one", "arithmetic", "k_arithmetic_single_1", RESIDENT, 256, 1, 1, cuda_ceiling_is_steps},
    {"arithmetic", "single, two", "arithmetic", "k_arithmetic_single_2", RESIDENT, 256, 1, 1, cuda_ceiling_is_steps},
    {"arithmetic", "single, four", "arithmetic", "k_arithmetic_single_4", RESIDENT, 256, 1, 1, cuda_ceiling_is_steps},
    {"arithmetic", "single, eight", "arithmetic", "k_arithmetic_single_8", RESIDENT, 256, 1, 1, cuda_ceiling_is_steps},
    {"arithmetic", "double, not", "arithmetic", "k_arithmetic_double_apart", RESIDENT, 256, 1, 1,
     cuda_ceiling_is_steps},
    {"arithmetic", "double, one", "arithmetic", "k_arithmetic_double_1", RESIDENT, 256, 1, 1, cuda_ceiling_is_steps},
    {"arithmetic", "double, two", "arithmetic", "k_arithmetic_double_2", RESIDENT, 256, 1, 1, cuda_ceiling_is_steps},
    {"arithmetic", "double, four", "arithmetic", "k_arithmetic_double_4", RESIDENT, 256, 1, 1, cuda_ceiling_is_steps},
    {"arithmetic", "double, eight", "arithmetic", "k_arithmetic_double_8", RESIDENT, 256, 1, 1, cuda_ceiling_is_steps},
    {"matrix", "plain, by rows", "matrix", "k_matrix_plain_rows", TILES, 16, 16, 16, NULL},
    {"matrix", "plain", "matrix", "k_matrix_plain", TILES, 16, 16, 16, NULL},
    {"matrix", "tiled, 16, not", "matrix", "k_matrix_tiled_16_loop", TILES, 16, 16, 16, NULL},
    {"matrix", "tiled, 16", "matrix", "k_matrix_tiled_16", TILES, 16, 16, 16, NULL},
    {"matrix", "tiled, 32", "matrix", "k_matrix_tiled_32", TILES, 32, 32, 32, NULL},
    {"matrix", "cuBLAS", "matrix", "k_matrix_plain", TILES, 16, 16, 16, NULL}, /* which is not run */
    {"matrix", "registers", "matrix", "k_matrix_registers", TILES, 16, 16, 64, NULL},
    {"banks", "8 bytes", "banks", "k_banks_wide", RESIDENT, 256, 1, 1, cuda_ceiling_is_bank_sum},
    {"banks", "float4", "banks", "k_banks_vector", RESIDENT, 256, 1, 1, cuda_ceiling_is_bank_sum},
    {"banks", "", "banks", "k_banks_word", RESIDENT, 256, 1, 1, cuda_ceiling_is_bank_sum},
    {"atomics", "global, warp sums", "atomics", "k_atomics_warp", ELEMENTS, 256, 1, 1, NULL},
    {"atomics", "float", "atomics", "k_atomics_float", ELEMENTS, 256, 1, 1, NULL},
    {"atomics", "double by CAS", "atomics", "k_atomics_cas", ELEMENTS, 256, 1, 1, NULL},
    {"atomics", "double", "atomics", "k_atomics_double", ELEMENTS, 256, 1, 1, NULL},
    {"atomics", "64 bits", "atomics", "k_atomics_wide", ELEMENTS, 256, 1, 1, NULL},
    {"atomics", "max", "atomics", "k_atomics_max", ELEMENTS, 256, 1, 1, NULL},
    {"atomics", "block scope", "atomics", "k_atomics_block", ELEMENTS, 256, 1, 1, NULL},
    {"atomics", "device scope", "atomics", "k_atomics_global", ELEMENTS, 256, 1, 1, NULL},
    {"atomics", "system scope", "atomics", "k_atomics_system", ELEMENTS, 256, 1, 1, NULL},
    {"atomics", "global", "atomics", "k_atomics_global", ELEMENTS, 256, 1, 1, NULL},
    {"atomics", "shared", "atomics", "k_atomics_shared", ELEMENTS, 256, 1, 64, NULL},
    {"paths", "constant", "paths", "k_paths_constant", RESIDENT, 256, 1, 1, cuda_ceiling_is_table_sum},
    {"paths", "texture", "paths", "k_paths_texture", RESIDENT, 256, 1, 1, cuda_ceiling_is_table_sum},
    {"paths", "global", "paths", "k_paths_global", RESIDENT, 256, 1, 1, cuda_ceiling_is_table_sum},
    {"paths", "read-only", "paths", "k_paths_ldg", RESIDENT, 256, 1, 1, cuda_ceiling_is_table_sum},
    {"paths", "shared", "paths", "k_paths_shared", RESIDENT, 256, 1, 1, cuda_ceiling_is_table_sum},
    {"paths", "local", "paths", "k_paths_local", RESIDENT, 256, 1, 1, cuda_ceiling_is_own_sum},
    {"paths", "registers", "paths", "k_paths_registers", RESIDENT, 256, 1, 1, cuda_ceiling_is_own_sum},
};

static const Kernel *kernel_of(const MdCeiling *row) {
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++)
        if (strcmp(kernels[k].group, row->group) == 0 && begins(row->variant, kernels[k].variant)) return &kernels[k];
    md_panic("no kernel for %s: %s", row->group, row->variant);
}

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

static void make_texture(CudaCeiling *c) {
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeLinear};
    resource.res.linear.devPtr = c->arguments.a;
    resource.res.linear.desc = (struct cudaChannelFormatDesc){.x = 32, .f = cudaChannelFormatKindFloat};
    resource.res.linear.sizeInBytes = CUDA_CEILING_TABLE * sizeof(float);
    const struct cudaTextureDesc how = {.readMode = cudaReadModeElementType};
    cudaTextureObject_t texture;
    CUDA_CHECK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
    c->arguments.texture = texture;
    c->release = release_texture;
}

static void fill_constant(CudaCeiling *c) {
    CUdeviceptr place;
    size_t size = 0;
    md_require(c->m->driver.module_global(&place, &size, c->module, "c_table") == CUDA_SUCCESS);
    CUDA_CHECK(cudaMemcpy((void *)(uintptr_t)place, c->arguments.a, size, cudaMemcpyDefault));
}

/* As many blocks as the GPU holds at once: of so many threads; or so few on a multiprocessor, by the shared memory that each
 * asks for, or by registers. */
static void limit_blocks(CudaCeiling *c) {
    const int k = c->of.row->parameter, of_threads = c->m->sm_threads / k;
    if (is(c, "block")) {
        c->block[0] = (unsigned)k;
        c->grid[0] = (unsigned)(c->m->n_sms * (of_threads < c->m->sm_blocks ? of_threads : c->m->sm_blocks));
        return;
    }
    c->grid[0] = (unsigned)(c->m->n_sms * k);
    if (strstr(c->of.row->variant, "registers")) return;
    const int share = c->m->sm_shared / k - c->m->reserved_shared;
    c->shared = (unsigned)((share < c->m->block_shared ? share : c->m->block_shared) / 128 * 128);
    md_require(c->m->driver.set_function_attribute(c->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                   (int)c->shared) == CUDA_SUCCESS);
}

static void shape(CudaCeiling *c, const Kernel *kernel) {
    const int64_t n_threads =
        kernel->shape == RESIDENT ? cuda_ceiling_resident(c->m) : (c->n + kernel->per - 1) / kernel->per;
    const unsigned tiles = (unsigned)((c->of.size + kernel->per - 1) / kernel->per);
    c->block[0] = (unsigned)kernel->x;
    c->block[1] = (unsigned)kernel->y;
    const int of_block = kernel->x * kernel->y;
    c->grid[0] = kernel->shape == TILES ? tiles : (unsigned)((n_threads + of_block - 1) / of_block);
    c->grid[1] = kernel->shape == TILES ? tiles : 1;
    if (kernel->shape == WAVE) c->grid[0] = (unsigned)(c->m->n_sms + (is(c, "one wave and a block") ? 1 : 0));
    if (kernel->shape != PICTURES) return;
    c->arguments.shift = (CUDA_CEILING_PICTURE_Y + kernel->y - 1) / kernel->y;
    c->grid[0] = (unsigned)((CUDA_CEILING_PICTURE_X + kernel->x - 1) / kernel->x);
    c->grid[1] = (unsigned)(c->n / (CUDA_CEILING_PICTURE_X * CUDA_CEILING_PICTURE_Y) * c->arguments.shift);
}

/* Which places atomics meet in. */
static void set_places(CudaCeiling *c) {
    const char *variant = c->of.row->variant;
    const int spread = is(c, "shared") ? 255 : (1 << 20) - 1;
    const bool one_address = strstr(variant, "one address") || strstr(variant, "warp sums");
    c->arguments.shift = strstr(variant, "one a warp") ? 5 : strstr(variant, "one a block") ? 8 : 0;
    c->arguments.mask = one_address ? 0 : spread;
    c->n_out = is(c, "shared") ? 256 : 1 << 20;
}

/* Whole numbers end at 2^24 in a float, which one call reaches at one address: it begins at zero. */
static double run_from_zero(CudaCeiling *c, int64_t n_calls) {
    double seconds = 0;
    for (int64_t k = 0; k < n_calls; k++) {
        CUDA_CHECK(cudaMemsetAsync(c->arguments.counts, 0, sizeof(float), c->m->stream));
        seconds += cuda_ceiling_run_kernel(c, 1);
    }
    c->n_calls = 1;
    return seconds;
}

/* What kind of result it has, and room for it. */
static bool set_result(CudaCeiling *c, const Kernel *kernel, char *reason) {
    CudaCeilingArguments *a = &c->arguments;
    c->expected = kernel->expected;
    c->check = cuda_ceiling_check_elements;
    c->n_out = c->of.row->each || !kernel->expected ? cuda_ceiling_resident(c->m) : c->n;
    if (is_of(c, "transpose") || is_of(c, "matrix")) c->n_out = c->of.size * c->of.size;
    if (is_of(c, "transpose") && strstr(c->of.row->variant, "double")) c->n_out *= 2;
    if (kernel->shape == WAVE) c->n_out = (int64_t)c->grid[0] * c->block[0];
    if (is_of(c, "matrix")) c->check = cuda_ceiling_check_product;
    else if (is_of(c, "bandwidth") && is(c, "set")) c->check = cuda_ceiling_check_zero, c->n_out = c->n;
    else if (is_of(c, "bandwidth") && !kernel->expected) c->check = cuda_ceiling_check_thread_sums;
    else if (is_of(c, "atomics")) c->check = cuda_ceiling_check_counts, set_places(c);
    if (is_of(c, "atomics"))
        return (a->counts = cuda_ceiling_take(c, (size_t)c->n_out * cuda_ceiling_count_bytes(c), reason)) != NULL;
    return (a->b = cuda_ceiling_take(c, (size_t)c->n_out * sizeof *a->b, reason)) != NULL;
}

bool cuda_ceiling_prepare_kernel(CudaCeiling *c, char *reason) {
    const Kernel *kernel = kernel_of(c->of.row);
    c->arguments.a = c->m->d_source[0];
    c->arguments.c = c->m->d_source[1];
    c->arguments.n = c->n;
    c->arguments.width = c->of.size;
    c->arguments.parameter = c->of.row->parameter;
    const bool by_runtime = strstr(c->of.row->variant, "by the runtime") != NULL;
    c->run = !by_runtime ? cuda_ceiling_run_kernel : is(c, "set") ? run_set : run_copy;
    if (!cuda_ceiling_load(c, kernel->unit, NULL, kernel->symbol, reason)) return false;
    shape(c, kernel);
    if (is_of(c, "branch") && is(c, "by warp")) c->arguments.shift = 5;
    if (is_of(c, "occupancy") && kernel->shape != PICTURES && c->of.row->parameter > 0) limit_blocks(c);
    if (is_of(c, "bandwidth") && is(c, "reversed, dynamic")) c->shared = CUDA_CEILING_REVERSED * sizeof(float);
    if (is_of(c, "banks") && is(c, "permuted")) c->arguments.shift = 21;
    if (is_of(c, "atomics") && is(c, "float, one address")) c->run = run_from_zero;
    if (is_of(c, "matrix") && is(c, "cuBLAS")) {
        if (!cuda_ceiling_open_blas(c, reason)) return false;
        c->run = cuda_ceiling_run_blas;
    }
    if (is_of(c, "paths") && is(c, "texture")) make_texture(c);
    if (is_of(c, "paths") && is(c, "constant")) fill_constant(c);
    if (is_of(c, "bandwidth") && is(c, "gather") && !make_index(c, reason)) return false;
    return set_result(c, kernel, reason);
}
