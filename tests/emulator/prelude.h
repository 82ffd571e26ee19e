/* The device language of CUDA C++ for g++: what NVRTC knows without a header. The emulator puts abi.h in front of this
 * and includes both into each kernel program. Nothing is included here: a compilation has to be quick, and kernels that
 * use a host header must fail as they do with NVRTC.
 *
 * __global__, __shared__ and __launch_bounds__ are not macros: rewrite.c replaces them after preprocessing.
 *
 * Threads of all blocks share one thread of the host, so that atomics are plain arithmetic. What is not exactly the
 * GPU's: approximate functions (rsqrtf, __fdividef, __expf, ...) are exact here. */
#pragma GCC system_header

#define __CUDACC__           1
#define __CUDACC_RTC__       1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __device__           __attribute__((visibility("default")))
#define __host__
#define __constant__ __attribute__((visibility("default"), used))
#define __managed__
#define __grid_constant__
#define __restrict__ __restrict
#define __forceinline__      inline __attribute__((always_inline))
#define __noinline__         __attribute__((noinline))
#define __align__(n)         __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __inline_hint__
#define __builtin_assume(condition)                                                                                    \
    ((condition) ? (void)0 : emulator_services->fail("__builtin_assume does not hold: " #condition, EMULATOR_WHERE))
#define __builtin_assume_aligned(pointer, ...) (pointer)
#undef assert
#define assert(condition)                                                                                              \
    ((condition) ? (void)0 : emulator_services->fail("assertion failed: " #condition, EMULATOR_WHERE))
#define __trap() emulator_services->fail("__trap()", EMULATOR_WHERE)

#define EMULATOR_TEXT_(x) #x
#define EMULATOR_TEXT(x)  EMULATOR_TEXT_(x)
#define EMULATOR_WHERE    __FILE__ ":" EMULATOR_TEXT(__LINE__)

typedef __SIZE_TYPE__ size_t;
typedef __UINTPTR_TYPE__ emulator_address;

__attribute__((visibility("hidden"))) const EmulatorServices *emulator_services;
__attribute__((visibility("hidden"))) EmulatorThread *emulator_self;

typedef EmulatorIndex uint3;
typedef EmulatorIndex dim3;
#define threadIdx (emulator_self->thread)
#define blockIdx  (emulator_self->block)
#define blockDim  (emulator_self->block_size)
#define gridDim   (emulator_self->grid_size)
#define warpSize  32

/* --- vectors -------------------------------------------------------------------------------------------------------- */
#define EMULATOR_VECTOR1(T, name)                                                                                      \
    struct name##1 {                                                                                                   \
        T x;                                                                                                           \
    };                                                                                                                 \
    static inline name##1 make_##name##1(T x) { return {x}; }
#define EMULATOR_VECTOR2(T, name, bytes)                                                                               \
    struct __attribute__((aligned(bytes))) name##2 {                                                                   \
        T x, y;                                                                                                        \
    };                                                                                                                 \
    static inline name##2 make_##name##2(T x, T y) { return {x, y}; }
#define EMULATOR_VECTOR3(T, name)                                                                                      \
    struct name##3 {                                                                                                   \
        T x, y, z;                                                                                                     \
    };                                                                                                                 \
    static inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }
#define EMULATOR_VECTOR4(T, name, bytes)                                                                               \
    struct __attribute__((aligned(bytes))) name##4 {                                                                   \
        T x, y, z, w;                                                                                                  \
    };                                                                                                                 \
    static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
EMULATOR_VECTOR1(float, float)
EMULATOR_VECTOR1(int, int)
EMULATOR_VECTOR1(unsigned, uint)
EMULATOR_VECTOR2(signed char, char, 2)
EMULATOR_VECTOR2(unsigned char, uchar, 2)
EMULATOR_VECTOR2(short, short, 4)
EMULATOR_VECTOR2(unsigned short, ushort, 4)
EMULATOR_VECTOR2(int, int, 8)
EMULATOR_VECTOR2(unsigned, uint, 8)
EMULATOR_VECTOR2(float, float, 8)
EMULATOR_VECTOR2(double, double, 16)
EMULATOR_VECTOR2(long long, longlong, 16)
EMULATOR_VECTOR2(unsigned long long, ulonglong, 16)
EMULATOR_VECTOR3(int, int)
EMULATOR_VECTOR3(float, float)
EMULATOR_VECTOR3(double, double)
EMULATOR_VECTOR4(signed char, char, 4)
EMULATOR_VECTOR4(unsigned char, uchar, 4)
EMULATOR_VECTOR4(short, short, 8)
EMULATOR_VECTOR4(unsigned short, ushort, 8)
EMULATOR_VECTOR4(int, int, 16)
EMULATOR_VECTOR4(unsigned, uint, 16)
EMULATOR_VECTOR4(float, float, 16)
EMULATOR_VECTOR4(double, double, 16)
EMULATOR_VECTOR4(long long, longlong, 16)
EMULATOR_VECTOR4(unsigned long long, ulonglong, 16)
static inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

