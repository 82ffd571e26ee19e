/* Force kernel of clusters: CUDA_CLUSTER atoms that follow each other in memory against CUDA_CLUSTER others.
 *
 * cluster: a warp a cluster i; lanes are its 8 atoms by 4 of the 8 atoms of a cluster j, in two turns. One entry of the
 * list serves 64 pairs, and an atom of j that is read serves 8 atoms of i: a tenth of the loads of a list of atoms. It
 * pays with pairs out of range: at a cutoff of 2.5 sigma most of the 64, so it gains only with a long cutoff. The
 * force is only on i: each pair is computed twice, without atomics. */
#ifndef MD_CUDA_FORCE_CLUSTER_CUH
#define MD_CUDA_FORCE_CLUSTER_CUH

#include "cuda/kernels/pair.cuh"

constexpr int cluster_lanes = 32 / CUDA_CLUSTER; /* atoms of j in a turn */

/* Block `block` of MD_BLOCK / 32 clusters. */
template <class Visitor>
__device__ inline void force_block_cluster(const CudaArguments &a, const PairParameters *pairs, int block,
                                           Visitor &visitor) {
    const int lane = (int)threadIdx.x % 32, c = block * (MD_BLOCK / 32) + (int)threadIdx.x / 32;
    if (c >= a.list.n_rows) return; /* the whole warp */
    const int i = c * CUDA_CLUSTER + lane % CUDA_CLUSTER, last = stored_atoms(a) - 1;
    const Atom own = fetch_atom(a.now, min(i, last));
    const int32_t *row = (const int32_t *)a.list.entries + c * a.list.row_stride;
    const int count = a.list.counts[c];
    typename Visitor::Row sum = {};
#pragma unroll unroll
    for (int k = 0; k < count; k++) {
        const int first = row[k * a.list.entry_stride] * CUDA_CLUSTER + lane / CUDA_CLUSTER;
#pragma unroll
        for (int turn = 0; turn < CUDA_CLUSTER; turn += cluster_lanes) {
            const int j = first + turn;
            /* The last cluster may have fewer atoms than entries. */
            add_pair(a, &pairs[own.type * MD_N_TYPES], own.v, fetch_atom(a.now, min(j, last)), j,
                     i <= last && j <= last && j != i, &sum, visitor);
        }
    }
    for (int distance = CUDA_CLUSTER; distance < 32; distance *= 2) add_lane(&sum, distance); /* those of an atom */
    sum = visitor.whole(pairs, sum); /* also of lanes that have no row */
    if (lane < CUDA_CLUSTER && i <= last) visitor.finish(i, sum);
}

#endif
