/* Steps as they are issued to the device: see steps.c. */
#ifndef MD_CUDA_STEPS_H
#define MD_CUDA_STEPS_H

#include "cuda/stages/stages.h"

void cuda_steps_kick_drift(CudaContext *context, int64_t step);
MdStatus cuda_steps_update_neighbors(CudaContext *context, int64_t step);
MdStatus cuda_steps_rebuild(CudaContext *context);
void cuda_steps_compute_forces(CudaContext *context, bool with_energy);
void cuda_steps_kick(CudaContext *context);
/* Everything that was asked for is done (device-check) or issued, to effect: for those who look at particles or sums. */
MdStatus cuda_steps_finish(CudaContext *context);
/* Output at the end of the step, and again if the device has halted before it. */
MdStatus cuda_steps_output(CudaContext *context, const MdOutputRequest *request);
/* Everything that was asked for is issued, to effect; with device-check it is done, unless a fault has ended the motion. */
MdStatus cuda_steps_settle(CudaContext *context);
void cuda_steps_destroy(CudaContext *context);

#endif
