#include "base/pairs.h"

#include <stddef.h>
#include <string.h>

#include "base/blanks.h"

/* The closing quote of the text that begins at `text`; NULL: there is none. An apostrophe is a quote only where the word ends with
 * one as well. */
static char *find_quote(char *text) {
    char quote = *text, *end = text + 1;
    for (; *end && *end != quote; end++)
        if (*end == '\\' && end[1]) end++;
    if (!*end) return NULL;
    return quote == '"' || !end[1] || end[1] == '=' || md_text_is_blank(end[1]) ? end : NULL;
}

/* The closing bracket of the text that begins at `text`; NULL: there is none. */
static char *find_bracket(char *text) {
    char open = *text, close = open == '[' ? ']' : '}';
    int depth = 0;
    for (char *c = text; *c; c++) {
        if (*c == '"') {
            c = find_quote(c);
            if (!c) return NULL;
        }
        depth += (*c == open) - (*c == close);
        if (depth == 0) return c;
    }
    return NULL;
}

/* Copies up to `end` without the \ of escapes; returns the end of the copy. */
static char *copy_escaped(char *to, const char *from, const char *end) {
    while (from < end) {
        const bool escape = *from == '\\' && from + 1 < end;
        if (escape) from++;
        *to++ = escape && *from == 'n' ? '\n' : *from;
        from++;
    }
    return to;
}

/* The word at *text, which is moved after it. Returns where the word ends, for its zero: no more than *text. */
static char *take_word(char **text, bool is_value, bool *is_unclosed) {
    char *from = *text, *to = from, *end = NULL;
    const bool quote = *from == '"' || *from == '\'', bracket = is_value && (*from == '[' || *from == '{');
    if (quote) end = find_quote(from);
    else if (bracket) end = find_bracket(from);
    *is_unclosed = is_value && !end && (bracket || *from == '"');
    if (end) {
        if (bracket) memmove(to, from + 1, (size_t)(end - from - 1));
        to = bracket ? to + (end - from - 1) : copy_escaped(to, from + 1, end);
        from = end + 1;
    }
    for (end = from; *end && !md_text_is_blank(*end) && (is_value || *end != '=');)
        end += *end == '\\' && end[1] ? 2 : 1;
    *text = end;
    return copy_escaped(to, from, end);
}

bool md_key_value_next(char **text, MdKeyValue *pair) {
    char *rest = md_text_skip(*text);
    *pair = (MdKeyValue){.key = rest};
    if (!*rest) return false;
    char *end = take_word(&rest, false, &pair->is_unclosed);
    char *next = md_text_skip(rest);
    if (*next == '=') {
        pair->value = rest = md_text_skip(next + 1);
        *end = 0; /* not before the `=`, where it may stand, was seen */
        end = take_word(&rest, true, &pair->is_unclosed);
    }
    if (*rest) rest++; /* the blank, which may become the zero */
    *end = 0;
    *text = rest;
    return true;
}
