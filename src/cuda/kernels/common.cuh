/* What all kernels build on: the precision, the layout of the particles, the box. Everything here is fixed when the
 * kernels are compiled, at the start of the program: MD_SW_<section>_<key> are the switches (values of
 * deck/choices.h), MD_N_TYPES, MD_SHIFTED, MD_DIMENSION and MD_PERIODIC_<axis> the system, MD_BLOCK the threads of a
 * block. So a kernel is written once and has no branch for what the run does not use.
 *
 * Precision
 *   single  state and pairs in float
 *   mixed   state (positions, velocities) in double, pairs in float from a float copy of the positions
 *   double  both in double
 *
 * Layout: the ladder of memory.layout
 *   aos   packed xyz: threads side by side touch every third number, three loads of 4 bytes (double: 8) each of which
 *         uses a third of the lines that it brings; the other two find them in L1
 *   soa   one array a component: each load is coalesced, but a gather of one neighbour touches three lines
 *   vec4  one aligned vector: a gather is one 16-byte access (double: two of 16), place and type together; a third more
 *         bytes where the fourth is not needed */
#ifndef MD_CUDA_COMMON_CUH
#define MD_CUDA_COMMON_CUH

#include "cuda/shared.h"
#include "deck/choices.h"
#include "physics/box.h"
#include "physics/pair.h"

#if MD_SW_launch_bounds
/* No more registers than let so many threads live on a multiprocessor at once, in the 32 blocks that it has room for. */
#define MD_BOUND_BLOCKS(threads) ((threads) / MD_BLOCK > 32 ? 32 : (threads) / MD_BLOCK > 0 ? (threads) / MD_BLOCK : 1)
#define MD_BOUNDS(threads)       __launch_bounds__(MD_BLOCK, MD_BOUND_BLOCKS(threads))
#else
#define MD_BOUNDS(threads)
#endif
#define MD_KERNEL_OF(threads) extern "C" __global__ void MD_BOUNDS(threads)
#define MD_KERNEL             MD_KERNEL_OF(MD_BOUND_THREADS)
#define MD_ARGUMENTS          const __grid_constant__ CudaArguments a

template <bool CONDITION, class A, class B> struct Select { typedef A type; };
template <class A, class B> struct Select<false, A, B> { typedef B type; };

constexpr bool is_single = MD_SW_run_precision == MD_PRECISION_SINGLE;
constexpr bool is_mixed = MD_SW_run_precision == MD_PRECISION_MIXED; /* pairs read another array than the state */
constexpr bool is_double = MD_SW_run_precision == MD_PRECISION_DOUBLE;
constexpr bool is_aos = MD_SW_memory_layout == MD_LAYOUT_AOS;
constexpr bool is_soa = MD_SW_memory_layout == MD_LAYOUT_SOA;
constexpr bool is_vec4 = MD_SW_memory_layout == MD_LAYOUT_VEC4;

typedef Select<is_single, float, double>::type State;
typedef Select<is_double, double, float>::type Pair;
typedef Select<is_double, MdPair_d, MdPair_f>::type PairParameters;

template <class T> struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) Vec4 { T x, y, z, w; };
template <class T> struct Vec3 { T x, y, z; };

/* The atom type travels in the bits of the fourth component. */
__device__ inline int type_of(float w) { return __float_as_int(w); }
__device__ inline int type_of(double w) { return (int)__double_as_longlong(w); }
template <class T> __device__ inline T type_bits(int type);
template <> __device__ inline float type_bits<float>(int type) { return __int_as_float(type); }
template <> __device__ inline double type_bits<double>(int type) { return __longlong_as_double(type); }

__device__ inline int thread_index() { return (int)(blockIdx.x * blockDim.x + threadIdx.x); }
__device__ inline int grid_size() { return (int)(gridDim.x * blockDim.x); }

template <class T> __device__ inline Vec3<T> load(const CudaVectors &v, int64_t i) {
    if constexpr (is_aos) {
        const T *xyz = (const T *)v.part[0] + 3 * i;
        return Vec3<T>{xyz[0], xyz[1], xyz[2]};
    } else if constexpr (is_soa) {
        return Vec3<T>{((const T *)v.part[0])[i], ((const T *)v.part[1])[i], ((const T *)v.part[2])[i]};
    } else {
        const Vec4<T> x = ((const Vec4<T> *)v.part[0])[i];
        return Vec3<T>{x.x, x.y, x.z};
    }
}

