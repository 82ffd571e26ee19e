#define _POSIX_C_SOURCE 200809L
#include "backend/ring.h"

#include <time.h>

#include "base/clock.h"
#include "base/memory.h"

MdRing *md_ring_create(const MdRingSpec *spec) {
    MdRing *ring = md_alloc(1, sizeof *ring, "output ring");
    ring->spec = *spec;
    ring->slots = md_alloc((size_t)spec->n_slots, sizeof *ring->slots, "output ring");
    pthread_mutex_init(&ring->mutex, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&ring->changed, &clock);
    pthread_condattr_destroy(&clock);
    return ring;
}

void md_ring_destroy(MdRing *ring) {
    if (!ring) return;
    pthread_cond_destroy(&ring->changed);
    pthread_mutex_destroy(&ring->mutex);
    md_free(ring->slots);
    md_free(ring);
}

/* The states that a slot may come from. */
static const unsigned comes_from[MD_N_SLOT_STATES] = {
    [MD_SLOT_FREE] = 1u << MD_SLOT_WRITING,
    [MD_SLOT_ISSUING] = 1u << MD_SLOT_FREE | 1u << MD_SLOT_ISSUED | 1u << MD_SLOT_SKIPPED,
    [MD_SLOT_ISSUED] = 1u << MD_SLOT_ISSUING,
    [MD_SLOT_SKIPPED] = 1u << MD_SLOT_ISSUED,
    [MD_SLOT_WRITING] = 1u << MD_SLOT_ISSUED,
    [MD_SLOT_DROPPED] = ~(1u << MD_SLOT_FREE),
};

/* A dropped slot stays dropped. */
static void move(MdRingSlot *slot, MdSlotState to) {
    if (slot->state == MD_SLOT_DROPPED) return;
    md_require(comes_from[to] >> slot->state & 1);
    slot->state = to;
}

static void trace_frames(const MdRing *ring, MdTraceTrack *track) {
    md_trace_value(track, "frame buffers in use", md_clock_s(),
                   (double)(ring->n_frames_taken - ring->n_frames_given_back));
}

/* --- the producer's ------------------------------------------------------------------------------------------------- */

bool md_ring_has_room(const MdRing *ring, bool frame) {
    return ring->n_taken - ring->n_given_back < ring->spec.n_slots &&
           (!frame || ring->n_frames_taken - ring->n_frames_given_back < ring->spec.n_frames);
}

/* Only the producer takes slots: it may read that number without the mutex. */
MdOutputRequest md_ring_next(const MdRing *ring, int64_t step, unsigned quantities) {
    return (MdOutputRequest){.step = step,
                             .slot = (int)(ring->n_taken % ring->spec.n_slots),
                             .frame = quantities ? (int)(ring->n_frames_taken % ring->spec.n_frames) : -1,
                             .quantities = quantities};
}

static void take(MdRing *ring, const MdOutputRequest *request) {
    const MdOutputRequest next = md_ring_next(ring, request->step, request->quantities);
    MdRingSlot *slot = &ring->slots[request->slot];
    slot->has_frame = request->frame >= 0;
    md_require(request->slot == next.slot && request->frame == next.frame && md_ring_has_room(ring, slot->has_frame));
    ring->n_taken++;
    if (!slot->has_frame) return;
    ring->n_frames_taken++;
    trace_frames(ring, ring->producer_track);
}

void md_ring_begin(MdRing *ring, const MdOutputRequest *request) {
    MdRingSlot *slot = &ring->slots[request->slot];
    pthread_mutex_lock(&ring->mutex);
    if (slot->state == MD_SLOT_FREE) take(ring, request);
    move(slot, MD_SLOT_ISSUING);
    slot->n_issues++;
    pthread_mutex_unlock(&ring->mutex);
}

void md_ring_end(MdRing *ring, const MdOutputRequest *request) {
    pthread_mutex_lock(&ring->mutex);
    move(&ring->slots[request->slot], MD_SLOT_ISSUED);
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->mutex);
}

void md_ring_abandon(MdRing *ring) {
    pthread_mutex_lock(&ring->mutex);
    ring->abandoned = true;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->mutex);
}

/* --- the consumer's ------------------------------------------------------------------------------------------------- */

int md_ring_first(const MdRing *ring) {
    return ring->n_given_back < ring->n_taken ? (int)(ring->n_given_back % ring->spec.n_slots) : -1;
}

int64_t md_ring_wait(MdRing *ring, int slot) {
    const MdRingSlot *s = &ring->slots[slot];
    pthread_mutex_lock(&ring->mutex);
    while (s->state != MD_SLOT_ISSUED && !ring->abandoned) pthread_cond_wait(&ring->changed, &ring->mutex);
    const int64_t issue = s->state == MD_SLOT_ISSUED ? s->n_issues : 0;
    pthread_mutex_unlock(&ring->mutex);
    return issue;
}

bool md_ring_arrive(MdRing *ring, const MdOutputRequest *request, int64_t issue, const long long *arrived) {
    MdRingSlot *slot = &ring->slots[request->slot];
    pthread_mutex_lock(&ring->mutex);
    /* Under the mutex no other issue can begin, and so nothing copies to `arrived`. */
    const bool is_last = slot->state == MD_SLOT_ISSUED && slot->n_issues == issue;
    if (is_last) move(slot, *arrived == request->step ? MD_SLOT_WRITING : MD_SLOT_SKIPPED);
    const bool is_there = is_last && slot->state == MD_SLOT_WRITING;
    pthread_mutex_unlock(&ring->mutex);
    return is_there;
}

void md_ring_give_back(MdRing *ring, bool written) {
    const int first = md_ring_first(ring);
    md_require(first >= 0);
    MdRingSlot *slot = &ring->slots[first];
    move(slot, written ? MD_SLOT_FREE : MD_SLOT_DROPPED);
    ring->n_given_back++;
    if (slot->has_frame) {
        ring->n_frames_given_back++;
        trace_frames(ring, ring->consumer_track);
    }
    pthread_cond_broadcast(&ring->changed);
}
