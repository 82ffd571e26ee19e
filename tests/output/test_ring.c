/* The ring of the output: every operation in every state of a slot does what the diagram in backend/ring.h says, or stops the
 * program; slots and frame buffers come in turn; a consumer that waits and a producer without room are woken. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/ring.h"
#include "check.h"

enum { STEP = 7, DEADLOCK_S = 300 };

static const MdRingSpec one_slot = {.n_slots = 1, .n_frames = 1};
static const MdOutputRequest request = {.step = STEP, .slot = 0, .frame = 0, .quantities = 1};

/* --- a slot --------------------------------------------------------------------------------------------------------- */

typedef enum Operation { BEGIN, END, ARRIVE, ARRIVE_EMPTY, GIVE_BACK, DROP, N_OPERATIONS } Operation;

static const char *const operation_names[] = {"begin",     "end", "arrive", "arrive of a stopped step",
                                              "give back", "drop"};
static const char *const state_names[] = {"FREE", "ISSUING", "ISSUED", "SKIPPED", "WRITING", "DROPPED"};

/* With the number of the slot's last issue. */
static void operate(MdRing *ring, Operation operation) {
    const long long step = STEP, none = -1;
    switch (operation) {
    case BEGIN: md_ring_begin(ring, &request); break;
    case END: md_ring_end(ring, &request); break;
    case ARRIVE: md_ring_arrive(ring, &request, ring->slots[0].n_issues, &step); break;
    case ARRIVE_EMPTY: md_ring_arrive(ring, &request, ring->slots[0].n_issues, &none); break;
    case GIVE_BACK: md_ring_give_back(ring, true); break;
    default: md_ring_give_back(ring, false); break;
    }
}

static MdRing *ring_in(MdSlotState state) {
    static const int ways[MD_N_SLOT_STATES][4] = {[MD_SLOT_FREE] = {-1},
                                                  [MD_SLOT_ISSUING] = {BEGIN, -1},
                                                  [MD_SLOT_ISSUED] = {BEGIN, END, -1},
                                                  [MD_SLOT_SKIPPED] = {BEGIN, END, ARRIVE_EMPTY, -1},
                                                  [MD_SLOT_WRITING] = {BEGIN, END, ARRIVE, -1},
                                                  [MD_SLOT_DROPPED] = {BEGIN, DROP, -1}};
    MdRing *ring = md_ring_create(&one_slot);
    for (int k = 0; k < 4 && ways[state][k] >= 0; k++) operate(ring, (Operation)ways[state][k]);
    return ring;
}

/* The state that follows; -1: the program stops. In a process of its own. */
static int outcome(MdSlotState state, Operation operation) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        MdRing *ring = ring_in(state);
        if (!freopen("/dev/null", "w", stderr)) _exit(99);
        operate(ring, operation);
        _exit(10 + (int)ring->slots[0].state);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) >= 10 ? WEXITSTATUS(status) - 10 : -1;
}

static void test_states(void) {
    enum { FREE = MD_SLOT_FREE, ISSUING, ISSUED, SKIPPED, WRITING, DROPPED, STOPS = -1 };
    static const int expected[MD_N_SLOT_STATES][N_OPERATIONS] = {
        /*           begin    end      arrive   empty    give back drop */
        [FREE] = {ISSUING, STOPS, FREE, FREE, STOPS, STOPS},
        [ISSUING] = {STOPS, ISSUED, ISSUING, ISSUING, STOPS, DROPPED},
        [ISSUED] = {ISSUING, STOPS, WRITING, SKIPPED, STOPS, DROPPED},
        [SKIPPED] = {ISSUING, STOPS, SKIPPED, SKIPPED, STOPS, DROPPED},
        [WRITING] = {STOPS, STOPS, WRITING, WRITING, FREE, DROPPED},
        [DROPPED] = {DROPPED, DROPPED, DROPPED, DROPPED, STOPS, STOPS},
    };
    for (int state = 0; state < MD_N_SLOT_STATES; state++)
        for (int operation = 0; operation < N_OPERATIONS; operation++) {
            check_context("%s, %s", state_names[state], operation_names[operation]);
            CHECK(outcome((MdSlotState)state, (Operation)operation) == expected[state][operation]);
        }
}

