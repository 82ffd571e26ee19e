#include "output/h5calls.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

void md_h5_fail(MdH5Calls *calls, MdStatus status, const char *format, ...) {
    if (calls->failed) return;
    MdText text = {0};
    va_list arguments;
    va_start(arguments, format);
    md_text_add_list(&text, format, arguments);
    va_end(arguments);
    calls->failed = true;
    md_fail(calls->errors, status, "%s: %s", calls->path, text.text);
    free(text.text);
}

/* --- patterns ------------------------------------------------------------------------------------------------------- */

static hid_t with_groups(MdH5Calls *calls) {
    hid_t link = H5_CALL(calls, H5Pcreate(H5P_LINK_CREATE));
    H5_CALL(calls, H5Pset_create_intermediate_group(link, 1));
    return link;
}

hid_t md_h5_create_dataset(MdH5Calls *calls, hid_t file, const char *path, hid_t type, hid_t space, hid_t creation,
                           hid_t access) {
    hid_t link = with_groups(calls);
    hid_t dataset = H5_CALL(calls, H5Dcreate2(file, path, type, space, link, creation, access));
    H5_CALL(calls, H5Pclose(link));
    return dataset;
}

/* The group at path, made where it is not there. */
static hid_t open_group(MdH5Calls *calls, hid_t file, const char *path) {
    if (H5Lexists(file, path, H5P_DEFAULT) > 0) return H5_CALL(calls, H5Gopen2(file, path, H5P_DEFAULT));
    hid_t link = with_groups(calls);
    hid_t group = H5_CALL(calls, H5Gcreate2(file, path, link, H5P_DEFAULT, H5P_DEFAULT));
    H5_CALL(calls, H5Pclose(link));
    return group;
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

void md_h5_put(MdH5Calls *calls, hid_t file, const char *path, const char *name, hid_t file_type, hid_t memory_type,
               int n_rows, int n_columns, const void *values) {
    const hsize_t extents[2] = {(hsize_t)n_rows, (hsize_t)n_columns};
    hid_t space = H5_CALL(calls, n_rows ? H5Screate_simple(n_columns ? 2 : 1, extents, NULL) : H5Screate(H5S_SCALAR));
    if (name) {
        hid_t group = open_group(calls, file, path);
        hid_t attribute = H5_CALL(calls, H5Acreate2(group, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT));
        H5_CALL(calls, H5Awrite(attribute, memory_type, values));
        H5_CALL(calls, H5Aclose(attribute));
        H5_CALL(calls, H5Gclose(group));
    } else {
        hid_t dataset = md_h5_create_dataset(calls, file, path, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
        H5_CALL(calls, H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        H5_CALL(calls, H5Dclose(dataset));
    }
    H5_CALL(calls, H5Sclose(space));
}

void md_h5_put_ints(MdH5Calls *calls, hid_t file, const char *path, const char *name, int n, const int *values) {
    md_h5_put(calls, file, path, name, H5T_STD_I32LE, H5T_NATIVE_INT, n, 0, values);
}

/* Side by side, each with room for the longest. */
void md_h5_put_texts(MdH5Calls *calls, hid_t file, const char *path, const char *name, int n,
                     const char *const *texts) {
    const int n_texts = n > 0 ? n : 1;
    size_t size = 1;
    for (int i = 0; i < n_texts; i++)
        if (strlen(texts[i]) + 1 > size) size = strlen(texts[i]) + 1;
    char *packed = md_alloc((size_t)n_texts, size, "HDF5 strings");
    for (int i = 0; i < n_texts; i++) memcpy(packed + (size_t)i * size, texts[i], strlen(texts[i]));
    hid_t type = text_type(calls, size, n > 0 || is_ascii(texts[0]));
    md_h5_put(calls, file, path, name, type, type, n, 0, packed);
    H5_CALL(calls, H5Tclose(type));
    md_free(packed);
}

void md_h5_put_text(MdH5Calls *calls, hid_t file, const char *path, const char *name, const char *text) {
    md_h5_put_texts(calls, file, path, name, 0, &text);
}

void md_h5_put_unit(MdH5Calls *calls, hid_t dataset, const char *unit) {
    if (!unit) return;
    hid_t type = text_type(calls, H5T_VARIABLE, false), space = H5_CALL(calls, H5Screate(H5S_SCALAR));
    hid_t attribute = H5_CALL(calls, H5Acreate2(dataset, "unit", type, space, H5P_DEFAULT, H5P_DEFAULT));
    H5_CALL(calls, H5Awrite(attribute, type, &unit));
    H5_CALL(calls, H5Aclose(attribute));
    H5_CALL(calls, H5Sclose(space));
    H5_CALL(calls, H5Tclose(type));
}
