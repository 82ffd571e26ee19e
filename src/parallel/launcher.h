/* The environment variables of an MPI launcher or a batch system: how many processes were started together. */
#ifndef MD_PARALLEL_LAUNCHER_H
#define MD_PARALLEL_LAUNCHER_H

#include <stdbool.h>

/* How many processes were started together; 1 without a launcher, or with MDMINI_ALONE=1; 0: there is
 * a launcher that does not say how many: ask MPI. */
int md_launcher_processes(void);
/* Whether a launcher has started this process at all. */
bool md_launcher_is_there(void);
/* Number of this process among them, and among those of its node; 0 when unknown. If MPI runs, use its numbers: comm.h. */
int md_launcher_rank(void);
int md_launcher_local_rank(void);
/* Of processes that cannot be joined to one run, whether this is the one that says so. */
bool md_launcher_speaks(void);

#endif
