/* Where md_random gets its uniform numbers: the Philox of our own, or a library. For src/system, sources and tests. */
#ifndef MD_SYSTEM_RANDOM_SOURCE_H
#define MD_SYSTEM_RANDOM_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Numbers are drawn in chunks of one round of cuRAND's Philox ordering (65536 sequences, four doubles of each). Then the
 * numbers do not depend on how many are asked for at a time, host and device generators are asked for the same calls, and
 * however many numbers a system takes, they need 2 MiB on a GPU. */
enum { MD_RANDOM_CHUNK = 4 * 65536 };

/* A library of generators outside this folder; the caller of the planning passes it. */
typedef struct MdRandomSource {
    void *(*create)(int generator, uint64_t seed); /* MD_GENERATOR_PHILOX, ... */
    void (*destroy)(void *state);
    void (*fill)(void *state, double *values); /* the next chunk, in (0, 1] */
    /* Goes on by so many chunks; false: the generator cannot, and they have to be filled. */
    bool (*skip)(void *state, uint64_t n_chunks);
} MdRandomSource;

/* Chunk number `chunk` of our own Philox. */
void md_philox_fill(uint64_t seed, uint64_t chunk, double *values);

#endif
