/* Layout of the trajectory.
 *
 * Every series is a chunked dataset whose first axis counts frames. Its greatest extent is the planned number of frames
 * and its room is reserved at creation (the file is sparse: room that was not written takes no disk), so HDF5 places
 * chunk k at a computed address and keeps no index of chunks. That is what makes appending safe: a frame changes only
 * its own bytes and the extents in a few small object headers, a full disk cannot damage earlier frames, and a
 * killed run leaves a file that opens as it is. The layout without an index needs file format 1.10. The superblock stays
 * that of 1.8: it has no `open for writing` mark, which a kill would leave set, and which readers refuse.
 *
 * Compressed chunks differ in size, so they have an index that grows with them. There the order of writing matters; it
 * is that of a file with a single writer and multiple readers (SWMR), whose metadata never refer to data that are not yet
 * written. Such a file has the mark: after a kill it needs md_h5md_recover. Only particles are compressed.
 *
 * File space is handed out in pages of 4096 bytes that no small piece of metadata crosses. A kill can cut a write short
 * only between pages, so none is ever half old and half new, which its checksum would turn into a loss.
 *
 * The cost: the file shows the planned size in `ls` from the start, also after an early stop (a copy by `h5repack`
 * has only the written frames), and for more frames than were planned the file must be copied (md_h5md_reopen). */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/memory.h"
#include "output/h5file.h"
#include "output/lock.h"
#include "output/schedule.h"

/* Largest chunk; HDF5 wants them below 4 GiB. Compression takes memory for two more of them. */
#define MAX_CHUNK_BYTES            (UINT64_C(1) << 31)
#define MAX_COMPRESSED_CHUNK_BYTES (UINT64_C(1) << 26)
/* Rows of a few numbers share a chunk of this size: a page. */
#define PAGE_BYTES                 4096
/* Groups, object headers and small datasets; they hang on no switch (test_h5md fails where they outgrow this). */
#define TABLE_PAGES                8

static const char *const elements[N_ELEMENTS] = {[MD_H5MD_POSITION] = "particles/all/position",
                                                 [MD_H5MD_VELOCITY] = "particles/all/velocity",
                                                 [MD_H5MD_FORCE] = "particles/all/force",
                                                 [MD_H5MD_IMAGE] = "particles/all/image",
                                                 [EDGES] = "particles/all/box/edges",
                                                 [PARTICLE_NUMBER] = "observables/particle_number",
                                                 [TEMPERATURE] = "observables/temperature",
                                                 [PRESSURE] = "observables/pressure",
                                                 [PRESSURE_TENSOR] = "observables/pressure_tensor",
                                                 [DENSITY] = "observables/density",
                                                 [POTENTIAL_ENERGY] = "observables/potential_energy",
                                                 [KINETIC_ENERGY] = "observables/kinetic_energy",
                                                 [INTERNAL_ENERGY] = "observables/internal_energy",
                                                 [CONSERVED_ENERGY] = "observables/conserved_energy"};

const char *md_h5_element(int element, int timeline) {
    static const char *const apart[] = {
        [MD_H5MD_VELOCITY] = "particles/all_velocity/velocity", [MD_H5MD_FORCE] = "particles/all_force/force"};
    return timeline != MD_H5MD_POSITION ? apart[element] : elements[element];
}

char *md_h5_series_path(int series, int timeline) {
    if (series < N_ELEMENTS) return md_format("%s/value", md_h5_element(series, timeline));
    return md_format("%s/%s", md_h5_element(timeline, timeline), (series - TIME) % 2 ? "step" : "time");
}

void md_h5_define_series(MdH5md *file, int k, int timeline) {
    Series *series = &file->series[k];
    *series = (Series){.timeline = timeline, .type = H5T_NATIVE_DOUBLE, .rank = 1, .row = {1, 1, 1}};
    bool particles = k < MD_H5MD_N_QUANTITIES;
    if (particles) series->rank = 3, series->row[1] = (hsize_t)file->spec.n_atoms, series->row[2] = 3;
    if (k == EDGES || k == PRESSURE_TENSOR) series->rank = 3, series->row[1] = 3, series->row[2] = 3;
    if (k == MD_H5MD_IMAGE) series->type = H5T_NATIVE_INT32;
    else if (particles && file->spec.precision == MD_FILE_PRECISION_SINGLE) series->type = H5T_NATIVE_FLOAT;
    else if (k == PARTICLE_NUMBER || (k >= TIME && (k - TIME) % 2)) series->type = H5T_NATIVE_INT64;
    series->row_bytes = H5Tget_size(series->type) * series->row[1] * series->row[2];
    if (!particles) series->rows = md_alloc(BUFFER_ROWS, series->row_bytes, "rows of the trajectory");
}

