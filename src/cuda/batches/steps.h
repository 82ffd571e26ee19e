/* Steps as they are issued to the device: see steps.c. The operations of backend.h of the same names. */
#ifndef MD_CUDA_STEPS_H
#define MD_CUDA_STEPS_H

#include "cuda/stages/stages.h"

MdStatus cuda_steps_advance(CudaContext *context, int64_t first_step, int64_t n_steps, bool with_energy);
MdStatus cuda_steps_update_neighbors(CudaContext *context, int64_t step);
MdStatus cuda_steps_rebuild(CudaContext *context);
void cuda_steps_compute_forces(CudaContext *context, bool with_energy);
void cuda_steps_integrate(CudaContext *context);
/* Completes (device-check) or issues all requested work, for callers that read particles or sums. */
MdStatus cuda_steps_finish(CudaContext *context);
/* As finish, without the second half kick of the last step. A fault ends the motion, and then nothing more is done. */
MdStatus cuda_steps_settle(CudaContext *context);
/* A sample at the end of the step, and again if the device has stopped before it. */
void cuda_steps_observe(CudaContext *context, const MdObservation *observation);
/* Output at the end of the step, and again if the device has stopped before it. */
MdStatus cuda_steps_output_begin(void *context, const MdOutputRequest *request);
MdStatus cuda_steps_output_settle(void *context);

#endif
