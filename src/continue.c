#define _POSIX_C_SOURCE 200809L
#include "continue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/stream.h"
#include "output/path.h"
#include "output/schedule.h"

static const char *run_name(const MdDeck *deck) {
    const char *name = md_deck_config(deck)->output_name;
    return *name ? name : md_deck_name(deck);
}

/* The file of the same kind under the name that the run has had until now; NULL: the name is the same, or there is none. From
 * malloc. */
static char *find_former(const MdRecord *r, const char *path) {
    const char *name = run_name(md_deck_before(r->deck));
    if (strcmp(name, run_name(r->deck)) == 0) return NULL;
    const char *slash = strrchr(r->resume.from, '/');
    const int n_folder = slash ? (int)(slash + 1 - r->resume.from) : 0;
    char *former = md_format("%.*s%s%s", n_folder, r->resume.from, name, strrchr(path, '.'));
    if (access(former, R_OK) == 0) return former;
    free(former);
    return NULL;
}

static MdStatus check_there(const MdRecord *r, const char *path, int64_t n_frames, const char *option) {
    if (!path || n_frames == 0 || access(path, R_OK | W_OK) == 0) return MD_OK;
    char *reason = md_copy_text(strerror(errno)), *folder = md_path_folder(r->resume.from);
    char *former = find_former(r, path);
    if (former)
        md_fail(r->errors, MD_ERROR_INPUT,
                "%s: output.name: read %s, but the run goes on with the trajectory that it has, %s of %lld frames, and "
                "there is no %s: leave output.name out, copy %s to %s, or go on without a trajectory: %s=0",
                md_deck_origin(r->deck, MD_OPTION_output_name), run_name(r->deck), former, (long long)n_frames, path,
                former, path, option);
    else
        md_fail(
            r->errors, MD_ERROR_INPUT,
            "%s: the trajectory of the run, of %lld frames, cannot be continued: %s; put it back, name its folder with "
            "output.directory (that of the restart file: %s), or go on without one: %s=0",
            path, (long long)n_frames, reason, folder, option);
    free(former);
    free(reason);
    free(folder);
    return MD_ERROR_INPUT;
}

/* The text of the existing report, and in it the value of the key of its run; NULL: there is none. From malloc. */
static char *read_report(const MdRecord *r, const char **run_id) {
    static const char key[] = "\"run_id\": \"";
    size_t n = 0;
    char *text = md_file_read(r->files.json, &n);
    *run_id = text ? strstr(text, key) : NULL;
    if (*run_id) *run_id += sizeof key - 1;
    return text;
}

static bool is_of_run(const MdRecord *r, const char *run_id) {
    return strncmp(run_id, r->resume.run_id, strlen(r->resume.run_id)) == 0;
}

bool md_continue_is_reported(const MdRecord *r) {
    if (r->step < r->config->run_steps) return false;
    const char *run_id;
    char *text = read_report(r, &run_id);
    char *steps = md_format("\n  \"n_steps\": %lld,", (long long)r->step);
    const bool is_whole =
        run_id && is_of_run(r, run_id) && strstr(text, "\n  \"exit_code\": 0,") && strstr(text, steps);
    const bool is_checked = is_whole && !strstr(text, "\n  \"verdict\": \"NOT CHECKED\"");
    free(steps);
    free(text);
    return is_whole && (is_checked || r->config->report_verify != MD_ON);
}

/* The report of another run has the name of this run's report: the restart file was renamed, or is from another
 * folder. With output.existing = overwrite it is replaced. */
static MdStatus check_report(const MdRecord *r) {
    if (r->config->output_existing == MD_EXISTING_OVERWRITE) return MD_OK;
    const char *run_id;
    char *text = read_report(r, &run_id);
    const bool is_other = run_id && !is_of_run(r, run_id);
    free(text);
    if (!is_other) return MD_OK;
    return md_fail(
        r->errors, MD_ERROR_INPUT,
        "%s: is of another run than %s, and would be replaced: name the files of the run that goes on by "
        "output.name=ANOTHER_NAME, or their folder by output.directory; output.existing=overwrite replaces it",
        r->files.json, r->resume.from);
}

