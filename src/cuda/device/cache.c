#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "cuda/device/cache.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/memory.h"

/* --- the folder ------------------------------------------------------------------------------------------------------ */

/* Makes the folder and those above it, for this user only. */
static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
}

/* Whether code may be taken from there: a folder of this user that no other user can write to. */
static bool is_ours(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
           (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 && access(path, R_OK | W_OK | X_OK) == 0;
}

/* The XDG base directory specification: a relative path in the variable is ignored. */
static bool default_folder(char *path, size_t size) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (cache && cache[0] == '/') length = snprintf(path, size, "%s/mdmini", cache);
    else if (home && home[0] == '/' && home[1]) length = snprintf(path, size, "%s/.cache/mdmini", home);
    return length > 0 && (size_t)length < size;
}

/* Of PREFIX/bin/mdmini PREFIX/share/mdmini/kernels, where only the owner of the program can put code. */
static bool find_installed(char *path, size_t size) {
    static const char below[] = "/share/mdmini/kernels";
    struct stat program, folder;
    const ssize_t length = readlink("/proc/self/exe", path, size - sizeof below);
    path[length > 0 ? length : 0] = '\0';
    if (stat(path, &program) != 0) return false;
    for (int k = 0; k < 2; k++) {
        char *slash = strrchr(path, '/');
        if (!slash) return false;
        *slash = '\0';
    }
    strcat(path, below);
    return stat(path, &folder) == 0 && S_ISDIR(folder.st_mode) && folder.st_uid == program.st_uid &&
           (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void cuda_cache_open(CudaCache *cache) {
    const char *asked = getenv("MDMINI_KERNEL_CACHE");
    *cache = (CudaCache){.is_default = !asked};
    if ((asked && !asked[0]) || !find_installed(cache->installed, sizeof cache->installed)) cache->installed[0] = '\0';
    if (asked) {
        if (strlen(asked) < sizeof cache->folder) strcpy(cache->folder, asked);
        return;
    }
    if (default_folder(cache->folder, sizeof cache->folder)) make_folders(cache->folder);
    if (cache->folder[0] && !is_ours(cache->folder)) cache->folder[0] = '\0';
}

/* --- images ---------------------------------------------------------------------------------------------------------- */

enum { PATH_BYTES = sizeof((CudaCache *)0)->folder + 256 };

static void path_of(const char *folder, const char *name, char path[PATH_BYTES]) {
    snprintf(path, PATH_BYTES, "%s/%s", folder, name);
}

static bool read_image(const char *folder, const char *name, CudaImage *image) {
    char path[PATH_BYTES];
    struct stat facts;
    uint64_t checksum;
    if (!folder[0]) return false;
    path_of(folder, name, path);
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    bool whole = fstat(fileno(file), &facts) == 0 && facts.st_size > (off_t)sizeof checksum;
    if (whole) {
        image->size = (size_t)facts.st_size - sizeof checksum;
        image->bytes = md_alloc(image->size, 1, "kernels");
        whole = fread(image->bytes, 1, image->size, file) == image->size &&
                fread(&checksum, sizeof checksum, 1, file) == 1 && checksum == md_checksum(image->bytes, image->size);
    }
    if (whole) futimens(fileno(file), NULL); /* used now */
    fclose(file);
    if (!whole) cuda_image_free(image);
    return whole;
}

bool cuda_cache_read(const CudaCache *cache, const char *name, CudaImage *image) {
    if (read_image(cache->folder, name, image)) return true;
    return image->is_installed = read_image(cache->installed, name, image);
}

void cuda_cache_write(const CudaCache *cache, const char *name, const CudaImage *image) {
    char path[PATH_BYTES], aside[PATH_BYTES + 24];
    if (!cache->folder[0]) return;
    path_of(cache->folder, name, path);
    snprintf(aside, sizeof aside, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(aside, "wbx"); /* one of another host with this number will do */
    if (!file) return;
    const uint64_t checksum = md_checksum(image->bytes, image->size);
    bool whole =
        fwrite(image->bytes, 1, image->size, file) == image->size && fwrite(&checksum, sizeof checksum, 1, file) == 1;
    whole = fclose(file) == 0 && whole;
    if (!whole || rename(aside, path) != 0) remove(aside);
}

/* --- its size -------------------------------------------------------------------------------------------------------- */

typedef struct Kept {
    char name[256];
    long long bytes;
    struct timespec used;
} Kept;

static int by_last_use(const void *a, const void *b) {
    const struct timespec *x = &((const Kept *)a)->used, *y = &((const Kept *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* All files of the folder, also half-written ones after a crash; from malloc. */
static Kept *list_files(const CudaCache *cache, size_t *n, long long *bytes) {
    char path[PATH_BYTES];
    size_t room = 0;
    Kept *files = NULL;
    DIR *folder = opendir(cache->folder);
    *n = 0;
    *bytes = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct stat facts;
        path_of(cache->folder, entry->d_name, path);
        if (lstat(path, &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
        if (*n == room) {
            Kept *more = realloc(files, (room = 2 * room + 64) * sizeof *files);
            if (!more) break;
            files = more;
        }
        Kept *file = &files[(*n)++];
        snprintf(file->name, sizeof file->name, "%s", entry->d_name);
        file->bytes = facts.st_size;
        file->used = facts.st_mtim;
        *bytes += facts.st_size;
    }
    if (folder) closedir(folder);
    return files;
}

void cuda_cache_trim(long long most_bytes) {
    CudaCache cache;
    char path[PATH_BYTES];
    size_t n;
    long long bytes;
    cuda_cache_open(&cache);
    if (!cache.folder[0] || !cache.is_default) return;
    Kept *files = list_files(&cache, &n, &bytes);
    if (bytes > most_bytes) {
        qsort(files, n, sizeof *files, by_last_use);
        for (size_t k = 0; k < n && bytes > most_bytes / 4 * 3; k++) {
            path_of(cache.folder, files[k].name, path);
            if (remove(path) == 0) bytes -= files[k].bytes;
        }
    }
    free(files);
}

static uint64_t hash_byte(uint64_t hash, char byte) { return (hash ^ (unsigned char)byte) * UINT64_C(0x100000001b3); }

static uint64_t hash_end(uint64_t hash) { return hash_byte(hash, (char)0xff); } /* so that texts cannot run together */

uint64_t cuda_cache_hash(uint64_t hash, const char *text) {
    for (; *text; text++) hash = hash_byte(hash, *text);
    return hash_end(hash);
}

/* Where a comment that begins at text ends. */
static const char *comment_end(const char *text) {
    if (text[1] == '/') return text + strcspn(text, "\n");
    const char *end = strstr(text + 2, "*/");
    return end ? end + 2 : text + strlen(text);
}

uint64_t cuda_cache_hash_source(uint64_t hash, const char *source) {
    char quote = '\0'; /* that ends the string or character in which it is */
    while (*source) {
        if (!quote && source[0] == '/' && (source[1] == '/' || source[1] == '*')) {
            const char *end = comment_end(source);
            for (hash = hash_byte(hash, ' '); source < end; source++)
                if (*source == '\n') hash = hash_byte(hash, '\n');
            continue;
        }
        if (quote && source[0] == '\\' && source[1]) hash = hash_byte(hash, *source++);
        else if (source[0] == quote || source[0] == '\n') quote = '\0'; /* a lone apostrophe ends with its line */
        else if (!quote && (source[0] == '"' || source[0] == '\'')) quote = source[0];
        hash = hash_byte(hash, *source++);
    }
    return hash_end(hash);
}

void cuda_image_free(CudaImage *image) {
    md_free(image->bytes);
    md_free(image->messages);
    *image = (CudaImage){0};
}
