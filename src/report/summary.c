#include "report/summary.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "deck/table.h"
#include "deck/units.h"
#include "output/pipeline.h"
#include "report/advice.h"
#include "report/averages.h"
#include "report/continued.h"
#include "report/curves.h"
#include "report/figures.h"
#include "report/overlap.h"
#include "report/provenance.h"

static const char *const tensor_keys[MD_N_TENSOR] = {"pressure_xx", "pressure_yy", "pressure_zz",
                                                     "pressure_xy", "pressure_xz", "pressure_yz"};

static void write_last_row(MdJson *json, const MdRecord *r) {
    if (r->history.n == 0) return;
    const MdThermo last = md_thermo_shown(r->config, &r->history.rows[r->history.n - 1]), *t = &last;
    md_json_int(json, "thermo_step", t->step); /* of the following values; n_steps, except after an early end */
    md_json_real(json, "potential_energy_per_atom", t->potential);
    md_json_real(json, "pairs_per_atom", t->pairs);
    md_json_real(json, "kinetic_energy_per_atom", t->kinetic);
    md_json_real(json, "total_energy_per_atom", t->total);
    md_json_real(json, "conserved_energy_per_atom", t->conserved);
    md_json_real(json, "pressure", t->pressure);
    for (int k = 0; k < MD_N_TENSOR; k++)
        if (md_config_shows_tensor(r->config, k)) md_json_real(json, tensor_keys[k], t->pressure_tensor[k]);
    md_json_real(json, "temperature", t->temperature);
}

/* The unit of each number of the report, by its key: of values, averages and columns of `thermo`. */
static void write_units(MdJson *json, const MdRecord *r) {
    static const char *const energies[] = {"potential_energy", "kinetic_energy", "total_energy", "conserved_energy"};
    const MdConfig *c = r->config;
    const char *energy = md_config_unit(c, MD_ENERGY),
               *pressure = md_config_unit(c, md_unit_pressure(r->plan.box.dimension));
    md_json_begin_object(json, "units");
    md_json_text(json, "time", md_config_unit(c, MD_TIME));
    md_json_text(json, "temperature", md_config_unit(c, MD_TEMPERATURE));
    md_json_text(json, "pressure", pressure);
    for (int k = 0; k < MD_N_TENSOR; k++)
        if (md_config_shows_tensor(c, k)) md_json_text(json, tensor_keys[k], pressure);
    for (int k = 0; k < 4; k++) md_json_text(json, energies[k], energy);
    for (int k = 0; k < 4; k++) {
        char *per_atom = md_format("%s_per_atom", energies[k]);
        md_json_text(json, per_atom, energy);
        free(per_atom);
    }
    md_json_text(json, "energy_per_atom", energy);
    md_json_text(json, "potential_energy_per_atom_before", energy);
    md_json_text(json, "diffusion", md_config_unit(c, MD_DIFFUSION));
    md_json_text(json, "largest_force", md_config_unit(c, MD_FORCE));
    md_json_text(json, "largest_force_before", md_config_unit(c, MD_FORCE));
    md_json_text(json, "energy_drift_per_atom_step", energy);
    md_json_text(json, "energy_drift_error_per_atom_step", energy);
    md_json_text(json, "displacement", md_config_unit(c, MD_LENGTH));
    md_json_text(json, "rms", md_config_unit(c, MD_FORCE));
    md_json_end_object(json);
}

static void write_averages(MdJson *json, const MdRecord *r) {
    const MdAverages averages =
        md_averages(&r->history, r->plan.box.dimension, r->config->analysis_pressure == MD_PRESSURE_TENSOR);
    if (averages.n_rows == 0) return;
    md_json_begin_object(json, "averages");
    md_json_int(json, "from_step", averages.from_step);
    md_json_int(json, "to_step", averages.to_step);
    md_json_int(json, "rows", averages.n_rows);
    md_json_int(json, "blocks", MD_AVERAGE_BLOCKS);
    for (int k = 0; k < averages.n; k++) {
        md_json_begin_object(json, averages.of[k].key);
        const double factor = md_config_factor(r->config, averages.of[k].quantity);
        md_json_real(json, "mean", factor * averages.of[k].mean);
        md_json_real(json, "error", factor * averages.of[k].error);
        md_json_text(json, "why", averages.of[k].why);
        md_json_end_object(json);
    }
    md_json_end_object(json);
}

