#include "base/status.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>

struct MdErrors {
    pthread_mutex_t lock; /* of md_fail */
    MdStatus status;
    int n_messages, n_printed, capacity;
    char **messages;
    char *(*finish)(const void *user, const char *message); /* NULL: they stay as they are */
    const void *user;
};

/* Text of any length from a printf format; never NULL. */
static char *format_text(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = malloc((size_t)length + 1);
    if (!text) md_panic("out of memory while reporting an error");
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

MdErrors *md_errors_create(void) {
    MdErrors *errors = calloc(1, sizeof *errors);
    if (!errors) md_panic("out of memory");
    pthread_mutex_init(&errors->lock, NULL);
    return errors;
}

void md_errors_destroy(MdErrors *errors) {
    if (!errors) return;
    for (int k = 0; k < errors->n_messages; k++) free(errors->messages[k]);
    free(errors->messages);
    pthread_mutex_destroy(&errors->lock);
    free(errors);
}

void md_errors_finish(MdErrors *errors, char *(*finish)(const void *user, const char *message), const void *user) {
    errors->finish = finish;
    errors->user = user;
}

MdStatus md_fail(MdErrors *errors, MdStatus status, const char *format, ...) {
    pthread_mutex_lock(&errors->lock);
    if (errors->n_messages == errors->capacity) {
        errors->capacity = errors->capacity ? 2 * errors->capacity : 8;
        char **grown = realloc(errors->messages, (size_t)errors->capacity * sizeof *grown);
        if (!grown) md_panic("out of memory while reporting an error");
        errors->messages = grown;
    }
    va_list arguments;
    va_start(arguments, format);
    char *message = format_text(format, arguments);
    va_end(arguments);
    char *finished = errors->finish ? errors->finish(errors->user, message) : NULL;
    if (finished) free(message);
    errors->messages[errors->n_messages++] = finished ? finished : message;
    if (errors->status == MD_OK || status < errors->status) errors->status = status;
    pthread_mutex_unlock(&errors->lock);
    return status;
}

int md_errors_count(const MdErrors *errors) { return errors->n_messages; }
const char *md_errors_text(const MdErrors *errors, int k) { return errors->messages[k]; }
MdStatus md_errors_status(const MdErrors *errors) { return errors->status; }

void md_errors_print(MdErrors *errors, FILE *stream) {
    for (; errors->n_printed < errors->n_messages; errors->n_printed++)
        fprintf(stream, "mdmini: error: %s\n", errors->messages[errors->n_printed]);
}

static void (*end_process)(int code) = exit;

void md_panic_ends_by(void (*end)(int code)) { end_process = end ? end : exit; }

void md_panic_at(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "mdmini: internal error at %s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    end_process(MD_ERROR_INTERNAL);
    abort();
}
