#include "backend/backend.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

void md_rows_free(MdRows *rows) {
    md_free(rows->offsets);
    md_free(rows->ids);
    memset(rows, 0, sizeof *rows);
}

void md_stage_extend(MdStageTime *stage) {
    const int64_t rest = stage->calls + stage->replayed - stage->alone;
    const double mean_s = stage->timed > 0   ? stage->timed_s / (double)stage->timed
                          : stage->alone > 0 ? stage->alone_s / (double)stage->alone /* nothing better is known */
                                             : (double)NAN;
    stage->seconds = stage->alone_s + (rest > 0 ? mean_s * (double)rest : 0);
}

void md_statistics_subtract(MdStatistics *after, const MdStatistics *before) {
    after->n_rebuilds -= before->n_rebuilds;
    after->n_late_rebuilds -= before->n_late_rebuilds;
    after->n_overflows -= before->n_overflows;
    after->overflow_seconds -= before->overflow_seconds;
    after->n_grid_barriers -= before->n_grid_barriers;
    after->n_rolled_back -= before->n_rolled_back;
    for (int k = 0; k < after->n_stages; k++) {
        after->stages[k].calls -= before->stages[k].calls;
        after->stages[k].replayed -= before->stages[k].replayed;
        after->stages[k].timed -= before->stages[k].timed;
        after->stages[k].alone -= before->stages[k].alone;
        after->stages[k].alone_s -= before->stages[k].alone_s;
        after->stages[k].timed_s -= before->stages[k].timed_s;
        md_stage_extend(&after->stages[k]);
    }
    for (int k = 0; k < after->n_kernels; k++) after->kernels[k].launches -= before->kernels[k].launches;
    after->rank.n_migrated -= before->rank.n_migrated;
    after->rank.halo_bytes -= before->rank.halo_bytes;
    after->rank.exchange_seconds -= before->rank.exchange_seconds;
    after->rank.wait_seconds -= before->rank.wait_seconds;
}

uint64_t md_frame_bytes(int64_t n_atoms, unsigned quantities, int precision) {
    const uint64_t real = precision == MD_FILE_PRECISION_DOUBLE ? sizeof(double) : sizeof(float);
    uint64_t number = 0;
    for (unsigned bit = MD_FRAME_POSITION; bit <= MD_FRAME_FORCE; bit <<= 1) number += quantities & bit ? real : 0;
    return 3 * (uint64_t)n_atoms * (number + (quantities & MD_FRAME_IMAGE ? sizeof(int32_t) : 0));
}

void md_choices_add(MdChoices *choices, const char *option, const char *value, const char *reason, ...) {
    if (!choices) return;
    md_require(choices->n < MD_MAX_CHOICES);
    MdChoice *row = &choices->rows[choices->n++];
    snprintf(row->option, sizeof row->option, "%s", option);
    snprintf(row->value, sizeof row->value, "%s", value);
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(row->reason, sizeof row->reason, reason, arguments);
    va_end(arguments);
}

void md_resolve_arithmetic(MdConfig *config, MdChoices *choices) {
    if (config->force_arithmetic != MD_ARITHMETIC_AUTO) return;
    bool is_double = config->run_precision == MD_PRECISION_DOUBLE;
    config->force_arithmetic = is_double ? MD_ARITHMETIC_IEEE : MD_ARITHMETIC_FAST;
    md_choices_add(choices, "force.arithmetic", is_double ? "ieee" : "fast", "pairs are in %s precision",
                   is_double ? "double" : "single");
}

void md_resolve_sort(MdConfig *config, int sort, const char *reason, MdChoices *choices) {
    if (config->memory_sort != MD_SORT_AUTO) return;
    config->memory_sort = sort;
    md_choices_add(choices, "memory.sort", md_switch_words(MD_OPTION_memory_sort)[sort], "%s", reason);
}

void md_resolve_predict(MdConfig *config, MdChoices *choices) {
    if (config->neighbor_predict != MD_PREDICT_AUTO) return;
    const bool by_count = config->neighbor_rebuild == MD_REBUILD_EVERY;
    const bool all_pairs = config->force_kernel == MD_KERNEL_PAIRS || config->force_kernel == MD_KERNEL_PAIRS_TILED;
    config->neighbor_predict = by_count || all_pairs ? MD_PREDICT_OFF : MD_PREDICT_VELOCITY;
    md_choices_add(choices, "neighbor.predict", by_count || all_pairs ? "off" : "velocity", "%s",
                   by_count    ? "rebuilds come by count, not by how far atoms are"
                   : all_pairs ? "there is no list that could last longer"
                               : "lists last half as long again");
}

/* With rebuilds by count nothing checks the skin; this is the benchmark's, for intervals of 20 steps. */
static const double usual_skin = 0.3;

double md_length_scale(const MdConfig *config, const MdPotential *potential) {
    double most = 0;
    if (config->system_units == MD_UNITS_LJ) return 1;
    for (int k = 0; k < potential->n_types * potential->n_types; k++)
        most = fmax(most, md_potential_contact(potential, k));
    return most;
}

void md_resolve_skin(MdConfig *config, const MdSystemPlan *plan, double fastest, MdChoices *choices) {
    if (!md_is_auto(config->neighbor_skin)) return;
    const bool by_count = config->neighbor_rebuild == MD_REBUILD_EVERY;
    double skin = (by_count ? usual_skin : fastest) * md_length_scale(config, &plan->potential), room = INFINITY;
    for (int a = 0; a < plan->box.dimension; a++)
        if (plan->box.periodic[a]) room = fmin(room, plan->box.length[a] / 2 - plan->potential.cutoff_max);
    const char *reason = by_count ? "that of the usual benchmark: rebuilds by count do not check the skin"
                                  : "the fastest for a melt of this size";
    if (room < skin) {
        skin = fmax(room * (1 - 1e-9), 0); /* below the room for any rounding of the sum with the cutoff */
        reason = "as much as the box has room for beyond the cutoff";
    }
    config->neighbor_skin = skin;
    char value[24];
    snprintf(value, sizeof value, "%g%s", skin, md_config_unit_after(config, MD_LENGTH));
    md_choices_add(choices, "neighbor.skin", value, "%s", reason);
}
