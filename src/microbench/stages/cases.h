/* The cases of a micro-benchmark: one for each row of the variants table that bears on a stage. */
#ifndef MD_BENCH_CASES_H
#define MD_BENCH_CASES_H

#include "report/figures.h"
#include "report/record.h"

enum { MD_BENCH_ROUNDS = 11 };

typedef enum MdBenchState {
    MD_BENCH_READY,   /* not yet checked */
    MD_BENCH_SAME,    /* sets a value of the base: not timed twice */
    MD_BENCH_MOOT,    /* the switch has no effect as the others stand */
    MD_BENCH_REFUSED, /* cannot run here, or not with the other switches of the deck */
    MD_BENCH_SKIPPED, /* would take too long */
    MD_BENCH_FAILED,  /* ran, and was wrong */
    MD_BENCH_PASSED,
    MD_BENCH_TIMED /* passed, and has a time */
} MdBenchState;

typedef struct MdBenchCase {
    const char *variant; /* `force.kernel=list`; `base` */
    MdConfig asked, config;
    char with[256]; /* other changes by resolve, against the base */
    MdBenchState state;
    char reason[512];                          /* of rows without effect, refused, skipped or failed */
    int64_t n_calls;                           /* of a batch */
    double samples[MD_BENCH_ROUNDS];           /* seconds of a call, one a round */
    double seconds, seconds_low, seconds_high; /* median and its interval (md_bench_interval) */
    double base_seconds;                       /* median of the base in the same rounds */
    double ratio, ratio_low, ratio_high;       /* speed over that of the base in the same round: median and interval */
    MdFigures figures;
} MdBenchCase;

typedef struct MdBenchCases {
    int n; /* the base is the first */
    MdBenchCase *rows;
} MdBenchCases;

/* One of the operations that are timed. */
typedef struct MdBenchStage {
    const char *name, *call; /* as in the table; the timed call, in words */
    const char *stages[8];   /* whose rows bear on it; NULL ends them */
    const char *work[3];     /* whose model figures are its work; NULL ends them */
    MdStatus (*run)(const MdBackendOps *ops, void *context, MdFrame *frame); /* a call; NULL: a call is a step */
    bool whole_steps; /* which go in batches with launch.graph, launch.persistent */
    bool only_moves;  /* every call uses the same forces and no list: variants that need either do not run */
} MdBenchStage;

/* stage by number, NULL after the last. */
const MdBenchStage *md_bench_stage(int k);

/* The configurations with one row set in the deck's setting. Free with md_bench_cases_free. */
MdBenchCases md_bench_cases(const MdRecord *record, const MdBenchStage *stage);
void md_bench_cases_free(MdBenchCases *cases);

#endif
