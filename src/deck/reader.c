/* Reading one layer: the lines of a deck, or an override. All problems of a layer are reported, up to a number that a
 * person would read. */
#include "deck/layer.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/nearest.h"

static char *place(const MdLayer *layer) {
    return layer->line ? md_format("%s:%d", layer->path, layer->line) : md_copy_text(layer->path);
}

void md_layer_problem(MdLayer *layer, const char *format, ...) {
    if (++layer->n_problems > MD_LAYER_PROBLEMS) return;
    va_list arguments;
    va_start(arguments, format);
    MdText text = {0};
    md_text_add_list(&text, format, arguments);
    va_end(arguments);
    char *where = place(layer);
    md_fail(layer->errors, MD_ERROR_INPUT, "%s: %s", where, text.text);
    free(where);
    free(text.text);
}

/* Whether it is still worth finding words for a problem; counts it if not. */
static bool listed(MdLayer *layer) {
    if (layer->n_problems < MD_LAYER_PROBLEMS) return true;
    layer->n_problems++;
    return false;
}

char *md_line_trim(char *text) {
    while (md_is_blank(*text)) text++;
    size_t n = strlen(text);
    while (n > 0 && md_is_blank(text[n - 1])) n--;
    text[n] = '\0';
    return text;
}

/* --- unknown names --- */

static void doubt_section(MdDeck *deck, int first) {
    for (int k = first; k < md_section_end(first); k++) deck->doubtful[k] = true;
}

void md_deck_doubt_all(MdDeck *deck) {
    for (int k = 0; k < MD_N_OPTIONS; k++) deck->doubtful[k] = true;
}

/* The names of the options from first to end whose keys begin with the n letters of `key`, as `a.key, b.key`; NULL: none. */
static char *names_like(int first, int end, const char *key, size_t n) {
    MdText names = {0};
    for (int k = first; k < end; k++)
        if (strncmp(md_option_row(k)->key, key, n) == 0)
            md_text_add(&names, "%s%s", names.length ? ", " : "", md_option_name(k));
    return names.text;
}

/* Possible meanings of an unknown name, the likeliest first: in this section of another program, a typo, in another section or
 * program, several typos. section: -1 where it has none. Text from malloc. */
static char *hint_at(int section, const char *name, const MdNearest *nearest) {
    char *whole = section < 0 ? NULL : md_format("%s.%s", md_option_row(section)->section, name);
    char *hint = whole ? md_foreign_name(whole) : NULL, *names = NULL;
    if (!hint && nearest->distance <= 1) hint = md_nearest_question(nearest->best);
    const size_t n = strlen(name);
    if (!hint && section >= 0 && n > 2) names = names_like(section, md_section_end(section), name, n); /* `thermo` */
    if (!hint && !names) names = names_like(0, MD_N_OPTIONS, name, n + 1);
    if (!hint) hint = names ? md_nearest_question(names) : md_foreign_name(name);
    free(names);
    free(whole);
    return hint ? hint : md_nearest_question(md_nearest_name(nearest));
}

/* key: NULL if only a section was read. */
static void report_unknown_section(MdLayer *layer, const char *name, const char *key) {
    md_deck_doubt_all(layer->deck);
    if (!listed(layer)) return;
    MdText sections = {0};
    MdNearest nearest = md_nearest_begin(name);
    for (int k = 0; k < MD_N_OPTIONS; k = md_section_end(k)) {
        const char *section = md_option_row(k)->section;
        md_text_add(&sections, "%s%s", k ? ", " : "; allowed: ", section);
        md_nearest_offer(&nearest, section);
    }
    char *shown = md_show_text(name, strlen(name), MD_SHOW_VALUE), *all = md_text_take(&sections);
    char *hint = hint_at(-1, name, &nearest);
    if (!*hint && key) {
        free(hint);
        nearest = md_nearest_begin(key);
        hint = hint_at(-1, key, &nearest);
    }
    md_layer_problem(layer, "[%s]: no such section%s%s", shown, *hint ? "" : all, hint);
    free(hint);
    free(shown);
    free(all);
}

