/* Independent pieces of work side by side. */
#ifndef MD_BASE_THREADS_H
#define MD_BASE_THREADS_H

/* Calls work(user, k) for each k from 0 to n - 1, in threads of their own as far as this process has processors; returns when
 * all are done. Stacks have 32 MiB. */
void md_side_by_side(int n, void (*work)(void *user, int k), void *user);

#endif
