/* Stage force: forces, and on request energy and virial.
 *
 * Ladder (force.kernel):
 *   list   one thread a row: reads its entries, gathers each neighbour by one vector load (place and type together),
 *          and writes its own force once. No atomics: each pair is computed twice, which costs less than two atomic
 *          additions to memory. Threads of a warp walk their rows in step; a warp is as slow as its longest row.
 *
 * A kernel is a function force_block of a block of atoms, so that the resident kernel (step.cu) can go through several.
 * Energy and virial are computed in instances of their own, so that steps that need forces only do not pay for them. */
#include "cuda/kernels/force.cuh"

MD_KERNEL k_force_plain(MD_FORCE_ARGUMENTS) {
    if (force_begin(a)) return;
    Sum unused[CUDA_PAIR_TOTALS];
    force_block<false>(a, MD_PAIR_TABLE, (int)blockIdx.x, unused);
}

MD_KERNEL k_force_energy(MD_FORCE_ARGUMENTS) {
    if (force_begin(a)) return;
    Sum sums[CUDA_PAIR_TOTALS] = {};
    force_block<true>(a, MD_PAIR_TABLE, (int)blockIdx.x, sums);
    /* Threads beyond the last row come here too: the sum needs the whole block. Each pair was met twice. */
    for (int q = 0; q < CUDA_PAIR_TOTALS; q++) halve(sums[q]);
    add_to_totals<CUDA_POTENTIAL>(a, sums);
}
