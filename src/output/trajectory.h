/* The files of frames, NAME.h5 and NAME.xyz: writes the quantities that are due to each of them. All calls come from
 * one thread at a time. */
#ifndef MD_OUTPUT_TRAJECTORY_H
#define MD_OUTPUT_TRAJECTORY_H

#include "output/h5md.h"

typedef struct MdTrajectorySpec {
    const char *h5_path, *xyz_path; /* NULL: there is no such file */
    int xyz_velocities;             /* output.xyz_velocities */
    bool h5_there, xyz_there;       /* continued files of this run, and the part of them that stays: */
    MdH5mdKept h5_kept;
    bool h5_late; /* NAME.h5 is new in a resumed run: no frame up to the steps of h5_kept was due */
    int64_t xyz_last_step, n_xyz_frames; /* frames up to that step stay; there are so many, at least */
    MdH5mdSpec h5md; /* for both; h5md.type and .mass stay where they are until the files are closed */
} MdTrajectorySpec;

/* The changes to continue them; none for new files. */
typedef struct MdTrajectoryContinued {
    MdH5mdContinued h5;
    int64_t n_xyz_dropped; /* frames */
} MdTrajectoryContinued;

typedef struct MdTrajectory MdTrajectory;

/* Creates the files, or continues them. NULL, with the problem in errors. */
MdTrajectory *md_trajectory_create(const MdTrajectorySpec *spec, MdErrors *errors);

MdTrajectoryContinued md_trajectory_continued(const MdTrajectory *trajectory); /* accepts NULL */

/* Whether md_trajectory_create can continue the files; continued: its changes. Changes
 * nothing. */
MdStatus md_trajectory_check(const MdTrajectorySpec *spec, MdTrajectoryContinued *continued, MdErrors *errors);

/* Writes the output that is due (bits of output/schedule.h) of a frame with the quantities that
 * md_schedule_quantities names. MD_ERROR_OUTPUT: nothing more can be appended. */
MdStatus md_trajectory_append(MdTrajectory *trajectory, const MdFrame *frame, unsigned due, const MdThermo *thermo,
                              MdErrors *errors);

/* Positions of n rows, which come with their images, as output.unwrapped has them. */
void md_trajectory_unwrap(const MdBox *box, int64_t n, MdFrame *frame);

/* Velocities and forces of n rows into the units of the trajectory (base/units.h). */
void md_trajectory_convert(MdUnits units, int64_t n, MdFrame *frame);

/* md_h5md_leave_particles for NAME.h5, if there is one. */
MdStatus md_trajectory_leave_particles(MdTrajectory *trajectory, MdH5mdPut put, void *user, MdErrors *errors);

/* By md_clock_s, when frames will have waited for their commit long enough; INFINITY: none waits. */
double md_trajectory_commit_due_s(const MdTrajectory *trajectory);

/* Hands all frames to the system; sync: waits until they are on the disk. */
MdStatus md_trajectory_commit(MdTrajectory *trajectory, bool sync, MdErrors *errors);

/* Frames of positions in each file, those of before a restart included; 0 where there is no such file. Accepts NULL. */
void md_trajectory_frames(const MdTrajectory *trajectory, int64_t *n_h5, int64_t *n_xyz);

/* Bytes that particles take in the files: those that this program has appended, and for XYZ the whole file. The difference of
 * two readings is the output in between: compressed numbers, and text. */
uint64_t md_trajectory_file_bytes(const MdTrajectory *trajectory);

/* md_h5md_put_curves for NAME.h5, if there is one. Accepts NULL. */
MdStatus md_trajectory_put_curves(MdTrajectory *trajectory, MdCurves *const *curves, int n, MdErrors *errors);

/* The final report of this process: JSON text for the trajectory, written when it is
 * closed. Accepts NULL. */
void md_trajectory_describe(MdTrajectory *trajectory, const char *text);

/* Commits, syncs and closes. Accepts NULL. */
MdStatus md_trajectory_close(MdTrajectory *trajectory, MdErrors *errors);

#endif
