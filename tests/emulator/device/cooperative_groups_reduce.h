/* In place of cooperative_groups/reduce.h of the toolkit. Every lane of the tile must come, and gets the result. */
#ifndef EMULATOR_COOPERATIVE_GROUPS_REDUCE_H
#define EMULATOR_COOPERATIVE_GROUPS_REDUCE_H
#include <cooperative_groups.h>

namespace cooperative_groups {

template <int BYTES> struct Words { typedef unsigned Type; };
template <> struct Words<8> { typedef unsigned long long Type; };

template <unsigned SIZE, class T, class Combine>
__device__ inline T reduce(const thread_block_tile<SIZE> &, T value, Combine combine) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "values of 4 or 8 bytes");
    const unsigned first = threadIdx.x % 32 / SIZE * SIZE;
    const unsigned mask = (SIZE == 32 ? ~0u : (1u << SIZE % 32) - 1) << first;
    for (unsigned distance = SIZE / 2; distance > 0; distance /= 2) {
        T other;
        typename Words<sizeof(T)>::Type words;
        __builtin_memcpy(&words, &value, sizeof words);
        words = __shfl_xor_sync(mask, words, (int)distance);
        __builtin_memcpy(&other, &words, sizeof other);
        value = threadIdx.x & distance ? combine(other, value) : combine(value, other);
    }
    return value;
}

} // namespace cooperative_groups
#endif
