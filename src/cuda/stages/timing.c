/* Stage times by CUDA events, without waiting for the device.
 *
 * A timed call is enclosed by two events; they are read when they have completed, at some later call. They
 * measure the time on the stream from the end of earlier work to the end of the stage: kernels, the gaps between them,
 * and, in stages where the host decides something (gather), the wait for the host.
 *
 * Recording costs the host about a microsecond each. So for stages of every step, and for rebuilds, the first
 * call and the next CUDA_SAMPLE are timed and then one of CUDA_SAMPLE, and the time of all calls is the mean of those times the number of
 * calls. (A loop of batches has a few separate calls of forces: with energies, at its ends, they take twice as
 * long as without, and one of them does not represent the others.) Work issued after a stop of the device
 * (batches/steps.c) is included: it takes little time, but a batch is timed as a whole. The first call of a stage, which may
 * load the kernels, and one that makes a graph, which takes the host longer than the device needs for a small system, stand
 * for themselves. With a trace every call is timed, and the host waits where it is too far ahead for that.
 *
 * Batches of the resident kernel are sampled as well, since the two events around one cost the device time that few atoms feel
 * (H200: 2.5 us of a list and 20 steps of 4,000 atoms, which take 56). Other batches are all timed: where the device stops
 * itself they are so different that some do not stand for the others.
 *
 * Sort and search of the first rebuilds are timed apart; those of later ones, which are one graph, together, and share the time as
 * they did before. With neighbor.rebuild = every and launch.fuse = step the events enclose some lists and the batches between
 * them, if no step there has output, and all share the time, including the gaps: the cost of events is then so small that
 * the sum is the time without events. (The shares come from calls with events around each, two pairs for a list and one
 * for a batch: of few atoms sort and search get somewhat too much, and steps too little.) */
#include "cuda/stages/stages.h"

/* A prime: calls that repeat with the period of the thermo table must not always, or never, be among the timed ones. */
enum { CUDA_SAMPLE = 17, WINDOW_LISTS = 8 };

static const MdTraceKind stage_kinds[CUDA_N_STAGES] = {
    [CUDA_SORT] = MD_TRACE_LIST,       [CUDA_NEIGHBOR] = MD_TRACE_LIST, [CUDA_FORCE] = MD_TRACE_STEPS,
    [CUDA_INTEGRATE] = MD_TRACE_STEPS, [CUDA_REDUCE] = MD_TRACE_GATHER, [CUDA_GATHER] = MD_TRACE_GATHER,
    [CUDA_STEP] = MD_TRACE_STEPS,      [CUDA_OBSERVE] = MD_TRACE_GATHER};

static void create_spans(CudaContext *context, int n) {
    for (; context->n_spans < n; context->n_spans++) {
        CUDA_CHECK(cudaEventCreate(&context->spans[context->n_spans].begin));
        CUDA_CHECK(cudaEventCreate(&context->spans[context->n_spans].end));
    }
}

void cuda_timing_create(CudaContext *context) { create_spans(context, CUDA_SAMPLED_SPANS); }

void cuda_timing_destroy(CudaContext *context) {
    for (int k = 0; k < context->n_spans; k++) {
        CUDA_CHECK(cudaEventDestroy(context->spans[k].begin));
        CUDA_CHECK(cudaEventDestroy(context->spans[k].end));
    }
    context->n_spans = 0;
}

static void add_time(CudaTimer *timer, int n_calls, bool is_alone, double seconds) {
    *(is_alone ? &timer->alone : &timer->timed) += n_calls;
    *(is_alone ? &timer->alone_s : &timer->timed_s) += seconds;
}

static double mean_s(const CudaTimer *timer) { return timer->timed > 0 ? timer->timed_s / (double)timer->timed : 0; }

/* The stages of a list, and steps, in one: each gets its share of what they have taken so far. Without earlier times there are no shares. */
static void add_list_time(CudaContext *context, const CudaSpan *span, double seconds) {
    enum { N_PARTS = 4 };
    CudaTimer *timers[N_PARTS] = {&context->timers[CUDA_SORT], &context->timers[CUDA_NEIGHBOR],
                                  &context->timers[CUDA_STEP], &context->timers[CUDA_MIGRATE]};
    const int n_calls[N_PARTS] = {span->n_lists, span->n_lists, span->n_calls, context->comm ? span->n_lists : 0};
    double parts[N_PARTS], all = 0;
    for (int k = 0; k < N_PARTS; k++) {
        parts[k] = n_calls[k] * mean_s(timers[k]);
        all += parts[k];
        if (n_calls[k] > 0 && parts[k] == 0) return;
    }
    for (int k = 0; k < N_PARTS; k++) add_time(timers[k], n_calls[k], span->is_alone, parts[k] / all * seconds);
}

/* Books a span whose events have completed; false when they have not. */
static bool book(CudaContext *context, CudaSpan *span) {
    cudaError_t error = cudaEventQuery(span->end);
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* no fault, but the next launch would find it */
        return false;
    }
    CUDA_CHECK(error);
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, span->begin, span->end));
    if (span->n_lists > 0) add_list_time(context, span, 1e-3 * (double)milliseconds);
    else if (span->timer < CUDA_N_STAGES)
        add_time(&context->timers[span->timer], span->n_calls, span->is_alone, 1e-3 * (double)milliseconds);
    span->pending = false;
    if (span->track) cuda_trace_place(context, span, 1e-3 * (double)milliseconds);
    return true;
}

