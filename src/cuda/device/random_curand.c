/* cuRAND as a source of system/random_source.h: the only C file that sees curand.h.
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

struct MdCurand {
    curandGenerator_t generator;
    double *d_values;    /* NULL for a host generator */
    cudaStream_t stream; /* of the device generator */
};

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

/* mt19937 looks at the lower half of the seed alone; the upper half is mixed into it, so that every seed counts. */
static uint64_t curand_seed(int generator, uint64_t seed) {
    if (generator != MD_GENERATOR_MT19937 || seed >> 32 == 0) return seed;
    return (uint32_t)(seed ^ md_random_stream_seed(seed >> 32, 1));
}

MdCurand *md_curand_create(int generator, uint64_t seed, bool on_device) {
    MdCurand *curand = md_alloc(1, sizeof *curand, "a cuRAND generator");
    if (on_device) {
        CURAND_CHECK(curandCreateGenerator(&curand->generator, curand_type(generator)));
        CUDA_CHECK(cudaStreamCreateWithFlags(&curand->stream, cudaStreamNonBlocking));
        CURAND_CHECK(curandSetStream(curand->generator, curand->stream));
        CUDA_CHECK(cudaMalloc((void **)&curand->d_values, MD_RANDOM_CHUNK * sizeof(double)));
    } else {
        CURAND_CHECK(curandCreateGeneratorHost(&curand->generator, curand_type(generator)));
    }
    CURAND_CHECK(curandSetGeneratorOrdering(curand->generator, CURAND_ORDERING_PSEUDO_LEGACY));
    CURAND_CHECK(curandSetPseudoRandomGeneratorSeed(curand->generator, curand_seed(generator, seed)));
    return curand;
}

void md_curand_destroy(MdCurand *curand) {
    if (!curand) return;
    CURAND_CHECK(curandDestroyGenerator(curand->generator));
    if (curand->d_values) {
        CUDA_CHECK(cudaFree(curand->d_values));
        CUDA_CHECK(cudaStreamDestroy(curand->stream));
    }
    md_free(curand);
}

void md_curand_fill(MdCurand *curand, bool normal, double *values) {
    double *target = curand->d_values ? curand->d_values : values;
    if (normal) CURAND_CHECK(curandGenerateNormalDouble(curand->generator, target, MD_RANDOM_CHUNK, 0, 1));
    else CURAND_CHECK(curandGenerateUniformDouble(curand->generator, target, MD_RANDOM_CHUNK));
    if (curand->d_values) {
        CUDA_CHECK(
            cudaMemcpyAsync(values, target, MD_RANDOM_CHUNK * sizeof(double), cudaMemcpyDeviceToHost, curand->stream));
        CUDA_CHECK(cudaStreamSynchronize(curand->stream));
    }
}

bool md_curand_has_device(char *reason, size_t size) {
    int n_devices = 0;
    cudaError_t error = cudaGetDeviceCount(&n_devices);
    if (error == cudaSuccess && n_devices > 0) return true;
    snprintf(reason, size, "%s", error == cudaSuccess ? "no CUDA device" : cudaGetErrorString(error));
    return false;
}

static void *create(int generator, uint64_t seed) { return md_curand_create(generator, seed, false); }
static void destroy(void *state) { md_curand_destroy(state); }
static void fill(void *state, bool normal, double *values) { md_curand_fill(state, normal, values); }

const MdRandomSource cuda_random_source = {create, destroy, fill};
