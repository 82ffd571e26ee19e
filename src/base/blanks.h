/* Blanks within a line, as files of coordinates have them; lists of words. */
#ifndef MD_BASE_BLANKS_H
#define MD_BASE_BLANKS_H

#include <stdbool.h>
#include <string.h>

static inline bool md_text_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

static inline char *md_text_skip(char *text) {
    while (md_text_is_blank(*text)) text++;
    return text;
}

/* Whether this word is among those between separators. */
static inline bool md_text_has_word(const char *words, const char *separator, const char *word) {
    for (size_t n; *words; words += n + (words[n] != 0)) {
        n = strcspn(words, separator);
        if (n == strlen(word) && memcmp(words, word, n) == 0) return true;
    }
    return false;
}

#endif
