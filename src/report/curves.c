#include "report/curves.h"

#include <math.h>
#include <stdio.h>

#include "analysis/analysis.h"
#include "deck/units.h"

MdStatus md_curves_check(const MdDeck *deck, const MdSystemPlan *plan, MdErrors *errors) {
    if (md_deck_config(deck)->analysis_pressure == MD_PRESSURE_TENSOR && !isfinite(md_box_volume(&plan->box)))
        return md_fail(errors, MD_ERROR_INPUT,
                       "%s: analysis.pressure: a pressure needs the volume of the whole box, and an axis is open; "
                       "allowed: scalar, or system.boundary = periodic",
                       md_deck_origin(deck, MD_OPTION_analysis_pressure));
    return md_pair_count_check(deck, plan, errors);
}

MdStatus md_report_curves(const MdRecord *r, MdTrajectory *trajectory) {
    MdCurves *curves[MD_MAX_CURVES];
    const int n = md_analysis_curves(r->analysis, r->config, curves);
    MdStatus status = md_trajectory_put_curves(trajectory, curves, n, r->errors);
    for (int k = 0; k < n; k++) {
        if (status == MD_OK)
            status = md_curves_write(curves[k], md_files_curves(&r->files, curves[k]->name), r->errors);
        md_curves_destroy(curves[k]);
    }
    return status;
}

static const char *const methods[MD_N_WINDOWS] = {
    [MD_MSD] = "slope of the mean square displacement", [MD_VACF] = "integral of the velocity autocorrelation"};

static void log_kind(MdRecord *r, const MdWindows *w, int kind, const char *method) {
    const MdMean *d = &w->state->diffusion[kind];
    const double factor = md_config_factor(r->config, MD_DIFFUSION);
    const char *unit = md_config_unit_after(r->config, MD_DIFFUSION);
    char of_type[32] = "", error[48] = "    error not known: it takes two windows";
    if (kind > 0) snprintf(of_type, sizeof of_type, " of type %d", kind);
    if (d->n > 1) snprintf(error, sizeof error, " +- %.2g", factor * md_mean_error(d));
    md_log(r->log, "diffusion%-10s %12.6g%s%s  %s, %lld window%s\n", of_type, factor * md_mean_value(d), error, unit,
           method, (long long)d->n, d->n == 1 ? "" : "s");
}

void md_curves_log(MdRecord *r) {
    bool any = false;
    const MdRdfState *rdf = r->analysis->rdf.state;
    if (rdf)
        md_log(r->log, "\ng(r) up to %.6g%s, %lld sample%s in %lld blocks\n", rdf->range,
               md_config_unit_after(r->config, MD_LENGTH), (long long)rdf->n_samples, rdf->n_samples == 1 ? "" : "s",
               (long long)rdf->n_blocks);
    for (int k = 0; k < MD_N_WINDOWS; k++) {
        const MdWindows *w = &r->analysis->windows[k];
        if (!w->kind) continue;
        if (!any) md_log(r->log, "\n");
        any = true;
        for (int kind = 0; kind < w->state->n_kinds && w->state->diffusion[0].n > 0; kind++)
            log_kind(r, w, kind, methods[k]);
        if (w->state->diffusion[0].n == 0)
            md_log(r->log, "diffusion: no window of %s is whole yet: it has %lld samples, one every %lld steps\n",
                   w->kind->name, (long long)w->state->n_lags, (long long)w->state->every);
    }
}

static void write_windows(MdJson *json, const MdRecord *r, const MdWindows *w) {
    const double factor = md_config_factor(r->config, MD_DIFFUSION);
    md_json_begin_object(json, w->kind->name);
    md_json_int(json, "whole_windows", w->state->diffusion[0].n);
    md_json_begin_array(json, "diffusion");
    for (int kind = 0; kind < w->state->n_kinds; kind++) {
        const MdMean *d = &w->state->diffusion[kind];
        md_json_begin_object(json, NULL);
        if (kind > 0) md_json_int(json, "type", kind);
        md_json_real(json, "mean", factor * md_mean_value(d));
        md_json_real(json, "error", factor * md_mean_error(d));
        md_json_end_object(json);
    }
    md_json_end_array(json);
    md_json_end_object(json);
}

static void write_rdf(MdJson *json, const MdRecord *r, const MdRdfState *state) {
    md_json_begin_object(json, "rdf");
    md_json_int(json, "samples", state->n_samples);
    md_json_int(json, "blocks", state->n_blocks);
    md_json_real(json, "range", md_config_factor(r->config, MD_LENGTH) * state->range);
    md_json_end_object(json);
}

void md_curves_json(MdJson *json, const MdRecord *r) {
    if (!r->analysis->is_there) return;
    md_json_begin_object(json, "analysis");
    for (int k = 0; k < MD_N_WINDOWS; k++)
        if (r->analysis->windows[k].kind) write_windows(json, r, &r->analysis->windows[k]);
    if (r->analysis->rdf.state) write_rdf(json, r, r->analysis->rdf.state);
    md_json_end_object(json);
}
