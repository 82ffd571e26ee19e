#define _GNU_SOURCE 1 /* locks of open files */
#include "output/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/memory.h"
#include "output/path.h"

bool md_lock_take(int descriptor) {
#ifdef F_OFD_SETLK
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(descriptor, F_OFD_SETLK, &lock) != 0) return errno != EAGAIN && errno != EACCES;
#endif
    (void)descriptor;
    return true;
}

bool md_lock_is_held(int descriptor) {
#ifdef F_OFD_GETLK
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    if (fcntl(descriptor, F_OFD_GETLK, &lock) == 0) return lock.l_type != F_UNLCK;
#endif
    (void)descriptor;
    return false;
}

static const char hdf5_choice[] = "HDF5_USE_FILE_LOCKING";

static bool hdf5_locks(void) {
    const char *choice = getenv(hdf5_choice);
    return !choice || (strcmp(choice, "FALSE") != 0 && strcmp(choice, "0") != 0);
}

/* A file without a name where the file system has such, or one that loses its name at once. */
static int open_unnamed(const char *path) {
    char *folder = md_path_folder(path), *name = md_format("%s/.mdmini-XXXXXX", folder);
    int descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor < 0 && (descriptor = mkstemp(name)) >= 0) unlink(name);
    free(folder);
    free(name);
    return descriptor;
}

/* Both kinds of locks, as above. Kernels before 3.15 do not have locks of open files. */
int md_lock_fault(const char *path) {
    int fault = 0, descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) descriptor = open_unnamed(path);
    if (descriptor < 0) return 0;
    if (flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno != EWOULDBLOCK) fault = errno;
#ifdef F_OFD_SETLK
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    if (!fault && fcntl(descriptor, F_OFD_SETLK, &lock) != 0 && errno != EAGAIN && errno != EACCES && errno != EINVAL)
        fault = errno;
#endif
    close(descriptor);
    return fault;
}

MdStatus md_lock_check_choice(const char *path, int fault, MdErrors *errors) {
    const char *choice = getenv(hdf5_choice);
    const bool is_ignored = choice && strcmp(choice, "BEST_EFFORT") == 0 && fault == ENOSYS;
    if (!fault || !choice || !hdf5_locks() || is_ignored) return MD_OK;
    return md_fail(errors, MD_ERROR_INPUT,
                   "%s: its file system has no locks (%s), and %s=%s asks HDF5 for them: unset that, or set FALSE",
                   path, strerror(fault), hdf5_choice, choice);
}

/* HDF5 locks by flock(2): readers share a lock, a writer's lock is exclusive. NFS gives the latter only to processes that may write. */
bool md_lock_is_open_elsewhere(const char *path) {
    if (!hdf5_locks()) return false;
    int descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return false;
    const bool taken = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(descriptor);
    return taken;
}

/* --- the name of a run ---------------------------------------------------------------------------------------------- */

static char *name_path(const char *stem) {
    const char *slash = strrchr(stem, '/');
    const int n_folder = slash ? (int)(slash + 1 - stem) : 0;
    return md_format("%.*s.%s.lock", n_folder, stem, stem + n_folder);
}

/* The file names its holder. */
static MdStatus fail_held(const char *stem, int descriptor, MdErrors *errors) {
    char who[128] = "";
    const ssize_t n = pread(descriptor, who, sizeof who - 1, 0);
    if (n > 0) who[strcspn(who, "\n")] = 0;
    return md_fail(errors, MD_ERROR_INPUT,
                   "%s.*: another run writes files of this name%s%s: wait for its end, or choose another output.name, "
                   "output.directory or path; if one mpirun started both, take that of their MPI (mdmini --version)",
                   stem, *who ? ": " : "", who);
}

static void note_owner(int descriptor) {
    char host[64] = "", who[128];
    gethostname(host, sizeof host - 1);
    const int n = snprintf(who, sizeof who, "process %ld on %s\n", (long)getpid(), host);
    /* That it is held is enough where the disk has no room to say by whom. */
    if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, who, (size_t)n, 0) != n) errno = 0;
}

MdStatus md_lock_check_name(const char *stem, MdErrors *errors) {
    char *path = name_path(stem);
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const bool held = descriptor >= 0 && md_lock_is_held(descriptor);
    const MdStatus status = held ? fail_held(stem, descriptor, errors) : MD_OK;
    if (descriptor >= 0) close(descriptor);
    free(path);
    return status;
}

/* The former holder may have removed the file between the opening and the lock: a lock counts only on the file at the path. */
MdStatus md_lock_take_name(const char *stem, MdNameLock *lock, MdErrors *errors) {
    MdStatus status = MD_OK;
    bool there = false;
    char *path = name_path(stem);
    for (int turn = 0; status == MD_OK && !there && turn < 100; turn++) {
        const int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (descriptor < 0) status = md_fail(errors, MD_ERROR_OUTPUT, "%s: %s", path, strerror(errno));
        else if (!md_lock_take(descriptor)) status = fail_held(stem, descriptor, errors);
        there = status == MD_OK && md_path_lost(path, descriptor) == NULL;
        if (there) *lock = (MdNameLock){path, descriptor};
        else if (descriptor >= 0) close(descriptor);
    }
    if (status == MD_OK && !there)
        status = md_fail(errors, MD_ERROR_OUTPUT, "%s: cannot be locked: it is replaced again and again", path);
    if (there) note_owner(lock->descriptor);
    else free(path);
    return status;
}

/* Removed while it is held: no other process has a lock on it. */
void md_lock_release_name(MdNameLock *lock) {
    if (!lock->path) return;
    unlink(lock->path);
    close(lock->descriptor);
    free(lock->path);
    *lock = (MdNameLock){0};
}
