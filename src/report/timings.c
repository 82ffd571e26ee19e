#include "report/timings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/figures.h"
#include "report/overlap.h"
#include "report/provenance.h"

/* --- stages ------------------------------------------------------------------------------------------------------- */

static void log_stage(MdRecord *r, const MdStageTime *stage) {
    if (!isfinite(stage->seconds)) {
        md_log(r->log, "%-12s %9lld %10s\n", stage->stage, (long long)stage->calls, "not timed");
        return;
    }
    MdFigures figures =
        md_figures_of_stage(r->ops, r->config, stage, (double)r->plan.n_atoms, (double)r->statistics.n_entries);
    char per_call[32] = "-", bandwidth[MD_FIGURE_BYTES], speed[MD_FIGURE_BYTES];
    if (stage->calls > 0) snprintf(per_call, sizeof per_call, "%.2f", 1e6 * stage->seconds / (double)stage->calls);
    md_log(r->log, "%-12s %9lld %10.4f %7.1f%% %12s %9s %9s\n", stage->stage, (long long)stage->calls, stage->seconds,
           100 * stage->seconds / r->loop_seconds, per_call, md_figure_text(bandwidth, figures.gb_per_s),
           md_figure_text(speed, figures.gflop_per_s));
}

/* Calls that are not among those of the table, but whose time is: so that the table adds up to the loop. */
static void log_replayed(MdRecord *r) {
    MdText text = {0};
    for (int k = 0; k < r->statistics.n_stages; k++) {
        const MdStageTime *stage = &r->statistics.stages[k];
        if (stage->replayed > 0)
            md_text_add(&text, "%s%s %lld", text.length ? ", " : "", stage->stage, (long long)stage->replayed);
    }
    if (!text.text) return;
    md_text_add(&text, ": calls that the device skipped and that were issued again, beside those above; the seconds "
                       "have them too");
    md_log_wrapped(r->log, "replayed     ", text.text);
    free(text.text);
}

static void log_stages(MdRecord *r) {
    double attributed = 0, loop = r->loop_seconds;
    char untimed[256] = "";
    if (r->comm)
        md_log(r->log, "\ncalls and seconds of rank 0; GB/s and GFLOP/s of all %d ranks in these seconds",
               md_comm_size(r->comm));
    md_log(r->log, "\n%-12s %9s %10s %8s %12s %9s %9s\n", "stage", "calls", "seconds", "share", "us per call", "GB/s",
           "GFLOP/s");
    for (int k = 0; k < r->statistics.n_stages; k++) {
        const MdStageTime *stage = &r->statistics.stages[k];
        if (stage->calls + stage->replayed == 0) continue;
        log_stage(r, stage);
        if (isfinite(stage->seconds)) attributed += stage->seconds;
        else snprintf(untimed + strlen(untimed), sizeof untimed - strlen(untimed), ", %s", stage->stage);
    }
    const double growth = r->statistics.overflow_seconds;
    if (growth > 0)
        md_log(r->log, "%-12s %9lld %10.4f %7.1f%%  room for lists that had to grow\n", "growth",
               (long long)r->statistics.n_overflows, growth, 100 * growth / loop);
    attributed += growth;
    md_log(r->log, "%-12s %9s %10.4f %7.1f%%  output, launches, waits%s\n", "remainder", "", loop - attributed,
           100 * (loop - attributed) / loop, untimed);
    md_log(r->log, "%-12s %9lld %10.4f           host clock, all of it\n", "loop",
           (long long)(r->step - r->resume.from_step), loop);
    log_replayed(r);
    md_log(
        r->log,
        "GB/s and GFLOP/s: bytes and operations are a model (mdmini --list-variants=markdown), the time is measured\n");
    md_log(r->log, "set-up %.3f s, verification %.3f s (outside the loop)", r->setup_seconds, r->verify_seconds);
    md_log(r->log, "\n");
    if (r->random.n_numbers == 0) return;
    char *place = md_config_value_text(r->config, MD_OPTION_system_random);
    md_log(r->log, "random numbers of the start: %lld, made on the %s in %.3f s of the set-up\n",
           (long long)r->random.n_numbers, place, r->random.seconds);
    free(place);
}

