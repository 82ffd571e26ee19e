#include "check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    int n_checks, n_failed;
    char context[2560];
} counts;

/* Books a failure; whether it is to be told. */
static bool begin_failure(void) { return counts.n_failed++ < 40; }

/* With MDMINI_TEST_STOP the first one is enough. */
static bool end_failure(void) {
    if (!getenv("MDMINI_TEST_STOP")) return false;
    fflush(stdout);
    _Exit(1);
}

bool check_at(const char *file, int line, bool holds, const char *text) {
    counts.n_checks++;
    if (holds) return true;
    if (begin_failure()) printf("FAILED %s:%d: %s [%s]\n", file, line, text, counts.context);
    return end_failure();
}

bool check_near_at(const char *file, int line, double value, double expected, double tolerance, const char *text) {
    counts.n_checks++;
    if (fabs(value - expected) <= tolerance) return true;
    if (begin_failure())
        printf("FAILED %s:%d: %s is %.17g, expected %.17g within %.3g, off by %.3g [%s]\n", file, line, text, value,
               expected, tolerance, value - expected, counts.context);
    return end_failure();
}

void check_context(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(counts.context, sizeof counts.context, format, arguments);
    va_end(arguments);
}

int check_finish(void) {
    printf("%d checks, %d failed\n", counts.n_checks, counts.n_failed);
    return counts.n_failed > 0 || counts.n_checks == 0;
}
