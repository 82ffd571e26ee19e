/* Kernels are compiled when the program starts, by NVRTC, for exactly the switches of the run. Switches multiply: as
 * templates the force kernel alone would need tens of thousands of instances, or branches that cost registers and time
 * in the loop that is measured. Compiling what is asked for takes some hundredths of a second a unit.
 *
 * A unit is one file kernels/<stage>.cu. It sees the switches that its text names as MD_SW_<section>_<key> and no
 * others, so that units which a switch does not concern come out the same, byte for byte.
 *
 * The text is part of the program. MDMINI_KERNELS may name a folder like src/ with the files cuda/kernels/... that are to be
 * read instead: to try a change without a build. MDMINI_KERNEL_CACHE may name a folder where compiled units are kept
 * between runs, by a hash of all that goes into them. */
#include <ctype.h>
#include <nvrtc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cuda/context.h"
#include "cuda/sources.h"

enum { MAX_SOURCES = 64, MAX_OPTIONS = 96, OPTION_BYTES = 96 };

const char *const cuda_stage_names[CUDA_N_STAGES] = {"sort",   "neighbor", "force", "integrate",
                                                     "reduce", "gather",   "step"};

static const struct {
    const char *unit, *name, *symbol, *condition;
} kernel_table[CUDA_N_KERNELS] = {
#define ROW(unit, name, condition) {#unit, #name, "k_" #unit "_" #name, condition},
    CUDA_KERNELS(ROW)
#undef ROW
};

static int unit_of(CudaKernelId id) {
    int unit = 0;
    while (strcmp(cuda_stage_names[unit], kernel_table[id].unit) != 0) unit++;
    return unit;
}

static void driver_check(const CudaContext *context, CUresult result, const char *what, const char *file, int line) {
    if (result == CUDA_SUCCESS) return;
    const char *text = NULL;
    context->driver.error_text(result, &text);
    md_panic_at(file, line, "%s failed on GPU %d: %s", what, context->device, text ? text : "unknown error");
}
#define DRIVER_CHECK(context, expression) driver_check((context), (expression), #expression, __FILE__, __LINE__)

/* --- the text of a unit -------------------------------------------------------------------------------------------- */

/* Files by name: the built-in ones, with those of MDMINI_KERNELS in their place. */
typedef struct Sources {
    int n;
    const char *names[MAX_SOURCES], *texts[MAX_SOURCES];
    char *owned[MAX_SOURCES];
} Sources;

const char *cuda_kernels_source(void) {
    const char *folder = getenv("MDMINI_KERNELS");
    return folder && folder[0] ? folder : NULL;
}

static char *read_text(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    size_t size = 0, room = 1 << 16;
    char *text = md_alloc(room, 1, "kernel source");
    for (size_t got; (got = fread(text + size, 1, room - size - 1, file)) > 0;) {
        size += got;
        if (room - size > 1) continue;
        char *larger = md_alloc(2 * room, 1, "kernel source");
        memcpy(larger, text, size);
        md_free(text);
        text = larger;
        room *= 2;
    }
    fclose(file);
    text[size] = '\0';
    return text;
}

/* What NVRTC does not have of the C library; the rest of it is built into the compiler. */
static const CudaSource library_headers[] = {
    {"stdint.h", "typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t;\n"
                 "typedef unsigned short uint16_t; typedef int int32_t; typedef unsigned uint32_t;\n"
                 "typedef long long int64_t; typedef unsigned long long uint64_t;\n"},
    {"stdbool.h", "\n"},
    {"math.h", "#ifndef INFINITY\n#define INFINITY __int_as_float(0x7f800000)\n#endif\n"},
};

static void gather_sources(Sources *sources) {
    const char *folder = cuda_kernels_source();
    memset(sources, 0, sizeof *sources);
    for (size_t k = 0; k < sizeof library_headers / sizeof library_headers[0]; k++) {
        sources->names[sources->n] = library_headers[k].name;
        sources->texts[sources->n++] = library_headers[k].text;
    }
    for (int k = 0; k < cuda_n_sources; k++) {
        md_require(sources->n < MAX_SOURCES);
        char *own = folder ? read_text(folder, cuda_sources[k].name) : NULL;
        sources->owned[sources->n] = own;
        sources->names[sources->n] = cuda_sources[k].name;
        sources->texts[sources->n++] = own ? own : cuda_sources[k].text;
    }
}

