/* Whether a variant may be timed: it must be right first. */
#ifndef MD_BENCH_JUDGE_H
#define MD_BENCH_JUDGE_H

#include "microbench/stages/cases.h"

/* Runs the case on the system and compares with the reference: state becomes MD_BENCH_PASSED; MD_BENCH_FAILED with
 * the first check that did not hold in reason; or MD_BENCH_REFUSED where the backend does not take it (no room for one
 * more copy of everything, say). */
void md_bench_judge(const MdBackendOps *ops, const MdSystem *system, MdBenchCase *c);

#endif
