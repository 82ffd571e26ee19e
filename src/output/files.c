#define _DEFAULT_SOURCE
#include "output/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "deck/table.h"
#include "deck/value.h"
#include "output/path.h"

/* The files that carry the name of a run. All of them are moved or refused, those too that this run does not write:
 * an xy.h5 of another run beside a new xy.json would be taken for its trajectory. Not so an xy.xyz, which may well be the
 * coordinates that somebody starts from: it is an output where it is asked for. */
enum { H5, JSON, LOG, CSV, XYZ, NEIGHBORS, TRACE, RESTART, PREVIOUS, N_FILES };

/* Those with an option of their own for the path; the others have NAME and the folder of the run. */
static const int path_option[N_FILES] = {
    [NEIGHBORS] = MD_OPTION_report_neighbors, [TRACE] = MD_OPTION_report_trace, [RESTART] = MD_OPTION_restart_file};

/* A path as what stands before and after the place where a backup gets its number; path is their join. */
typedef struct Output {
    char *stem, *ending, *path;
} Output;

static const char *run_name(const MdDeck *deck) {
    const MdConfig *config = md_deck_config(deck);
    return *config->output_name ? config->output_name : md_deck_name(deck);
}

/* A file whose path an option gives; an empty path: none. */
static void make_output_of_path(const MdConfig *config, int file, Output *output) {
    const char *path = *(char *const *)((const char *)config + md_option_row(path_option[file])->offset);
    if (!*path) return;
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path, *dot = strrchr(base, '.');
    size_t n_stem = dot && dot > base ? (size_t)(dot - path) : strlen(path);
    output->stem = md_format("%.*s", (int)n_stem, path);
    output->ending = md_copy_text(path + n_stem);
    output->path = md_copy_text(path);
}

/* Each process of a run has a clock of its own, and so a trace of its own. One that begins at the same step again takes
 * the place of the one that did before, as its frames do. */
static void name_part(Output *trace, int64_t from_step) {
    char *stem = md_format("%s.from%lld", trace->stem, (long long)from_step);
    free(trace->stem);
    free(trace->path);
    trace->stem = stem;
    trace->path = md_format("%s%s", stem, trace->ending);
}

static void make_outputs(const MdDeck *deck, const MdFilesUse *use, Output outputs[N_FILES]) {
    const bool json_alone = use->bench || use->ceilings;
    static const char *const endings[] = {
        [H5] = ".h5", [JSON] = ".json", [LOG] = ".log", [CSV] = ".csv", [XYZ] = ".xyz"};
    const MdConfig *config = md_deck_config(deck);
    const char *directory = config->output_directory;
    bool here = strcmp(directory, ".") == 0;
    for (int k = 0; k < N_FILES; k++) outputs[k] = (Output){0};
    for (int k = H5; k <= XYZ; k++) {
        if ((json_alone && k != JSON) || (k == XYZ && config->output_xyz_every == 0)) continue;
        outputs[k].stem =
            md_format("%s%s%s%s", here ? "" : directory, here ? "" : "/", run_name(deck), use->bench ? ".bench" : "");
        outputs[k].ending = md_copy_text(endings[k]);
        outputs[k].path = md_format("%s%s", outputs[k].stem, outputs[k].ending);
    }
    if (json_alone) return;
    const char *restart = config->restart_file;
    for (int k = RESTART; k <= PREVIOUS; k++) {
        outputs[k].stem = *restart ? md_copy_text(restart) : md_copy_text(outputs[LOG].stem);
        outputs[k].ending = md_format("%s%s", *restart ? "" : ".restart", k == PREVIOUS ? ".prev" : "");
        outputs[k].path = md_format("%s%s", outputs[k].stem, outputs[k].ending);
    }
    for (int k = NEIGHBORS; k <= TRACE; k++) make_output_of_path(config, k, &outputs[k]);
    if (use->resumed && outputs[TRACE].path) name_part(&outputs[TRACE], use->from_step);
}

static void free_outputs(Output outputs[N_FILES]) {
    for (int k = 0; k < N_FILES; k++) {
        free(outputs[k].stem);
        free(outputs[k].ending);
        free(outputs[k].path);
    }
}

/* A dangling link is there, too. */
static bool exists(const char *path) {
    struct stat status;
    return path && lstat(path, &status) == 0;
}

