/* The basis of all kernels: the precision, the layout of the particles, the box. Everything here is fixed when the
 * kernels are compiled, at the start of the program: MD_SW_<section>_<key> are the switches (values of
 * deck/choices.h), MD_SEVERAL_TYPES is a fact of the system, MD_BLOCK the threads of a block; list_options in compile.c has
 * them all. So a kernel is written once and has no branch for unused features. A unit depends on all names in its files, so
 * this file has only definitions that all of them need.
 *
 * Precision
 *   single  everything in float
 *   mixed   positions with 33 significant bits: the nearest float, and CUDA_LOW_BITS more a component, of all three in one
 *           word; they are put together to a double where a particle moves. What a step adds to a position is a thousandth of
 *           the float's last bits, and a rounding of it is a random force; what it adds to a velocity is a tenth of it, so
 *           a float is enough there. Pairs see the float; in bricks also eight of the low bits (bricks/tile.cuh).
 *   double  everything in double
 *
 * Layout: the ladder of memory.layout
 *   aos   packed xyz: threads side by side touch every third number, three loads of 4 bytes (double: 8) each of which
 *         uses a third of the lines that it brings; the other two find them in L1
 *   soa   one array a component: each load is coalesced, but a gather of one neighbour touches three lines
 *   vec4  one aligned vector: a gather is one 16-byte access (double: two of 16), position and type together; a third more
 *         bytes where the fourth is not needed */
#ifndef MD_CUDA_COMMON_CUH
#define MD_CUDA_COMMON_CUH

#include "cuda/context/shared.h"
#include "deck/choices.h"
#include "physics/box.h"
#include "physics/form.h"

#if MD_SW_launch_bounds == MD_ON
/* No more registers than let so many threads live on a multiprocessor at once, in the 32 blocks that it has room for. */
#define MD_BOUND_BLOCKS(threads) ((threads) / MD_BLOCK > 32 ? 32 : (threads) / MD_BLOCK > 0 ? (threads) / MD_BLOCK : 1)
#define MD_BOUNDS(threads)       __launch_bounds__(MD_BLOCK, MD_BOUND_BLOCKS(threads))
#else
#define MD_BOUNDS(threads)
#endif
/* So many blocks share a multiprocessor, as far as 64 registers a thread allow. */
#define MD_SHARED_THREADS(blocks) ((blocks)*MD_BLOCK > 1024 ? 1024 : (blocks)*MD_BLOCK)
/* The line above a kernel says what it reads and writes, as CudaArguments names it, and of how many. n: own atoms; n_stored: with the
 * copies after them; n_slots, n_sorted: the same while they are sorted. All read the box, the grid and the stop flag. */
#define MD_KERNEL_OF(threads)     extern "C" __global__ void MD_BOUNDS(threads)
#define MD_KERNEL                 MD_KERNEL_OF(MD_BOUND_THREADS)
#define MD_ARGUMENTS              const __grid_constant__ CudaArguments a

constexpr unsigned whole_warp = 0xffffffffu;

template <bool CONDITION, class A, class B> struct Select { typedef A type; };
template <class A, class B> struct Select<false, A, B> { typedef B type; };

constexpr bool is_single = MD_SW_run_precision == MD_PRECISION_SINGLE;
constexpr bool is_mixed = MD_SW_run_precision == MD_PRECISION_MIXED; /* pairs read another array than the state */
constexpr bool is_double = MD_SW_run_precision == MD_PRECISION_DOUBLE;
constexpr bool is_aos = MD_SW_memory_layout == MD_LAYOUT_AOS;
constexpr bool is_soa = MD_SW_memory_layout == MD_LAYOUT_SOA;
constexpr bool is_vec4 = MD_SW_memory_layout == MD_LAYOUT_VEC4;

typedef Select<is_single, float, double>::type State; /* a position on its way; mixed: of 33 bits, see storable */
typedef Select<is_double, double, float>::type Pair;  /* all that is stored */
typedef Select<is_double, MdPair_d, MdPair_f>::type PairParameters;

template <class T> struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) Vec4 { T x, y, z, w; };
template <class T> struct Vec3 { T x, y, z; };

