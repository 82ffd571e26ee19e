#define _DEFAULT_SOURCE 1 /* madvise */
#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/status.h"

/* The C library maps large blocks one by one, but having seen one freed it puts the next ones of up to 32 MiB side by side,
 * where blocks that stay keep the memory of freed ones: tens of MiB for a million atoms. A limit that is set stays. */
void md_memory_start(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

enum { LARGE_BYTES = 2 << 20 }; /* a huge page; the C library maps such blocks one by one */

/* Before the first touch. In pages of 4 KiB each pass over the list of a large system looks up thousands of them in the page table.
 * Many a Linux gives huge ones only to those who ask; where there are none, nothing changes. */
static void ask_for_huge_pages(void *pointer, size_t bytes) {
#ifdef MADV_HUGEPAGE
    const size_t before = (uintptr_t)pointer % (uintptr_t)sysconf(_SC_PAGESIZE);
    madvise((char *)pointer - before, before + bytes, MADV_HUGEPAGE);
#else
    (void)pointer, (void)bytes;
#endif
}

void *md_alloc(size_t count, size_t size, const char *what) {
    void *pointer = NULL;
    if (size != 0 && count > (SIZE_MAX - 64) / size) md_panic("%s: %zu times %zu bytes is no size", what, count, size);
    size_t bytes = count * size;
    if (bytes == 0) bytes = 1;
    if (posix_memalign(&pointer, 64, bytes) != 0) md_panic("no memory for %s (%zu bytes)", what, bytes);
    if (bytes >= LARGE_BYTES) ask_for_huge_pages(pointer, bytes);
    memset(pointer, 0, bytes);
    return pointer;
}

void md_free(void *pointer) { free(pointer); }

char *md_copy_text(const char *text) { return md_format("%s", text); }

char *md_format(const char *format, ...) {
    MdText text = {0};
    va_list arguments;
    va_start(arguments, format);
    md_text_add_list(&text, format, arguments);
    va_end(arguments);
    return text.text;
}

void md_text_add_list(MdText *text, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    const int n = vsnprintf(NULL, 0, format, arguments);
    if (n < 0) md_panic("a text that cannot be formatted: %s", format);
    const size_t length = (size_t)n;
    if (text->length + length + 1 > text->capacity) {
        text->capacity = 2 * text->length + length + 1;
        text->text = realloc(text->text, text->capacity);
        if (!text->text) md_panic("out of memory");
    }
    vsnprintf(text->text + text->length, length + 1, format, again);
    va_end(again);
    text->length += length;
}

void md_text_add(MdText *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    md_text_add_list(text, format, arguments);
    va_end(arguments);
}

char *md_text_take(MdText *text) {
    char *taken = text->text ? text->text : md_copy_text("");
    *text = (MdText){0};
    return taken;
}

uint64_t md_host_memory_peak_bytes(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
    return (uint64_t)usage.ru_maxrss * 1024;
}
