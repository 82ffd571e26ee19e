/* Sums as reduce.accumulate holds them.
 *
 *   single       in a float: every addition rounds to 24 bits
 *   compensated  in two floats, the second of which collects what each addition to the first loses (Neumaier, Z. Angew.
 *                Math. Mech. 54, 39 (1974)): nearly the bits of a double, by single-precision arithmetic
 *   double       in a double
 *
 * Blocks are added up as a tree, so that the error of a sum grows with the logarithm of the number of blocks. */
#ifndef MD_CPU_SUMS_H
#define MD_CPU_SUMS_H

#include <math.h>

#include "deck/choices.h"

typedef struct MdCpuSum {
    double wide;        /* double */
    float narrow, lost; /* single, compensated */
} MdCpuSum;

static inline __attribute__((always_inline)) void md_cpu_sum_add(MdCpuSum *sum, double term, int accumulate) {
    if (accumulate == MD_ACCUMULATE_DOUBLE) {
        sum->wide += term;
        return;
    }
    const float narrow = (float)term, total = sum->narrow + narrow;
    if (accumulate == MD_ACCUMULATE_COMPENSATED)
        sum->lost +=
            fabsf(sum->narrow) >= fabsf(narrow) ? (sum->narrow - total) + narrow : (narrow - total) + sum->narrow;
    sum->narrow = total;
}

static inline void md_cpu_sum_merge(MdCpuSum *sum, const MdCpuSum *other, int accumulate) {
    md_cpu_sum_add(sum, accumulate == MD_ACCUMULATE_DOUBLE ? other->wide : (double)other->narrow, accumulate);
    sum->lost += other->lost;
}

static inline double md_cpu_sum_value(const MdCpuSum *sum) { /* what a mode does not use is 0 */
    return sum->wide + (double)sum->narrow + (double)sum->lost;
}

#endif
