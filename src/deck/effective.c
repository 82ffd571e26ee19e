/* The effective deck. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/reader.h"

/* Why the key stands as a comment: read again it would be refused, or say nothing. NULL when it does not. */
static char *why_comment(const MdDeck *deck, int option, const bool *lacking, const char *backend) {
    char *lack = md_option_lack(&deck->config, option), *why = NULL;
    bool open = deck->config.run_backend == MD_BACKEND_AUTO && deck->layer[option] > 0;
    if (lack) why = md_format("not used: needs %s", lack);
    else if (lacking && lacking[option] && !open)
        why = md_format("not used: the %s backend has no such switch", backend);
    free(lack);
    return why;
}

/* In metal units, which a number alone does not show. */
static const char *shown_unit(const MdDeck *deck, int option) {
    const MdConfig *config = &deck->config;
    if (config->system_units == MD_UNITS_LJ) return "";
    const bool is_mixed = option == MD_OPTION_potential_parameters || option == MD_OPTION_potential_pairs;
    if (is_mixed) return "eV, angstrom";
    return md_config_unit(config, md_unit_find(md_option_row(option)->unit));
}

char *md_deck_effective_text(const MdDeck *deck, const bool *lacking, const char *backend) {
    char *keys[MD_N_OPTIONS], *values[MD_N_OPTIONS], *why[MD_N_OPTIONS];
    int key_width = 0, value_width = 0;
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        why[k] = why_comment(deck, k, lacking, backend);
        keys[k] = md_format("%s%s", why[k] ? "# " : "", md_option_row(k)->key);
        values[k] = md_deck_value_text(deck, k);
        int key = (int)strlen(keys[k]), value = (int)strlen(values[k]);
        if (key > key_width) key_width = key;
        /* One long path should not push all origins off the screen. */
        if (value > value_width && value <= 24) value_width = value;
    }
    MdText text = {0};
    md_text_add(&text,
                "# Effective deck: every key, its value, and where the value came from. Read again, it gives the "
                "same run.\n");
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        const char *section = md_option_row(k)->section;
        if (md_section_find(section) == k) md_text_add(&text, "\n[%s]\n", section);
        const char *unit = shown_unit(deck, k);
        md_text_add(&text, "%-*s = %-*s  # %s%s%s%s%s\n", key_width, keys[k], value_width, values[k], *unit ? unit : "",
                    *unit ? "; " : "", md_deck_origin(deck, k), why[k] ? "; " : "", why[k] ? why[k] : "");
        free(keys[k]);
        free(values[k]);
        free(why[k]);
    }
    return md_text_take(&text);
}
