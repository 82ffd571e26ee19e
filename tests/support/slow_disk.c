/* In front of the C library (LD_PRELOAD): rank 0 writes to files some milliseconds late, as to a disk that is slower than the steps. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

ssize_t pwrite(int file, const void *data, size_t n, off_t at) {
    static ssize_t (*next)(int, const void *, size_t, off_t);
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!next) next = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    if (rank && atoi(rank) == 0) nanosleep(&(struct timespec){.tv_nsec = 8000000}, NULL);
    return next(file, data, n, at);
}
