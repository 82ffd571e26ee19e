/* Words for messages: text that grows, what was read made fit to show, and the nearest name. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/table.h"

void md_text_add_list(MdText *text, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *grown = realloc(text->text, text->length + (size_t)length + 1);
    if (!grown) md_panic("out of memory");
    vsnprintf(grown + text->length, (size_t)length + 1, format, again);
    va_end(again);
    text->text = grown;
    text->length += (size_t)length;
}

void md_text_add(MdText *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    md_text_add_list(text, format, arguments);
    va_end(arguments);
}

char *md_text_take(MdText *text) {
    char *taken = text->text ? text->text : md_copy_text("");
    *text = (MdText){0};
    return taken;
}

/* Whether byte k continues a character of several bytes (UTF-8), where no cut may be made. */
static bool continues(const char *text, size_t k) { return ((unsigned char)text[k] & 0xc0) == 0x80; }

char *md_show_text(const char *text, size_t n, size_t limit) {
    MdText shown = {0};
    for (size_t k = 0; k < n; k++) {
        unsigned char c = (unsigned char)text[k];
        bool cut = shown.length >= limit && (!continues(text, k) || shown.length >= limit + 3);
        if (cut) {
            md_text_add(&shown, "...");
            break;
        }
        md_text_add(&shown, c < 0x20 || c == 0x7f ? "\\x%02x" : "%c", c);
    }
    return md_text_take(&shown);
}

/* Names are short; a longer word is like none of them. */
enum { LONGEST_NAME = 31 };

static int least(int a, int b) { return a < b ? a : b; }

/* The optimal string alignment distance, letter case aside (Damerau 1964: most slips are one of the four). */
static int slips(const char *a, const char *b) {
    int n = (int)strlen(a), m = (int)strlen(b), d[LONGEST_NAME + 1][LONGEST_NAME + 1];
    for (int i = 0; i <= n; i++) d[i][0] = i;
    for (int j = 0; j <= m; j++) d[0][j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            d[i][j] = least(d[i - 1][j - 1] + (x != y), least(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) && y == tolower((unsigned char)a[i - 2]))
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n][m];
}

MdNearest md_nearest_begin(const char *wanted) { return (MdNearest){.wanted = wanted, .distance = LONGEST_NAME + 1}; }

void md_nearest_offer(MdNearest *nearest, const char *name) {
    if (strlen(nearest->wanted) > LONGEST_NAME || strlen(name) > LONGEST_NAME) return;
    int distance = slips(nearest->wanted, name);
    if (distance >= nearest->distance) return;
    nearest->distance = distance;
    nearest->best = name;
}

const char *md_nearest_name(const MdNearest *nearest) {
    /* One slip in three letters: beyond that the suggestion would be noise. */
    if (!nearest->best || nearest->distance > (int)(strlen(nearest->best) + 2) / 3) return NULL;
    return nearest->best;
}
