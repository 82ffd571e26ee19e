/* A text file in memory, line by line, for the readers of coordinates. Internal to src/system. */
#ifndef MD_SYSTEM_TEXT_LINES_H
#define MD_SYSTEM_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/blanks.h"
#include "base/status.h"

enum { MD_MAX_PROBLEMS = 10 }; /* of one file that are shown */

typedef struct MdLines {
    const char *path;
    char *text; /* ended by a zero; lines are ended by zeros as they are read */
    char *rest; /* the text after the current line; NULL at the end of the file */
    int number; /* of the current line, from 1 */
    int n_problems;
    MdErrors *errors;
} MdLines;

/* Reads the file, or takes a copy of its text, where that was read before (size bytes and a zero; else NULL). False,
 * with the problem in errors, when it cannot be read, is empty or holds zero bytes. */
bool md_lines_open(MdLines *lines, const char *path, const char *text, size_t size, MdErrors *errors);
void md_lines_close(MdLines *lines);

/* The next line, without its end (LF or CR LF); NULL after the last one. */
char *md_lines_next(MdLines *lines);

/* Adds `file:line: text` while there are few, and once that there are more. */
void md_lines_problem(MdLines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The word at *text, which is moved after it: start and length; false at the end of the line. */
bool md_text_word(char **text, char **word, size_t *length);
int md_text_count_words(char *text);

/* A finite decimal number that fills the word. */
bool md_text_number(const char *word, size_t length, double *value);

/* The same, or with Fortran's exponent (1.5d0), which becomes e in place. */
bool md_text_fortran(char *word, size_t length, double *value);

#endif
