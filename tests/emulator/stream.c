/* Streams, events and the operations on streams. A stream is a queue that runs in order; unless it is told otherwise
 * (MDMINI_EMULATOR_STREAMS) it runs no sooner than the host waits for it. So results that are read without waiting are
 * not there, and host memory that is changed too early is seen changed. Copies from pageable host memory take their copy
 * at once, as the runtime does. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.h"

struct CUstream_st {
    EmulatorQueue queue;
    int64_t issued, run; /* operations, ever; the queue holds the difference */
    bool blocking;       /* waits for the default stream, and it for this */
    EmulatorGraph *capture;
    bool origin, spoiled;
    enum cudaStreamCaptureMode mode;
    cudaStream_t next;
};
struct CUevent_st {
    cudaStream_t stream; /* of the last record; NULL: never recorded, or long past */
    int64_t sequence;    /* done when the stream has run more than that */
    int64_t time;        /* nanoseconds */
    bool recorded, timed;
    EmulatorGraph *capture;
    cudaEvent_t next;
};

static struct CUstream_st default_stream = {.blocking = true};
static cudaStream_t streams; /* all but the default one */
static cudaEvent_t events;
static _Thread_local cudaError_t last_error;

cudaError_t emulator_error(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

EMULATOR_API cudaError_t cudaGetLastError(void) {
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

EMULATOR_API cudaError_t cudaPeekAtLastError(void) { return last_error; }

/* The stream behind a handle; stops the program when there is none. */
static cudaStream_t resolve(cudaStream_t stream) {
    if (stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return &default_stream;
    for (cudaStream_t s = streams; s; s = s->next)
        if (s == stream) return s;
    emulator_fail("%p is no stream", (void *)stream);
}

static void check_event(cudaEvent_t event) {
    for (cudaEvent_t e = events; e; e = e->next)
        if (e == event) return;
    emulator_fail("%p is no event", (void *)event);
}

/* --- operations ----------------------------------------------------------------------------------------------------- */

EmulatorOp *emulator_op(enum EmulatorKind kind) {
    EmulatorOp *op = calloc(1, sizeof *op);
    if (!op) emulator_fail("no memory");
    op->kind = kind;
    return op;
}

void emulator_op_free(EmulatorOp *op) {
    free(op->launch.arguments);
    if (op->owns_from) free((void *)(uintptr_t)op->from);
    free(op);
}

void emulator_queue_append(EmulatorQueue *queue, EmulatorOp *op) {
    if (queue->last) queue->last->next = op;
    else queue->first = op;
    queue->last = op;
}

void emulator_queue_free(EmulatorQueue *queue) {
    for (EmulatorOp *op = queue->first, *next; op; op = next) {
        next = op->next;
        emulator_op_free(op);
    }
    *queue = (EmulatorQueue){NULL, NULL};
}

static void drain(cudaStream_t stream, int64_t sequence);

void emulator_op_run(EmulatorOp *op) {
    switch (op->kind) {
    case EMULATOR_OP_LAUNCH: emulator_grid_run(&op->launch); break;
    case EMULATOR_OP_COPY:
        emulator_memory_space(op->to, op->bytes, "copy, when it runs");
        if (!op->owns_from) emulator_memory_space(op->from, op->bytes, "copy, when it runs");
        if (!emulator_memory_is_lost(op->to, op->bytes)) memmove(op->to, op->from, op->bytes);
        break;
    case EMULATOR_OP_SET:
        emulator_memory_space(op->to, op->bytes, "memset, when it runs");
        memset(op->to, op->value, op->bytes);
        break;
    case EMULATOR_OP_FREE: emulator_memory_free(EMULATOR_DEVICE, op->to, "cudaFreeAsync"); break;
    case EMULATOR_OP_RECORD: op->event->time = emulator_nanoseconds(); break;
    case EMULATOR_OP_WAIT: drain(op->stream, op->sequence); break;
    case EMULATOR_OP_CALL: op->function(op->to); break;
    case EMULATOR_OP_GRAPH: emulator_graph_run(op->graph); break;
    }
}

static void run_first(cudaStream_t stream) {
    EmulatorOp *op = stream->queue.first;
    stream->queue.first = op->next;
    if (!op->next) stream->queue.last = NULL;
    emulator_memory_open();
    emulator_op_run(op);
    stream->run++;
    emulator_op_free(op);
}

/* Runs what is queued up to and with operation `sequence`. */
static void drain(cudaStream_t stream, int64_t sequence) {
    while (stream->queue.first && stream->run <= sequence) run_first(stream);
}

void emulator_drain_all(void) {
    drain(&default_stream, INT64_MAX);
    for (cudaStream_t s = streams; s; s = s->next) drain(s, INT64_MAX);
}

/* The default stream waits for the blocking streams, and they for it. */
static void order_with_default(cudaStream_t stream) {
    if (!stream->blocking) return;
    for (cudaStream_t s = streams; stream == &default_stream && s; s = s->next)
        if (s->blocking && !s->capture) drain(s, INT64_MAX);
    if (stream != &default_stream) drain(&default_stream, INT64_MAX);
}

static bool waits_for_others;
EMULATOR_API void emulator_run_early(void) { waits_for_others = true; }

/* 0: late, 1: random, 2: early. A kernel may wait for that of another process, whose host then must not keep it back. */
static int eagerness(void) {
    static int value = -1;
    if (value < 0) {
        const char *text = getenv("MDMINI_EMULATOR_STREAMS");
        value = !text || strcmp(text, "late") == 0 ? 0 : strcmp(text, "random") == 0 ? 1 : 2;
        if (value == 2 && strcmp(text, "early") != 0) emulator_fail("MDMINI_EMULATOR_STREAMS=%s", text);
    }
    return waits_for_others || emulator_memory_is_shared() ? 2 : value;
}

static void run_ahead(cudaStream_t stream) {
    if (eagerness() == 2) drain(stream, INT64_MAX);
    else if (eagerness() == 1) {
        for (uint32_t n = emulator_random() % 4; n > 0 && stream->queue.first; n--) run_first(stream);
    } else if (stream->issued - stream->run > EMULATOR_QUEUE) {
        drain(stream, stream->run + EMULATOR_QUEUE / 2);
    }
}

cudaError_t emulator_issue(cudaStream_t handle, EmulatorOp *op) {
    cudaStream_t stream = resolve(handle);
    if (stream->capture) {
        if (op->owns_from) emulator_fail("a captured copy from pageable memory of the host");
        if (op->kind == EMULATOR_OP_FREE) emulator_fail("cudaFreeAsync in a capture is not emulated");
        emulator_queue_append(&stream->capture->ops, op);
        stream->capture->n_ops++;
        return cudaSuccess;
    }
    if (stream == &default_stream && emulator_capture_forbids("work on the default stream")) {
        emulator_op_free(op);
        return emulator_error(cudaErrorStreamCaptureImplicit);
    }
    order_with_default(stream);
    emulator_queue_append(&stream->queue, op);
    stream->issued++;
    run_ahead(stream);
    return cudaSuccess;
}

/* --- streams -------------------------------------------------------------------------------------------------------- */

EMULATOR_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
    (void)priority;
    emulator_enter();
    cudaStream_t s = calloc(1, sizeof *s);
    if (!s) emulator_fail("no memory");
    s->blocking = !(flags & cudaStreamNonBlocking);
    s->next = streams;
    *stream = streams = s;
    emulator_leave();
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

EMULATOR_API cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

EMULATOR_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    emulator_enter();
    cudaStream_t s = resolve(stream);
    if (s == &default_stream) emulator_fail("cudaStreamDestroy of the default stream");
    emulator_drain_all(); /* others may wait for it */
    for (cudaEvent_t e = events; e; e = e->next)
        if (e->stream == s) e->stream = NULL;
    cudaStream_t *link = &streams;
    while (*link != s) link = &(*link)->next;
    *link = s->next;
    free(s);
    emulator_leave();
    return cudaSuccess;
}

static cudaError_t stream_wait(cudaStream_t handle, bool wait) {
    emulator_enter();
    cudaError_t error = cudaSuccess;
    cudaStream_t stream = resolve(handle);
    if (stream->capture) {
        stream->spoiled = true;
        error = cudaErrorStreamCaptureUnsupported;
    } else if (wait) {
        order_with_default(stream);
        drain(stream, INT64_MAX);
    } else if (stream->queue.first) { /* one more look, one more operation: somebody who polls gets on */
        run_first(stream);
        if (stream->queue.first) error = cudaErrorNotReady;
    }
    emulator_leave();
    return emulator_error(error);
}

EMULATOR_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return stream_wait(stream, true); }
EMULATOR_API cudaError_t cudaStreamQuery(cudaStream_t stream) { return stream_wait(stream, false); }

EMULATOR_API cudaError_t cudaDeviceSynchronize(void) {
    emulator_enter();
    cudaError_t error = cudaSuccess;
    if (emulator_capture_forbids("cudaDeviceSynchronize")) error = cudaErrorStreamCaptureUnsupported;
    else emulator_drain_all();
    emulator_leave();
    return emulator_error(error);
}

EMULATOR_API cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags) {
    (void)flags;
    emulator_enter();
    check_event(event);
    cudaStream_t stream = resolve(handle);
    cudaError_t error = cudaSuccess;
    if (event->capture) { /* the stream joins; its operations come behind those that were captured so far */
        if (stream->capture && stream->capture != event->capture) error = cudaErrorStreamCaptureMerge;
        else stream->capture = event->capture;
    } else if (stream->capture) {
        error = cudaErrorStreamCaptureIsolation;
    } else if (event->stream) {
        EmulatorOp *op = emulator_op(EMULATOR_OP_WAIT);
        op->stream = event->stream;
        op->sequence = event->sequence;
        error = emulator_issue(handle, op);
    }
    emulator_leave();
    return emulator_error(error);
}