/* --- stages that ran ----------------------------------------------------------------------------------------------- */

/* The value of `key=` (n bytes) among the words of text; NULL when it is not there. *length: of the value. */
static const char *find_value(const char *text, const char *key, size_t n, size_t *length) {
    for (const char *word = text + strspn(text, " "); *word; word += strspn(word, " ")) {
        *length = strcspn(word, " ");
        if (*length >= n && strncmp(word, key, n) == 0) return *length -= n, word + n;
        word += *length;
    }
    return NULL;
}

/* The switches of a stage; after a value the requested one, if it differs. */
static void log_switches(MdRecord *r, const MdStageTime *stage) {
    char head[32];
    MdText text = {0};
    for (const char *ran = stage->ran; *ran; ran += strspn(ran, " ")) {
        const size_t n = strcspn(ran, " "), n_key = strcspn(ran, "=") + 1;
        size_t n_asked = 0;
        const char *asked = n_key <= n ? find_value(stage->asked, ran, n_key, &n_asked) : NULL;
        md_text_add(&text, "%.*s ", (int)n, ran);
        const bool same = !asked || (n_asked == n - n_key && strncmp(asked, ran + n_key, n_asked) == 0);
        if (!same) md_text_add(&text, "(asked: %.*s) ", (int)n_asked, asked);
        ran += n;
    }
    snprintf(head, sizeof head, "%-12s", stage->stage);
    if (text.text) md_log_wrapped(r->log, head, text.text);
    free(text.text);
}

static void log_choices(MdRecord *r, const MdChoices *choices) {
    for (int k = 0; k < choices->n; k++) {
        const MdChoice *choice = &choices->rows[k];
        char text[sizeof *choice + 8];
        snprintf(text, sizeof text, "%s = %s: %s", choice->option, choice->value, choice->reason);
        md_log_wrapped(r->log, "auto        ", text);
    }
}

static void log_ran(MdRecord *r) {
    md_log(r->log, "\n%-12s switches as they ran\n", "stage");
    for (int k = 0; k < r->statistics.n_stages; k++) log_switches(r, &r->statistics.stages[k]);
    if (r->choices.n + r->statistics.choices.n > 0) md_log(r->log, "\n");
    log_choices(r, &r->choices);
    log_choices(r, &r->statistics.choices);
}

static void log_kernels(MdRecord *r) {
    bool any = false;
    for (int k = 0; k < r->statistics.n_kernels; k++) {
        const MdKernelUse *kernel = &r->statistics.kernels[k];
        if (kernel->launches <= 0) continue;
        if (!any)
            md_log(r->log, "\n%-34s %5s %9s %8s %8s %9s %9s  %s\n", "kernel", "block", "registers", "shared", "spilled",
                   "occupancy", "launches", "limited by");
        any = true;
        md_log(r->log, "%-34s %5d %9d %8lld %8lld %8.0f%% %9lld  %s\n", kernel->name, kernel->block_size,
               kernel->registers, (long long)kernel->shared_bytes, (long long)kernel->local_bytes,
               100 * kernel->occupancy, (long long)kernel->launches, kernel->limited_by);
    }
    if (any)
        md_log(r->log,
               "shared: bytes of a block; spilled: bytes of local memory of a thread, stack included; "
               "occupancy: theoretical;\n"
               "limited by: the resource that a multiprocessor lacks for another block; full: all its threads are "
               "taken\n");
}

/* --- work that was counted ------------------------------------------------------------------------------------------ */

static void log_pairs(MdRecord *r, const char *what, int64_t tested, int64_t inside, int64_t atomics) {
    if (tested < 0 && atomics < 0) return;
    md_log(r->log, "%-12s", what);
    if (tested >= 0) md_log(r->log, " %lld pairs tested", (long long)tested);
    if (tested > 0 && inside >= 0)
        md_log(r->log, ", %lld inside (%.1f%%)", (long long)inside, 100 * (double)inside / (double)tested);
    if (atomics >= 0) md_log(r->log, "%s %lld atomics", tested >= 0 ? "," : "", (long long)atomics);
    md_log(r->log, "\n");
}