static void report_unknown_key(MdLayer *layer, int section, const char *key) {
    doubt_section(layer->deck, section);
    if (!listed(layer)) return;
    MdText keys = {0};
    MdNearest nearest = md_nearest_begin(key);
    for (int k = section; k < md_section_end(section); k++) {
        md_text_add(&keys, "%s%s", k > section ? ", " : "; allowed: ", md_option_row(k)->key);
        md_nearest_offer(&nearest, md_option_row(k)->key);
    }
    char *shown = md_show_text(key, strlen(key), MD_SHOW_VALUE), *all = md_text_take(&keys);
    char *hint = hint_at(section, key, &nearest);
    const bool is_long = md_section_end(section) - section > 12; /* more names than one reads beside the likely one */
    md_layer_problem(layer, "%s.%s: no such key%s%s", md_option_row(section)->section, shown,
                     *hint && is_long ? "" : all, hint);
    free(hint);
    free(shown);
    free(all);
}

/* The deck in a restart file has every key of its version, and users cannot remove one. Former keys are of kind
 * performance: the run continues with the behaviour that stayed. */
static void refuse_key(MdLayer *layer, int section, const char *key) {
    const MdFormerKey *former = md_former_key(md_option_row(section)->section, key);
    if (!former) report_unknown_key(layer, section, key);
    else if (!layer->deck->is_saved)
        md_layer_problem(layer, "%s.%s: no longer a key; leave it out, the program runs as with %s (%s)",
                         former->section, former->key, former->value, former->reason);
}

/* --- assignments --- */

static void assign(MdLayer *layer, int option, const char *text) {
    const MdOptionRow *row = md_option_row(option);
    if (layer->given[option]) {
        md_layer_problem(layer, "%s: given twice; the first is in line %d", row->name, layer->given[option]);
        return;
    }
    layer->given[option] = layer->line;
    MdValue value;
    char *fault = *text ? md_value_read(row, text, layer->folder, &value) : NULL;
    if (*text && !fault) {
        char *origin = place(layer);
        md_deck_set(layer->deck, option, &value, origin);
        free(origin);
        return;
    }
    layer->deck->doubtful[option] = true;
    if (!fault) {
        char *allowed = md_option_allowed(row);
        fault = md_format("no value; allowed: %s", allowed);
        free(allowed);
    }
    md_layer_problem(layer, "%s: %s", row->name, fault);
    free(fault);
}

/* --- deck files --- */

size_t md_line_find_comment(const char *line) {
    bool value_next = false, quoted = false, equal_seen = false;
    size_t k = 0;
    for (; line[k]; k++) {
        char c = line[k];
        if (quoted) {
            if (c == '\\' && line[k + 1]) k++;
            if (c == '"') quoted = false;
        } else if (c == '#' && (k == 0 || md_is_blank(line[k - 1]))) {
            return k;
        } else if (c == '"' && value_next) {
            quoted = true;
        }
        if (!md_is_blank(c)) value_next = c == '=' && !equal_seen;
        equal_seen = equal_seen || c == '=';
    }
    return k;
}

static void read_section(MdLayer *layer, char *line) {
    size_t n = strlen(line);
    layer->section = -1;
    layer->section_unknown = true;
    if (line[n - 1] != ']') {
        md_deck_doubt_all(layer->deck);
        char *shown = md_show_text(line, n, MD_SHOW_VALUE);
        md_layer_problem(layer, "read \"%s\"; a section is written [name], on its own line", shown);
        free(shown);
        return;
    }
    line[n - 1] = '\0';
    char *name = md_line_trim(line + 1);
    int first = md_section_find(name);
    if (first < 0) {
        report_unknown_section(layer, name, NULL);
        return;
    }
    layer->section = first;
    layer->section_unknown = false;
}

