/* The throughput of a stage: the bytes and operations of the variants table over its time. The bytes
 * and operations are a model, explained at each table; the time is measured. */
#ifndef MD_REPORT_FIGURES_H
#define MD_REPORT_FIGURES_H

#include "backend/backend.h"

typedef struct MdFigures {
    MdWork work;                  /* of one call, by the model; 0 where the table says nothing */
    double gb_per_s, gflop_per_s; /* 1e9; NaN where time or model is missing */
} MdFigures;

/* seconds: that this work took. */
MdFigures md_figures_of_work(MdWork work, double seconds);

/* A stage as it was timed. n_entries: of the neighbour list as stored. */
MdFigures md_figures_of_stage(const MdBackendOps *ops, const MdConfig *config, const MdStageTime *stage, double n_atoms,
                              double n_entries);

/* Adds the stages that have switches but no clock (memory, launch): no calls, seconds NaN. With one rank no switch of halos
 * has run. */
void md_figures_complete(MdStatistics *statistics, const MdBackendOps *ops, const MdConfig *config,
                         const MdConfig *asked, bool has_ranks);

/* A figure for a table, `-` where there is none. Returns text or a constant. */
enum { MD_FIGURE_BYTES = 32 };
const char *md_figure_text(char text[MD_FIGURE_BYTES], double value);

#endif
