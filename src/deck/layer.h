/* Inside the deck module: the state of reading one layer. */
#ifndef MD_DECK_LAYER_H
#define MD_DECK_LAYER_H

#include "deck/reader.h"

enum {
    MD_MAX_FILE_BYTES = 1 << 20, /* of a deck; the whole table written out takes a hundredth of it */
    MD_MAX_LINE_BYTES = 1 << 16, /* room for the longest path, every byte of it escaped, in an effective deck */
    MD_LAYER_PROBLEMS = 20       /* listed for a file; the rest is counted */
};

/* The state of reading one file, or one override. */
typedef struct MdLayer {
    MdDeck *deck;
    MdErrors *errors;
    char *path; /* fit to show; `command line` for an override */
    const char *folder;
    int line; /* from 1; 0 for an override */
    int n_problems;
    int section;             /* first row of the current section; -1 before any */
    bool section_unknown;    /* keys under it are passed over: the section was reported */
    int given[MD_N_OPTIONS]; /* line of a key within this file; 0: not given */
} MdLayer;

/* Reports a problem at the current line; beyond MD_LAYER_PROBLEMS it is only counted. */
void md_layer_problem(MdLayer *layer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* After a problem that may have hidden any key. */
void md_deck_doubt_all(MdDeck *deck);

/* Reads n bytes, known to be text, as a deck. */
void md_layer_read_deck(MdLayer *layer, const char *text, size_t n);

/* Where the comment of a line begins, or its end: a `#` at the start or after a blank, but not inside a value in double
 * quotes. */
size_t md_line_find_comment(const char *line);

/* Whether other programs would take the line for a comment. */
static inline bool md_line_is_foreign_comment(const char *line) {
    return *line == ';' || *line == '!' || (line[0] == '/' && line[1] == '/');
}

static inline bool md_is_blank(char c) { return c == ' ' || c == '\t'; }

/* Takes the blanks off both ends, in place; returns the new beginning. */
char *md_line_trim(char *text);

#endif
