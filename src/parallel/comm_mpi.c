/* Messages by MPI. Nothing else of the program sees it.
 *
 * Every wait is a loop that looks and, after a while, gives the processor away: ranks may share one. When it has taken longer than
 * the patience of the communicator, the waiting ranks ask all ranks for an answer, on a separate communicator: ranks that do not
 * answer within some seconds are named, and the run ends on all ranks.
 *
 * Errors of MPI itself end the run by its own handler (MPI_ERRORS_ARE_FATAL), which names the call. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "parallel/comm_mpi.h"
#include "parallel/engine.h"

typedef struct State {
    MPI_Comm messages;
    MPI_Request *requests;
    int n_requests, room;
} State;

static const int64_t piece_bytes = 1 << 30; /* counts of MPI are ints */
static const int looks_before_yield = 200;  /* some 20 us: as long as the answer of a rank that is running may take */
static const double roll_s = 5;
static MPI_Comm roll; /* one for all: whichever thread of a rank gives up answers those of others */

/* --- waiting -------------------------------------------------------------------------------------------------------- */

/* Whether rank k has answered, for all k. The requests are left as they are: the process ends. */
static void call_roll(const MdComm *comm, bool *answered) {
    MPI_Request request;
    int *words = md_alloc((size_t)comm->size, sizeof *words, "roll"), own = comm->rank;
    MPI_Request *requests = md_alloc((size_t)comm->size, sizeof *requests, "roll");
    for (int rank = 0; rank < comm->size; rank++) {
        MPI_Irecv(&words[rank], 1, MPI_INT, rank, 0, roll, &requests[rank]);
        MPI_Isend(&own, 1, MPI_INT, rank, 0, roll, &request);
    }
    for (const double end_s = md_clock_s() + roll_s; md_clock_s() < end_s; sched_yield())
        for (int rank = 0; rank < comm->size; rank++) {
            int done = answered[rank];
            if (!done) MPI_Test(&requests[rank], &done, MPI_STATUS_IGNORE);
            answered[rank] = done != 0;
        }
}

static void give_up(const MdComm *comm, int silent, double seconds) {
    static atomic_flag gives_up = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&gives_up)) sched_yield(); /* another thread ends the process */
    bool *answered = md_alloc((size_t)comm->size, sizeof *answered, "roll");
    char text[1024] = "";
    int n_missing = 0, first = -1;
    call_roll(comm, answered);
    if (silent >= 0) answered[silent] = false;
    for (int rank = 0; rank < comm->size; rank++) {
        if (answered[rank] && first < 0) first = rank;
        if (answered[rank] || n_missing++ > 9) continue;
        const size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%srank %d (%s)", length ? ", " : "", rank, comm->hosts[rank]);
    }
    if (!n_missing) snprintf(text, sizeof text, "%d ranks have waited for each other", comm->size);
    else snprintf(text + strlen(text), sizeof text - strlen(text), " of %d did not answer", comm->size);
    if (comm->rank == first) { /* in one piece: the launcher writes, too */
        fprintf(stderr, "mdmini: error: %s for %g s: the run ends (parallel.timeout sets how long ranks wait)\n", text,
                seconds);
    } else { /* the first one, which may have begun so much later, speaks before all end */
        for (const double end_s = md_clock_s() + roll_s; md_clock_s() < end_s; sched_yield()) continue;
    }
    MPI_Abort(MPI_COMM_WORLD, MD_ERROR_INTERNAL);
    abort();
}

static void wait_for(const MdComm *comm, int n, MPI_Request *requests) {
    double begin_s = 0;
    for (int64_t look = 1;; look++) {
        int done;
        MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
        if (done) return;
        if (look < looks_before_yield) continue;
        sched_yield();
        if (look % 1024 != 0) continue;
        if (begin_s == 0) begin_s = md_clock_s();
        else if (md_clock_s() - begin_s > comm->patience_s) give_up(comm, -1, comm->patience_s);
    }
}

/* --- the engine ----------------------------------------------------------------------------------------------------- */

static void find_node(MdComm *comm) {
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &comm->node_rank);
    MPI_Comm_size(node, &comm->node_size);
    MPI_Comm_free(&node);
}

static State *make_state(MPI_Comm from) {
    State *state = md_alloc(1, sizeof *state, "communicator");
    MPI_Comm_dup(from, &state->messages);
    return state;
}

