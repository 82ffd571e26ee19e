#include "system/table_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "system/text_lines.h"

static const double same_distance = 1e-6; /* as LAMMPS compares; files round to some seven digits */
enum { MOST_ROWS_NAMED = 10 };

typedef enum Spacing { SPACING_ROWS, SPACING_R, SPACING_RSQ } Spacing;

typedef struct Reader {
    MdLines lines;
    MdTableFile *table;
    char *line; /* the current one, without its comment */
    const char *section;
    Spacing spacing;
    int n;             /* rows by N; 0: N was not given */
    double lo, hi;     /* of R or RSQ */
    bool more_columns; /* some row has */
    MdText sections;   /* the names of all so far */
} Reader;

/* --- lines and words --------------------------------------------------------------------------------------------- */

/* The next line that says something. */
static bool next_line(Reader *reader) {
    do {
        reader->line = md_lines_next(&reader->lines);
        if (!reader->line) return false;
        if (reader->lines.number == 1 && strncmp(reader->line, "\xef\xbb\xbf", 3) == 0) reader->line += 3;
        reader->line[strcspn(reader->line, "#")] = 0;
    } while (!*md_text_skip(reader->line));
    return true;
}

/* As much of a word as a message shows. */
static int shown(size_t length) { return (int)(length < 60 ? length : 60); }

static bool word_is(const char *word, size_t length, const char *text) {
    return length == strlen(text) && memcmp(word, text, length) == 0;
}

static bool is_row(char *line) {
    char *word;
    size_t length;
    double value;
    return md_text_word(&line, &word, &length) && md_text_fortran(word, length, &value);
}

/* The next word of the line as a number. */
static bool read_number(Reader *reader, char **at, const char *what, double *value) {
    char *word = *at;
    size_t length = 0;
    if (md_text_word(at, &word, &length) && md_text_fortran(word, length, value)) return true;
    if (length == 0) md_lines_problem(&reader->lines, "`%.60s`: %s is missing", md_text_skip(reader->line), what);
    else md_lines_problem(&reader->lines, "`%.*s` is not a finite number: %s", shown(length), word, what);
    return false;
}

/* --- parameters -------------------------------------------------------------------------------------------------- */

static bool read_n(Reader *reader, char **at) {
    double n;
    if (!read_number(reader, at, "N", &n)) return false;
    const bool fits = n >= 2 && n <= 1e9 && n == floor(n);
    if (fits) reader->n = (int)n;
    else md_lines_problem(&reader->lines, "N = %g; it is a number of rows, 2 at least", n);
    return fits;
}

static bool read_range(Reader *reader, char **at, Spacing spacing) {
    if (!read_number(reader, at, "the first distance", &reader->lo) ||
        !read_number(reader, at, "the last distance", &reader->hi))
        return false;
    if (reader->spacing == SPACING_ROWS && reader->lo > 0 && reader->hi > reader->lo) {
        reader->spacing = spacing;
        return true;
    }
    if (reader->spacing != SPACING_ROWS)
        md_lines_problem(&reader->lines, "R or RSQ twice: `%.60s`", md_text_skip(reader->line));
    else
        md_lines_problem(&reader->lines, "from %g to %g; the first distance is above 0, the last above that",
                         reader->lo, reader->hi);
    return false;
}

static bool read_fprime(Reader *reader, char **at) {
    double slope;
    if (!read_number(reader, at, "FPRIME", &slope) || !read_number(reader, at, "FPRIME", &slope)) return false;
    md_notes_add(&reader->table->notes,
                 "%s:%d: FPRIME is not used: between rows the energy follows from energies and forces",
                 reader->lines.path, reader->lines.number);
    return true;
}

static bool read_parameter(Reader *reader, char **at, const char *word, size_t length) {
    if (word_is(word, length, "N")) return read_n(reader, at);
    if (word_is(word, length, "R")) return read_range(reader, at, SPACING_R);
    if (word_is(word, length, "RSQ")) return read_range(reader, at, SPACING_RSQ);
    if (word_is(word, length, "FPRIME")) return read_fprime(reader, at);
    md_lines_problem(&reader->lines, "`%.*s`, where N, R lo hi, RSQ lo hi and FPRIME lo hi can stand", shown(length),
                     word);
    return false;
}

static bool read_parameters(Reader *reader) {
    if (!next_line(reader)) {
        md_lines_problem(&reader->lines, "the file ends before the parameters of section %s (N ...)", reader->section);
        return false;
    }
    char *at = reader->line, *word;
    size_t length;
    while (md_text_word(&at, &word, &length))
        if (!read_parameter(reader, &at, word, length)) return false;
    if (!reader->n)
        md_lines_problem(&reader->lines, "`%.60s`: the number of rows is needed (N ...)", md_text_skip(reader->line));
    return reader->n > 0;
}

