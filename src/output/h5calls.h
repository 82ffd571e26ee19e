/* HDF5 calls, checked, and the few patterns in which the trajectory uses them. Private to src/output/h5*. */
#ifndef MD_OUTPUT_H5CALLS_H
#define MD_OUTPUT_H5CALLS_H

#include <hdf5.h>
#include <stdbool.h>

#include "base/status.h"

/* Where failures go. The first is reported and sets `failed`; later calls, which fail on what came of it, add nothing.
 * So a sequence of calls is written straight down and looked at once, at its end. */
typedef struct MdH5Calls {
    const char *path;
    MdErrors *errors;
    bool failed;
    /* What failed was a call of HDF5, not a look at what it gave; and of these the system's write: a full disk, say, not
     * what is in the file. */
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

/* A group below parent; close with H5Gclose. */
hid_t md_h5_group(MdH5Calls *calls, hid_t parent, const char *name);

/* Fixed-length strings, as H5MD asks for: a scalar attribute, and a vector of n. */
void md_h5_attribute_text(MdH5Calls *calls, hid_t object, const char *name, const char *text);
void md_h5_attribute_texts(MdH5Calls *calls, hid_t object, const char *name, int n, const char *const *texts);
/* 32-bit integers: a scalar, and a vector of n. */
void md_h5_attribute_int(MdH5Calls *calls, hid_t object, const char *name, int value);
void md_h5_attribute_ints(MdH5Calls *calls, hid_t object, const char *name, int n, const int *values);

/* The type of a text of up to size - 1 bytes, UTF-8; H5Tclose. */
hid_t md_h5_text_type(MdH5Calls *calls, size_t size);

/* Datasets of fixed content: a scalar text, a vector of texts, a vector of numbers. */
void md_h5_dataset_text(MdH5Calls *calls, hid_t parent, const char *name, const char *text);
void md_h5_dataset_texts(MdH5Calls *calls, hid_t parent, const char *name, int n, const char *const *texts);
void md_h5_dataset_vector(MdH5Calls *calls, hid_t parent, const char *name, hid_t file_type, hid_t memory_type, int n,
                          const void *values);

#endif
