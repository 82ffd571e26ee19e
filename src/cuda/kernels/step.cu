/* Many steps in one launch, for systems that the GPU holds at once (launch.persistent).
 *
 * All blocks are resident (a cooperative launch sees to that), so that they can wait for each other: a barrier over the
 * grid costs about a microsecond, less than the launch of a kernel. Each thread keeps to its own particles in the
 * integration; the forces read what others wrote, so positions must not come through the read-only path, which is not
 * coherent within a launch.
 *
 * Only steps without energies are made here. It stops before the forces of a step for which the list is too old. */
#include "cuda/kernels/force.cuh"
#include "cuda/kernels/integrate.cuh"

constexpr bool has_check = MD_SW_neighbor_rebuild == MD_REBUILD_DEVICE_CHECK;

/* Returns when all blocks have come; what any thread wrote before is seen by every thread after. *target counts the
 * arrivals that make the barrier complete. */
__device__ inline void grid_barrier(const CudaArguments &a, unsigned *target) {
    *target += gridDim.x;
    __syncthreads(); /* the whole block has come */
    if (threadIdx.x == 0) {
        __threadfence(); /* its writes before its arrival */
        atomicAdd(a.barrier, 1u);
        while (*(volatile unsigned *)a.barrier < *target) __nanosleep(20);
        __threadfence(); /* the arrivals before what is read next; drops what L1 holds */
    }
    __syncthreads();
}

/* Integration of the particles of this block's share; their largest displacement goes to the measures. */
__device__ inline void integrate_share(const CudaArguments &a) {
    float moved_sq[1] = {0};
    for (int i = thread_index(); i < a.n_atoms; i += grid_size()) {
        const float one = integrate_atom(a, i, true, has_check);
        moved_sq[0] = fmaxf(moved_sq[0], one);
        if constexpr (forces_add) store<Pair>(a.now.force, i, Vec3<Pair>{0, 0, 0}, Pair(0));
    }
    if (!has_check) return;
    block_max<1>(a, moved_sq);
    if (threadIdx.x == 0) atomicMax(&a.watch->measures.moved_sq, __float_as_uint(moved_sq[0]));
}

MD_KERNEL k_step_resident(MD_FORCE_ARGUMENTS) {
    unsigned target = 0;
    const int n_blocks = (int)((a.n_force_items + MD_BLOCK - 1) / MD_BLOCK);
    Sum unused[CUDA_PAIR_TOTALS];
    if (*(volatile unsigned *)&a.watch->halted) return; /* by an earlier launch: every block sees it */
    for (int step = 0; step < a.n; step++) {
        integrate_share(a);
        if (thread_index() == 0) *(volatile unsigned *)&a.watch->drifted = 1;
        grid_barrier(a, &target);
        if (force_begin(a)) return; /* the whole grid: nothing writes the displacements now */
        for (int block = (int)blockIdx.x; block < n_blocks; block += (int)gridDim.x)
            force_block<false>(a, MD_PAIR_TABLE, block, unused);
        grid_barrier(a, &target);
    }
}
