/* Vectors of the widest registers that this file is compiled for, in GCC's vector notation (GCC and clang), so that
 * arithmetic is written with the plain operators. This file has the operations beyond that notation, once for each
 * instruction set: AVX-512 (x86-64-v4), AVX2 (x86-64-v3), and plain C for everything else.
 *
 *   MdLanes_f, MdLanes_d   4 to 16 floats, 2 to 8 doubles
 *   MdIndex_f, MdIndex_d   as many integers of the same size
 *   MdMask_f, MdMask_d     one yes or no a lane
 *
 * The point of the file is fetch: x, y, z and type of atoms at scattered indices. Where an atom's numbers lie side by
 * side, whole 16-byte pieces are loaded and transposed in registers. Gather instructions (pick_place, for separate
 * arrays) touch each atom once for every number, and processors carry them out lane by lane. */
#ifndef MD_CPU_LANES_H
#define MD_CPU_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define MD_LANES_BYTES 64
#elif defined(__AVX2__)
#define MD_LANES_BYTES 32
#else
#define MD_LANES_BYTES 16
#endif
#if MD_LANES_BYTES > 16
#include <immintrin.h>
#endif

#define MD_INLINE static inline __attribute__((always_inline, unused))

enum { MD_LANES_f = MD_LANES_BYTES / 4, MD_LANES_d = MD_LANES_BYTES / 8 };
typedef float MdLanes_f __attribute__((vector_size(MD_LANES_BYTES)));
typedef double MdLanes_d __attribute__((vector_size(MD_LANES_BYTES)));
typedef int32_t MdIndex_f __attribute__((vector_size(MD_LANES_BYTES)));
typedef uint32_t MdBits_f __attribute__((vector_size(MD_LANES_BYTES)));
typedef int64_t MdIndex_d __attribute__((vector_size(MD_LANES_BYTES)));

/* Where an atom is, as the pair loops read it. In single precision as whole numbers: the box edge is 2^32, so that
 * differences are exact and the nearest image is the overflow of the subtraction. */
typedef struct MdPlace_f {
    int32_t x, y, z, type;
} MdPlace_f;
typedef struct MdPlace_d {
    double x, y, z;
    int64_t type;
} MdPlace_d;

/* Memory need not be aligned. The difference of whole numbers may overflow, and is meant to: hence unsigned. */
MD_INLINE MdLanes_f md_lanes_splat_f(float a) { return a - (MdLanes_f){0}; }
MD_INLINE MdLanes_d md_lanes_splat_d(double a) { return a - (MdLanes_d){0}; }
MD_INLINE MdIndex_f md_lanes_splat_place_f(int32_t a) { return a - (MdIndex_f){0}; }
MD_INLINE MdLanes_d md_lanes_splat_place_d(double a) { return a - (MdLanes_d){0}; }
MD_INLINE MdLanes_f md_lanes_difference_f(MdIndex_f a, MdIndex_f b) {
    return __builtin_convertvector((MdIndex_f)((MdBits_f)a - (MdBits_f)b), MdLanes_f);
}
MD_INLINE MdLanes_d md_lanes_difference_d(MdLanes_d a, MdLanes_d b) { return a - b; }
MD_INLINE MdIndex_f md_lanes_load_place_f(const void *from) {
    MdIndex_f a;
    memcpy(&a, from, sizeof a);
    return a;
}
MD_INLINE MdLanes_d md_lanes_load_place_d(const void *from) {
    MdLanes_d a;
    memcpy(&a, from, sizeof a);
    return a;
}
MD_INLINE void md_lanes_store_f(float *to, MdLanes_f a) { memcpy(to, &a, sizeof a); }
MD_INLINE void md_lanes_store_d(double *to, MdLanes_d a) { memcpy(to, &a, sizeof a); }