void md_h5_define_all(MdH5md *file, const int timelines[MD_H5MD_N_QUANTITIES]) {
    for (int k = 0; k < N_ELEMENTS; k++) {
        int timeline = k < MD_H5MD_N_QUANTITIES ? timelines[k] : 0;
        if (timeline < 0 || (k == EDGES && md_box_is_open(&file->spec.box))) continue;
        if (k == PRESSURE_TENSOR && !file->spec.has_tensor) continue;
        md_h5_define_series(file, k, timeline);
        for (int s = TIME + 2 * timeline; k == timeline && s <= STEP + 2 * timeline; s++)
            md_h5_define_series(file, s, timeline);
    }
}

uint64_t md_h5md_bytes(const MdH5mdSpec *spec, int64_t from) {
    uint64_t bytes = 0, real = spec->precision == MD_FILE_PRECISION_DOUBLE ? sizeof(double) : sizeof(float);
    for (int q = 0; q < MD_H5MD_N_QUANTITIES; q++)
        bytes += (uint64_t)md_schedule_count(spec->every[q], from, spec->last_step) * (uint64_t)spec->n_atoms * 3 *
                 (q == MD_H5MD_IMAGE ? sizeof(int32_t) : real);
    return bytes;
}

/* Each step of compression makes a copy of a chunk. */
uint64_t md_h5md_packing_bytes(const MdH5mdSpec *spec) {
    const uint64_t real = spec->precision == MD_FILE_PRECISION_DOUBLE ? sizeof(double) : sizeof(float);
    const uint64_t row = (uint64_t)spec->n_atoms * 3 * real;
    if (spec->compression == MD_COMPRESSION_NONE || spec->every[MD_H5MD_POSITION] == 0) return 0;
    return 2 * (row < MAX_COMPRESSED_CHUNK_BYTES ? row : MAX_COMPRESSED_CHUNK_BYTES);
}

/* Bytes that a file at path may grow to: free space of the file system and the process's own limit. */
static double available_bytes(const char *path) {
    double bytes = 1e300;
    struct statvfs system;
    if (statvfs(path, &system) == 0 && system.f_blocks > 0) bytes = (double)system.f_bavail * (double)system.f_frsize;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (double)limit.rlim_cur < bytes)
        bytes = (double)limit.rlim_cur;
    return bytes;
}

/* The content of the file besides rows. Objects of a page or more begin on a new page. */
static double head_bytes(const MdH5md *file) {
    const double per_atom = 2 * sizeof(int32_t) + sizeof(double); /* species, id; mass */
    const double texts =
        (double)(strlen(file->spec.deck) + strlen(file->spec.provenance)) + (double)md_h5_process_bytes(&file->spec);
    const double curves = md_h5_curves_bytes(file->spec.curves, file->spec.n_curves);
    int pages = TABLE_PAGES + 6; /* the last parts of the objects above */
    for (int k = 0; k < N_SERIES; k++)
        if (file->series[k].row_bytes) pages += 2; /* rows that share a page, and the page that the last ones share */
    return texts + curves + per_atom * (double)file->spec.n_atoms + (double)pages * PAGE_BYTES;
}

/* Frames that there is room for: those planned, or a share of them when the disk is too small, but one at least; else the
 * greatest extent of the file itself could not be had. Compressed frames are not reserved. */
static void plan_capacity(MdH5Calls *calls, MdH5md *file) {
    double planned = 0, least = 0;
    for (int k = 0; k < N_SERIES; k++) {
        const Series *series = &file->series[k];
        planned += (double)series->row_bytes * (double)file->timeline[series->timeline].planned;
        if (file->timeline[series->timeline].planned) least += (double)series->row_bytes;
    }
    const double room = available_bytes(file->path) - head_bytes(file);
    if (room < least) {
        md_h5_fail(calls, MD_ERROR_OUTPUT, "no space left for a single frame");
        return;
    }
    bool all = planned <= room || file->spec.compression != MD_COMPRESSION_NONE;
    for (int t = 0; t < N_TIMELINES; t++) {
        Timeline *timeline = &file->timeline[t];
        timeline->capacity = timeline->planned;
        if (!all && timeline->planned)
            timeline->capacity = 1 + (int64_t)((double)(timeline->planned - 1) * ((room - least) / (planned - least)));
    }
}

/* A frame is a chunk: it goes to the file in one piece, past HDF5's cache, which it would only cross. Small rows share a
 * page, and chunks that would be too large are cut. */
