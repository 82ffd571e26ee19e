/* NAME.xyz: frames as extended XYZ, which OVITO, ASE and many others read, and mdmini itself as a start (one
 * frame of it, velocities included where they are asked for). Text: slow and large beside the H5MD file.
 *
 * Columns are species:S:1:pos:R:3, then velocities by the name that output.xyz_velocities says, and masses where one of
 * them is not 1; the comment line holds Lattice (unless all axes are open), pbc, run_id, step, time and the observables,
 * energies per particle. Two-dimensional systems are embedded as in the H5MD file. Numbers have the digits that bring back
 * the same bits; a velocity that is momentum / mass may differ in its last one. */
#ifndef MD_OUTPUT_XYZ_H
#define MD_OUTPUT_XYZ_H

#include "output/h5md.h"

typedef struct MdXyz MdXyz;

/* NULL, with the problem in errors (MD_ERROR_OUTPUT). Of the spec: particles, box, precision and run_id; spec->type,
 * mass and run_id stay where they are until the file is closed. velocities: output.xyz_velocities. */
MdXyz *md_xyz_create(const char *path, const MdH5mdSpec *spec, int velocities, MdErrors *errors);

/* Whether the file begins like files of md_xyz_create. */
bool md_xyz_is_output(const char *path);

/* Opens a file of an earlier run of this spec, to go on after the frames up to last_step. MD_ERROR_INPUT for a file of
 * something else, with other velocities, or with fewer than n_frames up to there. It is as it was. Frames of an earlier
 * version of the program may have no masses, and a box where all axes are open: they stay as they are. */
MdXyz *md_xyz_reopen(const char *path, const MdH5mdSpec *spec, int velocities, int64_t last_step, int64_t n_frames,
                     MdErrors *errors);

/* Cuts off an incomplete frame, and the frames after last_step; before appending to a reopened file. */
MdStatus md_xyz_cut(MdXyz *file, MdErrors *errors);

/* Appends positions, and velocities where they are in the file, and hands the frame to the system. MD_ERROR_OUTPUT: the
 * frames before it stay, nothing more can be appended, and the file can still be closed. */
MdStatus md_xyz_append(MdXyz *file, const MdFrame *frame, const MdThermo *thermo, MdErrors *errors);

/* Waits until all frames are on the disk. */
MdStatus md_xyz_sync(MdXyz *file, MdErrors *errors);

/* Of a file that was reopened: whole frames after last_step. */
int64_t md_xyz_dropped(const MdXyz *file);

int64_t md_xyz_frames(const MdXyz *file); /* in the file, those of before a restart included */

uint64_t md_xyz_bytes(const MdXyz *file); /* of the frames in the file, as text */

/* Syncs and closes. Accepts NULL. */
MdStatus md_xyz_close(MdXyz *file, MdErrors *errors);

#endif
