#include "output/trajectory.h"

#include <math.h>

#include "base/memory.h"
#include "output/schedule.h"
#include "output/xyz.h"

struct MdTrajectory {
    MdTrajectorySpec spec;
    MdH5md *h5;
    MdXyz *xyz;
};

static MdH5md *open_h5(const MdTrajectorySpec *spec, MdErrors *errors) {
    if (!spec->h5_there)
        return md_h5md_create(spec->h5_path, &spec->h5md, spec->h5_late ? &spec->h5_kept : NULL, errors);
    return md_h5md_reopen(spec->h5_path, &spec->h5md, &spec->h5_kept, errors);
}

static MdXyz *reopen_xyz(const MdTrajectorySpec *spec, MdErrors *errors) {
    return md_xyz_reopen(spec->xyz_path, &spec->h5md, spec->xyz_velocities, spec->xyz_last_step, spec->n_xyz_frames,
                         errors);
}

MdStatus md_trajectory_check(const MdTrajectorySpec *spec, MdTrajectoryContinued *continued, MdErrors *errors) {
    MdStatus h5 = MD_OK, xyz = MD_OK;
    *continued = (MdTrajectoryContinued){0};
    if (spec->h5_path && spec->h5_there)
        h5 = md_h5md_check(spec->h5_path, &spec->h5md, &spec->h5_kept, &continued->h5, errors);
    if (spec->xyz_path && spec->xyz_there) {
        MdXyz *file = reopen_xyz(spec, errors);
        if (file) continued->n_xyz_dropped = md_xyz_dropped(file);
        xyz = file ? md_xyz_close(file, errors) : MD_ERROR_INPUT;
    }
    return h5 == MD_OK ? xyz : h5;
}

/* Of files that are continued none is cut before all are found to be those of the run. */
static MdStatus open_files(MdTrajectory *t, MdErrors *errors) {
    const MdTrajectorySpec *spec = &t->spec;
    const bool goes_on = spec->xyz_path && spec->xyz_there;
    if (goes_on) t->xyz = reopen_xyz(spec, errors);
    if (goes_on && !t->xyz) return MD_ERROR_INPUT;
    if (spec->h5_path) t->h5 = open_h5(spec, errors);
    if (spec->h5_path && !t->h5) return MD_ERROR_OUTPUT;
    if (goes_on) return md_xyz_cut(t->xyz, errors);
    if (spec->xyz_path) t->xyz = md_xyz_create(spec->xyz_path, &spec->h5md, spec->xyz_velocities, errors);
    return t->xyz || !spec->xyz_path ? MD_OK : MD_ERROR_OUTPUT;
}

MdTrajectory *md_trajectory_create(const MdTrajectorySpec *spec, MdErrors *errors) {
    MdTrajectory *t = md_alloc(1, sizeof *t, "trajectory files");
    t->spec = *spec;
    if (open_files(t, errors) == MD_OK) return t;
    md_trajectory_close(t, errors);
    return NULL;
}

MdTrajectoryContinued md_trajectory_continued(const MdTrajectory *t) {
    MdTrajectoryContinued continued = {0};
    if (t && t->h5) continued.h5 = md_h5md_continued(t->h5);
    if (t && t->xyz) continued.n_xyz_dropped = md_xyz_dropped(t->xyz);
    return continued;
}

/* In double precision, and rounded once. */
void md_trajectory_unwrap(const MdBox *box, int64_t n, MdFrame *frame) {
    bool twice = frame->precision == MD_FILE_PRECISION_DOUBLE;
    for (int64_t k = 0; k < 3 * n; k++) {
        double shift = frame->image[k] * (k % 3 < box->dimension ? box->length[k % 3] : 0);
        if (twice) ((double *)frame->position)[k] += shift;
        else ((float *)frame->position)[k] = (float)(((float *)frame->position)[k] + shift);
    }
}

static void scale(const MdFrame *frame, void *values, int64_t n, double factor) {
    if (!values || factor == 1) return;
    if (frame->precision == MD_FILE_PRECISION_DOUBLE)
        for (int64_t k = 0; k < n; k++) ((double *)values)[k] *= factor;
    else
        for (int64_t k = 0; k < n; k++) ((float *)values)[k] = (float)(factor * ((float *)values)[k]);
}

void md_trajectory_convert(MdUnits units, int64_t n, MdFrame *frame) {
    scale(frame, frame->velocity, 3 * n, md_unit_h5md_factor(units, MD_VELOCITY));
    scale(frame, frame->force, 3 * n, md_unit_h5md_factor(units, MD_FORCE));
}

MdStatus md_trajectory_append(MdTrajectory *t, const MdFrame *frame, unsigned due, const MdThermo *thermo,
                              MdErrors *errors) {
    MdFrame part = *frame;
    if (!(due & MD_DUE_POSITION)) part.position = NULL;
    if (!(due & MD_DUE_VELOCITY)) part.velocity = NULL;
    if (!(due & MD_DUE_FORCE)) part.force = NULL;
    if (!(due & MD_DUE_IMAGE)) part.image = NULL;
    MdStatus status = MD_OK;
    if (t->h5 && (due & MD_DUE_TRAJECTORY)) status = md_h5md_append(t->h5, &part, thermo, errors);
    if (status == MD_OK && t->xyz && (due & MD_DUE_XYZ)) status = md_xyz_append(t->xyz, frame, thermo, errors);
    return status;
}

MdStatus md_trajectory_leave_particles(MdTrajectory *t, MdH5mdPut put, void *user, MdErrors *errors) {
    return t->h5 ? md_h5md_leave_particles(t->h5, put, user, errors) : MD_OK;
}

double md_trajectory_commit_due_s(const MdTrajectory *t) { return t->h5 ? md_h5md_commit_due_s(t->h5) : INFINITY; }

MdStatus md_trajectory_commit(MdTrajectory *t, bool sync, MdErrors *errors) {
    MdStatus h5 = t->h5 ? md_h5md_commit(t->h5, sync, errors) : MD_OK;
    MdStatus xyz = t->xyz && sync ? md_xyz_sync(t->xyz, errors) : MD_OK;
    return h5 == MD_OK ? xyz : h5;
}

void md_trajectory_frames(const MdTrajectory *t, int64_t *n_h5, int64_t *n_xyz) {
    *n_h5 = t && t->h5 ? md_h5md_frames(t->h5) : 0;
    *n_xyz = t && t->xyz ? md_xyz_frames(t->xyz) : 0;
}

uint64_t md_trajectory_file_bytes(const MdTrajectory *t) {
    return (t->h5 ? md_h5md_stored_bytes(t->h5) : 0) + (t->xyz ? md_xyz_bytes(t->xyz) : 0);
}

MdStatus md_trajectory_put_curves(MdTrajectory *t, MdCurves *const *curves, int n, MdErrors *errors) {
    return t && t->h5 ? md_h5md_put_curves(t->h5, curves, n, errors) : MD_OK;
}

void md_trajectory_describe(MdTrajectory *t, const char *text) {
    if (t && t->h5) md_h5md_describe(t->h5, text);
}

MdStatus md_trajectory_close(MdTrajectory *t, MdErrors *errors) {
    if (!t) return MD_OK;
    MdStatus h5 = md_h5md_close(t->h5, errors), xyz = md_xyz_close(t->xyz, errors);
    md_free(t);
    return h5 == MD_OK ? xyz : h5;
}
