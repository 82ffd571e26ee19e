/* The counts of a counting sort, and the positions meanwhile (kernels/sort.cu). With several processes kernels of other stages
 * also count the atoms that they bring. */
#ifndef MD_CUDA_COUNT_IN_CELL_CUH
#define MD_CUDA_COUNT_IN_CELL_CUH

#include "cuda/kernels/cells.cuh"

/* Where positions are on their way through the sort: k_sort_rank and k_sort_rank_few bring them back to where
 * everybody looks for them. */
constexpr bool reorders = MD_SW_memory_sort != MD_SORT_NONE;
__device__ inline int64_t on_the_way(const CudaArguments &a) { return reorders ? a.stride : 0; }

/* Of this warp the lanes of the first n threads, of which this is one. */
__device__ inline unsigned lanes_below(int n) {
    const int n_lanes = n - (thread_index() - (int)threadIdx.x % 32);
    return n_lanes < 32 ? (1u << n_lanes) - 1 : 0xffffffffu;
}

/* The count in `count`, of the cell of rank `place`, before this thread of the first n. If memory keeps an
 * order, the particles of a warp are of two or three cells: the first one in each counts for all of them. */
__device__ inline int count_particle(int *count, int place, int n) {
#if MD_SW_memory_sort == MD_SORT_NONE || __CUDA_ARCH__ < 700 /* older GPUs cannot compare numbers over a warp */
    return atomicAdd(count, 1);
#else
    const int lane = (int)threadIdx.x % 32;
    const unsigned same = __match_any_sync(lanes_below(n), place);
    const int first = __ffs((int)same) - 1;
    int before = 0;
    if (lane == first) before = atomicAdd(count, __popc(same));
    return __shfl_sync(same, before, first) + __popc(same & ((1u << lane) - 1));
#endif
}

/* The sort key of particles in a cell: the id; in bricks x first, so that a whole line of cells along x is sorted by x,
 * and the search need not go through all of it. */
typedef Select<in_bricks, uint64_t, int32_t>::type SlotKey;

__device__ inline SlotKey key_at(const Vec3<Pair> &x, int id) {
    if constexpr (in_bricks) return (uint64_t)float_key((float)x.x) << 32 | (unsigned)id;
    else return id;
}

/* Room for the keys of a.keys_per_cell particles of the cell of rank `place`, of few cells. */
__device__ inline SlotKey *keys_of_few(const CudaArguments &a, int place) {
    return (SlotKey *)a.list.entries + (int64_t)place * a.keys_per_cell;
}

/* Particle i, by one of the first n threads, in the cell of rank `place`. With a.keys_per_cell, keys of few cells are stored at once, as far
 * as there is room. */
__device__ inline void count_at(const CudaArguments &a, int i, int place, int n, SlotKey key) {
    a.place[i] = place;
    const int arrival = count_particle(&a.cell_count[place], place, n);
    if (a.keys_per_cell == 0) a.arrival[i] = arrival;
    else if (arrival < a.keys_per_cell) keys_of_few(a, place)[arrival] = key;
}

#endif
