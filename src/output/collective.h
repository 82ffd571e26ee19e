/* parallel.frames = all: each process writes the rows of a block of ids to NAME.h5.
 *
 * Atoms are exchanged first, so that each process writes one piece; then all write at once. These are the two phases of collective
 * output (Thakur, Gropp and Lusk, Proc. Frontiers '99, 182 (1999)). Only rank 0 calls HDF5. It makes room for a frame and tells the others
 * where that is; all write there; then the frame counts. So the file is the same as with one writer, and as safe from kills. */
#ifndef MD_OUTPUT_COLLECTIVE_H
#define MD_OUTPUT_COLLECTIVE_H

#include "output/trajectory.h"
#include "parallel/comm.h"

typedef struct MdCollective MdCollective;

/* Opens NAME.h5 on all ranks. status: whether rank 0 has made the trajectory; files and path: of it there, NULL elsewhere. Collective.
 * NULL, with the problem in errors: rank 0 has not made it, or a rank cannot open it, or sees another file of that name. */
MdCollective *md_collective_open(MdComm *comm, MdTrajectory *files, const char *path, MdStatus status, int64_t n_atoms,
                                 MdErrors *errors);
void md_collective_close(MdCollective *collective); /* accepts NULL */

/* Flushes the data of all ranks to the disk, before rank 0 commits them. Collective: status, of this rank so far, becomes the same
 * on all. */
MdStatus md_collective_sync(const MdCollective *collective, MdStatus status, MdErrors *errors);

/* md_trajectory_append of a frame that is shared out: each rank has the rows of its block of ids (md_comm_block_begin). Collective: rank 0
 * appends, the others follow. */
MdStatus md_collective_append(MdCollective *collective, MdTrajectory *files, const MdFrame *frame, unsigned due,
                              const MdThermo *thermo, MdErrors *errors);
MdStatus md_collective_follow(MdCollective *collective, const MdFrame *frame, MdErrors *errors);

/* Rows of n atoms from number `begin` on, to where they belong. False, with errno. */
bool md_collective_write(int descriptor, const MdH5mdPlace *place, int64_t begin, int64_t n, const void *rows);

#endif
