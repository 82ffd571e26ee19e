/* Files: read, found to be text, and told apart by content: a deck, a table of coordinates, or XYZ. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "deck/layer.h"

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

/* What a reader skips: nothing but blanks and a comment. */
static bool is_empty_line(const char *line) {
    while (md_is_blank(*line)) line++;
    return *line == '\0' || *line == '#';
}

/* The first line with content, comment and blanks removed, its number left in layer->line and what follows it in *next;
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

/* Whether the n bytes are text; else one message, not a thousand. */
static bool require_text(MdLayer *layer, const char *text, size_t n) {
    size_t at = find_binary(text, n);
    if (at == n) return true;
    layer->line = 1;
    for (size_t k = 0; k < at; k++) layer->line += text[k] == '\n';
    md_layer_problem(layer, "byte 0x%02x: this is not a text file; expected: a deck, a table of coordinates, or XYZ",
                     (unsigned char)text[at]);
    return false;
}

static void set_word(MdLayer *layer, int option, const char *text) {
    MdValue value;
    char *fault = md_value_read(md_option_row(option), text, NULL, &value);
    if (fault) md_panic("%s: %s", md_option_name(option), fault);
    md_deck_set(layer->deck, option, &value, layer->path);
}

/* Whether the line of an XYZ file that follows the count describes a box (extended XYZ). */
static bool has_lattice(const char *line) {
    static const char key[] = "Lattice=";
    for (const char *c = line; *c && *c != '\n'; c++)
        if ((c == line || md_is_blank(c[-1])) && strncmp(c, key, sizeof key - 1) == 0) return true;
    return false;
}

/* A box that the file brings has boundaries of its own (system/coordinates.h); without it they are open. */
static void set_coordinates(MdLayer *layer, const char *path, int dimension, bool brings_box) {
    MdValue file = {.text = md_path_absolute(NULL, path)};
    if (layer->deck->config.system_file[0])
        md_layer_problem(layer, "holds coordinates, but %s has given a coordinate file already; one is enough",
                         md_deck_origin(layer->deck, MD_OPTION_system_file));
    md_deck_set(layer->deck, MD_OPTION_system_file, &file, layer->path);
    set_word(layer, MD_OPTION_system_start, "file");
    set_word(layer, MD_OPTION_system_dimension, dimension == 2 ? "2" : "3");
    if (!brings_box) set_word(layer, MD_OPTION_system_boundary, "open");
}

static void read_by_content(MdLayer *layer, const char *path, const char *text, size_t n) {
    const char *next = NULL;
    char *content = first_content(layer, text, n, &next);
    int n_columns = 0;
    Content kind = content ? judge(content, &n_columns) : CONTENT_DECK;
    if (kind == CONTENT_TABLE) {
        set_coordinates(layer, path, n_columns, false);
    } else if (kind == CONTENT_XYZ) {
        set_coordinates(layer, path, 3, has_lattice(next));
    } else if (kind == CONTENT_OTHER) {
        char *shown = md_show_text(content, strlen(content), MD_SHOW_VALUE);
        md_layer_problem(layer,
                         "read \"%s\"; expected: [section] (a deck), two or three numbers (a table of coordinates), "
                         "or a number of atoms (XYZ)",
                         shown);
        free(shown);
    } else if (n > MD_MAX_FILE_BYTES) {
        layer->line = 0;
        md_layer_problem(layer, "a deck of more than %d bytes", MD_MAX_FILE_BYTES);
    } else if (require_text(layer, text, n)) {
        layer->line = 0;
        md_layer_read_deck(layer, text, n);
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
        content = content || (!comment && !md_is_blank(text[k]) && text[k] != '\r' && text[k] != '\n');
    }
    return k;
}

void md_deck_read_text(MdDeck *deck, const char *path, const char *folder, const char *text, size_t n,
                       MdErrors *errors) {
    MdLayer layer = {.deck = deck, .errors = errors, .folder = folder, .section = -1};
    layer.path = md_show_text(path, strlen(path), MD_SHOW_PATH);
    deck->n_layers++;
    bool blank = strspn(text, " \t\r\n") == n;
    if (blank) {
        md_layer_problem(&layer, "the file is empty");
    } else if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        layer.line = 1;
        md_layer_problem(&layer, "the file begins with a byte order mark; save it as plain UTF-8");
    } else if (require_text(&layer, text, head_bytes(text, n))) {
        read_by_content(&layer, path, text, n);
    }
    layer.line = 0;
    if (layer.n_problems > MD_LAYER_PROBLEMS)
        md_fail(errors, MD_ERROR_INPUT, "%s: and %d more problems", layer.path, layer.n_problems - MD_LAYER_PROBLEMS);
    free(layer.path);
}

/* --- files --- */

/* Whether the word is the name of an option, `run.steps`. */
static bool names_option(const char *word) {
    for (int option = 0; option < MD_N_OPTIONS; option++)
        if (strcmp(word, md_option_name(option)) == 0) return true;
    return false;
}

/* The bytes of a file with a 0 after them, from malloc; NULL, with the problem in errors. No more is read than shows
 * that a deck is too long: of coordinates the beginning is enough here. */
static char *read_bytes(const char *path, const char *shown, size_t *n, MdErrors *errors) {
    struct stat status;
    int reason = 0;
    char *text = NULL;
    FILE *file = NULL;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) reason = EISDIR;
    else if (!(file = fopen(path, "rb"))) reason = errno;
    if (file) {
        text = md_alloc(MD_MAX_FILE_BYTES + 2, 1, "deck");
        *n = fread(text, 1, MD_MAX_FILE_BYTES + 1, file);
        if (ferror(file)) reason = errno;
        fclose(file);
    }
    if (!reason) return text;
    if (reason == ENOENT && names_option(path))
        md_fail(errors, MD_ERROR_INPUT, "%s: cannot be read: %s; an override is written %s=VALUE", shown,
                strerror(reason), path);
    else md_fail(errors, MD_ERROR_INPUT, "%s: cannot be read: %s", shown, strerror(reason));
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
        md_deck_doubt_all(deck);
    }
    free(shown);
    md_free(text);
}
