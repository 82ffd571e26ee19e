/* Adds origins to messages of code that sees only values. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/deck.h"

/* The option that text begins with, and the length of its name; -1 where it begins with none. */
static int find_option(const char *text, size_t *length) {
    *length = strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789.");
    while (*length > 0 && text[*length - 1] == '.') --*length; /* the end of a sentence */
    for (int option = 0; option < MD_N_OPTIONS; option++) {
        const char *name = md_option_name(option);
        if (strlen(name) == *length && strncmp(name, text, *length) == 0) return option;
    }
    return -1;
}

/* `deck.txt:3`; for the choice of `auto`, `auto: deck.txt:3`. */
static void add_origin(MdText *text, const MdDeck *deck, int option) {
    char *value = md_deck_value_text(deck, option);
    md_text_add(text, " (%s%s)", strcmp(value, "auto") == 0 ? "auto: " : "", md_deck_origin(deck, option));
    free(value);
}

char *md_deck_place(const void *deck, const char *message) {
    MdText text = {0};
    size_t length;
    const int first = find_option(message, &length);
    const bool is_of_value = first >= 0 && (message[length] == '=' || message[length] == ':');
    if (!is_of_value) return md_copy_text(message);
    const char *origin = md_deck_origin(deck, first);
    if (strcmp(origin, "default") != 0) md_text_add(&text, "%s: ", origin);
    md_text_add(&text, "%.*s", (int)length, message);
    for (const char *at = message + length; *at; at += length) {
        /* up to the next word, and the word */
        const size_t gap = strcspn(at, " ") + strspn(at + strcspn(at, " "), " ");
        md_text_add(&text, "%.*s", (int)gap, at);
        at += gap;
        const int option = find_option(at, &length);
        const bool is_value = option >= 0 && strncmp(at + length, " is ", 4) == 0;
        if (is_value) length += 4 + strcspn(at + length + 4, " ,:;");
        md_text_add(&text, "%.*s", (int)length, at);
        if (is_value && strncmp(at + length, " (", 2) != 0) add_origin(&text, deck, option);
    }
    return md_text_take(&text);
}
