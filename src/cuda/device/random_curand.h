/* Random numbers of cuRAND. */
#ifndef MD_CUDA_RANDOM_CURAND_H
#define MD_CUDA_RANDOM_CURAND_H

#include "system/random_source.h"

/* Host generators, which need no GPU: all generators of the deck. */
extern const MdRandomSource cuda_random_source;

typedef struct MdCurand MdCurand;

/* generator: MD_GENERATOR_PHILOX, ...; on_device makes the numbers on the GPU (needs one) and copies them back. */
MdCurand *md_curand_create(int generator, uint64_t seed, bool on_device);
void md_curand_destroy(MdCurand *curand);

/* The next chunk. */
void md_curand_fill(MdCurand *curand, bool normal, double *values);

/* Whether a device generator can be made here; why not goes to reason (room for size characters). */
bool md_curand_has_device(char *reason, size_t size);

#endif