/* Sum of the lanes, halving each time: the same order always. */
MD_INLINE float md_lanes_sum_f(MdLanes_f a) {
#if MD_LANES_BYTES == 64
    return _mm512_reduce_add_ps((__m512)a);
#else
    float lanes[MD_LANES_f];
    memcpy(lanes, &a, sizeof a);
    for (int half = MD_LANES_f / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lanes[l] += lanes[l + half];
    return lanes[0];
#endif
}
MD_INLINE double md_lanes_sum_d(MdLanes_d a) {
#if MD_LANES_BYTES == 64
    return _mm512_reduce_add_pd((__m512d)a);
#else
    double lanes[MD_LANES_d];
    memcpy(lanes, &a, sizeof a);
    for (int half = MD_LANES_d / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lanes[l] += lanes[l + half];
    return lanes[0];
#endif
}

/* The address of an atom of fetch: p the first, `step` bytes to the next. */
#define AT(lane) (p + step * (size_t)j[lane])

#if MD_LANES_BYTES == 64

typedef __mmask16 MdMask_f;
typedef __mmask8 MdMask_d;

/* The smaller one; the second one where the first is no number. */
MD_INLINE MdLanes_f md_lanes_least_f(MdLanes_f a, MdLanes_f b) {
    return (MdLanes_f)_mm512_min_ps((__m512)a, (__m512)b);
}
MD_INLINE MdLanes_d md_lanes_least_d(MdLanes_d a, MdLanes_d b) {
    return (MdLanes_d)_mm512_min_pd((__m512d)a, (__m512d)b);
}
MD_INLINE MdLanes_f md_lanes_sqrt_f(MdLanes_f a) { return (MdLanes_f)_mm512_sqrt_ps((__m512)a); }
MD_INLINE MdLanes_d md_lanes_sqrt_d(MdLanes_d a) { return (MdLanes_d)_mm512_sqrt_pd((__m512d)a); }
MD_INLINE MdLanes_d md_lanes_rint_d(MdLanes_d a) {
    return (MdLanes_d)_mm512_roundscale_pd((__m512d)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
MD_INLINE MdMask_f md_lanes_below_f(MdLanes_f a, MdLanes_f b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ);
}
MD_INLINE MdMask_d md_lanes_below_d(MdLanes_d a, MdLanes_d b) {
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ);
}
MD_INLINE MdMask_f md_lanes_first_f(int64_t n) {
    const uint32_t bits = n >= 16 ? 0xffff : (1u << n) - 1;
    return (MdMask_f)bits;
}
MD_INLINE MdMask_d md_lanes_first_d(int64_t n) {
    const uint32_t bits = n >= 8 ? 0xff : (1u << n) - 1;
    return (MdMask_d)bits;
}
MD_INLINE MdMask_f md_lanes_from_f(int64_t n) { return (MdMask_f)(n >= 16 ? 0 : 0xffffu << n); }
MD_INLINE MdMask_d md_lanes_from_d(int64_t n) { return (MdMask_d)(n >= 8 ? 0 : 0xffu << n); }
MD_INLINE MdMask_f md_lanes_longer_f(const int32_t *count, int32_t k) {
    return _mm512_cmpgt_epi32_mask(_mm512_loadu_si512(count), _mm512_set1_epi32(k));
}
MD_INLINE MdMask_d md_lanes_longer_d(const int32_t *count, int32_t k) {
    return _mm256_cmpgt_epi32_mask(_mm256_loadu_si256((const __m256i *)count), _mm256_set1_epi32(k));
}
MD_INLINE MdMask_f md_lanes_both_f(MdMask_f a, MdMask_f b) { return _kand_mask16(a, b); }
MD_INLINE MdMask_d md_lanes_both_d(MdMask_d a, MdMask_d b) { return _kand_mask8(a, b); }
MD_INLINE MdMask_f md_lanes_either_f(MdMask_f a, MdMask_f b) { return _kor_mask16(a, b); }
MD_INLINE MdMask_d md_lanes_either_d(MdMask_d a, MdMask_d b) { return _kor_mask8(a, b); }
MD_INLINE MdLanes_f md_lanes_keep_f(MdMask_f m, MdLanes_f a) { return (MdLanes_f)_mm512_maskz_mov_ps(m, (__m512)a); }
MD_INLINE MdLanes_d md_lanes_keep_d(MdMask_d m, MdLanes_d a) { return (MdLanes_d)_mm512_maskz_mov_pd(m, (__m512d)a); }
MD_INLINE MdLanes_f md_lanes_pick_f(const float *table, MdIndex_f at) {
    return (MdLanes_f)_mm512_i32gather_ps((__m512i)at, table, 4);
}
MD_INLINE MdLanes_d md_lanes_pick_d(const double *table, MdIndex_d at) {
    return (MdLanes_d)_mm512_i64gather_pd((__m512i)at, table, 8);
}
MD_INLINE MdIndex_f md_lanes_pick_place_f(const int32_t *array, const int32_t *j) {
    return (MdIndex_f)_mm512_i32gather_epi32(_mm512_loadu_si512(j), array, 4);
}
MD_INLINE MdLanes_d md_lanes_pick_place_d(const double *array, const int32_t *j) {
    return (MdLanes_d)_mm512_i32gather_pd(_mm256_loadu_si256((const __m256i *)j), array, 8);
}
/* Writes the indices of the lanes that hit one after the other (a whole register is written) and returns how many. */
MD_INLINE int md_lanes_append_f(int32_t *to, MdMask_f hits, const int32_t *index) {
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(hits, _mm512_loadu_si512(index)));
    return __builtin_popcount(hits);
}
MD_INLINE int md_lanes_append_d(int32_t *to, MdMask_d hits, const int32_t *index) {
    __m256i all = _mm256_loadu_si256((const __m256i *)index);
    _mm256_storeu_si256((__m256i *)to, _mm256_maskz_compress_epi32(hits, all));
    return __builtin_popcount(hits);
}

/* The 16-byte pieces at four addresses, side by side. */
MD_INLINE __m512i md_lanes_pieces(const void *a, const void *b, const void *c, const void *d) {
    __m512i all = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)a));
    all = _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i *)b), 1);
    all = _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i *)c), 2);
    return _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i *)d), 3);
}
/* The 32-byte pieces at two addresses, side by side. */
MD_INLINE __m512d md_lanes_halves(const void *a, const void *b) {
    return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(a)), _mm256_loadu_pd(b), 1);
}
MD_INLINE void md_lanes_fetch_f(const char *p, size_t step, const int32_t *j, MdIndex_f *x, MdIndex_f *y, MdIndex_f *z,
                                MdIndex_f *type) {
    __m512i a = md_lanes_pieces(AT(0), AT(4), AT(8), AT(12));
    __m512i b = md_lanes_pieces(AT(1), AT(5), AT(9), AT(13));
    __m512i c = md_lanes_pieces(AT(2), AT(6), AT(10), AT(14));
    __m512i d = md_lanes_pieces(AT(3), AT(7), AT(11), AT(15));
    __m512i ab_xy = _mm512_unpacklo_epi32(a, b), ab_zt = _mm512_unpackhi_epi32(a, b);
    __m512i cd_xy = _mm512_unpacklo_epi32(c, d), cd_zt = _mm512_unpackhi_epi32(c, d);
    *x = (MdIndex_f)_mm512_unpacklo_epi64(ab_xy, cd_xy);
    *y = (MdIndex_f)_mm512_unpackhi_epi64(ab_xy, cd_xy);
    *z = (MdIndex_f)_mm512_unpacklo_epi64(ab_zt, cd_zt);
    *type = (MdIndex_f)_mm512_unpackhi_epi64(ab_zt, cd_zt);
}
MD_INLINE void md_lanes_fetch_d(const char *p, size_t step, const int32_t *j, MdLanes_d *x, MdLanes_d *y, MdLanes_d *z,
                                MdIndex_d *type) {
    __m512d a = md_lanes_halves(AT(0), AT(2)), b = md_lanes_halves(AT(1), AT(3));
    __m512d c = md_lanes_halves(AT(4), AT(6)), d = md_lanes_halves(AT(5), AT(7));
    __m512d ab_xz = _mm512_unpacklo_pd(a, b), ab_yt = _mm512_unpackhi_pd(a, b);
    __m512d cd_xz = _mm512_unpacklo_pd(c, d), cd_yt = _mm512_unpackhi_pd(c, d);
    *x = (MdLanes_d)_mm512_shuffle_f64x2(ab_xz, cd_xz, 0x88);
    *y = (MdLanes_d)_mm512_shuffle_f64x2(ab_yt, cd_yt, 0x88);
    *z = (MdLanes_d)_mm512_shuffle_f64x2(ab_xz, cd_xz, 0xdd);
    *type = (MdIndex_d)_mm512_shuffle_f64x2(ab_yt, cd_yt, 0xdd);
}

