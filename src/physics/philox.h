/* Philox4x32-10, a keyed mixing of a counter of four 32-bit words: random numbers without a state (Salmon et al., Parallel random
 * numbers: as easy as 1, 2, 3, SC11). The key is a 64-bit seed, low word first; conversions are those of cuRAND. */
#ifndef MD_PHYSICS_PHILOX_H
#define MD_PHYSICS_PHILOX_H

#include <stdint.h>

#include "physics/real.h"

/* The product of two words of 32 bits. As one instruction: a compiler for GPUs makes three of the plain product. */
#if defined(__CUDACC__) && !defined(MD_HAS_PTX_BY_NAME)
__device__ static inline uint64_t md_philox_product(uint32_t x, uint32_t y) {
    uint64_t product;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(x), "r"(y));
    return product;
}
#else
MD_HD uint64_t md_philox_product(uint32_t x, uint32_t y) { return (uint64_t)x * y; }
#endif

/* One round: the counter is mixed with two keys. */
MD_HD void md_philox_round(uint32_t counter[4], uint32_t key0, uint32_t key1) {
    const uint64_t product0 = md_philox_product(0xD2511F53u, counter[0]),
                   product1 = md_philox_product(0xCD9E8D57u, counter[2]);
    counter[0] = (uint32_t)(product1 >> 32) ^ counter[1] ^ key0;
    counter[1] = (uint32_t)product1;
    counter[2] = (uint32_t)(product0 >> 32) ^ counter[3] ^ key1;
    counter[3] = (uint32_t)product0;
}

/* The keys of n rounds. */
MD_HD void md_philox_keys(uint64_t seed, int n, uint32_t *keys) {
    for (int round = 0; round < n; round++) {
        keys[2 * round] = (uint32_t)seed + (uint32_t)round * 0x9E3779B9u; /* the Weyl constants of the paper */
        keys[2 * round + 1] = (uint32_t)(seed >> 32) + (uint32_t)round * 0xBB67AE85u;
    }
}

/* The counter becomes the random words. */
MD_HD void md_philox_block(uint32_t counter[4], uint64_t seed) {
    uint32_t keys[20];
    md_philox_keys(seed, 10, keys);
    for (int round = 0; round < 10; round++) md_philox_round(counter, keys[2 * round], keys[2 * round + 1]);
}

/* In (0, 1]. */
MD_HD double md_philox_uniform(uint32_t low, uint32_t high) {
    uint64_t bits = low ^ (uint64_t)high << 21;
    return (double)bits * 0x1p-53 + 0x1p-54;
}

/* Two normal numbers from two uniform ones (Box and Muller, Ann. Math. Stat. 29, 610 (1958)), with Philox those of cuRAND. */
MD_HD void md_normal_pair(double pair[2]) {
    const double two_pi = 6.283185307179586476925286766559;
    const double radius = sqrt(-2 * log(pair[0])), angle = two_pi * pair[1];
    pair[0] = radius * sin(angle);
    pair[1] = radius * cos(angle);
}

#endif