MdTrajectorySpec md_trajectory_of_run(const MdRecord *r, const MdSystem *system) {
    const MdConfig *c = r->config;
    MdTrajectorySpec spec = {.h5_path = r->files.h5,
                             .xyz_path = r->files.xyz,
                             .xyz_velocities = c->output_xyz_velocities,
                             .h5md = {.n_atoms = r->plan.n_atoms,
                                      .box = r->plan.box,
                                      .n_types = r->plan.potential.n_types,
                                      .units = md_config_units(c),
                                      .precision = c->output_precision,
                                      .compression = c->output_compression,
                                      .unwrapped = c->output_unwrapped == MD_ON,
                                      .has_tensor = c->analysis_pressure == MD_PRESSURE_TENSOR,
                                      .every = {c->output_frames_every, c->output_velocities_every,
                                                c->output_forces_every, c->output_images_every},
                                      .last_step = c->run_steps,
                                      .commit_frames = c->output_commit_frames,
                                      .commit_seconds = c->output_commit_seconds,
                                      .run_id = r->resume.run_id,
                                      .deck = r->effective_deck,
                                      .provenance = r->provenance}};
    for (int t = 0; t < spec.h5md.n_types; t++) spec.h5md.type_name[t] = r->plan.type_name[t];
    if (system) {
        spec.h5md.type = system->type;
        spec.h5md.mass = system->mass;
    }
    return spec;
}

MdStatus md_continue_check(const MdRecord *r) {
    const MdStatus report = check_report(r);
    if (report != MD_OK) return report;
    MdStatus h5 = check_there(r, r->files.h5, r->resume.n_frames, "output.frames_every");
    MdStatus xyz = check_there(r, r->files.xyz, r->resume.n_xyz_frames, "output.xyz_every");
    return h5 == MD_OK ? xyz : h5;
}

bool md_continue_copies(const MdRecord *r) {
    const MdConfig *now = r->config, *before = md_deck_config(md_deck_before(r->deck));
    return now->run_steps > before->run_steps || now->output_frames_every != before->output_frames_every ||
           now->output_velocities_every != before->output_velocities_every ||
           now->output_forces_every != before->output_forces_every ||
           now->output_precision != before->output_precision || now->output_compression != before->output_compression;
}

/* The last step that stays of output that continues with another interval. */
static int64_t last_step(const MdRecord *r, int64_t every_before, int64_t every) {
    const bool stays = md_schedule_stays(every_before, every, r->step, r->config->run_steps);
    return stays ? r->step : r->step - 1;
}

/* Frames up to that step, of the existing ones; at most one was dropped. */
static int64_t frames_left(const MdRecord *r, int64_t n_frames, int64_t last_step) {
    return last_step == r->step ? n_frames : n_frames - 1;
}

void md_continue_plan(const MdRecord *r, MdTrajectorySpec *spec) {
    const MdConfig *now = r->config, *before = md_deck_config(md_deck_before(r->deck));
    const int64_t every_before[MD_H5MD_N_QUANTITIES] = {before->output_frames_every, before->output_velocities_every,
                                                        before->output_forces_every, before->output_images_every};
    for (int q = 0; q < MD_H5MD_N_QUANTITIES; q++)
        spec->h5_kept.last_step[q] = last_step(r, every_before[q], spec->h5md.every[q]);
    spec->h5_kept.aside = r->files.h5_aside;
    spec->h5_there = r->files.h5_there;
    spec->h5_late = !spec->h5_there && r->resume.n_missing == 0; /* of frames that a full disk has lost it is not */
    spec->h5_kept.n_frames = frames_left(r, r->resume.n_frames, spec->h5_kept.last_step[MD_H5MD_POSITION]);
    spec->xyz_last_step = last_step(r, before->output_xyz_every, now->output_xyz_every);
    spec->n_xyz_frames = frames_left(r, r->resume.n_xyz_frames, spec->xyz_last_step);
    spec->xyz_there = r->resume.n_xyz_frames > 0;
}
