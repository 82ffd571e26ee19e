/* EAM files: one file, line by line. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "system/eam_read.h"
#include "system/text_lines.h"
#include "system/xyz_read.h"

static const double same_interval =
    0.01;                   /* files round spacing and cutoff: to 3e-5 of an interval among those of LAMMPS */
enum { FEWEST_POINTS = 5 }; /* slopes by finite differences use as many */

typedef struct Reader {
    MdLines lines;
    MdEamTables *tables;
    MdNotes *notes;
    char *line,
        *at;  /* the current line without its comment, and what is left of it; NULL before the first and at the end */
    size_t n; /* values read */
    size_t n_before_line; /* of these before the current line */
    size_t n_before_element;
    int element; /* whose values are read */
} Reader;

/* --- lines and words --------------------------------------------------------------------------------------------- */

/* The next line that says something. */
static bool next_line(Reader *reader) {
    do {
        reader->line = md_lines_next(&reader->lines);
        char *comment = reader->line ? strchr(reader->line, '#') : NULL;
        if (comment) *comment = 0;
    } while (reader->line && !*md_text_skip(reader->line));
    reader->at = reader->line;
    reader->n_before_line = reader->n;
    return reader->line != NULL;
}

static bool next_word(Reader *reader, char **word, size_t *length) {
    while (!reader->at || !md_text_word(&reader->at, word, length))
        if (!next_line(reader)) return false;
    return true;
}

/* Goes to the next line if this one is used up; whether it now stands at the start of one. */
static bool at_line_start(Reader *reader) {
    if (!reader->at || !*md_text_skip(reader->at)) return next_line(reader);
    return md_text_skip(reader->at) == md_text_skip(reader->line);
}

/* From 0 to 999,999,999. */
static bool whole_number(const char *word, size_t length, int *value) {
    if (length == 0 || length > 9 || strspn(word, "0123456789") < length) return false;
    *value = 0;
    for (size_t k = 0; k < length; k++) *value = 10 * *value + (word[k] - '0');
    return true;
}

/* As much of a word as a message shows. */
static int shown(size_t length) { return (int)(length < 60 ? length : 60); }

/* --- the line of an element -------------------------------------------------------------------------------------- */

/* Atomic number, mass, lattice constant, lattice; the last two may be absent. */
typedef struct ElementLine {
    int number, n_words;
    double mass;
    bool has_lattice; /* a word that is no number, which no line of values has */
} ElementLine;

static bool split_element_line(char *line, ElementLine *e) {
    char *word;
    size_t length;
    double value;
    *e = (ElementLine){0};
    if (!md_text_word(&line, &word, &length) || !whole_number(word, length, &e->number)) return false;
    if (!md_text_word(&line, &word, &length) || !md_text_fortran(word, length, &e->mass)) return false;
    for (e->n_words = 2; md_text_word(&line, &word, &length); e->n_words++)
        e->has_lattice = e->has_lattice || !md_text_fortran(word, length, &value);
    return e->has_lattice || e->n_words <= 3;
}

static bool read_mass(Reader *reader, double mass) {
    if (!(mass > 0)) md_lines_problem(&reader->lines, "a mass of %g; masses are above 0", mass);
    reader->tables->mass[reader->element] = mass;
    return mass > 0;
}

static void note_other_number(Reader *reader, int number) {
    const char *name = reader->tables->name[reader->element], *symbol = md_element_symbol(number);
    if (!symbol || strcmp(symbol, name) != 0)
        md_notes_add(reader->notes, "%s:%d: %s has the atomic number %d there%s%s; the names of the file are used",
                     reader->lines.path, reader->lines.number, name, number, symbol ? ", that of " : "",
                     symbol ? symbol : "");
}

/* Whether the current line, of which values were read, is that of the next element. */
static bool is_next_element(const Reader *reader) {
    ElementLine e;
    const bool has_next = reader->tables->kind != MD_EAM_FUNCFL && reader->element + 1 < reader->tables->n_elements;
    return has_next && split_element_line(reader->line, &e) && e.has_lattice;
}

static bool refuse_next_element(Reader *reader) {
    const MdEamTables *t = reader->tables;
    md_lines_problem(&reader->lines,
                     "`%.60s` looks like the line of the next element, after %zu values for %s; %d + %d are needed "
                     "(eam/alloy), or %d + %d x %d (eam/fs)",
                     md_text_skip(reader->line), reader->n_before_line - reader->n_before_element,
                     t->name[reader->element], t->n_rho, t->n_r, t->n_rho, t->n_elements, t->n_r);
    return false;
}