/* --- barriers, fences, waiting -------------------------------------------------------------------------------------- */
#define __syncthreads()        ((void)emulator_services->barrier(EMULATOR_BARRIER, 0, EMULATOR_WHERE))
#define __syncthreads_count(p) emulator_services->barrier(EMULATOR_BARRIER_COUNT, (p) != 0, EMULATOR_WHERE)
#define __syncthreads_and(p)   emulator_services->barrier(EMULATOR_BARRIER_AND, (p) != 0, EMULATOR_WHERE)
#define __syncthreads_or(p)    emulator_services->barrier(EMULATOR_BARRIER_OR, (p) != 0, EMULATOR_WHERE)
static inline void __threadfence_block() { __asm__ volatile("" ::: "memory"); }
static inline void __threadfence() { __asm__ volatile("" ::: "memory"); }
static inline void __threadfence_system() { __asm__ volatile("" ::: "memory"); }
static inline void __nanosleep(unsigned) { emulator_services->yield(); }
static inline long long clock64() { return (long long)__builtin_ia32_rdtsc(); }
static inline int clock() { return (int)__builtin_ia32_rdtsc(); }

/* --- bits ----------------------------------------------------------------------------------------------------------- */
template <class To, class From> static inline To emulator_bits(From from) {
    To to{};
    static_assert(sizeof(To) >= sizeof(From), "bits would be lost");
    __builtin_memcpy(&to, &from, sizeof from);
    return to;
}
template <class To, class From> static inline To emulator_low_bits(From from) {
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
static inline int __float_as_int(float x) { return emulator_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return emulator_bits<unsigned>(x); }
static inline float __int_as_float(int x) { return emulator_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return emulator_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return emulator_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return emulator_bits<double>(x); }
static inline int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
static inline int __double2loint(double x) { return (int)__double_as_longlong(x); }
static inline double __hiloint2double(int high, int low) {
    return __longlong_as_double((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; bit++) reversed |= (x >> bit & 1u) << (31 - bit);
    return reversed;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    const unsigned long long bytes = (unsigned long long)high << 32 | low;
    unsigned result = 0;
    for (int k = 0; k < 4; k++) result |= (unsigned)(bytes >> 8 * (selector >> 4 * k & 7) & 0xff) << 8 * k;
    return result; /* selectors of 8 and more, which repeat a sign, are not used */
}
static inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
static inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
static inline int __mul24(int x, int y) { return x * y; }
static inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
static inline int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
static inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}

/* --- warps ---------------------------------------------------------------------------------------------------------- */
/* All bits set: what a lane outside the mask has to give; NaN as a number. */
template <class T> static inline T emulator_shuffle(const char *where, unsigned mask, T value, int source) {
    static_assert(sizeof(T) <= 8, "shuffles move 4 or 8 bytes");
    return emulator_low_bits<T>(
        emulator_services->warp(EMULATOR_WARP_SHUFFLE, mask, emulator_bits<unsigned long long>(value), source, where));
}
/* The intrinsics take numbers only; tiles of cooperative groups whatever has the size of one. */
template <class T> struct EmulatorIsNumber {
    enum { value = 0 };
};
#define EMULATOR_NUMBER(T)                                                                                             \
    template <> struct EmulatorIsNumber<T> {                                                                           \
        enum { value = 1 };                                                                                            \
    };
EMULATOR_NUMBER(int)
EMULATOR_NUMBER(unsigned)
EMULATOR_NUMBER(long)
EMULATOR_NUMBER(unsigned long)
EMULATOR_NUMBER(long long)
EMULATOR_NUMBER(unsigned long long)
EMULATOR_NUMBER(float)
EMULATOR_NUMBER(double)
template <class T> static inline T emulator_number(T value) {
    static_assert(EmulatorIsNumber<T>::value, "no shuffle of the hardware moves this type");
    return value;
}
static inline int emulator_width(const char *where, int width) {
    if (width < 1 || width > 32 || (width & (width - 1))) emulator_services->fail("width of a shuffle", where);
    return width;
}
template <class T>
static inline T emulator_shfl(const char *where, unsigned mask, T value, int source, int width = 32) {
    int lane = (int)emulator_self->lane, low = lane & ~(emulator_width(where, width) - 1);
    return emulator_shuffle(where, mask, value, low | (source & (width - 1)));
}
template <class T>
static inline T emulator_shfl_up(const char *where, unsigned mask, T value, unsigned delta, int width = 32) {
    int lane = (int)emulator_self->lane, low = lane & ~(emulator_width(where, width) - 1), source = lane - (int)delta;
    return emulator_shuffle(where, mask, value, source < low ? lane : source);
}
template <class T>
static inline T emulator_shfl_down(const char *where, unsigned mask, T value, unsigned delta, int width = 32) {
    int lane = (int)emulator_self->lane, low = lane & ~(emulator_width(where, width) - 1), source = lane + (int)delta;
    return emulator_shuffle(where, mask, value, source >= low + width ? lane : source);
}
template <class T>
static inline T emulator_shfl_xor(const char *where, unsigned mask, T value, int bits, int width = 32) {
    int lane = (int)emulator_self->lane, low = lane & ~(emulator_width(where, width) - 1), source = lane ^ bits;
    return emulator_shuffle(where, mask, value, source >= low + width ? lane : source);
}
#define __shfl_sync(mask, value, ...)      emulator_shfl(EMULATOR_WHERE, mask, emulator_number(value), __VA_ARGS__)
#define __shfl_up_sync(mask, value, ...)   emulator_shfl_up(EMULATOR_WHERE, mask, emulator_number(value), __VA_ARGS__)
#define __shfl_down_sync(mask, value, ...) emulator_shfl_down(EMULATOR_WHERE, mask, emulator_number(value), __VA_ARGS__)
#define __shfl_xor_sync(mask, value, ...)  emulator_shfl_xor(EMULATOR_WHERE, mask, emulator_number(value), __VA_ARGS__)

static inline void emulator_syncwarp(const char *where, unsigned mask = 0xffffffffu) {
    emulator_services->warp(EMULATOR_WARP_SYNC, mask, 0, 0, where);
}
#define __syncwarp(...) emulator_syncwarp(EMULATOR_WHERE __VA_OPT__(, ) __VA_ARGS__)

/* In place of the instructions of kernels/bricks/force.cuh and search_matrix.cuh. */
#define MD_LOAD_SHARED_FLOATS(x, y, z, w, from)                                                                        \
    ((x) = ((const float *)(from))[0], (y) = ((const float *)(from))[1], (z) = ((const float *)(from))[2],             \
     (w) = ((const float *)(from))[3])
#define MD_COPY_16(to, from) memcpy((void *)(to), (const void *)(from), 16)
#define MD_WAIT_FOR_COPIES() ((void)0)
/* N: 4, or 2 where the first matrix has its upper half only. */
template <int N>
static inline void emulator_multiply(const char *where, double (&product)[N], double upper, double lower, double b,
                                     const double (&add)[N]) {
    EmulatorMatrices matrices = {{upper, lower}, b, {}, {}};
    for (int k = 0; k < N; k++) matrices.add[k] = add[k];
    emulator_services->warp(EMULATOR_WARP_MULTIPLY, 0xffffffffu, (unsigned long long)&matrices, 0, where);
    for (int k = 0; k < N; k++) product[k] = matrices.product[k];
}
#define MD_MULTIPLY_MATRICES(product, upper, lower, b, add)                                                            \
    emulator_multiply(EMULATOR_WHERE, product, upper, lower, b, add)
/* A half as a double and back, rounded to even; of normal numbers and zero, which is what kernels have. */
static inline double emulator_of_half(unsigned bits) {
    const unsigned exponent = bits >> 10 & 31;
    const double size = exponent ? __builtin_ldexp((double)((bits & 0x3ff) + 0x400), (int)exponent - 25) : 0;
    return bits & 0x8000 ? -size : size;
}
static inline unsigned emulator_to_half(double x) {
    int exponent = 0;
    const unsigned sign = x < 0 ? 0x8000 : 0;
    if (x == 0) return 0;
    __builtin_frexp(x, &exponent);
    const double steps = __builtin_rint(__builtin_ldexp(__builtin_fabs(x), 11 - exponent)); /* 1024 to 2048 */
    const int bits = ((exponent + 13) << 10) + (int)steps;
    if (bits < 0x400 || bits >= 0x7c00) emulator_services->fail("not a normal half", EMULATOR_WHERE);
    return sign | (unsigned)bits;
}
/* A product of halves is four of every fourth of its columns and rows: those of register k / 2, half k % 2, of each lane. */
static inline void emulator_multiply_halves(const char *where, float (&sum)[4], const unsigned (&a)[4],
                                            const unsigned (&b)[2]) {
    double total[4] = {sum[0], sum[1], sum[2], sum[3]};
    for (int k = 0; k < 4; k++) {
        const int high = k % 2 * 16, from = k / 2;
        emulator_multiply(where, total, emulator_of_half(a[2 * from] >> high & 0xffff),
                          emulator_of_half(a[2 * from + 1] >> high & 0xffff),
                          emulator_of_half(b[from] >> high & 0xffff), total);
    }
    for (int e = 0; e < 4; e++) sum[e] = (float)total[e];
}
#define ptx_mma_m16n8k16_f16(sum, a, b) emulator_multiply_halves(EMULATOR_WHERE, sum, a, b)
static inline unsigned emulator_ballot(const char *where, unsigned mask, int predicate) {
    return (unsigned)emulator_services->warp(EMULATOR_WARP_BALLOT, mask, predicate != 0, 0, where);
}
#define __ballot_sync(mask, predicate) emulator_ballot(EMULATOR_WHERE, mask, predicate)
#define __any_sync(mask, predicate)    (emulator_ballot(EMULATOR_WHERE, mask, predicate) != 0)
#define __all_sync(mask, predicate)    (emulator_ballot(EMULATOR_WHERE, mask, !(predicate)) == 0)
/* Any set of lanes that contains the caller is a legal answer: the smallest finds code that counts on more. */
static inline unsigned __activemask() { return 1u << emulator_self->lane; }
template <class T> static inline unsigned emulator_match(const char *where, unsigned mask, T value) {
    return (unsigned)emulator_services->warp(EMULATOR_WARP_MATCH, mask, emulator_bits<unsigned long long>(value), 0,
                                             where);
}
#define __match_any_sync(mask, value) emulator_match(EMULATOR_WHERE, mask, value)
static inline int emulator_reduce(int operation, int, const char *where, unsigned mask, int value) {
    return (int)emulator_services->warp(operation, mask, (unsigned long long)(long long)value, 0, where);
}
static inline unsigned emulator_reduce(int, int operation, const char *where, unsigned mask, unsigned value) {
    return (unsigned)emulator_services->warp(operation, mask, value, 0, where);
}
#define __reduce_add_sync(m, v) emulator_reduce(EMULATOR_WARP_ADD, EMULATOR_WARP_ADD, EMULATOR_WHERE, m, v)
#define __reduce_min_sync(m, v) emulator_reduce(EMULATOR_WARP_MIN, EMULATOR_WARP_MIN_UNSIGNED, EMULATOR_WHERE, m, v)
#define __reduce_max_sync(m, v) emulator_reduce(EMULATOR_WARP_MAX, EMULATOR_WARP_MAX_UNSIGNED, EMULATOR_WHERE, m, v)
#define __reduce_and_sync(m, v) emulator_reduce(EMULATOR_WARP_AND, EMULATOR_WARP_AND, EMULATOR_WHERE, m, (unsigned)(v))
#define __reduce_or_sync(m, v)  emulator_reduce(EMULATOR_WARP_OR, EMULATOR_WARP_OR, EMULATOR_WHERE, m, (unsigned)(v))
#define __reduce_xor_sync(m, v) emulator_reduce(EMULATOR_WARP_XOR, EMULATOR_WARP_XOR, EMULATOR_WHERE, m, (unsigned)(v))

/* --- atomics, for the types that the hardware has ------------------------------------------------------------------- */
#define EMULATOR_ATOMIC_AS(is_news, name, T, expression)                                                               \
    static inline T name(T *place, T value) {                                                                          \
        emulator_services->at_atomic(is_news);                                                                         \
        T before = *(volatile T *)place;                                                                               \
        *(volatile T *)place = (expression);                                                                           \
        return before;                                                                                                 \
    }                                                                                                                  \
    static inline T name##_block(T *place, T value) { return name(place, value); }                                     \
    /* other processes may be at it */                                                                                 \
    static inline T name##_system(T *place, T value) {                                                                 \
        emulator_services->at_atomic(is_news);                                                                         \
        T before, after;                                                                                               \
        __atomic_load(place, &before, __ATOMIC_SEQ_CST);                                                               \
        do after = (expression);                                                                                       \
        while (!__atomic_compare_exchange(place, &before, &after, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));             \
        return before;                                                                                                 \
    }
