/* Compiling the kernels: see kernels.c for why this happens when the program starts.
 *
 * A unit is one file, such as cuda/kernels/force.cu. It sees the switches that its text names as MD_SW_<section>_<key> and no
 * others, so that units which a switch does not concern come out the same, byte for byte. Their values have names (deck/choices.h).
 *
 * The text is part of the program. MDMINI_KERNELS may name a folder like src/ whose files cuda/kernels/... are
 * read instead: to try a change without a build. Compiled code is kept for later runs (cache.h). */
#include "cuda/device/compile.h"

#include <ctype.h>
#include <nvrtc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/heat_bath.h"
#include "base/memory.h"
#include "base/stream.h"
#include "cuda/device/cache.h"
#include "cuda/device/nvrtc.h"
#include "cuda/device/sources.h"
#include "cuda/device/toolkit.h"
#include "physics/split_sum.h"

enum { MAX_SOURCES = 96, NAME_BYTES = 128, MAX_OPTIONS = 96, OPTION_BYTES = 256 };

/* --- the text of a unit -------------------------------------------------------------------------------------------- */

/* The texts of a unit: its file and the files that it includes, by name. */
typedef struct Sources {
    int n;
    char names[MAX_SOURCES][NAME_BYTES];
    const char *texts[MAX_SOURCES];
    char *owned[MAX_SOURCES];
} Sources;

static const char *own_folder(void) {
    const char *folder = getenv("MDMINI_KERNELS");
    return folder && folder[0] ? folder : NULL;
}

/* A file of the folder MDMINI_KERNELS; NULL: there is none. */
static char *read_own(const char *name) {
    char path[4096];
    size_t size;
    if (!own_folder()) return NULL;
    snprintf(path, sizeof path, "%s/%s", own_folder(), name);
    return md_file_read(path, &size);
}

/* The part of the C library that NVRTC lacks; the rest is built into the compiler. No macros: headers of the
 * toolkit (CUB) define them in their own way. */
static const CudaSource library_headers[] = {
    {"stdint.h", "typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t;\n"
                 "typedef unsigned short uint16_t; typedef int int32_t; typedef unsigned uint32_t;\n"
                 "typedef long long int64_t; typedef unsigned long long uint64_t;\n"},
    {"stdbool.h", "\n"},
    {"math.h", "\n"},
};
enum { N_LIBRARY_HEADERS = sizeof library_headers / sizeof library_headers[0] };

static const char *built_in_text(const char *name) {
    for (int k = 0; k < N_LIBRARY_HEADERS; k++)
        if (strcmp(library_headers[k].name, name) == 0) return library_headers[k].text;
    for (int k = 0; k < cuda_n_sources; k++)
        if (strcmp(cuda_sources[k].name, name) == 0) return cuda_sources[k].text;
    return NULL;
}

/* The constants of deck/choices.def, set after set; NULL ends a set. */
#define X(name, ...)         "MD_" #name,
#define FORM(name, ...)      "MD_POTENTIAL_" #name,
#define BATH(name, ...)      "MD_THERMOSTAT_" #name,
#define CHOICES(set, values) values NULL,
static const char *const constants[] = {
#include "deck/choices.def"
};

/* The text that kernels include as deck/choices.h: the same constants as macros, since the preprocessor knows no enumerators. From malloc. */
static char *make_choices(void) {
    MdText text = {0};
    int value = 0;
    for (size_t k = 0; k < sizeof constants / sizeof constants[0]; k++) {
        if (constants[k]) md_text_add(&text, "#define %s %d\n", constants[k], value);
        value = constants[k] ? value + 1 : 0;
    }
    return md_text_take(&text);
}

static int find_source(const Sources *sources, const char *name) {
    for (int k = 0; k < sources->n; k++)
        if (strcmp(sources->names[k], name) == 0) return k;
    return -1;
}

/* Adds a file and all that it includes: from MDMINI_KERNELS if it is there, else the program's. The compiler itself finds other
 * files, such as headers of the toolkit. physics/form.inc is the file of the form of the pair potential, and deck/choices.h is
 * generated. */
