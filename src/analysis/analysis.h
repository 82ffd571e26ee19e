/* Analysis while the run goes (deck section analysis): when the backend is to sample, and what becomes of the sums. All ranks have the
 * same numbers. */
#ifndef MD_ANALYSIS_ANALYSIS_H
#define MD_ANALYSIS_ANALYSIS_H

#include "analysis/rdf.h"
#include "analysis/windows.h"
#include "backend/backend.h"

typedef struct MdAnalysis {
    MdWindows windows[MD_N_WINDOWS];
    MdRdf rdf;
    bool is_there; /* the deck asks for any */
    int n_rows;    /* of samples that the backend has, and their steps */
    int64_t step[MD_OBSERVED_ROWS];
    int n_count_rows; /* of histograms that it has */
} MdAnalysis;

MdAnalysis *md_analysis_create(const MdConfig *config, const MdSystemPlan *plan);
void md_analysis_destroy(MdAnalysis *analysis); /* accepts NULL */

/* Counts the atoms of each type. Collective. */
void md_analysis_weigh(MdAnalysis *analysis, const MdSystem *system);

/* Has the backend take the samples that are due after a step. Does not wait for the device, unless there is no room for another one. */
MdStatus md_analysis_observe(MdAnalysis *analysis, const MdBackendOps *ops, void *context, int64_t step);

/* Takes the sums of all samples so far from the backend. Waits for the device. Collective. */
MdStatus md_analysis_collect(MdAnalysis *analysis, const MdBackendOps *ops, void *context);

/* What there is to show; each md_curves_destroy. Returns how many. */
enum { MD_MAX_CURVES = MD_N_WINDOWS + 1 };
int md_analysis_curves(const MdAnalysis *analysis, const MdConfig *config, MdCurves *curves[MD_MAX_CURVES]);

/* --- restart files: the sums of each analysis are a section, and its reference a column of physics/columns.def --- */

typedef struct MdAnalysisPart {
    const char *section;
    void *state; /* begins with its head */
    uint64_t bytes, head_bytes;
    int64_t from; /* its first step */
    int column;   /* MD_COLUMN_..., -1: none */
    /* MD_OPTION_... that the head follows from, the first step and the interval before others; ended by -1 */
    const int *options;
} MdAnalysisPart;

enum { MD_ANALYSIS_PARTS = MD_N_WINDOWS + 1 };

/* Those that are there. Returns how many. Accepts NULL. */
int md_analysis_parts(const MdAnalysis *analysis, MdAnalysisPart parts[MD_ANALYSIS_PARTS]);

#endif
