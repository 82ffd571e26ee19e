/* Stage integrate, host side; the kernels and their ladder stand in kernels/integrate.cu. */
#include <math.h>
#include <string.h>

#include "cuda/context.h"

static bool is_fused(const CudaContext *context) { return context->config.launch_fuse == MD_ON; }

void cuda_integrate_kick_drift(CudaContext *context) {
    const int n = context->n_atoms;
    const bool check = context->config.neighbor_rebuild != MD_REBUILD_EVERY;
    cuda_timing_begin(context, CUDA_INTEGRATE);
    if (is_fused(context)) {
        context->arguments.kick_first = context->kick_due;
        context->kick_due = false;
        cuda_launch(context, CUDA_K_integrate_kick_drift, n);
    } else {
        cuda_launch(context, CUDA_K_integrate_kick, n);
        cuda_launch(context, CUDA_K_integrate_drift, n);
        if (check) cuda_launch(context, CUDA_K_integrate_check, n);
    }
    cuda_timing_end(context);
    if (context->config.neighbor_rebuild == MD_REBUILD_HOST_CHECK) cuda_watch_read(context, false);
}

void cuda_integrate_kick(CudaContext *context) {
    context->kick_due = true;
    if (!is_fused(context)) cuda_integrate_settle(context);
}

void cuda_integrate_settle(CudaContext *context) {
    if (!context->kick_due) return;
    context->kick_due = false;
    cuda_timing_begin(context, CUDA_INTEGRATE);
    cuda_launch(context, CUDA_K_integrate_kick, context->n_atoms);
    cuda_timing_end(context);
}

void cuda_integrate_scale(CudaContext *context, double factor) {
    cuda_timing_begin(context, CUDA_INTEGRATE);
    context->arguments.factor = factor;
    cuda_launch(context, CUDA_K_integrate_scale, context->n_atoms);
    cuda_timing_end(context);
}

/* The flag costs a look at host memory; what it is about is fetched once, when the run is over anyway. */
MdFault cuda_integrate_fault(CudaContext *context) {
    if (context->fault.step >= 0 || !context->h_signals->fault) return context->fault;
    CUDA_CHECK(cudaMemcpyAsync(context->h_watch, context->arguments.watch, sizeof(CudaWatch), cudaMemcpyDeviceToHost,
                               context->stream));
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    unsigned bits = (unsigned)(context->h_watch->fault_key & 0xffffffffu);
    float displacement;
    memcpy(&displacement, &bits, sizeof displacement);
    context->fault.step = (int64_t)context->h_watch->fault_step;
    context->fault.id = (int32_t)(context->h_watch->fault_key >> 32);
    context->fault.displacement = isfinite(displacement) ? (double)displacement : (double)NAN;
    return context->fault;
}
