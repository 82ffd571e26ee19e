/* OpenMP threads: those of the cpu backend, and of the reference by which every backend is judged. */
#ifndef MD_CPU_THREADS_H
#define MD_CPU_THREADS_H

#include "base/status.h"
#include "deck/deck.h"

/* Threads of the cpu backend: run.threads, or all that the system grants. */
int md_cpu_threads(const MdConfig *config);

/* Whether so many threads can be started here (an input error if not), which OpenMP would end the program over. From here on
 * every parallel region has them. n: md_cpu_threads, or 0 for all that the system grants. */
MdStatus md_cpu_set_threads(int n, MdErrors *errors);

#endif
