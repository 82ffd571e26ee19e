#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/version.h"
#include "report/summary.h"

static double mebibytes(uint64_t bytes) { return (double)bytes / (1024.0 * 1024.0); }

/* What runs where; each line begins with prefix. */
static void log_setup(MdSimulation *s, const char *prefix) {
    const MdVersion *version = md_version();
    const MdBox *box = &s->plan.box;
    char *precision = md_deck_value_text(s->deck, MD_OPTION_run_precision);
    md_log(s->log, "%smdmini %s (%s%s)\n", prefix, version->version, version->commit, version->dirty ? ", dirty" : "");
    md_log(s->log, "%sbackend   %s, %s precision: %s; %s\n", prefix, s->ops->name, precision, s->machine.name,
           s->machine.details);
    free(precision);
    if (s->backend_reason) md_log(s->log, "%s          (auto: %s)\n", prefix, s->backend_reason);
    md_log(s->log, "%ssystem    %lld atoms in %d dimensions, box", prefix, (long long)s->plan.n_atoms, box->dimension);
    for (int a = 0; a < box->dimension; a++)
        md_log(s->log, " %s%.6g%s", a ? "x " : "", box->length[a], box->periodic[a] ? "" : " (open)");
    md_log(s->log, ", %d type%s\n", s->plan.potential.n_types, s->plan.potential.n_types == 1 ? "" : "s");
    if (s->plan.potential.n_types > 1) {
        md_log(s->log, "%stypes    ", prefix);
        for (int t = 0; t < s->plan.potential.n_types; t++) md_log(s->log, " %d = %s", t + 1, s->plan.type_name[t]);
        md_log(s->log, "\n");
    }
    if (s->plan.file_velocities)
        md_log(s->log, "%sstart     velocities are those of %s, less their mean\n", prefix, s->config->system_file);
    md_log(s->log, "%smemory    %.1f MiB of main memory", prefix, mebibytes(s->memory.host_bytes));
    if (s->memory.device_bytes) md_log(s->log, ", %.1f MiB on the GPU", mebibytes(s->memory.device_bytes));
    md_log(s->log, "\n");
    if (s->files.h5)
        md_log(s->log, "%strajectory %lld frames, %.1f MiB\n", prefix, (long long)s->n_frames,
               mebibytes(s->trajectory_bytes));
}

void md_report_plan(MdSimulation *s) {
    log_setup(s, "# "); /* the whole output is a deck that can be read again */
    md_log(s->log, "\n%s", s->effective_deck);
    md_log(s->log, "\n# checked: the deck can run here; nothing was run and nothing was written\n");
    if (s->config->system_start == MD_START_RANDOM)
        md_log(s->log, "# whether random places are found for all atoms is seen when it runs\n");
}

void md_report_head(MdSimulation *s) {
    log_setup(s, "");
    md_log(s->log, "output   %s%s %s %s\n", s->files.h5 ? " " : "", s->files.h5 ? s->files.h5 : "", s->files.json,
           s->files.log);
    md_log_file_only(s->log, "\n%s", s->effective_deck);
}

void md_report_thermo(MdSimulation *s, const MdThermo *t) {
    if (t->step == 0)
        md_log(s->log, "\n%12s %12s %12s %14s %14s %14s %14s\n", "step", "time", "temperature", "potential", "total",
               "conserved", "pressure");
    char pressure[32] = "-"; /* there is none in an open box */
    if (isfinite(md_box_volume(&s->plan.box))) snprintf(pressure, sizeof pressure, "%.7f", t->pressure);
    md_log(s->log, "%12lld %12.6g %12.6f %14.7f %14.7f %14.7f %14s\n", (long long)t->step, t->time, t->temperature,
           t->potential, t->total, t->conserved, pressure);
    if (t->step == 0 && t->potential > 2 * t->kinetic + 1)
        md_warn(s->log,
                "atoms start very close to each other: a potential energy of %.3g per atom will turn into heat.\n"
                "         Start from a lattice, or further apart: system.min_distance, system.density\n",
                t->potential);
}

static void log_stage(MdSimulation *s, const MdStageTime *stage) {
    md_log(s->log, "%-12s %-28s %10lld", stage->stage, stage->ran, (long long)stage->calls);
    if (isfinite(stage->seconds))
        md_log(s->log, " %12.4f %7.1f%%\n", stage->seconds, 100 * stage->seconds / s->loop_seconds);
    else md_log(s->log, " %12s %8s\n", "not timed", "");
}