#define EMULATOR_ATOMIC(name, T, expression)  EMULATOR_ATOMIC_AS(0, name, T, expression)
#define EMULATOR_EXTREME(name, T, expression) EMULATOR_ATOMIC_AS(1, name, T, expression)
#define EMULATOR_ATOMICS(name, expression)                                                                             \
    EMULATOR_ATOMIC(name, int, expression)                                                                             \
    EMULATOR_ATOMIC(name, unsigned, expression)                                                                        \
    EMULATOR_ATOMIC(name, unsigned long long, expression)
#define EMULATOR_EXTREMES(name, expression)                                                                            \
    EMULATOR_EXTREME(name, int, expression)                                                                            \
    EMULATOR_EXTREME(name, unsigned, expression)                                                                       \
    EMULATOR_EXTREME(name, unsigned long long, expression)                                                             \
    EMULATOR_EXTREME(name, long long, expression)
EMULATOR_ATOMICS(atomicAdd, before + value)
EMULATOR_ATOMIC(atomicAdd, float, before + value)
EMULATOR_ATOMIC(atomicAdd, double, before + value)
EMULATOR_ATOMIC(atomicSub, int, before - value)
EMULATOR_ATOMIC(atomicSub, unsigned, before - value)
EMULATOR_EXTREMES(atomicMin, value < before ? value : before)
EMULATOR_EXTREMES(atomicMax, value > before ? value : before)
EMULATOR_ATOMICS(atomicAnd, before &value)
EMULATOR_ATOMICS(atomicOr, before | value)
EMULATOR_ATOMICS(atomicXor, before ^ value)
EMULATOR_ATOMICS(atomicExch, value)
EMULATOR_ATOMIC(atomicExch, float, value)
EMULATOR_ATOMIC(atomicInc, unsigned, before >= value ? 0 : before + 1)
EMULATOR_ATOMIC(atomicDec, unsigned, before == 0 || before > value ? value : before - 1)
#define EMULATOR_CAS(T)                                                                                                \
    static inline T atomicCAS(T *place, T compare, T value) {                                                          \
        emulator_services->at_atomic(0);                                                                               \
        T before = *(volatile T *)place;                                                                               \
        if (before == compare) *(volatile T *)place = value;                                                           \
        return before;                                                                                                 \
    }
