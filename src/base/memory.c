#define _POSIX_C_SOURCE 200809L
#include "base/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/status.h"

void *md_alloc(size_t count, size_t size, const char *what) {
    void *pointer = NULL;
    if (size != 0 && count > (SIZE_MAX - 64) / size) md_panic("%s: %zu times %zu bytes is no size", what, count, size);
    size_t bytes = count * size;
    if (bytes == 0) bytes = 1;
    if (posix_memalign(&pointer, 64, bytes) != 0) md_panic("no memory for %s (%zu bytes)", what, bytes);
    memset(pointer, 0, bytes);
    return pointer;
}

void md_free(void *pointer) { free(pointer); }

char *md_copy_text(const char *text) { return md_format("%s", text); }

char *md_format(const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = malloc((size_t)length + 1);
    if (!text) md_panic("out of memory");
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

/* One number from a file such as memory.max; `max` and a missing file count as unlimited. */
static uint64_t read_bytes(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) return UINT64_MAX;
    uint64_t bytes = UINT64_MAX;
    if (fscanf(file, "%" SCNu64, &bytes) != 1) bytes = UINT64_MAX;
    fclose(file);
    return bytes;
}

uint64_t md_host_memory_available_bytes(void) {
    uint64_t available = UINT64_MAX, kibibytes;
    FILE *file = fopen("/proc/meminfo", "r");
    if (file) {
        char line[256];
        while (fgets(line, sizeof line, file))
            if (sscanf(line, "MemAvailable: %" SCNu64, &kibibytes) == 1) available = kibibytes * 1024;
        fclose(file);
    }
    uint64_t limit = read_bytes("/sys/fs/cgroup/memory.max"), used = read_bytes("/sys/fs/cgroup/memory.current");
    if (limit == UINT64_MAX) {
        limit = read_bytes("/sys/fs/cgroup/memory/memory.limit_in_bytes");
        used = read_bytes("/sys/fs/cgroup/memory/memory.usage_in_bytes");
    }
    if (limit != UINT64_MAX && used != UINT64_MAX) {
        uint64_t rest = limit > used ? limit - used : 0;
        if (rest < available) available = rest;
    }
    return available;
}

uint64_t md_host_memory_peak_bytes(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
    return (uint64_t)usage.ru_maxrss * 1024;
}
