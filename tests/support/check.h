/* A small harness for test programs: every check is counted, a failed one prints what it saw, and the program's exit
 * code says whether any failed. */
#ifndef MD_TESTS_CHECK_H
#define MD_TESTS_CHECK_H

#include <stdbool.h>

/* Each returns whether it held, so that loops can stop at the first failure. With MDMINI_TEST_STOP in the environment the
 * program ends there. */
bool check_at(const char *file, int line, bool holds, const char *text);
bool check_near_at(const char *file, int line, double value, double expected, double tolerance, const char *text);

#define CHECK(condition)                       check_at(__FILE__, __LINE__, (condition), #condition)
/* |value - expected| <= tolerance; NaN fails. */
#define CHECK_NEAR(value, expected, tolerance) check_near_at(__FILE__, __LINE__, value, expected, tolerance, #value)

/* Names what the following checks are about; shown with failures. printf style. */
void check_context(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the count of checks and of failures; 0, or 1 when any failed or none was made. */
int check_finish(void);

enum { CHECK_SKIPPED = 77 };

#endif
