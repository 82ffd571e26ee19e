#define _POSIX_C_SOURCE 200809L
#include "output/pipeline.h"

#include <math.h>
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/nvtx.h"
#include "base/threads.h"
#include "deck/units.h"
#include "output/schedule.h"
#include "output/collective.h"
#include "parallel/comm.h"

/* Requests on their way at once. Their sums are small, so there are many: rows of every step find room while a frame is written. */
enum { N_SLOTS = 32 };
static const double look_s = 0.2; /* far below the least parallel.timeout, 1 s */

typedef struct Item { /* the content of a slot belongs to its owner */
    MdOutputRequest request;
    unsigned due;
    double heat;
} Item;

struct MdPipeline {
    MdPipelineSpec spec;
    MdRing *ring;
    Item items[N_SLOTS];
    MdTrajectory *files;
    MdCollective *collective; /* parallel.frames = all, and there are frames; NULL: rank 0 writes them */
    int64_t n_rows;           /* of a frame that is here */
    bool threaded;            /* output.pipeline = on */
    pthread_t writer;
    MdTraceTrack *steps_track, *writer_track; /* in line one and the same */

    /* With the mutex of the ring, whose `changed` tells of them, up to the errors. */
    bool commit_due, is_committing, closing; /* commit_due: one is asked for */
    MdStatus status;                         /* of the writer; the first error stays */
    bool told;                               /* its messages have been handed on */

    MdErrors *errors;                /* the writer's own; others look at them once status is an error */
    MdPipelineStatistics statistics; /* written and copied: the writer's; the others: the caller's */
    uint64_t bytes_before;           /* in the files, when the statistics were last taken */
};

static void lock(MdPipeline *p) { pthread_mutex_lock(&p->ring->mutex); }
static void unlock(MdPipeline *p) { pthread_mutex_unlock(&p->ring->mutex); }
/* Returns by until_s or after look_s, changed or not. */
static void wait_for_change(MdPipeline *p, double until_s) {
    const double end_s = fmin(until_s, md_clock_s() + look_s);
    const struct timespec end = {.tv_sec = (time_t)end_s, .tv_nsec = (long)(1e9 * (end_s - floor(end_s)))};
    pthread_cond_timedwait(&p->ring->changed, &p->ring->mutex, &end);
}
static void tell_change(MdPipeline *p) { pthread_cond_broadcast(&p->ring->changed); }

/* --- needs of a run ------------------------------------------------------------------------------------------------ */

MdRingSpec md_pipeline_ring(const MdConfig *config) {
    const unsigned quantities = md_schedule_all_quantities(config);
    const bool on = config->output_pipeline == MD_ON;
    return (MdRingSpec){.n_slots = on ? N_SLOTS : 1,
                        .n_frames = !quantities ? 0
                                    : on        ? (int)config->output_slots
                                                : 1,
                        .quantities = quantities,
                        .precision = config->output_precision,
                        .by_blocks = config->parallel_frames == MD_FRAMES_ALL};
}

bool md_pipeline_uses(const MdConfig *config, int option) {
    const bool of_frames =
        option == MD_OPTION_output_streams || option == MD_OPTION_output_host_memory || option == MD_OPTION_output_pack;
    return !of_frames || md_pipeline_ring(config).n_frames > 0;
}

/* --- the consumer ---------------------------------------------------------------------------------------------------- */

static MdStatus write_frame(MdPipeline *p, const Item *item, const MdOutput *output, const MdThermo *thermo) {
    MdFrame frame = output->frame;
    frame.time = thermo->time;
    const double start_s = md_clock_s();
    md_nvtx_begin("append", frame.step);
    MdStatus status = p->collective
                          ? md_collective_append(p->collective, p->files, &frame, item->due, thermo, p->errors)
                          : md_trajectory_append(p->files, &frame, item->due, thermo, p->errors);
    md_nvtx_end();
    md_trace_span(p->writer_track, MD_TRACE_WRITE, "append", start_s, md_clock_s(), frame.step);
    p->statistics.write_s += md_clock_s() - start_s;
    p->statistics.copy_s += output->copy_s;
    if (status != MD_OK) return status;
    p->statistics.n_frames++;
    p->statistics.file_bytes = md_trajectory_file_bytes(p->files) - p->bytes_before;
    p->statistics.frame_bytes += md_frame_bytes(p->spec.n_atoms, item->request.quantities, p->ring->spec.precision);
    return MD_OK;
}

