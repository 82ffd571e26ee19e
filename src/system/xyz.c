#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "deck/deck.h"
#include "physics/pair.h"
#include "system/coordinates_read.h"

/* Where the columns are that matter, counted in words from 0; -1: not there. */
typedef struct XyzColumns {
    int species, position, velocity;
    int n;      /* columns of a row */
    bool exact; /* a row has n columns, not more: Properties were given */
} XyzColumns;

typedef struct XyzReader {
    MdLines *lines;
    XyzColumns columns;
    int dimension;
    bool too_many_symbols; /* reported once */
} XyzReader;

/* --- the comment line of extended XYZ ---------------------------------------------------------------------------- */

/* The value of key=value or key="value" in the comment line, copied to value (room for size); false when the key is
 * not there. Keys begin a word outside quotes. */
static bool comment_value(const char *comment, const char *key, char *value, size_t size) {
    size_t n = strlen(key);
    bool quoted = false;
    for (const char *p = comment; *p; p++) {
        bool begins = p == comment || p[-1] == ' ' || p[-1] == '\t';
        if (!quoted && begins && strncmp(p, key, n) == 0 && p[n] == '=') {
            p += n + 1;
            char end = *p == '"' ? '"' : ' ';
            if (end == '"') p++;
            size_t length = 0;
            while (p[length] && p[length] != end && !(end == ' ' && p[length] == '\t')) length++;
            if (length >= size) length = size - 1;
            memcpy(value, p, length);
            value[length] = 0;
            return true;
        }
        if (*p == '"') quoted = !quoted;
    }
    return false;
}

static void read_lattice(MdLines *lines, char *text, MdCoordinates *c) {
    double vectors[9];
    int n = 0;
    char *word;
    size_t length;
    for (char *rest = text; md_text_word(&rest, &word, &length); n++)
        if (n == 9 || !md_text_number(word, length, &vectors[n])) {
            n = -1;
            break;
        }
    if (n != 9) {
        md_lines_problem(lines, "Lattice=\"%.80s\": nine finite numbers are needed", text);
        return;
    }
    for (int k = 0; k < 9; k++) {
        bool diagonal = k % 4 == 0;
        if (diagonal ? !(vectors[k] > 0) : vectors[k] != 0) {
            md_lines_problem(lines,
                             "Lattice=\"%.80s\": the box must be a cuboid along the axes, so only the first, "
                             "fifth and ninth number may differ from 0, and they must be above it",
                             text);
            return;
        }
    }
    c->has_lattice = true;
    for (int a = 0; a < 3; a++) c->lattice[a] = vectors[4 * a];
}

static void read_pbc(MdLines *lines, char *text, MdCoordinates *c) {
    char *word, *rest = text;
    size_t length;
    int n = 0;
    while (md_text_word(&rest, &word, &length)) {
        bool yes = length == 1 && strchr("Tt1", *word), no = length == 1 && strchr("Ff0", *word);
        if (n == 3 || !(yes || no)) {
            n = -1;
            break;
        }
        c->pbc[n++] = yes;
    }
    if (n == 3) c->has_pbc = true;
    else md_lines_problem(lines, "pbc=\"%.80s\": three letters T or F are needed", text);
}

/* One of Properties=name:kind:count:name:kind:count... */
static bool read_property(XyzColumns *columns, const char *name, char kind, int count) {
    bool velocity = !strcmp(name, "velo") || !strcmp(name, "vel") || !strcmp(name, "velocities");
    if (!strcmp(name, "species")) {
        if (kind != 'S' || count != 1) return false;
        columns->species = columns->n;
    } else if (!strcmp(name, "pos")) {
        if (kind != 'R' || count != 3) return false;
        columns->position = columns->n;
    } else if (velocity) {
        if (kind != 'R' || count != 3) return false;
        columns->velocity = columns->n;
    }
    columns->n += count;
    return true;
}

static void read_properties(MdLines *lines, const char *text, XyzColumns *columns) {
    *columns = (XyzColumns){.species = -1, .position = -1, .velocity = -1, .exact = true};
    char copy[512];
    strcpy(copy, text);
    for (char *rest = copy; rest;) {
        char *field[3] = {rest, NULL, NULL};
        for (int k = 0; k < 3; k++) {
            rest = field[k] ? strchr(field[k], ':') : NULL;
            if (rest) *rest++ = 0;
            if (k < 2) field[k + 1] = rest;
        }
        char *end = NULL;
        long count = field[2] ? strtol(field[2], &end, 10) : 0;
        if (!field[2] || *end || count < 1 || count > 1000 || strlen(field[1]) != 1 || !strchr("RISL", *field[1]) ||
            !read_property(columns, field[0], *field[1], (int)count)) {
            md_lines_problem(lines,
                             "Properties=%.200s: `%.40s` is not understood; columns are name:kind:count, with "
                             "species:S:1, pos:R:3 and perhaps velo:R:3 among them",
                             text, field[0]);
            return;
        }
    }
    if (columns->species < 0 || columns->position < 0)
        md_lines_problem(lines, "Properties=%.200s: species:S:1 and pos:R:3 are needed", text);
}

