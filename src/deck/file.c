/* Files: read, found to be text, and told apart by content: a deck, a table of coordinates, or XYZ. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "base/pairs.h"
#include "base/stream.h"
#include "deck/layer.h"

typedef enum Content { CONTENT_DECK, CONTENT_TABLE, CONTENT_XYZ, CONTENT_OTHER } Content;

/* Judges by a line of content. A word counts as a number here even if it is `nan`: that file is a table, and the reader
 * of tables has the better message. */
static Content judge(const char *content, int *n_columns) {
    if (content[0] == '[' || strchr(content, '=') || md_line_is_foreign_comment(content)) return CONTENT_DECK;
    char *copy = md_copy_text(content), *rest = NULL, *end;
    bool numbers = true, whole = true;
    int n = 0;
    for (char *word = strtok_r(copy, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest), n++) {
        strtod(word, &end);
        numbers = numbers && *end == '\0';
        whole = whole && word[strspn(word, "0123456789")] == '\0';
    }
    free(copy);
    *n_columns = n;
    if (n == 1 && whole) return CONTENT_XYZ;
    return numbers && (n == 2 || n == 3) ? CONTENT_TABLE : CONTENT_OTHER;
}

/* Whether a reader skips the line: only blanks and a comment. */
static bool is_empty_line(const char *line) {
    while (md_is_blank(*line)) line++;
    return *line == '\0' || *line == '#';
}

/* The first line with content, comment and blanks removed, its number left in layer->line and the rest of the text in *next;
 * NULL when there is none. Text from malloc. */
