/* Space-filling curves: the rank of a cell along a curve, as a 64-bit key, so that cells that follow each other on the
 * curve are near in space.
 *
 * Morton (Z order) interleaves the bits of the coordinates: cheap, but the curve jumps. Hilbert turns and mirrors each
 * octant, so that consecutive cells share a face, for a loop over the bits. Coordinates have up to MD_CURVE_BITS bits.
 * Sources: Morton, IBM Technical Report (1966); Skilling, AIP Conference Proceedings 707, 381 (2004). */
#ifndef MD_PHYSICS_CURVE_H
#define MD_PHYSICS_CURVE_H

#include <stdint.h>

#include "physics/real.h"

#define MD_CURVE_BITS 21 /* of a coordinate: three of them fit a key */

/* Spreads the bits of x by two zeros: bit b goes to 3 b. */
MD_HD uint64_t md_curve_spread(uint32_t x) {
    uint64_t bits = x & 0x1fffff;
    bits = (bits | bits << 32) & 0x001f00000000ffffull;
    bits = (bits | bits << 16) & 0x001f0000ff0000ffull;
    bits = (bits | bits << 8) & 0x100f00f00f00f00full;
    bits = (bits | bits << 4) & 0x10c30c30c30c30c3ull;
    return (bits | bits << 2) & 0x1249249249249249ull;
}

/* Rank along the Z curve, x fastest. In two dimensions z is 0, and the order is that of the flat curve. */
MD_HD uint64_t md_curve_morton(uint32_t x, uint32_t y, uint32_t z) {
    return md_curve_spread(x) | md_curve_spread(y) << 1 | md_curve_spread(z) << 2;
}

/* Rank along the Hilbert curve through 2^bits cells an axis; in two dimensions z is 0. Keys of two dimensions have
 * gaps (every third bit is 0); only their order counts. */
MD_HD uint64_t md_curve_hilbert(int dimension, int bits, uint32_t x, uint32_t y, uint32_t z) {
    uint32_t at[3] = {x, y, z};
    for (uint32_t bit = (uint32_t)1 << (bits - 1); bit > 1; bit >>= 1) {
        const uint32_t below = bit - 1;
        for (int a = 0; a < dimension; a++) {
            const uint32_t swap = (at[0] ^ at[a]) & below;
            const int mirrored = (at[a] & bit) != 0;
            at[0] ^= mirrored ? below : swap;
            at[a] ^= mirrored ? 0 : swap;
        }
    }
    for (int a = 1; a < dimension; a++) at[a] ^= at[a - 1]; /* Gray code */
    uint32_t turns = 0;
    for (uint32_t bit = (uint32_t)1 << (bits - 1); bit > 1; bit >>= 1)
        if (at[dimension - 1] & bit) turns ^= bit - 1;
    uint64_t key = 0;
    for (int a = 0; a < dimension; a++) key |= md_curve_spread(at[a] ^ turns) << (dimension - 1 - a);
    return key;
}

/* Bits that coordinates below n need; at least one. */
MD_HD int md_curve_bits(uint32_t n) {
    int bits = 1;
    while (bits < MD_CURVE_BITS && n > (uint32_t)1 << bits) bits++;
    return bits;
}

#endif
