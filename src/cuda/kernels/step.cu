/* Many steps in one launch, for systems that the GPU holds at once (launch.persistent).
 *
 * All blocks are resident (a cooperative launch sees to that), so that they can wait for each other: a barrier over the
 * grid costs about a microsecond, less than the launch of a kernel. Each thread keeps to its own particles in the
 * integration; the forces read what others wrote, so positions must not come through the read-only path, which is not
 * coherent within a launch.
 *
 * launch.fuse = step: an atom is integrated by the thread that has its force, which is never written; one barrier a step.
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

#if MD_SW_launch_fuse == 2 /* step */
/* Integrates an atom as soon as its force is there. The first half of a step's atoms may move while others still need
 * where they were: positions go to another copy (load_type). */
struct IntegrateAtom {
    const CudaArguments &a;
    Motion motion;
    float moved_sq;
    __device__ void operator()(int i, const Vec3<Pair> &force) {
        moved_sq = fmaxf(moved_sq, integrate_by(a, i, force, true, has_check, motion));
    }
};

__device__ inline unsigned *moved_sq_of(const CudaArguments &a, int step) {
    return step % 2 == 0 ? &a.watch->measures.moved_sq : &a.watch->measures.moved_sq_odd;
}

/* The end of a pass: its displacements, for the check of step `step`, and that there was a drift. */
__device__ inline void end_pass(const CudaArguments &a, float own_moved_sq, int step) {
    float moved_sq[1] = {own_moved_sq};
    if (has_check) {
        block_max<1>(a, moved_sq);
        if (threadIdx.x == 0) atomicMax(moved_sq_of(a, step), __float_as_uint(moved_sq[0]));
    }
    if (thread_index() == 0) *(volatile unsigned *)&a.watch->drifted = 1;
}

/* Where the positions of a device that halts are, brought back to where everybody looks for them. */
__device__ inline void bring_back(const CudaArguments &a, int64_t from) {
    if (from == 0) return;
    for (int i = thread_index(); i < a.n_atoms; i += grid_size())
        store<Pair>(a.now.position, i, load<Pair>(a.now.position, i + from),
                    type_bits<Pair>(load_type(a.now, i, from)));
}

/* The first pass integrates by the forces that are there, the last one computes forces and no more; each in between does
 * both for every atom. A pass reads one copy of the positions and writes the other, so that one barrier is between passes;
 * what the largest displacement of a step was is read while that of the next one is measured, elsewhere. The last pass
 * finds the positions where everybody else looks for them. */
__device__ inline void make_fused_steps(const CudaArguments &a, const PairParameters *pairs) {
    unsigned target = 0;
    const int n_blocks = (int)((a.n_force_items + MD_BLOCK - 1) / MD_BLOCK);
    const unsigned long long first = *(volatile unsigned long long *)&a.watch->step + 1;
    Sum unused[CUDA_PAIR_TOTALS];
    int64_t from = a.n % 2 == 0 ? a.n_atoms : 0;
    float moved_sq = 0;
    for (int i = thread_index(); i < a.n_atoms; i += grid_size())
        moved_sq = fmaxf(moved_sq, integrate_atom(a, i, true, has_check, Motion{0, from, first}));
    end_pass(a, moved_sq, 0);
    for (int step = 0; step < a.n; step++) {
        grid_barrier(a, &target);
        if (force_begin(a, moved_sq_of(a, step))) { /* the whole grid: nothing writes these displacements now */
            bring_back(a, from);
            return;
        }
        const bool is_last = step == a.n - 1;
        KeepForce keep = {a};
        IntegrateAtom integrate = {a, {from, a.n_atoms - from, first + (unsigned long long)step + 1}, 0};
        for (int block = (int)blockIdx.x; block < n_blocks; block += (int)gridDim.x) {
            if (is_last) force_block_rows<false>(a, pairs, block, unused, from, keep);
            else force_block_rows<false>(a, pairs, block, unused, from, integrate);
        }
        if (is_last) return;
        end_pass(a, integrate.moved_sq, step + 1);
        from = a.n_atoms - from;
    }
}
#else
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

__device__ inline void make_steps(const CudaArguments &a, const PairParameters *pairs) {
    unsigned target = 0;
    const int n_blocks = (int)((a.n_force_items + MD_BLOCK - 1) / MD_BLOCK);
    Sum unused[CUDA_PAIR_TOTALS];
    for (int step = 0; step < a.n; step++) {
        integrate_share(a);
        if (thread_index() == 0) *(volatile unsigned *)&a.watch->drifted = 1;
        grid_barrier(a, &target);
        /* the whole grid: nothing writes the displacements now */
        if (force_begin(a, &a.watch->measures.moved_sq)) return;
        for (int block = (int)blockIdx.x; block < n_blocks; block += (int)gridDim.x)
            force_block<false>(a, pairs, block, unused);
        grid_barrier(a, &target);
    }
}
#endif

#if MD_SW_launch_fuse == 2 && MD_SW_launch_persistent != 1 /* step, a kernel a pass */
/* The passes of n steps as a kernel each: a.first says which copy of the positions, and which of the displacements, is read;
 * the last kernel, which computes forces and no more, is that of everybody and reads the first copy of both. */

/* The first one: integrates by the forces that are there, into copy a.first. */
MD_KERNEL k_step_drift(MD_ARGUMENTS) {
    if (a.watch->halted) return; /* the whole grid: written by an earlier kernel */
    const int i = thread_index();
    float moved_sq = 0;
    if (i < a.n_atoms) moved_sq = integrate_atom(a, i, true, has_check, Motion{0, a.first * (int64_t)a.n_atoms, 0});
    if (i == 0) a.watch->batch_step = a.watch->step + 1;
    end_pass(a, moved_sq, a.first);
}

/* Pass number a.n. */
MD_KERNEL k_step_pass(MD_FORCE_ARGUMENTS) {
    if (was_halted(a, moved_sq_of(a, a.first))) return;
    const int64_t from = a.first * (int64_t)a.n_atoms;
    if (force_begin(a, moved_sq_of(a, a.first))) { /* the whole grid: what it reads was written by earlier kernels */
        bring_back(a, from);
        return;
    }
    Sum unused[CUDA_PAIR_TOTALS];
    IntegrateAtom integrate = {a, {from, a.n_atoms - from, a.watch->batch_step + (unsigned long long)a.n + 1}, 0};
    force_block_rows<false>(a, MD_PAIR_TABLE, (int)blockIdx.x, unused, from, integrate);
    end_pass(a, integrate.moved_sq, a.first + 1);
}
#endif

MD_KERNEL k_step_resident(MD_FORCE_ARGUMENTS) {
    if (*(volatile unsigned *)&a.watch->halted) return; /* by an earlier launch: every block sees it */
#if MD_SW_launch_fuse == 2                              /* step */
    make_fused_steps(a, MD_PAIR_TABLE);
#else
    make_steps(a, MD_PAIR_TABLE);
#endif
}