/* Its name and version, with single blanks; the rest, packager and date, is left out. */
static void name_library(char name[MD_LIBRARY_NAME_SIZE]) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length, n = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    for (const char *word = strtok(text, " \t"); word && n < MD_LIBRARY_NAME_SIZE; word = strtok(NULL, " \t"))
        n += snprintf(name + n, MD_LIBRARY_NAME_SIZE - (size_t)n, "%s%s", n ? " " : "", word);
}

/* A function of this program and its libraries; NULL: they have none of this name. */
static void *find_function(const char *name) {
    void *program = dlopen(NULL, RTLD_NOW);
    return program ? dlsym(program, name) : NULL;
}

/* Whether MPI is CUDA-aware. The query is an extension, which some libraries have, and fewer headers: it is looked for
 * when the program runs. */
static bool takes_device_memory(void) {
    int (*query)(void) = NULL;
    void *function = find_function("MPIX_Query_cuda_support");
    memcpy(&query, &function, sizeof function);
    return query && query() == 1;
}

/* MPICH without PMIx that is started by a launcher with nothing else: from version 5 on it would end the process. */
static bool is_without_launcher(const char *library) {
    return strncmp(library, "MPICH", 5) == 0 && (getenv("PMIX_RANK") || getenv("PMIX_NAMESPACE")) &&
           !getenv("PMI_FD") && !getenv("PMI_PORT") && !find_function("PMIx_Init");
}

static bool start(MdComm *comm, MdErrors *errors) {
    int granted;
    name_library(comm->library); /* which may be asked before MPI is started */
    comm->size = 1;
    if (is_without_launcher(comm->library)) return true;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &granted) != MPI_SUCCESS) {
        md_fail(errors, MD_ERROR_INPUT, "MPI could not be started");
        return false;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &comm->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &comm->size);
    comm->serves_threads = granted == MPI_THREAD_MULTIPLE;
    comm->takes_device_memory = takes_device_memory();
    find_node(comm);
    comm->state = make_state(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &roll);
    return true;
}

/* Communicators are left to MPI_Finalize: to free one is collective, and ranks may come to it in different order after an error. */
static void finish(MdComm *comm) {
    State *state = comm->state;
    if (!state) return; /* MPI was not started */
    md_free(state->requests);
    md_free(state);
    if (!comm->is_duplicate) MPI_Finalize();
}

static void *duplicate(const MdComm *comm) { return make_state(((State *)comm->state)->messages); }

static void gather(const MdComm *comm, const void *own, size_t bytes, void *all) {
    MPI_Request request;
    md_require(bytes <= INT_MAX);
    MPI_Iallgather(own, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, ((State *)comm->state)->messages, &request);
    wait_for(comm, 1, &request);
}

static void trade(const MdComm *comm, const void *out, size_t bytes, void *in) {
    MPI_Request request;
    MPI_Ialltoall(out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, ((State *)comm->state)->messages, &request);
    wait_for(comm, 1, &request);
}

static MPI_Request *next_request(State *state) {
    if (state->n_requests == state->room) {
        const int room = state->room ? 2 * state->room : 64;
        MPI_Request *requests = md_alloc((size_t)room, sizeof *requests, "messages");
        if (state->n_requests) memcpy(requests, state->requests, (size_t)state->n_requests * sizeof *requests);
        md_free(state->requests);
        state->requests = requests;
        state->room = room;
    }
    return &state->requests[state->n_requests++];
}

static void begin(MdComm *comm, const MdMessage *messages, int n) {
    State *state = comm->state;
    md_require(state->n_requests == 0);
    for (int sent = 0; sent < 2; sent++) /* receives are posted first: the buffer is known when a message arrives */
        for (int k = 0; k < n; k++) {
            const MdMessage *m = &messages[k];
            char *data = m->data;
            if (m->is_sent != (sent == 1)) continue;
            for (int64_t left = m->bytes; left > 0; left -= piece_bytes, data += piece_bytes) {
                const int piece = (int)(left < piece_bytes ? left : piece_bytes);
                if (m->is_sent) MPI_Isend(data, piece, MPI_BYTE, m->rank, m->tag, state->messages, next_request(state));
                else MPI_Irecv(data, piece, MPI_BYTE, m->rank, m->tag, state->messages, next_request(state));
            }
        }
}

static void end(MdComm *comm) {
    State *state = comm->state;
    wait_for(comm, state->n_requests, state->requests);
    state->n_requests = 0;
}

static void end_all(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

const MdCommEngine md_comm_mpi = {.start = start,
                                  .finish = finish,
                                  .duplicate = duplicate,
                                  .gather = gather,
                                  .trade = trade,
                                  .begin = begin,
                                  .end = end,
                                  .give_up = give_up,
                                  .abort = end_all};