#else

typedef MdIndex_f MdMask_f;
typedef MdIndex_d MdMask_d;

MD_INLINE MdMask_f md_lanes_below_f(MdLanes_f a, MdLanes_f b) { return a < b; }
MD_INLINE MdMask_d md_lanes_below_d(MdLanes_d a, MdLanes_d b) { return a < b; }
MD_INLINE MdMask_f md_lanes_first_f(int64_t n) {
    int32_t lanes[MD_LANES_f];
    for (int l = 0; l < MD_LANES_f; l++) lanes[l] = l;
    MdIndex_f lane;
    memcpy(&lane, lanes, sizeof lane);
    return lane < md_lanes_splat_place_f(n < MD_LANES_f ? (int32_t)n : MD_LANES_f);
}
MD_INLINE MdMask_d md_lanes_first_d(int64_t n) {
    int64_t lanes[MD_LANES_d];
    for (int l = 0; l < MD_LANES_d; l++) lanes[l] = l;
    MdIndex_d lane;
    memcpy(&lane, lanes, sizeof lane);
    return lane < n - (MdIndex_d){0};
}
MD_INLINE MdMask_f md_lanes_from_f(int64_t n) { return ~md_lanes_first_f(n); }
MD_INLINE MdMask_d md_lanes_from_d(int64_t n) { return ~md_lanes_first_d(n); }
MD_INLINE MdMask_f md_lanes_longer_f(const int32_t *count, int32_t k) {
    return md_lanes_load_place_f(count) > md_lanes_splat_place_f(k);
}
MD_INLINE MdMask_d md_lanes_longer_d(const int32_t *count, int32_t k) {
    int64_t lanes[MD_LANES_d];
    for (int l = 0; l < MD_LANES_d; l++) lanes[l] = count[l];
    MdIndex_d n;
    memcpy(&n, lanes, sizeof n);
    return n > (int64_t)k - (MdIndex_d){0};
}
MD_INLINE MdMask_f md_lanes_both_f(MdMask_f a, MdMask_f b) { return a & b; }
MD_INLINE MdMask_d md_lanes_both_d(MdMask_d a, MdMask_d b) { return a & b; }
MD_INLINE MdMask_f md_lanes_either_f(MdMask_f a, MdMask_f b) { return a | b; }
MD_INLINE MdMask_d md_lanes_either_d(MdMask_d a, MdMask_d b) { return a | b; }
MD_INLINE MdLanes_f md_lanes_keep_f(MdMask_f m, MdLanes_f a) { return (MdLanes_f)((MdIndex_f)a & m); }
MD_INLINE MdLanes_d md_lanes_keep_d(MdMask_d m, MdLanes_d a) { return (MdLanes_d)((MdIndex_d)a & m); }
MD_INLINE MdLanes_f md_lanes_pick_f(const float *table, MdIndex_f at) {
    float lanes[MD_LANES_f];
    for (int l = 0; l < MD_LANES_f; l++) lanes[l] = table[at[l]];
    MdLanes_f a;
    memcpy(&a, lanes, sizeof a);
    return a;
}
MD_INLINE MdLanes_d md_lanes_pick_d(const double *table, MdIndex_d at) {
    double lanes[MD_LANES_d];
    for (int l = 0; l < MD_LANES_d; l++) lanes[l] = table[at[l]];
    MdLanes_d a;
    memcpy(&a, lanes, sizeof a);
    return a;
}

