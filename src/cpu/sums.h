/* Sums as reduce.accumulate holds them.
 *
 *   single       in a float: every addition rounds to 24 bits
 *   compensated  in two floats, the second of which collects the rounding errors of additions to the first (Neumaier, Z. Angew.
 *                Math. Mech. 54, 39 (1974)): nearly the bits of a double, by single-precision arithmetic
 *   double       in a double
 *   reproducible in three doubles, each of whole quanta, so that every addition is exact (physics/split_sum.h)
 *
 * Blocks are added up as a tree, so that the error of a sum grows with the logarithm of the number of blocks. */
#ifndef MD_CPU_SUMS_H
#define MD_CPU_SUMS_H

#include <math.h>

#include "deck/choices.h"
#include "physics/split_sum.h"

typedef struct MdCpuSum {
    float narrow, lost; /* single, compensated */
    MdSplitSum wide;    /* double: only the first part; reproducible */
} MdCpuSum;

/* The kind of sums: reduce.accumulate, and the constants that split the terms of reproducible sums. */
typedef struct MdCpuAccumulate {
    int how;
    double shift[MD_SPLIT_PARTS];
} MdCpuAccumulate;

static inline __attribute__((always_inline)) void md_cpu_sum_add(MdCpuSum *sum, double term,
                                                                 const MdCpuAccumulate *accumulate) {
    if (accumulate->how == MD_ACCUMULATE_DOUBLE) {
        sum->wide.part[0] += term;
        return;
    }
    if (accumulate->how == MD_ACCUMULATE_REPRODUCIBLE) {
        md_split_add(&sum->wide, term, accumulate->shift);
        return;
    }
    const float narrow = (float)term, total = sum->narrow + narrow;
    if (accumulate->how == MD_ACCUMULATE_COMPENSATED)
        sum->lost +=
            fabsf(sum->narrow) >= fabsf(narrow) ? (sum->narrow - total) + narrow : (narrow - total) + sum->narrow;
    sum->narrow = total;
}

static inline void md_cpu_sum_merge(MdCpuSum *sum, const MdCpuSum *other, const MdCpuAccumulate *accumulate) {
    if (accumulate->how == MD_ACCUMULATE_SINGLE || accumulate->how == MD_ACCUMULATE_COMPENSATED)
        md_cpu_sum_add(sum, (double)other->narrow, accumulate);
    for (int k = 0; k < MD_SPLIT_PARTS; k++) sum->wide.part[k] += other->wide.part[k];
    sum->lost += other->lost;
}

static inline MdSplitSum md_cpu_sum_value(const MdCpuSum *sum) { /* unused fields of a mode are 0 */
    MdSplitSum value = sum->wide;
    value.part[0] += (double)sum->narrow + (double)sum->lost;
    return value;
}

#endif
