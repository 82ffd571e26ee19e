/* Sums whose bits depend neither on the order of the terms nor on who adds which of them, be it threads, blocks or processes: those of
 * initial velocities, and with reduce.accumulate = reproducible those of a run.
 *
 * A term is split into three doubles, each a whole number of quanta of its own, and each is added to its kind. Additions of
 * such doubles are exact as long as fewer than 2^53 quanta come together: then any order has the same result. The sum is rounded
 * when the three are added. (Demmel and Nguyen, IEEE Trans. Comput. 64, 2060 (2015); the splitting: Rump, Ogita and Oishi, SIAM J.
 * Sci. Comput. 31, 189 (2008).)
 *
 * Which quanta leave room follows from the number of terms and from how large they are in the mean: all must know both. Sums of
 * larger terms are as good as sums of doubles, and depend on the order as those do. */
#ifndef MD_PHYSICS_SPLIT_SUM_H
#define MD_PHYSICS_SPLIT_SUM_H

#include "physics/real.h"

#define MD_SPLIT_PARTS 3

typedef struct MdSplitSum {
    double part[MD_SPLIT_PARTS]; /* coarse to fine */
} MdSplitSum;

/* The quantum of a part is 2 to this, with 2^terms terms of a size of 2^size in the mean: 2^53 of the first are as much as all of them,
 * and of the others as what the part before has rounded away, half its quantum a term. */
#define MD_SPLIT_EXPONENT(terms, size, part) ((terms) + (size)-53 + (part) * ((terms)-1 - 53))

/* Sums of a run: up to 256 terms an atom, of 2^12 in the mean. Of a million atoms the quanta are 2^-13, 2^-39 and 2^-65. */
#define MD_SPLIT_TERMS_OF_ATOM 8
#define MD_SPLIT_SIZE          12

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
