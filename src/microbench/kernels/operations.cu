/* Throughput by operation. Each thread repeats an operation on the numbers of CHAINS independent chains, a.n times in all, and
 * writes these numbers. Before each step the value of the number is hidden from the compiler (opaque), so that steps are
 * neither joined nor removed.
 *
 * Ladder, from the pipes that all share to single instructions:
 *   tens of instructions   division and square root with the rounding of IEEE 754, sines of large numbers, integer division
 *   special functions      one approximate instruction: a quarter of the lanes, or fewer
 *   conversions            float to int and back; a constant that is a double makes float code convert twice and multiply in double
 *   of a warp              shuffle, ballot
 *   full speed             integer multiply-add, half2, tensor cores, which multiply whole matrices */
#include "microbench/kernels/ceiling.cuh"

#ifndef MD_HAS_PTX_BY_NAME /* compilers without an assembler for PTX have these functions */
__device__ inline float opaque(float x) {
    asm volatile("" : "+f"(x));
    return x;
}
__device__ inline unsigned opaque(unsigned x) {
    asm volatile("" : "+r"(x));
    return x;
}
/* x y + z for two halves each. */
__device__ inline unsigned ptx_fma_rn_f16x2(unsigned x, unsigned y, unsigned z) {
#if __CUDA_ARCH__ >= 530
    asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(y), "r"(z));
#endif
    return x;
}
/* sum += a b by a warp, 16 x 16 times 16 x 8 (PTX ISA: matrix fragments for mma.m16n8k16). */
__device__ inline void ptx_mma_m16n8k16_f16(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}
#endif

/* The number of a chain: its first value, its output. `start` is a whole number below 61. */
struct Real {
    float x;
    __device__ void begin(float start) { x = 1 + start / 32; }
    __device__ float number() const { return x; }
};
struct Whole {
    unsigned x;
    __device__ void begin(float start) { x = (unsigned)start + 1; }
    __device__ float number() const { return (float)(x & 0xffffff); }
};
/* Sines of numbers that count on from 2^17. */
struct Far {
    float x, at;
    __device__ void begin(float start) { x = 0, at = 131072 + 4096 * start; }
    __device__ float number() const { return x; }
};
/* Two halves, as bits: 0x6400 is 1024, and from there to 2048 each whole number is one more. */
struct Halves {
    unsigned bits;
    __device__ void begin(float start) { bits = 0x64016400u + (unsigned)start * 0x10001u; }
    __device__ float number() const {
        const unsigned above = bits - 0x64006400u;
        return (float)(above & 0xffff) + 1024 * (float)(above >> 16);
    }
};
struct Tile {
    float sum[4];
    __device__ void begin(float start) { sum[0] = sum[1] = sum[2] = sum[3] = start; }
    __device__ float number() const { return sum[0] + 2 * sum[1] + 4 * sum[2] + 8 * sum[3]; }
};

template <class Number, int CHAINS, int UNROLLED, class Step>
__device__ inline void repeat(const CudaCeilingArguments &a, Step step) {
    const long long first = thread_index() * CHAINS;
    Number chain[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; k++) chain[k].begin(a.a[(first + k) % CUDA_CEILING_STARTS]);
#pragma unroll UNROLLED
    for (int done = 0; done < (int)a.n / CHAINS; done++)
#pragma unroll
        for (int k = 0; k < CHAINS; k++) step(chain[k]);
#pragma unroll
    for (int k = 0; k < CHAINS; k++) a.b[first + k] = chain[k].number();
}

/* Name, kind of number c, chains, how often unrolled, the operation. The host knows the chains (operations.c). */
#define OPERATION(name, Number, chains, unrolled, ...)                                                                 \
    RESIDENT_CEILING(operations_##name) {                                                                              \
        repeat<Number, chains, unrolled>(a, [&](Number &c) { __VA_ARGS__; });                                          \
    }
#define REAL(name, expression)  OPERATION(name, Real, 4, 4, const float x = opaque(c.x); c.x = expression)
#define WHOLE(name, expression) OPERATION(name, Whole, 4, 8, const unsigned x = opaque(c.x); c.x = expression)

constexpr unsigned all_lanes = 0xffffffffu;

REAL(divide, 3 * a.one / x)
REAL(divide_fast, __fdividef(3 * a.one, x))
REAL(sqrt, sqrtf(x))
REAL(sqrt_rsqrt, __fdividef(1, rsqrtf(x)))
REAL(rsqrt, rsqrtf(x))
REAL(sin_fast, __sinf(x))
/* All arguments are small, but the compiler does not know it, so that the slow path is there and not taken. */
OPERATION(sin, Real, 4, 1, c.x = sinf(opaque(c.x)))
OPERATION(sin_slow, Far, 1, 1, c.at += 1; c.x = c.x / 2 + sinf(opaque(c.at)))
REAL(convert, (float)((int)x + 1))
REAL(constant_double, x * 1.0001)
REAL(constant_float, x * 1.0001f)

WHOLE(multiply, 12345 + x * (unsigned)a.parameter)
WHOLE(divide_whole, (unsigned)a.parameter / x)
/* The divisor is a.parameter, but depends on x, so that its reciprocal is not computed ahead of the loop. */
WHOLE(modulo, (x + 700) % ((unsigned)a.parameter + (x >> 31)))
WHOLE(modulo_1024, (x + 700) % 1024)
WHOLE(popcount, x + (unsigned)__popc(x))
WHOLE(shuffle, __shfl_sync(all_lanes, x, (int)threadIdx.x + 1))
WHOLE(ballot, x + (unsigned)__popc(__ballot_sync(all_lanes, (int)(x & 1))))

/* x 1 + 1. With a constant the compiler uses only one form of the instruction, at half the speed. */
RESIDENT_CEILING(operations_half2) {
    const unsigned ones = 0x3c003c00u * (unsigned)a.one;
    repeat<Halves, 8, 4>(a, [&](Halves &c) { c.bits = ptx_fma_rn_f16x2(c.bits, ones, ones); });
}

/* The half of 1, 2 or 3. */
__device__ inline unsigned half_of(int k) { return k == 1 ? 0x3c00 : k == 2 ? 0x4000 : 0x4200; }
__device__ inline unsigned pair(int low, int high) { return half_of(low) | half_of(high) << 16; }

/* Matrices a[row][k] = 1 + (row + k) % 3 and b[k][column] = 1 + (2 k + column) % 3. Lane 4 g + t holds rows g and g + 8 of the
 * one, column g of the other, at k = 2 t, 2 t + 1 and 8 further. */
RESIDENT_CEILING(operations_tensor) {
    const int lane = (int)threadIdx.x % 32, g = lane / 4, k = lane % 4 * 2;
    unsigned rows[4], column[2];
    for (int e = 0; e < 4; e++) {
        const int sum = g + e % 2 * 8 + k + e / 2 * 8;
        rows[e] = pair(1 + sum % 3, 1 + (sum + 1) % 3);
    }
    for (int e = 0; e < 2; e++) {
        const int sum = 2 * (k + e * 8) + g;
        column[e] = pair(1 + sum % 3, 1 + (sum + 2) % 3);
    }
    repeat<Tile, 2, 4>(a, [&](Tile &c) { ptx_mma_m16n8k16_f16(c.sum, rows, column); });
}