static void add_source(Sources *sources, const char *name, const MdForm *form) {
    static const char directive[] = "#include ";
    char file[NAME_BYTES], included[NAME_BYTES];
    if (find_source(sources, name) >= 0) return;
    snprintf(file, sizeof file, "%s", name);
    if (form && strcmp(name, "physics/form.inc") == 0) snprintf(file, sizeof file, "physics/forms/%s.inc", form->file);
    char *own = strcmp(name, "deck/choices.h") == 0 ? make_choices() : read_own(file);
    const char *text = own ? own : built_in_text(file);
    if (!text) return;
    md_require(sources->n < MAX_SOURCES);
    snprintf(sources->names[sources->n], NAME_BYTES, "%s", name);
    sources->owned[sources->n] = own;
    sources->texts[sources->n++] = text;
    for (const char *at = text; (at = strstr(at, directive)) != NULL;) {
        at += sizeof directive; /* past the quote as well */
        const size_t length = strcspn(at, "\">\n");
        if (length >= NAME_BYTES) continue;
        memcpy(included, at, length);
        included[length] = 0;
        add_source(sources, included, form);
    }
}

/* Units stay the same, and are found in the cache, where a file that they do not include changes. */
static void gather_sources(Sources *sources, const char *unit, const MdForm *form) {
    memset(sources, 0, sizeof *sources);
    for (int k = 0; k < N_LIBRARY_HEADERS; k++)
        add_source(sources, library_headers[k].name, form); /* CUB includes them */
    add_source(sources, unit, form);
}

/* A file that the folder lacks comes from the program; a folder that lacks them all is a mistake. */
static MdStatus check_folder(MdErrors *errors) {
    bool has_own = own_folder() == NULL;
    for (int k = 0; k < cuda_n_sources && !has_own; k++) {
        char *text = read_own(cuda_sources[k].name);
        has_own = text != NULL;
        free(text);
    }
    if (has_own) return MD_OK;
    return md_fail(errors, MD_ERROR_INPUT,
                   "MDMINI_KERNELS=%s: no file of the kernels is there (such as %s/cuda/kernels/force.cu): name a "
                   "folder like src/, or unset it",
                   own_folder(), own_folder());
}

