/* Stage integrate, host side; the kernels and their ladder stand in kernels/integrate.cu. */
#include <math.h>
#include <string.h>

#include "cuda/context.h"

void cuda_integrate_scale(CudaContext *context, double factor) {
    cuda_timing_begin(context, CUDA_INTEGRATE);
    context->arguments.factor = factor;
    cuda_launch(context, CUDA_K_integrate_scale, context->n_atoms);
    cuda_timing_end(context);
}

/* The flag costs a look at host memory; what it is about is fetched once, when the run is over anyway. */
MdFault cuda_integrate_fault(CudaContext *context) {
    if (context->fault.step >= 0 || !context->h_signals->fault) return context->fault;
    CUDA_CHECK(cudaMemcpyAsync(context->h_watch, context->arguments.watch, sizeof(CudaWatch), cudaMemcpyDefault,
                               context->stream));
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    unsigned bits = (unsigned)(context->h_watch->fault_key & 0xffffffffu);
    float displacement;
    memcpy(&displacement, &bits, sizeof displacement);
    context->fault.step = (int64_t)context->h_watch->fault_step + context->step_offset;
    context->fault.id = (int32_t)(context->h_watch->fault_key >> 32);
    context->fault.displacement = isfinite(displacement) ? (double)displacement : (double)NAN;
    return context->fault;
}
