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

/* Adds up the parts of a row's threads; false: the sum is not with this thread. Every thread of the block comes here. */
template <class Row> __device__ inline bool sum_row(Row *sum) {
    if constexpr (threads_per_atom == 1 || is_summed_in_memory) {
        return true;
    } else if constexpr (MD_SW_force_partial_sums == MD_PARTIAL_SUMS_SHARED) {
        static_assert(sizeof(Row) <= 3 * sizeof(Pair)); /* the host reserves this memory for a thread */
        MD_DYNAMIC_SHARED(Row, s_part);                 /* [MD_BLOCK] */
        const int t = (int)threadIdx.x;
        __syncthreads(); /* the parts of an earlier call have been read */
        s_part[t] = *sum;
        __syncthreads(); /* all parts are there */
        if (t % threads_per_atom != 0) return false;
        for (int k = 1; k < threads_per_atom; k++) *sum += s_part[t + k];
        return true;
    } else {
        add_up_row(sum);
        return threadIdx.x % threads_per_atom == 0;
    }
}

/* Block `block` of MD_BLOCK / threads_per_atom rows. Positions come `from` there. */
template <class Visitor>
__device__ inline void force_block_list(const CudaArguments &a, const PairParameters *pairs, int block, int64_t from,
                                        Visitor &visitor) {
    const int i = block * (MD_BLOCK / threads_per_atom) + (int)threadIdx.x / threads_per_atom;
    typename Visitor::Row sum = {};
    if (i < own_atoms(a)) {
        const Atom own = fetch_atom(a.now, i, from);
        const int count = a.list.counts[i];
        const int32_t *row = row_entries(a, i);
#pragma unroll unroll
        for (int k = (int)threadIdx.x % threads_per_atom; k < count; k += threads_per_atom) {
            const int j = row[k * a.list.entry_stride];
            add_pair(a, &pairs[own.type * MD_N_TYPES], own.v, fetch_atom(a.now, j, from), j, true, &sum, visitor);
        }
        sum = visitor.whole(pairs, sum);
    }
    if (!sum_row(&sum) || i >= own_atoms(a)) return;
    visitor.finish(i, sum);
}

#endif
