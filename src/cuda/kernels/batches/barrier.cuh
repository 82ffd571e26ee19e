/* The barrier over the whole grid, for kernels of which all blocks are resident.
 *
 * It costs two trips to the L2, one to bring the arrival and one to see it, and before them one that waits until
 * all writes have arrived there. Nothing else is in flight: a release by the one thread that arrives is all the fence there
 * is, an acquire by the one that looks (fence.sc, which __threadfence is, would take another trip), and threads look again
 * at once.
 *
 * Beside the arrivals the word has a flag that any thread may raise: all see at the end of the barrier whether any did. There
 * are two such flags in turn, since blocks that are through may come to the next barrier before the last ones have looked.
 *
 * A launch counts in one word and leaves the other one zero for the next (arguments.barrier_word says which is which). */
#ifndef MD_CUDA_BARRIER_CUH
#define MD_CUDA_BARRIER_CUH

#include "cuda/kernels/common.cuh"

#ifndef MD_HAS_PTX_BY_NAME /* compilers without an assembler for PTX have these functions */
__device__ inline void ptx_red_release_gpu_add(unsigned *place, unsigned value) {
#if __CUDA_ARCH__ >= 700
    asm volatile("red.release.gpu.add.u32 [%0], %1;" ::"l"(place), "r"(value) : "memory");
#else
    __threadfence();
    atomicAdd(place, value);
#endif
}
__device__ inline unsigned ptx_ld_acquire_gpu(const unsigned *place) {
    unsigned value;
#if __CUDA_ARCH__ >= 700
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(place) : "memory");
#else
    value = *(const volatile unsigned *)place;
    __threadfence();
#endif
    return value;
}
#endif

constexpr unsigned barrier_flags = 3u << 30; /* above the arrivals */

struct GridBarrier {
    unsigned *word;
    unsigned target, flag; /* arrivals that make it complete; the flag of this time */
};

/* At the begin of the kernel, by all threads. */
__device__ inline GridBarrier begin_barrier(const CudaArguments &a) {
    if (thread_index() == 0) a.barrier[(1 - a.barrier_word) * CUDA_BARRIER_STRIDE] = 0;
    return GridBarrier{a.barrier + a.barrier_word * CUDA_BARRIER_STRIDE, 0, 1u << 31};
}

/* Returns when all blocks have come; every thread then sees all earlier writes of any thread. With FLAGS: whether any
 * thread of the grid raises the flag. */
template <bool FLAGS> __device__ inline bool grid_barrier(GridBarrier *barrier, bool raises) {
    bool raised = false;
    barrier->target += gridDim.x;
    if constexpr (FLAGS) raises = __syncthreads_or(raises); /* the whole block has come */
    else __syncthreads();
    if (threadIdx.x == 0) {
        if (FLAGS && raises) atomicOr(barrier->word, barrier->flag); /* before the arrival: it is the same word */
        ptx_red_release_gpu_add(barrier->word, 1u);
        unsigned seen;
        while (((seen = ptx_ld_acquire_gpu(barrier->word)) & ~barrier_flags) < barrier->target) {}
        raised = (seen & barrier->flag) != 0;
    }
    barrier->flag ^= barrier_flags;
    if constexpr (FLAGS) return __syncthreads_or(raised);
    __syncthreads();
    return false;
}

/* For a kernel that goes on after a barrier where a flag was raised: the next one in turn would see it again. By two barriers. */
__device__ inline void lower_flags(GridBarrier *barrier) {
    grid_barrier<false>(barrier, false); /* all have looked */
    if (thread_index() == 0) atomicAnd(barrier->word, ~barrier_flags);
    grid_barrier<false>(barrier, false);
}

#endif
