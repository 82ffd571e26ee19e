/* The cache of compiled kernels: where it is, what it takes for an image, how it stays small, and jobs that start together. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#ifdef MDMINI_HAVE_CUDA
#include "base/memory.h"
#include "base/threads.h"
#include "cuda/device/cache.h"

static char home[64];

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    if (CHECK(file != NULL)) fputs(text, file), fclose(file);
}

static CudaImage make_image(size_t size, int seed) {
    CudaImage image = {.bytes = md_alloc(size, 1, "image"), .size = size};
    for (size_t k = 0; k < size; k++) image.bytes[k] = (char)(k * 31 + (size_t)seed);
    return image;
}

/* Whether the cache has that image, to the byte. */
static bool has(const CudaCache *cache, const char *name, size_t size, int seed) {
    CudaImage found = {0}, wanted = make_image(size, seed);
    const bool is_there =
        cuda_cache_read(cache, name, &found) && found.size == size && memcmp(found.bytes, wanted.bytes, size) == 0;
    cuda_image_free(&found);
    cuda_image_free(&wanted);
    return is_there;
}

static void put(const CudaCache *cache, const char *name, size_t size, int seed) {
    CudaImage image = make_image(size, seed);
    cuda_cache_write(cache, name, &image);
    cuda_image_free(&image);
}

static CudaCache open_cache(void) {
    CudaCache cache;
    cuda_cache_open(&cache);
    return cache;
}

static bool folder_is(const char *below_home) {
    char path[256] = "";
    if (below_home) snprintf(path, sizeof path, "%s/%s", home, below_home);
    return strcmp(open_cache().folder, path) == 0;
}

