/* The deck as it is kept: values, and where they came from. */
#include "deck/deck.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/reader.h"
#include "physics/bath.h"
#include "physics/thermo.h"

void md_deck_reset(MdDeck *deck, int option) {
    const MdOptionRow *row = md_option_row(option);
    MdValue value;
    /* The empty default of a text is no text that a deck could give. */
    char *fault = NULL;
    if (row->default_text[0]) fault = md_value_read(row, row->default_text, NULL, &value);
    else value.text = md_copy_text("");
    if (fault) md_panic("default of %s: %s", row->name, fault);
    md_value_store(row, &deck->config, &value);
    free(deck->origin[option]);
    deck->origin[option] = NULL;
    deck->layer[option] = 0;
}

MdDeck *md_deck_create(void) {
    MdDeck *deck = md_alloc(1, sizeof *deck, "deck");
    for (int k = 0; k < MD_N_OPTIONS; k++) md_deck_reset(deck, k);
    return deck;
}

void md_deck_destroy(MdDeck *deck) {
    if (!deck) return;
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        const MdOptionRow *row = md_option_row(k);
        if (row->type == MD_TYPE_TEXT || row->type == MD_TYPE_PATH)
            free(*(char **)((char *)&deck->config + row->offset));
        free(deck->origin[k]);
    }
    for (int k = 0; k < deck->n_files; k++) free(deck->files[k]);
    free(deck->files);
    free(deck->name);
    md_free(deck->stream);
    free(deck->stream_path);
    md_deck_destroy(deck->before);
    md_free(deck);
}

void md_deck_set(MdDeck *deck, int option, const MdValue *value, const char *origin) {
    md_value_store(md_option_row(option), &deck->config, value);
    free(deck->origin[option]);
    deck->origin[option] = md_copy_text(origin);
    deck->layer[option] = deck->n_layers;
}

int md_deck_layer(const MdDeck *deck, int option) { return deck->layer[option]; }

const MdConfig *md_deck_config(const MdDeck *deck) { return &deck->config; }

const MdDeck *md_deck_before(const MdDeck *deck) { return deck->before; }

const char *md_deck_origin(const MdDeck *deck, int option) {
    md_require(option >= 0 && option < MD_N_OPTIONS);
    return deck->origin[option] ? deck->origin[option] : "default";
}

const char *md_deck_name(const MdDeck *deck) { return deck->name; }

const char *md_deck_stream(const MdDeck *deck, size_t *n) {
    *n = deck->stream_bytes;
    return deck->stream && strcmp(deck->stream_path, deck->config.system_file) == 0 ? deck->stream : NULL;
}

const char *md_deck_file(const MdDeck *deck, int k) { return k < deck->n_files ? deck->files[k] : NULL; }

char *md_config_value_text(const MdConfig *config, int option) { return md_value_write(md_option_row(option), config); }

MdRamp md_config_target(const MdConfig *config) {
    const MdRealList *target = &config->ensemble_target;
    const bool ends = config->ensemble_last_step != MD_AUTO_INT;
    return (MdRamp){.from = target->values[0],
                    .to = target->values[target->n - 1],
                    .last_step = ends ? config->ensemble_last_step : config->run_steps};
}

double md_config_relaxation(const MdConfig *config) {
    if (!md_is_auto(config->ensemble_friction)) return 1 / (2 * config->ensemble_friction);
    return md_is_auto(config->ensemble_relaxation) ? 100 * config->run_timestep : config->ensemble_relaxation;
}

double md_config_degrees(const MdConfig *config, int64_t n_atoms, int dimension) {
    const bool moves_all = md_bath_traits(config->ensemble_thermostat) & MD_BATH_BY_ATOM;
    return md_degrees_of_freedom(n_atoms, dimension, !moves_all);
}

char *md_deck_value_text(const MdDeck *deck, int option) {
    return md_config_value_text(deck->is_settled ? &deck->given : &deck->config, option);
}

bool md_deck_asks_nothing(const MdDeck *deck, int option) {
    const bool is_other = option == MD_OPTION_potential_epsilon && deck->config.potential_epsilon_kelvin.n > 0;
    if (is_other && deck->layer[option] > 0)
        return false; /* 1, the default of reduced units, is a number of eV like another */
    const char *expected = md_option_row(option)->default_text;
    char *value = md_deck_value_text(deck, option);
    const bool nothing = strcmp(value, expected[0] ? expected : "\"\"") == 0 || strcmp(value, "off") == 0;
    free(value);
    return nothing;
}