EMULATOR_CAS(int)
EMULATOR_CAS(unsigned)
EMULATOR_CAS(unsigned short)
EMULATOR_CAS(unsigned long long)

/* Instructions of PTX that kernels write in assembler, under the names that they give them. To look is to let others on. */
#define MD_HAS_PTX_BY_NAME
static inline void ptx_griddepcontrol_launch_dependents(void) {}
static inline float ptx_cvt_rn_f32_f64(double x) { return (float)x; }
template <class T> static inline T opaque(T x) { return x; }
static inline void ptx_griddepcontrol_wait(void) { emulator_self->has_waited = 1; }
static inline unsigned ptx_fma_rn_f16x2(unsigned x, unsigned y, unsigned z) {
    unsigned result = 0;
    for (int high = 0; high < 32; high += 16)
        result |= emulator_to_half(emulator_of_half(x >> high & 0xffff) * emulator_of_half(y >> high & 0xffff) +
                                   emulator_of_half(z >> high & 0xffff))
                  << high;
    return result;
}
static inline void ptx_red_release_gpu_add(unsigned *place, unsigned value) { atomicAdd(place, value); }
static inline void ptx_prefetch_l2(const void *place) { (void)place; }
static inline void ptx_st_release_gpu(unsigned *place, unsigned value) { *(volatile unsigned *)place = value; }
static inline unsigned ptx_ld_acquire_gpu(const unsigned *place) {
    emulator_services->yield();
    return *(const volatile unsigned *)place;
}