static void write_tail(MdJson *json, const MdRecord *r) {
    const char *note;
    const bool is_there = md_advice_tail(r, &note);
    const double pressure = md_config_factor(r->config, md_unit_pressure(r->plan.box.dimension));
    md_json_begin_object(json, "tail_corrections");
    md_json_real(json, "energy_per_atom", is_there ? r->tail.energy : NAN);
    md_json_real(json, "pressure", is_there ? pressure * r->tail.pressure : NAN);
    md_json_text(json, "note", note);
    md_json_end_object(json);
}

static void write_minimization(MdJson *json, const MdRecord *r) {
    const MdMinimization *m = &r->minimization;
    if (m->seconds == 0) return;
    md_json_begin_object(json, "minimization");
    md_json_int(json, "steps", m->n_steps);
    md_json_real(json, "seconds", m->seconds);
    md_json_real(json, "largest_force", m->force);
    md_json_real(json, "largest_force_before", m->force_before);
    md_json_real(json, "potential_energy_per_atom", m->potential);
    md_json_real(json, "potential_energy_per_atom_before", m->potential_before);
    md_json_end_object(json);
}

static void write_time_step(MdJson *json, const MdRecord *r) {
    char *note;
    const double share = md_advice_time_step(r, &note);
    md_json_begin_object(json, "time_step");
    md_json_real(json, "temperature_error", share);
    md_json_text(json, "note", note);
    md_json_end_object(json);
    free(note);
}

static void write_stages(MdJson *json, const MdRecord *r) {
    const double n_atoms = (double)r->plan.n_atoms, n_entries = (double)r->statistics.n_entries;
    md_json_begin_array(json, "stages");
    for (int k = 0; k < r->statistics.n_stages; k++) {
        const MdStageTime *stage = &r->statistics.stages[k];
        const MdFigures figures = md_figures_of_stage(r->ops, r->config, stage, n_atoms, n_entries);
        md_json_begin_object(json, NULL);
        md_json_text(json, "stage", stage->stage);
        md_json_text(json, "asked", stage->asked);
        md_json_text(json, "ran", stage->ran);
        md_json_int(json, "calls", stage->calls);
        md_json_int(json, "calls_replayed", stage->replayed);
        md_json_int(json, "calls_alone", stage->alone); /* on a GPU also: the first, and steps that made a graph */
        md_json_real(json, "seconds_alone", stage->alone_s);
        md_json_real(json, "seconds", stage->seconds);
        md_json_real(json, "share", stage->seconds / r->loop_seconds);
        md_json_real(json, "model_bytes", figures.work.bytes); /* of one call */
        md_json_real(json, "model_flops", figures.work.flops);
        md_json_real(json, "gb_per_s", figures.gb_per_s);
        md_json_real(json, "gflop_per_s", figures.gflop_per_s);
        md_json_end_object(json);
    }
    md_json_end_array(json);
}

static void write_kernels(MdJson *json, const MdStatistics *statistics) {
    md_json_begin_array(json, "kernels");
    for (int k = 0; k < statistics->n_kernels; k++) {
        const MdKernelUse *kernel = &statistics->kernels[k];
        if (kernel->launches <= 0) continue;
        md_json_begin_object(json, NULL);
        md_json_text(json, "stage", kernel->stage);
        md_json_text(json, "name", kernel->name);
        md_json_int(json, "block_size", kernel->block_size);
        md_json_int(json, "registers", kernel->registers);
        md_json_int(json, "shared_bytes", kernel->shared_bytes);
        md_json_int(json, "local_bytes", kernel->local_bytes);
        md_json_int(json, "blocks_per_sm", kernel->blocks_per_sm);
        md_json_real(json, "occupancy", kernel->occupancy);
        md_json_text(json, "limited_by", kernel->limited_by);
        md_json_int(json, "launches", kernel->launches);
        md_json_end_object(json);
    }
    md_json_end_array(json);
}

