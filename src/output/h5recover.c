/* The state of a file after a kill, and its repair.
 *
 * Data reach the file before the headers that refer to them, and no header is torn. So the worst state after a kill is:
 * the mark of an open file, an end of file that is too early (compressed files), and some series
 * longer than others. An interrupted copy, or a full disk, may have truncated the file as well. The
 * superblock is repaired first, by bytes: opening and closing a file whose end is too early would cut off the data after
 * it. Then the library opens it, and all series of a timeline are cut to the frames that are complete in all of them. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "output/h5open.h"
#include "output/lock.h"
#include "output/superblock.h"

typedef struct Patient {
    const char *path;
    int descriptor;
    uint64_t size;   /* of the file as it was found */
    uint64_t stored; /* bytes of it that were written: fewer in a file whose recovery was broken off */
    MdSuperblock found, mended;
    const char *obstacle; /* why it may not be written to; NULL: it may */
} Patient;

static MdStatus refuse(const Patient *patient, const char *reason, MdErrors *errors) {
    return md_fail(errors, MD_ERROR_INPUT, "%s: %s", patient->path, reason);
}

/* A truncated file is extended to the size that the library expects, before the lost frames are cut. Until that is done its
 * old size is at its new end, so that recovery can begin again after a kill. */
typedef struct SizeNote {
    char magic[16];
    uint64_t size;
} SizeNote;

static const char note_magic[16] = "mdmini was here";

/* Reads the note at the end of a file of so many bytes; false where there is none. */
static bool read_note(int descriptor, uint64_t size, SizeNote *note) {
    return size > sizeof *note && pread(descriptor, note, sizeof *note, (off_t)(size - sizeof *note)) == sizeof *note &&
           memcmp(note->magic, note_magic, sizeof note_magic) == 0 && note->size < size;
}

static bool write_note(int descriptor, uint64_t size, const SizeNote *note) {
    return pwrite(descriptor, note, sizeof *note, (off_t)(size - sizeof *note)) == sizeof *note;
}

/* The library may have cut the end off, and the note with it. */
static bool erase_note(int descriptor) {
    struct stat status;
    SizeNote note;
    if (fstat(descriptor, &status) != 0) return false;
    if (!read_note(descriptor, (uint64_t)status.st_size, &note)) return true;
    return write_note(descriptor, (uint64_t)status.st_size, &(SizeNote){{0}, 0}) && fdatasync(descriptor) == 0;
}

static MdStatus examine(Patient *patient, MdErrors *errors) {
    struct stat status;
    unsigned char bytes[MD_SUPERBLOCK_BYTES] = {0};
    patient->descriptor = open(patient->path, O_RDWR | O_CLOEXEC);
    const bool writable = patient->descriptor >= 0;
    if (!writable) patient->descriptor = open(patient->path, O_RDONLY | O_CLOEXEC);
    if (patient->descriptor < 0 || fstat(patient->descriptor, &status) != 0)
        return refuse(patient, strerror(errno), errors);
    if (!S_ISREG(status.st_mode)) return refuse(patient, "is no plain file", errors);
    if (status.st_size == 0) return refuse(patient, "is empty: there is nothing to recover", errors);
    if (pread(patient->descriptor, bytes, sizeof bytes, 0) < 0) return refuse(patient, strerror(errno), errors);
    const char *problem = md_superblock_read(&patient->found, bytes);
    if (problem) return refuse(patient, problem, errors);
    if (md_lock_check_choice(patient->path, md_lock_fault(patient->path), errors) != MD_OK) return MD_ERROR_INPUT;
    if (md_lock_is_held(patient->descriptor)) return refuse(patient, "is being written by a running program", errors);
    if (!writable) patient->obstacle = "wants recovery, but may not be written to";
    else if (md_lock_is_open_elsewhere(patient->path))
        patient->obstacle = "wants recovery, but is open in another program: close it there";
    SizeNote note;
    patient->size = patient->stored = (uint64_t)status.st_size;
    if (read_note(patient->descriptor, patient->size, &note)) patient->stored = note.size;
    return MD_OK;
}

/* Whether the library may open it. If the end of file is too early, it opens, and then fails, or cuts off the data after the
 * end. */
static bool is_openable(const Patient *patient) {
    if (patient->found.is_foreign) return patient->found.end <= patient->stored;
    return !patient->found.marked && patient->found.end == patient->stored;
}

