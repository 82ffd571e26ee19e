/* Decks for tests, from layers that are in memory. */
#ifndef MD_TESTS_LAYERS_H
#define MD_TESTS_LAYERS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/reader.h"

/* All messages, one a line; text from malloc. */
static inline char *join_messages(const MdErrors *errors) {
    MdText text = {0};
    for (int k = 0; k < md_errors_count(errors); k++) md_text_add(&text, "%s\n", md_errors_text(errors, k));
    return md_text_take(&text);
}

static inline bool is_deck(const char *layer) {
    return strchr("[#", layer[0]) || (layer[0] && layer[strlen(layer) - 1] == '\n');
}

/* Reads layers that are in memory: what begins with a section or a comment or ends with a newline is the text
 * of a deck, called layer1.txt, layer2.txt ...; everything else is an override. NULL, with the messages, when
 * there are problems. */
static inline MdDeck *read_layers(const char *const *layers, int n, char **messages) {
    MdErrors *errors = md_errors_create();
    MdDeck *deck = md_deck_create();
    int n_files = 0;
    for (int k = 0; k < n; k++) {
        if (is_deck(layers[k])) {
            char *name = md_format("layer%d.txt", ++n_files);
            md_deck_read_text(deck, name, "/nowhere/inputs", layers[k], strlen(layers[k]), errors);
            free(name);
        } else {
            if (k == 0 || is_deck(layers[k - 1])) deck->n_layers++;
            md_deck_read_override(deck, layers[k], errors);
        }
    }
    md_deck_check(deck, errors);
    md_deck_settle_units(deck, errors);
    bool failed = md_errors_count(errors) > 0;
    if (messages) *messages = join_messages(errors);
    md_errors_destroy(errors);
    if (!failed) return deck;
    md_deck_destroy(deck);
    return NULL;
}

#define READ(messages, ...)                                                                                            \
    read_layers((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),       \
                messages)

static inline bool same_text(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* Whether the layers are refused with a message that holds each of the words. */
static inline bool refused(const char *const *words, const char *first, const char *second) {
    char *messages = NULL;
    const char *layers[] = {first, second};
    MdDeck *deck = read_layers(layers, second ? 2 : 1, &messages);
    bool good = deck == NULL;
    for (int k = 0; words[k]; k++) good = good && strstr(messages, words[k]);
    if (!good) printf("    said: %s", messages);
    free(messages);
    md_deck_destroy(deck);
    return good;
}
#define WORDS(...)                                                                                                     \
    (const char *const[]) { __VA_ARGS__, NULL }

#endif