bool md_record_lacks(const MdRecord *r, int option) { return r->lacking[option] && md_deck_layer(r->deck, option) > 0; }

bool md_record_has_for_ranks(const MdRecord *r, int option) {
    return !r->comm && strncmp(md_option_name(option), "parallel.", 9) == 0 && !r->lacking[option] &&
           md_deck_layer(r->deck, option) > (md_deck_before(r->deck) ? 1 : 0); /* that of a restart file has all */
}

/* Keys of the deck without effect, and switches, given or not, that did nothing in the loop. */
static void write_unused(MdJson *json, const MdRecord *r) {
    md_json_begin_array(json, "unused_switches");
    for (int k = 0; k < MD_N_OPTIONS; k++)
        if (md_record_lacks(r, k) || md_record_has_for_ranks(r, k) ||
            (!r->lacking[k] && !md_pipeline_uses(r->config, k)))
            md_json_text(json, NULL, md_option_name(k));
    md_json_end_array(json);
}

static void write_choices(MdJson *json, const MdChoices *choices) {
    for (int k = 0; k < choices->n; k++) {
        md_json_begin_object(json, NULL);
        md_json_text(json, "option", choices->rows[k].option);
        md_json_text(json, "value", choices->rows[k].value);
        md_json_text(json, "reason", choices->rows[k].reason);
        md_json_end_object(json);
    }
}

/* Figures that a backend does not count are left out. */
static void write_counter(MdJson *json, const char *key, int64_t value) {
    if (value >= 0) md_json_int(json, key, value);
}

static void write_counters(MdJson *json, const MdCounters *c) {
    md_json_begin_object(json, "counters");
    write_counter(json, "force_pairs_tested", c->force_pairs_tested);
    write_counter(json, "force_pairs_inside", c->force_pairs_inside);
    write_counter(json, "force_atomics", c->force_atomics);
    write_counter(json, "search_pairs_tested", c->search_pairs_tested);
    write_counter(json, "search_pairs_inside", c->search_pairs_inside);
    write_counter(json, "search_atomics", c->search_atomics);
    write_counter(json, "list_entries", c->list_entries);
    write_counter(json, "list_bytes", c->list_bytes);
    md_json_end_object(json);
}

static void write_checks(MdJson *json, const MdVerification *verification, const MdConfig *config) {
    md_json_begin_array(json, "checks");
    for (int k = 0; k < verification->n_checks; k++) {
        const MdCheck *check = &verification->checks[k];
        md_json_begin_object(json, NULL);
        const MdQuantity quantity = md_check_quantity(check);
        const double factor = md_config_factor(config, quantity);
        char *name = md_check_name(check, md_config_units(config));
        md_json_text(json, "name", name);
        free(name);
        if (quantity != MD_NO_UNIT) md_json_text(json, "unit", md_config_unit(config, quantity));
        if (check->step >= 0) md_json_int(json, "step", check->step);
        md_json_real(json, "value", factor * check->value);
        md_json_real(json, "limit", factor * check->limit);
        if (!isnan(check->rms)) md_json_real(json, "rms", check->rms);
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
        const MdQuantity quantity = md_unit_find(md_option_row(k)->unit);
        if (quantity != MD_NO_UNIT) md_json_text(json, "unit", md_config_unit(md_deck_config(deck), quantity));
        md_json_text(json, "origin", md_deck_origin(deck, k));
        md_json_end_object(json);
        free(value);
    }
    md_json_end_object(json);
}

