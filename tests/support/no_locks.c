/* In front of the C library (LD_PRELOAD): a file system without locks. MDMINI_TEST_FLOCK, MDMINI_TEST_FCNTL: the errno with which
 * flock, and the locks of fcntl, fail; where one is not set, these locks work. */
#define _GNU_SOURCE 1
#undef _FILE_OFFSET_BITS /* which renames fcntl to fcntl64 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/file.h>

static int refuse(const char *number) {
    errno = atoi(number);
    return -1;
}

int flock(int file, int how) {
    static int (*next)(int, int);
    if (!next) next = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
    const char *number = getenv("MDMINI_TEST_FLOCK");
    return number ? refuse(number) : next(file, how);
}

static int pass_on(int file, int command, void *argument) {
    static int (*next)(int, int, ...);
    if (!next) next = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl");
    const char *number = getenv("MDMINI_TEST_FCNTL");
    const bool is_lock = command == F_SETLK || command == F_SETLKW || command == F_GETLK || command == F_OFD_SETLK ||
                         command == F_OFD_SETLKW || command == F_OFD_GETLK;
    return is_lock && number ? refuse(number) : next(file, command, argument);
}

int fcntl(int file, int command, ...) {
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    return pass_on(file, command, argument);
}

int fcntl64(int file, int command, ...);
int fcntl64(int file, int command, ...) {
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    return pass_on(file, command, argument);
}
