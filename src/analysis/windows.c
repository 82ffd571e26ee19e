#include "analysis/windows.h"

#include <stdio.h>

#include "base/memory.h"
#include "deck/units.h"
#include "output/schedule.h"

const MdWindowsKind md_windows_kinds[MD_N_WINDOWS] = {
    [MD_MSD] = {MD_OBSERVE_DISPLACEMENT, "msd", "mean_square_displacement", MD_AREA},
    [MD_VACF] = {MD_OBSERVE_VELOCITY, "vacf", "velocity_autocorrelation", MD_VELOCITY_SQ}};

MdWindows md_windows_create(int which, const MdConfig *config, const MdSystemPlan *plan) {
    const int64_t every = which == MD_MSD ? config->analysis_msd_every : config->analysis_vacf_every,
                  n_lags = which == MD_MSD ? config->analysis_msd_lags : config->analysis_vacf_lags;
    const int n_types = plan->potential.n_types, n_kinds = n_types > 1 ? 1 + n_types : 1;
    if (every == 0) return (MdWindows){0};
    const size_t n = (size_t)n_lags * (size_t)n_kinds;
    MdWindows w = {.kind = &md_windows_kinds[which],
                   .interval = (double)every * config->run_timestep,
                   .dimension = plan->box.dimension,
                   .n_types = n_types,
                   .state_bytes = sizeof *w.state + n * (sizeof *w.lag + sizeof *w.window)};
    w.state = md_alloc(w.state_bytes, 1, "analysis");
    w.state->every = every;
    w.state->from = config->analysis_msd_from;
    w.state->n_lags = n_lags;
    w.state->n_kinds = n_kinds;
    w.lag = (MdMean *)(w.state + 1);
    w.window = (double *)(w.lag + n);
    return w;
}

void md_windows_free(MdWindows *w) {
    md_free(w->state);
    *w = (MdWindows){0};
}

void md_windows_weigh(MdWindows *w, const int64_t n_of_type[MD_MAX_TYPES]) {
    w->n_atoms[0] = 0;
    for (int t = 0; t < w->n_types; t++) {
        w->n_atoms[0] += (double)n_of_type[t];
        w->n_atoms[1 + t] = (double)n_of_type[t];
    }
}

bool md_windows_are_due(const MdWindows *w, int64_t step) {
    return w->kind && md_schedule_samples(w->state->every, w->state->from, step);
}

static int64_t lag_of(const MdWindows *w, int64_t step) {
    return (step - w->state->from) / w->state->every % w->state->n_lags;
}

bool md_windows_begin(const MdWindows *w, int64_t step) { return lag_of(w, step) == 0; }

/* Of n values, with strides of n_kinds, at times i * interval. */
static double slope(const double *values, int64_t n, int64_t n_kinds, double interval) {
    const double middle = (double)(n - 1) / 2;
    double products = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        products += ((double)i - middle) * values[i * n_kinds];
        squares += ((double)i - middle) * ((double)i - middle);
    }
    return products / (squares * interval);
}

static double integral(const double *values, int64_t n, int64_t n_kinds, double interval) {
    double sum = -(values[0] + values[(n - 1) * n_kinds]) / 2;
    for (int64_t i = 0; i < n; i++) sum += values[i * n_kinds];
    return sum * interval;
}

static double diffusion_of(const MdWindows *w, int64_t kind) {
    const int64_t n = w->state->n_lags, n_kinds = w->state->n_kinds, half = n > 3 ? n / 2 : 0;
    if (w->kind->quantity == MD_OBSERVE_VELOCITY)
        return integral(w->window + kind, n, n_kinds, w->interval) / w->dimension;
    return slope(w->window + half * n_kinds + kind, n - half, n_kinds, w->interval) / (2 * w->dimension);
}

void md_windows_add(MdWindows *w, int64_t step, const double *sums) {
    const int64_t lag = lag_of(w, step), n_kinds = w->state->n_kinds;
    double *values = w->window + lag * n_kinds, all = 0;
    for (int t = 0; t < w->n_types; t++) all += sums[t];
    for (int64_t k = 0; k < n_kinds; k++) {
        values[k] = (k == 0 ? all : sums[k - 1]) / w->n_atoms[k];
        md_mean_add(&w->lag[lag * n_kinds + k], values[k]);
        if (lag == w->state->n_lags - 1) md_mean_add(&w->state->diffusion[k], diffusion_of(w, k));
    }
}

MdCurves *md_windows_curves(const MdWindows *w, const MdConfig *config) {
    const int n_kinds = (int)w->state->n_kinds;
    MdCurves *curves = md_curves_create((int)w->state->n_lags, n_kinds, 2);
    const double factor = md_config_factor(config, w->kind->unit);
    curves->name = w->kind->name;
    curves->title = w->kind->title;
    curves->units = md_config_units(config);
    curves->unit = w->kind->unit;
    curves->blocks = "windows";
    curves->axis[0].name = "step";
    curves->axis[0].unit = MD_NO_UNIT;
    curves->axis[1].name = "time";
    curves->axis[1].unit = MD_TIME;
    snprintf(curves->kind[0], sizeof curves->kind[0], "%s", w->kind->name);
    for (int k = 1; k < n_kinds; k++)
        snprintf(curves->kind[k], sizeof curves->kind[k], "%s of type %d", w->kind->name, k);
    for (int p = 0; p < curves->n_points; p++) {
        const double steps = (double)(p * w->state->every);
        curves->axis[0].values[p] = steps;
        curves->axis[1].values[p] = steps * md_config_shown_timestep(config);
        curves->n_blocks[p] = w->lag[p * n_kinds].n;
        for (int k = p * n_kinds; k < (p + 1) * n_kinds; k++) {
            curves->mean[k] = factor * md_mean_value(&w->lag[k]);
            curves->error[k] = factor * md_mean_error(&w->lag[k]);
        }
    }
    return curves;
}
