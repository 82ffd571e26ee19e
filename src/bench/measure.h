/* Timing the cases of a stage on one configuration. */
#ifndef MD_BENCH_MEASURE_H
#define MD_BENCH_MEASURE_H

#include "bench/cases.h"

/* Checks every case that is ready, then times those that passed. */
void md_bench_measure(const MdRecord *record, const MdBenchStage *stage, const MdSystem *system, MdBenchCases *cases);

/* The place of `share` (0.5: the median) among n sorted values. */
double md_bench_quantile(const double *sorted, int n, double share);

#endif
