/* Appending to the trajectory, and committing.
 *
 * A frame of particles is written directly to the file. The few numbers that come with it (step, time, box,
 * observables) wait in memory until they are many or a commit is due, and are then written together: a system of some
 * thousand particles would otherwise spend most of a frame's time on them. HDF5 writes data before the headers that tell
 * of it, so that between two commits the file on disk is that of the last one, and within a commit at worst some
 * series are a few rows longer than others. */
#define _XOPEN_SOURCE 700
#include "output/h5md.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "output/h5file.h"
#include "output/lock.h"
#include "output/path.h"
#include "output/superblock.h"

/* Where chunks are. */
#define CAN_LOCATE H5_VERSION_GE(1, 10, 5)

void md_h5_release(MdH5Calls *calls, MdH5md *file) {
    if (!file) return;
    for (int k = 0; k < N_SERIES; k++) {
        if (file->series[k].dataset > 0) H5_CALL(calls, H5Dclose(file->series[k].dataset));
        md_free(file->series[k].rows);
    }
    if (file->file > 0) H5_CALL(calls, H5Fclose(file->file));
    free(file->path);
    free(file->description);
    md_free(file);
}

void md_h5_lock(MdH5Calls *calls, MdH5md *file) {
    void *handle = NULL;
    H5_CALL(calls, H5Fget_vfd_handle(file->file, H5P_DEFAULT, &handle));
    file->descriptor = handle ? *(int *)handle : -1;
    if (calls->failed || md_lock_take(file->descriptor)) return;
    md_h5_fail(calls, MD_ERROR_INPUT, "is being written by a running program");
}

void md_h5_begin(MdH5Calls *calls, MdH5md *file) {
    md_box_fill_edges(&file->spec.box, file->edges);
    file->density = (double)file->spec.n_atoms / md_box_volume(&file->spec.box);
    if (file->spec.compression != MD_COMPRESSION_NONE) H5_CALL(calls, H5Fstart_swmr_write(file->file));
    md_h5_lock(calls, file);
    file->committed_s = file->appended_s = md_clock_s();
    /* The caller's memory is not read again. */
    file->spec.type = NULL, file->spec.mass = NULL, file->spec.run_id = NULL, file->spec.deck = NULL,
    file->spec.provenance = NULL, file->spec.curves = NULL;
}

int64_t md_h5_rows(MdH5Calls *calls, const Series *series) {
    hsize_t extent[3] = {0};
    hid_t space = H5_CALL(calls, H5Dget_space(series->dataset));
    if (H5Sget_simple_extent_ndims(space) == series->rank)
        H5_CALL(calls, H5Sget_simple_extent_dims(space, extent, NULL));
    H5_CALL(calls, H5Sclose(space));
    return (int64_t)extent[0];
}

void md_h5_set_rows(MdH5Calls *calls, const Series *series, int64_t n) {
    hsize_t extent[3] = {(hsize_t)n, series->row[1], series->row[2]};
    H5_CALL(calls, H5Dset_extent(series->dataset, extent));
}

