#include "base/stream.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

char *md_stream_read(FILE *file, size_t limit, size_t *size) {
    size_t capacity = 1 << 16, n = 0;
    char *text = malloc(capacity);
    errno = 0;
    while (text) {
        const size_t room = capacity - 1 - n, wanted = room < limit - n ? room : limit - n;
        const size_t got = fread(text + n, 1, wanted, file);
        n += got;
        if (got < wanted || n == limit) break;
        char *grown = realloc(text, capacity *= 2);
        if (!grown) free(text);
        text = grown;
    }
    if (!text || ferror(file)) {
        free(text);
        return NULL;
    }
    text[n] = 0;
    *size = n;
    return text;
}

char *md_file_read(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *text = file ? md_stream_read(file, SIZE_MAX, size) : NULL;
    const int reason = errno;
    if (file) fclose(file);
    errno = reason;
    return text;
}
