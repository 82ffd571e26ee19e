#define _DEFAULT_SOURCE 1
#include "output/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

char *md_path_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return md_copy_text(".");
    return slash == path ? md_copy_text("/") : md_format("%.*s", (int)(slash - path), path);
}

bool md_path_sync_folder(const char *path) {
    char *folder = md_path_folder(path);
    const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (descriptor < 0) return false;
    const bool synced = fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP;
    const int error = errno;
    close(descriptor);
    errno = error;
    return synced;
}

bool md_path_same(const char *a, const char *b) {
    struct stat of_a, of_b;
    if (stat(a, &of_a) == 0 && stat(b, &of_b) == 0) return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    char *folder_a = md_path_folder(a), *folder_b = md_path_folder(b);
    const char *base_a = strrchr(a, '/') ? strrchr(a, '/') + 1 : a, *base_b = strrchr(b, '/') ? strrchr(b, '/') + 1 : b;
    bool same = strcmp(base_a, base_b) == 0 && stat(folder_a, &of_a) == 0 && stat(folder_b, &of_b) == 0 &&
                of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    free(folder_a);
    free(folder_b);
    return same;
}

const char *md_path_lost(const char *path, int descriptor) {
    struct stat open_file, named;
    if (fstat(descriptor, &open_file) != 0) return strerror(errno);
    if (open_file.st_nlink == 0) return "was deleted while the run wrote to it";
    if (stat(path, &named) != 0) return "was moved while the run wrote to it";
    bool same = named.st_dev == open_file.st_dev && named.st_ino == open_file.st_ino;
    return same ? NULL : "was replaced by another file while the run wrote to it";
}
