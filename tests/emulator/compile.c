/* NVRTC: writes the program and its headers into a folder of its own, preprocesses, rewrites and compiles it with the C++
 * compiler of this machine. The same source is compiled once: libraries are kept in memory and in the folder that
 * MDMINI_EMULATOR_CACHE names. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <nvrtc.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulator.h"
#include "rewrite.h"

extern char **environ;

/* The device language, as text: abi.h, prelude.h and the headers that kernels may include. */
#define TEXT_OF(name, file)                                                                                            \
    __asm__(".section .rodata\n.global " #name "\n.hidden " #name "\n" #name ":\n.incbin \"" file                      \
            "\"\n.byte 0\n.previous\n");                                                                               \
    extern __attribute__((visibility("hidden"))) const char name[]
TEXT_OF(emulator_text_abi, EMULATOR_SOURCE "/abi.h");
TEXT_OF(emulator_text_prelude, EMULATOR_SOURCE "/prelude.h");
TEXT_OF(emulator_text_groups, EMULATOR_SOURCE "/device/cooperative_groups.h");
TEXT_OF(emulator_text_groups_reduce, EMULATOR_SOURCE "/device/cooperative_groups/reduce.h");
TEXT_OF(emulator_text_cub, EMULATOR_SOURCE "/device/cub/block/block_reduce.cuh");

static const struct {
    const char *name, *text;
} device_headers[] = {{"emulator_abi.h", emulator_text_abi},
                      {"emulator_prelude.h", emulator_text_prelude},
                      {"cooperative_groups.h", emulator_text_groups},
                      {"cooperative_groups/reduce.h", emulator_text_groups_reduce},
                      {"cub/block/block_reduce.cuh", emulator_text_cub}};
enum { N_DEVICE_HEADERS = sizeof device_headers / sizeof device_headers[0] };

struct _nvrtcProgram {
    char *source, *name, *log;
    char **headers, **header_names;
    int n_headers;
    void *image;
    size_t image_bytes;
    bool is_ptx; /* as which the image is to be fetched */
};

typedef struct Cached {
    uint64_t key;
    void *image;
    size_t bytes;
    struct Cached *next;
} Cached;

static Cached *cache;

/* What a compiled library and this emulator must agree on. */
uint64_t emulator_abi(void) {
    uint64_t hash = 1469598103934665603u;
    for (int k = 0; k < N_DEVICE_HEADERS; k++)
        hash = emulator_hash(hash, device_headers[k].text, strlen(device_headers[k].text));
    return hash;
}

static void *check(void *data) {
    if (!data) emulator_fail("no memory");
    return data;
}

static void add_log(nvrtcProgram program, const char *text) {
    size_t length = program->log ? strlen(program->log) : 0;
    program->log = check(realloc(program->log, length + strlen(text) + 1));
    strcpy(program->log + length, text);
}

EMULATOR_API nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int n_headers,
                                            const char *const *headers, const char *const *names) {
    nvrtcProgram p = check(calloc(1, sizeof *p));
    p->source = check(strdup(source));
    p->name = check(strdup(name && *name ? name : "default_program"));
    p->n_headers = n_headers;
    p->headers = check(calloc((size_t)n_headers + 1, sizeof *p->headers));
    p->header_names = check(calloc((size_t)n_headers + 1, sizeof *p->header_names));
    for (int k = 0; k < n_headers; k++) {
        p->headers[k] = check(strdup(headers[k]));
        p->header_names[k] = check(strdup(names[k]));
    }
    *program = p;
    return NVRTC_SUCCESS;
}

EMULATOR_API nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
    nvrtcProgram p = *program;
    for (int k = 0; k < p->n_headers; k++) {
        free(p->headers[k]);
        free(p->header_names[k]);
    }
    free(p->headers);
    free(p->header_names);
    free(p->source);
    free(p->name);
    free(p->log);
    free(p->image);
    free(p);
    *program = NULL;
    return NVRTC_SUCCESS;
}

/* --- options -------------------------------------------------------------------------------------------------------- */

enum { MAX_OPTIONS = 512 }; /* of NVRTC and of g++ together */
typedef struct Options {
    char *values[MAX_OPTIONS + 1];
    int n;
} Options;

