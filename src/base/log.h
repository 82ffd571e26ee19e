/* The log: text for the user, on standard output and in NAME.log.
 *
 * Several threads may write; the text of one call stays together.
 *
 * Until md_log_open is called the text is kept in memory, so that a run whose input is wrong touches no file. */
#ifndef MD_BASE_LOG_H
#define MD_BASE_LOG_H

#include <stdbool.h>

#include "base/status.h"

typedef struct MdLog MdLog;

MdLog *md_log_create(FILE *terminal); /* terminal may be NULL: only the file is written */
void md_log_destroy(MdLog *log);

/* Writes the text so far, and all that follows, to the file at path as well; append: after its content. MD_ERROR_OUTPUT
 * when it cannot. */
MdStatus md_log_open(MdLog *log, const char *path, bool append, MdErrors *errors);

/* One or more whole lines (the newline is the caller's). */
void md_log(MdLog *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for the file only, not for standard output. */
void md_log_file_only(MdLog *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Words of text after a head, in lines of at most MD_LOG_WIDTH, those after the first indented as wide as the head. */
void md_log_wrapped(MdLog *log, const char *head, const char *text);
enum { MD_LOG_WIDTH = 110 };

/* A line that starts with `warning: `. */
void md_warn(MdLog *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* False once writing to the file has failed (disk full). */
int md_log_healthy(const MdLog *log);

/* The errno with which writing to the terminal failed; 0: it did not. A reader that closed the pipe (`| head`)
 * is no error. */
int md_log_terminal_fault(const MdLog *log);

#endif
