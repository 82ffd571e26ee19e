/* XYZ: the rows. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "system/xyz_read.h"

typedef struct XyzReader {
    MdLines *lines;
    MdCoordinates *c;
    XyzColumns columns;
    int dimension;
    int mass_line[MD_MAX_TYPES]; /* where the mass of each type was read */
    bool too_many_symbols;       /* reported once */
    bool more_columns;           /* a row of plain XYZ has more than four */
} XyzReader;

typedef struct Word {
    char *text;
    size_t length;
} Word;

/* The words of a row that are used, by role and component. */
typedef struct Words {
    Word at[XYZ_N_ROLES][3];
} Words;

/* As much of a word as a message shows. */
static int shown(Word word) { return (int)(word.length < 60 ? word.length : 60); }

static bool split_row(XyzReader *reader, char *line, Words *words) {
    const XyzColumns *columns = &reader->columns;
    char *rest = line;
    int n = 0;
    for (Word word; md_text_word(&rest, &word.text, &word.length); n++) {
        const int role = n < columns->n ? columns->role[n] : XYZ_UNUSED;
        if (role < XYZ_N_ROLES) words->at[role][n - columns->first[role]] = word;
    }
    reader->more_columns = reader->more_columns || n > columns->n;
    if (n == columns->n || (!columns->exact && n > columns->n)) return true;
    md_lines_problem(reader->lines, "%d %s, where %s%d are needed%s: `%.60s`", n, n == 1 ? "column" : "columns",
                     columns->exact ? "" : "at least ", columns->n,
                     strpbrk(line, ",;") ? " (separate them by blanks, numbers with a decimal point)" : "", line);
    return false;
}

/* --- types ------------------------------------------------------------------------------------------------------- */

/* Number of a symbol among the types, by first appearance; -1 when there are too many. */
static int symbol_type(XyzReader *reader, Word word) {
    MdCoordinates *c = reader->c;
    if (word.length >= MD_TYPE_NAME_SIZE) {
        md_lines_problem(reader->lines, "`%.40s...`: a symbol has no more than %d characters", word.text,
                         MD_TYPE_NAME_SIZE - 1);
        return -1;
    }
    for (int t = 0; t < c->n_types; t++)
        if (strlen(c->symbol[t]) == word.length && memcmp(c->symbol[t], word.text, word.length) == 0) return t;
    if (c->n_types == MD_MAX_TYPES) {
        if (!reader->too_many_symbols)
            md_lines_problem(reader->lines, "`%.*s`: more than %d different symbols", (int)word.length, word.text,
                             MD_MAX_TYPES);
        reader->too_many_symbols = true;
        return -1;
    }
    memcpy(c->symbol[c->n_types], word.text, word.length);
    c->symbol[c->n_types][word.length] = 0;
    return c->n_types++;
}

/* Types whose names are all whole numbers, as LAMMPS writes them, are numbered in the order of these, whichever comes first in
 * the file: in the deck `1` then means the type 1. */
static void order_numbered_types(MdCoordinates *c) {
    long long number[MD_MAX_TYPES];
    int place[MD_MAX_TYPES] = {0}; /* of each type among those ordered */
    for (int t = 0; t < c->n_types; t++) {
        if (c->symbol[t][strspn(c->symbol[t], "0123456789")]) return;
        number[t] = strtoll(c->symbol[t], NULL, 10);
        for (int u = 0; u < t; u++) place[number[u] <= number[t] ? t : u]++;
    }
    const MdCoordinates before = *c;
    for (int t = 0; t < c->n_types; t++) {
        memcpy(c->symbol[place[t]], before.symbol[t], MD_TYPE_NAME_SIZE);
        c->mass[place[t]] = before.mass[t];
    }
    for (int64_t i = 0; i < c->n_atoms; i++) c->type[i] = place[c->type[i]];
}

static bool read_integer(XyzReader *reader, Word word, int64_t *value) {
    char *end;
    errno = 0;
    *value = strtoll(word.text, &end, 10);
    if (end == word.text + word.length && errno == 0) return true;
    md_lines_problem(reader->lines, "`%.*s` is not a whole number", shown(word), word.text);
    return false;
}

/* The name of the type; false when species and atomic number are not those of one element. */
static bool find_symbol(XyzReader *reader, const Words *words, Word *symbol) {
    const int *first = reader->columns.first;
    *symbol = words->at[XYZ_SPECIES][0];
    if (first[XYZ_NUMBER] < 0) return true;
    int64_t number;
    if (!read_integer(reader, words->at[XYZ_NUMBER][0], &number)) return false;
    const char *element = md_element_symbol(number);
    if (!element) {
        md_lines_problem(reader->lines, "%lld is no atomic number", (long long)number);
        return false;
    }
    if (first[XYZ_SPECIES] < 0) *symbol = (Word){(char *)(uintptr_t)element, strlen(element)};
    const bool agree = strlen(element) == symbol->length && strncasecmp(element, symbol->text, symbol->length) == 0;
    if (!agree)
        md_lines_problem(reader->lines, "`%.*s`, but the atomic number %lld is that of %s", shown(*symbol),
                         symbol->text, (long long)number, element);
    return agree;
}

/* --- numbers ----------------------------------------------------------------------------------------------------- */

