/* Independent tasks on several threads. */
#ifndef MD_BASE_THREADS_H
#define MD_BASE_THREADS_H

/* Calls work(user, k) for each k from 0 to n - 1, on as many threads as this process has processors; returns when
 * all are done. Stacks have 32 MiB. */
void md_threads_run_tasks(int n, void (*work)(void *user, int k), void *user);

#endif
