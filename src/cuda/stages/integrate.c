/* Stage integrate, host side; the kernels and their ladder are in kernels/integrate.cu. */
#include <math.h>
#include <string.h>

#include "cuda/stages/stages.h"

void cuda_integrate_issue(CudaContext *context, bool kick_first) {
    const int n = context->room;
    context->halo.is_stale = true;
    context->arguments.kick_first = kick_first;
    if (context->config.launch_fuse != MD_FUSE_OFF) {
        cuda_launch(context, CUDA_K_integrate_kick_drift, n);
        return;
    }
    if (kick_first) cuda_launch(context, CUDA_K_integrate_kick, n);
    cuda_launch(context, CUDA_K_integrate_kick, n);
    cuda_launch(context, CUDA_K_integrate_drift, n);
    if (context->config.neighbor_rebuild != MD_REBUILD_EVERY) cuda_launch(context, CUDA_K_integrate_check, n);
}

void cuda_integrate_drift(CudaContext *context, bool kick_first) {
    cuda_timing_begin(context, CUDA_INTEGRATE);
    cuda_reduce_begin_extremes(context);
    cuda_integrate_issue(context, kick_first);
    cuda_reduce_end_extremes(context);
    cuda_memory_end(context, CUDA_FORCES);
    cuda_timing_end(context);
    if (context->config.neighbor_rebuild == MD_REBUILD_HOST_CHECK) cuda_status_read(context, false);
}

void cuda_integrate_kick(CudaContext *context) {
    cuda_timing_begin(context, CUDA_INTEGRATE);
    cuda_launch(context, CUDA_K_integrate_kick, context->room);
    cuda_timing_end(context);
}

void cuda_integrate_scale(CudaContext *context, double factor, const double shift[3]) {
    cuda_timing_begin(context, CUDA_INTEGRATE);
    context->arguments.factor = factor;
    memcpy(context->arguments.shift, shift, sizeof context->arguments.shift);
    cuda_launch(context, CUDA_K_integrate_scale, context->room);
    cuda_timing_end(context);
}

void cuda_integrate_descend(CudaContext *context, double keep, double push, double move, double most) {
    cuda_memory_need_forces(context);
    cuda_timing_begin(context, CUDA_INTEGRATE);
    context->halo.is_stale = context->halo.is_stale || move != 0;
    context->arguments.factor = keep;
    memcpy(context->arguments.shift, (double[]){push, move, most}, sizeof context->arguments.shift);
    cuda_launch(context, CUDA_K_integrate_descend, context->room);
    cuda_timing_end(context);
}

MdFault cuda_integrate_read_fault(unsigned long long step, unsigned long long key, int64_t step_offset) {
    const unsigned bits = (unsigned)(key & 0xffffffffu);
    float displacement;
    memcpy(&displacement, &bits, sizeof displacement);
    return (MdFault){.step = (int64_t)step + step_offset,
                     .id = (int32_t)(key >> 32),
                     .displacement = isfinite(displacement) ? (double)displacement : (double)NAN};
}

/* The flag costs a read of host memory; the fault is fetched once, when the run is over anyway, and after all issued work: a
 * fault of an earlier step may be found after the flag was raised, but by the same kernel. */
MdFault cuda_integrate_fault(CudaContext *context) {
    if (context->fault.step >= 0 || !context->h_host_status->fault) return context->fault;
    cuda_status_read(context, true);
    const CudaDeviceStatus *status = context->h_status;
    context->fault = cuda_integrate_read_fault(
        status->fault_step, status->fault_key[status->fault_step % CUDA_GRAPH_STEPS], context->step_offset);
    return context->fault;
}
