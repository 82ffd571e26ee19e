/* NVRTC: programs, their options and what comes of them. compile.c compiles. */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"

void *emulator_check_room(void *data) {
    if (!data) emulator_fail("no memory");
    return data;
}

void emulator_add_log(nvrtcProgram program, const char *text) {
    size_t length = program->log ? strlen(program->log) : 0;
    program->log = emulator_check_room(realloc(program->log, length + strlen(text) + 1));
    strcpy(program->log + length, text);
}

void emulator_add_option(EmulatorOptions *options, const char *first, const char *second) {
    if (options->n == MAX_OPTIONS) emulator_fail("too many options of NVRTC");
    char *value = emulator_check_room(malloc(strlen(first) + strlen(second) + 1));
    strcpy(value, first);
    options->values[options->n++] = strcat(value, second);
}

void emulator_free_options(EmulatorOptions *options) {
    while (options->n > 0) free(options->values[--options->n]);
}

const char *emulator_after(const char *text, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

EMULATOR_API nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int n_headers,
                                            const char *const *headers, const char *const *names) {
    nvrtcProgram p = emulator_check_room(calloc(1, sizeof *p));
    p->source = emulator_check_room(strdup(source));
    p->name = emulator_check_room(strdup(name && *name ? name : "default_program"));
    p->n_headers = n_headers;
    p->headers = emulator_check_room(calloc((size_t)n_headers + 1, sizeof *p->headers));
    p->header_names = emulator_check_room(calloc((size_t)n_headers + 1, sizeof *p->header_names));
    for (int k = 0; k < n_headers; k++) {
        p->headers[k] = emulator_check_room(strdup(headers[k]));
        p->header_names[k] = emulator_check_room(strdup(names[k]));
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

/* EmulatorOptions that ask for something that has no meaning here. */
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
        if (emulator_after(option, prefixes[k])) return true;
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
    if (emulator_after(option, "--generate-line-info") && 100 * major + minor < 1201)
        emulator_fail("an NVRTC before 12.1 ends by SIGSEGV with %s", option);
}

/* EmulatorOptions of NVRTC as options of g++; false: NVRTC would not know the option. */
static bool translate(nvrtcProgram program, int n, const char *const *from, EmulatorOptions *to) {
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
            if ((rest = emulator_after(option, defines[form]))) emulator_add_option(to, "-D", rest);
            else if ((rest = emulator_after(option, undefines[form]))) emulator_add_option(to, "-U", rest);
            else if ((rest = emulator_after(option, standards[form]))) emulator_add_option(to, "-std=", rest);
            else if ((rest = emulator_after(option, arch[form]))) {
                int number = atoi(strpbrk(rest, "0123456789") ? strpbrk(rest, "0123456789") : "0");
                if (number < 50 || number > emulator_gpu()->compute_capability)
                    emulator_fail("the emulated GPU cannot run code for %s", rest);
                if (!is_target(number)) emulator_fail("this NVRTC has no target %s", rest);
                program->is_ptx = strncmp(rest, "compute_", 8) == 0;
                snprintf(text, sizeof text, "%d", 10 * number);
                emulator_add_option(to, "-D__CUDA_ARCH__=", text);
            } else if (emulator_after(option, paths[form])) continue; /* headers of the toolkit are not for g++ */
            else known = false;
        }
        if (strcmp(option, "--fmad=false") == 0 || strcmp(option, "-fmad=false") == 0)
            emulator_add_option(to, "-ffp-contract=off", ""), known = true;
        if (strcmp(option, "--fmad=true") == 0 || strcmp(option, "-fmad=true") == 0) known = true;
        if (!known) {
            emulator_add_log(program, "nvrtc: error: unrecognized option ");
            emulator_add_log(program, option);
            emulator_add_log(program, "\n");
            return false;
        }
    }
    return true;
}

/* --- compilation ---------------------------------------------------------------------------------------------------- */

EMULATOR_API nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int n_options, const char *const *options) {
    EmulatorOptions asked = {.n = 0};
    free(program->log);
    program->log = NULL;
    if (!translate(program, n_options, options, &asked)) {
        emulator_free_options(&asked);
        return NVRTC_ERROR_INVALID_OPTION;
    }
    emulator_enter();
    const bool ok = emulator_compile(program, &asked);
    emulator_leave();
    emulator_free_options(&asked);
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
