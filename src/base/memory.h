/* Checked host memory: zeroed, aligned to 64 bytes (a cache line, and the widest vector register). */
#ifndef MD_BASE_MEMORY_H
#define MD_BASE_MEMORY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* At the start of the program: memory of large blocks goes back to the system when they are freed, as the announced
 * memory takes for granted. */
void md_memory_start(void);

/* count * size bytes; `what` names the array in the message when there is no memory (exit code 1). Never NULL. */
void *md_alloc(size_t count, size_t size, const char *what);
void md_free(void *pointer); /* accepts NULL */

/* A copy of text in memory from malloc; free with free(). */
char *md_copy_text(const char *text);

/* printf into memory from malloc; free with free(). */
char *md_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Text that grows. */
typedef struct MdText {
    char *text; /* from malloc once something was added; else NULL */
    size_t length, capacity;
} MdText;

void md_text_add(MdText *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void md_text_add_list(MdText *text, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));
/* The text, never NULL; the caller's to free. */
char *md_text_take(MdText *text);

/* Largest resident set so far, in bytes. */
uint64_t md_host_memory_peak_bytes(void);

#endif
