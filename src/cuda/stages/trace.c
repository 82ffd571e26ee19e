/* The timeline of the device (report.trace): the calls that timing.c encloses by events, copies, and where the host waits.
 *
 * Clocks. An event says when the device reached it only as a distance from another event. So one event, the base, is
 * recorded at a moment when the device stands idle and the host looks at its own clock; every span is placed by its
 * distance from the base. Distances come as floats: so that they stay exact to a tenth of a microsecond, the base moves
 * along, a second at a time. The two clocks run at rates that differ by some millionths; another such moment at the end
 * tells by how much, and the tracks are stretched to it. */
#include <math.h>

#include "base/clock.h"
#include "cuda/stages/stages.h"
#ifdef MDMINI_HAVE_NVTX
#include <nvtx3/nvToolsExtCudaRt.h>
#endif

void cuda_trace_name_stream(cudaStream_t stream, const char *name) {
#ifdef MDMINI_HAVE_NVTX
    nvtxNameCudaStreamA(stream, name);
#else
    (void)stream, (void)name;
#endif
}

/* The time of one event by the clock of the host. */
typedef struct HostTime {
    double host_s, error_s; /* lies within host_s plus and minus error_s */
} HostTime;

/* Records an event while the device is idle: it is over between two looks at the host's clock. Of some tries the one with
 * the least time between them counts, and its event is left in *event; *spare is another to try with. */
static HostTime time_event(CudaContext *context, cudaEvent_t *event, cudaEvent_t *spare) {
    const double good_s = 15e-6; /* twice the time without an interruption */
    HostTime best = {.error_s = INFINITY};
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    for (int k = 0; k < 20 && best.error_s > good_s; k++) {
        const double before_s = md_clock_s();
        CUDA_CHECK(cudaEventRecord(*spare, context->stream));
        CUDA_CHECK(cudaEventSynchronize(*spare));
        const double after_s = md_clock_s(), error_s = 0.5 * (after_s - before_s);
        if (error_s >= best.error_s) continue;
        best = (HostTime){.host_s = 0.5 * (before_s + after_s), .error_s = error_s};
        const cudaEvent_t worse = *event;
        *event = *spare;
        *spare = worse;
    }
    return best;
}

static double distance_s(cudaEvent_t from, cudaEvent_t to) {
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, from, to));
    return 1e-3 * (double)milliseconds;
}

void cuda_trace_begin(CudaContext *context, MdTrace *trace) {
    CudaTrace *t = &context->trace;
    t->trace = trace;
    t->steps = md_trace_track(trace, MD_TRACE_HOST, "steps");
    t->compute = md_trace_track(trace, MD_TRACE_DEVICE, "compute stream");
    t->copy = md_trace_track(trace, MD_TRACE_DEVICE, "copy stream");
    CUDA_CHECK(cudaEventCreate(&t->base));
    CUDA_CHECK(cudaEventCreate(&t->spare));
    const HostTime first = time_event(context, &t->base, &t->spare);
    t->origin_s = t->base_s = first.host_s;
    t->error_s = first.error_s;
}

void cuda_trace_end(CudaContext *context) {
    CudaTrace *t = &context->trace;
    cudaEvent_t event;
    if (!t->trace) return;
    CUDA_CHECK(cudaEventCreate(&event));
    const HostTime last = time_event(context, &event, &t->spare);
    const double device_s = t->base_s + distance_s(t->base, event) - t->origin_s;
    const double factor = device_s > 0 ? (last.host_s - t->origin_s) / device_s : 1;
    md_trace_stretch(t->compute, t->origin_s, factor);
    md_trace_stretch(t->copy, t->origin_s, factor);
    md_trace_set_device_error(t->trace, fmax(t->error_s, last.error_s));
    CUDA_CHECK(cudaEventDestroy(event));
    CUDA_CHECK(cudaEventDestroy(t->base));
    CUDA_CHECK(cudaEventDestroy(t->spare));
    *t = (CudaTrace){0};
}

void cuda_trace_place(CudaContext *context, CudaSpan *span, double seconds) {
    const double base_moves_s = 1; /* floats have 24 bits: 0.06 microseconds of a second */
    CudaTrace *t = &context->trace;
    const double begin_s = t->base_s + distance_s(t->base, span->begin);
    md_trace_batch(span->track, span->kind, span->name, begin_s, begin_s + seconds, span->step, span->n_calls);
    if (begin_s < t->base_s + base_moves_s) return;
    cudaEvent_t passed = t->base; /* of use as the beginning of another span */
    t->base = span->begin;
    t->base_s = begin_s;
    span->begin = passed;
}

void cuda_wait_record(CudaContext *context, const char *what, double begin_s) {
    md_trace_span(context->trace.steps, MD_TRACE_WAIT, what, begin_s, md_clock_s(),
                  context->step + context->step_offset);
}

void cuda_check_peers(const CudaContext *context) {
    const int silent = context->h_host_status ? context->h_host_status->silent : 0;
    if (silent) md_comm_give_up(context->comm, silent > 0 ? silent - 1 : -1, context->config.parallel_timeout);
    cuda_nccl_check(context->halo.nccl);
}

void cuda_wait_stream(CudaContext *context, const char *what) {
    const double begin_s = md_clock_s();
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    cuda_kernels_check(context);
    cuda_check_peers(context);
    cuda_wait_record(context, what, begin_s);
}

void cuda_wait_event(CudaContext *context, cudaEvent_t event, const char *what) {
    const double begin_s = md_clock_s();
    CUDA_CHECK(cudaEventSynchronize(event));
    cuda_kernels_check(context);
    cuda_check_peers(context);
    cuda_wait_record(context, what, begin_s);
}