#if MD_LANES_BYTES == 32

MD_INLINE MdIndex_f md_lanes_pick_place_f(const int32_t *array, const int32_t *j) {
    return (MdIndex_f)_mm256_i32gather_epi32(array, _mm256_loadu_si256((const __m256i *)j), 4);
}
MD_INLINE MdLanes_d md_lanes_pick_place_d(const double *array, const int32_t *j) {
    return (MdLanes_d)_mm256_i32gather_pd(array, _mm_loadu_si128((const __m128i *)j), 8);
}
MD_INLINE uint32_t md_lanes_bits_f(MdMask_f m) { return (uint32_t)_mm256_movemask_ps((__m256)m); }
MD_INLINE uint32_t md_lanes_bits_d(MdMask_d m) { return (uint32_t)_mm256_movemask_pd((__m256d)m); }
MD_INLINE MdLanes_f md_lanes_least_f(MdLanes_f a, MdLanes_f b) {
    return (MdLanes_f)_mm256_min_ps((__m256)a, (__m256)b);
}
MD_INLINE MdLanes_d md_lanes_least_d(MdLanes_d a, MdLanes_d b) {
    return (MdLanes_d)_mm256_min_pd((__m256d)a, (__m256d)b);
}
MD_INLINE MdLanes_f md_lanes_sqrt_f(MdLanes_f a) { return (MdLanes_f)_mm256_sqrt_ps((__m256)a); }
MD_INLINE MdLanes_d md_lanes_sqrt_d(MdLanes_d a) { return (MdLanes_d)_mm256_sqrt_pd((__m256d)a); }
MD_INLINE MdLanes_d md_lanes_rint_d(MdLanes_d a) {
    return (MdLanes_d)_mm256_round_pd((__m256d)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
MD_INLINE __m256i md_lanes_pieces(const void *a, const void *b) {
    __m256i all = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)a));
    return _mm256_inserti128_si256(all, _mm_loadu_si128((const __m128i *)b), 1);
}
MD_INLINE void md_lanes_fetch_f(const char *p, size_t step, const int32_t *j, MdIndex_f *x, MdIndex_f *y, MdIndex_f *z,
                                MdIndex_f *type) {
    __m256i a = md_lanes_pieces(AT(0), AT(4)), b = md_lanes_pieces(AT(1), AT(5));
    __m256i c = md_lanes_pieces(AT(2), AT(6)), d = md_lanes_pieces(AT(3), AT(7));
    __m256i ab_xy = _mm256_unpacklo_epi32(a, b), ab_zt = _mm256_unpackhi_epi32(a, b);
    __m256i cd_xy = _mm256_unpacklo_epi32(c, d), cd_zt = _mm256_unpackhi_epi32(c, d);
    *x = (MdIndex_f)_mm256_unpacklo_epi64(ab_xy, cd_xy);
    *y = (MdIndex_f)_mm256_unpackhi_epi64(ab_xy, cd_xy);
    *z = (MdIndex_f)_mm256_unpacklo_epi64(ab_zt, cd_zt);
    *type = (MdIndex_f)_mm256_unpackhi_epi64(ab_zt, cd_zt);
}
MD_INLINE void md_lanes_fetch_d(const char *p, size_t step, const int32_t *j, MdLanes_d *x, MdLanes_d *y, MdLanes_d *z,
                                MdIndex_d *type) {
    __m256i a = md_lanes_pieces(AT(0), AT(2)), b = md_lanes_pieces(AT(1), AT(3));
    __m256i c = md_lanes_pieces(AT(0) + 16, AT(2) + 16), d = md_lanes_pieces(AT(1) + 16, AT(3) + 16);
    *x = (MdLanes_d)_mm256_unpacklo_epi64(a, b);
    *y = (MdLanes_d)_mm256_unpackhi_epi64(a, b);
    *z = (MdLanes_d)_mm256_unpacklo_epi64(c, d);
    *type = (MdIndex_d)_mm256_unpackhi_epi64(c, d);
}

