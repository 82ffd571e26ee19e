#include "system/text_lines.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "base/stream.h"
#include "deck/table.h"

/* A copy, as reading changes the text. */
static char *copy_bytes(const char *text, size_t size) {
    char *copy = malloc(size + 1);
    return copy ? memcpy(copy, text, size + 1) : NULL;
}

bool md_lines_open(MdLines *lines, const char *path, const char *text, size_t size, MdErrors *errors) {
    *lines = (MdLines){.path = path, .errors = errors};
    lines->rest = lines->text = text ? copy_bytes(text, size) : md_file_read(path, &size);
    if (!lines->text) {
        const int reason = errno;
        char *question = reason == ENOENT ? md_nearest_file(path) : md_copy_text("");
        md_fail(errors, MD_ERROR_INPUT, "%s: cannot be read: %s%s", path, strerror(reason), question);
        free(question);
        return false;
    }
    if (size > 0 && strlen(lines->text) == size) return true;
    if (size > 1 && memcmp(lines->text, "\x1f\x8b", 2) == 0) {
        char *word = md_shell_path(path);
        md_fail(errors, MD_ERROR_INPUT, "%s: is gzipped; unpack it: gunzip --keep %s", path, word);
        free(word);
    } else md_fail(errors, MD_ERROR_INPUT, size ? "%s: is no text file: it holds zero bytes" : "%s: is empty", path);
    md_lines_close(lines);
    return false;
}

void md_lines_close(MdLines *lines) {
    free(lines->text);
    lines->text = lines->rest = NULL;
}

char *md_lines_next(MdLines *lines) {
    char *line = lines->rest;
    if (!line || !*line) return NULL;
    char *end = strchr(line, '\n');
    lines->rest = end ? end + 1 : NULL;
    if (!end) end = line + strlen(line);
    if (end > line && end[-1] == '\r') end--;
    *end = 0;
    lines->number++;
    return line;
}

void md_lines_problem(MdLines *lines, const char *format, ...) {
    if (++lines->n_problems > MD_MAX_PROBLEMS) {
        if (lines->n_problems == MD_MAX_PROBLEMS + 1)
            md_fail(lines->errors, MD_ERROR_INPUT, "%s: more problems follow", lines->path);
        return;
    }
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127) *p = '?'; /* input must not control the terminal */
    md_fail(lines->errors, MD_ERROR_INPUT, "%s:%d: %s", lines->path, lines->number, text);
}

bool md_text_word(char **text, char **word, size_t *length) {
    char *start = md_text_skip(*text), *end = start;
    while (*end && !md_text_is_blank(*end)) end++;
    *text = end;
    *word = start;
    *length = (size_t)(end - start);
    return end > start;
}

bool md_text_number(const char *word, size_t length, double *value) {
    /* strtod alone would also take `nan`, `inf` and hexadecimal numbers. */
    if (strspn(word, "0123456789+-.eE") < length) return false;
    char *end;
    *value = strtod(word, &end);
    return length > 0 && end == word + length && isfinite(*value);
}

bool md_text_fortran(char *word, size_t length, double *value) {
    if (strspn(word, "0123456789+-.eEdD") < length) return false;
    for (size_t k = 0; k < length; k++)
        if (word[k] == 'd' || word[k] == 'D') word[k] = 'e';
    return md_text_number(word, length, value);
}

int md_text_count_words(char *text) {
    char *word;
    size_t length;
    int n = 0;
    while (md_text_word(&text, &word, &length)) n++;
    return n;
}
