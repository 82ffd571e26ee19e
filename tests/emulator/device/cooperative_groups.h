/* In place of the toolkit's header, as far as kernels use it: the block, and tiles of a warp. */
#ifndef EMULATOR_COOPERATIVE_GROUPS_H
#define EMULATOR_COOPERATIVE_GROUPS_H

namespace cooperative_groups {

struct thread_block {};
__device__ inline thread_block this_thread_block() { return {}; }

template <unsigned SIZE> struct thread_block_tile {
    static_assert(SIZE >= 1 && SIZE <= 32 && (SIZE & (SIZE - 1)) == 0, "a tile is a power of two within a warp");
};
template <unsigned SIZE> __device__ inline thread_block_tile<SIZE> tiled_partition(const thread_block &) { return {}; }

} // namespace cooperative_groups
#endif