static void log_counters(MdRecord *r) {
    const MdCounters *c = &r->counters;
    if (!r->counted) return;
    if (c->force_pairs_tested < 0 && c->search_pairs_tested < 0 && c->list_entries < 0) {
        md_log(r->log, "\nwork was not counted: the %s backend has no counters\n", r->ops->name);
        return;
    }
    md_log(r->log, "\nwork of one call, counted on the last configuration, outside the loop\n");
    log_pairs(r, "force", c->force_pairs_tested, c->force_pairs_inside, c->force_atomics);
    log_pairs(r, "search", c->search_pairs_tested, c->search_pairs_inside, c->search_atomics);
    if (c->list_entries >= 0)
        md_log(r->log, "%-12s %lld entries, %.2f MiB\n", "list", (long long)c->list_entries,
               (double)c->list_bytes / (1024.0 * 1024.0));
}

/* --- the list and the speed ------------------------------------------------------------------------------------------ */

static void log_rebuilds(MdRecord *r) {
    const MdStatistics *statistics = &r->statistics;
    md_log(r->log, "\nrebuilds  %lld", (long long)statistics->n_rebuilds);
    if (statistics->n_rebuilds > 0)
        md_log(r->log, " (one in %.1f steps)",
               (double)(r->step - r->resume.from_step) / (double)statistics->n_rebuilds);
    if (statistics->capacity > 0) {
        const int64_t asked = r->config->neighbor_capacity;
        char *grown = asked != MD_AUTO_INT && asked != statistics->capacity
                          ? md_format(" (asked: %lld)", (long long)asked)
                          : md_copy_text("");
        md_log(r->log,
               ", %.1f neighbours per atom within cutoff and skin, row capacity %lld%s, overflows in the loop %lld\n",
               statistics->neighbors_per_atom, (long long)statistics->capacity, grown,
               (long long)statistics->n_overflows);
        free(grown);
    } else md_log(r->log, "; no neighbour list\n");
    const int64_t before = r->resume.before.n_late_rebuilds, n_late = before + statistics->n_late_rebuilds;
    if (n_late == 0) return;
    char *when = before > 0 ? md_format(", %lld of them before step %lld, where this process began", (long long)before,
                                        (long long)r->resume.from_step)
                            : md_copy_text("");
    md_warn(r->log,
            "%lld %s used for too long%s: an atom had moved more than half the skin, so that pairs may have been "
            "missed.\n%s",
            (long long)n_late, n_late == 1 ? "list was" : "lists were", when,
            r->config->neighbor_rebuild == MD_REBUILD_EVERY
                ? "         It is what neighbor.rebuild = every does at this interval and skin; "
                  "neighbor.rebuild = device-check is safe\n"
                : "");
    free(when);
}

/* Where launch.barrier = local used the barrier of the grid, and where it rolled back. */
static void log_barriers(MdRecord *r) {
    if (r->statistics.n_grid_barriers > 0)
        md_log(r->log,
               "barrier   launch.barrier = local: %lld batches of steps used the barrier of the grid: a brick had no "
               "atom in the halo of one beside it, was too large for a block to hold, or shared a block\n",
               (long long)r->statistics.n_grid_barriers);
    if (r->statistics.n_rolled_back > 0)
        md_log(r->log,
               "barrier   launch.barrier = local: %lld batches of steps were rolled back: the list was stale earlier "
               "than the last ones\n",
               (long long)r->statistics.n_rolled_back);
}

void md_timings_log(MdRecord *r) {
    log_stages(r);
    md_balance_log(r->log, r->comm, &r->balance);
    md_overlap_log(r);
    log_ran(r);
    log_barriers(r);
    log_kernels(r);
    log_counters(r);
    log_rebuilds(r);
    double speed = (double)(r->step - r->resume.from_step) / r->loop_seconds;
    md_log(r->log, "speed     %.6g steps/s, %.6g atom-steps/s\n", speed, speed * (double)r->plan.n_atoms);
    md_provenance_log_loop(r);
}
