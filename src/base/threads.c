#define _GNU_SOURCE 1 /* sched_getaffinity */
#include "base/threads.h"

#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/cgroup.h"
#include "base/memory.h"

static void add_processor(MdProcessors *set, int cpu) {
    if (cpu >= 0 && cpu < 1024) set->bits[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

int md_processors_count(const MdProcessors *set) {
    int n = 0;
    for (int k = 0; k < 16; k++) n += __builtin_popcountll(set->bits[k]);
    return n;
}

bool md_processors_contain(const MdProcessors *set, const MdProcessors *part) {
    for (int k = 0; k < 16; k++)
        if (part->bits[k] & ~set->bits[k]) return false;
    return true;
}

/* OpenMP knows the affinity from before it bound the first thread. */
int md_threads_processors(void) {
    MdProcessors places = {0};
    const int n = omp_get_num_procs(), n_places = omp_get_proc_bind() == omp_proc_bind_false ? 0 : omp_get_num_places();
    for (int place = 0; place < n_places; place++) {
        const int n_cpus = omp_get_place_num_procs(place);
        int *cpus = md_alloc((size_t)n_cpus, sizeof *cpus, "processors of a place");
        omp_get_place_proc_ids(place, cpus);
        for (int k = 0; k < n_cpus; k++) add_processor(&places, cpus[k]);
        md_free(cpus);
    }
    const int n_placed = md_processors_count(&places);
    return n_placed > 0 && n_placed < n ? n_placed : n;
}

int md_threads_granted(void) {
    const int n = md_threads_processors(), in_quota = md_cgroup_share(md_cgroup_cpu().processors, 1);
    return n < in_quota ? n : in_quota;
}

MdProcessors md_threads_of_team(int n_threads) {
    MdProcessors all = {0};
#pragma omp parallel num_threads(n_threads)
    {
        cpu_set_t own;
        CPU_ZERO(&own);
        sched_getaffinity(0, sizeof own, &own);
#pragma omp critical
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &own)) add_processor(&all, cpu);
    }
    return all;
}

bool md_threads_begin(pthread_t *thread, void *(*work)(void *user), void *user) {
    static const int of_run[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM};
    sigset_t signals, before;
    sigemptyset(&signals);
    for (size_t k = 0; k < sizeof of_run / sizeof *of_run; k++) sigaddset(&signals, of_run[k]);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    const bool begun = pthread_create(thread, NULL, work, user) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun;
}

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
    const int n_granted = md_threads_granted();
    int n_threads = 0, most = n_granted < n ? n_granted : n;
    if (most > MAX_THREADS) most = MAX_THREADS;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (n_threads < most - 1 && pthread_create(&threads[n_threads], &attributes, run_tasks, &tasks) == 0)
        n_threads++;
    run_tasks(&tasks);
    for (int k = 0; k < n_threads; k++) pthread_join(threads[k], NULL);
    pthread_attr_destroy(&attributes);
}
