/* Locks on files and on names of runs. They are advisory, and end with the process, also if it is killed. On a file system
 * without locks they have no effect. */
#ifndef MD_OUTPUT_LOCK_H
#define MD_OUTPUT_LOCK_H

#include <stdbool.h>

#include "base/status.h"

/* The mark of a trajectory that a running mdmini writes goes with the open file: false where another program holds it. */
bool md_lock_take(int descriptor);
/* Whether another program holds it. Readers go on undisturbed. */
bool md_lock_is_held(int descriptor);

/* Whether another program has the file open through HDF5, even for reading: HDF5 would refuse to open it for writing, and
 * overwriting it would corrupt the data for that program. False if HDF5_USE_FILE_LOCKING disables locks. */
bool md_lock_is_open_elsewhere(const char *path);

/* Why a file at path, or one that would be made there, cannot be locked: the errno of its file system (ENOLCK: NFS without a lock
 * service; EOPNOTSUPP, ENOSYS: it has no locks); 0: it can. Leaves no file. */
int md_lock_fault(const char *path);
/* MD_ERROR_INPUT where there is such a fault, and HDF5_USE_FILE_LOCKING has HDF5 lock all the same, and so fail. */
MdStatus md_lock_check_choice(const char *path, int fault, MdErrors *errors);

/* The name of a run, held by one run at a time: the lock on `.NAME.lock` in its folder, which is removed at the end. One that
 * a killed run has left is not held, and the next run takes it over. */
typedef struct MdNameLock {
    char *path; /* NULL: not held */
    int descriptor;
} MdNameLock;

/* stem: folder/NAME, or the path of a file. MD_ERROR_INPUT where another run holds the name: the message says which. */
MdStatus md_lock_take_name(const char *stem, MdNameLock *lock, MdErrors *errors);
/* The same without a lock; makes no file. */
MdStatus md_lock_check_name(const char *stem, MdErrors *errors);
void md_lock_release_name(MdNameLock *lock);

#endif
