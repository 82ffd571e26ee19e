/* How far the host issues steps ahead of the device.
 *
 * With neighbor.rebuild = device-check it is not known beforehand when the list will be too old. Work issued beyond that step has
 * no effect (an idle kernel takes some two microseconds) and is issued again, so the host runs ahead by a few steps only; with
 * batches as far as the last list was good for, and from there on by an eighth of that at a time. A kernel that stops itself in the
 * midst of a batch wastes a step or two at most (with launch.barrier = local, where a list lasts shorter than any of late, those
 * until then), and its batches are as long as they may be. */
#include "base/clock.h"
#include "cuda/batches/ahead.h"

enum {
    /* of a kernel that stops itself, and where it is known how long the list will serve */
    LONG_BATCH_STEPS = CUDA_GRAPH_STEPS,
    RUN_AHEAD_STEPS = 4, /* in steps issued one by one */
    LOOKS = 100          /* at mapped memory, for one at the stream, which takes the time of dozens */
};

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t most_batch_steps(const CudaContext *context) {
    return context->facts.stops_itself || !context->facts.checks_on_device ? LONG_BATCH_STEPS : CUDA_BATCH_STEPS;
}

/* Steps that the last list lasted; unknown for the first one. */
static int64_t last_interval(const CudaContext *context) {
    return context->n_intervals > 0 ? context->intervals[(context->n_intervals - 1) % CUDA_INTERVALS] : 0;
}

/* Steps that may be wasted when the list fails: a quarter of the steps that the last one lasted, or that this one has lasted. */
static int64_t slack(const CudaContext *context, int64_t step) {
    return larger(larger(last_interval(context), step - context->built_step) / 4, 2);
}

/* Steps from `step` on that the list is expected to be good for: as many after its build as the last one was. */
static int64_t safe_steps(const CudaContext *context, int64_t step) {
    return context->built_step + last_interval(context) - step;
}

int64_t cuda_ahead_batch_steps(const CudaContext *context, int64_t first) {
    if (!context->facts.checks_on_device || context->facts.stops_itself) return most_batch_steps(context);
    const int64_t safe = safe_steps(context, first), doubtful = slack(context, first) / 2;
    return smaller(safe > 0 ? safe : doubtful, most_batch_steps(context));
}

int cuda_ahead_speculative_steps(const CudaContext *context, int64_t first) {
    /* Up to the last step before the one at which the shortest list that is remembered had to go. Each step more spares a
     * barrier, as long as there is no list that lasts shorter still, which costs some dozen steps made again. */
    const int64_t n = smaller(context->n_intervals, CUDA_INTERVALS);
    int64_t shortest = n > 0 ? context->intervals[0] : 0;
    for (int64_t k = 1; k < n; k++) shortest = smaller(shortest, context->intervals[k]);
    return (int)larger(context->built_step + shortest - 1 - first, 0);
}

void cuda_ahead_note_build(CudaContext *context, int64_t step) {
    context->intervals[context->n_intervals++ % CUDA_INTERVALS] = step - context->built_step;
    context->built_step = step;
}

/* How far before the device the host may be when it issues `step`: two batches keep the device busy, as long as the list is
 * expected to serve for both. A kernel that stops itself tells at its end how far it came. */
static int64_t run_ahead(const CudaContext *context, int64_t step) {
    if (!context->facts.batches) return RUN_AHEAD_STEPS;
    const int64_t safe = safe_steps(context, (int64_t)context->h_host_status->step), most = most_batch_steps(context);
    return smaller(larger(safe, context->facts.stops_itself ? most : slack(context, step)), 2 * most);
}

static bool is_behind(const CudaContext *context, int64_t step) {
    return step - (int64_t)context->h_host_status->step > run_ahead(context, step) && !context->h_host_status->stopped;
}

void cuda_ahead_wait(CudaContext *context, int64_t step) {
    const double begin_s = md_clock_s();
    bool waits = false, idle = false;
    while (!idle && is_behind(context, step)) {
        int look = 0;
        while (look < LOOKS && is_behind(context, step)) look++;
        cudaError_t error = cudaStreamQuery(context->stream); /* keeps work moving, and tells of errors */
        waits = true;
        idle = error == cudaSuccess;
        if (!idle && error != cudaErrorNotReady) CUDA_CHECK(error);
        (void)cudaGetLastError();
    }
    if (waits) cuda_wait_record(context, "wait: steps", begin_s);
}