static hid_t create_dataset(MdH5Calls *calls, const MdH5md *file, int k, const char *path) {
    const Series *series = &file->series[k];
    bool compressed = k < MD_H5MD_N_QUANTITIES && file->spec.compression != MD_COMPRESSION_NONE;
    hsize_t none[3], most[3], chunk[3];
    memcpy(none, series->row, sizeof none);
    memcpy(most, series->row, sizeof most);
    memcpy(chunk, series->row, sizeof chunk);
    none[0] = 0;
    most[0] = compressed ? H5S_UNLIMITED : (hsize_t)file->timeline[series->timeline].capacity;
    uint64_t largest = compressed ? MAX_COMPRESSED_CHUNK_BYTES : MAX_CHUNK_BYTES;
    if (series->rank > 1) chunk[1] = (chunk[1] - 1) / ((series->row_bytes - 1) / largest + 1) + 1;
    if (series->row_bytes < PAGE_BYTES && !compressed) chunk[0] = PAGE_BYTES / series->row_bytes;
    if (chunk[0] > most[0]) chunk[0] = most[0];

    hid_t space = H5_CALL(calls, H5Screate_simple(series->rank, none, most));
    hid_t creation = H5_CALL(calls, H5Pcreate(H5P_DATASET_CREATE)),
          access = H5_CALL(calls, H5Pcreate(H5P_DATASET_ACCESS));
    H5_CALL(calls, H5Pset_chunk(creation, series->rank, chunk));
    H5_CALL(calls, H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER));
    if (compressed) {
        H5_CALL(calls, H5Pset_shuffle(creation));
        H5_CALL(calls, H5Pset_deflate(creation, (unsigned)file->spec.compression));
    } else {
        H5_CALL(calls, H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY));
    }
    if (chunk[0] == 1) H5_CALL(calls, H5Pset_chunk_cache(access, 1, 0, 0));
    hid_t dataset = md_h5_create_dataset(calls, file->file, path, series->type, space, creation, access);
    H5_CALL(calls, H5Pclose(access));
    H5_CALL(calls, H5Pclose(creation));
    H5_CALL(calls, H5Sclose(space));
    return dataset;
}

/* NULL: numbers without a unit. */
static const char *series_unit(const MdH5mdSpec *spec, int k) {
    static const MdQuantity quantities[] = {[MD_H5MD_POSITION] = MD_LENGTH,
                                            [MD_H5MD_VELOCITY] = MD_VELOCITY,
                                            [MD_H5MD_FORCE] = MD_FORCE,
                                            [MD_H5MD_IMAGE] = MD_NO_UNIT,
                                            [EDGES] = MD_LENGTH,
                                            [PARTICLE_NUMBER] = MD_NO_UNIT,
                                            [TEMPERATURE] = MD_TEMPERATURE,
                                            [DENSITY] = MD_DENSITY,
                                            [POTENTIAL_ENERGY] = MD_ENERGY,
                                            [KINETIC_ENERGY] = MD_ENERGY,
                                            [INTERNAL_ENERGY] = MD_ENERGY,
                                            [CONSERVED_ENERGY] = MD_ENERGY};
    const int dimension = spec->box.dimension;
    const MdQuantity quantity = k >= TIME                               ? ((k - TIME) % 2 ? MD_NO_UNIT : MD_TIME)
                                : k == PRESSURE || k == PRESSURE_TENSOR ? md_unit_pressure(dimension)
                                                                        : quantities[k];
    if (quantity == MD_DENSITY && spec->units != MD_STYLE_LJ) return dimension == 2 ? "Angstrom-2" : "Angstrom-3";
    return md_unit_in_h5md(spec->units, quantity);
}

static void create_series(MdH5Calls *calls, MdH5md *file, int k) {
    char *path = md_h5_series_path(k, file->series[k].timeline);
    file->series[k].dataset = create_dataset(calls, file, k, path);
    md_h5_put_unit(calls, file->series[k].dataset, series_unit(&file->spec, k));
    free(path);
}

/* Step and time of an element: its timeline's, by hard links where another element has brought them. */
static void link_timeline(MdH5Calls *calls, MdH5md *file, int element) {
    int timeline = file->series[element].timeline;
    for (int k = TIME + 2 * timeline; k <= STEP + 2 * timeline; k++) {
        if (element == timeline) {
            create_series(calls, file, k);
            continue;
        }
        char *path = md_format("%s/%s", elements[element], (k - TIME) % 2 ? "step" : "time");
        H5_CALL(calls, H5Olink(file->series[k].dataset, file->file, path, H5P_DEFAULT, H5P_DEFAULT));
        free(path);
    }
}

