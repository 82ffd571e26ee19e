/* Random numbers of an atom at a step: they follow from seed, id and step alone (Philox, philox.h), and are the same bits on every
 * host and GPU, in any order of atoms and on any number of ranks. So this file has its own logarithm and sine, with every product that is
 * added written as a fused operation: those of C libraries and of CUDA differ in the last bit. In double precision they are good to
 * 2e-15. In single precision, for runs whose pairs are single, logarithm and sine are good to 4e-7, and u is a float: lengths below 0.01 are
 * off by up to 3e-4. Moments up to the sixth are right (tests/physics/test_baths.c). */
#ifndef MD_PHYSICS_NOISE_H
#define MD_PHYSICS_NOISE_H

#include <stdint.h>

#include "physics/philox.h"
#include "physics/real.h"

/* Uses of random numbers at a step, so that no two share numbers: what a bath draws for all atoms (there the id counts the draws);
 * whether an atom collides; its normal numbers. */
enum { MD_NOISE_BATH, MD_NOISE_SHARE, MD_NOISE_NORMAL };

/* Philox passes the tests of BigCrush from 7 rounds on (table 2 of the paper): so many for the numbers of each atom at each step. */
enum { MD_NOISE_ROUNDS = 7 };

/* The counter of an atom at a step, for one use. */
MD_HD void md_noise_counter(uint64_t step, uint32_t id, uint32_t use, uint32_t counter[4]) {
    counter[0] = id;
    counter[1] = use;
    counter[2] = (uint32_t)step;
    counter[3] = (uint32_t)(step >> 32);
}

/* Four random words for a bath: `id` counts its draws at a step. */
MD_HD void md_noise_words(uint64_t key, uint64_t step, uint32_t id, uint32_t use, uint32_t words[4]) {
    md_noise_counter(step, id, use, words);
    md_philox_block(words, key);
}

/* Four random words of an atom; keys: of md_philox_keys, of its rounds. */
MD_HD void md_noise_words_of_atom(const uint32_t *keys, uint64_t step, uint32_t id, uint32_t use, uint32_t words[4]) {
    md_noise_counter(step, id, use, words);
    for (int round = 0; round < MD_NOISE_ROUNDS; round++) md_philox_round(words, keys[2 * round], keys[2 * round + 1]);
}

/* Whether an atom is among those that collide, each with this probability. */
MD_HD int md_noise_collides(const uint32_t *keys, uint64_t step, uint32_t id, double share) {
    uint32_t words[4];
    md_noise_words_of_atom(keys, step, id, MD_NOISE_SHARE, words);
    return fma((double)words[0], 1 / 4294967296.0, 0.5 / 4294967296.0) <= share;
}

/* A square root as IEEE has it, of a number that is neither tiny nor huge: for a GPU without the test for these, and whatever the flags
 * of its compiler say. */
#if defined(__CUDACC__) && !defined(MD_HAS_PTX_BY_NAME)
__device__ static inline float md_noise_root(float x) {
    float inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    const float root = __fmul_rn(x, inverse), half = __fmul_rn(inverse, 0.5f);
    return __fmaf_rn(__fmaf_rn(-root, root, x), half, root);
}
#else
MD_HD float md_noise_root(float x) { return sqrtf(x); }
#endif

/* Polynomials: of -2 log(1 + f) / f where f is up to a third from 0; with z = t^2, t up to 1/2 from 0, of sin(t pi/2) / t and
 * cos(t pi/2), and of sin(t pi) / t. By Chebyshev nodes. */
#define MD_REAL          float
#define MD_NAME(name)    name##_f
#define MD_ROOT          md_noise_root
#define MD_FMA           fmaf
#define MD_BITS          int32_t
#define MD_SIGN(bit)     (int32_t)((bit) << 31)
#define MD_FRACTION_BITS 23
#define MD_TWO_THIRDS    0x3f2aaaab
#define MD_UNIT          0x1.fffffep-33f /* so that no number is 1 */
#define MD_LOG                                                                                                         \
    -1.99999964f, 0.999999702f, -0.666758478f, 0.50008291f, -0.39593187f, 0.329660356f, -0.342036188f, 0.300815284f
#define MD_SINE      1.57079637f, -0.64596349f, 0.0796802193f, -0.00460214913f
#define MD_COSINE    1.0f, -1.23369706f, 0.253598571f, -0.0204081591f
#define MD_HALF_SINE 3.14159274f, -5.1677103f, 2.55007744f, -0.598290384f, 0.0776559114f
#include "physics/noise.inc"

#define MD_REAL          double
#define MD_NAME(name)    name##_d
#define MD_ROOT          sqrt
#define MD_FMA           fma
#define MD_BITS          int64_t
#define MD_SIGN(bit)     (int64_t)((uint64_t)(bit) << 63)
#define MD_FRACTION_BITS 52
#define MD_TWO_THIRDS    0x3fe5555555555555
#define MD_UNIT          0x1p-32
#define MD_LOG                                                                                                         \
    -2.0, 1.0, -0.6666666666666615, 0.49999999999999506, -0.4000000000018575, 0.3333333333351169,                      \
        -0.28571428545454114, 0.2499999997505978, -0.22222224080747674, 0.20000001784489432, -0.18181740832504806,     \
        0.16666592400712693, -0.1538661404230401, 0.14287633193927093, -0.13300374032674625, 0.12468357697430711,      \
        -0.12110168728069218, 0.11442739597649702, -0.0832450651186082, 0.07886691531083924, -0.17044163562781398,     \
        0.1630666574847398
#define MD_SINE                                                                                                        \
    1.5707963267948966, -0.6459640975062443, 0.07969262624604301, -0.004681754132340976, 0.0001604411507421909,        \
        -3.59864335298231e-06, 5.633933781537854e-08
#define MD_COSINE                                                                                                      \
    1.0, -1.2337005501361697, 0.2536695079010467, -0.02086348076331121, 0.0009192602741831558, -2.520203677046026e-05, \
        4.710609726757823e-07, -6.321256869628588e-09
#define MD_HALF_SINE                                                                                                   \
    3.141592653589793, -5.16771278004997, 2.5501640398773455, -0.5992645293207869, 0.08214588661099356,                \
        -0.007370430943702136, 0.0004663027874593273, -2.1915250301851375e-05, 7.94853903737232e-07,                   \
        -2.228371216069697e-08
#include "physics/noise.inc"

#endif
