/* Samples of an analysis between batches, and the journal that has them: see steps.c and samples.c. */
#ifndef MD_CUDA_SAMPLES_H
#define MD_CUDA_SAMPLES_H

#include "cuda/batches/batch.h"

static inline CudaJournalStep *cuda_journal_entry(CudaContext *context, int64_t step) {
    return &context->journal[step % CUDA_JOURNAL_STEPS];
}

static inline bool cuda_journal_knows(const CudaContext *context, int64_t step) {
    return context->journal[step % CUDA_JOURNAL_STEPS].step == step;
}

/* Whether a sample is taken at the end of a step. Known of steps that are issued again; the first time the steps that were asked for
 * end there. */
static inline bool cuda_journal_observes(const CudaContext *context, int64_t step) {
    return cuda_journal_knows(context, step) && context->journal[step % CUDA_JOURNAL_STEPS].has_observation;
}

/* The sample at the end of the present step, if there is one. */
void cuda_sample_end(CudaContext *context);
/* Before a batch that begins with the forces of the present step: what positions tell. */
void cuda_sample_positions(CudaContext *context);
/* After it: the velocities at the end of its first step, which it has kept. */
void cuda_sample_kept(CudaContext *context, const CudaBatch *batch);

#endif
