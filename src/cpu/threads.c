#include "cpu/threads.h"

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"

static const int most_threads = 4096; /* as run.threads */

/* OMP_NUM_THREADS, or a thread for each processor that is granted; OMP_THREAD_LIMIT bounds every team. */
static int granted_threads(void) {
    const int limit = omp_get_thread_limit(), most = omp_get_max_threads(), granted = md_threads_granted();
    const int n = getenv("OMP_NUM_THREADS") || most < granted ? most : granted;
    return n < limit ? n : limit;
}

int md_cpu_threads(const MdConfig *config) {
    return config->run_threads == MD_AUTO_INT ? granted_threads() : (int)config->run_threads;
}

static void *wait_for_release(void *lock) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

/* How many of n threads can be started besides this one; why: the reason that the next cannot. */
static int count_started(int n, int *why) {
    pthread_t *threads = md_alloc((size_t)n, sizeof *threads, "threads");
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int n_started = 0;
    pthread_mutex_lock(&lock);
    while (n_started < n && (*why = pthread_create(&threads[n_started], NULL, wait_for_release, &lock)) == 0)
        n_started++;
    pthread_mutex_unlock(&lock);
    for (int k = 0; k < n_started; k++) pthread_join(threads[k], NULL);
    md_free(threads);
    return n_started;
}

MdStatus md_cpu_set_threads(int n, MdErrors *errors) {
    if (n == 0) n = granted_threads();
    if (n > most_threads)
        return md_fail(errors, MD_ERROR_INPUT,
                       "OMP_NUM_THREADS: %d threads; at most %d are possible: set OMP_NUM_THREADS to the number of "
                       "processors, or leave it out",
                       n, most_threads);
    if (n > omp_get_thread_limit())
        return md_fail(errors, MD_ERROR_INPUT, "run.threads: %d, but OMP_THREAD_LIMIT allows %d: change one of them", n,
                       omp_get_thread_limit());
    int why = 0;
    const int n_started = n > 1 ? 1 + count_started(n - 1, &why) : 1;
    if (n_started < n)
        return md_fail(errors, MD_ERROR_INPUT,
                       "%d threads are requested (run.threads or OMP_NUM_THREADS), and %d can be started here (%s): "
                       "take fewer, or raise the limit (ulimit -u)",
                       n, n_started, strerror(why));
    omp_set_num_threads(n);
    return MD_OK;
}
