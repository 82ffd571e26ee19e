/* Writes a program and its headers into a folder of its own, preprocesses, rewrites and compiles it with the C++ compiler of this
 * machine. The same source is compiled once: libraries are kept in memory and in the folder that MDMINI_EMULATOR_CACHE names. */
#define _GNU_SOURCE 1
#include "compile.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
    char *data = emulator_check_room(malloc((size_t)length + 1));
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
static bool run_compiler(const char *folder, EmulatorOptions *options) {
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

static void add_options(EmulatorOptions *options, const char *const *values) {
    for (; *values; values++) emulator_add_option(options, *values, "");
}

static bool preprocess(const char *folder, const EmulatorOptions *asked) {
    static const char *const fixed[] = {EMULATOR_CXX,     "-E",       "-nostdinc",          "-I.", "-include",
                                        "emulator_abi.h", "-include", "emulator_prelude.h", NULL};
    static const char *const files[] = {"-x", "c++", "-o", "program.ii", NULL};
    EmulatorOptions options = {.n = 0};
    add_options(&options, fixed);
    bool standard = false, arch = false;
    for (int k = 0; k < asked->n; k++) {
        emulator_add_option(&options, asked->values[k], "");
        standard = standard || emulator_after(asked->values[k], "-std=");
        arch = arch || emulator_after(asked->values[k], "-D__CUDA_ARCH__=");
    }
    if (!standard) emulator_add_option(&options, "-std=c++17", "");
    if (!arch) emulator_add_option(&options, "-D__CUDA_ARCH__=750", "");
    add_options(&options, files);
    emulator_add_option(&options, "program.cu", "");
    bool ok = run_compiler(folder, &options);
    emulator_free_options(&options);
    return ok;
}

/* The other options are for the preprocessor alone. */
static bool is_for_build(const char *option) {
    return emulator_after(option, "-std=") || emulator_after(option, "-ffp-contract");
}

static bool build(const char *folder, const EmulatorOptions *asked) {
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
    EmulatorOptions options = {.n = 0};
    add_options(&options, fixed);
#if defined __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        emulator_add_option(&options, "-march=haswell", "");
#endif
    bool standard = false;
    for (int k = 0; k < asked->n; k++)
        if (is_for_build(asked->values[k])) {
            standard = standard || emulator_after(asked->values[k], "-std=");
            emulator_add_option(&options, asked->values[k], "");
        }
    if (!standard) emulator_add_option(&options, "-std=c++17", "");
    add_options(&options, files);
    bool ok = run_compiler(folder, &options);
    emulator_free_options(&options);
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
    program->image = emulator_check_room(malloc(program->image_bytes));
    memcpy(program->image, &head, sizeof head);
    memcpy((char *)program->image + sizeof head, library, bytes);
    free(library);
}

static uint64_t key_of(nvrtcProgram program, const EmulatorOptions *asked) {
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
            program->image = memcpy(emulator_check_room(malloc(c->bytes)), c->image, c->bytes);
            return true;
        }
    const char *folder = cache_folder();
    char name[64];
    snprintf(name, sizeof name, "%016llx", (unsigned long long)key);
    program->image = *folder ? read_file(folder, name, &program->image_bytes) : NULL;
    return program->image != NULL;
}

static void to_cache(uint64_t key, nvrtcProgram program) {
    Cached *c = emulator_check_room(malloc(sizeof *c));
    *c = (Cached){key, memcpy(emulator_check_room(malloc(program->image_bytes)), program->image, program->image_bytes),
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
static uint64_t key_of_text(const char *text, const EmulatorOptions *asked) {
    uint64_t key = emulator_abi();
    key = emulator_hash(key, EMULATOR_CXX __VERSION__, strlen(EMULATOR_CXX __VERSION__));
    key = emulator_hash(key, text, strlen(text) + 1);
    for (int k = 0; k < asked->n; k++)
        if (is_for_build(asked->values[k])) key = emulator_hash(key, asked->values[k], strlen(asked->values[k]) + 1);
    return key;
}

static bool build_text(const char *folder, nvrtcProgram program, const EmulatorOptions *asked) {
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

static bool compile_in(const char *folder, nvrtcProgram program, const EmulatorOptions *asked) {
    for (int k = 0; k < program->n_headers; k++) write_file(folder, program->header_names[k], program->headers[k]);
    size_t room = strlen(program->source) + strlen(program->name) + 64;
    char *source = emulator_check_room(malloc(room));
    snprintf(source, room, "#line 1 \"%s\"\n%s", program->name, program->source);
    write_file(folder, "program.cu", source);
    free(source);
    for (int k = 0; k < N_DEVICE_HEADERS; k++) write_file(folder, device_headers[k].name, device_headers[k].text);
    bool ok = preprocess(folder, asked) && build_text(folder, program, asked);
    char *log = read_file(folder, "log", NULL);
    if (log) emulator_add_log(program, log);
    if (!ok && log && strstr(log, "No such file") && (strstr(log, "cub/") || strstr(log, "cooperative_groups/")))
        emulator_add_log(program, "emulator: these headers of the toolkit are not emulated\n");
    free(log);
    return ok;
}

/* In memory, where the system has such a folder: a compilation writes thirty files. */
static const char *temporary_folder(void) {
    const char *asked = getenv("TMPDIR");
    if (asked && *asked) return asked;
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

bool emulator_compile(nvrtcProgram program, const EmulatorOptions *asked) {
    const uint64_t key = key_of(program, asked);
    if (from_cache(key, program)) return true;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/mdmini-kernels-XXXXXX", temporary_folder());
    if (!mkdtemp(folder)) emulator_fail("cannot make a folder %s: %s", folder, strerror(errno));
    const bool ok = compile_in(folder, program, asked);
    if (ok) to_cache(key, program);
    if (!getenv("MDMINI_EMULATOR_KEEP")) nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return ok;
}
