#include "system/coordinates_rows.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void md_coordinates_destroy(MdCoordinates *coordinates) {
    if (!coordinates) return;
    free(coordinates->position);
    free(coordinates->velocity);
    free(coordinates->momentum);
    free(coordinates->id);
    free(coordinates->type);
    free(coordinates->line);
    free(coordinates->note);
    md_free(coordinates);
}

void md_coordinates_note(MdCoordinates *coordinates, const char *format, ...) {
    MdCoordinates *c = coordinates;
    MdText text = {0};
    va_list arguments;
    if (c->note) md_text_add(&text, "%s; ", c->note);
    va_start(arguments, format);
    md_text_add_list(&text, format, arguments);
    va_end(arguments);
    free(c->note);
    c->note = md_text_take(&text);
    for (char *p = c->note; *p; p++)
        if (iscntrl((unsigned char)*p)) *p = '?'; /* input must not control the terminal */
}

static void *grow(void *array, size_t count, size_t size) {
    void *grown = realloc(array, count * size);
    if (!grown) md_panic("no memory for coordinates (%zu bytes)", count * size);
    return grown;
}

void md_coordinates_append(MdCoordinates *c, int64_t *capacity, const MdRow *row, const MdRowParts *parts, int line) {
    const size_t k = (size_t)c->n_atoms, vector = 3 * sizeof(double);
    if (c->n_atoms == *capacity) {
        *capacity = *capacity ? 2 * *capacity : 1024;
        const size_t n = (size_t)*capacity;
        c->position = grow(c->position, n, vector);
        c->line = grow(c->line, n, sizeof(int32_t));
        if (parts->type) c->type = grow(c->type, n, sizeof(int32_t));
        if (parts->velocity) c->velocity = grow(c->velocity, n, vector);
        if (parts->momentum) c->momentum = grow(c->momentum, n, vector);
        if (parts->id) c->id = grow(c->id, n, sizeof(int64_t));
    }
    memcpy(c->position + 3 * k, row->position, vector);
    c->line[k] = line;
    if (parts->type) c->type[k] = row->type;
    if (parts->velocity) memcpy(c->velocity + 3 * k, row->velocity, vector);
    if (parts->momentum) memcpy(c->momentum + 3 * k, row->momentum, vector);
    if (parts->id) c->id[k] = row->id;
    c->n_atoms++;
}

bool md_coordinates_in_range(MdLines *lines, double value) {
    const double largest = 1e9; /* as for system.box: beyond it double precision resolves no more than 1e-7 sigma */
    if (fabs(value) <= largest) return true;
    md_lines_problem(lines, "%g is out of range; numbers up to %g are possible", value, largest);
    return false;
}

bool md_coordinates_number(MdLines *lines, char *word, size_t length, double *value) {
    if (md_text_fortran(word, length, value)) return md_coordinates_in_range(lines, *value);
    const bool comma = memchr(word, ',', length) || memchr(word, ';', length);
    md_lines_problem(lines, "`%.*s` is not a finite number%s", (int)(length < 60 ? length : 60), word,
                     comma ? "; separate numbers by blanks, with a decimal point" : "");
    return false;
}
