/* How this module reports problems with an option. Internal to src/system. */
#ifndef MD_SYSTEM_PROBLEM_H
#define MD_SYSTEM_PROBLEM_H

#include "base/status.h"
#include "deck/deck.h"

typedef struct MdProblems {
    const MdDeck *deck;
    MdErrors *errors;
} MdProblems;

/* Adds `origin: section.key: text` (the origin is left out for a default); returns MD_ERROR_INPUT. */
MdStatus md_problem(const MdProblems *problems, int option, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same where another option asks for that: `... (system.start: origin)` at the end, if the deck gives that one. */
MdStatus md_problem_by(const MdProblems *problems, int option, int other, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Value of a list option for each of n entries (types or axes): one number serves for all. `each` names the entries in
 * the message when the list has neither one number nor n. */
MdStatus md_problem_spread(const MdProblems *problems, int option, const MdRealList *list, int n, const char *each,
                           double *values);

#endif