static MdStatus write_item(MdPipeline *p, const Item *item) {
    MdOutput output;
    const double start_s = md_clock_s();
    MdStatus status = p->spec.ops->output_wait(p->spec.context, &item->request, &output);
    const double ready_s = md_clock_s();
    md_trace_span(p->writer_track, MD_TRACE_WAIT, "wait: device", start_s, ready_s, item->request.step);
    if (status != MD_OK) return md_fail(p->errors, status, "output of step %lld", (long long)item->request.step);
    if (!output.arrived || output.fault.step >= 0) return MD_ERROR_PHYSICS;
    const bool has_frame = item->request.frame >= 0;
    if (has_frame && p->spec.config->output_unwrapped == MD_ON && output.frame.position)
        md_trajectory_unwrap(p->spec.box, p->n_rows, &output.frame);
    if (has_frame) md_trajectory_convert(md_config_units(p->spec.config), p->n_rows, &output.frame);
    if (!md_comm_is_root(p->ring->comm))
        return has_frame && p->collective ? md_collective_follow(p->collective, &output.frame, p->errors) : MD_OK;
    const double degrees = md_config_degrees(p->spec.config, p->spec.n_atoms, p->spec.box->dimension);
    MdThermo thermo = md_thermo_from_sums(&output.sums, p->spec.box, p->spec.n_atoms, degrees, item->request.step,
                                          p->spec.config->run_timestep, item->heat);
    if (item->due & MD_DUE_THERMO) {
        p->spec.take_row(p->spec.user, &thermo);
        md_trace_span(p->writer_track, MD_TRACE_WRITE, "row", ready_s, md_clock_s(), item->request.step);
        p->statistics.n_rows++;
    }
    const MdThermo shown = md_thermo_shown(p->spec.config, &thermo);
    return has_frame ? write_frame(p, item, &output, &shown) : MD_OK;
}

/* The first slot of the ring that is taken; after an error of any rank it is dropped on all. Called with the mutex, which is free
 * while something is written. */
static void write_next(MdPipeline *p) {
    const Item *item = &p->items[md_ring_first(p->ring)];
    unlock(p);
    MdStatus status = md_comm_worst_status(p->ring->comm, p->status, p->errors); /* only this thread writes it */
    if (status == MD_OK) status = write_item(p, item);
    lock(p);
    p->status = status;
    md_ring_give_back(p->ring, p->status == MD_OK);
}

static void commit_file(MdPipeline *p, bool sync) {
    MdStatus status = p->status;
    p->is_committing = true;
    p->commit_due = false; /* later requests use another one */
    unlock(p);
    const double start_s = md_clock_s();
    md_nvtx_begin("commit", -1);
    if (p->collective && sync) status = md_collective_sync(p->collective, status, p->errors);
    if (status == MD_OK && p->files) status = md_trajectory_commit(p->files, sync, p->errors);
    md_nvtx_end();
    md_trace_span(p->writer_track, MD_TRACE_WRITE, "commit", start_s, md_clock_s(), -1);
    lock(p);
    p->status = status;
    p->is_committing = false;
    tell_change(p);
}

/* Commits written frames that have waited long enough. */
static double commit_due_s(const MdPipeline *p) {
    return p->files && p->status == MD_OK ? md_trajectory_commit_due_s(p->files) : INFINITY;
}

static void *write_all(void *opaque) {
    MdPipeline *p = opaque;
    md_nvtx_name_thread("writer");
    lock(p);
    for (;;) {
        if (md_ring_first(p->ring) >= 0) write_next(p);
        else if (p->commit_due) commit_file(p, true);
        else if (p->closing) break;
        else if (md_clock_s() >= commit_due_s(p)) commit_file(p, false);
        else wait_for_change(p, commit_due_s(p));
    }
    unlock(p);
    return NULL;
}

/* --- the producer ---------------------------------------------------------------------------------------------------- */

static void destroy(MdPipeline *p) {
    md_collective_close(p->collective);
    if (p->ring->comm != p->spec.comm) md_comm_destroy(p->ring->comm);
    md_ring_destroy(p->ring);
    md_errors_destroy(p->errors);
    md_free(p);
}