#else

MD_INLINE MdIndex_f md_lanes_pick_place_f(const int32_t *array, const int32_t *j) {
    return (MdIndex_f){array[j[0]], array[j[1]], array[j[2]], array[j[3]]};
}
MD_INLINE MdLanes_d md_lanes_pick_place_d(const double *array, const int32_t *j) {
    return (MdLanes_d){array[j[0]], array[j[1]]};
}
MD_INLINE uint32_t md_lanes_bits_f(MdMask_f m) {
    uint32_t bits = 0;
    for (int l = 0; l < MD_LANES_f; l++) bits |= (uint32_t)(m[l] & 1) << l;
    return bits;
}
MD_INLINE uint32_t md_lanes_bits_d(MdMask_d m) {
    uint32_t bits = 0;
    for (int l = 0; l < MD_LANES_d; l++) bits |= (uint32_t)(m[l] & 1) << l;
    return bits;
}
MD_INLINE MdLanes_f md_lanes_least_f(MdLanes_f a, MdLanes_f b) {
    for (int l = 0; l < MD_LANES_f; l++) a[l] = a[l] < b[l] ? a[l] : b[l];
    return a;
}
MD_INLINE MdLanes_d md_lanes_least_d(MdLanes_d a, MdLanes_d b) {
    for (int l = 0; l < MD_LANES_d; l++) a[l] = a[l] < b[l] ? a[l] : b[l];
    return a;
}
MD_INLINE MdLanes_f md_lanes_sqrt_f(MdLanes_f a) {
    for (int l = 0; l < MD_LANES_f; l++) a[l] = sqrtf(a[l]);
    return a;
}
MD_INLINE MdLanes_d md_lanes_sqrt_d(MdLanes_d a) {
    for (int l = 0; l < MD_LANES_d; l++) a[l] = sqrt(a[l]);
    return a;
}
/* To the nearest whole number for |a| < 2^51: beyond it a double has no bits for the fraction. */
MD_INLINE MdLanes_d md_lanes_rint_d(MdLanes_d a) {
    const double shift = 0x1.8p52;
    return (a + shift) - shift;
}
#ifdef __clang__
#define MD_SHUFFLE_4(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#define MD_SHUFFLE_2(a, b, i, j)       __builtin_shufflevector(a, b, i, j)
#else
#define MD_SHUFFLE_4(a, b, i, j, k, l) __builtin_shuffle(a, b, (MdIndex_f){i, j, k, l})
#define MD_SHUFFLE_2(a, b, i, j)       __builtin_shuffle(a, b, (MdIndex_d){i, j})
#endif
MD_INLINE void md_lanes_fetch_f(const char *p, size_t step, const int32_t *j, MdIndex_f *x, MdIndex_f *y, MdIndex_f *z,
                                MdIndex_f *type) {
    const MdIndex_f a = md_lanes_load_place_f(AT(0)), b = md_lanes_load_place_f(AT(1));
    const MdIndex_f c = md_lanes_load_place_f(AT(2)), d = md_lanes_load_place_f(AT(3));
    const MdIndex_f ab_xy = MD_SHUFFLE_4(a, b, 0, 4, 1, 5), ab_zt = MD_SHUFFLE_4(a, b, 2, 6, 3, 7);
    const MdIndex_f cd_xy = MD_SHUFFLE_4(c, d, 0, 4, 1, 5), cd_zt = MD_SHUFFLE_4(c, d, 2, 6, 3, 7);
    *x = MD_SHUFFLE_4(ab_xy, cd_xy, 0, 1, 4, 5);
    *y = MD_SHUFFLE_4(ab_xy, cd_xy, 2, 3, 6, 7);
    *z = MD_SHUFFLE_4(ab_zt, cd_zt, 0, 1, 4, 5);
    *type = MD_SHUFFLE_4(ab_zt, cd_zt, 2, 3, 6, 7);
}
MD_INLINE void md_lanes_fetch_d(const char *p, size_t step, const int32_t *j, MdLanes_d *x, MdLanes_d *y, MdLanes_d *z,
                                MdIndex_d *type) {
    const MdLanes_d a = md_lanes_load_place_d(AT(0)), b = md_lanes_load_place_d(AT(1));
    const MdLanes_d c = md_lanes_load_place_d(AT(0) + 16), d = md_lanes_load_place_d(AT(1) + 16);
    *x = MD_SHUFFLE_2(a, b, 0, 2);
    *y = MD_SHUFFLE_2(a, b, 1, 3);
    *z = MD_SHUFFLE_2(c, d, 0, 2);
    *type = (MdIndex_d)MD_SHUFFLE_2(c, d, 1, 3);
}
#undef MD_SHUFFLE_4
#undef MD_SHUFFLE_2

