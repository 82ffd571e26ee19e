#define _POSIX_C_SOURCE 200809L
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/stop.h"
#include "deck/table.h"
#include "deck/units.h"
#include "output/path.h"
#include "physics/bath.h"
#include "report/advice.h"
#include "report/averages.h"
#include "report/continued.h"
#include "report/curves.h"
#include "report/figures.h"
#include "report/setup.h"
#include "report/summary.h"
#include "report/table.h"
#include "report/timings.h"

static void log_tail(MdRecord *r) {
    const char *note;
    const MdQuantity pressure = md_unit_pressure(r->plan.box.dimension);
    char *text = md_advice_tail(r, &note) ? md_format("energy %.6g%s per atom, pressure %.6g%s: %s", r->tail.energy,
                                                      md_config_unit_after(r->config, MD_ENERGY),
                                                      r->tail.pressure * md_config_factor(r->config, pressure),
                                                      md_config_unit_after(r->config, pressure), note)
                                          : md_copy_text(note);
    md_log_wrapped(r->log, "tails    ", text);
    free(text);
}

/* Where the kernels of a GPU came from. */
static void log_compilation(MdRecord *r) {
    const MdCompilation *c = &r->statistics.compilation;
    const int n_cached = c->n_kept - c->n_installed;
    if (c->n_compiled == 0 && c->n_kept == 0) return;
    md_log(r->log, "kernels   ");
    if (c->n_installed)
        md_log(r->log, "%d file%s of the installation%s", c->n_installed, c->n_installed == 1 ? "" : "s",
               c->n_compiled || n_cached ? ", " : "");
    if (c->n_compiled)
        md_log(r->log, "%d file%s compiled in %.2f s%s", c->n_compiled, c->n_compiled == 1 ? "" : "s", c->seconds,
               n_cached ? ", " : "");
    if (n_cached) md_log(r->log, "%d file%s from the cache %s", n_cached, n_cached == 1 ? "" : "s", c->folder);
    else if (c->n_compiled && c->is_written) md_log(r->log, ", kept in %s", c->folder);
    if (c->n_compiled && !c->folder[0])
        md_log(r->log, ", not kept: there is no folder for them (MDMINI_KERNEL_CACHE names one)");
    else if (c->n_compiled && !c->is_written)
        md_log(r->log, ", not kept: %s is not there, or cannot be written to", c->folder);
    md_log(r->log, "\n");
}

static void log_minimization(MdRecord *r) {
    const MdMinimization *m = &r->minimization;
    const MdConfig *c = r->config;
    if (m->seconds == 0) return;
    char *method = md_config_value_text(c, MD_OPTION_run_minimize);
    md_log(r->log,
           "relaxed   %s, %lld steps in %.2f s: largest force %.3g%s, was %.3g; potential energy %.8g%s per atom, was "
           "%.8g\n",
           method, (long long)m->n_steps, m->seconds, m->force, md_config_unit_after(c, MD_FORCE), m->force_before,
           m->potential, md_config_unit_after(c, MD_ENERGY), m->potential_before);
    free(method);
    if (m->force > c->run_minimize_force)
        md_warn(
            r->log,
            "the relaxation ended after run.minimize_steps = %lld with a force of %.3g; run.minimize_force is %g%s\n",
            (long long)c->run_minimize_steps, m->force, c->run_minimize_force, md_config_unit_after(c, MD_FORCE));
}

void md_report_plan(MdRecord *r) {
    md_setup_log(r, "# "); /* the whole output is a deck that can be read again */
    if (r->resume.from) md_continued_log(r, "# ");
    md_log(r->log, "\n%s", r->effective_deck);
    md_log(r->log, "\n# checked: %s; nothing was run and nothing was written\n",
           r->no_gpu ? "all that can be told without a GPU" : "the deck can run here");
    if (r->no_gpu) {
        md_log(r->log, "# NOT checked: whether a GPU supports the switches, and the memory that the run takes;\n");
        md_setup_log_open(r);
    }
    if (r->config->system_start == MD_START_RANDOM)
        md_log(r->log, "# only the run shows whether all atoms can be placed at random\n");
}

