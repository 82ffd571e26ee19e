/* The deck: layers in the order of the command line, then the cross checks. */
#include "deck/deck.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/reader.h"

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

void md_deck_read_layers(MdDeck *deck, int n_arguments, char *const *arguments, MdErrors *errors) {
    bool in_overrides = false;
    const char *coordinates = NULL;
    int layer = 0; /* of these */
    deck->files = calloc((size_t)n_arguments + 1, sizeof *deck->files);
    if (!deck->files) md_panic("out of memory");
    for (int k = 0; k < n_arguments; k++) {
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
                "no input file: call it as mdmini FILE... [section.key=value...], for example mdmini inputs/xy.txt");
    md_deck_check(deck, errors);
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

char *md_deck_value_text(const MdDeck *deck, int option) { return md_config_value_text(&deck->config, option); }

bool md_deck_has_default(const MdDeck *deck, int option) {
    const char *expected = md_option_row(option)->default_text;
    char *value = md_deck_value_text(deck, option);
    bool same = strcmp(value, expected[0] ? expected : "\"\"") == 0;
    free(value);
    return same;
}

/* Why the key stands as a comment: read again it would be refused, or say nothing. NULL when it does not. */
static char *why_comment(const MdDeck *deck, int option, const bool *lacking, const char *backend) {
    char *lack = md_option_lack(&deck->config, option), *why = NULL;
    bool open = deck->config.run_backend == MD_BACKEND_AUTO && deck->layer[option] > 0;
    if (lack) why = md_format("not used: needs %s", lack);
    else if (lacking && lacking[option] && !open)
        why = md_format("not used: the %s backend has no such stage", backend);
    free(lack);
    return why;
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
        md_text_add(&text, "%-*s = %-*s  # %s%s%s\n", key_width, keys[k], value_width, values[k],
                    md_deck_origin(deck, k), why[k] ? "; " : "", why[k] ? why[k] : "");
        free(keys[k]);
        free(values[k]);
        free(why[k]);
    }
    return md_text_take(&text);
}