/* A patient that cannot be written to can only be found in good order. */
static MdStatus write_superblock(const Patient *patient, const MdSuperblock *superblock, uint64_t size,
                                 MdErrors *errors) {
    if (patient->obstacle) return refuse(patient, patient->obstacle, errors);
    if (ftruncate(patient->descriptor, (off_t)size) == 0 &&
        pwrite(patient->descriptor, superblock->bytes, MD_SUPERBLOCK_BYTES, 0) == MD_SUPERBLOCK_BYTES)
        return MD_OK;
    return md_fail(errors, MD_ERROR_OUTPUT, "%s: %s", patient->path, strerror(errno));
}

/* Of a file that cannot be mended somebody else might still get something. */
static MdStatus refuse_damaged(const Patient *patient, const char *damage, MdErrors *errors) {
    return md_fail(errors, MD_ERROR_INPUT,
                   "%s: is damaged: %s; nothing can be recovered, and it was left as it is. Put a whole copy in its "
                   "place, or go on without it from the restart file of the run: mdmini --restart FILE "
                   "output.frames_every=0",
                   patient->path, damage);
}

/* End of file and size agree at the end of a page, as the library leaves them. */
static MdStatus mend(Patient *patient, MdErrors *errors) {
    if (patient->found.is_foreign)
        return refuse_damaged(patient, "it was cut short, and another program has written it", errors);
    const uint64_t page = 4096;
    uint64_t end = patient->found.end > patient->size ? patient->found.end : patient->size;
    end = (end + page - 1) / page * page;
    if (patient->found.end > patient->size) {
        SizeNote note = {.size = patient->size};
        memcpy(note.magic, note_magic, sizeof note_magic);
        if (end - patient->size < sizeof note) end += page;
        if (!patient->obstacle && !write_note(patient->descriptor, end, &note))
            return md_fail(errors, MD_ERROR_OUTPUT, "%s: %s", patient->path, strerror(errno));
    }
    patient->mended = patient->found;
    md_superblock_mend(&patient->mended, end);
    return write_superblock(patient, &patient->mended, end, errors);
}

/* Frames that stay and go, by timeline; whether any go. */
static bool count_rows(MdH5Calls *calls, const MdH5md *file, uint64_t n_bytes, MdH5mdRecovery *recovery) {
    bool ragged = false;
    for (int t = 0; t < N_TIMELINES; t++) {
        recovery->series[t].n_kept = recovery->series[t].last_step = -1;
        recovery->series[t].n_dropped = 0;
        if (file->series[STEP + 2 * t].dataset <= 0) continue;
        int64_t n = md_h5_whole_rows(calls, file, t, n_bytes);
        int64_t *steps = md_h5_read_steps(calls, file, t, n);
        recovery->series[t].n_kept = n;
        if (n > 0) recovery->series[t].last_step = steps[n - 1];
        for (int k = 0; k < N_SERIES; k++) {
            if (file->series[k].dataset <= 0 || file->series[k].timeline != t) continue;
            int64_t excess = md_h5_rows(calls, &file->series[k]) - n;
            ragged = ragged || excess != 0;
            if (excess > recovery->series[t].n_dropped) recovery->series[t].n_dropped = excess;
        }
        md_free(steps);
    }
    return ragged;
}

/* Bytes to which the file was cut; 0: it was not. */
static uint64_t cut_to(const Patient *patient) { return patient->found.end > patient->stored ? patient->stored : 0; }

/* Finds the frames that stay, without writing. *ragged: some must be removed, and can be. */
static MdStatus count_frames(Patient *patient, MdH5mdRecovery *recovery, bool *ragged, MdErrors *errors) {
    MdErrors *own = md_errors_create();
    MdH5Calls calls = md_h5_calls(patient->path, own);
    MdH5md *file = md_h5_open(&calls, H5F_ACC_RDONLY);
    *ragged = file && count_rows(&calls, file, cut_to(patient), recovery);
    recovery->uncut = *ragged && file->reformed;
    *ragged = *ragged && !recovery->uncut;
    if (file) md_h5_release(&calls, file);
    MdStatus status = MD_OK;
    const bool none_left = recovery->series[0].n_kept == 0 && recovery->series[0].n_dropped > 0;
    if (cut_to(patient) && (calls.failed || none_left)) {
        char *damage = md_format("only %llu of its %llu bytes are there, and no frame is whole",
                                 (unsigned long long)patient->stored, (unsigned long long)patient->found.end);
        status = refuse_damaged(patient, damage, errors);
        free(damage);
    } else if (cut_to(patient) && recovery->uncut) {
        status = refuse_damaged(
            patient, "it was cut short, and another program has stored it in a form that frames are not taken out of",
            errors);
    } else if (calls.call_failed && md_lock_is_open_elsewhere(patient->path)) {
        status = refuse(patient, "is open in another program: close it there", errors);
    } else if (calls.call_failed) {
        status = refuse_damaged(patient, md_errors_text(own, 0) + strlen(patient->path) + strlen(": "), errors);
    } else if (calls.failed) {
        status = md_fail(errors, MD_ERROR_INPUT, "%s", md_errors_text(own, 0));
    }
    md_errors_destroy(own);
    return status;
}

