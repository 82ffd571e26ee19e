/* Threads: how many make sense, where those of OpenMP run, independent tasks on several. */
#ifndef MD_BASE_THREADS_H
#define MD_BASE_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Processors that threads of this process may use: by the affinity that it was started with, and by the places of OpenMP
 * (OMP_PLACES). */
int md_threads_processors(void);
/* Of these, as many as the quota of the control group gives time for. */
int md_threads_granted(void);

/* A set of processors, by their numbers; those from 1024 on are left out. */
typedef struct MdProcessors {
    uint64_t bits[16];
} MdProcessors;
int md_processors_count(const MdProcessors *set);
bool md_processors_contain(const MdProcessors *set, const MdProcessors *part);
/* Those that the threads of a team of OpenMP may use, all together: each may be bound to some. */
MdProcessors md_threads_of_team(int n_threads);

/* Begins a thread that calls work(user); false: there is none. Signals that end or hurry a run stay with the other threads. */
bool md_threads_begin(pthread_t *thread, void *(*work)(void *user), void *user);

/* Calls work(user, k) for each k from 0 to n - 1, on as many threads as this process has processors; returns when
 * all are done. Stacks have 32 MiB. */
void md_threads_run_tasks(int n, void (*work)(void *user, int k), void *user);

#endif