/* The fourth component of a position, as bits: the type. In mixed precision the word of the low bits: of each component the upper
 * eight are a byte, x lowest; above these is the type, in four bits, and above that the last bits, x lowest. The uppermost bit
 * is 0: it is for positions in messages (batches/step_local.cuh). */
constexpr int type_shift = is_mixed ? 24 : 0, last_bits_shift = type_shift + 4;
constexpr unsigned most_types = 16;
static_assert(MD_N_TYPES <= most_types && CUDA_LOW_BITS == 9, "a word has room for them");
__device__ inline Pair word_bits(unsigned word) {
    if constexpr (is_double) return __longlong_as_double((long long)word);
    else return __uint_as_float(word);
}
__device__ inline unsigned word_of(float w) { return __float_as_uint(w); }
__device__ inline unsigned word_of(double w) { return (unsigned)__double_as_longlong(w); }
__device__ inline int type_of(unsigned word) { return (int)(word >> type_shift & (most_types - 1)); }

/* Several processes share the system: this one has a domain of it. */
constexpr bool has_domain = MD_DOMAIN;
/* Atoms that this GPU moves; and with the copies of the atoms around them, which follow in memory. */
__device__ inline int own_atoms(const CudaArguments &a) { return has_domain ? a.domain.table->n_own : a.n_own; }
__device__ inline int stored_atoms(const CudaArguments &a) {
    return has_domain ? a.domain.table->n_stored : a.n_stored;
}
/* The same while they are sorted: with several processes some of the slots may be free. */
__device__ inline int own_slots(const CudaArguments &a) { return has_domain ? a.domain.table->n_slots : a.n_own; }
__device__ inline int sorted_slots(const CudaArguments &a) {
    return has_domain ? a.domain.table->n_sorted : a.n_stored;
}

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

/* A vector together with its fourth component, which may be in a separate array. */
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
__device__ inline Full<Pair> load_velocity(const CudaParticles &p, int64_t i) {
    return load_full<Pair>(p.velocity, p.inverse_mass, i);
}

#ifndef MD_HAS_PTX_BY_NAME /* compilers without an assembler for PTX have these functions */
__device__ inline void ptx_prefetch_l2(const void *place) { asm volatile("prefetch.global.L2 [%0];" ::"l"(place)); }
#endif

/* Prefetch into L2: no register, no stall. */
__device__ inline void ask_for_velocity(const CudaParticles &p, int i) {
    if constexpr (is_vec4) ptx_prefetch_l2((const Vec4<Pair> *)p.velocity.part[0] + i);
}

/* --- positions of mixed precision --- */

/* The bits of a double as an integer: the sign apart, its steps are those of the last bits. */
constexpr int dropped_bits = 52 - 23 - CUDA_LOW_BITS;
constexpr long long low_half = 1ll << (dropped_bits + CUDA_LOW_BITS - 1); /* half a last bit of a float */

/* x rounded to a number that can be stored. Numbers that would be denormal floats become zero: the difference to the float
 * nearest to x must not reach beyond zero. */
__device__ inline State storable(State x) {
    if constexpr (is_mixed) {
        const long long bits = __double_as_longlong(x) + (1ll << (dropped_bits - 1));
        const bool is_small = ((unsigned)(bits >> 32) & 0x7fffffffu) < (1023u - 100u) << 20;
        return is_small ? 0.0 : __longlong_as_double(bits & ~((1ll << dropped_bits) - 1));
    } else {
        return x;
    }
}

__device__ inline Vec3<State> storable(const Vec3<State> &x) {
    return Vec3<State>{storable(x.x), storable(x.y), storable(x.z)};
}

/* A product that no compiler fuses with the following sum. */
__device__ inline float plain_product(float x, float y) { return __fmul_rn(x, y); }
__device__ inline double plain_product(double x, double y) { return __dmul_rn(x, y); }

