/* Ranks for tests: threads of one process that exchange messages in memory, behind the interface of parallel/comm.h. */
#ifndef THREAD_RANKS_H
#define THREAD_RANKS_H

#include "parallel/comm.h"

enum { MOST_THREAD_RANKS = 64 };

/* Runs it as each of n ranks at once; arguments[rank] (NULL: none) goes to it. */
void run_thread_ranks(int n, void (*run)(MdComm *comm, void *argument), void *const *arguments);

/* A rank that is asked for its number alone, and exchanges nothing. Freed with md_free. */
MdComm *lone_rank(int rank, int n);

#endif
