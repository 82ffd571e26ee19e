#define _POSIX_C_SOURCE 200809L
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct MdLog {
    pthread_mutex_t mutex; /* of all that follows */
    FILE *terminal, *file;
    MdText pending; /* written before the file was opened */
    int failed;
    int terminal_fault; /* errno */
};

MdLog *md_log_create(FILE *terminal) {
    MdLog *log = md_alloc(1, sizeof *log, "log");
    pthread_mutex_init(&log->mutex, NULL);
    log->terminal = terminal;
    return log;
}

void md_log_destroy(MdLog *log) {
    if (!log) return;
    if (log->file) fclose(log->file);
    free(log->pending.text);
    pthread_mutex_destroy(&log->mutex);
    md_free(log);
}

MdStatus md_log_open(MdLog *log, const char *path, bool append, MdErrors *errors) {
    log->file = fopen(path, append ? "a" : "w");
    if (!log->file) return md_fail(errors, MD_ERROR_OUTPUT, "%s: %s", path, strerror(errno));
    const size_t n_pending = log->pending.length;
    char *pending = md_text_take(&log->pending);
    if (n_pending && fwrite(pending, 1, n_pending, log->file) != n_pending) log->failed = 1;
    free(pending);
    return MD_OK;
}

/* Lines are flushed one by one: a batch file is fully buffered otherwise, and a killed job would lose its log. */
static void write_text(MdLog *log, const char *text, int on_terminal) {
    /* A terminal that went away does not end the run: the file has everything. */
    if (log->terminal && on_terminal && (fputs(text, log->terminal) < 0 || fflush(log->terminal) != 0)) {
        log->terminal_fault = errno == EPIPE ? 0 : errno;
        log->terminal = NULL;
    }
    if (!log->file) md_text_add(&log->pending, "%s", text);
    else if (fputs(text, log->file) < 0 || fflush(log->file) != 0) log->failed = 1;
}

static void write_format(MdLog *log, int on_terminal, const char *prefix, const char *format, va_list arguments) {
    MdText text = {0};
    md_text_add(&text, "%s", prefix);
    md_text_add_list(&text, format, arguments);
    pthread_mutex_lock(&log->mutex);
    write_text(log, text.text, on_terminal);
    pthread_mutex_unlock(&log->mutex);
    free(text.text);
}

void md_log(MdLog *log, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_format(log, 1, "", format, arguments);
    va_end(arguments);
}

void md_log_file_only(MdLog *log, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_format(log, 0, "", format, arguments);
    va_end(arguments);
}

void md_log_wrapped(MdLog *log, const char *head, const char *text) {
    const int indent = (int)strlen(head);
    int column = indent;
    md_log(log, "%s", head);
    for (const char *word = text + strspn(text, " "); *word;) {
        const int length = (int)strcspn(word, " ");
        if (column > indent && column + 1 + length > MD_LOG_WIDTH) {
            md_log(log, "\n%*s", indent, "");
            column = indent;
        }
        md_log(log, " %.*s", length, word);
        column += 1 + length;
        word += length;
        word += strspn(word, " ");
    }
    md_log(log, "\n");
}

void md_warn(MdLog *log, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_format(log, 1, "warning: ", format, arguments);
    va_end(arguments);
}

int md_log_healthy(const MdLog *log) { return !log->failed; }

int md_log_terminal_fault(const MdLog *log) { return log->terminal_fault; }
