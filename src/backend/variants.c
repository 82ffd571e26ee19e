#include "backend/variants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TERM_BYTES = 192 };

/* Reads `key=value|value` and the blanks after it; returns the rest, NULL at the end. *values points into term. */
static const char *next_term(const char *condition, char term[TERM_BYTES], int *option, char **values) {
    condition += strspn(condition, " ");
    size_t length = strcspn(condition, " ");
    if (length == 0) return NULL;
    md_require(length < TERM_BYTES);
    memcpy(term, condition, length);
    term[length] = '\0';
    char *equals = strchr(term, '=');
    md_require(equals != NULL);
    *equals = '\0';
    *values = equals + 1;
    *option = md_option_by_name(term);
    md_require(*option >= 0);
    return condition + length;
}

static int word_value(int option, const char *word, size_t length) {
    const char *const *words = md_switch_words(option);
    for (int value = 0; words[value]; value++)
        if (strlen(words[value]) == length && strncmp(words[value], word, length) == 0) return value;
    md_panic("variants: %s has no value %.*s", md_option_name(option), (int)length, word);
}

static bool term_holds(int option, const char *values, const MdConfig *config) {
    for (const char *word = values;; word++) {
        size_t length = strcspn(word, "|");
        if (md_switch_value(config, option) == word_value(option, word, length)) return true;
        word += length;
        if (*word == '\0') return false;
    }
}

static bool is_word(int option, const MdConfig *config, const char *word) {
    return md_option_is_switch(option) && strcmp(md_switch_words(option)[md_switch_value(config, option)], word) == 0;
}

/* open: `auto` may still become any needed value. */
static bool condition_holds(const char *condition, const MdConfig *config, bool open) {
    char term[TERM_BYTES], *values;
    int option;
    while ((condition = next_term(condition, term, &option, &values)) != NULL)
        if (!term_holds(option, values, config) && !(open && is_word(option, config, "auto"))) return false;
    return true;
}

bool md_condition_holds(const char *condition, const MdConfig *config) {
    return condition_holds(condition, config, false);
}

/* The option of a row; -1 for a stage without a switch. */
static int option_of(const MdVariant *row) {
    char term[TERM_BYTES], *values;
    int option = -1;
    next_term(row->value, term, &option, &values);
    return option;
}

/* Whether option_of is that one: without a search for it. */
static bool is_of(const MdVariant *row, int option) {
    const char *name = md_option_name(option);
    const size_t length = strlen(name);
    return strncmp(row->value, name, length) == 0 && row->value[length] == '=';
}

bool md_variant_selected(const MdVariant *row, const MdConfig *config) {
    int option = option_of(row);
    return option < 0 || (md_option_has_effect(config, option) && md_condition_holds(row->value, config));
}

static const char *word_of(const MdVariant *row) { return row->value[0] ? strchr(row->value, '=') + 1 : ""; }

bool md_variants_have(MdVariantTable table, int option) {
    for (int k = 0; k < table.n_rows; k++)
        if (is_of(&table.rows[k], option)) return true;
    return false;
}

bool md_variants_lack(MdVariantTable table, int option) {
    bool of_stage = md_option_is_switch(option) && strncmp(md_option_name(option), "run.", 4) != 0;
    return of_stage && !md_variants_have(table, option);
}

/* --- the check ---------------------------------------------------------------------------------------------------- */

/* Adds to text, as far as it holds. */
static void add(char *text, size_t size, const char *separator, const char *more) {
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", length ? separator : "", more);
}

/* The values of the switch that would work as everything else stands. */
static void list_ways_out(MdVariantTable table, int option, const MdConfig *config, bool open, char *text,
                          size_t size) {
    MdConfig other = *config;
    text[0] = '\0';
    for (int k = 0; k < table.n_rows; k++) {
        const MdVariant *row = &table.rows[k];
        if (!is_of(row, option)) continue;
        md_switch_set(&other, option, word_value(option, word_of(row), strlen(word_of(row))));
        if (condition_holds(row->needs, &other, open)) add(text, size, ", ", word_of(row));
    }
}

