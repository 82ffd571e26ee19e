/* Approximate reciprocals and reciprocal square roots, for force.arithmetic = fast: the instruction's first guess (14 or
 * 12 bits; where there is none, a guess from the bits of the number), and steps that take the residual to its square
 * or cube. The remaining error of the guess is below a rounding; the steps round about twice, so that a result may be
 * wrong in the last bit, while that of a divider is not.
 *
 * Numbers are squared distances: positive, and far from the ends of the range. Zero gives no finite number. */
#ifndef MD_CPU_APPROXIMATE_H
#define MD_CPU_APPROXIMATE_H

#include "cpu/lanes.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* --- first guesses ---------------------------------------------------------------------------------------------- */

#if defined(__SSE2__)
MD_INLINE float md_guess_reciprocal(float a) { return _mm_cvtss_f32(_mm_rcp_ss(_mm_set_ss(a))); }
MD_INLINE float md_guess_inverse_root(float a) { return _mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(a))); }
#else
/* The exponent changes its sign, the mantissa roughly so; a step brings 4 bits to 12. */
MD_INLINE float md_guess_reciprocal(float a) {
    uint32_t bits;
    float x;
    memcpy(&bits, &a, sizeof bits);
    bits = UINT32_C(0x7ef311c7) - bits;
    memcpy(&x, &bits, sizeof x);
    const float e = 1 - a * x;
    return x + x * (e + e * e);
}
MD_INLINE float md_guess_inverse_root(float a) {
    uint32_t bits;
    float y;
    memcpy(&bits, &a, sizeof bits);
    bits = UINT32_C(0x5f375a86) - bits / 2;
    memcpy(&y, &bits, sizeof y);
    const float e = 1 - a * y * y;
    return y + y * e * (0.5f + 0.375f * e);
}
#endif

#if MD_LANES_BYTES == 64
MD_INLINE MdLanes_f md_lanes_guess_reciprocal_f(MdLanes_f a) { return (MdLanes_f)_mm512_rcp14_ps((__m512)a); }
MD_INLINE MdLanes_d md_lanes_guess_reciprocal_d(MdLanes_d a) { return (MdLanes_d)_mm512_rcp14_pd((__m512d)a); }
MD_INLINE MdLanes_f md_lanes_guess_inverse_root_f(MdLanes_f a) { return (MdLanes_f)_mm512_rsqrt14_ps((__m512)a); }
MD_INLINE MdLanes_d md_lanes_guess_inverse_root_d(MdLanes_d a) { return (MdLanes_d)_mm512_rsqrt14_pd((__m512d)a); }
#elif MD_LANES_BYTES == 32
MD_INLINE MdLanes_f md_lanes_guess_reciprocal_f(MdLanes_f a) { return (MdLanes_f)_mm256_rcp_ps((__m256)a); }
MD_INLINE MdLanes_d md_lanes_guess_reciprocal_d(MdLanes_d a) {
    return (MdLanes_d)_mm256_cvtps_pd(_mm_rcp_ps(_mm256_cvtpd_ps((__m256d)a)));
}
MD_INLINE MdLanes_f md_lanes_guess_inverse_root_f(MdLanes_f a) { return (MdLanes_f)_mm256_rsqrt_ps((__m256)a); }
MD_INLINE MdLanes_d md_lanes_guess_inverse_root_d(MdLanes_d a) {
    return (MdLanes_d)_mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps((__m256d)a)));
}
#elif defined(__SSE2__)
MD_INLINE MdLanes_f md_lanes_guess_reciprocal_f(MdLanes_f a) { return (MdLanes_f)_mm_rcp_ps((__m128)a); }
MD_INLINE MdLanes_d md_lanes_guess_reciprocal_d(MdLanes_d a) {
    return (MdLanes_d)_mm_cvtps_pd(_mm_rcp_ps(_mm_cvtpd_ps((__m128d)a)));
}
MD_INLINE MdLanes_f md_lanes_guess_inverse_root_f(MdLanes_f a) { return (MdLanes_f)_mm_rsqrt_ps((__m128)a); }
MD_INLINE MdLanes_d md_lanes_guess_inverse_root_d(MdLanes_d a) {
    return (MdLanes_d)_mm_cvtps_pd(_mm_rsqrt_ps(_mm_cvtpd_ps((__m128d)a)));
}
#else
#define MD_EACH_LANE(n, guess)                                                                                         \
    for (int l = 0; l < n; l++) a[l] = guess((float)a[l]);                                                             \
    return a;
MD_INLINE MdLanes_f md_lanes_guess_reciprocal_f(MdLanes_f a){
    MD_EACH_LANE(MD_LANES_f, md_guess_reciprocal)} MD_INLINE MdLanes_d
    md_lanes_guess_reciprocal_d(MdLanes_d a){MD_EACH_LANE(MD_LANES_d, md_guess_reciprocal)} MD_INLINE MdLanes_f
    md_lanes_guess_inverse_root_f(MdLanes_f a){MD_EACH_LANE(MD_LANES_f, md_guess_inverse_root)} MD_INLINE MdLanes_d
    md_lanes_guess_inverse_root_d(MdLanes_d a) {
    MD_EACH_LANE(MD_LANES_d, md_guess_inverse_root)
}
#undef MD_EACH_LANE
#endif

