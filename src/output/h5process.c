/* /parameters/mdmini/process_0, process_1, ...: a text for each process of the run, in order: its provenance, and once it has
 * ended its conditions and its energy (run/REPORT.md). It has its room from the start, so that the end of a run changes nothing
 * but bytes that are there. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "output/h5file.h"

/* Additions to the provenance when a process ends; one that does not fit is left out. */
enum { END_BYTES = 16384 };

static const char begun[] =
    "{\"provenance\": %s, \"conditions\": null, \"energy\": null, \"missing\": {\"conditions\": "
    "\"this process did not end its loop\", \"energy\": \"this process did not end its loop\"}}";

uint64_t md_h5_process_bytes(const MdH5mdSpec *spec) { return strlen(spec->provenance) + END_BYTES; }

static char *name(int process) { return md_format("parameters/mdmini/process_%d", process); }

static void put(MdH5Calls *calls, hid_t set, const char *text) {
    hid_t type = H5_CALL(calls, H5Dget_type(set));
    const size_t size = calls->failed ? 0 : H5Tget_size(type);
    if (strlen(text) < size) {
        char *room = md_alloc(size, 1, "text of a process");
        memcpy(room, text, strlen(text));
        H5_CALL(calls, H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, room));
        md_free(room);
    }
    H5_CALL(calls, H5Tclose(type));
}

void md_h5_begin_process(MdH5Calls *calls, const MdH5md *file) {
    char *path = name(file->n_restarts), *text = md_format(begun, file->spec.provenance);
    hid_t type = md_h5_text_type(calls, md_h5_process_bytes(&file->spec)),
          space = H5_CALL(calls, H5Screate(H5S_SCALAR));
    /* Of a process that was killed before it was counted. */
    if (H5Lexists(file->file, path, H5P_DEFAULT) > 0) H5_CALL(calls, H5Ldelete(file->file, path, H5P_DEFAULT));
    hid_t set = md_h5_create_dataset(calls, file->file, path, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (!calls->failed) put(calls, set, text);
    H5_CALL(calls, H5Dclose(set));
    H5_CALL(calls, H5Sclose(space));
    H5_CALL(calls, H5Tclose(type));
    free(text);
    free(path);
}

void md_h5_end_process(MdH5Calls *calls, const MdH5md *file, const char *text) {
    char *path = name(file->n_restarts);
    hid_t set = H5_CALL(calls, H5Dopen2(file->file, path, H5P_DEFAULT));
    if (!calls->failed) put(calls, set, text);
    H5_CALL(calls, H5Dclose(set));
    free(path);
}

void md_h5_copy_processes(MdH5Calls *calls, const MdH5md *from, const MdH5md *to) {
    for (int k = 0; k <= from->n_restarts; k++) {
        char *path = name(k);
        if (H5Lexists(from->file, path, H5P_DEFAULT) > 0)
            H5_CALL(calls, H5Ocopy(from->file, path, to->file, path, H5P_DEFAULT, H5P_DEFAULT));
        free(path);
    }
}
