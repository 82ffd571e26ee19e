#define _POSIX_C_SOURCE 200809L
#include "thread_ranks.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "parallel/engine.h"

typedef struct Letter {
    int from, to, tag;
    int64_t bytes;
    void *data; /* a copy */
    struct Letter *next;
} Letter;

/* What the ranks share. */
typedef struct Ranks {
    int n;
    pthread_barrier_t barrier;
    const void *own[MOST_THREAD_RANKS];
    pthread_mutex_t mutex;
    pthread_cond_t arrived;
    Letter *first, *last;
} Ranks;

typedef struct State {
    Ranks *ranks;
    MdMessage received[256]; /* that are awaited */
    int n_received;
} State;

static Ranks *ranks_of(const MdComm *comm) { return ((State *)comm->state)->ranks; }

static void gather(const MdComm *comm, const void *own, size_t bytes, void *all) {
    Ranks *ranks = ranks_of(comm);
    ranks->own[comm->rank] = own;
    pthread_barrier_wait(&ranks->barrier);
    for (int rank = 0; rank < ranks->n; rank++) memcpy((char *)all + (size_t)rank * bytes, ranks->own[rank], bytes);
    pthread_barrier_wait(&ranks->barrier);
}

static void trade(const MdComm *comm, const void *out, size_t bytes, void *in) {
    Ranks *ranks = ranks_of(comm);
    ranks->own[comm->rank] = out;
    pthread_barrier_wait(&ranks->barrier);
    for (int rank = 0; rank < ranks->n; rank++)
        memcpy((char *)in + (size_t)rank * bytes, (const char *)ranks->own[rank] + (size_t)comm->rank * bytes, bytes);
    pthread_barrier_wait(&ranks->barrier);
}

static void post(Ranks *ranks, int from, const MdMessage *message) {
    Letter *letter = md_alloc(1, sizeof *letter, "letter");
    *letter = (Letter){.from = from, .to = message->rank, .tag = message->tag, .bytes = message->bytes};
    letter->data = md_alloc((size_t)message->bytes, 1, "letter");
    memcpy(letter->data, message->data, (size_t)message->bytes);
    pthread_mutex_lock(&ranks->mutex);
    if (ranks->last) ranks->last->next = letter;
    else ranks->first = letter;
    ranks->last = letter;
    pthread_cond_broadcast(&ranks->arrived);
    pthread_mutex_unlock(&ranks->mutex);
}

/* The first letter of that sender, receiver and tag, out of the list; NULL: none is there. With the mutex. */
static Letter *take(Ranks *ranks, int to, const MdMessage *message) {
    Letter *before = NULL;
    for (Letter *letter = ranks->first; letter; before = letter, letter = letter->next) {
        if (letter->from != message->rank || letter->to != to || letter->tag != message->tag) continue;
        if (before) before->next = letter->next;
        else ranks->first = letter->next;
        if (ranks->last == letter) ranks->last = before;
        return letter;
    }
    return NULL;
}

static void begin(MdComm *comm, const MdMessage *messages, int n) {
    State *state = comm->state;
    md_require(state->n_received == 0);
    for (int k = 0; k < n; k++) {
        if (messages[k].bytes == 0) continue;
        if (messages[k].is_sent) post(state->ranks, comm->rank, &messages[k]);
        else state->received[state->n_received++] = messages[k];
    }
}

static void end(MdComm *comm) {
    State *state = comm->state;
    Ranks *ranks = state->ranks;
    for (int k = 0; k < state->n_received; k++) {
        Letter *letter;
        pthread_mutex_lock(&ranks->mutex);
        while (!(letter = take(ranks, comm->rank, &state->received[k])))
            pthread_cond_wait(&ranks->arrived, &ranks->mutex);
        pthread_mutex_unlock(&ranks->mutex);
        md_require(letter->bytes == state->received[k].bytes);
        memcpy(state->received[k].data, letter->data, (size_t)letter->bytes);
        md_free(letter->data);
        md_free(letter);
    }
    state->n_received = 0;
}

static const MdCommEngine threads = {.gather = gather, .trade = trade, .begin = begin, .end = end};

MdComm *lone_rank(int rank, int n) {
    MdComm *comm = md_alloc(1, sizeof *comm, "rank");
    *comm = (MdComm){
        .engine = &threads, .rank = rank, .size = n, .node_rank = rank, .node_size = n, .serves_threads = true};
    return comm;
}

typedef struct Work {
    MdComm *comm;
    void (*run)(MdComm *comm, void *argument);
    void *argument;
} Work;

static void *work(void *of) {
    const Work *mine = of;
    mine->run(mine->comm, mine->argument);
    return NULL;
}

void run_thread_ranks(int n, void (*run)(MdComm *comm, void *argument), void *const *arguments) {
    Ranks ranks = {.n = n, .mutex = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};
    State states[MOST_THREAD_RANKS] = {0};
    Work works[MOST_THREAD_RANKS];
    pthread_t thread[MOST_THREAD_RANKS];
    char hosts[MOST_THREAD_RANKS][MD_HOST_NAME_SIZE];
    md_require(n <= MOST_THREAD_RANKS && pthread_barrier_init(&ranks.barrier, NULL, (unsigned)n) == 0);
    for (int rank = 0; rank < n; rank++) snprintf(hosts[rank], sizeof hosts[rank], "thread %d", rank);
    for (int rank = 0; rank < n; rank++) {
        states[rank].ranks = &ranks;
        works[rank] = (Work){lone_rank(rank, n), run, arguments ? arguments[rank] : NULL};
        works[rank].comm->state = &states[rank];
        works[rank].comm->hosts = hosts;
        md_require(pthread_create(&thread[rank], NULL, work, &works[rank]) == 0);
    }
    for (int rank = 0; rank < n; rank++) {
        pthread_join(thread[rank], NULL);
        md_free(works[rank].comm);
    }
    md_require(!ranks.first); /* every letter was taken */
    pthread_barrier_destroy(&ranks.barrier);
}
