/* Sums whose bits depend neither on the order of the terms nor on how they are divided among threads or processes.
 *
 * A term is split into three whole numbers, of quanta that are 2^31 apart, and these are added in 64 bits, where addition is
 * associative. The sum is rounded once, when it is read. (Fixed point, as Kulisch and Miranker, SIAM Review 28, 1 (1986), but
 * with a window below the largest term, which must be known before, in place of the whole range of doubles.)
 *
 * With 2^e the power of two above the largest term, the finest quantum is 2^(e - 93), and 2^31 terms fit. A term of at
 * least 2^-40 of the largest is added exactly, a smaller one rounded to that quantum: 2^31 of them are wrong by less
 * than 2^-61 of the largest term together. The largest must be below 2^1001.
 *
 * The code relies on rounding to nearest and on every operation as it is written: no -ffast-math. */
#ifndef MD_BASE_EXACT_SUM_H
#define MD_BASE_EXACT_SUM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MD_EXACT_PARTS = 3 };

typedef struct MdExactSum {
    uint64_t part[MD_EXACT_PARTS]; /* coarse to fine, two's complement: what is no term wraps, and the sum is NaN */
    double shift[MD_EXACT_PARTS];  /* 1.5 2^52 quanta: added to a term it rounds that to quanta, in its low bits */
    double limit;                  /* of the magnitude of a term */
    int32_t exponent;              /* the finest quantum is 2^exponent */
    bool is_nan;
} MdExactSum;

static inline uint64_t md_exact_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The larger magnitude of the two; NaN when one is NaN. For the largest term. */
static inline double md_exact_larger(double a, double b) {
    const uint64_t magnitude = UINT64_MAX >> 1, x = md_exact_bits(a) & magnitude, y = md_exact_bits(b) & magnitude;
    const uint64_t larger = x > y ? x : y; /* bits are ordered as magnitudes are, with NaN above infinity */
    double value;
    memcpy(&value, &larger, sizeof value);
    return value;
}

/* An empty sum of terms whose magnitude is `largest` at most. The sum is NaN when that is NaN, infinite or too large. */
MdExactSum md_exact_begin(double largest);

/* A term above the power of two over the largest, infinity and NaN make the sum NaN. */
static inline void md_exact_add(MdExactSum *sum, double term) {
    if (!(fabs(term) <= sum->limit)) sum->is_nan = true;
    for (int k = 0; k < MD_EXACT_PARTS; k++) {
        const double shifted = term + sum->shift[k];
        sum->part[k] += md_exact_bits(shifted) - md_exact_bits(sum->shift[k]);
        term -= shifted - sum->shift[k]; /* without error */
    }
}

/* Adds another sum, begun with the same largest term. */
void md_exact_merge(MdExactSum *sum, const MdExactSum *other);

/* Rounded to the nearest double; infinite when it is beyond them. */
double md_exact_value(const MdExactSum *sum);

#ifdef __cplusplus
}
#endif
#endif
