/* neighbor.predict: how far the list position of a particle is ahead of it, and that position as pairs see it. Several
 * kernels compute this, and must get the same bits: nothing is fused here. */
#ifndef MD_CUDA_AHEAD_CUH
#define MD_CUDA_AHEAD_CUH

#include "cuda/kernels/cells.cuh"
#include "physics/predict.h"

__device__ inline float plain_sum(float x, float y) { return __fadd_rn(x, y); }
__device__ inline double plain_sum(double x, double y) { return __dadd_rn(x, y); }

__device__ inline Vec3<Pair> way_ahead(const CudaArguments &a, const Vec3<Pair> &v) {
    if constexpr (!predicts) return Vec3<Pair>{0, 0, 0};
    const Pair time = (Pair)a.status->ahead;
    const Vec3<Pair> way = {plain_product(time, v.x), plain_product(time, v.y), plain_product(time, v.z)};
    const Pair way_sq =
        plain_sum(plain_sum(plain_product(way.x, way.x), plain_product(way.y, way.y)), plain_product(way.z, way.z));
    const Pair scale = md_predict_scale(way_sq, (Pair)a.stale_sq);
    if (scale == 0) return Vec3<Pair>{0, 0, 0};
    return Vec3<Pair>{plain_product(scale, way.x), plain_product(scale, way.y), plain_product(scale, way.z)};
}

__device__ inline Vec3<Pair> place_ahead(const Vec3<Pair> &rounded, const Vec3<Pair> &way) {
    if constexpr (!predicts) return rounded;
    return Vec3<Pair>{plain_sum(rounded.x, way.x), plain_sum(rounded.y, way.y), plain_sum(rounded.z, way.z)};
}

#endif