static bool read_number(XyzReader *reader, Word word, double *number) {
    return md_coordinates_number(reader->lines, word.text, word.length, number);
}

static bool read_vector(XyzReader *reader, const Words *words, XyzRole role, double vector[3]) {
    if (reader->columns.first[role] < 0) return true;
    for (int a = 0; a < reader->columns.count[role]; a++)
        if (!read_number(reader, words->at[role][a], &vector[a])) return false;
    if (reader->dimension == 3 || vector[2] == 0) return true;
    md_lines_problem(reader->lines, "z %s= %g, but system.dimension = 2",
                     role == XYZ_POSITION   ? ""
                     : role == XYZ_VELOCITY ? "velocity "
                                            : "momentum ",
                     vector[2]);
    return false;
}

/* All atoms of a type have one mass. */
static bool read_mass(XyzReader *reader, const Words *words, int type) {
    if (reader->columns.first[XYZ_MASS] < 0) return true;
    double mass, *known = &reader->c->mass[type];
    if (!read_number(reader, words->at[XYZ_MASS][0], &mass)) return false;
    if (!(mass > 0)) {
        md_lines_problem(reader->lines, "a mass of %g; masses are above 0", mass);
        return false;
    }
    if (*known == 0) {
        *known = mass;
        reader->mass_line[type] = reader->lines->number;
    }
    if (mass == *known) return true;
    md_lines_problem(reader->lines, "mass %g of %s, but %g in line %d: a type has one mass; name the two differently",
                     mass, reader->c->symbol[type], *known, reader->mass_line[type]);
    return false;
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

static bool read_row(XyzReader *reader, char *line, MdRow *row) {
    Words words;
    Word symbol;
    if (!split_row(reader, line, &words) || !find_symbol(reader, &words, &symbol)) return false;
    row->type = symbol_type(reader, symbol);
    if (row->type < 0 || !read_mass(reader, &words, row->type)) return false;
    if (reader->columns.first[XYZ_ID] >= 0 && !read_integer(reader, words.at[XYZ_ID][0], &row->id)) return false;
    if (!read_vector(reader, &words, XYZ_POSITION, row->position) ||
        !read_vector(reader, &words, XYZ_VELOCITY, row->velocity) ||
        !read_vector(reader, &words, XYZ_MOMENTUM, row->momentum))
        return false;
    for (int a = 0; a < reader->dimension; a++) {
        row->position[a] -= reader->c->origin[a];
        if (!md_coordinates_in_range(reader->lines, row->position[a])) return false;
    }
    return true;
}

/* After the last atom nothing may follow but blank lines. */
static void check_end(MdLines *lines, long long n_atoms) {
    for (char *line; (line = md_lines_next(lines));) {
        if (!*md_text_skip(line)) continue;
        if (strncmp(md_text_skip(line), "VEC", 3) == 0)
            md_lines_problem(lines, "`%.60s`: edges of the box in rows are not read; write Lattice=\"...\" in line 2",
                             line);
        else
            md_lines_problem(lines, "`%.60s` follows the last of %lld atoms; a file holds one frame: head -n %lld FILE",
                             line, n_atoms, n_atoms + 2);
        return;
    }
}

static void read_rows(XyzReader *reader, long long n_atoms) {
    const int *first = reader->columns.first;
    const MdRowParts parts = {.type = true,
                              .velocity = first[XYZ_VELOCITY] >= 0,
                              .momentum = first[XYZ_MOMENTUM] >= 0,
                              .id = first[XYZ_ID] >= 0};
    int64_t capacity = 0;
    for (long long k = 0; k < n_atoms; k++) {
        char *line = md_lines_next(reader->lines);
        if (!line) {
            md_lines_problem(reader->lines, "the file ends after %lld of %lld atoms", k, n_atoms);
            return;
        }
        MdRow row = {.type = 0};
        if (read_row(reader, line, &row))
            md_coordinates_append(reader->c, &capacity, &row, &parts, reader->lines->number);
    }
    check_end(reader->lines, n_atoms);
    if (reader->lines->n_problems == 0 && parts.id) md_coordinates_sort(reader->c, reader->lines);
    if (reader->lines->n_problems == 0) order_numbered_types(reader->c);
    if (reader->more_columns) md_coordinates_note(reader->c, "columns after the fourth are not used");
}

void md_coordinates_read_xyz(MdLines *lines, char *line, int dimension, MdCoordinates *c) {
    long long n_atoms = strtoll(line, NULL, 10);
    if (n_atoms < 2 || n_atoms > INT32_MAX) {
        if (n_atoms == 0) md_lines_problem(lines, "no atoms: the first line of XYZ is their number, and it is 0");
        else md_lines_problem(lines, "%.40s atoms; from 2 to %d are possible", md_text_skip(line), INT32_MAX);
        return;
    }
    char *comment = md_lines_next(lines);
    XyzReader reader = {.lines = lines, .c = c, .columns = md_xyz_plain_columns(), .dimension = dimension};
    if (comment) md_xyz_read_comment(lines, comment, dimension, &reader.columns, c);
    c->velocity_per_fs = reader.columns.velocity_per_fs;
    if (lines->n_problems == 0) read_rows(&reader, n_atoms); /* rows cannot be read without their columns */
    free(reader.columns.role);
}
