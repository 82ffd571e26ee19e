/* Blanks within a line, as files of coordinates have them. */
#ifndef MD_BASE_BLANKS_H
#define MD_BASE_BLANKS_H

#include <stdbool.h>

static inline bool md_text_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

static inline char *md_text_skip(char *text) {
    while (md_text_is_blank(*text)) text++;
    return text;
}

#endif