/* Issued again while the consumer waits for the copy of the issue before: what it brought is not looked at. */
static void test_issued_again(void) {
    const long long step = STEP;
    MdRing *ring = ring_in(MD_SLOT_ISSUED);
    check_context("issued again");
    const int64_t former = md_ring_wait(ring, 0);
    operate(ring, BEGIN);
    CHECK(!md_ring_arrive(ring, &request, former, &step) && ring->slots[0].state == MD_SLOT_ISSUING);
    operate(ring, END);
    CHECK(!md_ring_arrive(ring, &request, former, &step) && ring->slots[0].state == MD_SLOT_ISSUED);
    CHECK(md_ring_arrive(ring, &request, md_ring_wait(ring, 0), &step) && ring->slots[0].state == MD_SLOT_WRITING);
    md_ring_destroy(ring);
}

/* --- the ring ------------------------------------------------------------------------------------------------------- */

static void fill(MdRing *ring, const MdOutputRequest *next) {
    md_ring_begin(ring, next);
    md_ring_end(ring, next);
}

static void empty(MdRing *ring, const MdOutputRequest *next) {
    const long long step = next->step;
    CHECK(md_ring_first(ring) == next->slot);
    CHECK(md_ring_arrive(ring, next, md_ring_wait(ring, next->slot), &step));
    md_ring_give_back(ring, true);
}

/* Every third request has no frame. */
static void test_turns(void) {
    const MdRingSpec spec = {.n_slots = 3, .n_frames = 2};
    MdRing *ring = md_ring_create(&spec);
    MdOutputRequest under_way[3];
    check_context("turns");
    CHECK(md_ring_first(ring) == -1 && md_ring_has_room(ring, true));
    for (int k = 0, n_frames = 0; k < 12; k++) {
        const MdOutputRequest next = md_ring_next(ring, k, k % 3 == 2 ? 0 : 1);
        CHECK(next.slot == k % 3 && next.frame == (k % 3 == 2 ? -1 : n_frames++ % 2));
        if (k >= 3) {
            CHECK(!md_ring_has_room(ring, false) && !md_ring_has_room(ring, true));
            empty(ring, &under_way[k % 3]);
        }
        CHECK(md_ring_has_room(ring, next.frame >= 0));
        under_way[k % 3] = next;
        fill(ring, &next);
        if (k == 1) CHECK(md_ring_has_room(ring, false) && !md_ring_has_room(ring, true));
    }
    for (int k = 0; k < 3; k++) empty(ring, &under_way[k]);
    CHECK(md_ring_first(ring) == -1);
    md_ring_destroy(ring);
}

static void wait_a_while(void) { nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); }

static void *end_in_a_while(void *ring) {
    wait_a_while();
    md_ring_end(ring, &request);
    return NULL;
}

static void *abandon_in_a_while(void *ring) {
    wait_a_while();
    md_ring_abandon(ring);
    return NULL;
}

static int64_t wait_for(MdRing *ring, void *(*other)(void *)) {
    pthread_t thread;
    if (!CHECK(pthread_create(&thread, NULL, other, ring) == 0)) return -1;
    const int64_t issue = md_ring_wait(ring, 0);
    pthread_join(thread, NULL);
    md_ring_destroy(ring);
    return issue;
}

static void *give_back_in_a_while(void *opaque) {
    MdRing *ring = opaque;
    wait_a_while();
    pthread_mutex_lock(&ring->mutex);
    md_ring_give_back(ring, true);
    pthread_mutex_unlock(&ring->mutex);
    return NULL;
}

/* A producer waits for room as the pipeline does. */
static void test_room(void) {
    MdRing *ring = ring_in(MD_SLOT_WRITING);
    pthread_t thread;
    if (!CHECK(pthread_create(&thread, NULL, give_back_in_a_while, ring) == 0)) return;
    pthread_mutex_lock(&ring->mutex);
    while (!md_ring_has_room(ring, true)) pthread_cond_wait(&ring->changed, &ring->mutex);
    pthread_mutex_unlock(&ring->mutex);
    pthread_join(thread, NULL);
    CHECK(md_ring_first(ring) == -1);
    md_ring_destroy(ring);
}

static void test_waits(void) {
    check_context("waits");
    CHECK(wait_for(ring_in(MD_SLOT_ISSUING), end_in_a_while) == 1);
    CHECK(wait_for(ring_in(MD_SLOT_SKIPPED), abandon_in_a_while) == 0);
    MdRing *ring = ring_in(MD_SLOT_ISSUED); /* what was issued before may have come */
    md_ring_abandon(ring);
    CHECK(md_ring_wait(ring, 0) == 1);
    md_ring_destroy(ring);
    test_room();
}

int main(void) {
    alarm(DEADLOCK_S);
    test_states();
    test_issued_again();
    test_turns();
    test_waits();
    return check_finish();
}
