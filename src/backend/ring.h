/* The ring of the output: the owner of a slot over time.
 *
 * A ring slot takes one request for output from the particles to the files. It has room for the sums of a step, which become a
 * thermo row. A request with a frame also has a frame buffer (there are output.slots of them; one with output.pipeline = off). The
 * slot and its frame buffer have the same owner. On a GPU both are there twice, unless output.host_memory says otherwise
 * (cuda/stages/output_buffers.c): a device buffer that kernels write, and a pinned buffer of the host.
 *
 * The producer is the thread of the steps, the consumer the writer thread (output/pipeline.c); with output.pipeline = off one
 * thread is both. Slots and frame buffers are taken in turn, and given back in that order.
 *
 *               begin              end             arrive               give_back
 *     FREE ---------------> ISSUING ----> ISSUED ------------> WRITING -----------> FREE
 *                             ^ ^           | |
 *                             | +-- begin --+ | arrive, but the device had stopped
 *                             +---- begin --- SKIPPED
 *
 *     FREE     no owner.
 *     ISSUING  the producer's, which queues the work on the streams (cuda/stages/output.c) or does it (cpu/output.c).
 *     ISSUED   the device's. The compute stream waits for the last copy out of the slot, packs sums and frame into the device
 *              buffers and records `packed`; the copy stream waits for that, copies to the pinned buffers and records `copied`.
 *     SKIPPED  no owner. The device had stopped before this step and packed nothing; the producer rolls back and issues the request
 *              again (cuda/batches/steps.c). If it does so before the consumer has looked, the slot is not SKIPPED in between.
 *     WRITING  the consumer's: `copied` is over, and it writes row and frame from the pinned buffers.
 *     DROPPED  no owner, for ever, from any state except FREE: there was an error; data that the device may still copy are not read. */
#ifndef MD_BACKEND_RING_H
#define MD_BACKEND_RING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/trace.h"

typedef struct MdRingSpec {
    int n_slots, n_frames; /* frame buffers; 0: there are only sums */
    unsigned quantities;   /* that a frame can have, MD_FRAME_... */
    int precision;         /* of its numbers: MD_FILE_PRECISION_SINGLE, _DOUBLE */
    bool by_blocks;        /* of several ranks each gets the rows of its block of ids; else rank 0 gets all */
} MdRingSpec;

typedef struct MdOutputRequest {
    int64_t step;        /* the last one that was made */
    int slot;            /* of the ring */
    int frame;           /* frame buffer; -1: only sums are wanted */
    unsigned quantities; /* of the frame, of those of the spec */
} MdOutputRequest;

typedef enum MdSlotState {
    MD_SLOT_FREE,
    MD_SLOT_ISSUING,
    MD_SLOT_ISSUED,
    MD_SLOT_SKIPPED,
    MD_SLOT_WRITING,
    MD_SLOT_DROPPED,
    MD_N_SLOT_STATES
} MdSlotState;

typedef struct MdRingSlot {
    MdSlotState state;
    bool has_frame;
    int64_t n_issues; /* ever: the number of the last one */
} MdRingSlot;

typedef struct MdRing {
    MdRingSpec spec;
    MdRingSlot *slots;
    int64_t n_taken, n_given_back; /* slots, ever */
    int64_t n_frames_taken, n_frames_given_back;
    bool abandoned;
    pthread_mutex_t mutex;                         /* of all this, and of the other fields of the pipeline */
    pthread_cond_t changed;                        /* all that a thread may wait for; by the clock of md_clock_s */
    struct MdComm *comm;                           /* of the consumers of all ranks; NULL: one process */
    MdTraceTrack *producer_track, *consumer_track; /* for the frame buffers in use; NULL: no trace */
} MdRing;

MdRing *md_ring_create(const MdRingSpec *spec);
void md_ring_destroy(MdRing *ring); /* accepts NULL */

/* --- the producer's --- */

bool md_ring_has_room(const MdRing *ring, bool frame); /* with the mutex */
/* For the slot, and with quantities the frame buffer, that come next. */
MdOutputRequest md_ring_next(const MdRing *ring, int64_t step, unsigned quantities);
/* Around all that fills them. */
void md_ring_begin(MdRing *ring, const MdOutputRequest *request);
void md_ring_end(MdRing *ring, const MdOutputRequest *request);
/* The device has stopped for good: no more slots will be ISSUED. */
void md_ring_abandon(MdRing *ring);

/* --- the consumer's --- */

int md_ring_first(const MdRing *ring); /* the slot that was taken first; -1: none is. With the mutex */
/* Waits until the slot is ISSUED, and returns the number of the issue; 0: it was abandoned. */
int64_t md_ring_wait(MdRing *ring, int slot);
/* After that issue. True, and the slot is WRITING: `arrived`, the step that came with the sums, is that of the request. False:
 * nothing came (SKIPPED), or the slot was issued again meanwhile; wait once more. */
bool md_ring_arrive(MdRing *ring, const MdOutputRequest *request, int64_t issue, const long long *arrived);
void md_ring_give_back(MdRing *ring, bool written); /* the first slot; not written: dropped. With the mutex */

#endif
