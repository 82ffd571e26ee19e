/* Batches: many steps without energies that are issued in one go. See batch.c. */
#ifndef MD_CUDA_BATCH_H
#define MD_CUDA_BATCH_H

#include "cuda/stages/stages.h"

typedef struct CudaBatch {
    int64_t first; /* step */
    int n_steps;   /* 0: there is none */
    int kind;      /* CUDA_BEGINS_FORCED, CUDA_ENDS_DRIFTED */
} CudaBatch;

/* The batch that begins with step `first`, of at most n_steps. is_drifted: the drift of the first step is done. is_followed: after
 * the n_steps comes a step that is issued separately. */
CudaBatch cuda_batch_plan(const CudaContext *context, int64_t first, int64_t n_steps, bool is_drifted,
                          bool is_followed);
void cuda_batch_issue(CudaContext *context, const CudaBatch *batch);
void cuda_batch_destroy(CudaContext *context);

#endif
