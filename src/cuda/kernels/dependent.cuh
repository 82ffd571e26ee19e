/* Programmatic dependent launch (CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization"): a kernel
 * that is launched with the attribute may come before the one ahead of it in the stream has ended. Below compute capability
 * 9.0 there is no such thing, and nothing to do. */
#ifndef MD_CUDA_DEPENDENT_CUH
#define MD_CUDA_DEPENDENT_CUH

#ifndef MD_HAS_PTX_BY_NAME /* who has no assembler for PTX has these functions */
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

#endif