/* Of setfl and fs. */
static bool read_element_line(Reader *reader, int next) {
    ElementLine e;
    const char *name = reader->tables->name[next];
    const bool at_start = at_line_start(reader);
    if (!reader->line)
        md_lines_problem(&reader->lines, "the file ends before element %s (%d of %d)", name, next + 1,
                         reader->tables->n_elements);
    else if (!at_start && is_next_element(reader)) refuse_next_element(reader);
    else if (!at_start || !split_element_line(reader->line, &e))
        md_lines_problem(&reader->lines,
                         "`%.60s`, where the line of element %s is needed (atomic number, mass, lattice constant, "
                         "lattice)%s",
                         md_text_skip(reader->at), name,
                         next ? ": the tables before it hold more or fewer values than their counts say" : "");
    else {
        reader->element = next;
        reader->n_before_element = reader->n;
        reader->at += strlen(reader->at);
        note_other_number(reader, e.number);
        return read_mass(reader, e.mass);
    }
    return false;
}

/* --- blocks of values -------------------------------------------------------------------------------------------- */

/* A word that is no number, or the line of the next element where values are missing. */
static bool refuse_word(Reader *reader, const char *word, size_t length, int k, int count, const char *what) {
    if (is_next_element(reader)) return refuse_next_element(reader);
    md_lines_problem(&reader->lines, "`%.*s` is not a finite number (value %d of %d of the %s)", shown(length), word,
                     k + 1, count, what);
    return false;
}

static bool read_block(Reader *reader, int count, const char *what) {
    char *word;
    size_t length;
    for (int k = 0; k < count; k++) {
        if (!next_word(reader, &word, &length)) {
            md_lines_problem(&reader->lines, "the file ends in the %s: %d of %d values", what, k, count);
            return false;
        }
        if (!md_text_fortran(word, length, &reader->tables->values[reader->n]))
            return refuse_word(reader, word, length, k, count, what);
        reader->n++;
    }
    return true;
}

static bool read_named_block(Reader *reader, int count, const char *what, const char *name, const char *between,
                             const char *other) {
    char text[3 * MD_TYPE_NAME_SIZE];
    snprintf(text, sizeof text, "%s of %s%s%s", what, name, between, other);
    return read_block(reader, count, text);
}

/* Room for so many values, or for all that the file can hold: each has a digit and a blank at least. */
static void allocate_values(Reader *reader, double n_values) {
    const char *rest = reader->lines.rest;
    const double held = (double)(rest ? strlen(rest) : 0) / 2 + 1;
    reader->tables->values = md_alloc((size_t)fmin(n_values, held) + 1, sizeof(double), "EAM tables");
}

static void note_rest(Reader *reader) {
    char *word;
    size_t length;
    long long n = 0;
    while (next_word(reader, &word, &length)) n++;
    if (n)
        md_notes_add(reader->notes, "%s: %lld %s after the last table %s not used", reader->lines.path, n,
                     n == 1 ? "value" : "values", n == 1 ? "is" : "are");
}

/* --- grids ------------------------------------------------------------------------------------------------------- */

static bool read_count(Reader *reader, const char *name, int *count) {
    char *word = reader->at;
    size_t length = 0;
    md_text_word(&reader->at, &word, &length);
    const bool whole = whole_number(word, length, count), enough = whole && *count >= FEWEST_POINTS;
    if (!whole) md_lines_problem(&reader->lines, "`%.*s` is not a number of points (%s)", shown(length), word, name);
    else if (!enough)
        md_lines_problem(&reader->lines, "%s = %d points; %d are needed at least", name, *count, FEWEST_POINTS);
    return enough;
}

static bool read_above_zero(Reader *reader, const char *name, double *value) {
    char *word = reader->at;
    size_t length = 0;
    md_text_word(&reader->at, &word, &length);
    if (!md_text_fortran(word, length, value))
        md_lines_problem(&reader->lines, "`%.*s` is not a finite number (%s)", shown(length), word, name);
    else if (!(*value > 0)) md_lines_problem(&reader->lines, "%s = %g; it is above 0", name, *value);
    else return true;
    return false;
}

static bool check_reach(Reader *reader) {
    const MdEamTables *t = reader->tables;
    const double last = (t->n_r - 1) * t->d_r, over = (t->cutoff - last) / t->d_r;
    if (over > 1 + same_interval) {
        md_lines_problem(
            &reader->lines,
            "cutoff = %g, but the last of %d points, %g apart, is at %g: it may be one interval beyond that, up to %g",
            t->cutoff, t->n_r, t->d_r, last, last + t->d_r);
        return false;
    }
    if (over > same_interval)
        md_notes_add(reader->notes, "%s: the tables end at r = %g, %.2g of an interval before their cutoff of %g",
                     reader->lines.path, last, over, t->cutoff);
    return true;
}

