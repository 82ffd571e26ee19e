/* Stage times by CUDA events, without waiting for the device.
 *
 * A timed call is enclosed by two events; they are read when they have completed, at some later call. What they enclose
 * is the time on the stream from the end of what came before to the end of the stage: kernels, the gaps between them,
 * and, in stages where the host decides something (neighbor, gather), the wait for the host.
 *
 * Recording costs about a microsecond of the host each, so the stages that run in every step are timed in one call of
 * CUDA_SAMPLE only, and the time of all calls is the mean of those times the number of calls. The first call of a stage
 * is never timed: it loads the kernels. */
#include "cuda/context.h"

/* A prime: calls that repeat with the period of the thermo table must not always, or never, be among the timed ones. */
enum { CUDA_SAMPLE = 17 };

void cuda_timing_create(CudaContext *context) {
    context->open_span = -1;
    for (int k = 0; k < CUDA_N_SPANS; k++) {
        CUDA_CHECK(cudaEventCreate(&context->spans[k].begin));
        CUDA_CHECK(cudaEventCreate(&context->spans[k].end));
    }
}

void cuda_timing_destroy(CudaContext *context) {
    for (int k = 0; k < CUDA_N_SPANS; k++) {
        if (context->spans[k].begin) CUDA_CHECK(cudaEventDestroy(context->spans[k].begin));
        if (context->spans[k].end) CUDA_CHECK(cudaEventDestroy(context->spans[k].end));
    }
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
    context->timers[span->stage].timed += span->n_calls;
    context->timers[span->stage].timed_s += 1e-3 * (double)milliseconds;
    span->pending = false;
    return true;
}

void cuda_timing_begin(CudaContext *context, CudaStage stage) {
    int64_t call = context->timers[stage].calls++;
    bool each_step = stage == CUDA_FORCE || stage == CUDA_INTEGRATE;
    if (call == 0 || (each_step && call % CUDA_SAMPLE != 1)) return;
    CudaSpan *span = &context->spans[context->next_span];
    if (span->pending && !book(context, span)) return; /* the device is far behind: this call goes untimed */
    span->stage = stage;
    span->n_calls = 1;
    CUDA_CHECK(cudaEventRecord(span->begin, context->stream));
    context->open_span = context->next_span;
}

void cuda_timing_end(CudaContext *context) {
    if (context->open_span < 0) return;
    CudaSpan *span = &context->spans[context->open_span];
    CUDA_CHECK(cudaEventRecord(span->end, context->stream));
    span->pending = true;
    context->next_span = (context->open_span + 1) % CUDA_N_SPANS;
    context->open_span = -1;
}

void cuda_timing_end_batch(CudaContext *context, int n_calls) {
    context->timers[CUDA_STEP].calls += n_calls - 1;
    if (context->open_span >= 0) context->spans[context->open_span].n_calls = n_calls;
    cuda_timing_end(context);
}

void cuda_timing_book(CudaContext *context) {
    for (int k = 0; k < CUDA_N_SPANS; k++)
        if (context->spans[k].pending) book(context, &context->spans[k]);
}

void cuda_timing_report(CudaContext *context, CudaStage stage, MdStageTime *time) {
    cuda_timing_book(context);
    const CudaTimer *timer = &context->timers[stage];
    time->calls = timer->calls - timer->undone;
    time->timed = timer->timed;
    time->timed_s = timer->timed_s;
    md_stage_extend(time);
}
