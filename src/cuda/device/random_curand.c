/* cuRAND as a source of system/random_source.h: the only C file of a run that sees curand.h.
 *
 * The ordering is LEGACY for all generators: the one that NVIDIA keeps the same in all releases, and the one that host
 * and device generators share. Cost of the first numbers on one core, measured with CUDA 13: philox and xorwow
 * 10 ms, mrg32k3a 30 ms (its default ordering: 600 ms), mt19937 4 s (its 8192 states are set up one after another). */
#include "cuda/device/random_curand.h"

#include <curand.h>
#include <stdio.h>

#include "base/memory.h"
#include "cuda/device/check.h"
#include "deck/choices.h"
#include "system/random.h"

typedef struct Curand {
    curandGenerator_t generator;
    uint64_t next_chunk;
    unsigned outputs_per_number; /* of the generator, for a double; 0: it cannot jump */
    double *d_values;            /* a chunk; NULL for a host generator */
    cudaStream_t stream;         /* of the device generator */
} Curand;

#define CURAND_CHECK(call)                                                                                             \
    do {                                                                                                               \
        curandStatus_t status_ = (call);                                                                               \
        if (status_ != CURAND_STATUS_SUCCESS) md_panic("%s failed with cuRAND status %d", #call, (int)status_);        \
    } while (0)

static curandRngType_t curand_type(int generator) {
    switch (generator) {
    case MD_GENERATOR_PHILOX: return CURAND_RNG_PSEUDO_PHILOX4_32_10;
    case MD_GENERATOR_XORWOW: return CURAND_RNG_PSEUDO_XORWOW;
    case MD_GENERATOR_MRG32K3A: return CURAND_RNG_PSEUDO_MRG32K3A;
    case MD_GENERATOR_MT19937: return CURAND_RNG_PSEUDO_MT19937;
    default: md_panic("no generator has the number %d", generator);
    }
}

/* mt19937 uses only the lower half of the seed; the upper half is mixed into it, so that every seed counts. */
static uint64_t curand_seed(int generator, uint64_t seed) {
    if (generator != MD_GENERATOR_MT19937 || seed >> 32 == 0) return seed;
    return (uint32_t)(seed ^ md_random_stream_seed(seed >> 32, 1));
}

/* Outputs that the generator takes for a double, by which curandSetGeneratorOffset counts: two of 32 bits, or for
 * mrg32k3a one. mt19937 has no offset. Not documented: found by comparison with cuRAND 10.4 in this ordering, on host and device;
 * tests/system/test_random.c and test_random_device.c compare again. */
static unsigned outputs_per_number(int generator) {
    switch (generator) {
    case MD_GENERATOR_MRG32K3A: return 1;
    case MD_GENERATOR_MT19937: return 0;
    default: return 2;
    }
}

static void begin(Curand *curand, int generator, uint64_t seed) {
    curand->outputs_per_number = outputs_per_number(generator);
    CURAND_CHECK(curandSetGeneratorOrdering(curand->generator, CURAND_ORDERING_PSEUDO_LEGACY));
    CURAND_CHECK(curandSetPseudoRandomGeneratorSeed(curand->generator, curand_seed(generator, seed)));
}

static void *create_on_host(int generator, uint64_t seed) {
    Curand *curand = md_alloc(1, sizeof *curand, "a cuRAND generator");
    CURAND_CHECK(curandCreateGeneratorHost(&curand->generator, curand_type(generator)));
    begin(curand, generator, seed);
    return curand;
}

static void *create_on_device(int generator, uint64_t seed) {
    Curand *curand = md_alloc(1, sizeof *curand, "a cuRAND generator");
    CURAND_CHECK(curandCreateGenerator(&curand->generator, curand_type(generator)));
    CUDA_CHECK(cudaStreamCreateWithFlags(&curand->stream, cudaStreamNonBlocking));
    CURAND_CHECK(curandSetStream(curand->generator, curand->stream));
    CUDA_CHECK(cudaMalloc((void **)&curand->d_values, MD_RANDOM_CHUNK * sizeof(double)));
    begin(curand, generator, seed);
    return curand;
}

static void destroy(void *state) {
    Curand *curand = state;
    CURAND_CHECK(curandDestroyGenerator(curand->generator));
    if (curand->d_values) {
        CUDA_CHECK(cudaFree(curand->d_values));
        CUDA_CHECK(cudaStreamDestroy(curand->stream));
    }
    md_free(curand);
}

static void fill_on_host(void *state, double *values) {
    Curand *curand = state;
    curand->next_chunk++;
    CURAND_CHECK(curandGenerateUniformDouble(curand->generator, values, MD_RANDOM_CHUNK));
}

static void fill_on_device(void *state, double *values) {
    Curand *curand = state;
    curand->next_chunk++;
    CURAND_CHECK(curandGenerateUniformDouble(curand->generator, curand->d_values, MD_RANDOM_CHUNK));
    CUDA_CHECK(cudaMemcpyAsync(values, curand->d_values, MD_RANDOM_CHUNK * sizeof(double), cudaMemcpyDeviceToHost,
                               curand->stream));
    CUDA_CHECK(cudaStreamSynchronize(curand->stream));
}

static bool skip(void *state, uint64_t n_chunks) {
    Curand *curand = state;
    if (curand->outputs_per_number == 0) return false;
    curand->next_chunk += n_chunks;
    CURAND_CHECK(
        curandSetGeneratorOffset(curand->generator, curand->next_chunk * MD_RANDOM_CHUNK * curand->outputs_per_number));
    return true;
}

const MdRandomSource cuda_random_on_host = {create_on_host, destroy, fill_on_host, skip};
const MdRandomSource cuda_random_on_device = {create_on_device, destroy, fill_on_device, skip};

bool cuda_random_has_device(char *reason, size_t size) {
    curandGenerator_t generator;
    const curandStatus_t status = curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10);
    if (status == CURAND_STATUS_SUCCESS) CURAND_CHECK(curandDestroyGenerator(generator));
    else snprintf(reason, size, "cuRAND makes no generator on a GPU here (status %d)", (int)status);
    return status == CURAND_STATUS_SUCCESS;
}
