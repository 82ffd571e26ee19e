/* Random numbers: cuRAND's generators by name, seeded from the deck.
 *
 * In a program that is built with the CUDA toolkit uniform numbers come from cuRAND's generators, on the host, which needs
 * no GPU, or on the device (src/cuda/device/random_curand.h): the same bits from all four. Without it a Philox4x32-10 of our
 * own gives those of cuRAND's PHILOX4_32_10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC11); the other
 * generators are refused. Normal numbers are made of them here, so that they are the same bits as well. */
#ifndef MD_SYSTEM_RANDOM_H
#define MD_SYSTEM_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct MdRandom MdRandom;
/* The cost of random numbers: their number and time, with generators, copies and conversions. */
typedef struct MdRandomCost {
    int64_t n_numbers;
    double seconds;
} MdRandomCost;
struct MdRandomSource; /* system/random_source.h */

/* Whether the source (NULL: the Philox of our own) has the generator; if not, the problem goes to errors. */
MdStatus md_random_check(const struct MdRandomSource *source, int generator, MdErrors *errors);

/* generator: MD_GENERATOR_PHILOX, ... ; each stream number is another sequence of the same seed. NULL, with the
 * problem in errors, when the source has no such generator. One stream gives one kind of numbers, uniform or normal;
 * they do not depend on how many are requested at a time. */
MdRandom *md_random_create(const struct MdRandomSource *source, int generator, uint64_t seed, int stream,
                           MdErrors *errors);
/* Its time is added to cost (may be NULL). */
void md_random_destroy(MdRandom *random, MdRandomCost *cost);

void md_random_uniform(MdRandom *random, double *values, size_t n); /* in (0, 1] */
void md_random_normal(MdRandom *random, double *values, size_t n);  /* mean 0, deviation 1; any n */

/* Skips n numbers. */
void md_random_skip(MdRandom *random, uint64_t n);

/* Seed of a stream: the seed itself for stream 0, else a mix of both (one step of splitmix64; Steele, Lea, Flood, Fast
 * splittable pseudorandom number generators, OOPSLA 2014). */
uint64_t md_random_stream_seed(uint64_t seed, int stream);

/* The streams in use, so that no two purposes share numbers. */
enum { MD_STREAM_VELOCITY = 0, MD_STREAM_PLACEMENT = 1, MD_STREAM_TYPE = 2, MD_STREAM_SHUFFLE = 3, MD_STREAM_BATH = 4 };

#endif
