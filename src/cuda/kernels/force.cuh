/* The force kernels as functions of a block: for the kernels of force.cu, for the resident kernel, and for the counters. */
#ifndef MD_CUDA_FORCE_CUH
#define MD_CUDA_FORCE_CUH

#include "cuda/kernels/bricks/force.cuh"
#include "cuda/kernels/force_cell.cuh"
#include "cuda/kernels/force_cluster.cuh"
#include "cuda/kernels/force_list.cuh"
#include "cuda/kernels/force_pairs.cuh"
#include "cuda/kernels/stale.cuh"

/* Launch bounds of kernels that compute only forces, without sums. */
#if MD_SW_force_kernel == MD_KERNEL_BRICK && MD_SW_run_precision != MD_PRECISION_DOUBLE /* pairs in single precision */
#define MD_PLAIN_THREADS 1440 /* 40 registers are enough for a row, and five blocks of 288 threads hide more */
#elif MD_SW_force_kernel == MD_KERNEL_BRICK
#define MD_PLAIN_THREADS 1152 /* in double precision two blocks of 576 threads, which shared memory has room for */
#else
#define MD_PLAIN_THREADS MD_BOUND_THREADS
#endif

/* launch.fuse = step: where the displacements of every other step are. */
__device__ inline unsigned *moved_sq_of(const CudaArguments &a, int step) {
    return step % 2 == 0 ? &a.status->measures.moved_sq : &a.status->measures.moved_sq_odd;
}

/* Whether an earlier kernel has set the stop flag: a search, or a fused step of launch.fuse = step. This kernel may set it as well
 * while blocks of it are still to begin: they find the flag set and the list too old, and return in force_begin with the others. */
__device__ inline bool was_stopped(const CudaArguments &a, const unsigned *moved_sq) {
    return *(volatile unsigned *)&a.status->stopped && !is_too_old(a, moved_sq);
}

/* At the begin of every force kernel: counts the step, and, with device-check, checks whether the list is too old. True: the
 * device waits for the host, nothing may be computed. Every thread of the grid gets the same answer, since its
 * inputs were written by earlier kernels, or before a barrier of the grid. moved_sq: the largest squared displacement. */
__device__ inline bool force_begin(const CudaArguments &a, const unsigned *moved_sq) {
    const bool stops = is_too_old(a, moved_sq);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (*(volatile unsigned *)&a.status->drifted) {
            a.status->drifted = 0;
            a.status->step += 1;
            *(volatile unsigned long long *)&a.host_status->step = a.status->step;
        }
        if (stops) set_stop_flag(a, CUDA_STOPPED_STALE);
    }
    return stops;
}

/* Blocks of this unit that all rows take. */
__device__ inline int force_blocks(const CudaArguments &a) {
    constexpr int items_of_block = MD_SW_force_kernel == MD_KERNEL_BRICK ? 1 : MD_BLOCK;
    return (int)((a.n_force_items + items_of_block - 1) / items_of_block);
}

/* Kernels that have a row for each atom, so that one thread or group has its force. Positions come `from` there. */
template <class Visitor>
__device__ inline void force_block_rows(const CudaArguments &a, const PairParameters *pairs, int block, int64_t from,
                                        Visitor &visitor) {
    if constexpr (MD_SW_force_kernel == MD_KERNEL_BRICK) force_block_brick(a, pairs, block, from, visitor);
    else force_block_list(a, pairs, block, from, visitor);
}

/* The work of block number `block` of the grid; every thread of the block must call it. May be called several times in
 * one launch. The visitor gets the pairs of this thread; another thread may have the same pair (has_both_directions). */
template <class Visitor>
__device__ inline void force_block(const CudaArguments &a, const PairParameters *pairs, int block, Visitor &visitor) {
    constexpr int kernel = MD_SW_force_kernel;
    if constexpr (kernel == MD_KERNEL_PAIRS) {
        force_block_pairs(a, pairs, block, visitor);
    } else if constexpr (kernel == MD_KERNEL_PAIRS_TILED) {
        force_block_tiled(a, pairs, block, visitor);
    } else if constexpr (kernel == MD_KERNEL_CELL) {
        force_block_cell(a, pairs, block, visitor);
    } else if constexpr (kernel == MD_KERNEL_CLUSTER) {
        force_block_cluster(a, pairs, block, visitor);
    } else {
        force_block_rows(a, pairs, block, 0, visitor);
    }
}

#endif
