#include "base/exact_sum.h"

#include "base/status.h"

/* PART_BITS: a part of 2^31 terms, each of 2^31 quanta at most, fits into 64 bits. LEAST: below 2^-1074, the last bit of
 * all doubles, there is nothing to add. MOST: the first shift is a double. */
enum { PART_BITS = 31, FINEST_BITS = MD_EXACT_PARTS * PART_BITS, LEAST = FINEST_BITS - 1074, MOST = 1001 };

MdExactSum md_exact_begin(double largest) {
    MdExactSum sum = {.is_nan = !(fabs(largest) < ldexp(1, MOST))};
    int e = LEAST;
    if (!sum.is_nan && largest != 0) frexp(largest, &e);
    if (e < LEAST) e = LEAST;
    sum.limit = ldexp(1, e);
    sum.exponent = e - FINEST_BITS;
    for (int k = 0; k < MD_EXACT_PARTS; k++) sum.shift[k] = ldexp(1.5, e - (k + 1) * PART_BITS + 52);
    return sum;
}

void md_exact_merge(MdExactSum *sum, const MdExactSum *other) {
    md_require(sum->exponent == other->exponent);
    for (int k = 0; k < MD_EXACT_PARTS; k++) sum->part[k] += other->part[k];
    sum->is_nan = sum->is_nan || other->is_nan;
}

double md_exact_value(const MdExactSum *sum) {
    __int128 quanta = 0;
    for (int k = 0; k < MD_EXACT_PARTS; k++) quanta = quanta * (INT64_C(1) << PART_BITS) + (int64_t)sum->part[k];
    return sum->is_nan ? (double)NAN : ldexp((double)quanta, sum->exponent);
}
