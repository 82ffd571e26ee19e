/* Force kernels that walk the rows of the neighbour list: a thread a row (list), or several (list-split).
 *
 * Ladder (force.partial_sums): how the threads of a row add up
 *   atomic    each adds its part to the force in memory, which was set to zero before
 *   shared    through shared memory, and the first thread of the row adds them up
 *   shuffle   from register to register, in log2 of the threads steps; no memory and no barrier of the block */
#ifndef MD_CUDA_FORCE_LIST_CUH
#define MD_CUDA_FORCE_LIST_CUH

#include "cuda/kernels/list.cuh"
#include "cuda/kernels/pair.cuh"

constexpr bool is_summed_in_memory = is_split && MD_SW_force_partial_sums == MD_PARTIAL_SUMS_ATOMIC;

/* Adds up the parts of a row's threads; false: the sum is not with this thread. Every thread of the block comes here. */
__device__ inline bool sum_row(Vec3<Pair> *force) {
    if constexpr (threads_per_atom == 1 || is_summed_in_memory) {
        return true;
    } else if constexpr (MD_SW_force_partial_sums == MD_PARTIAL_SUMS_SHARED) {
        MD_DYNAMIC_SHARED(Vec3<Pair>, s_part); /* [MD_BLOCK] */
        const int t = (int)threadIdx.x;
        __syncthreads(); /* the parts of an earlier call have been read */
        s_part[t] = *force;
        __syncthreads(); /* all parts are there */
        if (t % threads_per_atom != 0) return false;
        for (int k = 1; k < threads_per_atom; k++) {
            force->x += s_part[t + k].x;
            force->y += s_part[t + k].y;
            force->z += s_part[t + k].z;
        }
        return true;
    } else {
        add_up_row(force);
        return threadIdx.x % threads_per_atom == 0;
    }
}

/* Block `block` of MD_BLOCK / threads_per_atom rows. Positions come `from` there; finish(i, force) is called by one thread a row. */
template <bool ENERGY, class Finish>
__device__ inline void force_block_list(const CudaArguments &a, const PairParameters *pairs, int block,
                                        Sum (&sums)[CUDA_PAIR_TOTALS], int64_t from, Finish &finish) {
    const int i = block * (MD_BLOCK / threads_per_atom) + (int)threadIdx.x / threads_per_atom;
    Vec3<Pair> force = {0, 0, 0};
    if (i < own_atoms(a)) {
        const Atom own = fetch_atom(a.now, i, from);
        const int count = a.list.counts[i];
        const int32_t *row = row_entries(a, i);
#pragma unroll unroll
        for (int k = (int)threadIdx.x % threads_per_atom; k < count; k += threads_per_atom) {
            const int j = row[k * a.list.entry_stride];
            add_pair<ENERGY>(a, &pairs[own.type * MD_N_TYPES], own.v, fetch_atom(a.now, j, from), j, true, &force,
                             sums);
        }
        force = whole_force(pairs, force);
    }
    if (!sum_row(&force) || i >= own_atoms(a)) return;
    if constexpr (is_summed_in_memory) add_force(a, i, force);
    else finish(i, force);
}

#endif
