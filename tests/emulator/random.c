/* cuRAND's generators of the device. The library makes none without a GPU, so one of its host generators makes the numbers,
 * and a copy brings them to the memory of the device, in the order of the stream. Calls for host generators go on to the
 * library. */
#define _GNU_SOURCE 1
#include <curand.h>
#include <dlfcn.h>
#include <stdlib.h>

#include "emulator.h"

enum { MOST = 16 };
static struct {
    curandGenerator_t generator; /* NULL: free */
    cudaStream_t stream;
} device[MOST];

/* The place of a generator of the device, NULL: of a free place; -1: there is none. */
static int place_of(curandGenerator_t generator) {
    for (int k = 0; k < MOST; k++)
        if (device[k].generator == generator) return k;
    return -1;
}

static void *library(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) emulator_fail("cuRAND has no %s", name);
    return function;
}

EMULATOR_API curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type) {
    const curandStatus_t status = curandCreateGeneratorHost(generator, type);
    const int k = place_of(NULL);
    if (k < 0) emulator_fail("curandCreateGenerator: more than %d generators", MOST);
    if (status == CURAND_STATUS_SUCCESS) device[k].generator = *generator;
    return status;
}

EMULATOR_API curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
    const int k = generator ? place_of(generator) : -1;
    if (k < 0) return CURAND_STATUS_TYPE_ERROR;
    device[k].stream = stream;
    return CURAND_STATUS_SUCCESS;
}

EMULATOR_API curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
    curandStatus_t (*const destroy)(curandGenerator_t) = library("curandDestroyGenerator");
    const int k = generator ? place_of(generator) : -1;
    if (k >= 0) device[k].generator = NULL, device[k].stream = NULL;
    return destroy(generator);
}

/* A copy from pageable memory takes what is there when it is issued. */
static curandStatus_t deliver(int k, curandStatus_t status, void *to, void *numbers, size_t bytes) {
    if (status == CURAND_STATUS_SUCCESS &&
        cudaMemcpyAsync(to, numbers, bytes, cudaMemcpyHostToDevice, device[k].stream) != cudaSuccess)
        status = CURAND_STATUS_LAUNCH_FAILURE;
    free(numbers);
    return status;
}

static void *room(size_t bytes) {
    void *numbers = malloc(bytes);
    if (!numbers) emulator_fail("no memory");
    return numbers;
}

#define UNIFORM(name, type)                                                                                            \
    EMULATOR_API curandStatus_t name(curandGenerator_t generator, type *to, size_t n) {                                \
        curandStatus_t (*const generate)(curandGenerator_t, type *, size_t) = library(#name);                          \
        const int k = generator ? place_of(generator) : -1;                                                            \
        if (k < 0) return generate(generator, to, n);                                                                  \
        type *numbers = room(n * sizeof *numbers);                                                                     \
        return deliver(k, generate(generator, numbers, n), to, numbers, n * sizeof *numbers);                          \
    }
UNIFORM(curandGenerateUniform, float)
UNIFORM(curandGenerateUniformDouble, double)

EMULATOR_API curandStatus_t curandGenerateNormal(curandGenerator_t generator, float *to, size_t n, float mean,
                                                 float deviation) {
    curandStatus_t (*const generate)(curandGenerator_t, float *, size_t, float, float) =
        library("curandGenerateNormal");
    const int k = generator ? place_of(generator) : -1;
    if (k < 0) return generate(generator, to, n, mean, deviation);
    float *numbers = room(n * sizeof *numbers);
    return deliver(k, generate(generator, numbers, n, mean, deviation), to, numbers, n * sizeof *numbers);
}
