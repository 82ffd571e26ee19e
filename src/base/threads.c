#include "base/threads.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct Pieces {
    int n;
    void (*work)(void *user, int k);
    void *user;
    atomic_int n_taken;
} Pieces;

/* A thread takes the next piece that is left. */
static void *take_pieces(void *opaque) {
    Pieces *pieces = opaque;
    for (int k; (k = atomic_fetch_add(&pieces->n_taken, 1)) < pieces->n;) pieces->work(pieces->user, k);
    return NULL;
}

/* A compiler recurses deeply, and by default a thread may have little room for that (2 MiB after `ulimit -s unlimited`). */
enum { STACK_BYTES = 32 << 20, MAX_THREADS = 64 };

/* This thread works, too. Where the system has no more threads, fewer do the same. */
void md_side_by_side(int n, void (*work)(void *user, int k), void *user) {
    Pieces pieces = {.n = n, .work = work, .user = user};
    pthread_t threads[MAX_THREADS];
    pthread_attr_t attributes;
    int n_threads = 0, most = omp_get_num_procs() < n ? omp_get_num_procs() : n;
    if (most > MAX_THREADS) most = MAX_THREADS;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (n_threads < most - 1 && pthread_create(&threads[n_threads], &attributes, take_pieces, &pieces) == 0)
        n_threads++;
    take_pieces(&pieces);
    for (int k = 0; k < n_threads; k++) pthread_join(threads[k], NULL);
    pthread_attr_destroy(&attributes);
}