static void log_heading(MdRecord *r) {
    const bool is_metal = r->config->system_units != MD_UNITS_LJ;
    md_log(r->log,
           "\n%s, energies per atom; conserved: total energy less the heat of the thermostat, with "
           "truncated pairs made whole\n%s%12s %12s %12s %14s %14s %14s %14s",
           is_metal ? "metal units" : "reduced units",
           r->config->ensemble_thermostat == MD_THERMOSTAT_NONE ||
                   md_bath_traits(r->config->ensemble_thermostat) & MD_BATH_BY_ATOM
               ? ""
               : "a row is the state of its step before the thermostat acts\n",
           "step", "time", "temperature", "potential", "total", "conserved", "pressure");
    const char *unit = md_config_unit(r->config, md_unit_pressure(r->plan.box.dimension));
    for (int k = 0; k < MD_N_TENSOR; k++)
        if (md_config_shows_tensor(r->config, k)) md_log(r->log, "    pressure %s", md_tensor_names[k]);
    md_log(r->log, "\n");
    if (!is_metal) return;
    md_log(r->log, "%12s %12s %12s %14s %14s %14s %14s", "", "ps", "K", "eV", "eV", "eV", unit);
    for (int k = 0; k < MD_N_TENSOR; k++)
        if (md_config_shows_tensor(r->config, k)) md_log(r->log, " %14s", unit);
    md_log(r->log, "\n");
}

static void log_resumed(MdRecord *r) {
    const MdResume *resume = &r->resume;
    const bool other_sums =
        !resume->difference && r->comm && r->config->reduce_accumulate != MD_ACCUMULATE_REPRODUCIBLE;
    char *folder = md_path_folder(resume->from);
    char *line = md_format("at step %lld of run %s, by %s: %s%s%s%s%s", (long long)resume->from_step, resume->run_id,
                           resume->from, resume->difference ? "statistically equivalent only, as " : "",
                           resume->difference ? resume->difference : "the bits are those of a run that never stopped",
                           other_sums ? " (those of energies only on the same grid of domains)" : "",
                           resume->same_list ? "" : "; list and forces are computed again",
                           md_path_same(folder, r->config->output_directory)
                               ? ""
                               : "; its files are those in output.directory, not those beside it");
    free(folder);
    md_log_wrapped(r->log, "resumed  ", line);
    free(line);
    if (resume->from_step < r->config->run_steps) return;
    line = md_format("%s: all its steps are made, run.steps = %lld (%s)%s",
                     resume->reported ? "nothing is left to do" : "no step is left to make",
                     (long long)r->config->run_steps, md_deck_origin(r->deck, MD_OPTION_run_steps),
                     md_deck_ramp_ends(r->config) ? "" : "; a larger run.steps goes on");
    md_log_wrapped(r->log, "         ", line);
    free(line);
    if (resume->reported) md_log(r->log, "         %s stays as it is, with the times of these steps\n", r->files.json);
}

void md_report_head(MdRecord *r) {
    if (r->resume.from) md_log(r->log, "\n");
    md_setup_log(r, "");
    log_tail(r);
    log_compilation(r);
    log_minimization(r);
    md_log(r->log, "output   ");
    const bool is_kept = r->config->restart_every != 0 || r->resume.from; /* a restart file, at the end at the latest */
    const char *files[] = {r->files.h5,  r->files.xyz, r->files.json,
                           r->files.csv, r->files.msd, r->files.vacf,
                           r->files.rdf, r->files.log, is_kept ? r->files.restart : NULL};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++)
        if (files[k]) md_log(r->log, " %s", files[k]);
    md_log(r->log, "\n");
    if (r->resume.from) {
        log_resumed(r);
        md_continued_log(r, "");
    }
    md_log_file_only(r->log, "\n%s", r->effective_deck);
    if (r->resume.from && r->resume.from_step < r->config->run_steps) log_heading(r);
}

/* Digits after the point that show as much as in reduced units: an atom has some hundredths of an eV, a liquid some hundred bar. */
static int digits_of(const MdRecord *r, MdQuantity quantity) {
    if (r->config->system_units == MD_UNITS_LJ) return 7;
    return quantity == MD_PRESSURE_3 ? 4 : quantity == MD_TEMPERATURE ? 5 : 9;
}

/* There is none in an open box. */
static void log_pressure(MdRecord *r, double pressure) {
    if (isfinite(md_box_volume(&r->plan.box)))
        md_log(r->log, " %14.*f", digits_of(r, md_unit_pressure(r->plan.box.dimension)), pressure);
    else md_log(r->log, " %14s", "-");
}

