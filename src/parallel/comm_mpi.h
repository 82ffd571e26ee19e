/* Messages by MPI, for md_comm_create. */
#ifndef MD_PARALLEL_COMM_MPI_H
#define MD_PARALLEL_COMM_MPI_H

extern const struct MdCommEngine md_comm_mpi; /* in programs that are built with MPI: MDMINI_HAVE_MPI */

#endif
