/* What the ranks of a run agree on at the end of each call of the backend: whether to go on, and how long the next call is. */
#ifndef MD_TURN_H
#define MD_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "parallel/comm.h"

typedef struct MdTurn {
    bool is_stopping;     /* a signal has come to some rank, or its time is over: all stop at this step */
    int64_t steps_a_call; /* that the backend is asked for at most: some tenth of a second, */
    bool knows_call;      /* once it is known how many these are */
} MdTurn;

/* Collective. The clock of rank 0 sets the length of calls. The gravest status of all ranks. */
MdStatus md_turn_agree(MdTurn *turn, MdComm *comm, MdStatus status, MdErrors *errors);

#endif
