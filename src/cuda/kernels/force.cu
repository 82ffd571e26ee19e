/* Stage force: forces, and on request energy and virial.
 *
 * Ladder (force.kernel), each rung in its file:
 *   pairs         force_pairs.cuh: one thread an atom, all others from global memory: O(N^2) distances, no list, no set-up.
 *   pairs-tiled   the same through tiles in shared memory: memory is read once a block instead of once a warp.
 *   list          force_list.cuh: one thread a row of the neighbour list: O(N). Each neighbour is one gather. No atomics:
 *                 each pair is computed twice, which costs less than atomic additions to memory (neighbor.list = half
 *                 shows it). Threads of a warp walk their rows in step; a warp is as slow as its longest row.
 *   list-split    several threads a row (force.threads_per_atom): fills the GPU where there are fewer atoms than threads,
 *                 and rows of a warp differ less; pays with adding up the parts (force.partial_sums).
 *   cell          force_cell.cuh: a warp a cell, the cells around it through shared memory: no list to build or read, nine
 *                 distances for one that counts.
 *   cluster       force_cluster.cuh: clusters of 8 atoms against clusters of 8: one entry for 64 pairs, most of which are
 *                 out of range at short cutoffs.
 *
 *   brick         bricks/force.cuh: a block a brick of cells, with its halo in shared memory; a thread a row, the
 *                 entries of which are 16-bit addresses there. Each position is read from memory some five times a
 *                 step instead of eighty, and the list is half as long.
 *
 * A kernel is a function force_block of a block of atoms (force.cuh), so that the resident kernel can go through several.
 * Energy and virial are computed in separate instances, so that steps that need only forces do not pay for them
 * (force.energy). How a pair is computed is in pair.cuh, how its positions are read in position.cuh. */
#include "cuda/kernels/force.cuh"

/* Reads position [n_stored], list or cells, pairs [types, types]; writes force [n]. */
MD_KERNEL_OF(MD_PLAIN_THREADS) k_force_plain(MD_FORCE_ARGUMENTS) {
    if (was_stopped(a, &a.status->measures.moved_sq)) return;
    if (force_begin(a, &a.status->measures.moved_sq)) return;
    Forces forces = {a};
    force_block(a, MD_PAIR_TABLE, (int)blockIdx.x, forces);
}

/* Reads position [n_stored], list or cells, pairs [types, types]; writes force [n], totals or partials [pair_totals, blocks]. */
MD_KERNEL k_force_energy(MD_FORCE_ARGUMENTS) {
    if (was_stopped(a, &a.status->measures.moved_sq)) return;
    if (force_begin(a, &a.status->measures.moved_sq)) return;
    Sum sums[pair_totals] = {};
    ForcesAndEnergies energies = {a, sums};
    const int n_blocks = force_blocks(a); /* as many are launched, but of bricks */
    for (int block = (int)blockIdx.x; block < n_blocks; block += (int)gridDim.x)
        force_block(a, MD_PAIR_TABLE, block, energies);
    if constexpr (has_both_directions)
        for (int q = 0; q < pair_totals; q++) halve(sums[q]);
    add_to_totals<CUDA_POTENTIAL>(a, sums);
}
