/* Status codes and messages.
 *
 * A fault of the user travels up as a status, with its text collected in an MdErrors, so that all problems of a
 * deck are shown together. A fault of the program itself stops at once (md_panic). */
#ifndef MD_BASE_STATUS_H
#define MD_BASE_STATUS_H

#include <stdio.h>

/* The values are the exit codes of the program. */
typedef enum MdStatus {
    MD_OK = 0,
    MD_ERROR_INTERNAL = 1, /* the program or the hardware failed */
    MD_ERROR_INPUT = 2,    /* the user's input cannot be used */
    MD_ERROR_PHYSICS = 3,  /* the run failed its own verification */
    MD_ERROR_OUTPUT = 4,   /* output could not be written */
    MD_STOPPED = 75        /* ended early, in good order: resume it */
} MdStatus;

typedef struct MdErrors MdErrors;

MdErrors *md_errors_create(void);
void md_errors_destroy(MdErrors *errors);

/* From now on finish replaces each message (by a text from malloc); user must live as long as there are messages. */
void md_errors_finish(MdErrors *errors, char *(*finish)(const void *user, const char *message), const void *user);

/* Adds one message (printf style, no newline at the end) and returns status, so that callers can write
 * `return md_fail(errors, MD_ERROR_INPUT, "...")`. Threads may add messages at once. The gravest status is kept as that of the whole: the
 * one with the smallest number. */
MdStatus md_fail(MdErrors *errors, MdStatus status, const char *format, ...) __attribute__((format(printf, 3, 4)));

int md_errors_count(const MdErrors *errors);
const char *md_errors_text(const MdErrors *errors, int k); /* 0 <= k < count */
MdStatus md_errors_status(const MdErrors *errors);         /* MD_OK when there are none */

/* Writes the messages that it has not written yet, one a line, each with `mdmini: error: ` before it. */
void md_errors_print(MdErrors *errors, FILE *stream);

/* An internal fault: prints file, line and text to stderr and ends the process with exit code 1. */
_Noreturn void md_panic_at(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* From now on an internal fault ends the process by this function, which does not return, instead of exit: for a process
 * that other processes wait for. NULL: by exit again. */
void md_panic_ends_by(void (*end)(int code));

#define md_panic(...) md_panic_at(__FILE__, __LINE__, __VA_ARGS__)
#define md_require(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) md_panic("%s does not hold", #condition);                                                    \
    } while (0)

#endif