static void add_option(Options *options, const char *first, const char *second) {
    if (options->n == MAX_OPTIONS) emulator_fail("too many options of NVRTC");
    char *value = check(malloc(strlen(first) + strlen(second) + 1));
    strcpy(value, first);
    options->values[options->n++] = strcat(value, second);
}

static void free_options(Options *options) {
    while (options->n > 0) free(options->values[--options->n]);
}

static const char *after(const char *text, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* Options that ask for something that has no meaning here. */
static bool is_dropped(const char *option) {
    static const char *const prefixes[] = {"--use_fast_math",
                                           "-use_fast_math",
                                           "--ftz",
                                           "-ftz",
                                           "--prec-",
                                           "-prec-",
                                           "--maxrregcount",
                                           "-maxrregcount",
                                           "--ptxas-options",
                                           "-Xptxas",
                                           "-lineinfo",
                                           "--generate-line-info",
                                           "-G",
                                           "--device-debug",
                                           "-dopt",
                                           "--extra-device-vectorization",
                                           "-extra-device-vectorization",
                                           "--restrict",
                                           "-restrict",
                                           "-w",
                                           "--disable-warnings",
                                           "--device-as-default-execution-space",
                                           "-default-device",
                                           "--diag-suppress",
                                           "-diag-suppress",
                                           "--relocatable-device-code=false",
                                           "-split-compile",
                                           "--split-compile",
                                           "--no-source-include",
                                           "-no-source-include",
                                           "--no-cache",
                                           "-no-cache",
                                           "--minimal",
                                           "-minimal"};
    for (size_t k = 0; k < sizeof prefixes / sizeof prefixes[0]; k++)
        if (after(option, prefixes[k])) return true;
    return false;
}

/* What this NVRTC compiles for. */
static bool is_target(int number) {
    const long only = emulator_setting("MDMINI_EMULATOR_TARGET", 0);
    return only ? number == only : number == 75 || number == 80 || number == 90;
}

EMULATOR_API nvrtcResult nvrtcVersion(int *major, int *minor) {
    const char *asked = getenv("MDMINI_EMULATOR_NVRTC");
    *major = CUDART_VERSION / 1000;
    *minor = CUDART_VERSION % 1000 / 10;
    if (asked && *asked && sscanf(asked, "%d.%d", major, minor) != 2)
        emulator_fail("MDMINI_EMULATOR_NVRTC=%s: a version as 12.4 is needed", asked);
    return NVRTC_SUCCESS;
}

/* A real one recurs until its stack is used up. */
static void check_line_info(const char *option) {
    int major = 0, minor = 0;
    nvrtcVersion(&major, &minor);
    if (after(option, "--generate-line-info") && 100 * major + minor < 1201)
        emulator_fail("an NVRTC before 12.1 ends by SIGSEGV with %s", option);
}

/* Options of NVRTC as options of g++; false: NVRTC would not know the option. */
static bool translate(nvrtcProgram program, int n, const char *const *from, Options *to) {
    static const char *const defines[] = {"--define-macro=", "-D"}, *const arch[] = {"--gpu-architecture=", "-arch="};
    static const char *const undefines[] = {"--undefine-macro=", "-U"}, *const paths[] = {"--include-path=", "-I"};
    static const char *const standards[] = {"--std=", "-std="};
    char text[64];
    for (int k = 0; k < n; k++) {
        const char *option = from[k], *rest;
        bool known = is_dropped(option);
        check_line_info(option);
        for (int form = 0; form < 2 && !known; form++) {
            known = true;
            if ((rest = after(option, defines[form]))) add_option(to, "-D", rest);
            else if ((rest = after(option, undefines[form]))) add_option(to, "-U", rest);
            else if ((rest = after(option, standards[form]))) add_option(to, "-std=", rest);
            else if ((rest = after(option, arch[form]))) {
                int number = atoi(strpbrk(rest, "0123456789") ? strpbrk(rest, "0123456789") : "0");
                if (number < 50 || number > emulator_gpu()->compute_capability)
                    emulator_fail("the emulated GPU cannot run code for %s", rest);
                if (!is_target(number)) emulator_fail("this NVRTC has no target %s", rest);
                program->is_ptx = strncmp(rest, "compute_", 8) == 0;
                snprintf(text, sizeof text, "%d", 10 * number);
                add_option(to, "-D__CUDA_ARCH__=", text);
            } else if (after(option, paths[form])) continue; /* headers of the toolkit are not for g++ */
            else known = false;
        }
        if (strcmp(option, "--fmad=false") == 0 || strcmp(option, "-fmad=false") == 0)
            add_option(to, "-ffp-contract=off", ""), known = true;
        if (strcmp(option, "--fmad=true") == 0 || strcmp(option, "-fmad=true") == 0) known = true;
        if (!known) {
            add_log(program, "nvrtc: error: unrecognized option ");
            add_log(program, option);
            add_log(program, "\n");
            return false;
        }
    }
    return true;
}

/* --- files and processes -------------------------------------------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const char *text) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        emulator_fail("cannot write %s: %s", path, strerror(errno));
}

static char *read_file(const char *folder, const char *name, size_t *bytes) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    rewind(file);
    char *data = check(malloc((size_t)length + 1));
    if (fread(data, 1, (size_t)length, file) != (size_t)length) emulator_fail("cannot read %s", path);
    data[length] = 0;
    fclose(file);
    if (bytes) *bytes = (size_t)length;
    return data;
}

static int remove_entry(const char *path, const struct stat *state, int kind, struct FTW *walk) {
    (void)state, (void)kind, (void)walk;
    return remove(path);
}

/* Runs the compiler in the folder, with its messages in the file "log" there. */
static bool run_compiler(const char *folder, Options *options) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    posix_spawn_file_actions_addopen(&actions, 2, "log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    options->values[options->n] = NULL;
    pid_t child;
    int status = -1;
    if (posix_spawnp(&child, options->values[0], &actions, NULL, options->values, environ) != 0)
        emulator_fail("cannot run %s, which compiles the kernels", options->values[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    posix_spawn_file_actions_destroy(&actions);
    return status == 0;
}

/* --- compilation ---------------------------------------------------------------------------------------------------- */

static void add_options(Options *options, const char *const *values) {
    for (; *values; values++) add_option(options, *values, "");
}

static bool preprocess(const char *folder, const Options *asked) {
    static const char *const fixed[] = {EMULATOR_CXX,     "-E",       "-nostdinc",          "-I.", "-include",
                                        "emulator_abi.h", "-include", "emulator_prelude.h", NULL};
    static const char *const files[] = {"-x", "c++", "-o", "program.ii", NULL};
    Options options = {.n = 0};
    add_options(&options, fixed);
    bool standard = false, arch = false;
    for (int k = 0; k < asked->n; k++) {
        add_option(&options, asked->values[k], "");
        standard = standard || after(asked->values[k], "-std=");
        arch = arch || after(asked->values[k], "-D__CUDA_ARCH__=");
    }
    if (!standard) add_option(&options, "-std=c++17", "");
    if (!arch) add_option(&options, "-D__CUDA_ARCH__=750", "");
    add_options(&options, files);
    add_option(&options, "program.cu", "");
    bool ok = run_compiler(folder, &options);
    free_options(&options);
    return ok;
}

/* The other options are for the preprocessor alone. */
static bool is_for_build(const char *option) { return after(option, "-std=") || after(option, "-ffp-contract"); }

static bool build(const char *folder, const Options *asked) {
    /* Arrays of known size are checked. Signed overflow and foreign types of memory are no faults for a GPU. */
    static const char *const fixed[] = {EMULATOR_CXX,
                                        "-O1",
                                        "-fPIC",
                                        "-shared",
                                        "-w",
                                        "-fpreprocessed",
                                        "-fvisibility=hidden",
                                        "-fno-exceptions",
                                        "-fno-rtti",
                                        "-fno-strict-aliasing",
                                        "-fwrapv",
                                        "-ffp-contract=fast",
                                        "-fno-math-errno",
                                        "-fno-trapping-math",
                                        "-fno-gnu-unique",
                                        "-fno-stack-protector",
                                        "-fno-asynchronous-unwind-tables",
                                        "-fsanitize=bounds",
                                        "-fsanitize-undefined-trap-on-error",
                                        "-nostdlib",
                                        "-ffunction-sections",
                                        "-Wl,--emit-relocs",
                                        "-fno-threadsafe-statics",
                                        NULL};
    static const char *const files[] = {"-x", "c++", "emulated.ii", "-o", "program.so", "-lm", NULL};
    Options options = {.n = 0};
    add_options(&options, fixed);
#if defined __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) add_option(&options, "-march=haswell", "");
#endif
    bool standard = false;
    for (int k = 0; k < asked->n; k++)
        if (is_for_build(asked->values[k])) {
            standard = standard || after(asked->values[k], "-std=");
            add_option(&options, asked->values[k], "");
        }
    if (!standard) add_option(&options, "-std=c++17", "");
    add_options(&options, files);
    bool ok = run_compiler(folder, &options);
    free_options(&options);
    return ok;
}

/* The library with its head, for cuModuleLoadData. */
static void make_image(const char *folder, nvrtcProgram program) {
    size_t bytes = 0;
    char *library = read_file(folder, "program.so", &bytes);
    if (!library) emulator_fail("the compiler left no library");
    EmulatorImage head = {.abi = emulator_abi(), .bytes = bytes};
    memcpy(head.magic, "EMULATED KERNELS", sizeof head.magic);
    program->image_bytes = sizeof head + bytes;
    program->image = check(malloc(program->image_bytes));
    memcpy(program->image, &head, sizeof head);
    memcpy((char *)program->image + sizeof head, library, bytes);
    free(library);
}

static uint64_t key_of(nvrtcProgram program, const Options *asked) {
    uint64_t key = emulator_abi();
    key = emulator_hash(key, EMULATOR_CXX __VERSION__, strlen(EMULATOR_CXX __VERSION__));
    key = emulator_hash(key, program->source, strlen(program->source) + 1);
    for (int k = 0; k < program->n_headers; k++) {
        key = emulator_hash(key, program->header_names[k], strlen(program->header_names[k]) + 1);
        key = emulator_hash(key, program->headers[k], strlen(program->headers[k]) + 1);
    }
    for (int k = 0; k < asked->n; k++) key = emulator_hash(key, asked->values[k], strlen(asked->values[k]) + 1);
    return key;
}

static const char *cache_folder(void) {
    const char *folder = getenv("MDMINI_EMULATOR_CACHE");
    return folder ? folder : EMULATOR_CACHE;
}

static bool from_cache(uint64_t key, nvrtcProgram program) {
    for (const Cached *c = cache; c; c = c->next)
        if (c->key == key) {
            program->image_bytes = c->bytes;
            program->image = memcpy(check(malloc(c->bytes)), c->image, c->bytes);
            return true;
        }
    const char *folder = cache_folder();
    char name[64];
    snprintf(name, sizeof name, "%016llx", (unsigned long long)key);
    program->image = *folder ? read_file(folder, name, &program->image_bytes) : NULL;
    return program->image != NULL;
}

static void to_cache(uint64_t key, nvrtcProgram program) {
    Cached *c = check(malloc(sizeof *c));
    *c = (Cached){key, memcpy(check(malloc(program->image_bytes)), program->image, program->image_bytes),
                  program->image_bytes, cache};
    cache = c;
    const char *folder = cache_folder();
    if (!*folder) return;
    char path[4200], final[4096];
    mkdir(folder, 0700);
    snprintf(final, sizeof final, "%s/%016llx", folder, (unsigned long long)key);
    snprintf(path, sizeof path, "%s.%ld", final, (long)getpid());
    FILE *file = fopen(path, "wb");
    if (!file) return; /* a cache may fail */
    bool ok = fwrite(program->image, 1, program->image_bytes, file) == program->image_bytes;
    ok = fclose(file) == 0 && ok;
    if (!ok || rename(path, final) != 0) remove(path);
}

/* Of what the compiler gets: options and headers that do not reach the text do not count. */
static uint64_t key_of_text(const char *text, const Options *asked) {
    uint64_t key = emulator_abi();
    key = emulator_hash(key, EMULATOR_CXX __VERSION__, strlen(EMULATOR_CXX __VERSION__));
    key = emulator_hash(key, text, strlen(text) + 1);
    for (int k = 0; k < asked->n; k++)
        if (is_for_build(asked->values[k])) key = emulator_hash(key, asked->values[k], strlen(asked->values[k]) + 1);
    return key;
}

static bool build_text(const char *folder, nvrtcProgram program, const Options *asked) {
    char *text = read_file(folder, "program.ii", NULL), *rewritten = emulator_rewrite(text);
    const uint64_t key = key_of_text(rewritten, asked);
    bool ok = from_cache(key, program);
    if (!ok) {
        write_file(folder, "emulated.ii", rewritten);
        ok = build(folder, asked);
        if (ok) {
            make_image(folder, program);
            to_cache(key, program);
        }
    }
    free(text);
    free(rewritten);
    return ok;
}

static bool compile_in(const char *folder, nvrtcProgram program, const Options *asked) {
    for (int k = 0; k < program->n_headers; k++) write_file(folder, program->header_names[k], program->headers[k]);
    size_t room = strlen(program->source) + strlen(program->name) + 64;
    char *source = check(malloc(room));
    snprintf(source, room, "#line 1 \"%s\"\n%s", program->name, program->source);
    write_file(folder, "program.cu", source);
    free(source);
    for (int k = 0; k < N_DEVICE_HEADERS; k++) write_file(folder, device_headers[k].name, device_headers[k].text);
    bool ok = preprocess(folder, asked) && build_text(folder, program, asked);
    char *log = read_file(folder, "log", NULL);
    if (log) add_log(program, log);
    if (!ok && log && strstr(log, "No such file") && (strstr(log, "cub/") || strstr(log, "cooperative_groups/")))
        add_log(program, "emulator: these headers of the toolkit are not emulated\n");
    free(log);
    return ok;
}

/* In memory, where the system has such a folder: a compilation writes thirty files. */
static const char *temporary_folder(void) {
    const char *asked = getenv("TMPDIR");
    if (asked && *asked) return asked;
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

EMULATOR_API nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int n_options, const char *const *options) {
    Options asked = {.n = 0};
    free(program->log);
    program->log = NULL;
    if (!translate(program, n_options, options, &asked)) {
        free_options(&asked);
        return NVRTC_ERROR_INVALID_OPTION;
    }
    emulator_enter();
    uint64_t key = key_of(program, &asked);
    bool ok = from_cache(key, program);
    if (!ok) {
        char folder[4096];
        snprintf(folder, sizeof folder, "%s/mdmini-kernels-XXXXXX", temporary_folder());
        if (!mkdtemp(folder)) emulator_fail("cannot make a folder %s: %s", folder, strerror(errno));
        ok = compile_in(folder, program, &asked);
        if (ok) to_cache(key, program);
        if (!getenv("MDMINI_EMULATOR_KEEP")) nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
    emulator_leave();
    free_options(&asked);
    return ok ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

static nvrtcResult get_code(nvrtcProgram program, bool as_ptx, char *image) {
    if (!program->image || program->is_ptx != as_ptx) return NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(image, program->image, program->image_bytes);
    return NVRTC_SUCCESS;
}

static nvrtcResult get_size(nvrtcProgram program, bool as_ptx, size_t *bytes) {
    *bytes = program->is_ptx == as_ptx ? program->image_bytes : 0;
    return NVRTC_SUCCESS;
}

EMULATOR_API nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) {
    return get_size(program, false, bytes);
}
EMULATOR_API nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *image) { return get_code(program, false, image); }
EMULATOR_API nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes) { return get_size(program, true, bytes); }
EMULATOR_API nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *image) { return get_code(program, true, image); }

EMULATOR_API nvrtcResult nvrtcGetNumSupportedArchs(int *n) {
    *n = 0;
    for (int number = 0; number < 1000; number++) *n += is_target(number);
    return NVRTC_SUCCESS;
}

EMULATOR_API nvrtcResult nvrtcGetSupportedArchs(int *numbers) {
    for (int number = 0; number < 1000; number++)
        if (is_target(number)) *numbers++ = number;
    return NVRTC_SUCCESS;
}

EMULATOR_API nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes) {
    *bytes = program->log ? strlen(program->log) + 1 : 1;
    return NVRTC_SUCCESS;
}

EMULATOR_API nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
    strcpy(log, program->log ? program->log : "");
    return NVRTC_SUCCESS;
}

EMULATOR_API const char *nvrtcGetErrorString(nvrtcResult result) {
    switch (result) {
    case NVRTC_SUCCESS: return "NVRTC_SUCCESS";
    case NVRTC_ERROR_INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
    case NVRTC_ERROR_COMPILATION: return "NVRTC_ERROR_COMPILATION";
    case NVRTC_ERROR_INVALID_PROGRAM: return "NVRTC_ERROR_INVALID_PROGRAM";
    default: return "NVRTC_ERROR";
    }
}