EMULATOR_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
    emulator_enter();
    EmulatorOp *op = emulator_op(EMULATOR_OP_CALL);
    op->function = function;
    op->to = data;
    cudaError_t error = emulator_issue(stream, op);
    emulator_leave();
    return error;
}

/* --- events --------------------------------------------------------------------------------------------------------- */

EMULATOR_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    emulator_enter();
    cudaEvent_t e = calloc(1, sizeof *e);
    if (!e) emulator_fail("no memory");
    e->timed = !(flags & cudaEventDisableTiming);
    e->next = events;
    *event = events = e;
    emulator_leave();
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }

EMULATOR_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
    emulator_enter();
    check_event(event);
    if (event->stream) drain(event->stream, event->sequence); /* the queue holds its address */
    cudaEvent_t *link = &events;
    while (*link != event) link = &(*link)->next;
    *link = event->next;
    free(event);
    emulator_leave();
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned flags) {
    emulator_enter();
    check_event(event);
    cudaStream_t stream = resolve(handle);
    cudaError_t error = cudaSuccess;
    event->capture = flags & cudaEventRecordExternal ? NULL : stream->capture;
    if (!event->capture) {
        EmulatorOp *op = emulator_op(EMULATOR_OP_RECORD);
        op->event = event;
        bool captured = stream->capture != NULL;
        int64_t sequence = stream->issued;
        if (event->stream && !captured)
            drain(event->stream, event->sequence - 1); /* the record before is overwritten */
        event->recorded = true;
        event->stream = captured ? NULL : stream;
        event->sequence = sequence;
        error = emulator_issue(handle, op);
    }
    emulator_leave();
    return error;
}

