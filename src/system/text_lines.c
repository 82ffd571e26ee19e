#include "system/text_lines.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* The whole stream, ended by a zero; NULL with errno set when reading fails. */
static char *read_stream(FILE *file, size_t *size) {
    size_t capacity = 1 << 16, n = 0;
    char *text = malloc(capacity);
    while (text) {
        n += fread(text + n, 1, capacity - 1 - n, file);
        if (n < capacity - 1) break;
        char *grown = realloc(text, capacity *= 2);
        if (!grown) free(text);
        text = grown;
    }
    if (!text || ferror(file)) {
        free(text);
        return NULL;
    }
    text[n] = 0;
    *size = n;
    return text;
}

bool md_lines_open(MdLines *lines, const char *path, MdErrors *errors) {
    *lines = (MdLines){.path = path, .errors = errors};
    FILE *file = fopen(path, "rb");
    size_t size = 0;
    if (file) {
        errno = 0;
        lines->text = read_stream(file, &size);
    }
    if (!lines->text) {
        md_fail(errors, MD_ERROR_INPUT, "%s: cannot be read: %s", path, strerror(errno));
        if (file) fclose(file);
        return false;
    }
    fclose(file);
    lines->rest = lines->text;
    if (size > 0 && strlen(lines->text) == size) return true;
    md_fail(errors, MD_ERROR_INPUT, size ? "%s: is no text file: it holds zero bytes" : "%s: is empty", path);
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
        if ((unsigned char)*p < ' ' || *p == 127) *p = '?'; /* what was read must not command the terminal */
    md_fail(lines->errors, MD_ERROR_INPUT, "%s:%d: %s", lines->path, lines->number, text);
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

char *md_text_skip(char *text) {
    while (is_blank(*text)) text++;
    return text;
}

bool md_text_word(char **text, char **word, size_t *length) {
    char *start = md_text_skip(*text), *end = start;
    while (*end && !is_blank(*end)) end++;
    *text = end;
    *word = start;
    *length = (size_t)(end - start);
    return end > start;
}

bool md_text_number(const char *word, size_t length, double *value) {
    /* strtod alone would also take `nan`, `inf` and hexadecimal numbers. */
    for (size_t k = 0; k < length; k++)
        if (!strchr("0123456789+-.eE", word[k])) return false;
    char *end;
    *value = strtod(word, &end);
    return length > 0 && end == word + length && isfinite(*value);
}
