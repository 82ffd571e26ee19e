/* neighbor.rebuild = device-check: whether the list is too old for the positions as they are. */
#ifndef MD_CUDA_STALE_CUH
#define MD_CUDA_STALE_CUH

#include "cuda/kernels/common.cuh"

__device__ inline bool is_too_old(const CudaArguments &a, const unsigned *moved_sq) {
    return MD_SW_neighbor_rebuild == MD_REBUILD_DEVICE_CHECK &&
           __uint_as_float(*(const volatile unsigned *)moved_sq) > a.stale_sq;
}

/* Whether a sample of the present positions comes again: the device has stopped, or the forces of the step, which may come after it,
 * will stop it. */
__device__ inline bool comes_again(const CudaArguments &a) {
    return a.status->stopped || is_too_old(a, &a.status->measures.moved_sq);
}

#endif
