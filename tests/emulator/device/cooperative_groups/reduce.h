#ifndef EMULATOR_COOPERATIVE_GROUPS_REDUCE_H
#define EMULATOR_COOPERATIVE_GROUPS_REDUCE_H

#include <cooperative_groups.h>

namespace cooperative_groups {

template <class T> struct plus {
    T operator()(T a, T b) const { return a + b; }
};
template <class T> struct less {
    T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T> struct greater {
    T operator()(T a, T b) const { return a < b ? b : a; }
};

/* The result is that of every thread of the tile. */
template <unsigned SIZE, class T, class Combine>
static inline T reduce(const thread_block_tile<SIZE> &tile, T value, Combine combine) {
    for (unsigned bits = SIZE / 2; bits > 0; bits /= 2) {
        const T other = tile.shfl_xor(value, (int)bits);
        /* in one order on both sides, so that all have the same bits */
        value = tile.thread_rank() & bits ? combine(other, value) : combine(value, other);
    }
    return value;
}

} // namespace cooperative_groups

#endif