/* Memory space and file space of n rows; both to be closed. */
static hid_t select_rows(MdH5Calls *calls, const Series *series, int64_t first, int64_t n, hid_t *memory) {
    hsize_t start[3] = {(hsize_t)first, 0, 0}, count[3] = {(hsize_t)n, series->row[1], series->row[2]};
    hid_t space = H5_CALL(calls, H5Dget_space(series->dataset));
    *memory = H5_CALL(calls, H5Screate_simple(series->rank, count, NULL));
    H5_CALL(calls, H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
    return space;
}

void md_h5_write_rows(MdH5Calls *calls, const Series *series, int64_t first, int64_t n, const void *values) {
    hid_t memory, space = select_rows(calls, series, first, n, &memory);
    H5_CALL(calls, H5Dwrite(series->dataset, series->type, memory, space, H5P_DEFAULT, values));
    H5_CALL(calls, H5Sclose(memory));
    H5_CALL(calls, H5Sclose(space));
}

void md_h5_read_rows(MdH5Calls *calls, const Series *series, int64_t first, int64_t n, void *values) {
    hid_t memory, space = select_rows(calls, series, first, n, &memory);
    H5_CALL(calls, H5Dread(series->dataset, series->type, memory, space, H5P_DEFAULT, values));
    H5_CALL(calls, H5Sclose(memory));
    H5_CALL(calls, H5Sclose(space));
}

/* Small rows that wait go to the file; of each timeline the steps last. */
static void drain(MdH5Calls *calls, MdH5md *file) {
    for (int k = 0; k < N_SERIES && !calls->failed; k++) {
        const Series *series = &file->series[k];
        const Timeline *timeline = &file->timeline[series->timeline];
        int64_t n = timeline->n_rows - timeline->n_drained;
        if (series->dataset <= 0 || !series->rows || n == 0) continue;
        md_h5_set_rows(calls, series, timeline->n_rows);
        md_h5_write_rows(calls, series, timeline->n_drained, n, series->rows);
    }
    for (int t = 0; t < N_TIMELINES && !calls->failed; t++) file->timeline[t].n_drained = file->timeline[t].n_rows;
}

/* Its path, and its beginning: another program may have emptied it. */
static void check_place(MdH5Calls *calls, const MdH5md *file) {
    const char *problem = calls->failed ? NULL : md_path_lost(file->path, file->descriptor);
    unsigned char bytes[MD_SUPERBLOCK_BYTES] = {0};
    MdSuperblock begin;
    if (!calls->failed && !problem)
        if (pread(file->descriptor, bytes, sizeof bytes, 0) < 0 || md_superblock_read(&begin, bytes) != NULL)
            problem = "was emptied, or written over, while the run wrote to it";
    if (problem) md_h5_fail(calls, MD_ERROR_OUTPUT, "%s", problem);
}

static void commit(MdH5Calls *calls, MdH5md *file) {
    drain(calls, file);
    H5_CALL(calls, H5Fflush(file->file, H5F_SCOPE_GLOBAL));
    check_place(calls, file);
    if (calls->failed) return;
    for (int t = 0; t < N_TIMELINES; t++) file->timeline[t].n_committed = file->timeline[t].n_rows;
    file->committed_s = md_clock_s();
}

/* All series back to a number of rows that the file surely holds. */
static void cut_back(MdH5Calls *calls, MdH5md *file) {
    for (int k = 0; k < N_SERIES; k++)
        if (file->series[k].dataset > 0)
            md_h5_set_rows(calls, &file->series[k], file->timeline[file->series[k].timeline].n_committed);
    for (int t = 0; t < N_TIMELINES; t++)
        file->timeline[t].n_rows = file->timeline[t].n_drained = file->timeline[t].n_committed;
    H5_CALL(calls, H5Fflush(file->file, H5F_SCOPE_GLOBAL));
}

/* After a failure that was reported. Frames appended before it may still be written; if not, the committed frames
 * stay. */
static MdStatus give_up(MdH5md *file) {
    MdErrors *ignored = md_errors_create();
    MdH5Calls calls = md_h5_calls(file->path, ignored);
    file->broken = true;
    for (int q = 0; q < MD_H5MD_N_QUANTITIES; q++)
        if (file->series[q].dataset > 0)
            md_h5_set_rows(&calls, &file->series[q], file->timeline[file->series[q].timeline].n_rows);
    commit(&calls, file);
    calls.failed = false;
    cut_back(&calls, file);
    md_errors_destroy(ignored);
    return MD_ERROR_OUTPUT;
}

static MdStatus fail_full(const MdH5md *file, const Timeline *timeline, MdErrors *errors) {
    return md_fail(errors, MD_ERROR_OUTPUT, "%s: full with %lld frames: %s", file->path, (long long)timeline->capacity,
                   timeline->capacity < timeline->planned ? "there was room for no more when the run began"
                                                          : "no more were planned");
}

/* A row for the buffer of series k, after the rows that wait on its timeline. */
static void keep_row(MdH5md *file, int k, const void *values) {
    Series *series = &file->series[k];
    const Timeline *timeline = &file->timeline[series->timeline];
    memcpy(series->rows + (size_t)(timeline->n_rows - timeline->n_drained) * series->row_bytes, values,
           series->row_bytes);
}

static void keep_observables(MdH5md *file, const MdThermo *thermo) {
    double tensor[9] = {0};
    for (int k = 0; k < MD_N_TENSOR; k++) {
        const int a = MD_TENSOR_FIRST_AXIS(k), b = MD_TENSOR_SECOND_AXIS(k);
        tensor[3 * a + b] = tensor[3 * b + a] = thermo->pressure_tensor[k];
    }
    const void *values[N_ELEMENTS] = {[EDGES] = file->edges,
                                      [PARTICLE_NUMBER] = &file->spec.n_atoms,
                                      [TEMPERATURE] = &thermo->temperature,
                                      [PRESSURE] = &thermo->pressure,
                                      [PRESSURE_TENSOR] = tensor,
                                      [DENSITY] = &file->density,
                                      [POTENTIAL_ENERGY] = &thermo->potential,
                                      [KINETIC_ENERGY] = &thermo->kinetic,
                                      [INTERNAL_ENERGY] = &thermo->total,
                                      [CONSERVED_ENERGY] = &thermo->conserved};
    for (int k = EDGES; k < N_ELEMENTS; k++)
        if (file->series[k].dataset > 0) keep_row(file, k, values[k]);
}

/* Whether a frame waits too long for a commit, or would until the next one comes. */
static bool commit_is_due(const MdH5md *file, double now_s) {
    const Timeline *timeline = &file->timeline[0];
    double next_s = now_s + (now_s - file->appended_s);
    return timeline->n_rows - timeline->n_committed >= file->spec.commit_frames ||
           next_s >= file->committed_s + file->spec.commit_seconds;
}

/* The timelines that a frame has rows for; false, before anything is written: one of them has no room. */
static bool find_touched(const MdH5md *file, const void *const arrays[MD_H5MD_N_QUANTITIES], bool touched[N_TIMELINES],
                         MdErrors *errors) {
    for (int q = 0; q < MD_H5MD_N_QUANTITIES; q++) {
        const Series *series = &file->series[q];
        if (!arrays[q]) continue;
        md_require(series->dataset > 0 && arrays[series->timeline]);
        touched[series->timeline] = true;
    }
    for (int t = 0; t < N_TIMELINES; t++) {
        if (!touched[t] || file->timeline[t].n_rows < file->timeline[t].capacity) continue;
        fail_full(file, &file->timeline[t], errors);
        return false;
    }
    return true;
}

/* Bytes that a row of particles takes in the file. A compressed chunk is in the file as soon as it is written. */
static uint64_t count_stored(MdH5Calls *calls, const MdH5md *file, const Series *series, int64_t row) {
    if (file->spec.compression == MD_COMPRESSION_NONE) return series->row_bytes;
    hsize_t chunk[3] = {1, series->row[1], 3}, at[3] = {(hsize_t)row, 0, 0}, bytes = 0, size = 0;
    hid_t creation = H5_CALL(calls, H5Dget_create_plist(series->dataset));
    H5_CALL(calls, H5Pget_chunk(creation, 3, chunk));
    H5_CALL(calls, H5Pclose(creation));
    for (; at[1] < series->row[1] && !calls->failed; at[1] += chunk[1], bytes += size)
        H5_CALL(calls, H5Dget_chunk_storage_size(series->dataset, at, &size));
    return bytes;
}

/* Chunks follow each other in the file, as they have no index (h5create.c): a frame of many atoms is several, frames of few atoms share
 * one. HDF5 walks through all chunks before the one that it is asked for; so it is asked once, for the first and for that of this row. */
static void find_first(MdH5Calls *calls, const MdH5md *file, Series *series, int64_t row) {
#if CAN_LOCATE
    hsize_t chunk[3] = {1, 1, 3}, bytes[2] = {0, 0};
    haddr_t address[2] = {HADDR_UNDEF, HADDR_UNDEF};
    hid_t creation = H5_CALL(calls, H5Dget_create_plist(series->dataset));
    H5_CALL(calls, H5Pget_chunk(creation, 3, chunk));
    H5_CALL(calls, H5Pclose(creation));
    const hsize_t n_pieces = (series->row[1] - 1) / chunk[1] + 1, group = (hsize_t)row / chunk[0],
                  at[2][3] = {{0, 0, 0}, {group * chunk[0], (n_pieces - 1) * chunk[1], 0}};
    for (int k = 0; k < 2; k++)
        H5_CALL(calls, H5Dget_chunk_info_by_coord(series->dataset, at[k], NULL, &address[k], &bytes[k]));
    if (calls->failed) return;
    series->chunk_rows = (int64_t)chunk[0];
    series->first = (MdH5mdPlace){(int64_t)address[0], (int64_t)chunk[1], (int64_t)bytes[0],
                                  (int64_t)series->row_bytes / file->spec.n_atoms};
    if (address[0] != HADDR_UNDEF && address[1] == address[0] + ((group + 1) * n_pieces - 1) * bytes[0]) return;
#else
    (void)series, (void)row;
#endif
    md_h5_fail(calls, MD_ERROR_OUTPUT, "its frames do not follow each other: take parallel.frames = root");
}

static MdH5mdPlace locate(MdH5Calls *calls, const MdH5md *file, Series *series, int64_t row) {
    if (series->first.piece_atoms == 0) find_first(calls, file, series, row);
    MdH5mdPlace place = series->first;
    if (calls->failed) return place;
    const int64_t n_pieces = ((int64_t)series->row[1] - 1) / place.piece_atoms + 1;
    place.first +=
        row / series->chunk_rows * n_pieces * place.piece_bytes + row % series->chunk_rows * (int64_t)series->row_bytes;
    return place;
}

/* Makes room for row n of a series of particles, and has it written: by `put`, or by HDF5. */
static void append_particles(MdH5Calls *calls, MdH5md *file, int quantity, int64_t n, const void *values) {
    Series *series = &file->series[quantity];
    md_h5_set_rows(calls, series, n + 1);
    if (!file->put) {
        md_h5_write_rows(calls, series, n, 1, values);
        return;
    }
    const MdH5mdPlace place = locate(calls, file, series, n);
    if (!calls->failed) calls->failed = !file->put(file->putter, quantity, &place, calls->errors);
}

MdStatus md_h5md_append(MdH5md *file, const MdFrame *frame, const MdThermo *thermo, MdErrors *errors) {
    if (file->broken) return MD_ERROR_OUTPUT;
    const void *arrays[MD_H5MD_N_QUANTITIES] = {frame->position, frame->velocity, frame->force, frame->image};
    md_require(frame->precision == file->spec.precision);
    MdH5Calls calls = md_h5_calls(file->path, errors);
    bool touched[N_TIMELINES] = {false};
    if (!find_touched(file, arrays, touched, errors)) return MD_ERROR_OUTPUT;
    for (int q = 0; q < MD_H5MD_N_QUANTITIES; q++) {
        const Series *series = &file->series[q];
        if (!arrays[q]) continue;
        const int64_t n = file->timeline[series->timeline].n_rows;
        append_particles(&calls, file, q, n, arrays[q]);
        file->stored_bytes += count_stored(&calls, file, series, n);
    }
    if (calls.failed) return give_up(file);
    if (frame->position) keep_observables(file, thermo);
    bool full = false;
    for (int t = 0; t < N_TIMELINES; t++) {
        if (!touched[t]) continue;
        keep_row(file, TIME + 2 * t, &frame->time);
        keep_row(file, STEP + 2 * t, &frame->step);
        file->timeline[t].n_rows++;
        full = full || file->timeline[t].n_rows - file->timeline[t].n_drained == BUFFER_ROWS;
    }
    double now_s = md_clock_s();
    if (commit_is_due(file, now_s)) commit(&calls, file);
    else if (full) drain(&calls, file);
    file->appended_s = now_s;
    return calls.failed ? give_up(file) : MD_OK;
}

MdStatus md_h5md_leave_particles(MdH5md *file, MdH5mdPut put, void *user, MdErrors *errors) {
    md_require(file->spec.compression == MD_COMPRESSION_NONE);
    if (!CAN_LOCATE)
        return md_fail(errors, MD_ERROR_OUTPUT, "parallel.frames = all needs HDF5 1.10.5 or newer: take root");
    file->put = put;
    file->putter = user;
    return MD_OK;
}

double md_h5md_commit_due_s(const MdH5md *file) {
    for (int t = 0; t < N_TIMELINES && !file->broken; t++)
        if (file->timeline[t].n_rows > file->timeline[t].n_committed)
            return file->committed_s + file->spec.commit_seconds;
    return INFINITY;
}

MdStatus md_h5md_commit(MdH5md *file, bool sync, MdErrors *errors) {
    if (file->broken) return MD_ERROR_OUTPUT;
    MdH5Calls calls = md_h5_calls(file->path, errors);
    commit(&calls, file);
    if (calls.failed) return give_up(file);
    if (!sync || (fdatasync(file->descriptor) == 0 && md_path_sync_folder(file->path))) return MD_OK;
    file->broken = true;
    return md_fail(errors, MD_ERROR_OUTPUT, "%s: %s", file->path, strerror(errno));
}

int64_t md_h5md_frames(const MdH5md *file) { return file->timeline[0].n_rows; }

uint64_t md_h5md_stored_bytes(const MdH5md *file) { return file->stored_bytes; }

void md_h5md_describe(MdH5md *file, const char *text) {
    free(file->description);
    file->description = md_copy_text(text);
}

MdStatus md_h5md_close(MdH5md *file, MdErrors *errors) {
    if (!file) return MD_OK;
    MdH5Calls describing = md_h5_calls(file->path, errors);
    if (file->description && !file->broken) md_h5_end_process(&describing, file, file->description);
    MdStatus status = md_h5md_commit(file, true, errors);
    if (describing.failed) status = MD_ERROR_OUTPUT;
    char *path = md_copy_text(file->path);
    MdH5Calls calls = md_h5_calls(path, errors);
    calls.failed = status != MD_OK;
    md_h5_release(&calls, file);
    free(path);
    return calls.failed ? MD_ERROR_OUTPUT : MD_OK;
}

const char *md_h5md_library_version(char buffer[32]) {
    unsigned major, minor, release_number;
    md_h5_start();
    H5get_libversion(&major, &minor, &release_number);
    snprintf(buffer, 32, "%u.%u.%u", major, minor, release_number);
    return buffer;
}