static bool read_grid(Reader *reader) {
    MdEamTables *t = reader->tables;
    if (!next_line(reader)) {
        md_lines_problem(&reader->lines, "the file ends before n_rho d_rho n_r d_r cutoff");
        return false;
    }
    if (!read_count(reader, "n_rho", &t->n_rho) || !read_above_zero(reader, "d_rho", &t->d_rho) ||
        !read_count(reader, "n_r", &t->n_r) || !read_above_zero(reader, "d_r", &t->d_r) ||
        !read_above_zero(reader, "cutoff", &t->cutoff) || !check_reach(reader))
        return false;
    if (*md_text_skip(reader->at))
        md_notes_add(reader->notes, "%s:%d: `%.60s` after the cutoff is not used", reader->lines.path,
                     reader->lines.number, md_text_skip(reader->at));
    reader->at += strlen(reader->at);
    return true;
}

/* --- units ------------------------------------------------------------------------------------------------------- */

/* The tag in a comment line; false when it is of other units. */
static bool check_units(Reader *reader, char *comment, bool *has_tag) {
    char *tag = strstr(comment, "UNITS:"), *word;
    size_t length;
    if (!tag) return true;
    tag += strlen("UNITS:");
    *has_tag = true;
    md_text_word(&tag, &word, &length);
    if (length == strlen("metal") && memcmp(word, "metal", length) == 0) return true;
    md_lines_problem(&reader->lines, "UNITS: %.*s; only files in metal units are read", shown(length), word);
    return false;
}

static bool read_comments(Reader *reader, int n_lines) {
    bool has_tag = false;
    for (int k = 0; k < n_lines; k++) {
        char *comment = md_lines_next(&reader->lines);
        if (comment && !check_units(reader, comment, &has_tag)) return false;
    }
    if (!has_tag) md_notes_add(reader->notes, "%s: no UNITS tag; metal units are taken", reader->lines.path);
    return true;
}

/* --- funcfl ------------------------------------------------------------------------------------------------------ */

static void allocate_elements(MdEamTables *tables, int n) {
    tables->n_elements = n;
    tables->name = md_alloc((size_t)n, sizeof *tables->name, "names of elements");
    tables->mass = md_alloc((size_t)n, sizeof *tables->mass, "masses of elements");
}

static bool read_funcfl_element(Reader *reader) {
    ElementLine e;
    next_line(reader);
    split_element_line(reader->line, &e); /* it is one: the file was told by that */
    reader->at += strlen(reader->at);
    const char *symbol = e.number > 0 ? md_element_symbol(e.number) : NULL;
    allocate_elements(reader->tables, 1);
    if (symbol) snprintf(reader->tables->name[0], MD_TYPE_NAME_SIZE, "%s", symbol);
    else md_lines_problem(&reader->lines, "%d is no atomic number; it tells the element of a funcfl file", e.number);
    return symbol && read_mass(reader, e.mass);
}

static bool read_funcfl(Reader *reader) {
    MdEamTables *t = reader->tables;
    t->kind = MD_EAM_FUNCFL;
    if (!read_comments(reader, 1) || !read_funcfl_element(reader) || !read_grid(reader)) return false;
    allocate_values(reader, (double)t->n_rho + 2.0 * t->n_r);
    const char *name = t->name[0];
    return read_named_block(reader, t->n_rho, "embedding function", name, "", "") &&
           read_named_block(reader, t->n_r, "charge Z", name, "", "") &&
           read_named_block(reader, t->n_r, "density", name, "", "");
}

/* --- setfl and fs ------------------------------------------------------------------------------------------------ */

static bool read_name(Reader *reader, int k) {
    MdEamTables *t = reader->tables;
    char *word;
    size_t length;
    md_text_word(&reader->at, &word, &length);
    if (length >= MD_TYPE_NAME_SIZE) {
        md_lines_problem(&reader->lines, "`%.40s...`: a name has no more than %d characters", word,
                         MD_TYPE_NAME_SIZE - 1);
        return false;
    }
    memcpy(t->name[k], word, length);
    for (int other = 0; other < k; other++)
        if (strcmp(t->name[other], t->name[k]) == 0) {
            md_lines_problem(&reader->lines, "element %s is named twice", t->name[k]);
            return false;
        }
    return true;
}

static bool read_names(Reader *reader) {
    char *word = NULL;
    size_t length = 0;
    int n = 0;
    if (next_line(reader)) md_text_word(&reader->at, &word, &length);
    if (!whole_number(word, length, &n)) {
        md_lines_problem(
            &reader->lines,
            "no EAM file: `%.60s`, where setfl has the number of elements and their names, and lines 2 and 3 are not "
            "those of funcfl (atomic number, mass, ...; n_rho d_rho n_r d_r cutoff)",
            reader->line ? reader->line : "");
        return false;
    }
    const int n_names = md_text_count_words(reader->at);
    if (n < 1 || n != n_names) {
        md_lines_problem(&reader->lines, "%d elements, but %d names: `%.60s`", n, n_names, md_text_skip(reader->line));
        return false;
    }
    allocate_elements(reader->tables, n);
    for (int k = 0; k < n; k++)
        if (!read_name(reader, k)) return false;
    return true;
}

