/* What an MPI launcher or a batch system tells a process of the others that it has started with it, by its environment. */
#ifndef MD_PARALLEL_LAUNCHER_H
#define MD_PARALLEL_LAUNCHER_H

#include <stdbool.h>

/* How many processes were started together; 1 without a launcher, or where MDMINI_ALONE=1 says that each is a run of its own; 0: there is
 * a launcher that does not say how many: MPI has to be asked. */
int md_launcher_processes(void);
/* Whether a launcher has started this process at all. */
bool md_launcher_is_there(void);
/* Number of this process among them, and among those of its node; 0 when nobody tells. MPI knows better, where it runs: comm.h. */
int md_launcher_rank(void);
int md_launcher_local_rank(void);
/* Of processes that cannot be joined to one run, whether this is the one that says so. */
bool md_launcher_speaks(void);

#endif
