/* The force kernels as functions of a block of atoms: for k_force, for the resident kernel, and for the counters. */
#ifndef MD_CUDA_FORCE_CUH
#define MD_CUDA_FORCE_CUH

#include "cuda/kernels/block.cuh"

/* Where the parameters live (memory.parameters):
 *   global    read from global memory at each pair
 *   argument  in the arguments of the kernel: operands straight from the constant bank
 *   constant  a __constant__ array: the same bank, but an index that differs between threads is served one by one */
struct PairTable {
    PairParameters pair[MD_N_TYPES * MD_N_TYPES];
};
#define MD_FORCE_ARGUMENTS MD_ARGUMENTS, const __grid_constant__ PairTable table
#define MD_PAIR_TABLE      table.pair

/* At the begin of every force kernel: books the step, and, with device-check, tells that the list is too old. True: the
 * device waits for the host, nothing may be computed. Every thread of the grid gets the same answer, since what it
 * depends on was written by earlier kernels. */
__device__ inline bool force_begin(const CudaArguments &a) {
    const bool halts = MD_SW_neighbor_rebuild == MD_REBUILD_DEVICE_CHECK &&
                       __uint_as_float(*(volatile unsigned *)&a.watch->measures.moved_sq) > a.halt_sq;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (*(volatile unsigned *)&a.watch->drifted) {
            a.watch->drifted = 0;
            a.watch->step += 1;
            *(volatile unsigned long long *)&a.signals->step = a.watch->step;
        }
        if (halts) {
            a.watch->halted = 1;
            *(volatile int *)&a.signals->halted = 1;
        }
    }
    return halts;
}

/* Pair force, energy and virial at squared distance r_sq, inside the cutoff. */
template <bool ENERGY>
__device__ inline void add_pair(const PairParameters *pair, const Vec3<Pair> &d, Pair r_sq, Vec3<Pair> *force,
                                Sum (&sums)[CUDA_PAIR_TOTALS]) {
    const Pair f = MD_SHIFTED ? md_pair_force_shifted(pair, r_sq) : md_pair_force(pair, r_sq);
    force->x += f * d.x;
    force->y += f * d.y;
    if (MD_DIMENSION == 3) force->z += f * d.z;
    if (ENERGY) {
        add(sums[CUDA_POTENTIAL],
            (double)(MD_SHIFTED ? md_pair_energy_shifted(pair, r_sq) : md_pair_energy_plain(pair, r_sq)));
        add(sums[CUDA_TRUNCATION], (double)pair->truncation);
        add(sums[CUDA_VIRIAL], (double)(f * r_sq));
        add(sums[CUDA_PAIRS], 1);
    }
}

/* Block `block` of MD_BLOCK rows. */
template <bool ENERGY>
__device__ inline void force_block(const CudaArguments &a, const PairParameters *pairs, int block,
                                   Sum (&sums)[CUDA_PAIR_TOTALS]) {
    const int i = block * MD_BLOCK + (int)threadIdx.x;
    if (i >= a.n_atoms) return;
    const Vec3<Pair> x = load<Pair>(a.now.position, i);
    const PairParameters *row = &pairs[load_type(a.now, i) * MD_N_TYPES];
    const int32_t *entry = (const int32_t *)a.list.entries + i * a.list.row_stride;
    const int count = a.list.counts[i];
    Vec3<Pair> force = {0, 0, 0};
    for (int k = 0; k < count; k++, entry += a.list.entry_stride) {
        const int j = *entry;
        const Vec3<Pair> d = separation(a, x, load<Pair>(a.now.position, j));
        const Pair r_sq = squared(d);
        const PairParameters *pair = &row[load_type(a.now, j)];
        MD_COUNT_ADD(CUDA_COUNT_TESTED, 1);
        if (r_sq < pair->cutoff_sq) {
            MD_COUNT_ADD(CUDA_COUNT_INSIDE, 1);
            add_pair<ENERGY>(pair, d, r_sq, &force, sums);
        }
    }
    store<Pair>(a.now.force, i, force, Pair(0));
}

#endif