void md_report_thermo(MdRecord *r, const MdThermo *row) {
    const MdThermo t = md_thermo_shown(r->config, row);
    const int digits = digits_of(r, MD_ENERGY);
    if (t.step == 0) log_heading(r);
    md_log(r->log, "%12lld %12.6g %12.6f %14.*f %14.*f %14.*f", (long long)t.step, t.time, t.temperature, digits,
           t.potential, digits, t.total, digits, t.conserved);
    log_pressure(r, t.pressure);
    for (int k = 0; k < MD_N_TENSOR; k++)
        if (md_config_shows_tensor(r->config, k)) log_pressure(r, t.pressure_tensor[k]);
    md_log(r->log, "\n");
    if (t.step == 0) md_advice_log_start(r, row);
}

/* Of the whole run, as the table is. */
static void log_averages(MdRecord *r) {
    const MdAverages averages =
        md_averages(&r->history, r->plan.box.dimension, r->config->analysis_pressure == MD_PRESSURE_TENSOR);
    if (averages.n_rows == 0 || averages.to_step == 0) return;
    bool has_error = false;
    for (int k = 0; k < averages.n; k++) has_error = has_error || !averages.of[k].why;
    md_log(r->log, "\naverages over the second half of the table");
    if (has_error) md_log(r->log, " (+-: standard error, by %d blocks)", MD_AVERAGE_BLOCKS);
    md_log(r->log, "\n");
    md_log(r->log, "%lld row%s, steps %lld to %lld", (long long)averages.n_rows, averages.n_rows == 1 ? "" : "s",
           (long long)averages.from_step, (long long)averages.to_step);
    if (r->resume.from && averages.from_step <= r->resume.from_step)
        md_log(r->log, "; those up to step %lld are of earlier processes", (long long)r->resume.from_step);
    md_log(r->log, "\n");
    for (int k = 0; k < averages.n; k++) {
        const MdAverage *average = &averages.of[k];
        const double factor = md_config_factor(r->config, average->quantity);
        const char *unit = md_config_unit_after(r->config, average->quantity);
        char mean[32] = "-";
        if (isfinite(average->mean))
            snprintf(mean, sizeof mean, "%.*f", digits_of(r, average->quantity), factor * average->mean);
        if (average->why)
            md_log(r->log, "%-17s %14s%s    error not known: %s\n", average->label, mean, unit, average->why);
        else md_log(r->log, "%-17s %14s +- %.2g%s\n", average->label, mean, factor * average->error, unit);
    }
}

static void log_verification(MdRecord *r) {
    const MdVerification *v = &r->verification;
    md_log(r->log, "\n");
    for (int k = 0; k < v->n_checks; k++) {
        char when[32] = "over the run";
        if (v->checks[k].step >= 0) snprintf(when, sizeof when, "at step %lld", (long long)v->checks[k].step);
        char *name = md_check_name(&v->checks[k], md_config_units(r->config));
        const double factor = md_config_factor(r->config, md_check_quantity(&v->checks[k]));
        md_log(r->log, "%-42s %-18s %10.3g of %-10.3g %s\n", name, when, factor * v->checks[k].value,
               factor * v->checks[k].limit, md_check_passed(&v->checks[k]) ? "passed" : "FAILED");
        free(name);
    }
    const double drift = md_history_drift(&r->history), error = md_history_drift_error(&r->history);
    char within[32] = "";
    if (isfinite(error)) snprintf(within, sizeof within, " (+- %.2g)", error);
    if (isfinite(drift))
        md_log(r->log, "%-42s %-18s %10.3g%s per atom and step%s\n", "conserved energy, drift", "over the run", drift,
               md_config_unit_after(r->config, MD_ENERGY), within);
    if (v->fault.step >= 0) md_advice_log_fault(r);
    else md_advice_log_energy(r);
    char *note;
    md_advice_time_step(r, &note);
    md_setup_warn(r, "", note);
}

/* Files that were lost after all was written: the status that replaces `status`. */
static MdStatus find_lost(MdRecord *r, MdStatus status) {
    if (status == MD_ERROR_OUTPUT) return status; /* told already */
    const MdStatus held = md_files_check_held(&r->files, r->errors);
    if (held != MD_OK) return held;
    if (status != MD_STOPPED || access(r->files.restart, R_OK) == 0) return status;
    return md_fail(r->errors, MD_ERROR_OUTPUT, "%s: is lost after it was written: %s", r->files.restart,
                   strerror(errno));
}