static inline long long ptx_globaltimer() { return emulator_services->nanoseconds(); }
constexpr int looks_a_clock = 8; /* a look takes much longer here than on a GPU, and to read the clock less */
/* What other GPUs learn may reach them late. */
static inline void ptx_st_release_sys(unsigned long long *place, unsigned long long value) {
    emulator_services->at_atomic(1);
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
}
static inline void ptx_st_release_sys(unsigned *place, unsigned value) {
    emulator_services->at_atomic(1);
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
}
/* Who looks again and sees the same lets others go on. */
#define EMULATOR_SYSTEM_LOAD(T)                                                                                        \
    static inline T ptx_ld_acquire_sys(const T *place) {                                                               \
        static const T *last_place;                                                                                    \
        static T last;                                                                                                 \
        if (place == last_place && __atomic_load_n(place, __ATOMIC_ACQUIRE) == last)                                   \
            emulator_services->yield_to_others();                                                                      \
        last_place = place;                                                                                            \
        return last = __atomic_load_n(place, __ATOMIC_ACQUIRE);                                                        \
    }
EMULATOR_SYSTEM_LOAD(unsigned)
EMULATOR_SYSTEM_LOAD(unsigned long long)
/* Here a word is seen in the order of all others, and one of 16 bytes whole if its tag is in the upper half. */
static inline void ptx_st_relaxed_sys(unsigned long long *place, unsigned long long value) {
    ptx_st_release_sys(place, value);
}
static inline unsigned long long ptx_ld_relaxed_sys(const unsigned long long *place) {
    return ptx_ld_acquire_sys(place);
}
static inline void ptx_st_relaxed_sys_b128(void *place, unsigned long long low, unsigned long long high) {
    *(volatile unsigned long long *)place = low;
    ptx_st_release_sys((unsigned long long *)place + 1, high);
}
static inline void ptx_ld_relaxed_sys_b128(const void *place, unsigned long long *low, unsigned long long *high) {
    *high = ptx_ld_acquire_sys((const unsigned long long *)place + 1);
    *low = *(const volatile unsigned long long *)place;
}

