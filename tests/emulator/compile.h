/* What nvrtc.c and compile.c share. */
#ifndef EMULATOR_COMPILE_H
#define EMULATOR_COMPILE_H

#include <nvrtc.h>

#include "emulator.h"

struct _nvrtcProgram {
    char *source, *name, *log;
    char **headers, **header_names;
    int n_headers;
    void *image;
    size_t image_bytes;
    bool is_ptx; /* as which the image is to be fetched */
};

enum { MAX_OPTIONS = 512 }; /* of NVRTC and of g++ together */
typedef struct EmulatorOptions {
    char *values[MAX_OPTIONS + 1];
    int n;
} EmulatorOptions;

/* --- nvrtc.c --- */
void *emulator_check_room(void *data); /* NULL ends the program */
void emulator_add_log(nvrtcProgram program, const char *text);
void emulator_add_option(EmulatorOptions *options, const char *first, const char *second);
void emulator_free_options(EmulatorOptions *options);
const char *emulator_after(const char *text, const char *prefix); /* what follows it; NULL: text does not begin so */

/* --- compile.c: the image, from the caches or anew; false: the compiler's messages are in the log --- */
bool emulator_compile(nvrtcProgram program, const EmulatorOptions *asked);

#endif
