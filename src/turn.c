#include "turn.h"

#include "base/memory.h"
#include "base/stop.h"

typedef struct Word {
    int64_t status, signal, steps_a_call, knows_call;
} Word;

MdStatus md_turn_agree(MdTurn *turn, MdComm *comm, MdStatus status, MdErrors *errors) {
    const int size = md_comm_size(comm);
    const Word own = {status, md_stop_signal(), turn->steps_a_call, turn->knows_call};
    Word *all = md_alloc((size_t)size, sizeof *all, "words of ranks");
    md_comm_gather(comm, &own, sizeof own, all);
    bool good = true;
    for (int rank = 0; rank < size; rank++) {
        good = good && all[rank].status == MD_OK;
        if (all[rank].signal) md_stop_request((int)all[rank].signal);
        turn->is_stopping = turn->is_stopping || all[rank].signal != 0;
    }
    turn->steps_a_call = all[0].steps_a_call;
    turn->knows_call = all[0].knows_call != 0;
    md_free(all);
    return good ? MD_OK : md_comm_agree(comm, status, errors);
}