static char *first_content(MdLayer *layer, const char *text, size_t n, const char **next) {
    for (size_t start = 0, end; start < n; start = end + 1) {
        const char *newline = memchr(text + start, '\n', n - start);
        end = newline ? (size_t)(newline - text) : n;
        layer->line++;
        size_t length = end - start;
        if (length > MD_MAX_LINE_BYTES) length = MD_MAX_LINE_BYTES;
        if (length > 0 && text[start + length - 1] == '\r') length--;
        char *line = md_format("%.*s", (int)length, text + start);
        if (!is_empty_line(line)) {
            line[md_line_find_comment(line)] = '\0';
            char *content = md_copy_text(md_line_trim(line));
            free(line);
            *next = newline ? newline + 1 : text + n;
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

/* The kind of a file that is no deck, and how to use it; NULL: unknown. */
static const char *known_kind(const char *text, size_t n) {
    static const struct {
        const char *begin, *is;
    } kinds[] = {{"\x1f\x8b", "compressed by gzip; unpack it: mdmini <(zcat FILE)"},
                 {"mdmini restart", "a restart file; mdmini --restart FILE continues its run"},
                 {"\x89HDF", "an HDF5 file; mdmini writes trajectories and reads none"},
                 {"{", "a JSON file; in the report of a run the deck is `effective_deck`"}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const size_t length = strlen(kinds[k].begin);
        if (n >= length && memcmp(text, kinds[k].begin, length) == 0) return kinds[k].is;
    }
    return NULL;
}

/* Whether the n bytes are text; else one message, not a thousand. */
static bool require_text(MdLayer *layer, const char *text, size_t n) {
    const char *const kind = known_kind(text, n);
    size_t at = kind ? 0 : find_binary(text, n);
    if (at == n) return true;
    layer->line = 1;
    for (size_t k = 0; k < at; k++) layer->line += text[k] == '\n';
    char *what = kind ? md_copy_text(kind) : md_format("byte 0x%02x: this is not a text file", (unsigned char)text[at]);
    md_layer_problem(layer, "%s; expected: a deck, a table of coordinates, or XYZ", what);
    free(what);
    return false;
}

static void set_word(MdLayer *layer, int option, const char *text) {
    MdValue value;
    char *fault = md_value_read(md_option_row(option), text, NULL, &value);
    if (fault) md_panic("%s: %s", md_option_name(option), fault);
    md_deck_set(layer->deck, option, &value, layer->path);
}

/* Whether the comment line of an XYZ file gives its boundaries (system/coordinates.h). A line longer than the part of the
 * file that was read counts as well: if it gives none, it is refused later, not taken for open. */
static bool has_boundaries(const char *line) {
    const size_t length = strcspn(line, "\n");
    char *copy = md_format("%.*s", (int)length, line), *rest = copy;
    bool found = length > MD_MAX_FILE_BYTES - MD_MAX_LINE_BYTES && !line[length];
    for (MdKeyValue pair; !found && md_key_value_next(&rest, &pair);)
        found = pair.value && (strcasecmp(pair.key, "lattice") == 0 || strcasecmp(pair.key, "pbc") == 0);
    free(copy);
    return found;
}

/* If the file does not give its boundaries, they are open. */
static void set_coordinates(MdLayer *layer, const char *path, int dimension, bool has_boundary) {
    MdValue file = {.text = md_path_absolute(NULL, path)};
    if (layer->deck->config.system_file[0])
        md_layer_problem(layer, "holds coordinates, but %s has given a coordinate file already; one is enough",
                         md_deck_origin(layer->deck, MD_OPTION_system_file));
    md_deck_set(layer->deck, MD_OPTION_system_file, &file, layer->path);
    set_word(layer, MD_OPTION_system_start, "file");
    set_word(layer, MD_OPTION_system_dimension, dimension == 2 ? "2" : "3");
    if (!has_boundary) set_word(layer, MD_OPTION_system_boundary, "open");
}

/* Whether the text holds coordinates. */
static bool read_by_content(MdLayer *layer, const char *path, const char *text, size_t n) {
    const char *next = NULL;
    char *content = first_content(layer, text, n, &next);
    int n_columns = 0;
    Content kind = content ? judge(content, &n_columns) : CONTENT_DECK;
    if (kind == CONTENT_TABLE) {
        set_coordinates(layer, path, n_columns, false);
    } else if (kind == CONTENT_XYZ) {
        set_coordinates(layer, path, 3, has_boundaries(next));
    } else if (kind == CONTENT_OTHER && (strstr(text, "pair_style") || strstr(text, "atom_style"))) {
        md_layer_problem(layer, "a script of LAMMPS; mdmini reads decks, [section] and key = value: inputs/melt.txt is "
                                "the melt of its benchmark");
    } else if (kind == CONTENT_OTHER) {
        char *shown = md_show_text(content, strlen(content), MD_SHOW_VALUE);
        const bool commas = strpbrk(content, ",;") && !content[strspn(content, "0123456789+-.eE,; \t")];
        content[strcspn(content, " \t")] = '\0';
        char *hint =
            commas ? md_copy_text("; separate numbers by blanks, with a decimal point") : md_foreign_name(content);
        md_layer_problem(layer,
                         "read \"%s\"; expected: [section] (a deck), two or three numbers (a table of coordinates), "
                         "or a number of atoms (XYZ)%s",
                         shown, hint ? hint : "");
        free(hint);
        free(shown);
    } else if (n > MD_MAX_FILE_BYTES) {
        layer->line = 0;
        md_layer_problem(layer, "a deck of more than %d bytes", MD_MAX_FILE_BYTES);
    } else if (require_text(layer, text, n)) {
        layer->line = 0;
        md_layer_read_deck(layer, text, n);
    }
    free(content);
    return kind == CONTENT_TABLE || kind == CONTENT_XYZ;
}

/* Bytes up to the end of the first line with content. They must be text even in a file of coordinates; the reader of
 * coordinates checks its rows. */
static size_t head_bytes(const char *text, size_t n) {
    bool content = false, comment = false;
    size_t k = 0;
    for (; k < n && !(text[k] == '\n' && content); k++) {
        if (text[k] == '\n') comment = false;
        if (text[k] == '#' && !content) comment = true;
        content = content || (!comment && !md_is_blank(text[k]) && text[k] != '\r' && text[k] != '\n');
    }
    return k;
}

bool md_deck_read_text(MdDeck *deck, const char *path, const char *folder, const char *text, size_t n,
                       MdErrors *errors) {
    MdLayer layer = {.deck = deck, .errors = errors, .folder = folder, .section = -1};
    layer.path = md_show_text(path, strlen(path), MD_SHOW_PATH);
    deck->n_layers++;
    bool blank = strspn(text, " \t\r\n") == n, coordinates = false;
    if (blank) {
        md_layer_problem(&layer, "the file is empty");
    } else if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        layer.line = 1;
        md_layer_problem(&layer, "the file begins with a byte order mark; save it as plain UTF-8");
    } else if (require_text(&layer, text, head_bytes(text, n))) {
        coordinates = read_by_content(&layer, path, text, n);
    }
    layer.line = 0;
    if (layer.n_problems > MD_LAYER_PROBLEMS)
        md_fail(errors, MD_ERROR_INPUT, "%s: and %d more problems", layer.path, layer.n_problems - MD_LAYER_PROBLEMS);
    free(layer.path);
    return coordinates;
}

/* --- files --- */

static void report_unreadable(const char *path, const char *shown, int reason, MdErrors *errors) {
    char *there = md_format("inputs/%s", path); /* `melt.txt`, called where the source is */
    char *help = reason != ENOENT             ? md_copy_text("")
                 : md_deck_names_option(path) ? md_format("; an override is written %s=VALUE", path)
                 : access(there, R_OK) == 0   ? md_nearest_question(there)
                                              : md_nearest_file(path);
    free(there);
    md_fail(errors, MD_ERROR_INPUT, "%s: cannot be read: %s%s", shown, strerror(reason), help);
    free(help);
}

/* Keeps n bytes of coordinates, and the rest of the file, if they cannot be read again: from a pipe. */
static void keep_stream(MdDeck *deck, FILE *file, const char *text, size_t n) {
    struct stat status;
    if (fstat(fileno(file), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return;
    size_t n_rest = 0;
    char *rest = md_stream_read(file, SIZE_MAX, &n_rest);
    if (!rest) return; /* the reader of coordinates reports the fault */
    md_free(deck->stream);
    free(deck->stream_path);
    deck->stream_bytes = n + n_rest;
    deck->stream = md_alloc(deck->stream_bytes + 1, 1, "coordinates from a pipe");
    memcpy(deck->stream, text, n);
    memcpy(deck->stream + n, rest, n_rest);
    deck->stream_path = md_copy_text(deck->config.system_file);
    free(rest);
}

void md_deck_keep_stream(MdDeck *deck) {
    size_t n;
    FILE *file =
        deck->config.system_file[0] && !md_deck_stream(deck, &n) ? fopen(deck->config.system_file, "rb") : NULL;
    if (!file) return;
    keep_stream(deck, file, "", 0);
    fclose(file);
}

bool md_deck_read_file(MdDeck *deck, const char *path, MdErrors *errors) {
    bool coordinates = false;
    char *shown = md_show_text(path, strlen(path), MD_SHOW_PATH), *text = NULL;
    size_t n = 0;
    FILE *file = fopen(path, "rb");
    /* No more than shows that a deck is too long: of coordinates the beginning is enough here. */
    if (file) text = md_stream_read(file, MD_MAX_FILE_BYTES + 1, &n);
    if (text) {
        char *copy = md_copy_text(path), *folder = md_path_absolute(NULL, dirname(copy));
        coordinates = md_deck_read_text(deck, path, folder, text, n, errors);
        if (coordinates) keep_stream(deck, file, text, n);
        free(copy);
        free(folder);
    } else {
        report_unreadable(path, shown, errno, errors);
        md_deck_doubt_all(deck);
    }
    if (file) fclose(file);
    free(shown);
    free(text);
    return coordinates;
}