#endif

/* Writes the indices of the lanes that hit one after the other (a whole register may be written); returns how many. */
#if MD_LANES_BYTES == 32 && defined(__BMI2__)
/* Numbers of lanes as the bytes of a word; the bytes of lanes that hit are compressed; then the indices follow. */
MD_INLINE int md_lanes_append_bits(int32_t *to, uint32_t bits, const int32_t *index) {
    const uint64_t hit = _pdep_u64(bits, UINT64_C(0x0101010101010101)) * 0xff;
    const uint64_t lanes = _pext_u64(UINT64_C(0x0706050403020100), hit);
    const __m256i from = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)lanes));
    const __m256i all = _mm256_loadu_si256((const __m256i *)index);
    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(all, from));
    return __builtin_popcount(bits);
}
#else
MD_INLINE int md_lanes_append_bits(int32_t *to, uint32_t bits, const int32_t *index) {
    int n = 0;
    for (; bits; bits &= bits - 1) to[n++] = index[__builtin_ctz(bits)];
    return n;
}
#endif
MD_INLINE int md_lanes_append_f(int32_t *to, MdMask_f hits, const int32_t *index) {
    return md_lanes_append_bits(to, md_lanes_bits_f(hits), index);
}
MD_INLINE int md_lanes_append_d(int32_t *to, MdMask_d hits, const int32_t *index) {
    return md_lanes_append_bits(to, md_lanes_bits_d(hits), index);
}

#endif
#undef AT

/* Types of the atoms at j, from an array of words: for the layout that keeps them apart. */
MD_INLINE MdIndex_f md_lanes_pick_type_f(const int32_t *type, const int32_t *j) {
    return md_lanes_pick_place_f(type, j);
}
MD_INLINE MdIndex_d md_lanes_pick_type_d(const int32_t *type, const int32_t *j) {
    int64_t lanes[MD_LANES_d];
    for (int l = 0; l < MD_LANES_d; l++) lanes[l] = type[j[l]];
    MdIndex_d all;
    memcpy(&all, lanes, sizeof all);
    return all;
}

#endif
