#define _DEFAULT_SOURCE 1
#include "output/outputs.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "deck/table.h"
#include "deck/value.h"
#include "output/path.h"
#include "output/xyz.h"

/* Files with an option for their path; the others have NAME and the folder of the run. */
static const int path_option[N_FILES] = {
    [NEIGHBORS] = MD_OPTION_report_neighbors, [TRACE] = MD_OPTION_report_trace, [RESTART] = MD_OPTION_restart_file};

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

/* Each process of a run has its own clock, and so its own trace. A process that begins at the same step again replaces
 * the trace of the earlier one, as with frames. */
static void name_part(Output *trace, int64_t from_step) {
    char *stem = md_format("%s.from%lld", trace->stem, (long long)from_step);
    free(trace->stem);
    free(trace->path);
    trace->stem = stem;
    trace->path = md_format("%s%s", stem, trace->ending);
}

static void free_output(Output *output) {
    free(output->stem);
    free(output->ending);
    free(output->path);
    *output = (Output){0};
}

/* The deck or the coordinates of the run that are the file at path; NULL: it is no input. */
static const char *find_input(const MdDeck *deck, const char *path) {
    const char *coordinates = md_deck_config(deck)->system_file, *potential = md_deck_config(deck)->potential_file;
    for (int k = 0; md_deck_file(deck, k); k++)
        if (md_path_same(md_deck_file(deck, k), path)) return md_deck_file(deck, k);
    if (*potential && md_path_same(potential, path)) return potential;
    return *coordinates && md_path_same(coordinates, path) ? coordinates : NULL;
}

/* Whether the XYZ file, which this run does not write, is of an earlier one. */
static bool is_left_over(const MdDeck *deck, const char *path) {
    return md_xyz_is_output(path) && !find_input(deck, path);
}

void md_outputs_make(const MdDeck *deck, const MdFilesUse *use, Output outputs[N_FILES]) {
    const bool json_alone = use->bench || use->ceilings;
    static const char *const endings[] = {[H5] = ".h5",   [JSON] = ".json",   [LOG] = ".log",       [CSV] = ".csv",
                                          [XYZ] = ".xyz", [MSD] = ".msd.csv", [VACF] = ".vacf.csv", [RDF] = ".rdf.csv"};
    const MdConfig *config = md_deck_config(deck);
    const char *directory = config->output_directory;
    bool here = strcmp(directory, ".") == 0;
    for (int k = 0; k < N_FILES; k++) outputs[k] = (Output){0};
    for (int k = H5; k <= RDF; k++) {
        if (json_alone && k != JSON) continue;
        outputs[k].stem =
            md_format("%s%s%s%s", here ? "" : directory, here ? "" : "/", run_name(deck), use->bench ? ".bench" : "");
        outputs[k].ending = md_copy_text(endings[k]);
        outputs[k].path = md_format("%s%s", outputs[k].stem, outputs[k].ending);
        if (k != XYZ || config->output_xyz_every > 0 || is_left_over(deck, outputs[k].path)) continue;
        free_output(&outputs[k]);
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

void md_outputs_free(Output outputs[N_FILES]) {
    for (int k = 0; k < N_FILES; k++) free_output(&outputs[k]);
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
 * four bytes more; of a trace that a resumed run writes, its step as well; of a list, its lock. */
static long most_bytes(const MdConfig *config, const MdFilesUse *use, int file, const char *name) {
    char from[32] = "";
    if (file == TRACE && !use->resumed) snprintf(from, sizeof from, ".from%lld", (long long)config->run_steps);
    return (long)(strlen(name) + strlen(from) + strlen(file == NEIGHBORS ? "..lock" : ".tmp"));
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
        return md_fail(errors, MD_ERROR_INPUT,
                       "%s: %s: '%.40s...' is too long by %ld bytes: of all files that the run makes of it, the "
                       "longest %s may have %ld",
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
        const char *input = outputs[k].path ? find_input(deck, outputs[k].path) : NULL;
        if (!input) continue;
        if (input == md_deck_config(deck)->potential_file)
            fail_option(deck, errors, MD_OPTION_potential_file, input, written_over);
        else if (input == coordinates) fail_option(deck, errors, MD_OPTION_system_file, input, written_over);
        else md_fail(errors, MD_ERROR_INPUT, "%s: %s", input, written_over);
    }
}

MdStatus md_outputs_check(const MdDeck *deck, const MdFilesUse *use, const Output outputs[N_FILES], MdErrors *errors) {
    const MdConfig *config = md_deck_config(deck);
    const int before = md_errors_count(errors);
    if (strchr(run_name(deck), '/'))
        return fail_option(deck, errors, MD_OPTION_output_name, run_name(deck),
                           "may not contain '/': the folder is output.directory");
    check_folder(deck, MD_OPTION_output_directory, config->output_directory, errors);
    for (int k = NEIGHBORS; k <= TRACE; k++)
        if (outputs[k].path) check_named(deck, k, outputs, errors);
    if (*config->restart_file && outputs[RESTART].path) check_named(deck, RESTART, outputs, errors);
    if (md_errors_count(errors) != before) return MD_ERROR_INPUT;
    check_lengths(deck, use, outputs, errors);
    check_inputs(deck, outputs, errors);
    return md_errors_count(errors) == before ? MD_OK : MD_ERROR_INPUT;
}
