/* The deck of a run that is resumed: what the restart file holds, with layers on top that may not change the physics. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/reader.h"

/* What a run may be told anew although it is physics: where it ends. */
static bool may_change(int option) { return option == MD_OPTION_run_steps; }

static bool is_fixed(int option) {
    return (md_option_kind(option) == MD_KIND_PHYSICS && !may_change(option)) || option == MD_OPTION_run_precision;
}

static void refuse_change(const MdDeck *deck, int option, const char *before, MdErrors *errors) {
    char *value = md_deck_value_text(deck, option);
    if (strcmp(value, before) != 0)
        md_fail(errors, MD_ERROR_INPUT,
                "%s: %s: read %s, but it is %s in the run that is resumed, and %s cannot change on the way",
                md_deck_origin(deck, option), md_option_name(option), value, before,
                md_option_kind(option) == MD_KIND_PHYSICS ? "the physics" : "the precision");
    free(value);
}

/* A ramp that ends at the last step has a slope that follows from the number of steps. */
static void check_ramp(const MdDeck *deck, int64_t steps_before, MdErrors *errors) {
    const MdConfig *config = &deck->config;
    const MdRealList *target = &config->ensemble_target;
    if (config->run_steps == steps_before || config->ensemble_thermostat == MD_THERMOSTAT_NONE ||
        config->ensemble_last_step != MD_AUTO_INT || target->n < 2 || target->values[0] == target->values[1])
        return;
    md_fail(errors, MD_ERROR_INPUT,
            "%s: run.steps: read %lld, but the temperature ramp of this run ends at its last step, %lld, and would get "
            "another slope: a run that is to be extended names ensemble.last_step from the start",
            md_deck_origin(deck, MD_OPTION_run_steps), (long long)config->run_steps, (long long)steps_before);
}

MdDeck *md_deck_resume(const MdDeckSaved *saved, int n_arguments, char *const *arguments, MdErrors *errors) {
    MdDeck *deck = md_deck_create();
    char *before[MD_N_OPTIONS];
    const int n_before = md_errors_count(errors);
    deck->name = md_copy_text(saved->name);
    deck->n_layers = 0;
    md_deck_read_text(deck, saved->path, ".", saved->text, strlen(saved->text), errors);
    for (int k = 0; k < MD_N_OPTIONS; k++) before[k] = md_deck_value_text(deck, k);
    const int64_t steps_before = deck->config.run_steps;
    md_deck_read_layers(deck, n_arguments, arguments, errors);
    md_deck_check(deck, errors);
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        if (is_fixed(k)) refuse_change(deck, k, before[k], errors);
        free(before[k]);
    }
    if (md_errors_count(errors) == n_before) check_ramp(deck, steps_before, errors);
    if (md_errors_count(errors) == n_before) return deck;
    md_deck_destroy(deck);
    return NULL;
}
