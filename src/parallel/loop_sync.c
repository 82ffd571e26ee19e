#include "parallel/loop_sync.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/stop.h"

typedef struct Word {
    int64_t status, signal, steps_per_call, is_calibrated;
} Word;

MdStatus md_loop_sync_begin(MdLoopSync *sync, MdErrors *errors) {
    const char *asked = getenv("MDMINI_CALL_STEPS"), *text = asked && *asked ? asked : NULL;
    char *end = NULL;
    sync->steps_per_call = text ? strtoll(text, &end, 10) : 1;
    sync->is_calibrated = text != NULL;
    const bool is_number = text && end > text && *end == 0;
    if (!text || (is_number && sync->steps_per_call >= 1 && sync->steps_per_call <= 1000000)) return MD_OK;
    return md_fail(errors, MD_ERROR_INPUT, "MDMINI_CALL_STEPS: read %s; allowed: 1 to 1000000", text);
}

MdStatus md_loop_sync(MdLoopSync *sync, MdComm *comm, MdStatus status, MdErrors *errors) {
    const int size = md_comm_size(comm);
    const Word own = {status, md_stop_signal(), sync->steps_per_call, sync->is_calibrated};
    Word *all = md_alloc((size_t)size, sizeof *all, "words of ranks");
    md_comm_allgather(comm, &own, sizeof own, all);
    bool good = true;
    for (int rank = 0; rank < size; rank++) {
        good = good && all[rank].status == MD_OK;
        if (all[rank].signal) md_stop_request((int)all[rank].signal);
        sync->is_stopping = sync->is_stopping || all[rank].signal != 0;
    }
    sync->steps_per_call = all[0].steps_per_call;
    sync->is_calibrated = all[0].is_calibrated != 0;
    md_free(all);
    return good ? MD_OK : md_comm_worst_status(comm, status, errors);
}
