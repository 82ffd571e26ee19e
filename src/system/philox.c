/* Philox4x32-10 of our own, bit for bit the uniform numbers of cuRAND's PHILOX4_32_10.
 *
 * The generator is a keyed mixing of a counter of four 32-bit words (Salmon et al., Parallel random numbers: as easy as
 * 1, 2, 3, SC11); the key is the 64-bit seed, low word first. Ordering and conversions below were found by comparison
 * with cuRAND 10.4 (CUDA 13) and hold for its orderings LEGACY, DEFAULT and BEST alike; tests/system/test_random.c
 * compares anew in every build with a toolkit:
 *
 *   - 65536 sequences; sequence s, block b is the counter (b, 0, s, 0);
 *   - doubles come in rounds: in round r each sequence in turn gives four, two of block 2 r and two of block 2 r + 1;
 *   - a uniform double takes two words, first the low one: (w0 ^ w1 << 21) 2^-53 + 2^-54, which lies in (0, 1]. */
#include "system/random_source.h"

enum { N_SEQUENCES = 65536, DOUBLES_PER_TURN = 4 };
_Static_assert(MD_RANDOM_CHUNK == N_SEQUENCES * DOUBLES_PER_TURN, "a chunk is one round");

static void philox_block(uint32_t counter[4], uint64_t seed) {
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)0xD2511F53u * counter[0], product1 = (uint64_t)0xCD9E8D57u * counter[2];
        counter[0] = (uint32_t)(product1 >> 32) ^ counter[1] ^ key0;
        counter[1] = (uint32_t)product1;
        counter[2] = (uint32_t)(product0 >> 32) ^ counter[3] ^ key1;
        counter[3] = (uint32_t)product0;
        key0 += 0x9E3779B9u; /* the Weyl constants of the paper */
        key1 += 0xBB67AE85u;
    }
}

static double uniform_from_words(uint32_t low, uint32_t high) {
    uint64_t bits = low ^ (uint64_t)high << 21;
    return (double)bits * 0x1p-53 + 0x1p-54;
}

void md_philox_fill(uint64_t seed, uint64_t chunk, double *values) {
    for (uint32_t sequence = 0; sequence < N_SEQUENCES; sequence++) {
        for (uint32_t half = 0; half < 2; half++) {
            uint64_t block = 2 * chunk + half;
            uint32_t words[4] = {(uint32_t)block, (uint32_t)(block >> 32), sequence, 0};
            philox_block(words, seed);
            *values++ = uniform_from_words(words[0], words[1]);
            *values++ = uniform_from_words(words[2], words[3]);
        }
    }
}