static void free_sources(Sources *sources) {
    for (int k = 0; k < sources->n; k++) md_free(sources->owned[k]);
}

static int find_source(const Sources *sources, const char *name, size_t length) {
    for (int k = 0; k < sources->n; k++)
        if (strlen(sources->names[k]) == length && strncmp(sources->names[k], name, length) == 0) return k;
    return -1;
}

/* Marks source k and all that it includes. */
static void mark_included(const Sources *sources, int k, bool marked[MAX_SOURCES]) {
    if (k < 0 || marked[k]) return;
    marked[k] = true;
    static const char directive[] = "#include ";
    for (const char *at = sources->texts[k]; (at = strstr(at, directive)) != NULL;) {
        at += sizeof directive; /* past the quote as well */
        mark_included(sources, find_source(sources, at, strcspn(at, "\">\n")), marked);
    }
}

/* --- options of a unit --------------------------------------------------------------------------------------------- */

typedef struct Options {
    int n;
    char text[MAX_OPTIONS][OPTION_BYTES];
} Options;

static void add_option(Options *options, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_option(Options *options, const char *format, ...) {
    md_require(options->n < MAX_OPTIONS);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(options->text[options->n++], OPTION_BYTES, format, arguments);
    va_end(arguments);
    md_require(length < OPTION_BYTES);
}

static bool names_macro(const char *text, const char *macro) {
    size_t length = strlen(macro);
    for (const char *at = text; (at = strstr(at, macro)) != NULL; at += length)
        if (!isalnum((unsigned char)at[length]) && at[length] != '_') return true;
    return false;
}

/* Defines a macro where a marked source names it. */
static void define(Options *options, const Sources *sources, const bool marked[MAX_SOURCES], const char *macro,
                   int value) {
    for (int k = 0; k < sources->n; k++) {
        if (!marked[k] || !names_macro(sources->texts[k], macro)) continue;
        add_option(options, "-D%s=%d", macro, value);
        return;
    }
}

/* Rows differ in length: a smaller block is replaced sooner when its slowest warp is done. Kernels that stream through
 * memory take 256. With auto these are where the search for the best occupancy begins. */
static int first_block_size(const CudaContext *context, int unit) {
    int choice = context->config.launch_block_size;
    if (choice != MD_BLOCK_SIZE_AUTO) return 32 << choice;
    return unit == CUDA_NEIGHBOR || unit == CUDA_FORCE || unit == CUDA_STEP ? 128 : 256;
}

/* Threads that launch bounds make room for on a multiprocessor: half of the most, 64 registers each. */
enum { BOUND_THREADS = 1024 };

static void list_options(const CudaContext *context, const Sources *sources, int unit, int block, bool counting,
                         Options *options) {
    bool marked[MAX_SOURCES] = {false};
    char name[64];
    snprintf(name, sizeof name, "cuda/kernels/%s.cu", cuda_stage_names[unit]);
    mark_included(sources, find_source(sources, name, strlen(name)), marked);

    int major = 0, minor = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, context->device));
    CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, context->device));
    add_option(options, "--gpu-architecture=sm_%d%d", major, minor);
    add_option(options, "--std=c++17");
    add_option(options, "--generate-line-info");
    for (int option = 0; option < MD_N_OPTIONS; option++) {
        if (!md_option_is_switch(option)) continue;
        char macro[64];
        snprintf(macro, sizeof macro, "MD_SW_%s", md_option_name(option));
        *strchr(macro, '.') = '_';
        define(options, sources, marked, macro, md_switch_value(&context->config, option));
    }
    const MdBox *box = &context->box;
    const struct {
        const char *macro;
        int value;
    } facts[] = {
        {"MD_BLOCK", block},
        {"MD_BOUND_THREADS", BOUND_THREADS},
        {"MD_N_TYPES", context->potential.n_types},
        {"MD_SHIFTED", context->potential.shift == MD_SHIFT_FORCE},
        {"MD_DIMENSION", box->dimension},
        {"MD_PERIODIC_X", box->periodic[0]},
        {"MD_PERIODIC_Y", box->periodic[1]},
        {"MD_PERIODIC_Z", box->dimension == 3 && box->periodic[2]},
        {"MD_COUNT", counting},
    };
    for (size_t k = 0; k < sizeof facts / sizeof facts[0]; k++)
        define(options, sources, marked, facts[k].macro, facts[k].value);
}