static void free_sources(Sources *sources) {
    for (int k = 0; k < sources->n; k++) free(sources->owned[k]);
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

static bool is_named(const Sources *sources, const char *macro) {
    for (int k = 0; k < sources->n; k++)
        if (names_macro(sources->texts[k], macro)) return true;
    return false;
}

/* Defines a macro where a source names it. */
static void define(Options *options, const Sources *sources, const char *macro, int value) {
    if (is_named(sources, macro)) add_option(options, "-D%s=%d", macro, value);
}

/* Lines for profilers: before 12.1 NVRTC ends by SIGSEGV with them, in an endless recursion. And NVRTC looks into
 * a cache of the driver, which processes share (its guide, "Caching", since 12.9). It is turned off, so that the time of compiling
 * is measured: cache.c keeps code by all inputs of the compiler. */
static void add_options_by_version(Options *options) {
    const int version = cuda_nvrtc_version();
    if (version >= 12010) add_option(options, "--generate-line-info");
    if (version >= 12090) add_option(options, "--no-cache");
}

/* Threads that launch bounds make room for on a multiprocessor: half of the most, 64 registers each. */
enum { BOUND_THREADS = 1024 };

/* Whether a step may have to be replayed: see kernels/batches/step_queue.cuh. */
static bool is_checked_queue(const MdConfig *config) {
    return config->launch_passes == MD_PASSES_QUEUE && config->launch_fuse == MD_FUSE_STEP &&
           config->launch_persistent != MD_PERSISTENT_ON && config->neighbor_rebuild == MD_REBUILD_DEVICE_CHECK;
}

static void list_options(const CudaTarget *target, CudaArchitecture architecture, const Sources *sources, int block,
                         Options *options) {
    add_option(options, "--gpu-architecture=%s_%d", architecture.is_ptx ? "compute" : "sm", architecture.number);
    add_option(options, "--std=c++17");
    add_options_by_version(options);
    if (target->config->launch_registers > 0)
        add_option(options, "--maxrregcount=%d", (int)target->config->launch_registers);
    for (int option = 0; option < MD_N_OPTIONS; option++) {
        if (!md_option_is_switch(option)) continue;
        char macro[64];
        snprintf(macro, sizeof macro, "MD_SW_%s", md_option_name(option));
        *strchr(macro, '.') = '_';
        define(options, sources, macro, md_switch_value(target->config, option));
    }
    /* Of everything in the unit that divides or takes a root, pairs are all that is in single precision. */
    if (target->config->force_arithmetic == MD_ARITHMETIC_FAST && is_named(sources, "MD_SW_force_arithmetic")) {
        add_option(options, "--ftz=true");
        add_option(options, "--prec-div=false");
        add_option(options, "--prec-sqrt=false");
    }
    char folder[CUDA_TOOLKIT_BYTES];
    const char *header = target->header;
    if (!header && is_named(sources, "MD_SW_reduce_method")) header = cuda_toolkit_header(target->config);
    if (header && cuda_toolkit_find(header, folder)) {
        add_option(options, "--include-path=%s", folder);
        add_option(options, "--include-path=%s/cccl", folder);
    }
    const MdBox *box = target->box;
    const int n_types = target->potential->n_types;
    const struct {
        const char *macro;
        int value;
    } facts[] = {
        {"MD_BLOCK", block},
        {"MD_BOUND_THREADS", BOUND_THREADS},
        {"MD_N_TYPES", target->potential->n_types},
        {"MD_SEVERAL_TYPES", target->potential->n_types > 1},
        {"MD_SHIFT", MD_SHIFTS_FORCE(target->potential->shift) ? target->potential->shift : MD_SHIFT_NONE},
        {"MD_DIMENSION", box->dimension},
        {"MD_PERIODIC_X", box->periodic[0]},
        {"MD_PERIODIC_Y", box->periodic[1]},
        {"MD_PERIODIC_Z", box->dimension == 3 && box->periodic[2]},
        {"MD_COUNT", target->counting},
        {"MD_CHECKED_QUEUE", is_checked_queue(target->config)},
        {"MD_HELD_SOURCES", target->held_sources},
        {"MD_DOMAIN", md_config_has_domains(target->config)},
        {"MD_HAS_TENSOR", target->config->analysis_pressure == MD_PRESSURE_TENSOR},
        {"MD_ALL_BITS", md_split_bits(target->n_all)},
        {"MD_HAS_MSD", target->config->analysis_msd_every > 0},
        {"MD_HAS_VACF", target->config->analysis_vacf_every > 0},
        {"MD_BATH", md_heat_bath_facts(target->config)},
        {"MD_RDF_BINS", (int)(target->config->analysis_rdf_every > 0 ? target->config->analysis_rdf_bins : 0)},
        {"MD_RDF_KINDS", target->config->analysis_rdf_types == MD_RDF_TYPES_ALL ? n_types * (n_types + 1) / 2 : 1},
        {"MD_SUM_BITS",
         target->config->reduce_accumulate == MD_ACCUMULATE_REPRODUCIBLE ? md_split_bits(target->n_all) : 0},
    };
    for (size_t k = 0; k < sizeof facts / sizeof facts[0]; k++)
        define(options, sources, facts[k].macro, facts[k].value);
}

/* --- compiling ----------------------------------------------------------------------------------------------------- */

/* A name for the image of a unit that tells all that went into it. */
static void name_image(const Sources *sources, const char *unit, const Options *options, char *name, size_t size) {
    int major = 0, minor = 0;
    nvrtcVersion(&major, &minor);
    uint64_t hash[2] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x84222325cbf29ce4)};
    for (int h = 0; h < 2; h++) {
        hash[h] = cuda_cache_hash(hash[h], MDMINI_KERNEL_COMPILER);
        for (int k = 0; k < sources->n; k++) hash[h] = cuda_cache_hash_source(hash[h], sources->texts[k]);
        for (int k = 0; k < options->n; k++) hash[h] = cuda_cache_hash(hash[h], options->text[k]);
    }
    const char *slash = strrchr(unit, '/');
    snprintf(name, size, "%s-%d.%d-%016llx%016llx.image", slash ? slash + 1 : unit, major, minor,
             (unsigned long long)hash[0], (unsigned long long)hash[1]);
}

