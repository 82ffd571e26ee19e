/* The processes of a run, called ranks, and their communication. NULL as an MdComm means one process, rank 0 of 1: every function
 * takes it.
 *
 * A function that is marked collective must be called by all ranks, in the same order. Waiting in one, a rank waits for the
 * others; after md_comm_set_patience it does so for a limited time, then names the ranks that do not answer, and ends the run.
 *
 * MPI is behind this header, only in comm_mpi.c, and is started only if a launcher (mpirun, srun) has started
 * several processes, or does not say how many: `mdmini deck` without a launcher does not use MPI. */
#ifndef MD_PARALLEL_COMM_H
#define MD_PARALLEL_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/block.h"
#include "base/status.h"
#include "parallel/message.h"

typedef struct MdComm MdComm;

/* Collective. NULL for one process, and where several were started and cannot talk to each other: the problem is in errors. engine:
 * how they do (comm_mpi.h); NULL: this program cannot. */
struct MdCommEngine;
MdComm *md_comm_create(const struct MdCommEngine *engine, MdErrors *errors);
/* Collective. */
void md_comm_destroy(MdComm *comm);
/* The same ranks for another thread: its messages and those of the first are kept apart. Collective. To be destroyed before the first. */
MdComm *md_comm_duplicate(const MdComm *comm);
/* Whether another thread may send and receive its own messages. */
bool md_comm_serves_threads(const MdComm *comm);
/* Whether data of messages may be in the memory of a GPU, as the library says of itself. */
bool md_comm_takes_device_memory(const MdComm *comm);

int md_comm_rank(const MdComm *comm);
int md_comm_size(const MdComm *comm);
bool md_comm_is_root(const MdComm *comm);  /* rank 0, which writes the files and the log */
int md_comm_node_size(const MdComm *comm); /* ranks of its node */
/* The number of the rank among these; of one process, the one that its launcher tells. */
int md_comm_node_rank(const MdComm *comm);
const char *md_comm_host(const MdComm *comm, int rank);
/* The message library, for the log: "Open MPI v4.1.4"; empty for one process. */
const char *md_comm_library(const MdComm *comm);

/* Seconds that this rank has spent in messages and agreements so far: for others, and for the bytes on their way. */
double md_comm_waited(const MdComm *comm);

/* From now on a rank waits for others for at most so many seconds; INFINITY at the start, and for a duplicate. */
void md_comm_set_patience(MdComm *comm, double seconds);
/* Aborts all ranks; ranks that wait in a collective abort too. The message names the ranks that do not answer. silent: the rank on
 * whose device this one has waited for `seconds`. */
_Noreturn void md_comm_give_up(const MdComm *comm, int silent, double seconds);

/* Collective. `bytes` bytes of each rank, to all of them, in the order of ranks: all [size][bytes]. */
void md_comm_allgather(const MdComm *comm, const void *own, size_t bytes, void *all);
/* Collective. From rank 0 to all. */
void md_comm_broadcast(const MdComm *comm, void *data, size_t bytes);
/* Collective. The largest, or the sum, over all ranks, which replaces the values. NaNs are ignored. Sums are added in the order of ranks. */
void md_comm_max(const MdComm *comm, double *values, int n);
void md_comm_add_doubles(const MdComm *comm, double *values, int n);
void md_comm_add_integers(const MdComm *comm, int64_t *values, int n);

/* Of n rows shared out as evenly as can be, those of this rank: from begin on, so many. */
static inline int64_t md_comm_block_begin(const MdComm *comm, int64_t n) {
    return md_block_begin(n, md_comm_rank(comm), md_comm_size(comm));
}
static inline int64_t md_comm_block_size(const MdComm *comm, int64_t n) {
    return md_block_begin(n, md_comm_rank(comm) + 1, md_comm_size(comm)) - md_comm_block_begin(comm, n);
}

/* Starts messages, and ends them: between the two calls the data belongs to them. One set at a time. */
void md_comm_begin(MdComm *comm, const MdMessage *messages, int n);
void md_comm_end(MdComm *comm);

/* Collective. out[r], of all ranks, becomes in[this rank] of rank r. */
void md_comm_alltoall(const MdComm *comm, const int64_t *out, int64_t *in);
/* Collective. The rows for each rank, side by side in `out`, become those from each rank, side by side in `in`: n_out, n_in [size]. */
void md_comm_alltoallv(MdComm *comm, const void *out, const int64_t *n_out, void *in, const int64_t *n_in,
                       size_t row_bytes);

/* Collective. The gravest status of all ranks: the one with the smallest number but MD_OK. The messages of the others go into the
 * errors of rank 0, as far as it has not got the same itself, with the name of their rank. */
MdStatus md_comm_worst_status(MdComm *comm, MdStatus own, MdErrors *errors);

#endif
