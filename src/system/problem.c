#include "system/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

MdStatus md_problem(const MdProblems *problems, int option, const char *format, ...) {
    char text[768]; /* longer ones are cut */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *origin = md_deck_origin(problems->deck, option), *name = md_option_name(option);
    if (strcmp(origin, "default") == 0) return md_fail(problems->errors, MD_ERROR_INPUT, "%s: %s", name, text);
    return md_fail(problems->errors, MD_ERROR_INPUT, "%s: %s: %s", origin, name, text);
}

MdStatus md_problem_spread(const MdProblems *problems, int option, const MdRealList *list, int n, const char *each,
                           double *values) {
    if (list->n != 1 && list->n != n)
        return md_problem(problems, option, "%d numbers; one for each of the %d %s is needed, or one for all", list->n,
                          n, each);
    for (int k = 0; k < n; k++) values[k] = list->values[list->n == 1 ? 0 : k];
    return MD_OK;
}

const char *md_start_word(int start) {
#define WORD(name, word)                                                                                               \
    case MD_START_##name: return word;
    switch (start) { MD_CHOICES_START(WORD) }
#undef WORD
    md_panic("no start has the number %d", start);
}