static void read_assignment(MdLayer *layer, char *line) {
    char *equal = strchr(line, '=');
    if (layer->section_unknown) return;
    const bool is_comment = md_line_is_foreign_comment(line);
    if (is_comment || !equal) {
        char *read = md_show_text(line, strlen(line), MD_SHOW_VALUE);
        md_layer_problem(layer, "read \"%s\"; %s", read,
                         is_comment ? "comments begin with #" : "there is no \"=\": write key = value");
        free(read);
        if (!is_comment) md_deck_doubt_all(layer->deck);
        return;
    }
    *equal = '\0';
    char *key = md_line_trim(line), *value = md_line_trim(equal + 1);
    char *shown = md_show_text(key, strlen(key), MD_SHOW_VALUE);
    if (*key == '\0') {
        md_deck_doubt_all(layer->deck);
        md_layer_problem(layer, "there is no key before \"=\": write key = value");
    } else if (md_deck_names_option(key)) {
        const int option = md_option_by_name(key);
        layer->deck->doubtful[option] = true;
        md_layer_problem(layer, "%s: in a deck, keys are below their section, without its name: write %s below [%s]",
                         shown, md_option_row(option)->key, md_option_row(option)->section);
    } else if (layer->section < 0) {
        md_deck_doubt_all(layer->deck);
        const MdNearest nearest = md_nearest_begin(key);
        char *hint = hint_at(-1, key, &nearest);
        md_layer_problem(layer, "%s: a key before any [section]%s", shown, hint);
        free(hint);
    } else {
        const char *section = md_option_row(layer->section)->section;
        int option = md_option_find(section, key);
        if (option < 0) refuse_key(layer, layer->section, key);
        else assign(layer, option, value);
    }
    free(shown);
}

void md_layer_read_deck(MdLayer *layer, const char *text, size_t n) {
    char *line = md_alloc(MD_MAX_LINE_BYTES + 1, 1, "line of a deck");
    for (size_t start = 0, end; start < n; start = end + 1) {
        const char *newline = memchr(text + start, '\n', n - start);
        end = newline ? (size_t)(newline - text) : n;
        layer->line++;
        size_t length = end - start;
        if (length > 0 && text[end - 1] == '\r') length--;
        if (length > MD_MAX_LINE_BYTES) {
            md_deck_doubt_all(layer->deck);
            md_layer_problem(layer, "a line of %zu bytes; allowed: at most %d", length, MD_MAX_LINE_BYTES);
            continue;
        }
        memcpy(line, text + start, length);
        line[length] = '\0';
        line[md_line_find_comment(line)] = '\0';
        char *content = md_line_trim(line);
        if (*content == '[') read_section(layer, content);
        else if (*content) read_assignment(layer, content);
    }
    md_free(line);
}

/* --- overrides --- */

bool md_deck_is_override(const char *argument) {
    const char *equal = strchr(argument, '='), *slash = strchr(argument, '/');
    return equal && !(slash && slash < equal);
}

bool md_deck_names_option(const char *word) {
    for (int option = 0; option < MD_N_OPTIONS; option++)
        if (strcmp(word, md_option_name(option)) == 0) return true;
    return false;
}

/* `key` without its section: which sections have it. */
static void report_no_section(MdLayer *layer, const char *key) {
    const MdNearest nearest = md_nearest_begin(key);
    char *hint = hint_at(-1, key, &nearest), *shown = md_show_text(key, strlen(key), MD_SHOW_VALUE);
    md_layer_problem(layer, "%s: no section; write section.key=value%s", shown, hint);
    free(hint);
    free(shown);
}

void md_deck_read_override(MdDeck *deck, const char *argument, MdErrors *errors) {
    MdLayer layer = {.deck = deck, .errors = errors};
    layer.path = md_copy_text("command line");
    char *copy = md_copy_text(argument), *equal = strchr(copy, '=');
    *equal = '\0';
    char *name = md_line_trim(copy), *value = md_line_trim(equal + 1), *dot = strchr(name, '.');
    if (!dot) {
        report_no_section(&layer, name);
    } else {
        *dot = '\0';
        int section = md_section_find(name), option = md_option_find(name, dot + 1);
        if (section < 0) report_unknown_section(&layer, name, dot + 1);
        else if (option < 0) refuse_key(&layer, section, dot + 1);
        else assign(&layer, option, value);
    }
    free(copy);
    free(layer.path);
}
