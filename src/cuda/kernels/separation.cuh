/* The distance of two particles: the properties of the box that pair units are compiled for. */
#ifndef MD_CUDA_SEPARATION_CUH
#define MD_CUDA_SEPARATION_CUH

#include "cuda/kernels/common.cuh"

/* Nearest image of a distance component. */
__device__ inline Pair nearest_image(const CudaArguments &a, int axis, Pair d) {
    const Pair boxes = rint(d * box_inverse(a, axis));
    d -= boxes * box_length(a, axis);
    if constexpr (!is_double) d -= boxes * box_rest(a, axis);
    return d;
}

/* Vector from y to x, to the nearest image along periodic axes. */
__device__ inline Vec3<Pair> separation(const CudaArguments &a, const Vec3<Pair> &x, const Vec3<Pair> &y) {
    Vec3<Pair> d = {x.x - y.x, x.y - y.y, MD_DIMENSION == 3 ? x.z - y.z : Pair(0)};
    if (MD_PERIODIC_X) d.x = nearest_image(a, 0, d.x);
    if (MD_PERIODIC_Y) d.y = nearest_image(a, 1, d.y);
    if (MD_PERIODIC_Z) d.z = nearest_image(a, 2, d.z);
    return d;
}

__device__ inline Pair squared(const Vec3<Pair> &d) {
    return MD_DIMENSION == 3 ? d.x * d.x + d.y * d.y + d.z * d.z : d.x * d.x + d.y * d.y;
}

#endif