/* --- compiling ----------------------------------------------------------------------------------------------------- */

typedef struct Image {
    char *bytes;
    size_t size;
} Image;

/* FNV-1a, 64 bits. */
static uint64_t hash_text(uint64_t hash, const char *text) {
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (hash ^ 0xff) * UINT64_C(0x100000001b3); /* and the end, so that texts cannot run together */
}

/* Where the image of a unit is kept; false: nowhere. */
static bool cache_path(const Sources *sources, const char *unit, const Options *options, char *path, size_t size) {
    const char *folder = getenv("MDMINI_KERNEL_CACHE");
    if (!folder || !folder[0]) return false;
    int major = 0, minor = 0;
    nvrtcVersion(&major, &minor);
    uint64_t hash[2] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x84222325cbf29ce4)};
    for (int h = 0; h < 2; h++) {
        for (int k = 0; k < sources->n; k++) hash[h] = hash_text(hash[h], sources->texts[k]);
        for (int k = 0; k < options->n; k++) hash[h] = hash_text(hash[h], options->text[k]);
    }
    snprintf(path, size, "%s/%s-%d.%d-%016llx%016llx.cubin", folder, unit, major, minor, (unsigned long long)hash[0],
             (unsigned long long)hash[1]);
    return true;
}

static bool read_image(const char *path, Image *image) {
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    image->size = size > 0 ? (size_t)size : 0;
    image->bytes = md_alloc(image->size + 1, 1, "kernels");
    bool whole = image->size > 0 && fread(image->bytes, 1, image->size, file) == image->size;
    fclose(file);
    if (!whole) md_free(image->bytes);
    return whole;
}

/* Written aside and renamed, so that another process never sees half of it. What fails only costs a compilation later. */
static void write_image(const char *path, const Image *image) {
    char aside[4200];
    snprintf(aside, sizeof aside, "%s.%p", path, (const void *)image);
    FILE *file = fopen(aside, "wbx");
    if (!file) return;
    bool whole = fwrite(image->bytes, 1, image->size, file) == image->size;
    whole = fclose(file) == 0 && whole;
    if (!whole || rename(aside, path) != 0) remove(aside);
}

static void nvrtc_check(nvrtcResult result, const char *what) {
    if (result != NVRTC_SUCCESS) md_panic("%s: %s", what, nvrtcGetErrorString(result));
}

/* Compiles one unit; a text that does not compile is an internal fault, shown with the compiler's message (input, when
 * it comes from MDMINI_KERNELS). */
static MdStatus compile(CudaContext *context, const Sources *sources, const char *unit, const Options *options,
                        Image *image) {
    char name[64], path[4096];
    snprintf(name, sizeof name, "cuda/kernels/%s.cu", unit);
    const bool cached = cache_path(sources, unit, options, path, sizeof path);
    if (cached && read_image(path, image)) return MD_OK;

    const char *texts[MAX_OPTIONS];
    for (int k = 0; k < options->n; k++) texts[k] = options->text[k];
    nvrtcProgram program;
    nvrtc_check(nvrtcCreateProgram(&program, sources->texts[find_source(sources, name, strlen(name))], name, sources->n,
                                   sources->texts, sources->names),
                "nvrtcCreateProgram");
    nvrtcResult result = nvrtcCompileProgram(program, options->n, texts);
    if (result != NVRTC_SUCCESS) {
        size_t size = 0;
        nvrtc_check(nvrtcGetProgramLogSize(program, &size), "nvrtcGetProgramLogSize");
        char *log = md_alloc(size + 1, 1, "messages of the compiler");
        nvrtc_check(nvrtcGetProgramLog(program, log), "nvrtcGetProgramLog");
        MdStatus status =
            md_fail(context->errors, cuda_kernels_source() ? MD_ERROR_INPUT : MD_ERROR_INTERNAL,
                    "the kernels of stage %s do not compile (%s):\n%s", unit, nvrtcGetErrorString(result), log);
        md_free(log);
        nvrtc_check(nvrtcDestroyProgram(&program), "nvrtcDestroyProgram");
        return status;
    }
    nvrtc_check(nvrtcGetCUBINSize(program, &image->size), "nvrtcGetCUBINSize");
    image->bytes = md_alloc(image->size, 1, "kernels");
    nvrtc_check(nvrtcGetCUBIN(program, image->bytes), "nvrtcGetCUBIN");
    nvrtc_check(nvrtcDestroyProgram(&program), "nvrtcDestroyProgram");
    if (cached) write_image(path, image);
    return MD_OK;
}

