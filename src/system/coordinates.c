#include "system/coordinates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "system/point_grid.h"
#include "system/xyz_read.h"

static const double same_point = 1e-6; /* sigma; nearer than this no pair energy is a sensible number */

/* The numbers of a row of a table; false when it is none. */
static bool table_row(MdLines *lines, char *text, int n_columns, double numbers[3]) {
    char *word;
    size_t length;
    int n = 0;
    for (; md_text_word(&text, &word, &length); n++) {
        double value;
        if (!md_coordinates_number(lines, word, length, &value)) return false;
        if (n < 3) numbers[n] = value;
    }
    if (n == n_columns) return true;
    if (n_columns)
        md_lines_problem(lines, "%d %s, where the first row has %d", n, n == 1 ? "column" : "columns", n_columns);
    else md_lines_problem(lines, "%d %s; a table of coordinates has two or three", n, n == 1 ? "column" : "columns");
    return false;
}

/* Cuts a comment off; whether anything is left. */
static bool cut_comment(char *line) {
    char *comment = strchr(line, '#');
    if (comment) *comment = 0;
    return *md_text_skip(line) != 0;
}

/* The first line that says something. */
static char *first_line(MdLines *lines) {
    char *line = md_lines_next(lines);
    while (line && !cut_comment(line)) line = md_lines_next(lines);
    return line;
}

static void read_table(MdLines *lines, char *line, int dimension, MdCoordinates *c) {
    int n_columns = md_text_count_words(line);
    if (n_columns != 2 && n_columns != 3) n_columns = 0; /* each row then reports its problem */
    if (n_columns && n_columns < dimension)
        md_lines_problem(lines, "%d columns, but system.dimension = %d", n_columns, dimension);
    const MdRowParts parts = {.type = false};
    int64_t capacity = 0;
    for (; line; line = md_lines_next(lines)) {
        if (!cut_comment(line)) continue;
        MdRow row = {.position = {0, 0, 0}};
        if (!table_row(lines, line, n_columns, row.position)) continue;
        if (dimension == 2 && row.position[2] != 0) {
            md_lines_problem(lines, "z = %g, but system.dimension = 2", row.position[2]);
            continue;
        }
        md_coordinates_append(c, &capacity, &row, &parts, lines->number);
    }
}

/* A lone whole number opens an XYZ file; a table has two columns at least. */
static bool opens_xyz(char *line) {
    char *word;
    size_t length;
    if (!md_text_word(&line, &word, &length) || *md_text_skip(line)) return false;
    return strspn(word, "0123456789") == length;
}

MdCoordinates *md_coordinates_read(const char *path, const char *text, size_t size, int dimension, MdErrors *errors) {
    MdLines lines;
    if (!md_lines_open(&lines, path, text, size, errors)) return NULL;
    MdCoordinates *c = md_alloc(1, sizeof *c, "coordinates");
    char *line = first_line(&lines);
    bool failed = true;
    if (!line) {
        md_fail(errors, MD_ERROR_INPUT, "%s: holds no coordinates", path);
    } else {
        if (opens_xyz(line)) md_coordinates_read_xyz(&lines, line, dimension, c);
        else read_table(&lines, line, dimension, c);
        failed = lines.n_problems > 0;
        if (!failed && c->n_atoms < 2) {
            md_fail(errors, MD_ERROR_INPUT, "%s: %d %s; two are needed at least", path, (int)c->n_atoms,
                    c->n_atoms == 1 ? "atom" : "atoms");
            failed = true;
        }
    }
    md_lines_close(&lines);
    if (!failed) return c;
    md_coordinates_destroy(c);
    return NULL;
}

void md_coordinates_extent(const MdCoordinates *coordinates, double low[3], double high[3]) {
    for (int a = 0; a < 3; a++) low[a] = high[a] = coordinates->position[a];
    for (int64_t i = 1; i < coordinates->n_atoms; i++)
        for (int a = 0; a < 3; a++) {
            double x = coordinates->position[3 * i + a];
            if (x < low[a]) low[a] = x;
            if (x > high[a]) high[a] = x;
        }
}

MdStatus md_coordinates_use_masses(MdCoordinates *coordinates, const double *mass, const char *path, MdErrors *errors) {
    MdCoordinates *c = coordinates;
    const double *velocity = c->velocity;
    if (!c->momentum) return MD_OK;
    for (int64_t k = 0; k < 3 * c->n_atoms; k++) {
        const double v = c->momentum[k] / mass[c->type[k / 3]], same = 1e-6; /* files round to so many digits */
        if (velocity && fabs(v - velocity[k]) > same * fmax(1, fabs(velocity[k])))
            return md_fail(errors, MD_ERROR_INPUT,
                           "%s:%d: velocity %.9g and momentum %.9g do not agree with a mass of %.9g; leave one of "
                           "the two out",
                           path, (int)c->line[k / 3], velocity[k], c->momentum[k], mass[c->type[k / 3]]);
        c->momentum[k] = v;
    }
    if (velocity) free(c->momentum);
    else c->velocity = c->momentum;
    c->momentum = NULL;
    return MD_OK;
}

static void wrap(MdCoordinates *c, const MdBox *box) {
    for (int64_t i = 0; i < c->n_atoms; i++)
        for (int a = 0; a < 3; a++) {
            double *x = &c->position[3 * i + a], length = box->length[a];
            if (!box->periodic[a] || (*x >= 0 && *x < length)) continue;
            *x -= length * floor(*x / length);
            if (!(*x < length)) *x = 0; /* rounding of a position just below 0 */
        }
}

MdStatus md_coordinates_settle(MdCoordinates *coordinates, const MdBox *box, const char *path, MdErrors *errors) {
    MdCoordinates *c = coordinates;
    wrap(c, box);
    int n_same = 0;
    /* Cells so small that few atoms share one however dense the file is, and that most searches look at one cell. */
    MdPointGrid *grid = md_point_grid_create(box, 10 * same_point, c->n_atoms);
    for (int64_t i = 0; i < c->n_atoms && n_same <= MD_MAX_PROBLEMS; i++) {
        const double *p = c->position + 3 * i;
        int64_t other = md_point_grid_find(grid, p, same_point);
        if (other >= 0 && ++n_same <= MD_MAX_PROBLEMS)
            md_fail(errors, MD_ERROR_INPUT, "%s:%d: the atom at %.9g %.9g %.9g is where that of line %d is", path,
                    (int)c->line[i], p[0], p[1], p[2], (int)c->line[other]);
        md_point_grid_add(grid, p);
    }
    if (n_same > MD_MAX_PROBLEMS) md_fail(errors, MD_ERROR_INPUT, "%s: more atoms share a position", path);
    md_point_grid_destroy(grid);
    return n_same ? MD_ERROR_INPUT : MD_OK;
}
