/* The deck of a resumed run: the deck in the restart file, with layers on top that may not change the physics. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/reader.h"

/* The only physics that may change: the last step; and a potential file may be elsewhere, if it has the same functions. */
static bool may_change(int option) { return option == MD_OPTION_run_steps || option == MD_OPTION_potential_file; }

static bool is_fixed(int option) {
    return (md_option_kind(option) == MD_KIND_PHYSICS && !may_change(option)) || option == MD_OPTION_run_precision;
}

static void check_fixed(const MdDeck *deck, int option, MdErrors *errors) {
    char *value = md_deck_value_text(deck, option), *before = md_deck_value_text(deck->before, option);
    if (strcmp(value, before) != 0)
        md_fail(errors, MD_ERROR_INPUT,
                "%s: %s: read %s, but it is %s in the run that is resumed, and %s cannot change on the way",
                md_deck_origin(deck, option), md_option_name(option), value, before,
                md_option_kind(option) == MD_KIND_PHYSICS ? "the physics" : "the precision");
    free(value);
    free(before);
}

/* A ramp that ends at the last step has a slope that follows from the number of steps. */
bool md_deck_ramp_ends(const MdConfig *config) {
    const MdRealList *target = &config->ensemble_target;
    return config->ensemble_thermostat != MD_THERMOSTAT_NONE && config->ensemble_last_step == MD_AUTO_INT &&
           target->n == 2 && target->values[0] != target->values[1];
}

static void check_ramp(const MdDeck *deck, int64_t steps_before, MdErrors *errors) {
    const MdConfig *config = &deck->config;
    if (config->run_steps == steps_before || !md_deck_ramp_ends(config)) return;
    md_fail(errors, MD_ERROR_INPUT,
            "%s: run.steps: read %lld, but the temperature ramp of this run ends at its last step, %lld, and would get "
            "another slope: a run that is to be extended names ensemble.last_step from the start",
            md_deck_origin(deck, MD_OPTION_run_steps), (long long)config->run_steps, (long long)steps_before);
}

static MdDeck *read_saved(const MdDeckSaved *saved, MdErrors *errors) {
    MdDeck *deck = md_deck_create();
    deck->name = md_copy_text(saved->name);
    deck->n_layers = 0;
    deck->is_saved = true;
    md_deck_read_text(deck, saved->path, ".", saved->text, strlen(saved->text), errors);
    deck->is_saved = false;
    return deck;
}

MdDeck *md_deck_resume(const MdDeckSaved *saved, int n_arguments, char *const *arguments, MdErrors *errors) {
    const int n_before = md_errors_count(errors);
    MdDeck *deck = read_saved(saved, errors);
    MdErrors *told = md_errors_create();
    deck->before = read_saved(saved, told);
    md_errors_destroy(told);
    md_deck_read_layers(deck, n_arguments, arguments, errors);
    md_deck_check(deck, errors);
    md_deck_settle_units(deck, errors);
    for (int k = 0; k < MD_N_OPTIONS; k++)
        if (is_fixed(k)) check_fixed(deck, k, errors);
    if (md_errors_count(errors) == n_before) check_ramp(deck, deck->before->config.run_steps, errors);
    if (md_errors_count(errors) == n_before) return deck;
    md_deck_destroy(deck);
    return NULL;
}
