/* Sums whose bits do not depend on the order of the terms, nor on which thread, block or process adds them: those of initial velocities,
 * and with reduce.accumulate = reproducible those of a run. (A reproducible, or pre-rounded, sum: Demmel and Nguyen, IEEE Trans. Comput. 64,
 * 2060 (2015), of three bins; the splitting without error: Rump, Ogita and Oishi, SIAM J. Sci. Comput. 31, 189 (2008).)
 *
 * A term is split into three doubles, each a whole number of quanta, and each is added to its own part of the sum. Below 2^53 quanta
 * additions of such doubles are exact: any order has the same result. With at most 2^terms terms, of sizes that are 2^size on average:
 *   the first parts together are no more than 2^(terms + size), which is 2^53 quanta q0;
 *   each term leaves half a quantum q0 at most, so that the second parts are no more than 2^terms q0 / 2, which is 2^53 quanta q1;
 *   likewise the third parts. A term loses at most half a quantum q2.
 * Sums of more or larger terms are as good as sums of doubles, and depend on the order as those do. Infinity makes NaN.
 *
 * The code relies on rounding to nearest, and on additions in the order that is written: no -ffast-math. Where a term is a product, a
 * compiler may merge it with the first addition: the parts stay whole quanta, but are those of the product before it is rounded. */
#ifndef MD_PHYSICS_SPLIT_SUM_H
#define MD_PHYSICS_SPLIT_SUM_H

#include "physics/real.h"

#define MD_SPLIT_PARTS 3

typedef struct MdSplitSum {
    double part[MD_SPLIT_PARTS]; /* coarse to fine */
} MdSplitSum;

/* The quantum of a part is 2 to this. */
#define MD_SPLIT_EXPONENT(terms, size, part) ((terms) + (size)-53 + (part) * ((terms)-1 - 53))

/* Sums of a run: up to 2^12 terms an atom, which together are 2^20 on average. Of a million atoms the quanta are 2^-13, 2^-35, 2^-57. */
#define MD_SPLIT_TERMS_OF_ATOM 12
#define MD_SPLIT_SIZE          8

/* The least number of bits, so that 2^bits >= n. */
MD_HD int md_split_bits(long long n) {
    int bits = 0;
    while (bits < 62 && 1LL << bits < n) bits++;
    return bits;
}

#ifdef __cplusplus
#define MD_HD_CONSTANT MD_HD constexpr
#else
#define MD_HD_CONSTANT MD_HD
#endif
/* 1.5 2^52 quanta of a part: added to a term they round it to quanta. */
MD_HD_CONSTANT double md_split_shift(int terms, int size, int part) {
    double shift = 1.5;
    for (int k = 52 + MD_SPLIT_EXPONENT(terms, size, part); k > 0; k--) shift *= 2;
    for (int k = 52 + MD_SPLIT_EXPONENT(terms, size, part); k < 0; k++) shift /= 2;
    return shift;
}
MD_HD void md_split_shifts(int terms, int size, double shift[MD_SPLIT_PARTS]) {
    for (int k = 0; k < MD_SPLIT_PARTS; k++) shift[k] = md_split_shift(terms, size, k);
}

MD_HD void md_split_add(MdSplitSum *sum, double term, const double shift[MD_SPLIT_PARTS]) {
    for (int k = 0; k < MD_SPLIT_PARTS; k++) {
        const double part = term + shift[k] - shift[k];
        sum->part[k] += part;
        term -= part; /* without error */
    }
}

MD_HD double md_split_value(const MdSplitSum *sum) { return sum->part[0] + (sum->part[1] + sum->part[2]); }

#endif
