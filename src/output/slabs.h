/* parallel.frames = slabs: each process writes the rows of a block of ids to NAME.h5.
 *
 * Rows are dealt first, so that what a process writes is in one piece, and then written by all at once: the two phases of collective
 * output (Thakur, Gropp and Lusk, Proc. Frontiers '99, 182 (1999)). Rank 0 alone calls HDF5. It makes room for a row and tells where that
 * is; all write there; when all have, the row counts. So the file is what rank 0 alone would have written, and as safe from kills. */
#ifndef MD_OUTPUT_SLABS_H
#define MD_OUTPUT_SLABS_H

#include "output/trajectory.h"
#include "parallel/comm.h"

typedef struct MdSlabs MdSlabs;

/* NAME.h5 of the trajectory that rank 0 has made, or has not: status; files: NULL on the others. Collective. NULL, with the problem in
 * errors, where a rank cannot open it, or has another of that name. */
MdSlabs *md_slabs_open(MdComm *comm, MdTrajectory *files, MdStatus status, int64_t n_atoms, MdErrors *errors);

/* Brings what this process has written to the disk. */
MdStatus md_slabs_sync(const MdSlabs *slabs, MdErrors *errors);
MdStatus md_slabs_close(MdSlabs *slabs, MdErrors *errors); /* syncs; accepts NULL */

/* md_trajectory_append of a frame of whose arrays each rank has the rows of its block of ids (md_comm_block_begin). Collective: rank 0
 * appends, the others follow. */
MdStatus md_slabs_append(MdSlabs *slabs, MdTrajectory *files, const MdFrame *frame, unsigned due,
                         const MdThermo *thermo, MdErrors *errors);
MdStatus md_slabs_follow(MdSlabs *slabs, const MdFrame *frame, MdErrors *errors);

/* Rows of n atoms from number `begin` on, to where they belong. False, with errno. */
bool md_slabs_write(int descriptor, const MdH5mdPlace *place, int64_t begin, int64_t n, const void *rows);

#endif
