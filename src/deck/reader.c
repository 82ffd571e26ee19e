/* Reading one layer: a deck file, a file of coordinates, or an override. All problems of a layer are reported, up to a
 * number that a person would read. */
#define _XOPEN_SOURCE 700
#include "deck/reader.h"

#include <errno.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"

enum {
    MAX_FILE_BYTES = 1 << 20, /* of a deck; the whole table written out takes a hundredth of it */
    MAX_LINE_BYTES = 1 << 14, /* room for the longest path and its origin in an effective deck */
    MAX_PROBLEMS = 20         /* listed for a file; the rest is counted */
};

/* The state of reading one file, or one override. */
typedef struct Layer {
    MdDeck *deck;
    MdErrors *errors;
    char *path; /* fit to show; `command line` for an override */
    const char *folder;
    int line; /* from 1; 0 for an override */
    int n_problems;
    int section;             /* first row of the current section; -1 before any */
    bool section_unknown;    /* keys under it are passed over: the section was reported */
    int given[MD_N_OPTIONS]; /* line of a key within this file; 0: not given */
} Layer;

static char *place(const Layer *layer) {
    return layer->line ? md_format("%s:%d", layer->path, layer->line) : md_copy_text(layer->path);
}

static void problem(Layer *layer, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void problem(Layer *layer, const char *format, ...) {
    if (++layer->n_problems > MAX_PROBLEMS) return;
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
static bool listed(Layer *layer) {
    if (layer->n_problems < MAX_PROBLEMS) return true;
    layer->n_problems++;
    return false;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Takes the blanks off both ends of the n bytes, in place; returns the new beginning. */
static char *trim(char *text) {
    while (is_blank(*text)) text++;
    size_t n = strlen(text);
    while (n > 0 && is_blank(text[n - 1])) n--;
    text[n] = '\0';
    return text;
}

/* --- unknown names --- */

static void doubt_section(MdDeck *deck, int first) {
    for (int k = first; k < md_section_end(first); k++) deck->doubtful[k] = true;
}

static void doubt_all(MdDeck *deck) {
    for (int k = 0; k < MD_N_OPTIONS; k++) deck->doubtful[k] = true;
}

static void report_unknown_section(Layer *layer, const char *name) {
    doubt_all(layer->deck);
    if (!listed(layer)) return;
    MdText sections = {0};
    MdNearest nearest = md_nearest_begin(name);
    for (int k = 0; k < MD_N_OPTIONS; k = md_section_end(k)) {
        const char *section = md_option_row(k)->section;
        md_text_add(&sections, "%s%s", k ? ", " : "", section);
        md_nearest_offer(&nearest, section);
    }
    const char *meant = md_nearest_name(&nearest);
    char *shown = md_show_text(name, strlen(name), MD_SHOW_VALUE), *all = md_text_take(&sections);
    problem(layer, "[%s]: no such section; allowed: %s%s%s%s", shown, all, meant ? "; did you mean \"" : "",
            meant ? meant : "", meant ? "\"?" : "");
    free(shown);
    free(all);
}

/* The names of all options called `key`, as `a.key, b.key`; NULL when there are none. */
static char *names_of_key(const char *key) {
    MdText names = {0};
    for (int k = 0; k < MD_N_OPTIONS; k++)
        if (strcmp(md_option_row(k)->key, key) == 0)
            md_text_add(&names, "%s%s", names.length ? ", " : "", md_option_name(k));
    return names.text;
}

static void report_unknown_key(Layer *layer, int section, const char *key) {
    doubt_section(layer->deck, section);
    if (!listed(layer)) return;
    MdText keys = {0};
    MdNearest nearest = md_nearest_begin(key);
    for (int k = section; k < md_section_end(section); k++) {
        md_text_add(&keys, "%s%s", k > section ? ", " : "", md_option_row(k)->key);
        md_nearest_offer(&nearest, md_option_row(k)->key);
    }
    char *elsewhere = names_of_key(key), *shown = md_show_text(key, strlen(key), MD_SHOW_VALUE);
    char *all = md_text_take(&keys);
    const char *meant = elsewhere ? elsewhere : md_nearest_name(&nearest);
    problem(layer, "%s.%s: no such key; allowed: %s%s%s%s", md_option_row(section)->section, shown, all,
            meant ? "; did you mean \"" : "", meant ? meant : "", meant ? "\"?" : "");
    free(elsewhere);
    free(shown);
    free(all);
}

/* --- assignments --- */

static void assign(Layer *layer, int option, const char *text) {
    const MdOptionRow *row = md_option_row(option);
    if (layer->given[option]) {
        problem(layer, "%s: given twice; the first is in line %d", row->name, layer->given[option]);
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
    problem(layer, "%s: %s", row->name, fault);
    free(fault);
}

/* --- deck files --- */

/* Where the comment of a line begins, or its end: a `#` at the start or after a blank, but not inside a value in double
 * quotes. */
static size_t find_comment(const char *line) {
    bool value_next = false, quoted = false, equal_seen = false;
    size_t k = 0;
    for (; line[k]; k++) {
        char c = line[k];
        if (quoted) {
            if (c == '\\' && line[k + 1]) k++;
            if (c == '"') quoted = false;
        } else if (c == '#' && (k == 0 || is_blank(line[k - 1]))) {
            return k;
        } else if (c == '"' && value_next) {
            quoted = true;
        }
        if (!is_blank(c)) value_next = c == '=' && !equal_seen;
        equal_seen = equal_seen || c == '=';
    }
    return k;
}

/* What a reader skips: nothing but blanks and a comment. */
static bool is_empty_line(const char *line) {
    while (is_blank(*line)) line++;
    return *line == '\0' || *line == '#';
}

static void read_section(Layer *layer, char *line) {
    size_t n = strlen(line);
    layer->section = -1;
    layer->section_unknown = true;
    if (line[n - 1] != ']') {
        doubt_all(layer->deck);
        char *shown = md_show_text(line, n, MD_SHOW_VALUE);
        problem(layer, "read \"%s\"; a section is written [name], alone in its line", shown);
        free(shown);
        return;
    }
    line[n - 1] = '\0';
    char *name = trim(line + 1);
    int first = md_section_find(name);
    if (first < 0) {
        report_unknown_section(layer, name);
        return;
    }
    layer->section = first;
    layer->section_unknown = false;
}

static void read_assignment(Layer *layer, char *line) {
    char *equal = strchr(line, '=');
    if (layer->section_unknown) return;
    if (!equal) {
        char *shown = md_show_text(line, strlen(line), MD_SHOW_VALUE);
        problem(layer, "read \"%s\"; there is no \"=\": write key = value", shown);
        free(shown);
        doubt_all(layer->deck);
        return;
    }
    *equal = '\0';
    char *key = trim(line), *value = trim(equal + 1);
    char *shown = md_show_text(key, strlen(key), MD_SHOW_VALUE);
    if (*key == '\0') {
        doubt_all(layer->deck);
        problem(layer, "there is no key before \"=\": write key = value");
    } else if (layer->section < 0) {
        doubt_all(layer->deck);
        char *names = names_of_key(key);
        problem(layer, "%s: a key before any [section]%s%s", shown, names ? "; the table has " : "", names ? names : "");
        free(names);
    } else {
        const char *section = md_option_row(layer->section)->section;
        int option = md_option_find(section, key);
        if (option < 0)
            report_unknown_key(layer, layer->section, key);
        else
            assign(layer, option, value);
    }
    free(shown);
}

static void read_deck(Layer *layer, const char *text, size_t n) {
    char *line = md_alloc(MAX_LINE_BYTES + 1, 1, "line of a deck");
    for (size_t start = 0, end; start < n; start = end + 1) {
        const char *newline = memchr(text + start, '\n', n - start);
        end = newline ? (size_t)(newline - text) : n;
        layer->line++;
        size_t length = end - start;
        if (length > 0 && text[end - 1] == '\r') length--;
        if (length > MAX_LINE_BYTES) {
            doubt_all(layer->deck);
            problem(layer, "a line of %zu bytes; allowed: at most %d", length, MAX_LINE_BYTES);
            continue;
        }
        memcpy(line, text + start, length);
        line[length] = '\0';
        line[find_comment(line)] = '\0';
        char *content = trim(line);
        if (*content == '[')
            read_section(layer, content);
        else if (*content)
            read_assignment(layer, content);
    }
    md_free(line);
}

/* --- telling decks from coordinates --- */

typedef enum Content { CONTENT_DECK, CONTENT_TABLE, CONTENT_XYZ, CONTENT_OTHER } Content;

/* Judges by a line of content. A word counts as a number here even if it is `nan`: that file is a table, and the reader
 * of tables has the better message. */
static Content judge(const char *content, int *n_columns) {
    if (content[0] == '[' || strchr(content, '=')) return CONTENT_DECK;
    char *copy = md_copy_text(content), *rest = NULL, *end;
    bool numbers = true, whole = true;
    int n = 0;
    for (char *word = strtok_r(copy, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest), n++) {
        strtod(word, &end);
        numbers = numbers && *end == '\0';
        whole = whole && word[strspn(word, "0123456789")] == '\0' && word[strspn(word, "0")] != '\0';
    }
    free(copy);
    *n_columns = n;
    if (n == 1 && whole) return CONTENT_XYZ;
    return numbers && (n == 2 || n == 3) ? CONTENT_TABLE : CONTENT_OTHER;
}

/* The first line with content, comment and blanks removed, its number left in layer->line; NULL when there is none.
 * Text from malloc. */
static char *first_content(Layer *layer, const char *text, size_t n) {
    for (size_t start = 0, end; start < n; start = end + 1) {
        const char *newline = memchr(text + start, '\n', n - start);
        end = newline ? (size_t)(newline - text) : n;
        layer->line++;
        size_t length = end - start;
        if (length > MAX_LINE_BYTES) length = MAX_LINE_BYTES;
        if (length > 0 && text[start + length - 1] == '\r') length--;
        char *line = md_format("%.*s", (int)length, text + start);
        if (!is_empty_line(line)) {
            line[find_comment(line)] = '\0';
            char *content = md_copy_text(trim(line));
            free(line);
            return content;
        }
        free(line);
    }
    return NULL;
}

/* The first byte that no text has, within the n bytes; n when there is none. */
static size_t find_binary(const char *text, size_t n) {
    for (size_t k = 0; k < n; k++) {
        unsigned char c = (unsigned char)text[k];
        bool return_at_end = c == '\r' && (k + 1 == n || text[k + 1] == '\n');
        if ((c < 0x20 && c != '\t' && c != '\n' && !return_at_end) || c == 0x7f) return k;
    }
    return n;
}

/* Whether the n bytes are text; else one message, not a thousand. */
static bool require_text(Layer *layer, const char *text, size_t n) {
    size_t at = find_binary(text, n);
    if (at == n) return true;
    layer->line = 1;
    for (size_t k = 0; k < at; k++) layer->line += text[k] == '\n';
    problem(layer, "byte 0x%02x: this is not a text file; expected: a deck, a table of coordinates, or XYZ",
            (unsigned char)text[at]);
    return false;
}

static void set_word(Layer *layer, int option, const char *text) {
    MdValue value;
    char *fault = md_value_read(md_option_row(option), text, NULL, &value);
    if (fault) md_panic("%s: %s", md_option_name(option), fault);
    md_deck_set(layer->deck, option, &value, layer->path);
}

static void set_coordinates(Layer *layer, const char *path, int dimension) {
    MdValue file = {.text = md_path_absolute(NULL, path)};
    md_deck_set(layer->deck, MD_OPTION_system_file, &file, layer->path);
    set_word(layer, MD_OPTION_system_start, "file");
    set_word(layer, MD_OPTION_system_boundary, "open");
    set_word(layer, MD_OPTION_system_dimension, dimension == 2 ? "2" : "3");
}

static void read_by_content(Layer *layer, const char *path, const char *text, size_t n) {
    char *content = first_content(layer, text, n);
    int n_columns = 0;
    Content kind = content ? judge(content, &n_columns) : CONTENT_DECK;
    if (kind == CONTENT_TABLE || kind == CONTENT_XYZ) {
        set_coordinates(layer, path, kind == CONTENT_TABLE ? n_columns : 3);
    } else if (kind == CONTENT_OTHER) {
        char *shown = md_show_text(content, strlen(content), MD_SHOW_VALUE);
        problem(layer, "read \"%s\"; expected: [section] (a deck), two or three numbers (a table of coordinates), "
                "or a number of atoms (XYZ)", shown);
        free(shown);
    } else if (n > MAX_FILE_BYTES) {
        layer->line = 0;
        problem(layer, "a deck of more than %d bytes", MAX_FILE_BYTES);
    } else if (require_text(layer, text, n)) {
        layer->line = 0;
        read_deck(layer, text, n);
    }
    free(content);
}

/* Bytes up to the end of the first line with content: what must be text even in a file of coordinates, whose rows the
 * reader of coordinates judges. */
static size_t head_bytes(const char *text, size_t n) {
    bool content = false, comment = false;
    size_t k = 0;
    for (; k < n && !(text[k] == '\n' && content); k++) {
        if (text[k] == '\n') comment = false;
        if (text[k] == '#' && !content) comment = true;
        content = content || (!comment && !is_blank(text[k]) && text[k] != '\r' && text[k] != '\n');
    }
    return k;
}

void md_deck_read_text(MdDeck *deck, const char *path, const char *folder, const char *text, size_t n,
                       MdErrors *errors) {
    Layer layer = {.deck = deck, .errors = errors, .folder = folder, .section = -1};
    layer.path = md_show_text(path, strlen(path), MD_SHOW_PATH);
    deck->n_layers++;
    bool blank = strspn(text, " \t\r\n") == n;
    if (blank) {
        problem(&layer, "the file is empty");
    } else if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        layer.line = 1;
        problem(&layer, "the file begins with a byte order mark; save it as plain UTF-8");
    } else if (require_text(&layer, text, head_bytes(text, n))) {
        read_by_content(&layer, path, text, n);
    }
    layer.line = 0;
    if (layer.n_problems > MAX_PROBLEMS)
        md_fail(errors, MD_ERROR_INPUT, "%s: and %d more problems", layer.path, layer.n_problems - MAX_PROBLEMS);
    free(layer.path);
}

/* --- files --- */

/* The bytes of a file with a 0 after them, from malloc; NULL, with the problem in errors. No more is read than shows
 * that a deck is too long: of coordinates the beginning is enough here. */
static char *read_bytes(const char *path, const char *shown, size_t *n, MdErrors *errors) {
    struct stat status;
    int reason = 0;
    char *text = NULL;
    FILE *file = NULL;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        reason = EISDIR;
    else if (!(file = fopen(path, "rb")))
        reason = errno;
    if (file) {
        text = md_alloc(MAX_FILE_BYTES + 2, 1, "deck");
        *n = fread(text, 1, MAX_FILE_BYTES + 1, file);
        if (ferror(file)) reason = errno;
        fclose(file);
    }
    if (!reason) return text;
    md_fail(errors, MD_ERROR_INPUT, "%s: cannot be read: %s", shown, strerror(reason));
    md_free(text);
    return NULL;
}

void md_deck_read_file(MdDeck *deck, const char *path, MdErrors *errors) {
    char *shown = md_show_text(path, strlen(path), MD_SHOW_PATH);
    size_t n = 0;
    char *text = read_bytes(path, shown, &n, errors);
    if (text) {
        char *copy = md_copy_text(path), *folder = md_path_absolute(NULL, dirname(copy));
        md_deck_read_text(deck, path, folder, text, n, errors);
        free(copy);
        free(folder);
    } else {
        doubt_all(deck);
    }
    free(shown);
    md_free(text);
}

/* --- overrides --- */

bool md_deck_is_override(const char *argument) {
    const char *equal = strchr(argument, '='), *slash = strchr(argument, '/');
    return equal && !(slash && slash < equal);
}

/* `key` without its section: which sections have it. */
static void report_no_section(Layer *layer, const char *key) {
    char *names = names_of_key(key), *shown = md_show_text(key, strlen(key), MD_SHOW_VALUE);
    problem(layer, "%s: no section; write section.key=value%s%s", shown, names ? "; the table has " : "", names ? names : "");
    free(names);
    free(shown);
}

void md_deck_read_override(MdDeck *deck, const char *argument, MdErrors *errors) {
    Layer layer = {.deck = deck, .errors = errors};
    layer.path = md_copy_text("command line");
    char *copy = md_copy_text(argument), *equal = strchr(copy, '=');
    *equal = '\0';
    char *name = trim(copy), *value = trim(equal + 1), *dot = strchr(name, '.');
    if (!dot) {
        report_no_section(&layer, name);
    } else {
        *dot = '\0';
        int section = md_section_find(name), option = md_option_find(name, dot + 1);
        if (section < 0)
            report_unknown_section(&layer, name);
        else if (option < 0)
            report_unknown_key(&layer, section, dot + 1);
        else
            assign(&layer, option, value);
    }
    free(copy);
    free(layer.path);
}
