/* How far the host issues steps ahead of the device: see ahead.c. */
#ifndef MD_CUDA_AHEAD_H
#define MD_CUDA_AHEAD_H

#include "cuda/stages/stages.h"

/* The most of a batch that is cut into graphs: launches of a graph of 16 steps cost the host as much as one step issued separately. */
enum { CUDA_BATCH_STEPS = 16 };

/* A list was built at this step. */
void cuda_ahead_note_build(CudaContext *context, int64_t step);
/* Steps that a batch that begins with step `first` may have. */
int64_t cuda_ahead_batch_steps(const CudaContext *context, int64_t first);
/* launch.barrier = local: steps of a batch that begins with the forces of step `first` before its blocks have to look for
 * displacements. */
int cuda_ahead_speculative_steps(const CudaContext *context, int64_t first);
/* Waits while the device is too far behind `step`, unless it has stopped. */
void cuda_ahead_wait(CudaContext *context, int64_t step);

#endif
