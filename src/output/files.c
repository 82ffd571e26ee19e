#define _DEFAULT_SOURCE 1
#include "output/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "output/outputs.h"
#include "output/path.h"

/* A dangling link is there, too. */
static bool exists(const char *path) {
    struct stat status;
    return path && lstat(path, &status) == 0;
}

static bool is_written(const char *path) {
    const int descriptor = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    const bool held = descriptor >= 0 && md_lock_is_held(descriptor);
    if (descriptor >= 0) close(descriptor);
    return held;
}

/* Files of a run that goes on are neither moved nor overwritten. A trajectory that another program has open can be renamed,
 * as that program keeps its file; but it cannot be overwritten or continued. */
static MdStatus check_unused(const MdDeck *deck, const Output outputs[N_FILES], const bool own[N_FILES],
                             MdErrors *errors) {
    const MdConfig *config = md_deck_config(deck);
    const char *path = outputs[H5].path;
    if (is_written(path) && !own[H5])
        return md_fail(errors, MD_ERROR_INPUT,
                       "%s: is being written by a running program; choose another output.name or output.directory",
                       path);
    const bool in_place = own[H5] ? config->output_frames_every > 0 : config->output_existing == MD_EXISTING_OVERWRITE;
    if (path && in_place && md_lock_is_open_elsewhere(path))
        return md_fail(errors, MD_ERROR_INPUT, "%s: is open in another program: close it there, or %s", path,
                       own[H5] ? "go on without a trajectory: output.frames_every=0"
                               : "take output.existing = backup, or another output.name");
    return MD_OK;
}

static MdStatus check_existing(const MdDeck *deck, const Output outputs[N_FILES], MdErrors *errors) {
    int existing = md_deck_config(deck)->output_existing;
    const char *origin = md_deck_origin(deck, MD_OPTION_output_existing);
    MdStatus result = MD_OK;
    for (int k = 0; k < N_FILES; k++) {
        const char *path = outputs[k].path;
        struct stat status;
        if (!exists(path)) continue;
        if (existing == MD_EXISTING_REFUSE)
            result = md_fail(errors, MD_ERROR_INPUT, "%s: output.existing: refuse, and '%s' exists", origin, path);
        if (existing == MD_EXISTING_OVERWRITE && stat(path, &status) == 0 && !S_ISREG(status.st_mode))
            result = md_fail(errors, MD_ERROR_INPUT, "%s: output.existing: overwrite, but '%s' is no plain file",
                             origin, path);
    }
    return result;
}

/* The first number that none of the set has. */
static int find_number(const Output outputs[N_FILES]) {
    int number = 0;
    for (bool taken = true; taken;) {
        number++;
        taken = false;
        for (int k = 0; k < N_FILES; k++) {
            if (!outputs[k].path) continue;
            char *path = md_format("%s.%d%s", outputs[k].stem, number, outputs[k].ending);
            taken = taken || exists(path);
            free(path);
        }
    }
    return number;
}

static void name_files(const MdConfig *config, const Output outputs[N_FILES], MdFiles *files) {
    files->h5 = outputs[H5].path && config->output_frames_every > 0 ? md_copy_text(outputs[H5].path) : NULL;
    if (files->h5 && files->use.resumed)
        files->h5_aside = md_format("%s.%d%s", outputs[H5].stem, find_number(outputs), outputs[H5].ending);
    files->json = md_copy_text(outputs[JSON].path);
    files->log = outputs[LOG].path ? md_copy_text(outputs[LOG].path) : NULL;
    files->csv = outputs[CSV].path ? md_copy_text(outputs[CSV].path) : NULL;
    files->xyz = outputs[XYZ].path && config->output_xyz_every > 0 ? md_copy_text(outputs[XYZ].path) : NULL;
    files->msd = outputs[MSD].path && config->analysis_msd_every > 0 ? md_copy_text(outputs[MSD].path) : NULL;
    files->rdf = outputs[RDF].path && config->analysis_rdf_every > 0 ? md_copy_text(outputs[RDF].path) : NULL;
    files->vacf = outputs[VACF].path && config->analysis_vacf_every > 0 ? md_copy_text(outputs[VACF].path) : NULL;
    files->neighbors = outputs[NEIGHBORS].path ? md_copy_text(outputs[NEIGHBORS].path) : NULL;
    files->restart = outputs[RESTART].path ? md_copy_text(outputs[RESTART].path) : NULL;
    files->trace = outputs[TRACE].path ? md_copy_text(outputs[TRACE].path) : NULL;
}

