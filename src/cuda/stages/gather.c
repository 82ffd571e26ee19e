/* Stage gather, host side; the kernels are in kernels/gather.cu. For the output one quantity at a time, into device memory
 * (output.c); else a whole frame, into memory of the caller. */
#include "cuda/stages/stages.h"

/* Of a quantity, by its bit, in single and double precision. */
static const CudaKernelId gather_kernels[CUDA_N_QUANTITIES][2] = {
    {CUDA_K_gather_positions_single, CUDA_K_gather_positions_double},
    {CUDA_K_gather_velocities_single, CUDA_K_gather_velocities_double},
    {CUDA_K_gather_forces_single, CUDA_K_gather_forces_double},
    {CUDA_K_gather_images_single, CUDA_K_gather_images_double},
};

void cuda_gather_quantity(CudaContext *context, int k, int precision, void *out) {
    if (1u << k == MD_FRAME_FORCE) cuda_memory_need_forces(context);
    if (context->places_stale && !context->comm && context->config.output_pack != MD_PACK_NAIVE)
        cuda_launch(context, CUDA_K_gather_places, context->room);
    context->places_stale = false;
    context->arguments.out = out;
    cuda_launch(context, gather_kernels[k][precision == MD_FILE_PRECISION_DOUBLE], context->room);
}

/* The rows of this process, into memory of the host. */
static void gather_own(CudaContext *context, const MdFrame *frame) {
    void *const arrays[CUDA_N_QUANTITIES] = {frame->position, frame->velocity, frame->force, frame->image};
    cuda_timing_begin(context, CUDA_GATHER);
    cuda_memory_begin(context, CUDA_STAGING);
    for (int k = 0; k < CUDA_N_QUANTITIES; k++) {
        if (!arrays[k]) continue;
        cuda_gather_quantity(context, k, frame->precision, context->staging);
        cuda_memory_download(context, arrays[k], context->staging,
                             (size_t)md_frame_bytes(context->n_own, 1u << k, frame->precision));
    }
    cuda_memory_end(context, CUDA_STAGING);
    cuda_timing_end(context);
    cuda_wait_stream(context, "wait: frame"); /* also when nothing was asked for */
}

void cuda_gather_ids(CudaContext *context, void *out) {
    context->arguments.out = out;
    cuda_launch(context, CUDA_K_gather_ids, context->room);
}

void cuda_gather_joined(CudaContext *context, int k, int precision, void *out) {
    CudaArguments *a = &context->arguments;
    a->n = k;
    a->in = (char *)a->domain.frame_rows + cuda_frame_offset(context, k, context->n_all); /* as NCCL brings them */
    a->buffer = (int32_t)(md_frame_bytes(1, 1u << k, precision) / sizeof(uint32_t));
    a->out = out;
    cuda_launch(context, CUDA_K_gather_joined, context->room);
}

void cuda_gather_frame(CudaContext *context, MdFrame *frame) {
    if (!context->comm) {
        gather_own(context, frame);
        return;
    }
    MdPart part = {0};
    md_part_prepare(&part, md_frame_quantities(frame), frame->precision, context->n_own);
    gather_own(context, &part.frame);
    cuda_gather_ids(context, context->staging);
    cuda_memory_download(context, part.ids, context->staging, (size_t)context->n_own * sizeof *part.ids);
    md_ranks_deal(context->comm, &part, context->n_all, frame);
    md_part_free(&part);
}