/* The next of the ring, its beginning recorded; NULL when the device is too far behind. */
static CudaSpan *begin_span(CudaContext *context, cudaStream_t stream) {
    CudaSpan *span = &context->spans[context->next_span];
    if (span->pending && context->trace.steps) cuda_wait_event(context, span->end, "wait: trace");
    if (span->pending && !book(context, span)) return NULL;
    context->next_span = (context->next_span + 1) % context->n_spans;
    span->n_calls = 1;
    span->step = context->step + context->step_offset;
    span->track = NULL;
    span->is_alone = false;
    span->n_lists = 0;
    CUDA_CHECK(cudaEventRecord(span->begin, stream));
    return span;
}

static void end_span(CudaSpan *span, cudaStream_t stream) {
    CUDA_CHECK(cudaEventRecord(span->end, stream));
    span->pending = true;
}

static bool is_sampled(const CudaContext *context, CudaStage stage) {
    return stage == CUDA_SORT || stage == CUDA_NEIGHBOR || stage == CUDA_FORCE || stage == CUDA_INTEGRATE ||
           stage == CUDA_OBSERVE || (stage == CUDA_STEP && context->config.launch_persistent == MD_PERSISTENT_ON);
}

/* Events that are open enclose lists, and the steps between them. */
static bool in_window(const CudaContext *context) { return context->open_span && context->open_span->n_lists > 0; }

void cuda_timing_break(CudaContext *context) {
    if (in_window(context)) cuda_timing_end(context);
}

void cuda_timing_drop(CudaContext *context) {
    if (in_window(context)) context->open_span = NULL;
}

void cuda_timing_begin(CudaContext *context, CudaStage stage) {
    const int64_t calls = context->timers[stage].calls++, call = stage == CUDA_STEP ? context->n_batches++ : calls;
    if (in_window(context) && stage == CUDA_STEP) return;
    cuda_timing_break(context);
    if (is_sampled(context, stage) && call > CUDA_SAMPLE && call % CUDA_SAMPLE != 1 && !context->trace.compute) return;
    CudaSpan *span = begin_span(context, context->stream);
    if (!span) return; /* this call goes untimed */
    span->timer = stage;
    span->is_alone = call == 0;
    span->track = context->trace.compute;
    span->kind = stage_kinds[stage];
    span->name = cuda_stage_names[stage];
    context->open_span = span;
}

bool cuda_timing_knows_shares(const CudaContext *context) {
    return context->timers[CUDA_SORT].calls > CUDA_SAMPLE && !context->trace.compute;
}

void cuda_timing_begin_list(CudaContext *context) {
    const int64_t call = context->timers[CUDA_SORT].calls++;
    context->timers[CUDA_NEIGHBOR].calls++;
    if (context->comm) context->timers[CUDA_MIGRATE].calls++;
    if (!in_window(context)) {
        context->open_span = call % CUDA_SAMPLE == 1 ? begin_span(context, context->stream) : NULL;
        if (context->open_span) context->open_span->n_calls = 0;
    }
    if (context->open_span) context->open_span->n_lists++;
}

void cuda_timing_end_list(CudaContext *context) {
    const bool goes_on = context->config.neighbor_rebuild == MD_REBUILD_EVERY;
    if (!goes_on || (context->open_span && context->open_span->is_alone)) cuda_timing_break(context);
}

void cuda_timing_end(CudaContext *context) {
    if (context->open_span) end_span(context->open_span, context->stream);
    context->open_span = NULL;
}

void cuda_timing_end_batch(CudaContext *context, int n_calls) {
    context->timers[CUDA_STEP].calls += n_calls - 1;
    if (in_window(context)) {
        context->open_span->n_calls += n_calls;
        if (context->open_span->n_lists == WINDOW_LISTS) cuda_timing_break(context);
        return;
    }
    if (context->open_span) {
        context->open_span->n_calls = n_calls;
        context->open_span->step = context->step + context->step_offset;
    }
    cuda_timing_end(context);
}

CudaSpan *cuda_timing_begin_copy(CudaContext *context, cudaStream_t stream, const char *name) {
    if (!context->trace.copy) return NULL;
    CudaSpan *span = begin_span(context, stream);
    span->timer = CUDA_N_STAGES;
    span->track = stream == context->stream ? context->trace.compute : context->trace.copy;
    span->kind = MD_TRACE_COPY;
    span->name = name;
    return span;
}

void cuda_timing_end_copy(CudaSpan *span, cudaStream_t stream) {
    if (span) end_span(span, stream);
}

void cuda_timing_trace(CudaContext *context, MdTrace *trace) {
    cuda_timing_break(context);
    if (trace) {
        create_spans(context, CUDA_TRACED_SPANS);
        cuda_trace_begin(context, trace);
        return;
    }
    for (int k = 0; k < context->n_spans; k++)
        if (context->spans[k].pending) CUDA_CHECK(cudaEventSynchronize(context->spans[k].end));
    cuda_timing_book(context);
    cuda_trace_end(context);
}

void cuda_timing_book(CudaContext *context) {
    for (int k = 0; k < context->n_spans; k++)
        if (context->spans[k].pending) book(context, &context->spans[k]);
}

void cuda_timing_report(CudaContext *context, CudaStage stage, MdStageTime *time) {
    cuda_timing_book(context);
    const CudaTimer *timer = &context->timers[stage];
    time->calls = timer->calls - timer->replayed;
    time->replayed = timer->replayed;
    time->timed = timer->timed;
    time->timed_s = timer->timed_s;
    time->alone = timer->alone;
    time->alone_s = timer->alone_s;
    md_stage_extend(time);
}