static void read_comment(MdLines *lines, char *comment, XyzColumns *columns, MdCoordinates *c) {
    char value[512];
    *columns = (XyzColumns){.species = 0, .position = 1, .velocity = -1, .n = 4};
    if (comment_value(comment, "Lattice", value, sizeof value)) read_lattice(lines, value, c);
    if (comment_value(comment, "pbc", value, sizeof value)) read_pbc(lines, value, c);
    if (comment_value(comment, "Properties", value, sizeof value)) read_properties(lines, value, columns);
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

/* Number of a symbol among the types, by first appearance; -1 when there are too many. */
static int symbol_type(XyzReader *reader, MdCoordinates *c, const char *word, size_t length) {
    if (length >= MD_TYPE_NAME_SIZE) {
        md_lines_problem(reader->lines, "`%.40s...`: a symbol has no more than %d characters", word,
                         MD_TYPE_NAME_SIZE - 1);
        return -1;
    }
    for (int t = 0; t < c->n_types; t++)
        if (strlen(c->symbol[t]) == length && memcmp(c->symbol[t], word, length) == 0) return t;
    if (c->n_types == MD_MAX_TYPES) {
        if (!reader->too_many_symbols)
            md_lines_problem(reader->lines, "`%.*s`: more than %d different symbols", (int)length, word, MD_MAX_TYPES);
        reader->too_many_symbols = true;
        return -1;
    }
    memcpy(c->symbol[c->n_types], word, length);
    c->symbol[c->n_types][length] = 0;
    return c->n_types++;
}

/* Puts the number into its place if the column is one of three from `first`; false when it is no number. */
static bool take_number(XyzReader *reader, int column, int first, const char *word, size_t length, double *numbers) {
    if (first < 0 || column < first || column >= first + 3) return true;
    if (md_text_number(word, length, &numbers[column - first]))
        return md_coordinates_in_range(reader->lines, numbers[column - first]);
    md_lines_problem(reader->lines, "`%.*s` is not a finite number", (int)(length < 60 ? length : 60), word);
    return false;
}

static bool read_row(XyzReader *reader, char *line, MdCoordinates *c, MdRow *row) {
    const XyzColumns *columns = &reader->columns;
    char *word, *rest = line;
    size_t length;
    int n = 0;
    for (; md_text_word(&rest, &word, &length); n++) {
        if (n == columns->species) {
            row->type = symbol_type(reader, c, word, length);
            if (row->type < 0) return false;
        }
        if (!take_number(reader, n, columns->position, word, length, row->position) ||
            !take_number(reader, n, columns->velocity, word, length, row->velocity))
            return false;
    }
    if (n < columns->n || (columns->exact && n > columns->n)) {
        md_lines_problem(reader->lines, "%d columns, where %s%d are needed: `%.60s`", n,
                         columns->exact ? "" : "at least ", columns->n, line);
        return false;
    }
    if (reader->dimension == 2 && (row->position[2] != 0 || row->velocity[2] != 0)) {
        md_lines_problem(reader->lines, "z = %g, z velocity %g, but system.dimension = 2", row->position[2],
                         row->velocity[2]);
        return false;
    }
    return true;
}

/* After the last atom nothing may follow but blank lines. */
static void check_end(MdLines *lines, long long n_atoms) {
    for (char *line; (line = md_lines_next(lines));)
        if (*md_text_skip(line)) {
            md_lines_problem(lines, "`%.60s` follows the last of %lld atoms; a file holds one frame", line, n_atoms);
            return;
        }
}

void md_coordinates_read_xyz(MdLines *lines, char *line, int dimension, MdCoordinates *c) {
    long long n_atoms = strtoll(line, NULL, 10);
    if (n_atoms < 2 || n_atoms > INT32_MAX) {
        md_lines_problem(lines, "%.40s atoms; from 2 to %d are possible", md_text_skip(line), INT32_MAX);
        return;
    }
    char *comment = md_lines_next(lines);
    XyzReader reader = {.lines = lines, .dimension = dimension};
    if (comment) read_comment(lines, comment, &reader.columns, c);
    if (lines->n_problems) return; /* rows cannot be read without their columns */
    int64_t capacity = 0;
    bool velocities = reader.columns.velocity >= 0;
    for (long long k = 0; k < n_atoms; k++) {
        if (!(line = md_lines_next(lines))) {
            md_lines_problem(lines, "the file ends after %lld of %lld atoms", k, n_atoms);
            return;
        }
        MdRow row = {.type = 0};
        if (read_row(&reader, line, c, &row)) md_coordinates_append(c, &capacity, &row, velocities, lines->number);
    }
    check_end(lines, n_atoms);
}
