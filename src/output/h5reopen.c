/* Continuing a trajectory. Its room was planned, so a run that continues as planned continues in the same file.
 * Any other layout (more steps than planned, other intervals, precision or compression) needs a copy, frame by frame,
 * which replaces the file when it is complete: one way for all of them, at the cost of reading
 * and writing the file once. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "output/h5open.h"
#include "output/path.h"
#include "output/schedule.h"

/* The continued file: of each timeline the rows kept and the rows in all. */
typedef struct Plan {
    int timelines[MD_H5MD_N_QUANTITIES]; /* -1: not in the file */
    int64_t n_kept[N_TIMELINES], n_rows[N_TIMELINES];
    MdH5mdContinued continued;
} Plan;

static bool has(const MdH5md *file, int quantity) { return file->series[quantity].dataset > 0; }

/* Properties that cannot change in the middle of a file. */
static void check_fit(MdH5Calls *calls, const MdH5md *old, const MdH5mdSpec *spec) {
    const char *what = "", *problem = NULL;
    if (strcmp(old->run_id, spec->run_id) != 0) problem = "holds frames of another run";
    else if (old->spec.n_atoms != spec->n_atoms) problem = "holds another number of particles";
    else if (old->spec.unwrapped != spec->unwrapped) problem = "output.unwrapped cannot change within a file";
    else if (!has(old, EDGES) && !md_box_is_open(&spec->box)) problem = "lacks the edges of the box";
    else if (has(old, MD_H5MD_IMAGE) != (spec->every[MD_H5MD_IMAGE] > 0))
        problem =
            "images go with positions from the first frame to the last: output.images_every cannot be turned on or "
            "off within a file";
    else if (has(old, PRESSURE_TENSOR) != spec->has_tensor)
        problem =
            "analysis.pressure cannot change within a file: go on as before, or without it by output.frames_every=0";
    else if (*(what = old->elsewhere))
        problem = " has its numbers in other files: take them into this one (h5repack -l CONTI), or go on without it: "
                  "output.frames_every=0";
    if (problem) md_h5_fail(calls, MD_ERROR_INPUT, "%s%s", what, problem);
}

/* *n_beyond: of the others. */
static int64_t count_kept(MdH5Calls *calls, const MdH5md *file, int timeline, int64_t last_step, int64_t *n_beyond) {
    const Series *series = &file->series[STEP + 2 * timeline];
    *n_beyond = 0;
    if (series->dataset <= 0) return 0;
    int64_t n = md_h5_whole_rows(calls, file, timeline, 0), kept = 0;
    int64_t *steps = md_h5_read_steps(calls, file, timeline, n);
    while (kept < n && steps[kept] <= last_step) kept++;
    md_free(steps);
    *n_beyond = n - kept;
    return kept;
}

/* A quantity that is no longer asked for stays with the frames it has. It goes with the positions where it always has. */
static Plan make_plan(MdH5Calls *calls, const MdH5md *old, const MdH5mdSpec *spec, const MdH5mdKept *kept) {
    Plan plan = {.timelines = {0, -1, -1, -1}};
    MdH5mdContinued *continued = &plan.continued;
    int64_t n_same; /* as those of its timeline */
    for (int t = 0; t < N_TIMELINES; t++)
        plan.n_kept[t] = count_kept(calls, old, t, kept->last_step[t], &continued->n_dropped[t]);
    if (has(old, MD_H5MD_IMAGE)) plan.timelines[MD_H5MD_IMAGE] = 0;
    for (int q = MD_H5MD_VELOCITY; q < MD_H5MD_IMAGE; q++) {
        if (!has(old, q) && spec->every[q] == 0) continue;
        bool together = has(old, q) ? old->series[q].timeline == 0 : plan.n_kept[0] == 0;
        plan.timelines[q] = together && spec->every[q] == spec->every[MD_H5MD_POSITION] ? 0 : q;
        if (plan.timelines[q] == q && has(old, q))
            plan.n_kept[q] = count_kept(calls, old, old->series[q].timeline, kept->last_step[q], &n_same);
    }
    for (int t = 0; t < N_TIMELINES; t++)
        if (plan.timelines[t] == t)
            plan.n_rows[t] =
                plan.n_kept[t] + md_schedule_count(spec->every[t], kept->last_step[t] + 1, spec->last_step);
    continued->reformed = old->reformed;
    continued->precision = old->spec.precision;
    continued->compression = old->spec.compression;
    for (int q = 0; q < MD_H5MD_N_QUANTITIES; q++)
        if (plan.timelines[q] != (has(old, q) ? old->series[q].timeline : -1)) continued->regrouped = true;
    for (int t = 0; t < N_TIMELINES; t++)
        if (plan.n_rows[t] > old->timeline[t].capacity) continued->grown = true;
    continued->copied = continued->precision != spec->precision || continued->compression != spec->compression ||
                        continued->regrouped || continued->grown || continued->reformed;
    if (continued->copied) md_h5_find_added(calls, old, continued->added, sizeof continued->added);
    return plan;
}