MdPipeline *md_pipeline_create(const MdPipelineSpec *spec, MdErrors *errors) {
    MdPipeline *p = md_alloc(1, sizeof *p, "output pipeline");
    const MdRingSpec ring = md_pipeline_ring(spec->config);
    const bool on = spec->config->output_pipeline == MD_ON;
    p->spec = *spec;
    p->spec.trajectory = NULL;
    p->n_rows = ring.by_blocks ? md_comm_block_size(spec->comm, spec->n_atoms) : spec->n_atoms;
    p->ring = md_ring_create(&ring);
    p->ring->comm = on ? md_comm_duplicate(spec->comm) : spec->comm;
    p->errors = md_errors_create();
    p->ring->producer_track = p->steps_track = md_trace_track(spec->trace, MD_TRACE_HOST, "steps");
    p->ring->consumer_track = p->writer_track = md_trace_track(spec->trace, MD_TRACE_HOST, on ? "writer" : "steps");
    MdStatus status = spec->ops->output_create(spec->context, p->ring);
    if (status == MD_OK && spec->trajectory) {
        p->files = md_trajectory_create(spec->trajectory, errors);
        if (!p->files) status = MD_ERROR_OUTPUT;
        else p->statistics.file_bytes = md_trajectory_file_bytes(p->files); /* that an XYZ file that goes on has */
    }
    if (spec->comm && ring.by_blocks && ring.n_frames > 0) {
        const char *path = p->files ? spec->trajectory->h5_path : NULL;
        p->collective = md_collective_open(p->ring->comm, p->files, path, status, spec->n_atoms, errors);
        if (!p->collective) status = MD_ERROR_OUTPUT;
    }
    p->threaded = status == MD_OK && on && md_threads_begin(&p->writer, write_all, p);
    if (status == MD_OK && on && !p->threaded)
        status = md_fail(errors, MD_ERROR_INTERNAL, "output.pipeline = on: cannot create the writer thread");
    if (status == MD_OK) return p;
    md_trajectory_close(p->files, errors);
    destroy(p);
    return NULL;
}

/* The writer's status, and with the first error its messages. Called with the mutex. */
static MdStatus tell(MdPipeline *p, MdErrors *errors) {
    if (p->status == MD_OK || p->told) return p->status;
    for (int k = 0; k < md_errors_count(p->errors); k++) md_fail(errors, p->status, "%s", md_errors_text(p->errors, k));
    p->told = true;
    return p->status;
}

/* Waits for the device. That is no cost of output: it computes the steps that it was given. */
static MdStatus settle(MdPipeline *p) {
    const double start_s = md_clock_s();
    MdStatus status = p->spec.ops->output_settle(p->spec.context);
    p->statistics.device_s += md_clock_s() - start_s;
    return status;
}

/* All ranks make the same requests, also after an error of a writer: the others may not know of it yet, and wait in a collective
 * call for data that are then dropped. */
static bool goes_on(const MdPipeline *p, MdStatus status) { return status == MD_OK || p->ring->comm; }

typedef enum Until { ALL_WRITTEN, ROOM_FOR_ROW, ROOM_FOR_FRAME } Until;

static bool must_wait(const MdPipeline *p, Until until) {
    if (until == ALL_WRITTEN) return p->commit_due || p->is_committing || md_ring_first(p->ring) >= 0;
    return !md_ring_has_room(p->ring, until == ROOM_FOR_FRAME) && goes_on(p, p->status);
}

/* Collective over comm: returns on all ranks when none has to wait. Writers wait for each other without a limit, so these threads ask
 * all ranks at least every look_s: a slow disk is waited for, a stopped rank is found by parallel.timeout. Called with the mutex. */
static void wait_for_writer(MdPipeline *p, Until until, const MdComm *comm) {
    for (double waits = 1; waits > 0;) {
        if (must_wait(p, until)) wait_for_change(p, INFINITY);
        waits = must_wait(p, until);
        unlock(p);
        md_comm_max(comm, &waits, 1);
        lock(p);
    }
}

/* Back-pressure. The writer may wait for a slot that is SKIPPED, for which it needs the help of this thread; of several ranks all settle or
 * none, as they do it together. */
static MdStatus wait_for_room(MdPipeline *p, bool frame, MdErrors *errors) {
    lock(p);
    double lacks = !md_ring_has_room(p->ring, frame);
    MdStatus status = tell(p, errors);
    unlock(p);
    md_comm_max(p->spec.comm, &lacks, 1);
    if (lacks == 0 || !goes_on(p, status)) return status;
    status = settle(p);
    const double settled_s = md_clock_s();
    lock(p);
    wait_for_writer(p, frame ? ROOM_FOR_FRAME : ROOM_FOR_ROW, p->spec.comm);
    MdStatus told = tell(p, errors);
    unlock(p);
    md_trace_span(p->steps_track, MD_TRACE_WAIT, "wait: slot", settled_s, md_clock_s(), -1);
    p->statistics.n_full++;
    p->statistics.full_s += md_clock_s() - settled_s;
    return status == MD_OK ? told : status;
}

