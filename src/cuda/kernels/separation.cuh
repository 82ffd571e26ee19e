/* How far two particles are from each other: what of the box the units that look at pairs are compiled for. */
#ifndef MD_CUDA_SEPARATION_CUH
#define MD_CUDA_SEPARATION_CUH

#include "cuda/kernels/common.cuh"

/* Vector from y to x, to the nearest image along periodic axes. */
__device__ inline Vec3<Pair> separation(const CudaArguments &a, const Vec3<Pair> &x, const Vec3<Pair> &y) {
    Vec3<Pair> d = {x.x - y.x, x.y - y.y, MD_DIMENSION == 3 ? x.z - y.z : Pair(0)};
    if (MD_PERIODIC_X) d.x = md_nearest_image(d.x, box_length(a, 0), box_inverse(a, 0));
    if (MD_PERIODIC_Y) d.y = md_nearest_image(d.y, box_length(a, 1), box_inverse(a, 1));
    if (MD_PERIODIC_Z) d.z = md_nearest_image(d.z, box_length(a, 2), box_inverse(a, 2));
    return d;
}

__device__ inline Pair squared(const Vec3<Pair> &d) {
    return MD_DIMENSION == 3 ? d.x * d.x + d.y * d.y + d.z * d.z : d.x * d.x + d.y * d.y;
}

#endif