/* Whether the run can go on with the file, and how. A file that has lost frames cannot be made whole. */
static bool accept(MdH5Calls *calls, const MdH5md *old, const MdH5mdSpec *spec, const MdH5mdKept *kept, Plan *plan) {
    if (!calls->failed) check_fit(calls, old, spec);
    if (calls->failed) return false;
    *plan = make_plan(calls, old, spec, kept);
    if (plan->n_kept[0] < kept->n_frames)
        md_h5_fail(calls, MD_ERROR_INPUT,
                   "has %lld frames up to step %lld, and had %lld when the restart file was written: not the same "
                   "file, or damaged",
                   (long long)plan->n_kept[0], (long long)kept->last_step[MD_H5MD_POSITION], (long long)kept->n_frames);
    return !calls->failed;
}

MdStatus md_h5md_check(const char *path, const MdH5mdSpec *spec, const MdH5mdKept *kept, MdH5mdContinued *continued,
                       MdErrors *errors) {
    MdH5Calls calls = md_h5_calls(path, errors);
    MdH5md *file = md_h5_open_as_it_is(&calls);
    Plan plan;
    const bool good = file && accept(&calls, file, spec, kept, &plan);
    if (good) *continued = plan.continued;
    md_h5_release(&calls, file);
    return good ? MD_OK : MD_ERROR_INPUT;
}

static void set_counts(MdH5md *file, const Plan *plan) {
    for (int t = 0; t < N_TIMELINES; t++) {
        Timeline *timeline = &file->timeline[t];
        timeline->n_rows = timeline->n_drained = timeline->n_committed = plan->n_kept[t];
    }
}

static void copy_series(MdH5Calls *calls, const Series *from, const Series *to, int64_t n) {
    int64_t block = to->rows ? BUFFER_ROWS : 1;
    void *values = md_alloc((size_t)block, to->row_bytes, "rows to copy");
    /* Read in the type in which they are written: the library converts. */
    Series source = *from;
    source.type = to->type;
    md_h5_set_rows(calls, to, n);
    for (int64_t first = 0; first < n && !calls->failed; first += block) {
        int64_t count = n - first < block ? n - first : block;
        md_h5_read_rows(calls, &source, first, count, values);
        md_h5_write_rows(calls, to, first, count, values);
    }
    md_free(values);
}

/* The series of the old file that series k continues; a quantity that leaves the positions takes their steps along. */
static const Series *find_source(const MdH5md *old, const MdH5md *file, int k) {
    if (k < N_ELEMENTS) return &old->series[k];
    int quantity = file->series[k].timeline;
    return &old->series[k + 2 * ((has(old, quantity) ? old->series[quantity].timeline : quantity) - quantity)];
}

static void copy_all(MdH5Calls *calls, const MdH5md *old, MdH5md *file, const Plan *plan, MdErrors *errors) {
    for (int t = 0; t < N_TIMELINES && !calls->failed; t++) {
        if (file->timeline[t].capacity >= plan->n_rows[t]) continue;
        calls->failed = true;
        md_fail(errors, MD_ERROR_OUTPUT, "%s: there is no room for the copy that the continuation needs", old->path);
    }
    for (int k = 0; k < N_SERIES && !calls->failed; k++) {
        const Series *to = &file->series[k], *from = to->dataset > 0 ? find_source(old, file, k) : NULL;
        if (from && from->dataset > 0) copy_series(calls, from, to, plan->n_kept[to->timeline]);
    }
    H5_CALL(calls, H5Fflush(file->file, H5F_SCOPE_GLOBAL));
}

/* The author of the file stays, with additions of other programs. */
static void copy_author(MdH5Calls *calls, const MdH5md *old, const MdH5md *file) {
    static const char author[] = "h5md/author";
    if (calls->failed || H5Lexists(old->file, author, H5P_DEFAULT) <= 0) return;
    H5_CALL(calls, H5Ldelete(file->file, author, H5P_DEFAULT));
    H5_CALL(calls, H5Ocopy(old->file, author, file->file, author, H5P_DEFAULT, H5P_DEFAULT));
}

/* The copy takes the name of the file, which gets another one where it holds more: there is a whole file under the name at every
 * moment, but where a file cannot have two. */