/* Opens the repaired file by the library, and cuts its series if needed. */
static MdStatus cut(Patient *patient, MdH5mdRecovery *recovery, MdErrors *errors) {
    bool ragged;
    MdStatus status = count_frames(patient, recovery, &ragged, errors);
    recovery->changed = ragged || !is_openable(patient);
    if (status != MD_OK || !recovery->changed) return status;
    if (patient->obstacle) return refuse(patient, patient->obstacle, errors);
    MdH5Calls calls = md_h5_calls(patient->path, errors);
    MdH5md *file = md_h5_open(&calls, H5F_ACC_RDWR);
    for (int k = 0; file && ragged && k < N_SERIES && !calls.failed; k++)
        if (file->series[k].dataset > 0)
            md_h5_set_rows(&calls, &file->series[k], recovery->series[file->series[k].timeline].n_kept);
    if (file) md_h5_release(&calls, file);
    if (!calls.failed && (fdatasync(patient->descriptor) != 0 || !erase_note(patient->descriptor)))
        return md_fail(errors, MD_ERROR_OUTPUT, "%s: %s", patient->path, strerror(errno));
    /* A file that HDF5 cannot read is bad input; a disk that takes nothing is another matter. */
    if (calls.failed) return calls.write_failed ? MD_ERROR_OUTPUT : MD_ERROR_INPUT;
    return MD_OK;
}

MdStatus md_h5md_recover(const char *path, MdH5mdRecovery *recovery, MdErrors *errors) {
    Patient patient = {.path = path};
    MdStatus status = examine(&patient, errors);
    bool openable = status == MD_OK && is_openable(&patient);
    if (status == MD_OK && !openable) status = mend(&patient, errors);
    if (status == MD_OK) {
        MdErrors *own = md_errors_create();
        status = cut(&patient, recovery, own);
        for (int k = 0; k < md_errors_count(own); k++) md_fail(errors, status, "%s", md_errors_text(own, k));
        md_errors_destroy(own);
        if (status != MD_OK && !openable) write_superblock(&patient, &patient.found, patient.size, errors);
    }
    if (patient.descriptor >= 0) close(patient.descriptor);
    return status;
}

/* A reader may come while a file with marks is being written: so it may after that. */
MdH5md *md_h5_open_as_it_is(MdH5Calls *calls) {
    Patient patient = {.path = calls->path};
    MdStatus status = examine(&patient, calls->errors);
    if (status == MD_OK && cut_to(&patient))
        status = refuse(&patient, "was truncated; mdmini --recover FILE keeps its complete frames", calls->errors);
    if (patient.descriptor >= 0) close(patient.descriptor);
    calls->failed = status != MD_OK;
    if (calls->failed) return NULL;
    return md_h5_open(calls, H5F_ACC_RDONLY | (patient.found.marked ? H5F_ACC_SWMR_READ : 0));
}

char *md_h5md_describe_recovery(const char *path, const MdH5mdRecovery *recovery) {
    static const char *const names[] = {"frames", "velocities", "forces"};
    const char *state = recovery->uncut
                            ? "left as it is, in the form that another program has stored it in; a run that goes "
                              "on from its restart file rewrites it"
                        : recovery->changed ? "recovered"
                                            : "in good order, left as it is";
    MdText text = {0};
    md_text_add(&text, "%s: %s\n", path, state);
    for (int t = 0; t < MD_H5MD_IMAGE; t++) {
        const long long n_kept = recovery->series[t].n_kept, n_dropped = recovery->series[t].n_dropped;
        if (n_kept < 0) continue;
        md_text_add(&text, "  %lld %s", n_kept, names[t]);
        if (n_kept) md_text_add(&text, ", the last of step %lld", (long long)recovery->series[t].last_step);
        if (n_dropped)
            md_text_add(&text, "; %lld that were not whole %s", n_dropped,
                        recovery->uncut ? "would be dropped then" : "are dropped");
        md_text_add(&text, "\n");
    }
    return md_text_take(&text);
}