/* In line the request is written at once; nothing comes of it where the device cannot make its steps. */
static MdStatus issue(MdPipeline *p, const MdOutputRequest *request, MdErrors *errors) {
    MdStatus status = p->spec.ops->output_begin(p->spec.context, request);
    if (status != MD_OK) return status;
    if (!p->threaded) status = settle(p);
    lock(p);
    if (status != MD_OK) p->status = status;
    if (!p->threaded) write_next(p);
    status = tell(p, errors);
    unlock(p);
    return status;
}

MdStatus md_pipeline_put(MdPipeline *p, int64_t step, unsigned due, double heat, MdErrors *errors) {
    const double start_s = md_clock_s(), device_s = p->statistics.device_s;
    const unsigned quantities = md_schedule_quantities(p->spec.config, due);
    md_require(!quantities || p->files || !md_comm_is_root(p->ring->comm));
    md_nvtx_begin("put", step);
    MdStatus status = wait_for_room(p, quantities != 0, errors);
    if (goes_on(p, status)) {
        const MdOutputRequest request = md_ring_next(p->ring, step, quantities);
        p->items[request.slot] = (Item){.request = request, .due = due, .heat = heat};
        const MdStatus issued = issue(p, &request, errors);
        if (status == MD_OK) status = issued;
    }
    md_nvtx_end();
    p->statistics.put_s += md_clock_s() - start_s - (p->statistics.device_s - device_s);
    return status;
}

/* comm: of ranks that all come here. NULL in close: other ranks may have no pipeline, after a failed set-up. */
static MdStatus wait_until_done(MdPipeline *p, bool commit, const MdComm *comm, MdErrors *errors) {
    MdStatus status = settle(p);
    const double settled_s = md_clock_s();
    lock(p);
    if (commit) p->commit_due = true;
    if (p->threaded) tell_change(p);
    else if (commit) commit_file(p, true);
    wait_for_writer(p, ALL_WRITTEN, comm);
    MdStatus told = tell(p, errors);
    unlock(p);
    if (p->threaded) md_trace_span(p->steps_track, MD_TRACE_WAIT, "wait: writer", settled_s, md_clock_s(), -1);
    if (!commit) p->statistics.drain_s += md_clock_s() - settled_s; /* commits are told with restart files */
    return status == MD_OK ? told : status;
}

MdStatus md_pipeline_drain(MdPipeline *p, MdErrors *errors) { return wait_until_done(p, false, p->spec.comm, errors); }
MdStatus md_pipeline_commit(MdPipeline *p, MdErrors *errors) { return wait_until_done(p, true, p->spec.comm, errors); }

MdTrajectory *md_pipeline_files(const MdPipeline *p) { return p ? p->files : NULL; }

MdStatus md_pipeline_close(MdPipeline *p, MdErrors *errors) {
    if (!p) return MD_OK;
    MdStatus status = wait_until_done(p, false, NULL, errors);
    if (p->threaded) {
        lock(p);
        p->closing = true;
        tell_change(p);
        unlock(p);
        pthread_join(p->writer, NULL);
        const MdStatus told = tell(p, errors); /* a last commit by time may have failed */
        if (status == MD_OK) status = told;
    }
    MdTraceTrack *track = p->files ? p->steps_track : NULL;
    const double start_s = md_clock_s();
    const MdStatus synced = p->collective ? md_collective_sync(p->collective, status, errors) : MD_OK;
    MdStatus closed = md_trajectory_close(p->files, errors);
    if (closed == MD_OK) closed = synced;
    md_trace_span(track, MD_TRACE_WRITE, "close", start_s, md_clock_s(), -1);
    destroy(p);
    return status == MD_OK ? closed : status;
}

MdPipelineStatistics md_pipeline_take_statistics(MdPipeline *p) {
    const MdPipelineStatistics taken = p->statistics;
    p->bytes_before += taken.file_bytes;
    p->statistics = (MdPipelineStatistics){0};
    return taken;
}
