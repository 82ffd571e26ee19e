/* Timing the cases of a stage on one configuration. */
#ifndef MD_BENCH_MEASURE_H
#define MD_BENCH_MEASURE_H

#include "microbench/stages/cases.h"

/* Checks every case that is ready, then times those that passed. */
void md_bench_measure(const MdRecord *record, const MdBenchStage *stage, const MdSystem *system, MdBenchCases *cases);

/* The median of n values and its interval; returns the confidence that this has. */
double md_bench_summarize(const double *values, int n, double *low, double *median, double *high);

/* The interval of the median from order statistics, free of any distribution: the k-th and the (n + 1 - k)-th of n sorted
 * values, the narrowest that holds the true median with at least 95 % probability (1 and n where n is too small for that).
 * Returns k, from 1; *confidence is that probability: 1 - 2 sum_{i < k} C(n, i) / 2^n (Conover, Practical Nonparametric
 * Statistics, 1999, 3.2). */
int md_bench_interval(int n, double *confidence);

#endif