/* --- sections ---------------------------------------------------------------------------------------------------- */

/* Whether this line, which is no row, is the name of the section; else goes over its parameters. */
static bool is_section(Reader *reader) {
    char *at = reader->line, *word;
    size_t length;
    md_text_word(&at, &word, &length);
    if (word_is(word, length, reader->section)) return true;
    md_text_add(&reader->sections, "%s%.*s", reader->sections.length ? ", " : "", shown(length), word);
    next_line(reader);
    return false;
}

static bool find_section(Reader *reader) {
    while (next_line(reader))
        if (!is_row(reader->line) && is_section(reader)) return true;
    char *names = md_text_take(&reader->sections);
    for (char *p = names; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127) *p = '?'; /* input must not control the terminal */
    md_fail(reader->lines.errors, MD_ERROR_INPUT,
            *names ? "%s: no section `%s`; it has %s" : "%s: no section `%s`, nor any other", reader->lines.path,
            reader->section, names);
    free(names);
    return false;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

/* Where row k is, by R or RSQ. */
static double distance_of(const Reader *reader, int k) {
    const double lo = reader->lo, hi = reader->hi, share = (double)k / (reader->n - 1);
    if (reader->spacing == SPACING_R) return lo + (hi - lo) * share;
    return sqrt(lo * lo + (hi * hi - lo * lo) * share);
}

static bool set_distance(Reader *reader, int k, double r) {
    const double *before = reader->table->r, by_range = reader->spacing == SPACING_ROWS ? r : distance_of(reader, k);
    if (fabs(r - by_range) > same_distance * by_range)
        md_lines_problem(&reader->lines, "r = %.9g, but row %d of %d is at %.9g by %s %.9g %.9g", r, k + 1, reader->n,
                         by_range, reader->spacing == SPACING_R ? "R" : "RSQ", reader->lo, reader->hi);
    else if (!(r > 0)) md_lines_problem(&reader->lines, "r = %g; distances are above 0", r);
    else if (k > 0 && !(by_range > before[k - 1]))
        md_lines_problem(&reader->lines, "r = %.9g after %.9g; distances ascend", r, before[k - 1]);
    else {
        reader->table->r[k] = by_range;
        return true;
    }
    return false;
}

static bool read_row(Reader *reader, int k) {
    char *at = reader->line;
    double index, r;
    MdTableFile *t = reader->table;
    const bool done = read_number(reader, &at, "the index (columns: index r energy force)", &index) &&
                      read_number(reader, &at, "r (columns: index r energy force)", &r) &&
                      read_number(reader, &at, "the energy (columns: index r energy force)", &t->energy[k]) &&
                      read_number(reader, &at, "the force (columns: index r energy force)", &t->force[k]) &&
                      set_distance(reader, k, r);
    reader->more_columns = reader->more_columns || (done && *md_text_skip(at));
    return done;
}

/* Room for N rows, or for all that the file can hold: each has four numbers and what separates them. */
static void allocate_rows(Reader *reader) {
    MdTableFile *t = reader->table;
    const double held = (double)(reader->lines.rest ? strlen(reader->lines.rest) : 0) / 7 + 1;
    const size_t n = (size_t)fmin(reader->n, held);
    t->r = md_alloc(n, sizeof(double), "distances of a table");
    t->energy = md_alloc(n, sizeof(double), "energies of a table");
    t->force = md_alloc(n, sizeof(double), "forces of a table");
}

static bool read_rows(Reader *reader) {
    allocate_rows(reader);
    for (int k = 0; k < reader->n; k++) {
        if (!next_line(reader) || !is_row(reader->line)) {
            md_lines_problem(&reader->lines, "section %s %s after %d of %d rows", reader->section,
                             reader->line ? "ends" : "and the file end", k, reader->n);
            return false;
        }
        if (!read_row(reader, k)) return false;
    }
    reader->table->n = reader->n;
    if (!next_line(reader) || !is_row(reader->line)) return true;
    md_lines_problem(&reader->lines, "`%.60s` follows the last of %d rows (N)", md_text_skip(reader->line), reader->n);
    return false;
}

/* --- forces and energies ----------------------------------------------------------------------------------------- */

/* Minus the slope of the energy between rows k and k + 1. */
static double force_between(const MdTableFile *t, int k) {
    return -(t->energy[k + 1] - t->energy[k]) / (t->r[k + 1] - t->r[k]);
}

/* What the forces between rows are near row k. */
typedef struct Near {
    double low, high; /* over the nearest four intervals */
    double rounding;  /* of energies with six digits */
    int n_up, n_down; /* steps from one interval to the next */
} Near;

static Near near_row(const MdTableFile *t, int k) {
    Near near = {.low = INFINITY, .high = -INFINITY};
    double before = NAN;
    for (int i = k - 2; i < k + 2; i++) {
        if (i < 0 || i + 1 >= t->n) continue;
        const double force = force_between(t, i), size = fabs(t->energy[i]) + fabs(t->energy[i + 1]);
        near.low = fmin(near.low, force);
        near.high = fmax(near.high, force);
        near.rounding = fmax(near.rounding, 1e-6 * size / (t->r[i + 1] - t->r[i]));
        near.n_up += force > before;
        near.n_down += force < before;
        before = force;
    }
    return near;
}

/* A force that rises or falls over the nearest four intervals is between those of the two beside the row; near its
 * extremum it is outside by less than half of what the four differ by: for a parabola by a quarter at most. */
static bool force_agrees(const MdTableFile *t, int k) {
    const Near near = near_row(t, k);
    const bool is_monotonic = near.n_up == 3 || near.n_down == 3;
    const double room = near.rounding + (is_monotonic ? 0 : (near.high - near.low) / 2);
    const double left = force_between(t, k - 1), right = force_between(t, k);
    return t->force[k] >= fmin(left, right) - room && t->force[k] <= fmax(left, right) + room;
}

static void warn_of_forces(Reader *reader) {
    const MdTableFile *t = reader->table;
    MdText rows = {0};
    int n = 0;
    for (int k = 1; k < t->n - 1; k++) {
        if (force_agrees(t, k)) continue;
        if (n++ < MOST_ROWS_NAMED) md_text_add(&rows, "%s%d", rows.length ? ", " : "", k + 1);
    }
    char *text = md_text_take(&rows);
    if (n)
        md_notes_add(&reader->table->warnings,
                     "%s: section %s: the force of %d of %d rows is not minus the slope of the energy: rows %s%s",
                     reader->lines.path, reader->section, n, t->n, text, n > MOST_ROWS_NAMED ? ", ..." : "");
    free(text);
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

/* A tag in the first line. */
static bool check_units(Reader *reader, const char *units) {
    char line[512], *word;
    size_t length = strcspn(reader->lines.rest, "\r\n");
    snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), reader->lines.rest);
    char *tag = strstr(line, "UNITS:");
    if (!tag) {
        md_notes_add(&reader->table->notes, "%s: no UNITS tag; %s units are taken", reader->lines.path, units);
        return true;
    }
    tag += strlen("UNITS:");
    md_text_word(&tag, &word, &length);
    if (word_is(word, length, units)) return true;
    md_fail(reader->lines.errors, MD_ERROR_INPUT, "%s:1: UNITS: %.*s, but system.units = %s", reader->lines.path,
            shown(length), word, units);
    return false;
}