EMULATOR_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return cudaEventRecordWithFlags(event, stream, 0);
}

static bool event_pending(cudaEvent_t event) { return event->stream && event->stream->run <= event->sequence; }

static cudaError_t event_wait(cudaEvent_t event, bool wait) {
    emulator_enter();
    check_event(event);
    cudaError_t error = cudaSuccess;
    if (event->capture) error = cudaErrorCapturedEvent;
    else if (event_pending(event)) {
        if (wait) drain(event->stream, event->sequence);
        else run_first(event->stream); /* as for streams */
        if (event_pending(event)) error = cudaErrorNotReady;
    }
    emulator_leave();
    return emulator_error(error);
}

EMULATOR_API cudaError_t cudaEventSynchronize(cudaEvent_t event) { return event_wait(event, true); }
EMULATOR_API cudaError_t cudaEventQuery(cudaEvent_t event) { return event_wait(event, false); }

EMULATOR_API cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    emulator_enter();
    check_event(start);
    check_event(end);
    cudaError_t error = cudaSuccess;
    if (!start->recorded || !end->recorded || !start->timed || !end->timed) error = cudaErrorInvalidResourceHandle;
    else if (event_pending(start) || event_pending(end)) error = cudaErrorNotReady;
    else *milliseconds = (float)((double)(end->time - start->time) * 1e-6);
    emulator_leave();
    return emulator_error(error);
}

