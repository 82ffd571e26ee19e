#include "analysis/analysis.h"

#include <stddef.h>

#include "base/memory.h"

MdAnalysis *md_analysis_create(const MdConfig *config, const MdSystemPlan *plan) {
    MdAnalysis *a = md_alloc(1, sizeof *a, "analysis");
    for (int k = 0; k < MD_N_WINDOWS; k++) {
        a->windows[k] = md_windows_create(k, config, plan);
        a->is_there = a->is_there || a->windows[k].kind;
    }
    a->rdf = md_rdf_create(config, plan);
    a->is_there = a->is_there || a->rdf.state;
    return a;
}

void md_analysis_destroy(MdAnalysis *a) {
    if (!a) return;
    for (int k = 0; k < MD_N_WINDOWS; k++) md_windows_free(&a->windows[k]);
    md_rdf_free(&a->rdf);
    md_free(a);
}

void md_analysis_weigh(MdAnalysis *a, const MdSystem *system) {
    int64_t n_of_type[MD_MAX_TYPES] = {0};
    if (!a->is_there) return;
    for (int64_t i = 0; i < system->n_own; i++) n_of_type[system->type[i]]++;
    md_comm_add_integers(system->comm, n_of_type, MD_MAX_TYPES);
    for (int k = 0; k < MD_N_WINDOWS; k++) md_windows_weigh(&a->windows[k], n_of_type);
    md_rdf_weigh(&a->rdf, n_of_type);
}

static MdStatus collect_sums(MdAnalysis *a, const MdBackendOps *ops, void *context) {
    const int n_rows = a->n_rows,
              n_types = a->windows[MD_MSD].kind ? a->windows[MD_MSD].n_types : a->windows[MD_VACF].n_types;
    const size_t row = (size_t)(MD_OBSERVE_N * n_types);
    if (n_rows == 0) return MD_OK;
    double *sums = md_alloc((size_t)n_rows * row, sizeof *sums, "samples");
    const MdStatus status = ops->observed(context, n_rows, sums);
    a->n_rows = 0;
    for (int r = 0; r < n_rows && status == MD_OK; r++)
        for (int k = 0; k < MD_N_WINDOWS; k++)
            if (md_windows_are_due(&a->windows[k], a->step[r]))
                md_windows_add(&a->windows[k], a->step[r],
                               sums + (size_t)r * row + a->windows[k].kind->quantity * n_types);
    md_free(sums);
    return status;
}

static MdStatus collect_counts(MdAnalysis *a, const MdBackendOps *ops, void *context) {
    const int n_rows = a->n_count_rows;
    const size_t size = md_pair_count_size(&a->rdf.count);
    if (n_rows == 0) return MD_OK;
    int64_t *counts = md_alloc((size_t)n_rows * size, sizeof *counts, "pair counts");
    const MdStatus status = ops->counted(context, n_rows, counts);
    a->n_count_rows = 0;
    for (int r = 0; r < n_rows && status == MD_OK; r++) md_rdf_add(&a->rdf, counts + (size_t)r * size);
    md_free(counts);
    return status;
}

MdStatus md_analysis_collect(MdAnalysis *a, const MdBackendOps *ops, void *context) {
    const MdStatus status = collect_sums(a, ops, context);
    return status == MD_OK ? collect_counts(a, ops, context) : status;
}

MdStatus md_analysis_observe(MdAnalysis *a, const MdBackendOps *ops, void *context, int64_t step) {
    MdObservation observation = {0};
    for (int k = 0; k < MD_N_WINDOWS; k++) {
        const MdWindows *w = &a->windows[k];
        if (!md_windows_are_due(w, step)) continue;
        observation.quantities |= 1u << w->kind->quantity;
        if (md_windows_begin(w, step)) observation.origins |= 1u << w->kind->quantity;
    }
    observation.counts_pairs = md_rdf_is_due(&a->rdf, step);
    if (!observation.quantities && !observation.counts_pairs) return MD_OK;
    const bool is_full = a->n_rows == MD_OBSERVED_ROWS || a->n_count_rows == MD_COUNTED_ROWS;
    const MdStatus status = is_full ? md_analysis_collect(a, ops, context) : MD_OK;
    if (status != MD_OK) return status;
    observation.row = a->n_rows;
    observation.count_row = a->n_count_rows;
    if (observation.quantities) a->step[a->n_rows++] = step;
    if (observation.counts_pairs) a->n_count_rows++;
    return ops->observe(context, &observation);
}

int md_analysis_parts(const MdAnalysis *a, MdAnalysisPart parts[MD_ANALYSIS_PARTS]) {
    static const char *const sections[] = {[MD_MSD] = "analysis msd", [MD_VACF] = "analysis vacf"};
    static const int columns[] = {[MD_MSD] = MD_COLUMN_msd_origin, [MD_VACF] = MD_COLUMN_vacf_origin};
    static const int options[][4] = {
        [MD_MSD] = {MD_OPTION_analysis_msd_from, MD_OPTION_analysis_msd_every, MD_OPTION_analysis_msd_lags, -1},
        [MD_VACF] = {MD_OPTION_analysis_msd_from, MD_OPTION_analysis_vacf_every, MD_OPTION_analysis_vacf_lags, -1}};
    static const int of_rdf[] = {MD_OPTION_analysis_rdf_from, MD_OPTION_analysis_rdf_every, MD_OPTION_analysis_rdf_bins,
                                 MD_OPTION_analysis_rdf_max,  MD_OPTION_analysis_rdf_types, -1};
    int n = 0;
    if (!a) return 0;
    for (int k = 0; k < MD_N_WINDOWS; k++) {
        const MdWindows *w = &a->windows[k];
        if (!w->kind) continue;
        parts[n++] = (MdAnalysisPart){.section = sections[k],
                                      .state = w->state,
                                      .bytes = w->state_bytes,
                                      .head_bytes = offsetof(MdWindowsState, diffusion),
                                      .from = w->state->from,
                                      .column = columns[k],
                                      .options = options[k]};
    }
    if (a->rdf.state)
        parts[n++] = (MdAnalysisPart){.section = "analysis rdf",
                                      .state = a->rdf.state,
                                      .bytes = a->rdf.state_bytes,
                                      .head_bytes = offsetof(MdRdfState, n_samples),
                                      .from = a->rdf.state->from,
                                      .column = -1,
                                      .options = of_rdf};
    return n;
}

int md_analysis_curves(const MdAnalysis *a, const MdConfig *config, MdCurves *curves[MD_MAX_CURVES]) {
    int n = 0;
    for (int k = 0; k < MD_N_WINDOWS; k++)
        if (a->windows[k].kind) curves[n++] = md_windows_curves(&a->windows[k], config);
    if (a->rdf.state) curves[n++] = md_rdf_curves(&a->rdf, config);
    return n;
}