static MdStatus fail_option(const MdDeck *deck, MdErrors *errors, int option, const char *read, const char *problem) {
    return md_fail(errors, MD_ERROR_INPUT, "%s: %s: '%s': %s", md_deck_origin(deck, option), md_option_name(option),
                   read, problem);
}

/* access(2) knows of read-only file systems, too. Nobody has written the folder of a default: `.`, which is named by its
 * path. */
static void check_folder(const MdDeck *deck, int option, const char *folder, MdErrors *errors) {
    struct stat status;
    const char *problem = NULL;
    if (stat(folder, &status) != 0) problem = strerror(errno);
    else if (!S_ISDIR(status.st_mode)) problem = "not a folder";
    else if (access(folder, W_OK | X_OK) != 0) problem = strerror(errno);
    if (!problem) return;
    char *absolute = md_path_absolute(NULL, folder);
    if (md_deck_layer(deck, option) > 0) {
        char *both = md_format("%s%s%s", problem, *folder == '/' ? "" : ": ", *folder == '/' ? "" : absolute);
        fail_option(deck, errors, option, folder, both);
        free(both);
    } else {
        md_fail(errors, MD_ERROR_INPUT, "%s: %s: files cannot be made in this folder; name another one by %s", absolute,
                problem, md_option_name(option));
    }
    free(absolute);
}

/* A file that an option names. */
static void check_named(const MdDeck *deck, int which, const Output outputs[N_FILES], MdErrors *errors) {
    const char *path = outputs[which].path;
    const char *slash = strrchr(path, '/');
    struct stat status;
    if ((slash && !slash[1]) || (stat(path, &status) == 0 && S_ISDIR(status.st_mode))) {
        fail_option(deck, errors, path_option[which], path, "names a folder, not a file");
        return;
    }
    char *folder = md_path_folder(path);
    check_folder(deck, path_option[which], folder, errors);
    free(folder);
    for (int k = H5; k < N_FILES; k++)
        if (k != which && outputs[k].path && md_path_same(path, outputs[k].path))
            fail_option(deck, errors, path_option[which], path, "the run writes that file itself");
}

/* The longest name that is ever made of this one: of its copy aside, or of a backup with a number of three digits, which are
 * four bytes more; of a trace that a resumed run writes, its step as well. */
static long most_bytes(const MdConfig *config, const MdFilesUse *use, int file, const char *name) {
    char from[32] = "";
    if (file == TRACE && !use->resumed) snprintf(from, sizeof from, ".from%lld", (long long)config->run_steps);
    return (long)(strlen(name) + strlen(from) + strlen(".tmp"));
}

/* A name that the folder cannot take would end the run when the file is made, perhaps after its last step. The last in the
 * table, restart files, have the longest. */
static MdStatus check_lengths(const MdDeck *deck, const MdFilesUse *use, const Output outputs[N_FILES],
                              MdErrors *errors) {
    const MdConfig *config = md_deck_config(deck);
    for (int k = N_FILES - 1; k >= 0; k--) {
        if (!outputs[k].path) continue;
        const char *path = outputs[k].path, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        const bool own_path = k == NEIGHBORS || k == TRACE || (k >= RESTART && *config->restart_file);
        char *folder = md_path_folder(path);
        const long most_of_name = pathconf(folder, _PC_NAME_MAX), most_of_path = PATH_MAX - 1;
        const long name_bytes = most_bytes(config, use, k, name), path_bytes = most_bytes(config, use, k, path);
        free(folder);
        const bool long_name = most_of_name > 0 && name_bytes > most_of_name;
        if (!long_name && path_bytes <= most_of_path) continue;
        const int option = own_path    ? path_option[k == PREVIOUS ? RESTART : k]
                           : long_name ? MD_OPTION_output_name
                                       : MD_OPTION_output_directory;
        return md_fail(
            errors, MD_ERROR_INPUT,
            "%s: %s: '%.40s...' is too long by %ld bytes: of all files that the run makes of it, the longest %s "
            "may have %ld",
            md_deck_origin(deck, option), md_option_name(option), long_name ? name : path,
            long_name ? name_bytes - most_of_name : path_bytes - most_of_path, long_name ? "name" : "path",
            long_name ? most_of_name : most_of_path);
    }
    return MD_OK;
}

static const char written_over[] = "the run writes a file of that name; choose another with output.name, restart.file, "
                                   "report.neighbors or report.trace";