static bool check_reach(Reader *reader, double cutoff) {
    const double last = reader->table->r[reader->n - 1];
    if (last >= cutoff * (1 - same_distance)) return true;
    md_fail(reader->lines.errors, MD_ERROR_INPUT, "%s: section %s ends at r = %.9g, before the cutoff of %.9g",
            reader->lines.path, reader->section, last, cutoff);
    return false;
}

MdTableFile *md_table_file_read(const char *path, const char *section, const char *units, double cutoff,
                                MdErrors *errors) {
    Reader reader = {.section = section};
    if (!md_lines_open(&reader.lines, path, NULL, 0, errors)) return NULL;
    reader.table = md_alloc(1, sizeof *reader.table, "table");
    const bool done = check_units(&reader, units) && find_section(&reader) && read_parameters(&reader) &&
                      read_rows(&reader) && check_reach(&reader, cutoff);
    if (done) warn_of_forces(&reader);
    if (done && reader.more_columns)
        md_notes_add(&reader.table->notes, "%s: columns after the fourth are not used", path);
    md_lines_close(&reader.lines);
    free(reader.sections.text);
    if (done) return reader.table;
    md_table_file_free(reader.table);
    return NULL;
}

void md_table_file_free(MdTableFile *table) {
    if (!table) return;
    md_free(table->r);
    md_free(table->energy);
    md_free(table->force);
    md_notes_free(&table->notes);
    md_notes_free(&table->warnings);
    md_free(table);
}