/* Whether the resumed run continues a file, or does not touch it. */
static bool is_own(const MdDeck *deck, const MdFilesUse *use, const Output outputs[N_FILES], const Output *saved,
                   int k) {
    const MdConfig *before = md_deck_config(md_deck_before(deck));
    const MdConfig *now = md_deck_config(deck);
    if (k == NEIGHBORS || (k == H5 && now->output_frames_every == 0) || (k == XYZ && now->output_xyz_every == 0))
        return true;
    if ((k == H5 && use->has_h5) || (k == XYZ && use->has_xyz)) return true;
    if (!outputs[k].path || !saved[k].path || (k == H5 && before->output_frames_every == 0)) return false;
    /* Where it was, or beside its restart file, in a folder that was moved. */
    return md_path_same(outputs[k].path, saved[k].path) || md_path_same(outputs[RESTART].path, use->resumed) ||
           md_path_same(outputs[PREVIOUS].path, use->resumed);
}

static void find_own(const MdDeck *deck, const MdFilesUse *use, const Output outputs[N_FILES], bool own[N_FILES]) {
    const bool resumed = use->resumed && !use->bench;
    Output saved[N_FILES];
    if (resumed) md_outputs_make(md_deck_before(deck), use, saved);
    for (int k = 0; k < N_FILES; k++) own[k] = resumed && is_own(deck, use, outputs, saved, k);
    if (resumed) md_outputs_free(saved);
}

/* Checks that no other process uses the files, and which of them exist. Then removes from `outputs` the files that a resumed
 * run continues. */
static MdStatus check_there(const MdDeck *deck, MdFiles *files, Output outputs[N_FILES], MdErrors *errors) {
    bool own[N_FILES];
    find_own(deck, &files->use, outputs, own);
    files->h5_there = own[H5] && files->h5 && exists(files->h5);
    if (check_unused(deck, outputs, own, errors) != MD_OK) return MD_ERROR_INPUT;
    for (int k = 0; k < N_FILES; k++) {
        if (!own[k]) continue;
        free(outputs[k].path);
        outputs[k].path = NULL;
    }
    return check_existing(deck, outputs, errors);
}

/* The names that other runs may not use at the same time: NAME, which most files bear; the restart file, which restart.file of
 * another run may name; and files with their own paths. Returns how many. */
static int find_names(const Output outputs[N_FILES], const char *names[4]) {
    static const int with_path[] = {NEIGHBORS, TRACE, RESTART};
    int n = 0;
    names[n++] = outputs[JSON].stem;
    for (size_t k = 0; k < sizeof with_path / sizeof *with_path; k++) {
        const char *path = outputs[with_path[k]].path;
        if (path && !md_path_same(path, names[0])) names[n++] = path;
    }
    return n;
}

static MdStatus check_names(const Output outputs[N_FILES], MdErrors *errors) {
    const char *names[4];
    const int n = find_names(outputs, names);
    MdStatus status = MD_OK;
    for (int k = 0; k < n && status == MD_OK; k++) status = md_lock_check_name(names[k], errors);
    return status;
}

static MdStatus check_locks(MdFiles *files, MdErrors *errors) {
    files->lock_fault = md_lock_fault(files->h5 ? files->h5 : files->json);
    return files->h5 ? md_lock_check_choice(files->h5, files->lock_fault, errors) : MD_OK;
}

MdStatus md_files_plan(const MdDeck *deck, const MdFilesUse *use, MdFiles *files, MdErrors *errors) {
    Output outputs[N_FILES];
    *files = (MdFiles){.use = *use};
    md_outputs_make(deck, use, outputs);
    MdStatus status = md_outputs_check(deck, use, outputs, errors);
    if (status == MD_OK) status = check_names(outputs, errors);
    if (status == MD_OK) name_files(md_deck_config(deck), outputs, files);
    if (status == MD_OK) status = check_locks(files, errors);
    if (status == MD_OK) status = check_there(deck, files, outputs, errors);
    md_outputs_free(outputs);
    if (status != MD_OK) md_files_free(files);
    return status;
}

/* A link, unlike a rename, never replaces a file that was made since. A folder, and files on a file system without links,
 * are renamed. */
static bool move_to_new(const char *from, const char *to) {
    if (link(from, to) == 0) return unlink(from) == 0;
    return errno != EEXIST && rename(from, to) == 0;
}

/* Moves the files that exist to a number. */
static MdStatus back_up(const Output outputs[N_FILES], MdLog *log, MdErrors *errors) {
    const int number = find_number(outputs);
    MdText moved = {0};
    for (int k = 0; k < N_FILES; k++) {
        if (!exists(outputs[k].path)) continue;
        char *path = md_format("%s.%d%s", outputs[k].stem, number, outputs[k].ending);
        bool failed = !move_to_new(outputs[k].path, path);
        if (failed)
            md_fail(errors, MD_ERROR_OUTPUT, "%s: cannot be renamed %s: %s", outputs[k].path, path, strerror(errno));
        else if (strcmp(outputs[k].stem, outputs[JSON].stem) != 0)
            md_log(log, "existing %s -> %s\n", outputs[k].path, path);
        else md_text_add(&moved, "%s%s", moved.length ? ", " : "", outputs[k].path);
        free(path);
        if (failed) {
            free(moved.text);
            return MD_ERROR_OUTPUT;
        }
    }
    if (moved.length) md_log(log, "existing %s -> %s.%d.*\n", moved.text, outputs[JSON].stem, number);
    free(moved.text);
    return MD_OK;
}