/* An input that bears the name of an output would be moved away, or lost. */
static void check_inputs(const MdDeck *deck, const Output outputs[N_FILES], MdErrors *errors) {
    const char *coordinates = md_deck_config(deck)->system_file;
    for (int k = 0; k < N_FILES; k++) {
        if (!outputs[k].path) continue;
        bool found = false;
        for (int i = 0; !found && md_deck_file(deck, i); i++)
            if (md_path_same(md_deck_file(deck, i), outputs[k].path)) {
                found = true;
                md_fail(errors, MD_ERROR_INPUT, "%s: %s", md_deck_file(deck, i), written_over);
            }
        if (!found && *coordinates && md_path_same(coordinates, outputs[k].path))
            fail_option(deck, errors, MD_OPTION_system_file, coordinates, written_over);
    }
}

static bool is_written(const char *path) {
    const int descriptor = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    const bool held = descriptor >= 0 && md_lock_is_held(descriptor);
    if (descriptor >= 0) close(descriptor);
    return held;
}

/* Neither moved nor overwritten are files of a run that goes on. A trajectory that another program has open can be renamed,
 * as that program keeps what it has; but not written over or gone on with. */
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

static void name_files(const MdConfig *config, const Output outputs[N_FILES], MdFiles *files) {
    files->h5 = outputs[H5].path && config->output_frames_every > 0 ? md_copy_text(outputs[H5].path) : NULL;
    files->json = md_copy_text(outputs[JSON].path);
    files->log = outputs[LOG].path ? md_copy_text(outputs[LOG].path) : NULL;
    files->csv = outputs[CSV].path ? md_copy_text(outputs[CSV].path) : NULL;
    files->xyz = outputs[XYZ].path ? md_copy_text(outputs[XYZ].path) : NULL;
    files->neighbors = outputs[NEIGHBORS].path ? md_copy_text(outputs[NEIGHBORS].path) : NULL;
    files->restart = outputs[RESTART].path ? md_copy_text(outputs[RESTART].path) : NULL;
    files->trace = outputs[TRACE].path ? md_copy_text(outputs[TRACE].path) : NULL;
}

/* Whether the run that is resumed goes on with a file, or leaves it alone. */
static bool is_own(const MdDeck *deck, const MdFilesUse *use, const Output outputs[N_FILES], const Output *saved,
                   int k) {
    const MdConfig *before = md_deck_config(md_deck_before(deck));
    if (k == NEIGHBORS || (k == H5 && md_deck_config(deck)->output_frames_every == 0)) return true;
    if ((k == H5 && use->has_h5) || (k == XYZ && use->has_xyz)) return true;
    if (!outputs[k].path || !saved[k].path || (k == H5 && before->output_frames_every == 0)) return false;
    /* Where it was, or beside its restart file, in a folder that was moved. */
    return md_path_same(outputs[k].path, saved[k].path) || md_path_same(outputs[RESTART].path, use->resumed) ||
           md_path_same(outputs[PREVIOUS].path, use->resumed);
}

static void find_own(const MdDeck *deck, const MdFilesUse *use, const Output outputs[N_FILES], bool own[N_FILES]) {
    const bool resumed = use->resumed && !use->bench;
    Output saved[N_FILES];
    if (resumed) make_outputs(md_deck_before(deck), use, saved);
    for (int k = 0; k < N_FILES; k++) own[k] = resumed && is_own(deck, use, outputs, saved, k);
    if (resumed) free_outputs(saved);
}

/* Checks that nobody else is at work on the files, and what there is of them. Then takes out of `outputs` what is not in the
 * way, as a run that is resumed goes on with it. */
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