static inline void ptx_st_relaxed_gpu_b128(void *place, unsigned long long low, unsigned long long high) {
    ((volatile unsigned long long *)place)[0] = low;
    ((volatile unsigned long long *)place)[1] = high;
}
static inline void ptx_ld_relaxed_gpu_b128(const void *place, unsigned long long *low, unsigned long long *high) {
    emulator_services->yield();
    *low = ((const volatile unsigned long long *)place)[0];
    *high = ((const volatile unsigned long long *)place)[1];
}

/* --- loads and stores ----------------------------------------------------------------------------------------------- */
template <class T> static inline T __ldg(const T *place) { return *place; }
template <class T> static inline T __ldca(const T *place) { return *place; }
template <class T> static inline T __ldcg(const T *place) { return *place; }
template <class T> static inline T __ldcs(const T *place) { return *place; }
template <class T> static inline T __ldcv(const T *place) { return *(const volatile T *)place; }
template <class T> static inline void __stcg(T *place, T value) { *place = value; }
template <class T> static inline void __stcs(T *place, T value) { *place = value; }
template <class T> static inline void __stwt(T *place, T value) { *place = value; }

typedef unsigned long long cudaTextureObject_t;
template <class T> struct EmulatorTexel;
template <> struct EmulatorTexel<int> {
    enum { kind = EMULATOR_TEXEL_SIGNED };
};
template <> struct EmulatorTexel<int2> {
    enum { kind = EMULATOR_TEXEL_SIGNED };
};
template <> struct EmulatorTexel<int4> {
    enum { kind = EMULATOR_TEXEL_SIGNED };
};
template <> struct EmulatorTexel<unsigned> {
    enum { kind = EMULATOR_TEXEL_UNSIGNED };
};
template <> struct EmulatorTexel<uint2> {
    enum { kind = EMULATOR_TEXEL_UNSIGNED };
};
template <> struct EmulatorTexel<uint4> {
    enum { kind = EMULATOR_TEXEL_UNSIGNED };
};
template <> struct EmulatorTexel<float> {
    enum { kind = EMULATOR_TEXEL_FLOAT };
};
template <> struct EmulatorTexel<float2> {
    enum { kind = EMULATOR_TEXEL_FLOAT };
};
template <> struct EmulatorTexel<float4> {
    enum { kind = EMULATOR_TEXEL_FLOAT };
};
template <class T> static inline T tex1Dfetch(cudaTextureObject_t texture, int index) {
    return *(const T *)emulator_services->texel(texture, index, sizeof(T), EmulatorTexel<T>::kind, "tex1Dfetch");
}