/* Otherwise old files that are only written later, or appended to, or not at all, would seem to be this run's. */
static MdStatus remove_old(const Output outputs[N_FILES], const MdFiles *files, MdErrors *errors) {
    for (int k = 0; k < N_FILES; k++) {
        const bool stale = k == RESTART || k == PREVIOUS || k == JSON || (k == LOG && files->use.resumed) ||
                           (k == H5 && !files->h5) || (k == XYZ && !files->xyz) || k == MSD || k == VACF || k == RDF;
        if (stale && exists(outputs[k].path) && unlink(outputs[k].path) != 0)
            return md_fail(errors, MD_ERROR_OUTPUT, "%s: cannot be removed: %s", outputs[k].path, strerror(errno));
    }
    return MD_OK;
}

static MdStatus take_names(const Output outputs[N_FILES], MdFiles *files, MdErrors *errors) {
    const char *names[4];
    const int n = find_names(outputs, names);
    MdStatus status = MD_OK;
    for (int k = 0; k < n && status == MD_OK; k++) {
        status = md_lock_take_name(names[k], &files->locks[k], errors);
        if (status == MD_OK) files->n_locks++;
    }
    return status;
}

/* Checks the plan again: another run may have begun since, and even have ended. */
MdStatus md_files_prepare(const MdDeck *deck, MdFiles *files, MdLog *log, MdErrors *errors) {
    md_require(files->json);
    const int existing = md_deck_config(deck)->output_existing;
    Output outputs[N_FILES];
    md_outputs_make(deck, &files->use, outputs);
    MdStatus status = take_names(outputs, files, errors);
    if (status == MD_OK) status = check_there(deck, files, outputs, errors);
    bool any = false;
    for (int k = 0; k < N_FILES; k++) any = any || exists(outputs[k].path);
    if (status == MD_OK && any && existing == MD_EXISTING_BACKUP) status = back_up(outputs, log, errors);
    if (status == MD_OK && existing == MD_EXISTING_OVERWRITE) status = remove_old(outputs, files, errors);
    md_outputs_free(outputs);
    return status;
}

uint64_t md_files_replaced_bytes(const MdDeck *deck, const MdFiles *files, const char *folder) {
    struct stat disk, file;
    if (md_deck_config(deck)->output_existing != MD_EXISTING_OVERWRITE || files->use.resumed ||
        stat(folder, &disk) != 0)
        return 0;
    Output outputs[N_FILES];
    md_outputs_make(deck, &files->use, outputs);
    uint64_t bytes = 0;
    for (int k = 0; k < N_FILES; k++) {
        const bool is_late = k == NEIGHBORS || k == TRACE; /* replaced after others have been written */
        if (is_late || !outputs[k].path || lstat(outputs[k].path, &file) != 0) continue;
        if (S_ISREG(file.st_mode) && file.st_nlink == 1 && file.st_dev == disk.st_dev)
            bytes += (uint64_t)file.st_blocks * 512;
    }
    md_outputs_free(outputs);
    return bytes;
}

/* By a descriptor: a new file may get the number of the deleted file. */
void md_files_hold(MdFiles *files) {
    const char *const paths[] = {files->h5, files->xyz, files->log, files->csv};
    for (int k = 0; k < 4; k++) {
        const int descriptor = paths[k] ? open(paths[k], O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
        if (descriptor < 0) continue;
        files->held[files->n_held].path = paths[k];
        files->held[files->n_held++].descriptor = descriptor;
    }
}

MdStatus md_files_check_held(const MdFiles *files, MdErrors *errors) {
    for (int k = 0; k < files->n_held; k++) {
        const char *problem = md_path_lost(files->held[k].path, files->held[k].descriptor);
        if (problem) return md_fail(errors, MD_ERROR_OUTPUT, "%s: %s", files->held[k].path, problem);
    }
    return MD_OK;
}

const char *md_files_curves(const MdFiles *files, const char *name) {
    const char *const paths[] = {files->msd, files->vacf, files->rdf}, *const names[] = {"msd", "vacf", "rdf"};
    for (size_t k = 0; k < sizeof paths / sizeof *paths; k++)
        if (strcmp(names[k], name) == 0) return paths[k];
    md_panic("curves without a file");
}

void md_files_free(MdFiles *files) {
    for (int k = 0; k < files->n_held; k++) close(files->held[k].descriptor);
    free(files->h5);
    free(files->h5_aside);
    free(files->json);
    free(files->log);
    free(files->csv);
    free(files->xyz);
    free(files->msd);
    free(files->vacf);
    free(files->rdf);
    free(files->neighbors);
    free(files->restart);
    free(files->trace);
    for (int k = 0; k < files->n_locks; k++) md_lock_release_name(&files->locks[k]);
    *files = (MdFiles){0};
}
