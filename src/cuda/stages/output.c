/* The output of the cuda backend: how sums and frames reach the host while the steps go on. Who owns a slot when:
 * backend/ring.h.
 *
 * The producer (cuda_output_issue) queues on the compute stream, behind the step: the sums, into the device buffer of the slot;
 * the frame by id in the layout of the file (kernels/gather.cu), into a device buffer; an event, `packed`. The copy stream waits
 * for it and brings both to the host (output_buffers.c); at its end another event, `copied`, for which the consumer
 * (cuda_output_wait) waits. So the next step runs while a copy engine reads what the last one left, and the thread of the steps
 * issues some ten calls and waits for nothing.
 *
 * Ladder
 *   output.pipeline=off    one slot, in the compute stream; the caller waits at once
 *   output.streams=1       the copy stands in the way of the next step
 *   output.streams=2       it does not: a stream of its own
 *
 * A device that stops itself (batches/steps.c) lets everything behind it pass without effect; the sums then arrive with -1 in
 * place of the step, and the slot is SKIPPED. */
#include <math.h>

#include "cuda/stages/stages.h"

/* --- packing --------------------------------------------------------------------------------------------------------- */

/* Of a quantity, by its bit, in single and double precision. */
static const CudaKernelId gather_kernels[CUDA_N_QUANTITIES][2] = {
    {CUDA_K_gather_positions_single, CUDA_K_gather_positions_double},
    {CUDA_K_gather_velocities_single, CUDA_K_gather_velocities_double},
    {CUDA_K_gather_forces_single, CUDA_K_gather_forces_double},
    {CUDA_K_gather_images_single, CUDA_K_gather_images_double},
};

static void gather_quantity(CudaContext *context, int k, int precision, void *out) {
    if (1u << k == MD_FRAME_FORCE) cuda_memory_need_forces(context);
    if (context->places_stale && context->config.output_pack != MD_PACK_NAIVE)
        cuda_launch(context, CUDA_K_gather_places, context->n_atoms);
    context->places_stale = false;
    context->arguments.out = out;
    cuda_launch(context, gather_kernels[k][precision == MD_FILE_PRECISION_DOUBLE], context->n_atoms);
}

/* At once, into memory of the caller. */
void cuda_output_gather(CudaContext *context, MdFrame *frame) {
    void *const arrays[CUDA_N_QUANTITIES] = {frame->position, frame->velocity, frame->force, frame->image};
    cuda_timing_begin(context, CUDA_GATHER);
    cuda_memory_begin(context, CUDA_STAGING);
    for (int k = 0; k < CUDA_N_QUANTITIES; k++) {
        if (!arrays[k]) continue;
        gather_quantity(context, k, frame->precision, context->staging);
        cuda_memory_download(context, arrays[k], context->staging,
                             (size_t)md_frame_bytes(context->n_atoms, 1u << k, frame->precision));
    }
    cuda_memory_end(context, CUDA_STAGING);
    cuda_timing_end(context);
    cuda_wait_stream(context, "wait: frame"); /* also when nothing was asked for */
}

/* --- the producer ---------------------------------------------------------------------------------------------------- */

static bool has(const MdOutputRequest *request, int k) { return request->quantities >> k & 1; }

/* From the beginning of all frame buffers. */
static size_t offset_of(const CudaOutput *output, const MdOutputRequest *request, int k) {
    return (size_t)request->frame * output->frame_bytes + output->offset[k];
}

static void pack_frame(CudaContext *context, const MdOutputRequest *request) {
    const CudaOutput *output = &context->output;
    cuda_timing_begin(context, CUDA_GATHER);
    for (int k = 0; k < CUDA_N_QUANTITIES; k++)
        if (has(request, k))
            gather_quantity(context, k, output->spec.precision, output->d_frames + offset_of(output, request, k));
    cuda_timing_end(context);
}

/* Each quantity on its own and to its last byte: nobody has written what lies between them. */
static void copy_frame(const CudaOutput *output, const MdOutputRequest *request) {
    for (int k = 0; k < CUDA_N_QUANTITIES; k++) {
        if (!has(request, k)) continue;
        const size_t offset = offset_of(output, request, k);
        CUDA_CHECK(cudaMemcpyAsync(output->h_frames + offset, output->d_frames + offset, output->bytes[k],
                                   cudaMemcpyDefault, output->copy_stream));
    }
}

void cuda_output_issue(CudaContext *context, const MdOutputRequest *request) {
    CudaOutput *output = &context->output;
    CudaSlot *slot = &output->slots[request->slot];
    md_ring_begin(output->ring, request);
    slot->step_offset = context->step_offset;
    /* The copy of an issue that was skipped may still read what is packed now. */
    CUDA_CHECK(cudaStreamWaitEvent(context->stream, slot->copied, 0));
    cuda_reduce_row(context, &slot->row, request->step);
    if (request->frame >= 0) pack_frame(context, request);
    if (output->copy_stream != context->stream) {
        CUDA_CHECK(cudaEventRecord(slot->packed, context->stream));
        CUDA_CHECK(cudaStreamWaitEvent(output->copy_stream, slot->packed, 0));
    }
    cuda_reduce_copy_row(&slot->row, output->copy_stream);
    if (request->frame >= 0 && output->copies_frames) {
        CudaSpan *span = cuda_timing_begin_copy(context, output->copy_stream, "copy: frame");
        CUDA_CHECK(cudaEventRecord(slot->copy_begun, output->copy_stream));
        copy_frame(output, request);
        cuda_timing_end_copy(span, output->copy_stream);
    }
    CUDA_CHECK(cudaEventRecord(slot->copied, output->copy_stream));
    md_ring_end(output->ring, request);
}

/* --- the consumer ---------------------------------------------------------------------------------------------------- */

static MdFrame frame_of(const CudaOutput *output, const MdOutputRequest *request) {
    void *arrays[CUDA_N_QUANTITIES];
    for (int k = 0; k < CUDA_N_QUANTITIES; k++)
        arrays[k] = has(request, k) ? output->h_frames + offset_of(output, request, k) : NULL;
    return (MdFrame){.step = request->step,
                     .precision = output->spec.precision,
                     .position = arrays[0],
                     .velocity = arrays[1],
                     .force = arrays[2],
                     .image = arrays[3]};
}

static double copy_seconds(const CudaSlot *slot) {
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, slot->copy_begun, slot->copied));
    return 1e-3 * (double)milliseconds;
}

MdStatus cuda_output_wait(void *opaque, const MdOutputRequest *request, MdOutput *output) {
    CudaContext *context = opaque;
    CudaSlot *slot = &context->output.slots[request->slot];
    const CudaRowHead *head = slot->row.h_head;
    int64_t issue;
    CUDA_CHECK(cudaSetDevice(context->device)); /* of this thread */
    *output = (MdOutput){.arrived = false, .fault = {-1, -1, NAN}};
    do {
        issue = md_ring_wait(context->output.ring, request->slot);
        if (!issue) return MD_OK;
        CUDA_CHECK(cudaEventSynchronize(slot->copied));
    } while (!md_ring_arrive(context->output.ring, request, issue, &head->step));
    output->arrived = true;
    cuda_reduce_read_row(&slot->row, &output->sums);
    if (head->fault_step != ~0ull)
        output->fault = cuda_integrate_read_fault(head->fault_step, head->fault_key, slot->step_offset);
    if (request->frame < 0) return MD_OK;
    output->frame = frame_of(&context->output, request);
    if (context->output.copies_frames) output->copy_s = copy_seconds(slot);
    return MD_OK;
}