static void write_column(MdJson *json, const MdConfig *config, const MdHistory *history, const char *name,
                         size_t offset) {
    md_json_begin_array(json, name);
    for (size_t k = 0; k < history->n; k++) {
        double value;
        const MdThermo row = md_thermo_shown(config, &history->rows[k]);
        memcpy(&value, (const char *)&row + offset, sizeof value);
        md_json_real(json, NULL, value);
    }
    md_json_end_array(json);
}

/* The thermo table as columns. */
static void write_thermo(MdJson *json, const MdConfig *config, const MdHistory *history) {
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
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
        write_column(json, config, history, columns[c].name, columns[c].offset);
    for (int k = 0; k < MD_N_TENSOR; k++)
        if (md_config_shows_tensor(config, k))
            write_column(json, config, history, tensor_keys[k],
                         offsetof(MdThermo, pressure_tensor) + (size_t)k * sizeof(double));
    md_json_end_object(json);
}

/* The processes of the run: this one is the last. */
static void write_sessions(MdJson *json, const MdRecord *r) {
    const MdSession now = {r->resume.from_step, r->step, r->loop_seconds};
    md_json_begin_array(json, "sessions");
    for (int64_t k = 0; k <= r->resume.n_sessions; k++) {
        const MdSession *session = k < r->resume.n_sessions ? &r->resume.sessions[k] : &now;
        md_json_begin_object(json, NULL);
        md_json_int(json, "from_step", session->from_step);
        md_json_int(json, "to_step", session->to_step);
        md_json_real(json, "loop_seconds", session->loop_seconds);
        md_json_end_object(json);
    }
    md_json_end_array(json);
}

static void write_resume(MdJson *json, const MdRecord *r, MdStatus status) {
    const MdResume *resume = &r->resume;
    md_json_text(json, "run_id", resume->run_id);
    write_sessions(json, r);
    if (resume->from) {
        md_json_begin_object(json, "resumed");
        md_json_int(json, "step", resume->from_step);
        md_json_text(json, "file", resume->from);
        md_json_bool(json, "same_bits", resume->difference == NULL);
        md_json_text(json, "difference", resume->difference); /* null: none */
        md_continued_write(json, r);
        md_json_end_object(json);
    }
    md_json_int(json, "restart_files", resume->n_files);
    md_json_real(json, "restart_seconds", resume->seconds);
    if (resume->file_valid) {
        md_json_text(json, "restart_file", r->files.restart);
        md_json_int(json, "restart_step", resume->file_step);
    }
    if (status != MD_STOPPED) return;
    char *file = md_shell_path(r->files.restart), *command = md_format("mdmini --restart %s", file);
    md_json_begin_object(json, "stopped");
    md_json_text(json, "by", resume->stopped);
    md_json_int(json, "step", r->step);
    md_json_text(json, "resume", command);
    md_json_end_object(json);
    free(command);
    free(file);
}

static void write_compilation(MdJson *json, const MdCompilation *c) {
    md_json_begin_object(json, "compilation");
    md_json_int(json, "compiled", c->n_compiled);
    md_json_int(json, "cached", c->n_kept);
    md_json_int(json, "installed", c->n_installed);
    md_json_real(json, "seconds", c->seconds);
    md_json_text(json, "cache", c->folder[0] ? c->folder : NULL);
    md_json_end_object(json);
}

static void write_random(MdJson *json, const MdRecord *r) {
    char *place = md_config_value_text(r->config, MD_OPTION_system_random);
    md_json_int(json, "random_numbers", r->random.n_numbers);
    md_json_text(json, "random_made_on", r->random.n_numbers > 0 ? place : NULL);
    md_json_real(json, "random_seconds", r->random.seconds);
    free(place);
}