#ifndef MD_HAS_PTX_BY_NAME /* compilers without an assembler for PTX have these functions */
/* Without a check for denormal floats: with flags that flush such numbers a cast takes three instructions. */
__device__ inline float ptx_cvt_rn_f32_f64(double x) {
    float rounded;
    asm("cvt.rn.f32.f64 %0, %1;" : "=f"(rounded) : "d"(x));
    return rounded;
}

/* The same value, unknown to the compiler. Of a number: it is computed here, and not after a later branch (where a compiler would
 * move these, too, if they were not volatile). Of an address: its content is loaded from then on, not kept in registers. */
__device__ inline float opaque(float x) {
    asm volatile("" : "+f"(x));
    return x;
}
__device__ inline double opaque(double x) {
    asm volatile("" : "+d"(x));
    return x;
}
template <class T> __device__ inline const T *opaque(const T *place) {
    asm volatile("" : "+l"(place));
    return place;
}
#endif

/* A storable x in parts: mixed precision, the nearest float, ties up, and the bits that it lacks, as a number from 0 that has half
 * of its range added. */
__device__ inline Pair split(State x, unsigned *low) {
    if constexpr (is_mixed) {
        const long long bits = __double_as_longlong(x) + low_half;
        *low = (unsigned)bits >> dropped_bits & ((1u << CUDA_LOW_BITS) - 1);
        return (Pair)ptx_cvt_rn_f32_f64(__longlong_as_double(bits & ~(2 * low_half - 1)));
    } else {
        *low = 0;
        return (Pair)x;
    }
}

/* A position as memory has it: as pairs see it, and its word. */
struct Place {
    Vec3<Pair> rounded;
    unsigned word;
};

/* The low bits of a component where the word has them. */
__device__ inline unsigned low_in_word(unsigned low, int axis) {
    return low >> 1 << 8 * axis | (low & 1u) << (last_bits_shift + axis);
}
__device__ inline unsigned low_of_word(unsigned word, int axis) {
    return (word >> 8 * axis & 255u) << 1 | (word >> (last_bits_shift + axis) & 1u);
}

/* Of a storable position. */
__device__ inline Place place_of(const Vec3<State> &x, int type) {
    unsigned low[3];
    Place place = {{split(x.x, &low[0]), split(x.y, &low[1]), split(x.z, &low[2])}, (unsigned)type << type_shift};
    if constexpr (is_mixed) place.word |= low_in_word(low[0], 0) | low_in_word(low[1], 1) | low_in_word(low[2], 2);
    return place;
}

__device__ inline double join(float rounded, unsigned low) {
    return __longlong_as_double(__double_as_longlong((double)rounded) + ((long long)low << dropped_bits) - low_half);
}

__device__ inline Vec3<State> join(const Vec3<Pair> &rounded, unsigned word) {
    return Vec3<State>{(State)join((float)rounded.x, low_of_word(word, 0)),
                       (State)join((float)rounded.y, low_of_word(word, 1)),
                       (State)join((float)rounded.z, low_of_word(word, 2))};
}

/* launch.fuse = step and memory.sort have positions twice, the second a.stride after the first: `from` and `to` are how far
 * into them. */

/* The type of a particle, from the array that holds it. */
__device__ inline int load_type(const CudaParticles &p, int64_t i, int64_t from = 0) {
    if constexpr (!MD_SEVERAL_TYPES) return 0;
    if constexpr (is_vec4) return type_of(word_of(((const Vec4<Pair> *)p.position.part[0])[i + from].w));
    else return p.type[i];
}

__device__ inline void store_place(const CudaParticles &p, int64_t i, const Place &place, int64_t to = 0) {
    if constexpr (is_mixed && !is_vec4) p.low[i] = place.word;
    store<Pair>(p.position, i + to, place.rounded, word_bits(place.word));
}

/* Writes a storable position. Returns it as pairs see it. */
__device__ inline Vec3<Pair> store_position(const CudaParticles &p, int64_t i, const Vec3<State> &x, int type,
                                            int64_t to = 0) {
    const Place place = place_of(x, type);
    store_place(p, i, place, to);
    return place.rounded;
}