/* --- loading ------------------------------------------------------------------------------------------------------- */

static int attribute(const CudaContext *context, CUfunction function, CUfunction_attribute which) {
    int value = 0;
    DRIVER_CHECK(context, context->driver.function_attribute(&value, which, function));
    return value;
}

static MdStatus load_kernel(CudaContext *context, CudaKernelId id, CUmodule module, int block) {
    CudaKernel *kernel = &context->kernels[id];
    CUfunction function;
    DRIVER_CHECK(context, context->driver.module_function(&function, module, kernel_table[id].symbol));
    kernel->function = function;
    kernel->block_size = block;
    kernel->registers = attribute(context, function, CU_FUNC_ATTRIBUTE_NUM_REGS);
    kernel->static_shared = (size_t)attribute(context, function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    kernel->local_bytes = (size_t)attribute(context, function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    int most = attribute(context, function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    if (most < block)
        return md_fail(context->errors, MD_ERROR_INPUT,
                       "launch.block_size=%d: kernel %s takes %d registers a thread, which allows %d threads a block "
                       "here: take a smaller block, auto, or launch.bounds=on",
                       block, kernel_table[id].symbol, kernel->registers, most);
    DRIVER_CHECK(context, context->driver.occupancy(&kernel->blocks_per_sm, function, block, kernel->dynamic_shared));
    return MD_OK;
}

/* Whether any kernel of the unit is there under these switches. */
static bool is_needed(const CudaContext *context, int unit) {
    for (int id = 0; id < CUDA_N_KERNELS; id++)
        if (unit_of((CudaKernelId)id) == unit && md_condition_holds(kernel_table[id].condition, &context->config))
            return true;
    return false;
}

static MdStatus load_unit(CudaContext *context, const Sources *sources, int unit, int block) {
    Options options = {0};
    Image image = {0};
    list_options(context, sources, unit, block, false, &options);
    MdStatus status = compile(context, sources, cuda_stage_names[unit], &options, &image);
    if (status != MD_OK) return status;
    DRIVER_CHECK(context, context->driver.module_load(&context->modules[unit], image.bytes));
    md_free(image.bytes);
    for (int id = 0; id < CUDA_N_KERNELS && status == MD_OK; id++)
        if (unit_of((CudaKernelId)id) == unit && md_condition_holds(kernel_table[id].condition, &context->config))
            status = load_kernel(context, (CudaKernelId)id, context->modules[unit], block);
    return status;
}

/* launch.block_size=auto: half the block where that brings more threads of the unit's kernels onto a multiprocessor. */
static int best_block_size(const CudaContext *context, int unit, int block) {
    int best = block, most = 0;
    for (int candidate = block; candidate >= 64; candidate /= 2) {
        int threads = 0;
        for (int id = 0; id < CUDA_N_KERNELS; id++) {
            const CudaKernel *kernel = &context->kernels[id];
            int blocks = 0;
            if (unit_of((CudaKernelId)id) != unit || !kernel->function) continue;
            DRIVER_CHECK(context,
                         context->driver.occupancy(&blocks, kernel->function, candidate, kernel->dynamic_shared));
            threads += blocks * candidate;
        }
        if (threads > most) best = candidate;
        if (threads > most) most = threads;
    }
    return best;
}

static MdStatus create_unit(CudaContext *context, const Sources *sources, int unit) {
    if (!is_needed(context, unit)) return MD_OK;
    const int first = first_block_size(context, unit);
    MdStatus status = load_unit(context, sources, unit, first);
    if (status != MD_OK || context->config.launch_block_size != MD_BLOCK_SIZE_AUTO) return status;
    const int best = best_block_size(context, unit, first);
    if (best == first) return MD_OK;
    DRIVER_CHECK(context, context->driver.module_unload(context->modules[unit]));
    return load_unit(context, sources, unit, best);
}

MdStatus cuda_kernels_create(CudaContext *context) {
    MdStatus status = cuda_driver_find(&context->driver, context->errors);
    if (status != MD_OK) return status;
    Sources sources;
    gather_sources(&sources);
    for (int unit = 0; unit < CUDA_N_UNITS && status == MD_OK; unit++) status = create_unit(context, &sources, unit);
    free_sources(&sources);
    return status;
}

void cuda_kernels_destroy(CudaContext *context) {
    for (int unit = 0; unit < CUDA_N_UNITS; unit++)
        if (context->modules[unit]) DRIVER_CHECK(context, context->driver.module_unload(context->modules[unit]));
}

/* --- launching ----------------------------------------------------------------------------------------------------- */

/* Books and checks a launch; into a graph it is neither run nor to be waited for. */
static void check_launch(CudaContext *context, CudaKernelId id, CUresult result) {
    if (!context->capturing) context->kernels[id].launches++;
    if (context->config.check_kernels == MD_CHECK_KERNELS_OFF) return;
    driver_check(context, result, kernel_table[id].symbol, __FILE__, __LINE__);
    if (context->config.check_kernels == MD_CHECK_KERNELS_SYNC)
        cuda_check(cudaStreamSynchronize(context->stream), kernel_table[id].symbol, __FILE__, __LINE__);
}

void cuda_launch_blocks(CudaContext *context, CudaKernelId id, int64_t n_blocks) {
    const CudaKernel *kernel = &context->kernels[id];
    md_require(kernel->function != NULL);
    /* Kernels with one parameter do not look at the second. */
    void *parameters[] = {&context->arguments, context->pair_table};
    check_launch(context, id,
                 context->driver.launch(kernel->function, (unsigned)n_blocks, 1, 1, (unsigned)kernel->block_size, 1, 1,
                                        (unsigned)kernel->dynamic_shared, context->stream, parameters, NULL));
}

void cuda_launch_resident(CudaContext *context, CudaKernelId id, int64_t n_blocks) {
    const CudaKernel *kernel = &context->kernels[id];
    const int64_t most = (int64_t)kernel->blocks_per_sm * context->n_sms;
    void *parameters[] = {&context->arguments, context->pair_table};
    md_require(kernel->function != NULL && most > 0);
    if (n_blocks > most) n_blocks = most;
    check_launch(context, id,
                 context->driver.launch_cooperative(kernel->function, (unsigned)n_blocks, 1, 1,
                                                    (unsigned)kernel->block_size, 1, 1,
                                                    (unsigned)kernel->dynamic_shared, context->stream, parameters));
}

void cuda_kernels_count_graph(CudaContext *context, int n_steps) {
    CudaKernel *kernels = context->kernels;
    kernels[CUDA_K_force_plain].launches += n_steps;
    if (context->config.launch_fuse == MD_ON) {
        kernels[CUDA_K_integrate_kick_drift].launches += n_steps;
        return;
    }
    kernels[CUDA_K_integrate_kick].launches += 2 * n_steps;
    kernels[CUDA_K_integrate_drift].launches += n_steps;
    if (context->config.neighbor_rebuild != MD_REBUILD_EVERY) kernels[CUDA_K_integrate_check].launches += n_steps;
}

void cuda_launch(CudaContext *context, CudaKernelId id, int64_t n_threads) {
    cuda_launch_blocks(context, id, cuda_blocks(n_threads, context->kernels[id].block_size));
}

void cuda_kernels_report(const CudaContext *context, MdStatistics *statistics) {
    int threads_per_sm = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&threads_per_sm, cudaDevAttrMaxThreadsPerMultiProcessor, context->device));
    statistics->n_kernels = 0;
    for (int id = 0; id < CUDA_N_KERNELS; id++) {
        const CudaKernel *kernel = &context->kernels[id];
        if (!kernel->function) continue;
        md_require(statistics->n_kernels < MD_MAX_KERNELS);
        MdKernelUse *use = &statistics->kernels[statistics->n_kernels++];
        snprintf(use->stage, sizeof use->stage, "%s", kernel_table[id].unit);
        snprintf(use->name, sizeof use->name, "%s", kernel_table[id].symbol);
        use->block_size = kernel->block_size;
        use->registers = kernel->registers;
        use->blocks_per_sm = kernel->blocks_per_sm;
        use->shared_bytes = (int64_t)(kernel->static_shared + kernel->dynamic_shared);
        use->local_bytes = (int64_t)kernel->local_bytes;
        use->occupancy = (double)kernel->blocks_per_sm * kernel->block_size / threads_per_sm;
        use->launches = kernel->launches;
    }
}