/* The compiler's messages, NULL when there are none; from md_alloc. */
static char *read_messages(nvrtcProgram program) {
    size_t size = 0;
    cuda_nvrtc_check(nvrtcGetProgramLogSize(program, &size), "nvrtcGetProgramLogSize");
    if (size <= 1) return NULL;
    char *text = md_alloc(size + 1, 1, "messages of the compiler");
    cuda_nvrtc_check(nvrtcGetProgramLog(program, text), "nvrtcGetProgramLog");
    return text;
}

static void take_code(nvrtcProgram program, CudaArchitecture architecture, CudaImage *image) {
    const bool is_ptx = architecture.is_ptx;
    cuda_nvrtc_check((is_ptx ? nvrtcGetPTXSize : nvrtcGetCUBINSize)(program, &image->size),
                     "size of the compiled kernels");
    image->bytes = md_alloc(image->size, 1, "kernels");
    cuda_nvrtc_check((is_ptx ? nvrtcGetPTX : nvrtcGetCUBIN)(program, image->bytes), "the compiled kernels");
}

static MdStatus run_compiler(const Sources *sources, const char *name, const Options *options,
                             CudaArchitecture architecture, CudaImage *image, MdErrors *errors) {
    const char *texts[MAX_OPTIONS], *names[MAX_SOURCES];
    nvrtcProgram program;
    MdStatus status = MD_OK;
    for (int k = 0; k < options->n; k++) texts[k] = options->text[k];
    for (int k = 0; k < sources->n; k++) names[k] = sources->names[k];
    cuda_nvrtc_check(nvrtcCreateProgram(&program, sources->texts[find_source(sources, name)], name, sources->n,
                                        sources->texts, names),
                     "nvrtcCreateProgram");
    const nvrtcResult result = nvrtcCompileProgram(program, options->n, texts);
    image->messages = read_messages(program);
    if (result == NVRTC_SUCCESS) take_code(program, architecture, image);
    else
        status = md_fail(errors, own_folder() ? MD_ERROR_INPUT : MD_ERROR_INTERNAL, "%s does not compile (%s):\n%s",
                         name, nvrtcGetErrorString(result), image->messages ? image->messages : "");
    cuda_nvrtc_check(nvrtcDestroyProgram(&program), "nvrtcDestroyProgram");
    return status;
}

MdStatus cuda_compile(const CudaTarget *target, const char *unit, int block, CudaImage *image, MdErrors *errors) {
    Sources sources;
    Options options = {0};
    CudaCache cache;
    char name[64], kept[128];
    const CudaArchitecture architecture = cuda_nvrtc_architecture(target->compute_capability);
    md_require(architecture.number > 0); /* cuda_device_probe has refused such a GPU */
    *image = (CudaImage){0};
    snprintf(name, sizeof name, "%s.cu", unit);
    MdStatus status = check_folder(errors);
    gather_sources(&sources, name, target->potential->form);
    if (status == MD_OK) {
        list_options(target, architecture, &sources, block, &options);
        name_image(&sources, unit, &options, kept, sizeof kept);
        cuda_cache_open(&cache);
        image->is_kept = cuda_cache_read(&cache, kept, image);
        if (!image->is_kept) status = run_compiler(&sources, name, &options, architecture, image, errors);
        if (!image->is_kept && status == MD_OK) cuda_cache_write(&cache, kept, image);
    }
    free_sources(&sources);
    return status;
}
