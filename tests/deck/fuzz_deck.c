/* What a fuzzer calls: one input is read as a file and, where it fits, as an override. Nothing may crash, leak or leave
 * a message that does not fit a line, and what was accepted must come back from its own effective deck.
 *
 * test_fuzz.c runs it with mutations of the decks at hand. With clang's libFuzzer, which looks at the branches taken:
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -Isrc -Itests/support -o fuzz_deck tests/deck/fuzz_deck.c
 *       src/deck/?*.c src/base/[c-s]*.c -lm
 *   mkdir -p corpus && ./fuzz_deck -max_total_time=600 corpus inputs inputs/presets tests/deck/bad tests/deck/good
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/reader.h"
#include "fuzz.h"

static long n_accepted; /* inputs that were legal decks: for the report of test_fuzz.c */

static void require_messages(const MdErrors *errors) {
    for (int k = 0; k < md_errors_count(errors); k++)
        for (const char *c = md_errors_text(errors, k); *c; c++)
            md_require((unsigned char)*c >= 0x20 && *c != 0x7f); /* nothing that commands a terminal */
}

/* Whether the text was accepted; the deck, if so, is *deck. */
static bool read_deck(const char *text, size_t n, MdDeck **deck) {
    MdErrors *errors = md_errors_create();
    *deck = md_deck_create();
    md_deck_read_text(*deck, "fuzz.txt", "/nowhere", text, n, errors);
    /* A short input serves as an override, too. */
    if (n < 256 && strlen(text) == n && md_deck_is_override(text)) {
        (*deck)->n_layers++;
        md_deck_read_override(*deck, text, errors);
    }
    md_deck_check(*deck, errors);
    md_deck_settle_units(*deck, errors);
    require_messages(errors);
    bool accepted = md_errors_count(errors) == 0;
    md_errors_destroy(errors);
    return accepted;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1); /* of the very size, so that the address sanitizer sees one byte too far */
    MdDeck *first, *second;
    md_require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (read_deck(text, size, &first)) {
        n_accepted++;
        char *effective = md_deck_effective_text(first, NULL, NULL);
        md_require(read_deck(effective, strlen(effective), &second));
        for (int k = 0; k < MD_N_OPTIONS; k++) {
            char *a = md_deck_value_text(first, k), *b = md_deck_value_text(second, k);
            md_require(strcmp(a, b) == 0);
            free(a);
            free(b);
        }
        md_deck_destroy(second);
        free(effective);
    }
    md_deck_destroy(first);
    free(text);
    return 0;
}
