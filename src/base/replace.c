#include "base/replace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

MdStatus md_replace_file(const char *path, void (*write)(FILE *file, const void *data), const void *data,
                         MdErrors *errors) {
    char *aside = md_format("%s.tmp", path);
    errno = 0;
    FILE *file = fopen(aside, "w");
    int reason = file ? 0 : errno;
    if (file) write(file, data);
    if (file && ferror(file)) reason = errno ? errno : EIO; /* of the write that failed: nothing else fails here */
    if (file && fclose(file) != 0 && !reason) reason = errno;
    if (!reason && rename(aside, path) != 0) reason = errno;
    if (reason && file) remove(aside);
    free(aside);
    return reason ? md_fail(errors, MD_ERROR_OUTPUT, "%s: %s", path, strerror(reason)) : MD_OK;
}