/* w is written with vec4 only. */
template <class T> __device__ inline void store(const CudaVectors &v, int64_t i, Vec3<T> x, T w) {
    if constexpr (is_aos) {
        T *xyz = (T *)v.part[0] + 3 * i;
        xyz[0] = x.x;
        xyz[1] = x.y;
        xyz[2] = x.z;
    } else if constexpr (is_soa) {
        ((T *)v.part[0])[i] = x.x;
        ((T *)v.part[1])[i] = x.y;
        ((T *)v.part[2])[i] = x.z;
    } else {
        ((Vec4<T> *)v.part[0])[i] = Vec4<T>{x.x, x.y, x.z, w};
    }
}

/* A vector together with what stands in its fourth component, or in an array of its own. */
template <class T> struct Full {
    Vec3<T> v;
    T w;
};

template <class T> __device__ inline Full<T> load_full(const CudaVectors &v, const void *fourth, int64_t i) {
    if constexpr (is_vec4) {
        const Vec4<T> x = ((const Vec4<T> *)v.part[0])[i];
        return Full<T>{Vec3<T>{x.x, x.y, x.z}, x.w};
    } else {
        return Full<T>{load<T>(v, i), ((const T *)fourth)[i]};
    }
}

/* Velocity with 1/mass. */
__device__ inline Full<State> load_velocity(const CudaParticles &p, int64_t i) {
    return load_full<State>(p.velocity, p.inverse_mass, i);
}

/* launch.fuse = step has positions twice, the second n_atoms behind the first: `from` and `to` are how far into them. */

/* The type of a particle, from whatever holds it. */
__device__ inline int load_type(const CudaParticles &p, int64_t i, int64_t from = 0) {
    if constexpr (MD_N_TYPES == 1) return 0;
    if constexpr (is_vec4) return type_of(((const Vec4<Pair> *)p.position.part[0])[i + from].w);
    else return p.type[i];
}

/* Writes a position as pairs see it: it is returned. In mixed precision the state has another one. */
__device__ inline Vec3<Pair> store_seen(const CudaParticles &p, int64_t i, Vec3<State> x, int type, int64_t to) {
    const Vec3<Pair> seen = {(Pair)x.x, (Pair)x.y, (Pair)x.z};
    store<Pair>(p.position, i + to, seen, type_bits<Pair>(type));
    return seen;
}

/* Writes a position to the state, and as pairs see it. */
__device__ inline Vec3<Pair> store_position(const CudaParticles &p, int64_t i, Vec3<State> x, int type,
                                            int64_t to = 0) {
    if constexpr (is_mixed) store<State>(p.state, i, x, type_bits<State>(type));
    return store_seen(p, i, x, type, to);
}

__device__ inline Vec3<State> load_state(const CudaParticles &p, int64_t i, int64_t from) {
    return load<State>(p.state, is_mixed ? i : i + from);
}

/* Squared displacement since the last build, when it was at x0. */
__device__ inline float displacement_sq(const Vec3<Pair> &x, const Vec3<Pair> &x0) {
    const Pair dx = x.x - x0.x, dy = x.y - x0.y, dz = x.z - x0.z;
    return (float)(dx * dx + dy * dy + dz * dz);
}

/* The device stands still from here on: what was issued has no effect until the host has seen to it. */
__device__ inline void halt(const CudaArguments &a, unsigned why) {
    a.watch->halted = why;
    *(volatile int *)&a.signals->halted = 1; /* host memory */
}

/* The box edge and its inverse in the precision of pairs, already rounded by the host. */
__device__ inline Pair box_length(const CudaArguments &a, int axis) {
    return (Pair)(is_double ? a.length[axis] : (double)a.length_f[axis]);
}
__device__ inline Pair box_inverse(const CudaArguments &a, int axis) {
    return (Pair)(is_double ? a.inverse[axis] : (double)a.inverse_f[axis]);
}

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

/* x moved by whole boxes into [0, length), as a number of type T; *image gains the number of boxes. T matters: a double
 * just below length may round to length as a float, and then belongs to the other side. Any x is safe. */
template <class T> __device__ inline T wrap(double x, double length, double inverse, int32_t *image) {
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

/* Floats as unsigned integers of the same order, so that the integer atomicMax serves: exact, and free of order, so that
 * extremes finish in this way whatever reduce.finish says. Every float maps above 0. */
__device__ inline unsigned float_key(float value) {
    unsigned bits = __float_as_uint(value);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* Dynamic shared memory of the kernel, as an array of TYPE; all names share the one block of it. */
#ifndef MD_DYNAMIC_SHARED
#define MD_DYNAMIC_SHARED(TYPE, name)                                                                                  \
    extern __shared__ double s_dynamic[];                                                                              \
    TYPE *const name = (TYPE *)s_dynamic
#endif

#if MD_COUNT
#define MD_COUNT_ADD(which, amount) atomicAdd(&a.counters[which], (unsigned long long)(amount))
#else
#define MD_COUNT_ADD(which, amount) ((void)0)
#endif

#endif
