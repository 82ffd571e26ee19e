#include "output/h5calls.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* HDF5 calls back from the failed function outwards; the first one met knows the cause. */
static herr_t keep_innermost(unsigned n, const H5E_error2_t *entry, void *text) {
    if (n == 0) snprintf(text, 512, "%s", entry->desc ? entry->desc : "");
    return 0;
}

/* HDF5 writes `file write failed: time = ..., errno = 28, error message = 'No space left on device', buf = ...`. */
static void keep_system_message(char *text) {
    static const char mark[] = "error message = '";
    char *from = strstr(text, mark);
    if (!from) return;
    from += sizeof mark - 1;
    char *to = strchr(from, '\'');
    size_t length = to ? (size_t)(to - from) : strlen(from);
    memmove(text, from, length);
    text[length] = 0;
}

void md_h5_start(void) { H5dont_atexit(); }

MdH5Calls md_h5_calls(const char *path, MdErrors *errors) {
    md_h5_start();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return (MdH5Calls){.path = path, .errors = errors};
}

hid_t md_h5_check(MdH5Calls *calls, int64_t result, const char *call, const char *file, int line) {
    if (result >= 0 || calls->failed) return result;
    calls->failed = calls->call_failed = true;
    char reason[512] = "unknown HDF5 error";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, reason);
    calls->write_failed = strncmp(reason, "file write failed", 17) == 0;
    keep_system_message(reason);
    const char *base = strrchr(file, '/');
    md_fail(calls->errors, MD_ERROR_OUTPUT, "%s: %s [%s, %s:%d]", calls->path, reason, call, base ? base + 1 : file,
            line);
    return result;
}

hid_t md_h5_group(MdH5Calls *calls, hid_t parent, const char *name) {
    return H5_CALL(calls, H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

/* A string type that holds `size` bytes and is terminated by zero, for readers that copy it into a C string. Text that
 * is not ASCII (a path, an author's name) is UTF-8. */
static hid_t text_type(MdH5Calls *calls, size_t size, bool ascii) {
    hid_t type = H5_CALL(calls, H5Tcopy(H5T_C_S1));
    H5_CALL(calls, H5Tset_size(type, size));
    H5_CALL(calls, H5Tset_cset(type, ascii ? H5T_CSET_ASCII : H5T_CSET_UTF8));
    return type;
}

hid_t md_h5_text_type(MdH5Calls *calls, size_t size) { return text_type(calls, size, false); }

static bool is_ascii(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text > 127) return false;
    return true;
}

/* n texts side by side, each in `*size` bytes; md_free. */
static char *pack_texts(int n, const char *const *texts, size_t *size) {
    *size = 1;
    for (int i = 0; i < n; i++)
        if (strlen(texts[i]) + 1 > *size) *size = strlen(texts[i]) + 1;
    char *packed = md_alloc((size_t)n, *size, "HDF5 strings");
    for (int i = 0; i < n; i++) memcpy(packed + (size_t)i * *size, texts[i], strlen(texts[i]));
    return packed;
}

static void write_attribute(MdH5Calls *calls, hid_t object, const char *name, hid_t file_type, hid_t memory_type,
                            hid_t space, const void *values) {
    hid_t attribute = H5_CALL(calls, H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT));
    H5_CALL(calls, H5Awrite(attribute, memory_type, values));
    H5_CALL(calls, H5Aclose(attribute));
    H5_CALL(calls, H5Sclose(space));
}

static void write_dataset(MdH5Calls *calls, hid_t parent, const char *name, hid_t file_type, hid_t memory_type,
                          hid_t space, const void *values) {
    hid_t dataset = H5_CALL(calls, H5Dcreate2(parent, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5_CALL(calls, H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    H5_CALL(calls, H5Dclose(dataset));
    H5_CALL(calls, H5Sclose(space));
}

static hid_t vector_space(MdH5Calls *calls, int n) {
    hsize_t extent = (hsize_t)n;
    return H5_CALL(calls, H5Screate_simple(1, &extent, NULL));
}

static hid_t scalar_space(MdH5Calls *calls) { return H5_CALL(calls, H5Screate(H5S_SCALAR)); }

void md_h5_attribute_text(MdH5Calls *calls, hid_t object, const char *name, const char *text) {
    hid_t type = text_type(calls, strlen(text) + 1, is_ascii(text));
    write_attribute(calls, object, name, type, type, scalar_space(calls), text);
    H5_CALL(calls, H5Tclose(type));
}

void md_h5_attribute_texts(MdH5Calls *calls, hid_t object, const char *name, int n, const char *const *texts) {
    size_t size;
    char *packed = pack_texts(n, texts, &size);
    hid_t type = text_type(calls, size, true);
    write_attribute(calls, object, name, type, type, vector_space(calls, n), packed);
    H5_CALL(calls, H5Tclose(type));
    md_free(packed);
}

void md_h5_attribute_int(MdH5Calls *calls, hid_t object, const char *name, int value) {
    write_attribute(calls, object, name, H5T_STD_I32LE, H5T_NATIVE_INT, scalar_space(calls), &value);
}

void md_h5_attribute_ints(MdH5Calls *calls, hid_t object, const char *name, int n, const int *values) {
    write_attribute(calls, object, name, H5T_STD_I32LE, H5T_NATIVE_INT, vector_space(calls, n), values);
}

void md_h5_dataset_text(MdH5Calls *calls, hid_t parent, const char *name, const char *text) {
    hid_t type = text_type(calls, strlen(text) + 1, is_ascii(text));
    write_dataset(calls, parent, name, type, type, scalar_space(calls), text);
    H5_CALL(calls, H5Tclose(type));
}

void md_h5_dataset_texts(MdH5Calls *calls, hid_t parent, const char *name, int n, const char *const *texts) {
    size_t size;
    char *packed = pack_texts(n, texts, &size);
    hid_t type = text_type(calls, size, true);
    write_dataset(calls, parent, name, type, type, vector_space(calls, n), packed);
    H5_CALL(calls, H5Tclose(type));
    md_free(packed);
}

void md_h5_dataset_vector(MdH5Calls *calls, hid_t parent, const char *name, hid_t file_type, hid_t memory_type, int n,
                          const void *values) {
    write_dataset(calls, parent, name, file_type, memory_type, vector_space(calls, n), values);
}
