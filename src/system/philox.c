/* Philox4x32-10 of our own, bit for bit the uniform numbers of cuRAND's PHILOX4_32_10.
 *
 * Ordering and conversions (physics/philox.h) were found by comparison with cuRAND 10.4 (CUDA 13) and hold for its
 * orderings LEGACY, DEFAULT and BEST alike; tests/system/test_random.c compares again in every build with a toolkit:
 *
 *   - 65536 sequences; sequence s, block b is the counter (b, 0, s, 0);
 *   - doubles come in rounds: in round r each sequence in turn gives four, two of block 2 r and two of block 2 r + 1;
 *   - a uniform double takes two words, first the low one: (w0 ^ w1 << 21) 2^-53 + 2^-54, which lies in (0, 1]. */
#include "physics/philox.h"
#include "system/random_source.h"

enum { N_SEQUENCES = 65536, DOUBLES_PER_TURN = 4 };
_Static_assert(MD_RANDOM_CHUNK == N_SEQUENCES * DOUBLES_PER_TURN, "a chunk is one round");

void md_philox_fill(uint64_t seed, uint64_t chunk, double *values) {
    for (uint32_t sequence = 0; sequence < N_SEQUENCES; sequence++) {
        for (uint32_t half = 0; half < 2; half++) {
            uint64_t block = 2 * chunk + half;
            uint32_t words[4] = {(uint32_t)block, (uint32_t)(block >> 32), sequence, 0};
            md_philox_block(words, seed);
            *values++ = md_philox_uniform(words[0], words[1]);
            *values++ = md_philox_uniform(words[2], words[3]);
        }
    }
}
