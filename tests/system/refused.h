/* Input that must be refused: reads a deck of the given words, plans and makes its system, and looks for each fragment
 * in the messages. */
#ifndef MD_TESTS_SYSTEM_REFUSED_H
#define MD_TESTS_SYSTEM_REFUSED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backends.h"
#include "check.h"
#include "state.h"

static inline bool refused_mentions(const MdErrors *errors, const char *fragment) {
    for (int k = 0; k < md_errors_count(errors); k++)
        if (strstr(md_errors_text(errors, k), fragment)) return true;
    return false;
}

/* words as for state_deck; fragments end with NULL. */
static inline void check_refused(const char *const *words, const char *const *fragments) {
    MdDeck *deck = state_deck(words);
    MdErrors *errors = md_errors_create();
    MdSystemPlan plan;
    MdSystem *system = NULL;
    if (md_system_plan(deck, md_backend_random(), &plan, errors) == MD_OK) {
        system = md_system_create(deck, &plan, errors);
        md_system_plan_free(&plan);
    }
    if (!CHECK(system == NULL)) md_system_destroy(system);
    CHECK(md_errors_status(errors) == MD_ERROR_INPUT);
    for (int k = 0; fragments[k]; k++)
        if (!CHECK(refused_mentions(errors, fragments[k]))) {
            printf("expected: %s\n", fragments[k]);
            md_errors_print(errors, stdout);
        }
    md_errors_destroy(errors);
    md_deck_destroy(deck);
}

#define REFUSED(words, ...) check_refused((words), (const char *const[]){__VA_ARGS__, NULL})
#define WORDS(...)          ((const char *const[]){__VA_ARGS__, NULL})

#endif