__device__ inline Vec3<State> load_position(const CudaParticles &p, int64_t i, int64_t from = 0) {
    if constexpr (!is_mixed) {
        return load<State>(p.position, i + from);
    } else if constexpr (is_vec4) {
        const Full<Pair> rounded = load_full<Pair>(p.position, nullptr, i + from);
        return join(rounded.v, word_of(rounded.w));
    } else {
        return join(load<Pair>(p.position, i + from), p.low[i]);
    }
}

/* Copies entry j of `position` to entry i of another array. Returns it as pairs see it. */
__device__ inline Vec3<Pair> copy_rounded(const CudaVectors &to, int64_t i, const CudaVectors &position, int64_t j) {
    Pair word = 0;
    if constexpr (is_vec4) word = ((const Vec4<Pair> *)position.part[0])[j].w;
    const Vec3<Pair> rounded = load<Pair>(position, j);
    store<Pair>(to, i, rounded, word);
    return rounded;
}

/* Squared displacement from x0, its position of the last build: the actual one, or the predicted one (neighbor.predict). */
__device__ inline float displacement_sq(const Vec3<Pair> &x, const Vec3<Pair> &x0) {
    const Pair dx = x.x - x0.x, dy = x.y - x0.y, dz = x.z - x0.z;
    return (float)(dx * dx + dy * dy + dz * dz);
}

/* Sets the stop flag: work issued later has no effect until the host has handled it. The host gets all data
 * about a list that is too old, so that it need not ask. */
__device__ inline void set_stop_flag(const CudaArguments &a, unsigned why) {
    if (*(volatile unsigned *)&a.status->stopped) return; /* the host may have seen to it (cuda_sort_prepare) */
    a.status->stopped = why;
    *(volatile unsigned long long *)&a.host_status->stopped = CUDA_STOP_WORD(why, a.status->step); /* host memory */
}

/* The box edge and its inverse, and the numbers of a step, in the precision of pairs, already rounded by the host: a conversion from
 * double takes as long as eight additions. */
__device__ inline Pair box_length(const CudaArguments &a, int axis) {
    return (Pair)(is_double ? a.length[axis] : (double)a.length_f[axis]);
}
/* The box edge minus its float value. A minimum image subtracts both, the larger part first: atoms are wrapped by the edge itself,
 * so with only the float an atom that has crossed would jump by the rest as its neighbours see it, and the energy would drift. Bricks
 * have both in their shifts (shift_along in load_tile.cuh). */
__device__ inline Pair box_rest(const CudaArguments &a, int axis) {
    return (Pair)(is_double ? 0.0 : (double)a.rest_f[axis]);
}
__device__ inline Pair box_inverse(const CudaArguments &a, int axis) {
    return (Pair)(is_double ? a.inverse[axis] : (double)a.inverse_f[axis]);
}
__device__ inline Pair half_step(const CudaArguments &a) {
    return (Pair)(is_double ? a.half_step : (double)a.half_step_f);
}
__device__ inline Pair whole_step(const CudaArguments &a) {
    return (Pair)(is_double ? a.whole_step : (double)a.whole_step_f);
}
__device__ inline Pair fault_sq(const CudaArguments &a) {
    return (Pair)(is_double ? a.fault_sq : (double)a.fault_sq_f);
}

/* x moved by whole boxes into [0, length), as round(x) makes it; *image gains the number of boxes. Rounding matters: a double
 * just below length may round to length as a float, and then belongs to the other side. Any x is safe. */
template <class Round>
__device__ inline auto wrap(double x, double length, double inverse, int32_t *image, Round round) {
    if (inverse == 0) return round(x); /* open axis */
    /* fmin and fmax drop a NaN, and keep the count of boxes inside an int for any x */
    double boxes = fmin(fmax(floor(x * inverse), -1e9), 1e9);
    auto wrapped = round(x - boxes * length);
    if ((double)wrapped >= length) {
        wrapped = 0;
        boxes += 1;
    }
    if (wrapped < 0) wrapped = 0; /* rounding of x * inverse */
    *image += (int32_t)boxes;
    return wrapped;
}

/* Floats as unsigned integers of the same order, for the integer atomicMax: exact in any order, so
 * extremes finish in this way for any reduce.finish. Every float maps above 0. */
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
