/* The three precisions as types: a stage is written once, as a template on one of them.
 *
 *   Single  state and pairs in float
 *   Mixed   state (positions, velocities) in double, pairs in float from a float copy of the positions
 *   Double  both in double
 *
 * Sums over particles are in double throughout. */
#ifndef MD_CUDA_PRECISION_H
#define MD_CUDA_PRECISION_H

#include <stdint.h>

#include "physics/box.h"
#include "physics/pair.h"

/* One aligned vector, so that a thread moves a particle by one 16-byte access (two for double). What w holds stands at
 * each array. */
template <class T> struct alignas(4 * sizeof(T)) Vec4 { T x, y, z, w; };

/* What travels with a particle but takes part in no formula: read at rebuilds and for output only. */
struct alignas(16) CudaTag {
    int32_t ix, iy, iz; /* periodic image */
    int32_t id;
};

template <class T> struct CudaPotential;
template <> struct CudaPotential<float> {
    typedef MdPair_f Pair;
    static Pair from(MdPair_d pair) { return md_pair_to_single(pair); }
};
template <> struct CudaPotential<double> {
    typedef MdPair_d Pair;
    static Pair from(MdPair_d pair) { return pair; }
};

struct CudaSingle {
    typedef float State, Pair;
    static const bool has_copy = false; /* whether pairs read another array than the state */
};
struct CudaMixed {
    typedef double State;
    typedef float Pair;
    static const bool has_copy = true;
};
struct CudaDouble {
    typedef double State, Pair;
    static const bool has_copy = false;
};

#ifdef __CUDACC__
/* The atom type travels in the bits of w: one gather brings place and type. */
__device__ inline int cuda_type_of(float w) { return __float_as_int(w); }
__device__ inline int cuda_type_of(double w) { return (int)__double_as_longlong(w); }
template <class T> __device__ inline T cuda_type_bits(int type);
template <> __device__ inline float cuda_type_bits<float>(int type) { return __int_as_float(type); }
template <> __device__ inline double cuda_type_bits<double>(int type) { return __longlong_as_double(type); }

/* A position as pairs see it: rounded to their precision, with the type. */
template <class Pair, class State> __device__ inline Vec4<Pair> cuda_pair_position(Vec4<State> x) {
    return Vec4<Pair>{(Pair)x.x, (Pair)x.y, (Pair)x.z, cuda_type_bits<Pair>(cuda_type_of(x.w))};
}

/* x moved by whole boxes into [0, length), as a number of type T; *image gains the number of boxes. T matters: a double
 * just below length may round to length as a float, and then belongs to the other side. Any x is safe. */
template <class T> __device__ inline T cuda_wrap(double x, double length, double inverse, int32_t *image) {
    if (inverse == 0) return (T)x; /* open axis */
    /* fmin and fmax drop a NaN, and keep the count of boxes inside an int whatever x is */
    double boxes = fmin(fmax(floor(x * inverse), -1e9), 1e9);
    T wrapped = (T)(x - boxes * length);
    if ((double)wrapped >= length) {
        wrapped = 0;
        boxes += 1;
    }
    if (wrapped < 0) wrapped = 0; /* rounding of x * inverse */
    *image += (int32_t)boxes;
    return wrapped;
}
#endif

#endif