static MdStatus refuse_missing(MdVariantTable table, const char *backend, int option, const MdConfig *config, bool open,
                               MdErrors *errors) {
    char ways[256];
    list_ways_out(table, option, config, open, ways, sizeof ways);
    return md_fail(errors, MD_ERROR_INPUT, "%s=%s: the %s backend does not have it; values that work here: %s",
                   md_option_name(option), md_switch_words(option)[md_switch_value(config, option)], backend,
                   ways[0] ? ways : "none");
}

/* The terms of the needs that are not met, each with the actual value. */
static MdStatus refuse_needs(MdVariantTable table, const MdVariant *row, const MdConfig *config, bool open,
                             MdErrors *errors) {
    char term[TERM_BYTES], *values, lacks[512] = "", found[512] = "", ways[256];
    int option;
    for (const char *at = row->needs; (at = next_term(at, term, &option, &values)) != NULL;) {
        if (term_holds(option, values, config) || (open && is_word(option, config, "auto"))) continue;
        char typed[TERM_BYTES + 64] = "", one[TERM_BYTES + sizeof typed];
        for (char *word = strtok(values, "|"); word; word = strtok(NULL, "|")) add(typed, sizeof typed, " or ", word);
        snprintf(one, sizeof one, "%s=%s", term, typed);
        add(lacks, sizeof lacks, " and ", one);
        snprintf(one, sizeof one, "%s is %s", term, md_switch_words(option)[md_switch_value(config, option)]);
        add(found, sizeof found, ", ", one);
    }
    list_ways_out(table, option_of(row), config, open, ways, sizeof ways);
    return md_fail(errors, MD_ERROR_INPUT, "%s: needs %s, but %s: change that, or take %s=%s", row->value, lacks, found,
                   md_option_name(option_of(row)), ways[0] ? ways : "(no other value works either)");
}

/* The row of the switch's value; NULL where it has none. */
static const MdVariant *selected_row(MdVariantTable table, int option, const MdConfig *config) {
    const MdVariant *selected = NULL;
    for (int k = 0; k < table.n_rows; k++)
        if (is_of(&table.rows[k], option) && md_variant_selected(&table.rows[k], config)) selected = &table.rows[k];
    return selected;
}

/* Whether the switch counts here at all. */
static bool is_checked(MdVariantTable table, int option, const MdConfig *config) {
    return md_option_is_switch(option) && md_option_has_effect(config, option) && md_variants_have(table, option);
}

/* Whether no row, of which `selected` is that of the value, has it. */
static bool is_missing(const MdVariant *selected, int option, const MdConfig *config) {
    return !selected && !is_word(option, config, "auto");
}

bool md_variants_lack_value(MdVariantTable table, const MdConfig *config) {
    for (int option = 0; option < MD_N_OPTIONS; option++)
        if (is_checked(table, option, config) && is_missing(selected_row(table, option, config), option, config))
            return true;
    return false;
}

static MdStatus check(MdVariantTable table, const char *backend, const MdConfig *config, bool open, MdErrors *errors) {
    MdStatus status = MD_OK;
    for (int option = 0; option < MD_N_OPTIONS; option++) {
        if (!is_checked(table, option, config)) continue;
        const MdVariant *selected = selected_row(table, option, config);
        if (selected && !condition_holds(selected->needs, config, open))
            status = refuse_needs(table, selected, config, open, errors);
        else if (is_missing(selected, option, config))
            status = refuse_missing(table, backend, option, config, open, errors);
    }
    return status;
}

MdStatus md_variants_check(MdVariantTable table, const char *backend, const MdConfig *config, MdErrors *errors) {
    return check(table, backend, config, false, errors);
}

MdStatus md_variants_check_open(MdVariantTable table, const char *backend, const MdConfig *config, MdErrors *errors) {
    return check(table, backend, config, true, errors);
}

MdStatus md_variants_check_given(MdVariantTable table, const char *backend, const MdDeck *deck, MdErrors *errors) {
    MdStatus status = MD_OK;
    int named = md_deck_layer(deck, MD_OPTION_run_backend);
    if (md_deck_config(deck)->run_backend == MD_BACKEND_AUTO) return MD_OK;
    for (int option = 0; option < MD_N_OPTIONS; option++) {
        if (!md_variants_lack(table, option)) continue;
        if (md_deck_asks_nothing(deck, option) || md_deck_layer(deck, option) < named) continue;
        status = md_fail(
            errors, MD_ERROR_INPUT,
            "%s: %s: has no effect: the %s backend has no such switch (run.backend: %s): leave it out, take "
            "another backend, or name the backend in a later layer",
            md_deck_origin(deck, option), md_option_name(option), backend, md_deck_origin(deck, MD_OPTION_run_backend));
    }
    return status;
}