/* Words after the current line. */
static double count_rest(const Reader *reader) {
    const char *blanks = " \t\r\v\f\n", *at = reader->lines.rest;
    double n = 0;
    while (at && *(at += strspn(at, blanks))) {
        const size_t length = strcspn(at, " \t\r\v\f\n#");
        n += length > 0;
        at += length > 0 ? length : strcspn(at, "\n"); /* a comment */
    }
    return n;
}

/* Whether enough follows the current line, after the first density of the first element, for an fs file: more than a
 * setfl file has. Lines of elements have two words at least; of this line, if it has values, three are read at most. */
static bool has_words_of_fs(const Reader *reader) {
    const MdEamTables *t = reader->tables;
    const double n = t->n_elements, pairs = n * (n + 1) / 2;
    return count_rest(reader) >= (n - 1) * (t->n_r + 2 + t->n_rho + n * t->n_r) + pairs * t->n_r - 3;
}

/* After the embedding function and the first density of the first element: setfl has the line of the second one
 * there. */
static void tell_kind(Reader *reader) {
    ElementLine e;
    const bool may_end =
        reader->tables->n_elements == 1 ||
        (at_line_start(reader) && split_element_line(reader->line, &e) && (e.has_lattice || !has_words_of_fs(reader)));
    reader->tables->kind = may_end ? MD_EAM_SETFL : MD_EAM_FS;
}

static bool read_element(Reader *reader, int element) {
    MdEamTables *t = reader->tables;
    const char *name = t->name[element];
    if (!read_element_line(reader, element) ||
        !read_named_block(reader, t->n_rho, "embedding function", name, "", "") ||
        !read_named_block(reader, t->n_r, "density", name, "", ""))
        return false;
    if (element == 0) tell_kind(reader);
    for (int other = 1; t->kind == MD_EAM_FS && other < t->n_elements; other++)
        if (!read_named_block(reader, t->n_r, "density", name, " at ", t->name[other])) return false;
    return true;
}

static bool read_pairs(Reader *reader) {
    const MdEamTables *t = reader->tables;
    for (int a = 0; a < t->n_elements; a++)
        for (int b = 0; b <= a; b++)
            if (!read_named_block(reader, t->n_r, "pair energy", t->name[a], "-", t->name[b])) return false;
    return true;
}

static bool read_setfl(Reader *reader) {
    MdEamTables *t = reader->tables;
    t->kind = MD_EAM_SETFL;
    if (!read_comments(reader, 3) || !read_names(reader) || !read_grid(reader)) return false;
    const double n = t->n_elements;
    allocate_values(reader, n * (t->n_rho + n * t->n_r) + n * (n + 1) / 2 * t->n_r);
    for (int e = 0; e < t->n_elements; e++)
        if (!read_element(reader, e)) return false;
    return read_pairs(reader);
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

/* Copies the beginning of the next line that says something; the text after it, or NULL at the end. */
static const char *peek_line(const char *text, char *line, size_t size) {
    while (text && *text) {
        const size_t length = strcspn(text, "\n"), kept = length < size - 1 ? length : size - 1;
        memcpy(line, text, kept);
        line[strcspn((line[kept] = 0, line), "#")] = 0;
        text += text[length] ? length + 1 : length;
        if (*md_text_skip(line)) return text;
    }
    return NULL;
}

/* The line of an element, then one that begins with a number of points. */
static bool is_funcfl(const char *text) {
    char line[256], *at = line, *word;
    size_t length;
    int n;
    ElementLine e;
    text = strchr(text, '\n');
    text = peek_line(text ? text + 1 : NULL, line, sizeof line);
    if (!text || !split_element_line(line, &e) || !peek_line(text, line, sizeof line)) return false;
    return md_text_word(&at, &word, &length) && whole_number(word, length, &n) && md_text_count_words(at) >= 4;
}

bool md_eam_tables_read(const char *path, MdEamTables *tables, MdNotes *notes, MdErrors *errors) {
    Reader reader = {.tables = tables, .notes = notes};
    *tables = (MdEamTables){0};
    if (!md_lines_open(&reader.lines, path, NULL, 0, errors)) return false;
    const bool done = is_funcfl(reader.lines.rest) ? read_funcfl(&reader) : read_setfl(&reader);
    if (done) note_rest(&reader);
    md_lines_close(&reader.lines);
    return done;
}

void md_eam_tables_free(MdEamTables *tables) {
    md_free(tables->name);
    md_free(tables->mass);
    md_free(tables->values);
}
