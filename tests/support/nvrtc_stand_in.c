/* In place of the NVRTC that a program was linked with, the library that MDMINI_TEST_NVRTC names: loaded by LD_PRELOAD, it forwards
 * the calls that src/cuda makes. So kernels are compiled by NVRTCs of other toolkits without a build for each. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <nvrtc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *library;

static void load(void) {
    const char *path = getenv("MDMINI_TEST_NVRTC");
    library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
    if (library) return;
    fprintf(stderr, "MDMINI_TEST_NVRTC: %s\n", path ? dlerror() : "is not set");
    exit(EXIT_FAILURE);
}

static void *find(const char *name) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return dlsym(library, name);
}

#define FORWARD(name, parameters, ...)                                                                                 \
    __attribute__((visibility("default"))) nvrtcResult name parameters {                                               \
        nvrtcResult(*call) parameters = (nvrtcResult(*) parameters)find(#name);                                        \
        return call(__VA_ARGS__);                                                                                      \
    }
FORWARD(nvrtcVersion, (int *major, int *minor), major, minor)
FORWARD(nvrtcGetNumSupportedArchs, (int *n), n)
FORWARD(nvrtcGetSupportedArchs, (int *numbers), numbers)
FORWARD(nvrtcCreateProgram,
        (nvrtcProgram * program, const char *source, const char *name, int n_headers, const char *const *headers,
         const char *const *names),
        program, source, name, n_headers, headers, names)
FORWARD(nvrtcCompileProgram, (nvrtcProgram program, int n, const char *const *options), program, n, options)
FORWARD(nvrtcDestroyProgram, (nvrtcProgram * program), program)
FORWARD(nvrtcGetProgramLogSize, (nvrtcProgram program, size_t *bytes), program, bytes)
FORWARD(nvrtcGetProgramLog, (nvrtcProgram program, char *text), program, text)
FORWARD(nvrtcGetCUBINSize, (nvrtcProgram program, size_t *bytes), program, bytes)
FORWARD(nvrtcGetCUBIN, (nvrtcProgram program, char *code), program, code)
FORWARD(nvrtcGetPTXSize, (nvrtcProgram program, size_t *bytes), program, bytes)
FORWARD(nvrtcGetPTX, (nvrtcProgram program, char *code), program, code)
__attribute__((visibility("default"))) const char *nvrtcGetErrorString(nvrtcResult result) {
    const char *(*call)(nvrtcResult) = (const char *(*)(nvrtcResult))find("nvrtcGetErrorString");
    return call(result);
}
