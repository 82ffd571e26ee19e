#include "base/threads.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct Tasks {
    int n;
    void (*work)(void *user, int k);
    void *user;
    atomic_int n_taken;
} Tasks;

/* A thread takes the next task that is left. */
static void *run_tasks(void *opaque) {
    Tasks *tasks = opaque;
    for (int k; (k = atomic_fetch_add(&tasks->n_taken, 1)) < tasks->n;) tasks->work(tasks->user, k);
    return NULL;
}

/* A compiler recurses deeply, and by default a thread may have little room for that (2 MiB after `ulimit -s unlimited`). */
enum { STACK_BYTES = 32 << 20, MAX_THREADS = 64 };

/* This thread works, too. Where the system has no more threads, fewer do the same. */
void md_threads_run_tasks(int n, void (*work)(void *user, int k), void *user) {
    Tasks tasks = {.n = n, .work = work, .user = user};
    pthread_t threads[MAX_THREADS];
    pthread_attr_t attributes;
    int n_threads = 0, most = omp_get_num_procs() < n ? omp_get_num_procs() : n;
    if (most > MAX_THREADS) most = MAX_THREADS;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (n_threads < most - 1 && pthread_create(&threads[n_threads], &attributes, run_tasks, &tasks) == 0)
        n_threads++;
    run_tasks(&tasks);
    for (int k = 0; k < n_threads; k++) pthread_join(threads[k], NULL);
    pthread_attr_destroy(&attributes);
}
