/* The comment line of XYZ: key=value pairs. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/pairs.h"
#include "system/xyz_read.h"

/* Brackets and commas of arrays become blanks: how deep an array is says nothing that the count does not. */
static void flatten(char *text) {
    for (; (text = strpbrk(text, "[]{},")); text++) *text = ' ';
}

/* Numbers of an array; -1 when there are more than `most`, or other words. */
static int read_numbers(char *text, double *numbers, int most) {
    char *word;
    size_t length;
    int n = 0;
    flatten(text);
    for (; md_text_word(&text, &word, &length); n++)
        if (n == most || !md_text_fortran(word, length, &numbers[n])) return -1;
    return n;
}

static void read_lattice(MdLines *lines, char *text, MdCoordinates *c) {
    double vectors[9] = {0}, longest = 0;
    const int n = read_numbers(text, vectors, 9);
    if (n != 9 && n != 3) {
        md_lines_problem(lines, "Lattice=\"%.80s\": nine finite numbers are needed, in quotes, or three for a cuboid",
                         text);
        return;
    }
    if (n == 3) {
        const double edges[9] = {vectors[0], 0, 0, 0, vectors[1], 0, 0, 0, vectors[2]};
        memcpy(vectors, edges, sizeof vectors);
    }
    for (int k = 0; k < 9; k += 4) longest = fmax(longest, vectors[k]);
    for (int k = 0; k < 9; k++) {
        const bool fits = k % 4 == 0 ? vectors[k] >= 0 : fabs(vectors[k]) <= 1e-10 * longest;
        if (fits) continue;
        md_lines_problem(lines,
                         "Lattice=\"%.80s\": the box must be a cuboid along the axes, so only the first, "
                         "fifth and ninth number may differ from 0, and they must be above it",
                         text);
        return;
    }
    c->has_lattice = true;
    for (int a = 0; a < 3; a++) c->lattice[a] = vectors[4 * a];
}

static void read_origin(MdLines *lines, char *text, MdCoordinates *c) {
    if (read_numbers(text, c->origin, 3) != 3)
        md_lines_problem(lines, "Origin=\"%.80s\": three finite numbers are needed, in quotes", text);
    else md_coordinates_note(c, "positions are counted from its Origin");
}

/* 1: true, 0: false, -1: neither. */
static int read_truth(const char *word, size_t length) {
    static const char *const truths[] = {"f", "t", "false", "true", "0", "1"};
    for (int k = 0; k < 6; k++)
        if (strlen(truths[k]) == length && strncasecmp(truths[k], word, length) == 0) return k % 2;
    return -1;
}

static void read_pbc(MdLines *lines, char *text, MdCoordinates *c) {
    char *word, *rest = text;
    size_t length;
    int n = 0, truth = 0;
    flatten(text);
    while (truth >= 0 && md_text_word(&rest, &word, &length)) {
        truth = n < 3 ? read_truth(word, length) : -1;
        if (n < 3) c->pbc[n++] = truth > 0;
    }
    if (n == 1) c->pbc[1] = c->pbc[2] = c->pbc[0];
    if (truth >= 0 && (n == 1 || n == 3)) c->has_pbc = true;
    else md_lines_problem(lines, "pbc=\"%.80s\": three words T or F are needed, in quotes", text);
}

/* The keys that are used. cell_origin: older versions of OVITO. */
enum { LATTICE, ORIGIN, CELL_ORIGIN, PBC, PROPERTIES, N_KEYS };
static const char *const keys[N_KEYS] = {"Lattice", "Origin", "cell_origin", "pbc", "Properties"};

typedef struct Comment {
    MdLines *lines;
    MdCoordinates *c;
    XyzColumns *columns;
    int dimension;
    bool seen[N_KEYS], lone_pbc; /* pbc alone: all axes are periodic, as they are without it */
    char *unused_columns, *unused_keys, *lone_keys;
} Comment;

static int find_key(const char *name) {
    int key = 0;
    while (key < N_KEYS && strcasecmp(keys[key], name) != 0) key++;
    return key;
}

static void take_pair(Comment *comment, int key, char *value) {
    if (comment->seen[key]) {
        md_lines_problem(comment->lines, "%s is given twice", keys[key]);
        return;
    }
    comment->seen[key] = true;
    if (key == LATTICE) read_lattice(comment->lines, value, comment->c);
    else if (key == PBC) read_pbc(comment->lines, value, comment->c);
    else if (key == PROPERTIES)
        md_xyz_read_properties(comment->lines, value, comment->dimension, comment->columns, &comment->unused_columns);
    else read_origin(comment->lines, value, comment->c);
}

static void read_pairs(Comment *comment, char *text) {
    int before = N_KEYS; /* the key of the pair before */
    for (MdKeyValue pair; md_key_value_next(&text, &pair);) {
        const int key = find_key(pair.key);
        double number;
        if (pair.is_unclosed) {
            md_lines_problem(comment->lines, "%.40s=%.40s: the quote or bracket does not end", pair.key, pair.value);
            return;
        }
        if (!pair.value && before < PROPERTIES &&
            (read_truth(pair.key, strlen(pair.key)) >= 0 || md_text_fortran(pair.key, strlen(pair.key), &number)))
            md_lines_problem(comment->lines, "`%.40s` is outside of the value of %s: put that in quotes", pair.key,
                             keys[before]);
        else if (!pair.value && key == PBC) comment->lone_pbc = true;
        else if (!pair.value) md_xyz_list_name(&comment->lone_keys, pair.key);
        else if (key < N_KEYS) take_pair(comment, key, pair.value);
        else if (*pair.key) md_xyz_list_name(&comment->unused_keys, pair.key);
        before = pair.value ? key : N_KEYS;
    }
}

/* The unused part of the line. Words without `=` are keys only in extended XYZ; elsewhere they are a comment. */
static void note_unused(Comment *comment) {
    const bool extended = comment->seen[LATTICE] || comment->seen[PROPERTIES];
    if (extended && comment->lone_pbc && !comment->seen[LATTICE]) md_xyz_list_name(&comment->lone_keys, keys[PBC]);
    if (extended && comment->lone_keys) md_xyz_list_name(&comment->unused_keys, comment->lone_keys);
    const char *columns = comment->unused_columns, *pairs = comment->unused_keys;
    if (columns || pairs)
        md_coordinates_note(comment->c, "not used: %s%s%s%s%s", columns ? "columns " : "", columns ? columns : "",
                            columns && pairs ? "; " : "", pairs ? "keys " : "", pairs ? pairs : "");
}

void md_xyz_read_comment(MdLines *lines, char *text, int dimension, XyzColumns *columns, MdCoordinates *c) {
    Comment comment = {.lines = lines, .c = c, .columns = columns, .dimension = dimension};
    read_pairs(&comment, text);
    const bool twice = (comment.seen[ORIGIN] && comment.seen[CELL_ORIGIN]) || (comment.seen[PBC] && comment.lone_pbc);
    if (twice) md_lines_problem(lines, "%s is given twice", keys[comment.lone_pbc ? PBC : ORIGIN]);
    note_unused(&comment);
    free(comment.unused_columns);
    free(comment.unused_keys);
    free(comment.lone_keys);
}
