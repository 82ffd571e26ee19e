/* Where md_random gets its numbers: the Philox of our own, or a library. For src/system, sources and tests. */
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

/* A library of generators, which this folder does not know: who plans a system hands it in. */
typedef struct MdRandomSource {
    void *(*create)(int generator, uint64_t seed); /* MD_GENERATOR_PHILOX, ... */
    void (*destroy)(void *state);
    void (*fill)(void *state, bool normal, double *values); /* the next chunk */
} MdRandomSource;

/* Seed of a stream: the seed itself for stream 0, else a mix of both (one step of splitmix64; Steele, Lea, Flood, Fast
 * splittable pseudorandom number generators, OOPSLA 2014). */
uint64_t md_random_stream_seed(uint64_t seed, int stream);

/* Chunk number `chunk` of our own Philox; normal: normal numbers instead of uniform ones. */
void md_philox_fill(uint64_t seed, uint64_t chunk, bool normal, double *values);

#ifdef __cplusplus
}
#endif
#endif