/* A restart file that went with the folder is no help. */
static void log_restart(MdRecord *r, const char *path, int64_t step, const char *but) {
    if (access(path, R_OK) != 0) return;
    char *file = md_shell_path(path);
    md_log(r->log, "\nthe restart file of step %lld is whole%s; once the cause is removed: mdmini --restart %s\n",
           (long long)step, but, file);
    free(file);
}

/* How a run that came to its end goes on. file: that for restarts, as a shell takes it. */
static void log_extension(MdRecord *r, const char *file) {
    const MdResume *resume = &r->resume;
    if (md_deck_ramp_ends(r->config))
        md_log(r->log,
               "\nthis run cannot be extended: its temperature ramp ends at its last step;\na run that is to be "
               "extended names ensemble.last_step from the start\n");
    else if (resume->file_valid && resume->file_step == r->step)
        md_log(r->log, "\nto go on from here: mdmini --restart %s run.steps=N, N above %lld\n", file,
               (long long)r->step);
    else
        md_log(r->log, "\nthis run cannot be extended: it left no restart file, as restart.every is 0 (%s)\n",
               md_deck_origin(r->deck, MD_OPTION_restart_every));
}

/* How to continue after an early end. */
static void log_stop(MdRecord *r, MdStatus status) {
    const MdResume *resume = &r->resume;
    char *file = md_shell_path(r->files.restart);
    if (status == MD_STOPPED)
        md_log(r->log, "\nstopped early by %s at step %lld of %lld%s, resume with: mdmini --restart %s\n",
               resume->stopped, (long long)r->step, (long long)r->config->run_steps,
               r->step == r->config->run_steps ? ", not verified" : "", file);
    else if (status == MD_ERROR_OUTPUT && resume->file_valid)
        log_restart(r, r->files.restart, resume->file_step,
                    resume->frames_lost ? ", but frames before it are lost" : "");
    else if (status == MD_ERROR_OUTPUT && resume->from) log_restart(r, resume->from, resume->from_step, "");
    else if (status == MD_OK) log_extension(r, file);
    free(file);
    const char *by = !r->comm                        ? ""
                     : r->asked->parallel_grid.n > 0 ? "; any number of processes goes on, with parallel.grid=auto"
                                                     : "; any number of processes goes on";
    if (resume->n_files > 0)
        md_log(r->log, "restart files: %d, %.3f s each at most%s\n", resume->n_files, resume->longest_seconds, by);
}

void md_report_run(MdRecord *r, MdStatus status) {
    if (!r->files_ready) { /* it ended before it owned any file; the errors say why */
        if (status == MD_STOPPED)
            fprintf(stderr,
                    "mdmini: stopped by %s before the first step: no file was touched, start it again as it was\n",
                    md_stop_reason());
        return;
    }
    status = find_lost(r, status);
    if (md_table_close(r) != MD_OK) status = MD_ERROR_OUTPUT;
    MdVerdict verdict = md_verify_verdict(&r->verification);
    md_figures_complete(&r->statistics, r->ops, r->config, r->asked, r->comm != NULL);
    if (r->step > r->resume.from_step) md_timings_log(r);
    log_averages(r);
    md_curves_log(r);
    log_verification(r);
    log_stop(r, status);
    for (int k = 0; k < md_errors_count(r->errors); k++)
        md_log_file_only(r->log, "error: %s\n", md_errors_text(r->errors, k));
    md_advice_log_verdict(r, verdict, status);
    if (r->verification.fault.step >= 0)
        status = md_fail(r->errors, MD_ERROR_PHYSICS, "the run became unstable at step %lld; see the log",
                         (long long)r->verification.fault.step);
    else if (verdict == MD_VERDICT_FAILED)
        status = md_fail(r->errors, MD_ERROR_PHYSICS, "the run failed its verification (last step %lld); see the log",
                         (long long)r->step);
    if (!md_log_healthy(r->log))
        status = md_fail(r->errors, MD_ERROR_OUTPUT, "%s: could not be written to the end", r->files.log);
    if (status == MD_OK && r->resume.reported) return; /* log_resumed has said so */
    md_summary_write(r, status == MD_OK || status == MD_STOPPED ? status : md_errors_status(r->errors), verdict);
}
