/* How steps are issued to a GPU: the switches that decide it, for tests of what comes of it. */
#ifndef MD_TESTS_WAY_H
#define MD_TESTS_WAY_H

#include "walk.h"

typedef struct Way {
    int graph, persistent, fuse, passes; /* values of launch.graph and so on */
} Way;

enum { N_WAYS_AHEAD = 5, N_WAYS_QUEUED = 2 };
extern const Way way_one_by_one, way_call_by_call, /* each step a few calls, behind the one before */
    ways_ahead[N_WAYS_AHEAD],                      /* many at a time, by the host, by a graph or by the kernel itself */
    ways_queued[N_WAYS_QUEUED];                    /* of bricks alone */

void way_take(MdConfig *config, Way way);

/* Valid until the next call. */
const char *way_text(Way way);

/* A cold crystal keeps its list for so long that batches have become long; then an atom in it is made so fast, WAY_WARMER times as
 * fast as it was, that it all but faults, and runs into the others, while nobody looks. every: a batch ends at a build, and the
 * next one begins with it; 0: rebuilt when needed. kernel: force.kernel. Returns the fault; step -1: there was no run. */
enum { WAY_WARMER = 1000 };
MdFault way_collision(const MdBackendOps *ops, const MdSystem *system, int kernel, int every, Way way);

#endif
