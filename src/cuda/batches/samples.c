/* Samples of an analysis at the end of a step, in one or in two parts.
 *
 * With launch.fuse = step forces are not written: a sample at the end of a batch would need separate forces before it, and a
 * separate drift after it. So the batch ends with the drift of that step; its forces wait until it is known what comes next, and then the
 * next batch begins with them, as after a list. Positions are sampled before it. The first pass of a queue keeps the velocities at
 * the end of the step, which are sampled after it. Whoever wants all of a step (settle in steps.c) gets separate forces, and the
 * sample after them. A sample of positions has no effect if the forces after it will stop the device: then both come again. */
#include "cuda/batches/samples.h"

static MdObservation of_positions(MdObservation all) {
    all.quantities &= ~(1u << MD_OBSERVE_VELOCITY);
    return all;
}

static MdObservation of_velocities(MdObservation all) {
    all.quantities &= 1u << MD_OBSERVE_VELOCITY;
    all.counts_pairs = false;
    return all;
}

void cuda_sample_end(CudaContext *context) {
    if (!context->is_drifted && cuda_journal_observes(context, context->step))
        cuda_observe_issue(context, &cuda_journal_entry(context, context->step)->observation, 0);
}

void cuda_sample_positions(CudaContext *context) {
    if (!cuda_journal_observes(context, context->step)) return;
    const MdObservation before = of_positions(cuda_journal_entry(context, context->step)->observation);
    cuda_observe_issue(context, &before, 0);
}

/* They count if any later step has stopped the device. */
void cuda_sample_kept(CudaContext *context, const CudaBatch *batch) {
    if (!cuda_journal_observes(context, batch->first)) return;
    const MdObservation after = of_velocities(cuda_journal_entry(context, batch->first)->observation);
    cuda_observe_issue(context, &after, batch->first);
    for (int k = 1; k < batch->n_steps; k++)
        cuda_journal_entry(context, batch->first + k)->calls[CUDA_OBSERVE] = context->timers[CUDA_OBSERVE].calls;
}
