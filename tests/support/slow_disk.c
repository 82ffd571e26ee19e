/* In front of the C library (LD_PRELOAD): rank 0 writes to files some milliseconds late, as to a disk that is slower than the steps.
 * MDMINI_TEST_SYNC_S: how long rank 0 waits until a .h5 file is on the disk; MDMINI_TEST_FLUSH_S: how long its
 * writer waits until HDF5 has written what it holds.
 * MDMINI_TEST_LOST_RANK: what this rank has written to a .h5 file never reaches the disk, and fdatasync says so. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int is_rank(const char *number) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    return rank && number && atoi(rank) == atoi(number);
}

/* Names for the linker; HDF5 calls one of the two. Where _FILE_OFFSET_BITS is 64, headers rename pwrite to pwrite64. */
ssize_t slow_pwrite(int file, const void *data, size_t n, off_t at) __asm__("pwrite");
ssize_t slow_pwrite64(int file, const void *data, size_t n, off64_t at) __asm__("pwrite64");

ssize_t slow_pwrite64(int file, const void *data, size_t n, off64_t at) {
    static ssize_t (*next)(int, const void *, size_t, off64_t);
    if (!next) next = (ssize_t(*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    if (is_rank("0")) nanosleep(&(struct timespec){.tv_nsec = 8000000}, NULL);
    return next(file, data, n, at);
}

ssize_t slow_pwrite(int file, const void *data, size_t n, off_t at) { return slow_pwrite64(file, data, n, at); }

int H5Fflush(int64_t object, int scope);
int H5Fflush(int64_t object, int scope) {
    static int (*next)(int64_t, int);
    if (!next) next = (int (*)(int64_t, int))dlsym(RTLD_NEXT, "H5Fflush");
    if (is_rank("0") && gettid() != getpid() && getenv("MDMINI_TEST_FLUSH_S")) sleep((unsigned)atoi(getenv("MDMINI_TEST_FLUSH_S")));
    return next(object, scope);
}

int fdatasync(int file) {
    static int (*next)(int);
    char link[32], path[4096];
    if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t n = readlink(link, path, sizeof path);
    if (n < 3 || memcmp(path + n - 3, ".h5", 3) != 0) return next(file);
    if (is_rank("0") && getenv("MDMINI_TEST_SYNC_S")) sleep((unsigned)atoi(getenv("MDMINI_TEST_SYNC_S")));
    if (!is_rank(getenv("MDMINI_TEST_LOST_RANK"))) return next(file);
    errno = EIO;
    return -1;
}
