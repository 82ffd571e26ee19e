/* The results of a micro-benchmark for people and for programs. */
#ifndef MD_BENCH_TABLE_H
#define MD_BENCH_TABLE_H

#include "base/json.h"
#include "microbench/stages/cases.h"

/* One table: the fastest first; failed variants have no speed; then variants that did not run, and why. */
void md_bench_print(MdLog *log, const MdBenchStage *stage, const char *configuration, const MdBenchCases *cases);

/* Adds an object for each case to the array that is open. */
void md_bench_write(MdJson *json, const MdBenchStage *stage, const char *configuration, const MdBenchCases *cases);

#endif