static void log_timings(MdSimulation *s) {
    double attributed = 0, loop = s->loop_seconds;
    md_log(s->log, "\n%-12s %-28s %10s %12s %8s\n", "stage", "variant", "calls", "seconds", "share");
    for (int k = 0; k < s->statistics.n_stages; k++) {
        const MdStageTime *stage = &s->statistics.stages[k];
        if (stage->calls == 0) continue;
        log_stage(s, stage);
        if (isfinite(stage->seconds)) attributed += stage->seconds;
    }
    md_log(s->log, "%-12s %-28s %10s %12.4f %7.1f%%\n", "remainder", "output, launches, waits", "", loop - attributed,
           100 * (loop - attributed) / loop);
    md_log(s->log, "%-12s %-28s %10lld %12.4f\n", "loop", "host clock, all of it", (long long)s->step, loop);
    md_log(s->log, "set-up %.3f s, verification %.3f s (outside the loop)", s->setup_seconds, s->verify_seconds);
    if (s->pipeline) md_log(s->log, "; writing frames %.3f s", s->frame_seconds);
    md_log(s->log, "\n\nrebuilds %lld", (long long)s->statistics.n_rebuilds);
    if (s->statistics.n_rebuilds > 0)
        md_log(s->log, " (every %.1f steps)", (double)s->step / (double)s->statistics.n_rebuilds);
    md_log(s->log, ", %.1f neighbours per atom within cutoff and skin, row capacity %lld, overflows %lld\n",
           s->statistics.neighbors_per_atom, (long long)s->statistics.capacity, (long long)s->statistics.n_overflows);
    if (s->statistics.n_late_rebuilds > 0)
        md_warn(s->log,
                "%lld rebuilds came late: an atom had moved more than half the skin, so that pairs may have been "
                "missed.\n         It is what neighbor.rebuild = every does at this interval and skin; "
                "neighbor.rebuild = host-check is safe\n",
                (long long)s->statistics.n_late_rebuilds);
    md_log(s->log, "speed     %.6g steps/s, %.6g atom-steps/s\n", (double)s->step / loop,
           (double)s->step / loop * (double)s->plan.n_atoms);
}

static void log_verification(MdSimulation *s) {
    const MdVerification *v = &s->verification;
    md_log(s->log, "\n");
    for (int k = 0; k < v->n_checks; k++) {
        char when[32] = "over the run";
        if (v->checks[k].step >= 0) snprintf(when, sizeof when, "at step %lld", (long long)v->checks[k].step);
        md_log(s->log, "%-42s %-18s %10.3g of %-10.3g %s\n", v->checks[k].name, when, v->checks[k].value,
               v->checks[k].limit, md_check_passed(&v->checks[k]) ? "passed" : "FAILED");
    }
    double drift = md_history_drift(&s->history);
    if (isfinite(drift))
        md_log(s->log, "%-42s %-18s %10.3g per atom and step\n", "conserved energy, drift", "over the run", drift);
    if (v->fault.step >= 0)
        md_log(s->log,
               "stopped at step %lld: atom %d would have moved %.3g sigma in one step, the limit is %.3g.\n"
               "The motion has become unstable: run.timestep is too large for this system, or atoms started too "
               "close\nto each other. What was written up to then is kept.\n",
               (long long)v->fault.step, v->fault.id, v->fault.displacement,
               MD_FAULT_SHARE * s->plan.potential.cutoff_min);
}

void md_report_run(MdSimulation *s, MdStatus status) {
    if (!s->files_ready) return; /* it ended before it owned any file; the errors say why */
    MdVerdict verdict = md_verify_verdict(&s->verification);
    if (s->step > 0) log_timings(s);
    log_verification(s);
    for (int k = 0; k < md_errors_count(s->errors); k++)
        md_log_file_only(s->log, "error: %s\n", md_errors_text(s->errors, k));
    md_log(s->log, "\nverdict: %s\n", md_verdict_text(verdict));
    if (s->verification.fault.step >= 0)
        status = md_fail(s->errors, MD_ERROR_PHYSICS, "the run became unstable at step %lld; see the log",
                         (long long)s->verification.fault.step);
    else if (verdict == MD_VERDICT_FAILED)
        status = md_fail(s->errors, MD_ERROR_PHYSICS, "the run failed its verification (last step %lld); see the log",
                         (long long)s->step);
    if (!md_log_healthy(s->log))
        status = md_fail(s->errors, MD_ERROR_OUTPUT, "%s: could not be written to the end", s->files.log);
    md_summary_write(s, status == MD_OK ? MD_OK : md_errors_status(s->errors), verdict);
}
