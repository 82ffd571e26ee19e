/* Cooperative groups, as far as kernels use them: the block, tiles of a warp, the grid. In place of the toolkit's header. */
#ifndef EMULATOR_COOPERATIVE_GROUPS_H
#define EMULATOR_COOPERATIVE_GROUPS_H

namespace cooperative_groups {

struct thread_block {
    void sync() const { __syncthreads(); }
    unsigned thread_rank() const { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
    unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
    unsigned num_threads() const { return size(); }
};
static inline thread_block this_thread_block() { return thread_block(); }

struct grid_group {
    bool is_valid() const { return true; }
    void sync() const { (void)emulator_services->barrier(EMULATOR_BARRIER_GRID, 0, "grid_group::sync"); }
    unsigned long long size() const { return (unsigned long long)num_blocks() * this_thread_block().size(); }
    unsigned num_blocks() const { return gridDim.x * gridDim.y * gridDim.z; }
    unsigned block_rank() const { return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
    unsigned long long thread_rank() const {
        return (unsigned long long)block_rank() * this_thread_block().size() + this_thread_block().thread_rank();
    }
};
static inline grid_group this_grid() { return grid_group(); }

template <unsigned SIZE> struct thread_block_tile {
    static_assert(SIZE >= 1 && SIZE <= 32 && (SIZE & (SIZE - 1)) == 0, "a tile is a part of a warp");
    unsigned mask() const {
        return (SIZE == 32 ? 0xffffffffu : (1u << SIZE) - 1) << (emulator_self->lane & ~(SIZE - 1));
    }
    unsigned thread_rank() const { return emulator_self->lane & (SIZE - 1); }
    unsigned size() const { return SIZE; }
    unsigned num_threads() const { return SIZE; }
    unsigned meta_group_rank() const { return this_thread_block().thread_rank() / SIZE; }
    unsigned meta_group_size() const { return (this_thread_block().size() + SIZE - 1) / SIZE; }
    void sync() const { __syncwarp(mask()); }
    template <class T> T shfl(T value, int lane) const {
        return emulator_shfl(EMULATOR_WHERE, mask(), value, lane, (int)SIZE);
    }
    template <class T> T shfl_down(T value, unsigned d) const {
        return emulator_shfl_down(EMULATOR_WHERE, mask(), value, d, (int)SIZE);
    }
    template <class T> T shfl_up(T value, unsigned d) const {
        return emulator_shfl_up(EMULATOR_WHERE, mask(), value, d, (int)SIZE);
    }
    template <class T> T shfl_xor(T value, int bits) const {
        return emulator_shfl_xor(EMULATOR_WHERE, mask(), value, bits, (int)SIZE);
    }
    unsigned ballot(int predicate) const {
        return __ballot_sync(mask(), predicate) >> (emulator_self->lane & ~(SIZE - 1));
    }
    int any(int predicate) const { return __any_sync(mask(), predicate); }
    int all(int predicate) const { return __all_sync(mask(), predicate); }
};
template <unsigned SIZE> static inline thread_block_tile<SIZE> tiled_partition(const thread_block &) {
    return thread_block_tile<SIZE>();
}

} // namespace cooperative_groups

#endif
