/* Words for messages: input made fit to show, commands for a shell. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/table.h"

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

char *md_shell_word(const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (*text && text[strspn(text, plain)] == '\0') return md_copy_text(text);
    MdText word = {0};
    md_text_add(&word, "'");
    for (; *text; text++)
        if (*text == '\'') md_text_add(&word, "'\\''");
        else md_text_add(&word, "%c", *text);
    md_text_add(&word, "'");
    return md_text_take(&word);
}

char *md_shell_path(const char *path) {
    char *file = md_format("%s%s", *path == '-' ? "./" : "", path), *word = md_shell_word(file);
    free(file);
    return word;
}