static void check_folder(void) {
    char path[256];
    struct stat facts;
    setenv("HOME", home, 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("MDMINI_KERNEL_CACHE");
    snprintf(path, sizeof path, "%s/.cache/mdmini", home);
    CHECK(folder_is(".cache/mdmini") && stat(path, &facts) == 0 && (facts.st_mode & 0777) == 0700);
    setenv("XDG_CACHE_HOME", "relative", 1); /* which the specification has ignored */
    CHECK(folder_is(".cache/mdmini"));
    chmod(path, 0777); /* others could put code there */
    CHECK(folder_is(NULL));
    chmod(path, 0700);
    snprintf(path, sizeof path, "%s/a/b", home);
    setenv("XDG_CACHE_HOME", path, 1);
    CHECK(folder_is("a/b/mdmini"));
    snprintf(path, sizeof path, "%s/file", home); /* not to be written, not by root either */
    write_text(path, "");
    setenv("XDG_CACHE_HOME", path, 1);
    CHECK(folder_is(NULL));
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    CHECK(folder_is(NULL));
    setenv("MDMINI_KERNEL_CACHE", home, 1);
    CHECK(strcmp(open_cache().folder, home) == 0 && !open_cache().is_default);
    setenv("MDMINI_KERNEL_CACHE", "", 1);
    setenv("HOME", home, 1);
    CHECK(folder_is(NULL));
    unsetenv("MDMINI_KERNEL_CACHE");
}

/* What a crash or a full disk has left is no image, and is replaced. */
static void check_damage(void) {
    const CudaCache cache = open_cache();
    char path[4096];
    put(&cache, "unit.image", 1000, 1);
    CHECK(has(&cache, "unit.image", 1000, 1) && !has(&cache, "other.image", 1000, 1));
    snprintf(path, sizeof path, "%s/unit.image", cache.folder);
    for (int kind = 0; kind < 4; kind++) {
        FILE *file = fopen(path, "r+b");
        if (!CHECK(file != NULL)) return;
        if (kind == 0) fseek(file, 500, SEEK_SET), fputc('!', file);
        fclose(file);
        if (kind > 0) CHECK(truncate(path, kind == 1 ? 0 : kind == 2 ? 5 : 999) == 0);
        CHECK(!has(&cache, "unit.image", 1000, 1));
        put(&cache, "unit.image", 1000, 1);
        CHECK(has(&cache, "unit.image", 1000, 1));
    }
}

static void set_last_use(const CudaCache *cache, const char *name, long seconds) {
    char path[4096];
    const struct timespec times[2] = {{seconds, 0}, {seconds, 0}};
    snprintf(path, sizeof path, "%s/%s", cache->folder, name);
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

/* Of ten images of 1,008 bytes 7,000 bytes stay: those that were used last, not those that were made last. */
static void check_size(void) {
    const CudaCache cache = open_cache();
    char name[32];
    cuda_cache_trim(0);
    CHECK(!has(&cache, "unit.image", 1000, 1));
    for (int k = 0; k < 10; k++) {
        snprintf(name, sizeof name, "%d.image", k);
        put(&cache, name, 1000, k);
        set_last_use(&cache, name, 1000 + k);
    }
    CHECK(has(&cache, "0.image", 1000, 0)); /* used */
    cuda_cache_trim(10 * 1008);
    for (int k = 0; k < 10; k++) {
        snprintf(name, sizeof name, "%d.image", k);
        if (k > 0) set_last_use(&cache, name, 1000 + k);
    }
    cuda_cache_trim(10 * 1008 - 1);
    for (int k = 0; k < 10; k++) {
        snprintf(name, sizeof name, "%d.image", k);
        CHECK(has(&cache, name, 1000, k) == (k == 0 || k > 3));
    }
    setenv("MDMINI_KERNEL_CACHE", cache.folder, 1); /* a folder that the user names is his */
    cuda_cache_trim(0);
    unsetenv("MDMINI_KERNEL_CACHE");
    CHECK(has(&cache, "9.image", 1000, 9));
}

/* Eight processes write and read the same image: it is whole, or not there. */
static void check_jobs(void) {
    const CudaCache cache = open_cache();
    int n_bad = 0;
    cuda_cache_trim(0);
    for (int job = 0; job < 8; job++) {
        if (fork() != 0) continue;
        for (int k = 0; k < 100; k++) {
            CudaImage found = {0};
            put(&cache, "shared.image", 100000, 7);
            if (cuda_cache_read(&cache, "shared.image", &found) &&
                (found.size != 100000 || found.bytes[99999] != (char)(99999 * 31 + 7)))
                _exit(1);
            cuda_image_free(&found);
        }
        _exit(has(&cache, "shared.image", 100000, 7) ? 0 : 1);
    }
    for (int status; wait(&status) > 0;) n_bad += status != 0;
    CHECK(n_bad == 0);
    char command[4200];
    snprintf(command, sizeof command, "test $(ls '%s' | wc -l) -eq 1", cache.folder); /* nothing half written is left */
    CHECK(system(command) == 0);
}

static bool same(const char *a, const char *b) { return cuda_cache_hash_source(1, a) == cuda_cache_hash_source(1, b); }

/* What a comment says is no reason to compile again; where it ends is. */
static void check_hash(void) {
    CHECK(same("int a; /* one */\n", "int a; /* another: \"*\" */\n") && same("a // b\nc", "a // d \" '\nc"));
    CHECK(!same("/* a */ b", "/* a\n*/ b") && !same("/* a */ b", "/* a */ c") && !same("a /* b", "a /* b */ c"));
    CHECK(!same("f(\"/* a */\")", "f(\"/* b */\")") && !same("f(\"\\\"//a\")", "f(\"\\\"//b\")"));
    CHECK(!same("'\"' /* a */ + b", "'\"' /* a */ + c") && same("'\"' /* a */", "'\"' /* b */"));
    CHECK(same("#error don't\n/* a */ b", "#error don't\n/* c */ b") && !same("1'000\n\"//a\"", "1'000\n\"//b\""));
    CHECK(!same("a/b", "a/c") && !same("a/", "a") && !same("int/**/a", "inta") &&
          cuda_cache_hash(1, "ab") != cuda_cache_hash(1, "ac"));
    CHECK(cuda_cache_hash(cuda_cache_hash(1, "ab"), "c") != cuda_cache_hash(cuda_cache_hash(1, "a"), "bc"));
}

static void mark(void *user, int k) { ((int *)user)[k]++; }

static void check_tasks(void) {
    int times[100] = {0};
    md_threads_run_tasks(100, mark, times);
    md_threads_run_tasks(0, mark, times);
    for (int k = 0; k < 100; k++) CHECK(times[k] == 1);
}

int main(void) {
    char command[128];
    snprintf(home, sizeof home, "/tmp/mdmini-home-XXXXXX");
    if (!CHECK(mkdtemp(home) != NULL)) return check_finish();
    check_folder();
    check_damage();
    check_size();
    check_jobs();
    check_tasks();
    check_hash();
    snprintf(command, sizeof command, "rm -rf %s", home);
    CHECK(system(command) == 0);
    return check_finish();
}
#else
int main(void) {
    printf("built without the cuda backend: no kernels to keep\n");
    return 77;
}
#endif
