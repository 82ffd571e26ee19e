/* The time of a launch and of a barrier. */
#include "microbench/kernels/ceiling.cuh"

/* Nothing, but that it was there. */
CEILING(latency_empty) {
    if (thread_index() == 0) atomicAdd(a.counts, 1u);
}

#ifndef MD_HAS_PTX_BY_NAME /* compilers without an assembler for PTX have these functions */
__device__ inline void ptx_griddepcontrol_launch_dependents(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ inline void ptx_griddepcontrol_wait(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
#endif

/* The same, launched before the kernel ahead of it has ended (CUDA C++ Programming Guide, "Programmatic Dependent Launch and
 * Synchronization"). */
CEILING(latency_dependent) {
    ptx_griddepcontrol_launch_dependents();
    ptx_griddepcontrol_wait();
    if (thread_index() == 0) atomicAdd(a.counts, 1u);
}

/* a.n barriers of a block; between them each thread looks whether the others have come. */
CEILING(latency_block) {
    __shared__ unsigned s_turn;
    unsigned late = 0;
    if (threadIdx.x == 0) s_turn = 0;
    __syncthreads(); /* it is zero */
    for (unsigned k = 0; k < (unsigned)a.n; k += 2) {
        if (threadIdx.x == 0) s_turn = k;
        __syncthreads(); /* the turn is written */
        late += s_turn != k;
        __syncthreads(); /* all have read it */
    }
    if (threadIdx.x == 0) atomicAdd(a.counts, (unsigned)a.n);
    if (late) atomicAdd(a.counts + 1, late);
}