/* The value of the switch that a lack ("force.kernel = list or auto") begins with. */
static const char *chosen_of(const MdConfig *resolved, const char *lack) {
    const size_t length = strcspn(lack, " ");
    for (int option = 0; option < MD_N_OPTIONS; option++) {
        const char *name = md_option_name(option);
        if (md_option_is_switch(option) && strlen(name) == length && strncmp(name, lack, length) == 0)
            return md_switch_words(option)[md_switch_value(resolved, option)];
    }
    return "otherwise";
}

MdStatus md_variants_check_grounds(MdVariantTable table, const MdDeck *deck, const MdConfig *resolved,
                                   MdErrors *errors) {
    MdStatus status = MD_OK;
    for (int option = 0; option < MD_N_OPTIONS; option++) {
        if (!md_option_has_effect(md_deck_config(deck), option) || md_option_has_effect(resolved, option)) continue;
        if (md_deck_asks_nothing(deck, option) || md_variants_lack(table, option)) continue;
        char *lack = md_option_lack(resolved, option);
        status = md_fail(errors, MD_ERROR_INPUT,
                         "%s: %s: has no effect: it needs %s, and auto chose %s here: set the needed value",
                         md_deck_origin(deck, option), md_option_name(option), lack, chosen_of(resolved, lack));
        free(lack);
    }
    return status;
}

/* --- selected rows ------------------------------------------------------------------------------------------------ */

bool md_variants_deterministic(MdVariantTable table, const MdConfig *config) {
    for (int k = 0; k < table.n_rows; k++) {
        const MdVariant *row = &table.rows[k];
        if (!md_variant_selected(row, config)) continue;
        if (strcmp(row->deterministic, "no") == 0 || !md_condition_holds(row->deterministic, config)) return false;
    }
    return true;
}

void md_variants_describe(MdVariantTable table, const char *stage, const MdConfig *config, char *text, size_t size) {
    int last = -1;
    text[0] = '\0';
    for (int k = 0; k < table.n_rows; k++) {
        int option = option_of(&table.rows[k]);
        if (strcmp(table.rows[k].stage, stage) != 0 || option < 0 || option == last) continue;
        if (!md_option_has_effect(config, option)) continue;
        last = option; /* one switch has many rows, which stand together */
        char one[96];
        snprintf(one, sizeof one, "%s=%s", strchr(md_option_name(option), '.') + 1,
                 md_switch_words(option)[md_switch_value(config, option)]);
        add(text, size, " ", one);
    }
}

/* The tables count what a pair of Lennard-Jones takes. An exponential or a power is another number on each processor. */
static bool has_counted_pairs(const MdConfig *config) {
    const bool is_lj = config->potential_form == MD_POTENTIAL_LJ || config->potential_form == MD_POTENTIAL_WCA;
    return is_lj && config->potential_shift != MD_SHIFT_SWITCH;
}

MdWork md_variants_work(MdVariantTable table, const char *stage, const MdConfig *config, double n_atoms,
                        double n_entries) {
    MdWork work = {0, 0};
    if (strcmp(stage, "step") == 0) {
        const MdWork force = md_variants_work(table, "force", config, n_atoms, n_entries),
                     integrate = md_variants_work(table, "integrate", config, n_atoms, n_entries);
        work = (MdWork){force.bytes + integrate.bytes, force.flops + integrate.flops};
    }
    for (int k = 0; k < table.n_rows; k++) {
        const MdVariant *row = &table.rows[k];
        if (strcmp(row->stage, stage) != 0 || !md_variant_selected(row, config)) continue;
        work.bytes += row->bytes_per_atom * n_atoms + row->bytes_per_entry * n_entries;
        work.flops += row->flops_per_atom * n_atoms + row->flops_per_entry * n_entries;
    }
    if (strcmp(stage, "force") == 0 && !has_counted_pairs(config)) work.flops = MD_NO_MODEL;
    return work;
}
