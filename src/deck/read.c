/* Reading a deck: layers in the order of the command line, then the cross checks. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/reader.h"

/* `inputs/xy.txt` is called `xy`. */
static char *name_of_file(const char *path) {
    const char *slash = strrchr(path, '/');
    char *name = md_copy_text(slash ? slash + 1 : path), *dot = strrchr(name, '.');
    if (dot && dot != name) *dot = '\0';
    return name;
}

/* Coordinates that a later layer has replaced would be left out in silence. layer: that they were; 0: there are none. */
static void check_coordinates(const MdDeck *deck, const char *path, int layer, MdErrors *errors) {
    const bool starts = deck->config.system_start == MD_START_FILE;
    if (layer == 0 || (starts && deck->layer[MD_OPTION_system_file] == layer)) return;
    const int option = starts ? MD_OPTION_system_file : MD_OPTION_system_start;
    char *value = md_deck_value_text(deck, option);
    md_fail(errors, MD_ERROR_INPUT,
            "%s: its coordinates would not be used, since %s: %s = %s comes later: name the file of "
            "coordinates after the deck",
            path, deck->origin[option], md_option_name(option), value);
    free(value);
}

/* `run.steps = 5`: an override with blanks reaches the program as several words. Refused by one message; how many words it is. */
static int refuse_blanks(int n_words, char *const *words, MdErrors *errors) {
    if (n_words < 2 || !md_deck_names_option(words[0]) || words[1][0] != '=') return 0;
    const bool is_split = words[1][1] == '\0' && n_words > 2; /* the value is a third word */
    const char *value = is_split ? words[2] : words[1] + 1;
    char *shown = md_show_text(value, strlen(value), MD_SHOW_VALUE);
    md_fail(errors, MD_ERROR_INPUT, "command line: %s: an override is one word: %s=%s", words[0], words[0], shown);
    free(shown);
    return is_split ? 3 : 2;
}

void md_deck_read_layers(MdDeck *deck, int n_arguments, char *const *arguments, MdErrors *errors) {
    bool in_overrides = false;
    const char *coordinates = NULL;
    int layer = 0; /* of these */
    deck->files = calloc((size_t)n_arguments + 1, sizeof *deck->files);
    if (!deck->files) md_panic("out of memory");
    for (int k = 0; k < n_arguments; k++) {
        const int n_refused = refuse_blanks(n_arguments - k, arguments + k, errors);
        if (n_refused) {
            k += n_refused - 1;
            continue;
        }
        bool override = md_deck_is_override(arguments[k]);
        /* Overrides that stand together are one layer. */
        if (override && !in_overrides) deck->n_layers++;
        in_overrides = override;
        if (override) {
            md_deck_read_override(deck, arguments[k], errors);
        } else {
            if (!deck->name) deck->name = name_of_file(arguments[k]);
            deck->files[deck->n_files++] = md_copy_text(arguments[k]);
            if (md_deck_read_file(deck, arguments[k], errors)) coordinates = arguments[k], layer = deck->n_layers;
        }
    }
    check_coordinates(deck, coordinates, layer, errors);
}

MdDeck *md_deck_read(int n_arguments, char *const *arguments, MdErrors *errors) {
    MdDeck *deck = md_deck_create();
    int n_before = md_errors_count(errors);
    md_deck_read_layers(deck, n_arguments, arguments, errors);
    if (!deck->name)
        md_fail(errors, MD_ERROR_INPUT,
                "no input file: call it as mdmini FILE... [section.key=value...], for example mdmini inputs/xy.txt; "
                "mdmini --help lists the other commands");
    md_deck_check(deck, errors);
    md_deck_settle_units(deck, errors);
    if (md_errors_count(errors) == n_before) {
        md_deck_keep_stream(deck);
        return deck;
    }
    md_deck_destroy(deck);
    return NULL;
}

/* The options in words: `run.backend, run.device`. */
static char *join_names(const int *options) {
    MdText text = {0};
    for (int k = 0; options[k] >= 0; k++) md_text_add(&text, "%s%s", k ? ", " : "", md_option_name(options[k]));
    return md_text_take(&text);
}

MdDeck *md_deck_read_overrides(const char *name, const char *command, const int *options, int n_arguments,
                               char *const *arguments, MdErrors *errors) {
    MdDeck *deck = md_deck_create();
    const int n_before = md_errors_count(errors);
    char *known = join_names(options);
    deck->name = md_copy_text(name);
    deck->n_layers = 1;
    for (int k = 0; k < n_arguments; k++) md_deck_read_override(deck, arguments[k], errors);
    for (int option = 0; option < MD_N_OPTIONS; option++) {
        int k = 0;
        while (options[k] >= 0 && options[k] != option) k++;
        if (options[k] < 0 && deck->layer[option] > 0)
            md_fail(errors, MD_ERROR_INPUT, "%s: %s: %s has no use for it; it takes %s", deck->origin[option],
                    md_option_name(option), command, known);
    }
    free(known);
    if (md_errors_count(errors) == n_before) return deck;
    md_deck_destroy(deck);
    return NULL;
}