/* --- arithmetic ----------------------------------------------------------------------------------------------------- */
/* The barrier keeps a rounded result from being fused with what follows. */
template <class T> static inline T emulator_rounded(T x) {
    __asm__("" : "+x"(x));
    return x;
}
#define EMULATOR_UNARY(name)                                                                                           \
    extern "C" double name(double) noexcept;                                                                           \
    extern "C" float name##f(float) noexcept;                                                                          \
    static inline float name(float x) { return __builtin_##name##f(x); }
EMULATOR_UNARY(sqrt)
EMULATOR_UNARY(fabs)
EMULATOR_UNARY(floor)
EMULATOR_UNARY(ceil)
EMULATOR_UNARY(trunc)
EMULATOR_UNARY(round)
EMULATOR_UNARY(rint)
EMULATOR_UNARY(nearbyint)
EMULATOR_UNARY(exp)
EMULATOR_UNARY(exp2)
EMULATOR_UNARY(log)
EMULATOR_UNARY(log2)
EMULATOR_UNARY(log10)
EMULATOR_UNARY(sin)
EMULATOR_UNARY(cos)
EMULATOR_UNARY(tan)
EMULATOR_UNARY(acos)
EMULATOR_UNARY(cbrt)
EMULATOR_UNARY(erf)
EMULATOR_UNARY(erfc)
#define EMULATOR_BINARY(name)                                                                                          \
    extern "C" double name(double, double) noexcept;                                                                   \
    extern "C" float name##f(float, float) noexcept;                                                                   \
    static inline float name(float x, float y) { return __builtin_##name##f(x, y); }
EMULATOR_BINARY(fmod)
EMULATOR_BINARY(pow)
EMULATOR_BINARY(atan2)
EMULATOR_BINARY(hypot)
EMULATOR_BINARY(copysign)
EMULATOR_BINARY(nextafter)
EMULATOR_BINARY(fmin)
EMULATOR_BINARY(fmax)
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
static inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
extern "C" long lrint(double) noexcept;
extern "C" long lrintf(float) noexcept;
template <class T> static inline bool isnan(T x) { return __builtin_isnan(x); }
template <class T> static inline bool isinf(T x) { return __builtin_isinf(x); }
template <class T> static inline bool isfinite(T x) { return __builtin_isfinite(x); }
template <class T> static inline bool signbit(T x) { return __builtin_signbit(x); }
static inline double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
static inline float rsqrtf(float x) { return 1 / __builtin_sqrtf(x); }
static inline float rsqrt(float x) { return rsqrtf(x); }
static inline void sincosf(float x, float *s, float *c) { *s = __builtin_sinf(x), *c = __builtin_cosf(x); }
static inline void sincos(double x, double *s, double *c) { *s = __builtin_sin(x), *c = __builtin_cos(x); }
static inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __sinf(float x) { return __builtin_sinf(x); }
static inline float __expf(float x) { return __builtin_expf(x); }
static inline float __logf(float x) { return __builtin_logf(x); }
static inline float __frsqrt_rn(float x) { return 1 / __builtin_sqrtf(x); }
#define EMULATOR_ROUNDED(T, f, d)                                                                                      \
    static inline T __##f##add_rn(T x, T y) { return emulator_rounded<T>(x + y); }                                     \
    static inline T __##f##sub_rn(T x, T y) { return emulator_rounded<T>(x - y); }                                     \
    static inline T __##f##mul_rn(T x, T y) { return emulator_rounded<T>(x * y); }                                     \
    static inline T __##d##div_rn(T x, T y) { return x / y; }                                                          \
    static inline T __##d##rcp_rn(T x) { return 1 / x; }
EMULATOR_ROUNDED(float, f, f)
EMULATOR_ROUNDED(double, d, d)
static inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
static inline double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
static inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }

/* Conversions of numbers that do not fit saturate, as the hardware's do; C++ leaves them undefined. */
template <class I, class F> static inline I emulator_saturate(F x, I low, I high) {
    return x != x ? 0 : x <= (F)low ? low : x >= (F)high ? high : (I)x;
}
static inline int emulator_int(double x) { return emulator_saturate<int>(x, -2147483647 - 1, 2147483647); }
static inline unsigned emulator_unsigned(double x) { return emulator_saturate<unsigned>(x, 0, 4294967295u); }
static inline int __float2int_rn(float x) { return emulator_int(__builtin_rintf(x)); }
static inline int __float2int_rz(float x) { return emulator_int(__builtin_truncf(x)); }
static inline int __float2int_rd(float x) { return emulator_int(__builtin_floorf(x)); }
static inline int __float2int_ru(float x) { return emulator_int(__builtin_ceilf(x)); }
static inline unsigned __float2uint_rn(float x) { return emulator_unsigned(__builtin_rintf(x)); }
static inline unsigned __float2uint_rz(float x) { return emulator_unsigned(__builtin_truncf(x)); }
static inline int __double2int_rn(double x) { return emulator_int(__builtin_rint(x)); }
static inline int __double2int_rz(double x) { return emulator_int(__builtin_trunc(x)); }
static inline int __double2int_rd(double x) { return emulator_int(__builtin_floor(x)); }
static inline long long __float2ll_rn(float x) { return (long long)__builtin_rintf(x); }
static inline long long __double2ll_rn(double x) { return (long long)__builtin_rint(x); }
static inline float __double2float_rn(double x) { return (float)x; }
static inline float __int2float_rn(int x) { return (float)x; }
static inline float __uint2float_rn(unsigned x) { return (float)x; }
static inline double __int2double_rn(int x) { return x; }

template <class T> static inline T emulator_smaller(T x, T y) { return y < x ? y : x; }
template <class T> static inline T emulator_larger(T x, T y) { return x < y ? y : x; }
#define EMULATOR_EXTREMA(T)                                                                                            \
    static inline T min(T x, T y) { return emulator_smaller(x, y); }                                                   \
    static inline T max(T x, T y) { return emulator_larger(x, y); }
EMULATOR_EXTREMA(int)
EMULATOR_EXTREMA(unsigned)
EMULATOR_EXTREMA(long)
EMULATOR_EXTREMA(unsigned long)
EMULATOR_EXTREMA(long long)
EMULATOR_EXTREMA(unsigned long long)
static inline float min(float x, float y) { return __builtin_fminf(x, y); }
static inline float max(float x, float y) { return __builtin_fmaxf(x, y); }
static inline double min(double x, double y) { return __builtin_fmin(x, y); }
static inline double max(double x, double y) { return __builtin_fmax(x, y); }
static inline double min(float x, double y) { return __builtin_fmin(x, y); }
static inline double max(float x, double y) { return __builtin_fmax(x, y); }
static inline double min(double x, float y) { return __builtin_fmin(x, y); }
static inline double max(double x, float y) { return __builtin_fmax(x, y); }
extern "C" int abs(int) noexcept;
static inline long long abs(long long x) { return x < 0 ? -x : x; }
static inline float abs(float x) { return __builtin_fabsf(x); }
static inline double abs(double x) { return __builtin_fabs(x); }
extern "C" int printf(const char *, ...);
extern "C" void *memcpy(void *, const void *, size_t) noexcept;
extern "C" void *memset(void *, int, size_t) noexcept;

/* --- how the emulator calls a kernel -------------------------------------------------------------------------------- */
template <unsigned... I> struct EmulatorNumbers {};
template <auto kernel> struct EmulatorEntry;
template <class... A, void (*kernel)(A...)> struct EmulatorEntry<kernel> {
    enum { n = sizeof...(A) };
    static constexpr unsigned bytes[] = {(unsigned)sizeof(A)..., 0};
    template <unsigned... I> static void with(void **arguments, EmulatorNumbers<I...>) {
        kernel(*(A *)arguments[I]...);
    }
    static void call(void **arguments) { with(arguments, EmulatorNumbers<__integer_pack(sizeof...(A))...>()); }
};