static void create_contents(MdH5Calls *calls, MdH5md *file) {
    for (int k = 0; k < N_ELEMENTS && !calls->failed; k++) {
        if (!file->series[k].row_bytes) continue;
        create_series(calls, file, k);
        link_timeline(calls, file, k);
    }
    md_h5_write_head(calls, file);
    /* Room is taken when a series first has a row. To take it now means that no later kill can meet a file whose end is
     * about to move. */
    for (int k = 0; k < N_SERIES && !calls->failed; k++) {
        if (file->series[k].dataset <= 0) continue;
        md_h5_set_rows(calls, &file->series[k], 1);
        md_h5_set_rows(calls, &file->series[k], 0);
    }
    H5_CALL(calls, H5Fflush(file->file, H5F_SCOPE_GLOBAL));
}

/* A file system without locks must not stop a run. HDF5_USE_FILE_LOCKING, where it is set, is heard before the property; an HDF5
 * without the property looks at the variable whenever it opens a file. */
hid_t md_h5_file_access(MdH5Calls *calls, bool with_marks) {
    const bool has_locks = md_lock_fault(calls->path) == 0;
    hid_t access = H5_CALL(calls, H5Pcreate(H5P_FILE_ACCESS));
    H5_CALL(calls, H5Pset_fclose_degree(access, H5F_CLOSE_STRONG));
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
    H5_CALL(calls, H5Pset_file_locking(access, has_locks, true));
#else
    if (!has_locks) setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0);
#endif
    H5_CALL(calls, H5Pset_libver_bounds(access, with_marks ? H5F_LIBVER_V110 : H5F_LIBVER_V18, H5F_LIBVER_V110));
    return access;
}

static hid_t create_empty(MdH5Calls *calls, bool with_marks) {
    hid_t accessed = md_h5_file_access(calls, with_marks), creation = H5_CALL(calls, H5Pcreate(H5P_FILE_CREATE));
    H5_CALL(calls, H5Pset_file_space_strategy(creation, H5F_FSPACE_STRATEGY_PAGE, false, 1));
    H5_CALL(calls, H5Pset_file_space_page_size(creation, PAGE_BYTES));
    /* Where nothing was, nothing that has come since is overwritten. */
    const unsigned how = access(calls->path, F_OK) == 0 ? H5F_ACC_TRUNC : H5F_ACC_EXCL;
    hid_t file = H5_CALL(calls, H5Fcreate(calls->path, how, creation, accessed));
    H5_CALL(calls, H5Pclose(creation));
    H5_CALL(calls, H5Pclose(accessed));
    /* Superblock as said above, all else in format 1.10. */
    if (file >= 0) H5_CALL(calls, H5Fset_libver_bounds(file, H5F_LIBVER_V110, H5F_LIBVER_V110));
    return file;
}

MdH5md *md_h5_new(const char *path, const MdH5mdSpec *spec) {
    md_require(spec->n_atoms > 0 && spec->every[MD_H5MD_POSITION] > 0 && spec->n_types <= MD_MAX_TYPES);
    MdH5md *file = md_alloc(1, sizeof *file, "trajectory");
    file->path = md_copy_text(path);
    file->spec = *spec;
    return file;
}

void md_h5_create_file(MdH5Calls *calls, MdH5md *file) {
    file->file = create_empty(calls, file->spec.compression != MD_COMPRESSION_NONE);
    if (calls->failed) return; /* the object of that name was made by another program */
    plan_capacity(calls, file);
    if (!calls->failed) create_contents(calls, file);
    if (calls->failed) unlink(file->path);
}

MdH5md *md_h5md_create(const char *path, const MdH5mdSpec *spec, const MdH5mdKept *kept, MdErrors *errors) {
    MdH5Calls calls = md_h5_calls(path, errors);
    MdH5md *file = md_h5_new(path, spec);
    int timelines[MD_H5MD_N_QUANTITIES];
    for (int q = 0; q < MD_H5MD_N_QUANTITIES; q++) {
        bool shared = q == MD_H5MD_IMAGE || spec->every[q] == spec->every[MD_H5MD_POSITION];
        timelines[q] = spec->every[q] == 0 ? -1 : shared ? 0 : q;
        if (timelines[q] != q) continue;
        const int64_t from = kept ? kept->last_step[q] + 1 : 0;
        file->timeline[q].planned = md_schedule_count(spec->every[q], from, spec->last_step);
    }
    md_h5_define_all(file, timelines);
    md_h5_create_file(&calls, file);
    if (!calls.failed) md_h5_note_schedule(&calls, file, kept);
    if (!calls.failed) md_h5_begin(&calls, file);
    if (!calls.failed) return file;
    md_h5_release(&calls, file);
    return NULL;
}
