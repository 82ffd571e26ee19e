/* HDF5 calls, checked, and the few patterns in which the trajectory uses them. Private to src/output/h5*. */
#ifndef MD_OUTPUT_H5CALLS_H
#define MD_OUTPUT_H5CALLS_H

#include <hdf5.h>
#include <stdbool.h>

#include "base/status.h"

/* Where failures go. The first is reported and sets `failed`; later calls, which fail as a consequence, add nothing.
 * So a sequence of calls is checked once, at its end. */
typedef struct MdH5Calls {
    const char *path;
    MdErrors *errors;
    bool failed;
    /* A call of HDF5 failed, not a check of its result; and the system's write failed: for example a full disk, not
     * the content of the file. */
    bool call_failed, write_failed;
} MdH5Calls;

/* Before the first call of HDF5 in the program: its own clean-up at exit crashes after a failed flush, and is turned off. */
void md_h5_start(void);

/* A fresh one, for a sequence of calls. Errors are ours to print: HDF5 is told so here, since it keeps that by thread, and
 * the thread that closes a file may be another than that which opened it. */
MdH5Calls md_h5_calls(const char *path, MdErrors *errors);

/* H5_CALL(calls, H5Fcreate(...)): the call's own result; a negative one is a failure, and its message names the file,
 * HDF5's innermost complaint (`No space left on device`) and the call. */
#define H5_CALL(calls, call) md_h5_check((calls), (int64_t)(call), #call, __FILE__, __LINE__)
hid_t md_h5_check(MdH5Calls *calls, int64_t result, const char *call, const char *file, int line);

/* The content of the file, not a call, is wrong: reported with the path in front, unless something has failed before. */
void md_h5_fail(MdH5Calls *calls, MdStatus status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* An empty dataset; the groups on its path are made where they are not there. */
hid_t md_h5_create_dataset(MdH5Calls *calls, hid_t file, const char *path, hid_t type, hid_t space, hid_t creation,
                           hid_t access);

/* Values of fixed content: the attribute `name` of the group at path, or, where it has no name, a dataset at path; groups are made
 * where they are not there. A scalar (n_rows = 0), a vector (n_columns = 0), or a matrix. */
void md_h5_put(MdH5Calls *calls, hid_t file, const char *path, const char *name, hid_t file_type, hid_t memory_type,
               int n_rows, int n_columns, const void *values);
/* The same of integers of 32 bits; of strings of fixed length, as H5MD asks for; of one. n = 0: a scalar. */
void md_h5_put_ints(MdH5Calls *calls, hid_t file, const char *path, const char *name, int n, const int *values);
void md_h5_put_texts(MdH5Calls *calls, hid_t file, const char *path, const char *name, int n, const char *const *texts);
void md_h5_put_text(MdH5Calls *calls, hid_t file, const char *path, const char *name, const char *text);

/* The attribute `unit` of an open dataset, a string of variable length: readers in Python want that. NULL: none. */
void md_h5_put_unit(MdH5Calls *calls, hid_t dataset, const char *unit);

/* The type of a text of up to size - 1 bytes, UTF-8; H5Tclose. */
hid_t md_h5_text_type(MdH5Calls *calls, size_t size);

#endif