static bool take_place(const char *copy, const char *path, const char *aside) {
    const bool linked = aside && link(path, aside) == 0;
    if (aside && !linked && (errno == EEXIST || rename(path, aside) != 0)) return false;
    if ((!aside || md_path_sync_folder(path)) && rename(copy, path) == 0) return true;
    const int error = errno;
    if (linked) unlink(aside);
    else if (aside) rename(aside, path);
    errno = error;
    return false;
}

/* Replaces the file by its copy. */
static MdH5md *make_copy(const MdH5md *old, const MdH5mdSpec *spec, const MdH5mdKept *kept, const Plan *plan,
                         MdErrors *errors) {
    char *path = md_format("%s.tmp", old->path);
    MdH5Calls calls = md_h5_calls(path, errors);
    MdH5md *file = md_h5_new(path, spec);
    file->n_restarts = old->n_restarts + 1;
    for (int t = 0; t < N_TIMELINES; t++) file->timeline[t].planned = plan->n_rows[t];
    md_h5_define_all(file, plan->timelines);
    md_h5_create_file(&calls, file);
    bool created = !calls.failed;
    if (created) copy_all(&calls, old, file, plan, errors);
    copy_author(&calls, old, file);
    set_counts(file, plan);
    if (!calls.failed) md_h5_copy_schedule(&calls, old, file);
    if (!calls.failed) md_h5_copy_processes(&calls, old, file);
    if (!calls.failed) md_h5_note_schedule(&calls, file, kept);
    if (!calls.failed) md_h5_begin(&calls, file);
    md_require(!*plan->continued.added || kept->aside);
    const char *aside = *plan->continued.added ? kept->aside : NULL;
    if (!calls.failed && (fdatasync(file->descriptor) != 0 || !take_place(path, old->path, aside)))
        md_h5_fail(&calls, MD_ERROR_OUTPUT, "%s", strerror(errno));
    if (created && calls.failed) unlink(path);
    free(path);
    if (calls.failed) {
        md_h5_release(&calls, file);
        return NULL;
    }
    free(file->path);
    file->path = md_copy_text(old->path);
    return file;
}

/* Takes the spec over from a run whose layout the file has already. */
static void continue_in_place(MdH5Calls *calls, MdH5md *file, const MdH5mdSpec *spec, const MdH5mdKept *kept,
                              const Plan *plan) {
    file->spec = *spec;
    file->n_restarts++;
    hid_t group = H5_CALL(calls, H5Gopen2(file->file, "parameters/mdmini", H5P_DEFAULT));
    hid_t attribute = H5_CALL(calls, H5Aopen(group, "n_restarts", H5P_DEFAULT));
    H5_CALL(calls, H5Awrite(attribute, H5T_NATIVE_INT, &file->n_restarts));
    H5_CALL(calls, H5Aclose(attribute));
    H5_CALL(calls, H5Gclose(group));
    set_counts(file, plan);
    for (int k = 0; k < N_SERIES; k++)
        if (file->series[k].dataset > 0)
            md_h5_set_rows(calls, &file->series[k], plan->n_kept[file->series[k].timeline]);
    md_h5_begin_process(calls, file);
    md_h5_put_curves(calls, file, spec->curves, spec->n_curves);
    md_h5_note_schedule(calls, file, kept);
    if (!calls->failed) md_h5_begin(calls, file);
}

MdH5md *md_h5md_reopen(const char *path, const MdH5mdSpec *spec, const MdH5mdKept *kept, MdErrors *errors) {
    MdH5mdRecovery recovery;
    if (md_h5md_recover(path, &recovery, errors) != MD_OK) return NULL;
    MdH5Calls calls = md_h5_calls(path, errors);
    MdH5md *old = md_h5_open(&calls, H5F_ACC_RDWR), *file = NULL;
    if (old) md_h5_lock(&calls, old);
    Plan plan;
    const bool good = old && accept(&calls, old, spec, kept, &plan);
    /* Those that were not whole are gone already. */
    for (int t = 0; good && t < MD_H5MD_IMAGE; t++) plan.continued.n_dropped[t] += recovery.series[t].n_dropped;
    if (good && !plan.continued.copied) {
        continue_in_place(&calls, old, spec, kept, &plan);
        old->continued = plan.continued;
        if (!calls.failed) return old;
    } else if (good) {
        file = make_copy(old, spec, kept, &plan, errors);
        if (file) file->continued = plan.continued;
    }
    md_h5_release(&calls, old);
    return file;
}

MdH5mdContinued md_h5md_continued(const MdH5md *file) { return file->continued; }
