#include "system/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool is_given(const MdProblems *problems, int option) {
    return strcmp(md_deck_origin(problems->deck, option), "default") != 0;
}

static MdStatus tell(const MdProblems *problems, int option, const char *by, const char *format, va_list arguments) {
    char text[768]; /* longer ones are cut */
    vsnprintf(text, sizeof text, format, arguments);
    const bool given = is_given(problems, option);
    return md_fail(problems->errors, MD_ERROR_INPUT, "%s%s%s: %s%s",
                   given ? md_deck_origin(problems->deck, option) : "", given ? ": " : "", md_option_name(option), text,
                   by);
}

MdStatus md_problem(const MdProblems *problems, int option, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    MdStatus status = tell(problems, option, "", format, arguments);
    va_end(arguments);
    return status;
}

MdStatus md_problem_by(const MdProblems *problems, int option, int other, const char *format, ...) {
    char *by = is_given(problems, other)
                   ? md_format(" (%s: %s)", md_option_name(other), md_deck_origin(problems->deck, other))
                   : md_copy_text("");
    va_list arguments;
    va_start(arguments, format);
    MdStatus status = tell(problems, option, by, format, arguments);
    va_end(arguments);
    free(by);
    return status;
}

MdStatus md_problem_spread(const MdProblems *problems, int option, const MdRealList *list, int n, const char *each,
                           double *values) {
    if (list->n != 1 && list->n != n)
        return md_problem(problems, option, "%d numbers; one for each of the %d %s is needed, or one for all", list->n,
                          n, each);
    for (int k = 0; k < n; k++) values[k] = list->values[list->n == 1 ? 0 : k];
    return MD_OK;
}
