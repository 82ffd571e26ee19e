#include "report/summary.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/json.h"

static void write_last_row(MdJson *json, const MdHistory *history) {
    if (history->n == 0) return;
    const MdThermo *t = &history->rows[history->n - 1];
    md_json_int(json, "thermo_step", t->step); /* of the values that follow; n_steps but for an early end */
    md_json_real(json, "potential_energy_per_atom", t->potential);
    md_json_real(json, "pairs_per_atom", t->pairs);
    md_json_real(json, "kinetic_energy_per_atom", t->kinetic);
    md_json_real(json, "total_energy_per_atom", t->total);
    md_json_real(json, "conserved_energy_per_atom", t->conserved);
    md_json_real(json, "pressure", t->pressure);
    md_json_real(json, "temperature", t->temperature);
}

static void write_stages(MdJson *json, const MdStatistics *statistics) {
    md_json_begin_array(json, "stages");
    for (int k = 0; k < statistics->n_stages; k++) {
        const MdStageTime *stage = &statistics->stages[k];
        md_json_begin_object(json, NULL);
        md_json_text(json, "stage", stage->stage);
        md_json_text(json, "asked", stage->asked);
        md_json_text(json, "ran", stage->ran);
        md_json_int(json, "calls", stage->calls);
        md_json_real(json, "seconds", stage->seconds);
        md_json_end_object(json);
    }
    md_json_end_array(json);
}

static void write_checks(MdJson *json, const MdVerification *verification) {
    md_json_begin_array(json, "checks");
    for (int k = 0; k < verification->n_checks; k++) {
        const MdCheck *check = &verification->checks[k];
        md_json_begin_object(json, NULL);
        md_json_text(json, "name", check->name);
        if (check->step >= 0) md_json_int(json, "step", check->step);
        md_json_real(json, "value", check->value);
        md_json_real(json, "limit", check->limit);
        md_json_bool(json, "passed", md_check_passed(check));
        md_json_end_object(json);
    }
    md_json_end_array(json);
    if (verification->fault.step < 0) return;
    md_json_begin_object(json, "fault");
    md_json_int(json, "step", verification->fault.step);
    md_json_int(json, "atom", verification->fault.id);
    md_json_real(json, "displacement", verification->fault.displacement);
    md_json_end_object(json);
}

static void write_options(MdJson *json, const MdDeck *deck) {
    md_json_begin_object(json, "options");
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        char *value = md_deck_value_text(deck, k);
        md_json_begin_object(json, md_option_name(k));
        md_json_text(json, "value", value);
        md_json_text(json, "origin", md_deck_origin(deck, k));
        md_json_end_object(json);
        free(value);
    }
    md_json_end_object(json);
}

/* The thermo table as columns. */
static void write_thermo(MdJson *json, const MdHistory *history) {
    static const struct {
        const char *name;
        size_t offset;
    } columns[] = {{"time", offsetof(MdThermo, time)},
                   {"temperature", offsetof(MdThermo, temperature)},
                   {"pressure", offsetof(MdThermo, pressure)},
                   {"potential_energy", offsetof(MdThermo, potential)},
                   {"kinetic_energy", offsetof(MdThermo, kinetic)},
                   {"total_energy", offsetof(MdThermo, total)},
                   {"conserved_energy", offsetof(MdThermo, conserved)}};
    md_json_begin_object(json, "thermo");
    md_json_begin_array(json, "step");
    for (size_t k = 0; k < history->n; k++) md_json_int(json, NULL, history->rows[k].step);
    md_json_end_array(json);
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
        md_json_begin_array(json, columns[c].name);
        for (size_t k = 0; k < history->n; k++) {
            double value;
            memcpy(&value, (const char *)&history->rows[k] + columns[c].offset, sizeof value);
            md_json_real(json, NULL, value);
        }
        md_json_end_array(json);
    }
    md_json_end_object(json);
}

static MdJson *compose(const MdSimulation *s, MdStatus status, MdVerdict verdict) {
    MdJson *json = md_json_create();
    double speed = s->step > 0 ? (double)s->step / s->loop_seconds : NAN;
    md_json_begin_object(json, NULL);
    md_json_text(json, "verdict", md_verdict_text(verdict));
    md_json_int(json, "exit_code", status);
    md_json_int(json, "n_atoms", s->plan.n_atoms);
    md_json_int(json, "n_steps", s->step);
    md_json_text(json, "backend", s->ops->name);
    char *precision = md_deck_value_text(s->deck, MD_OPTION_run_precision);
    md_json_text(json, "precision", precision);
    free(precision);
    write_last_row(json, &s->history);
    md_json_real(json, "energy_drift_per_atom_step", md_history_drift(&s->history));
    md_json_real(json, "loop_seconds", s->loop_seconds);
    md_json_real(json, "steps_per_second", speed);
    md_json_real(json, "atom_steps_per_second", speed * (double)s->plan.n_atoms);
    md_json_real(json, "setup_seconds", s->setup_seconds);
    md_json_real(json, "verify_seconds", s->verify_seconds);
    md_json_real(json, "frame_seconds", s->frame_seconds);
    md_json_int(json, "n_rebuilds", s->statistics.n_rebuilds);
    md_json_int(json, "n_late_rebuilds", s->statistics.n_late_rebuilds);
    md_json_int(json, "n_overflows", s->statistics.n_overflows);
    md_json_int(json, "neighbor_capacity", s->statistics.capacity);
    md_json_real(json, "neighbors_per_atom", s->statistics.neighbors_per_atom);
    md_json_int(json, "memory_announced_host_bytes", (int64_t)s->memory.host_bytes);
    md_json_int(json, "memory_announced_device_bytes", (int64_t)s->memory.device_bytes);
    md_json_int(json, "memory_peak_host_bytes", (int64_t)md_host_memory_peak_bytes());
    md_json_int(json, "memory_device_bytes", (int64_t)s->statistics.device_bytes);
    write_checks(json, &s->verification);
    write_stages(json, &s->statistics);
    write_options(json, s->deck);
    md_json_raw(json, "provenance", s->provenance);
    md_json_text(json, "effective_deck", s->effective_deck);
    write_thermo(json, &s->history);
    md_json_end_object(json);
    return json;
}

void md_summary_write(MdSimulation *s, MdStatus status, MdVerdict verdict) {
    char *aside = md_format("%s.tmp", s->files.json);
    MdJson *json = compose(s, status, verdict);
    FILE *file = fopen(aside, "w");
    int reason = file ? 0 : errno;
    if (file && fputs(md_json_string(json), file) < 0) reason = errno;
    if (file && fclose(file) != 0 && !reason) reason = errno;
    if (!reason && rename(aside, s->files.json) != 0) reason = errno;
    if (reason) {
        md_fail(s->errors, MD_ERROR_OUTPUT, "%s: %s", s->files.json, strerror(reason));
        remove(aside);
    }
    md_json_destroy(json);
    free(aside);
}
