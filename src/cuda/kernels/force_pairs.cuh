/* Force kernels without a list: every atom with every other, O(N^2). */
#ifndef MD_CUDA_FORCE_PAIRS_CUH
#define MD_CUDA_FORCE_PAIRS_CUH

#include "cuda/kernels/pair.cuh"

/* pairs: a thread an atom reads all n atoms from memory. The threads of a warp read the same one: one transaction, but
 * each block reads the whole array through its L1. */
template <class Visitor>
__device__ inline void force_block_pairs(const CudaArguments &a, const PairParameters *pairs, int block,
                                         Visitor &visitor) {
    const int i = block * MD_BLOCK + (int)threadIdx.x;
    if (i >= own_atoms(a)) return;
    const Atom own = fetch_atom(a.now, i);
    typename Visitor::Row sum = {};
#pragma unroll unroll
    for (int j = 0; j < stored_atoms(a); j++)
        add_pair(a, &pairs[own.type * MD_N_TYPES], own.v, fetch_atom(a.now, j), j, j != i, &sum, visitor);
    visitor.finish(i, visitor.whole(pairs, sum));
}

/* pairs-tiled: the block brings MD_BLOCK atoms into shared memory at a time, one each, and all its threads go through
 * them there: memory is read once a block, by coalesced loads. */
template <class Visitor>
__device__ inline void force_block_tiled(const CudaArguments &a, const PairParameters *pairs, int block,
                                         Visitor &visitor) {
    MD_DYNAMIC_SHARED(Atom, s_tile); /* [MD_BLOCK] */
    const int t = (int)threadIdx.x, i = block * MD_BLOCK + t;
    const Atom own = fetch_atom(a.now, min(i, own_atoms(a) - 1));
    typename Visitor::Row sum = {};
    for (int first = 0; first < stored_atoms(a); first += MD_BLOCK) {
        __syncthreads(); /* the tile before (of this call, or the one before) has been read by all */
        if (first + t < stored_atoms(a)) s_tile[t] = fetch_atom(a.now, first + t);
        __syncthreads(); /* this tile is there */
        /* Threads beyond the last atom bring their part, but have no pairs. */
        const int size = i < own_atoms(a) ? min(MD_BLOCK, stored_atoms(a) - first) : 0;
#pragma unroll unroll
        for (int k = 0; k < size; k++)
            add_pair(a, &pairs[own.type * MD_N_TYPES], own.v, s_tile[k], first + k, first + k != i, &sum, visitor);
    }
    if (i < own_atoms(a)) visitor.finish(i, visitor.whole(pairs, sum));
}

#endif