static MdJson *compose(const MdRecord *r, MdStatus status, MdVerdict verdict) {
    MdJson *json = md_json_create();
    const int64_t n_steps = r->step - r->resume.from_step; /* of this process, as all times are */
    double speed = n_steps > 0 ? (double)n_steps / r->loop_seconds : NAN;
    md_json_begin_object(json, NULL);
    md_json_text(json, "verdict", md_verdict_text(verdict));
    md_json_int(json, "exit_code", status);
    md_json_int(json, "n_atoms", r->plan.n_atoms);
    md_json_real(json, "volume", md_box_volume(&r->plan.box));
    md_json_int(json, "n_steps", r->step);
    md_json_text(json, "backend", r->ops->name);
    char *precision = md_deck_value_text(r->deck, MD_OPTION_run_precision);
    md_json_text(json, "precision", precision);
    free(precision);
    md_json_text(json, "unit_style", md_unit_style(md_config_units(r->config)));
    write_units(json, r);
    write_last_row(json, r);
    write_averages(json, r);
    md_curves_json(json, r);
    write_tail(json, r);
    write_minimization(json, r);
    write_time_step(json, r);
    md_json_real(json, "energy_drift_per_atom_step", md_history_drift(&r->history));
    md_json_real(json, "energy_drift_error_per_atom_step", md_history_drift_error(&r->history));
    md_json_real(json, "loop_seconds", r->loop_seconds);
    md_json_real(json, "steps_per_second", speed);
    md_json_real(json, "atom_steps_per_second", speed * (double)r->plan.n_atoms);
    md_json_real(json, "setup_seconds", r->setup_seconds);
    md_json_real(json, "verify_seconds", r->verify_seconds);
    write_random(json, r);
    md_overlap_write(json, r);
    md_json_int(json, "n_rebuilds", r->resume.before.n_rebuilds + r->statistics.n_rebuilds);
    md_json_int(json, "n_late_rebuilds", r->resume.before.n_late_rebuilds + r->statistics.n_late_rebuilds);
    md_json_int(json, "n_overflows", r->resume.before.n_overflows + r->statistics.n_overflows);
    md_json_real(json, "overflow_seconds", r->statistics.overflow_seconds);
    md_json_int(json, "n_batches_with_grid_barrier", r->statistics.n_grid_barriers);
    md_json_int(json, "n_batches_rolled_back", r->statistics.n_rolled_back);
    md_json_int(json, "neighbor_capacity", r->statistics.capacity);
    md_json_real(json, "neighbors_per_atom", r->statistics.neighbors_per_atom);
    md_json_int(json, "memory_announced_host_bytes", (int64_t)r->memory.host_bytes);
    md_json_int(json, "memory_announced_device_bytes", (int64_t)r->memory.device_bytes);
    md_json_int(json, "memory_peak_host_bytes", (int64_t)md_host_memory_peak_bytes());
    md_json_int(json, "memory_device_bytes", (int64_t)r->statistics.device_bytes);
    md_balance_write(json, r->comm, r->config, &r->balance);
    write_resume(json, r, status);
    write_checks(json, &r->verification, r->config);
    write_stages(json, r);
    write_compilation(json, &r->statistics.compilation);
    write_kernels(json, &r->statistics);
    md_json_begin_array(json, "choices");
    write_choices(json, &r->choices);
    write_choices(json, &r->statistics.choices);
    md_json_end_array(json);
    write_unused(json, r);
    if (r->counted) write_counters(json, &r->counters);
    write_options(json, r->deck);
    md_provenance_write_loop(json, r);
    md_json_raw(json, "provenance", r->provenance);
    md_json_text(json, "effective_deck", r->effective_deck);
    write_thermo(json, r->config, &r->history);
    md_json_end_object(json);
    return json;
}

void md_summary_write(MdRecord *r, MdStatus status, MdVerdict verdict) {
    MdJson *json = compose(r, status, verdict);
    md_json_save(json, r->files.json, r->errors);
    md_json_destroy(json);
}