MdStatus md_files_plan(const MdDeck *deck, const MdFilesUse *use, MdFiles *files, MdErrors *errors) {
    const MdConfig *config = md_deck_config(deck);
    const bool has_restart = !use->bench && !use->ceilings;
    int before = md_errors_count(errors);
    Output outputs[N_FILES];
    *files = (MdFiles){.use = *use};
    if (strchr(run_name(deck), '/'))
        return fail_option(deck, errors, MD_OPTION_output_name, run_name(deck),
                           "may not contain '/': the folder is output.directory");
    make_outputs(deck, use, outputs);
    check_folder(deck, MD_OPTION_output_directory, config->output_directory, errors);
    for (int k = NEIGHBORS; k <= TRACE; k++)
        if (outputs[k].path) check_named(deck, k, outputs, errors);
    if (*config->restart_file && has_restart) check_named(deck, RESTART, outputs, errors);
    if (md_errors_count(errors) == before) {
        check_lengths(deck, use, outputs, errors);
        check_inputs(deck, outputs, errors);
        name_files(config, outputs, files);
        if (md_lock_check_name(outputs[JSON].stem, errors) == MD_OK) check_there(deck, files, outputs, errors);
    }
    free_outputs(outputs);
    if (md_errors_count(errors) == before) return MD_OK;
    md_files_free(files);
    return MD_ERROR_INPUT;
}

/* A link, unlike a new name, never takes the place of a file that has come since. What cannot be linked (a folder, a file
 * system without links) is renamed. */
static bool move_to_new(const char *from, const char *to) {
    if (link(from, to) == 0) return unlink(from) == 0;
    return errno != EEXIST && rename(from, to) == 0;
}

/* Moves the files that exist to the first number that none of the set has. */
static MdStatus back_up(const Output outputs[N_FILES], MdLog *log, MdErrors *errors) {
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
    char *moved = md_copy_text("");
    for (int k = 0; k < N_FILES; k++) {
        if (!exists(outputs[k].path)) continue;
        char *path = md_format("%s.%d%s", outputs[k].stem, number, outputs[k].ending);
        bool failed = !move_to_new(outputs[k].path, path);
        if (failed)
            md_fail(errors, MD_ERROR_OUTPUT, "%s: cannot be renamed %s: %s", outputs[k].path, path, strerror(errno));
        else if (strcmp(outputs[k].stem, outputs[JSON].stem) != 0)
            md_log(log, "existing %s -> %s\n", outputs[k].path, path);
        else {
            char *longer = md_format("%s%s%s", moved, *moved ? ", " : "", outputs[k].path);
            free(moved);
            moved = longer;
        }
        free(path);
        if (failed) {
            free(moved);
            return MD_ERROR_OUTPUT;
        }
    }
    if (*moved) md_log(log, "existing %s -> %s.%d.*\n", moved, outputs[JSON].stem, number);
    free(moved);
    return MD_OK;
}

/* What is only written later, or appended to, or not at all, would be taken for this run's. */
static MdStatus remove_old(const Output outputs[N_FILES], const MdFiles *files, MdErrors *errors) {
    for (int k = 0; k < N_FILES; k++) {
        const bool stale =
            k == RESTART || k == PREVIOUS || k == JSON || (k == LOG && files->use.resumed) || (k == H5 && !files->h5);
        if (stale && exists(outputs[k].path) && unlink(outputs[k].path) != 0)
            return md_fail(errors, MD_ERROR_OUTPUT, "%s: cannot be removed: %s", outputs[k].path, strerror(errno));
    }
    return MD_OK;
}

/* Checks again what was planned: another run may have begun since, and even have ended. */
MdStatus md_files_prepare(const MdDeck *deck, MdFiles *files, MdLog *log, MdErrors *errors) {
    md_require(files->json);
    const int existing = md_deck_config(deck)->output_existing;
    Output outputs[N_FILES];
    make_outputs(deck, &files->use, outputs);
    MdStatus status = md_lock_take_name(outputs[JSON].stem, &files->name, errors);
    if (status == MD_OK) status = check_there(deck, files, outputs, errors);
    bool any = false;
    for (int k = 0; k < N_FILES; k++) any = any || exists(outputs[k].path);
    if (status == MD_OK && any && existing == MD_EXISTING_BACKUP) status = back_up(outputs, log, errors);
    if (status == MD_OK && existing == MD_EXISTING_OVERWRITE) status = remove_old(outputs, files, errors);
    free_outputs(outputs);
    return status;
}

/* By a descriptor: the number of a deleted file may be given to the one that takes its place. */
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

void md_files_free(MdFiles *files) {
    for (int k = 0; k < files->n_held; k++) close(files->held[k].descriptor);
    free(files->h5);
    free(files->json);
    free(files->log);
    free(files->csv);
    free(files->xyz);
    free(files->neighbors);
    free(files->restart);
    free(files->trace);
    md_lock_release_name(&files->name);
    *files = (MdFiles){0};
}
