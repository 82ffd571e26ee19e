/* Where md_random gets its numbers: cuRAND, or the Philox of our own. Internal to src/system and its tests. */
#ifndef MD_SYSTEM_RANDOM_SOURCE_H
#define MD_SYSTEM_RANDOM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers are drawn in chunks of one round of cuRAND's Philox ordering (65536 sequences, four doubles of each). Then the
 * numbers do not depend on how many are asked for at a time, every call is even (cuRAND refuses odd counts of normal
 * numbers for some generators), and host and device generators are asked for the same calls. */
enum { MD_RANDOM_CHUNK = 4 * 65536 };

/* Seed of a stream: the seed itself for stream 0, else a mix of both (one step of splitmix64; Steele, Lea, Flood, Fast
 * splittable pseudorandom number generators, OOPSLA 2014). */
uint64_t md_random_stream_seed(uint64_t seed, int stream);

/* Chunk number `chunk` of our own Philox; normal: normal numbers instead of uniform ones. */
void md_philox_fill(uint64_t seed, uint64_t chunk, bool normal, double *values);

#ifdef MDMINI_HAVE_CUDA
typedef struct MdCurand MdCurand;

/* generator: MD_GENERATOR_PHILOX, ...; on_device makes the numbers on the GPU (needs one) and copies them back. */
MdCurand *md_curand_create(int generator, uint64_t seed, bool on_device);
void md_curand_destroy(MdCurand *curand);

/* The next chunk. */
void md_curand_fill(MdCurand *curand, bool normal, double *values);

/* Whether a device generator can be made here; why not goes to reason (room for size characters). */
bool md_curand_has_device(char *reason, size_t size);
#endif

#ifdef __cplusplus
}
#endif
#endif
