/* At the end of each call of the backend the ranks of a run agree whether to go on, and how long the next call is. */
#ifndef MD_PARALLEL_LOOP_SYNC_H
#define MD_PARALLEL_LOOP_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "parallel/comm.h"

typedef struct MdLoopSync {
    bool is_stopping;       /* a signal has come to some rank, or its time is over: all stop at this step */
    int64_t steps_per_call; /* that the backend is asked for at most: some tenth of a second, */
    bool is_calibrated;     /* once it is known how many these are */
} MdLoopSync;

/* Calls begin with one step and grow. Under a profiler each kernel takes so long that they would not: MDMINI_CALL_STEPS in the
 * environment gives them a length. An input error if it is not from 1 to 1000000. */
MdStatus md_loop_sync_begin(MdLoopSync *sync, MdErrors *errors);

/* Collective. The clock of rank 0 sets the length of calls. The gravest status of all ranks. */
MdStatus md_loop_sync(MdLoopSync *sync, MdComm *comm, MdStatus status, MdErrors *errors);

#endif
