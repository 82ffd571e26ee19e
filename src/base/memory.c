#define _POSIX_C_SOURCE 200809L
#include "base/memory.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/status.h"

/* The C library maps large blocks one by one, but having seen one freed it puts the next ones of up to 32 MiB side by side,
 * where those that stay keep the room of those that go: for a million atoms that was tens of MiB. Set, the limit stays. */
void md_memory_start(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

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

char *md_shell_word(const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (*text && text[strspn(text, plain)] == '\0') return md_copy_text(text);
    char *word = md_format("'");
    for (const char *rest = text; *rest;) {
        const int length = (int)strcspn(rest, "'");
        char *longer = md_format("%s%.*s%s", word, length, rest, rest[length] ? "'\\''" : "");
        free(word);
        word = longer;
        rest += length + (rest[length] != '\0');
    }
    char *closed = md_format("%s'", word);
    free(word);
    return closed;
}

char *md_shell_path(const char *path) {
    char *file = md_format("%s%s", *path == '-' ? "./" : "", path), *word = md_shell_word(file);
    free(file);
    return word;
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

/* `inactive_file` of a memory.stat: pages of files that the kernel gives back when memory is asked for. */
static uint64_t read_reclaimable(const char *path) {
    FILE *file = fopen(path, "r");
    char line[256];
    uint64_t bytes = 0, value;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "inactive_file %" SCNu64, &value) == 1) bytes = value;
    if (file) fclose(file);
    return bytes;
}

/* What one control group still allows; UINT64_MAX for no limit. */
static uint64_t group_rest(const char *folder, const char *limit_name, const char *used_name) {
    char *limit_path = md_format("%s/%s", folder, limit_name), *used_path = md_format("%s/%s", folder, used_name);
    char *stat_path = md_format("%s/memory.stat", folder);
    uint64_t limit = read_bytes(limit_path), used = read_bytes(used_path), rest = UINT64_MAX;
    if (limit != UINT64_MAX && used != UINT64_MAX) {
        uint64_t reclaimable = read_reclaimable(stat_path);
        used -= reclaimable < used ? reclaimable : used;
        rest = limit > used ? limit - used : 0;
    }
    free(limit_path);
    free(used_path);
    free(stat_path);
    return rest;
}

/* The least that the control group of this process and those above it allow: a batch system sets its limit on any of
 * them. /proc/self/cgroup holds `0::/path` (version 2) and `N:memory:/path` (version 1). */
static uint64_t groups_rest(void) {
    FILE *file = fopen("/proc/self/cgroup", "r");
    char line[4096];
    uint64_t least = UINT64_MAX;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *second = strchr(line, ':'), *path = second ? strchr(second + 1, ':') : NULL;
        if (!path) continue;
        bool unified = strncmp(line, "0::", 3) == 0, memory = strncmp(second, ":memory:", 8) == 0;
        for (path++; unified || memory;) {
            char *folder =
                md_format("/sys/fs/cgroup%s%s", unified ? "" : "/memory", strcmp(path, "/") == 0 ? "" : path);
            uint64_t rest = unified ? group_rest(folder, "memory.max", "memory.current")
                                    : group_rest(folder, "memory.limit_in_bytes", "memory.usage_in_bytes");
            if (rest < least) least = rest;
            free(folder);
            char *slash = strrchr(path, '/');
            if (!slash || path[0] == '\0') break;
            *slash = '\0'; /* the group above; the root is the empty path */
        }
    }
    if (file) fclose(file);
    return least;
}

uint64_t md_host_memory_available_bytes(void) {
    uint64_t available = UINT64_MAX, kibibytes;
    FILE *file = fopen("/proc/meminfo", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kibibytes) == 1) available = kibibytes * 1024;
    if (file) fclose(file);
    uint64_t rest = groups_rest();
    return rest < available ? rest : available;
}

uint64_t md_host_memory_peak_bytes(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
    return (uint64_t)usage.ru_maxrss * 1024;
}