/* --- refined ---------------------------------------------------------------------------------------------------- */

/* 1/a from x with a x = 1 - e: x / (1 - e) = x (1 + e + e^2 ...). From 12 bits two terms reach 36, from 14 one reaches
 * 28, which is enough for a float; for a double another step follows. */
MD_INLINE MdLanes_f md_lanes_reciprocal_f(MdLanes_f a) {
    const MdLanes_f x = md_lanes_guess_reciprocal_f(a), e = 1 - a * x;
    return MD_LANES_BYTES == 64 ? x + x * e : x + x * (e + e * e);
}
MD_INLINE MdLanes_d md_lanes_reciprocal_d(MdLanes_d a) {
    const MdLanes_d guess = md_lanes_guess_reciprocal_d(a), e = 1 - a * guess, x = guess + guess * (e + e * e);
    return x + x * (1 - a * x);
}
MD_INLINE float md_fast_reciprocal_f(float a) {
    const float x = md_guess_reciprocal(a), e = 1 - a * x;
    return x + x * (e + e * e);
}
MD_INLINE double md_fast_reciprocal_d(double a) {
    const double guess = md_guess_reciprocal((float)a), e = 1 - a * guess, x = guess + guess * (e + e * e);
    return x + x * (1 - a * x);
}

/* 1/sqrt(a) from y with a y^2 = 1 - e: y (1 + e/2 + 3/8 e^2 ...). */
MD_INLINE MdLanes_f md_lanes_inverse_root_f(MdLanes_f a) {
    const MdLanes_f y = md_lanes_guess_inverse_root_f(a), e = 1 - (a * y) * y;
    return y + y * e * (0.5f + 0.375f * e);
}
MD_INLINE MdLanes_d md_lanes_inverse_root_d(MdLanes_d a) {
    const MdLanes_d guess = md_lanes_guess_inverse_root_d(a), e = 1 - (a * guess) * guess;
    const MdLanes_d y = guess + guess * e * (0.5 + 0.375 * e);
    return y + 0.5 * y * (1 - (a * y) * y);
}
MD_INLINE float md_fast_inverse_root_f(float a) {
    const float y = md_guess_inverse_root(a), e = 1 - (a * y) * y;
    return y + y * e * (0.5f + 0.375f * e);
}
MD_INLINE double md_fast_inverse_root_d(double a) {
    const double guess = md_guess_inverse_root((float)a), e = 1 - (a * guess) * guess;
    const double y = guess + guess * e * (0.5 + 0.375 * e);
    return y + 0.5 * y * (1 - (a * y) * y);
}

/* --- exponential and power, to the last bits ----------------------------------------------------------------------- */

/* e^x = 2^k e^r with |r| <= ln 2 / 2: adding 1.5 * 2^23 (2^52) leaves k in the low bits, from where it goes to the exponent; e^r by its
 * series (Cody, Waite, Software Manual for the Elementary Functions (1980)). Beyond the range of exponents, the ends of it. */
MD_INLINE MdLanes_f md_lanes_exp_f(MdLanes_f x) {
    for (int l = 0; l < MD_LANES_f; l++) x[l] = x[l] < -87 ? -87 : x[l] > 88 ? 88 : x[l];
    const MdLanes_f shifted = x * 1.44269504f + 0x1.8p23f, k = shifted - 0x1.8p23f;
    const MdLanes_f r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    MdLanes_f y = 1.0f / 5040 + r * (1.0f / 40320);
    y = 1.0f / 720 + r * y;
    y = 1.0f / 120 + r * y;
    y = 1.0f / 24 + r * y;
    y = 1.0f / 6 + r * y;
    y = 0.5f + r * y;
    y = 1 + r * (1 + r * y);
    return (MdLanes_f)((MdIndex_f)y + ((MdIndex_f)shifted << 23));
}
MD_INLINE MdLanes_d md_lanes_exp_d(MdLanes_d x) {
    for (int l = 0; l < MD_LANES_d; l++) x[l] = x[l] < -708 ? -708 : x[l] > 709 ? 709 : x[l];
    const MdLanes_d shifted = x * 1.4426950408889634 + 0x1.8p52, k = shifted - 0x1.8p52;
    const MdLanes_d r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
    static const double series[] = {
        1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
        1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1,           1};
    MdLanes_d y = md_lanes_splat_d(1.0 / 6227020800);
    for (int n = 0; n < 13; n++) y = series[n] + r * y;
    return (MdLanes_d)((MdIndex_d)y + ((MdIndex_d)shifted << 52));
}

/* a^b of a > 0, one by one: a logarithm has no such short way. */
MD_INLINE MdLanes_f md_lanes_pow_f(MdLanes_f a, MdLanes_f b) {
    for (int l = 0; l < MD_LANES_f; l++) a[l] = powf(a[l], b[l]);
    return a;
}
MD_INLINE MdLanes_d md_lanes_pow_d(MdLanes_d a, MdLanes_d b) {
    for (int l = 0; l < MD_LANES_d; l++) a[l] = pow(a[l], b[l]);
    return a;
}

#endif