/* --- capture -------------------------------------------------------------------------------------------------------- */

bool emulator_capture_forbids(const char *call) {
    bool forbids = false;
    for (cudaStream_t s = streams; s; s = s->next)
        if (s->capture && s->origin && s->mode != cudaStreamCaptureModeRelaxed) {
            fprintf(stderr, "emulator: %s while a graph is captured\n", call);
            s->spoiled = forbids = true;
        }
    return forbids;
}

EMULATOR_API cudaError_t cudaStreamBeginCapture(cudaStream_t handle, enum cudaStreamCaptureMode mode) {
    emulator_enter();
    cudaStream_t stream = resolve(handle);
    cudaError_t error = cudaSuccess;
    if (stream == &default_stream) error = cudaErrorStreamCaptureUnsupported;
    else if (stream->capture) error = cudaErrorIllegalState;
    else {
        stream->capture = emulator_graph_create();
        stream->origin = true;
        stream->spoiled = false;
        stream->mode = mode;
    }
    emulator_leave();
    return emulator_error(error);
}

EMULATOR_API cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph) {
    emulator_enter();
    cudaStream_t stream = resolve(handle);
    cudaError_t error = cudaSuccess;
    if (!stream->capture || !stream->origin) error = cudaErrorIllegalState;
    else {
        EmulatorGraph *captured = stream->capture;
        if (stream->spoiled) error = cudaErrorStreamCaptureInvalidated;
        for (cudaStream_t s = streams; s; s = s->next)
            if (s->capture == captured) {
                if (s->spoiled) error = cudaErrorStreamCaptureInvalidated;
                s->capture = NULL;
                s->origin = s->spoiled = false;
            }
        for (cudaEvent_t e = events; e; e = e->next)
            if (e->capture == captured) e->capture = NULL;
        *graph = error == cudaSuccess ? (cudaGraph_t)captured : NULL;
        if (error != cudaSuccess) cudaGraphDestroy((cudaGraph_t)captured);
    }
    emulator_leave();
    return emulator_error(error);
}

EMULATOR_API cudaError_t cudaStreamIsCapturing(cudaStream_t handle, enum cudaStreamCaptureStatus *status) {
    emulator_enter();
    cudaStream_t stream = resolve(handle);
    *status = !stream->capture  ? cudaStreamCaptureStatusNone
              : stream->spoiled ? cudaStreamCaptureStatusInvalidated
                                : cudaStreamCaptureStatusActive;
    emulator_leave();
    return cudaSuccess;
}

size_t emulator_report_streams(void) {
    size_t n = 0, n_events = 0;
    for (cudaStream_t s = streams; s; s = s->next) n++;
    for (cudaEvent_t e = events; e; e = e->next) n_events++;
    if (n + n_events > 0) fprintf(stderr, "emulator: %zu streams and %zu events not destroyed\n", n, n_events);
    return n + n_events;
}
