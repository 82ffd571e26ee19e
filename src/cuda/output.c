/* The slots of the cuda backend. */
#include "base/memory.h"
#include "cuda/context.h"

static size_t vector_bytes(const CudaContext *context, const MdSlotSpec *spec, unsigned quantity) {
    if (!(spec->quantities & quantity)) return 0;
    const bool twice = spec->precision == MD_FILE_PRECISION_DOUBLE;
    const size_t one = quantity == MD_FRAME_IMAGE ? sizeof(int32_t) : twice ? sizeof(double) : sizeof(float);
    return 3 * (size_t)context->n_atoms * one;
}

static size_t frame_bytes(const CudaContext *context, const MdSlotSpec *spec) {
    size_t bytes = 0;
    for (unsigned bit = MD_FRAME_POSITION; bit <= MD_FRAME_IMAGE; bit <<= 1) bytes += vector_bytes(context, spec, bit);
    return bytes;
}

MdMemory cuda_slots_estimate(CudaContext *context, const MdSlotSpec *spec) {
    return (MdMemory){.host_bytes = (uint64_t)spec->n_rows * sizeof(MdOutput) +
                                    (uint64_t)spec->n_frames * frame_bytes(context, spec)};
}

MdStatus cuda_slots_create(void *opaque, const MdSlotSpec *spec) {
    CudaContext *context = opaque;
    context->slots.spec = *spec;
    context->slots.rows = md_alloc((size_t)spec->n_rows, sizeof *context->slots.rows, "slots of sums");
    if (spec->n_frames > 0)
        context->slots.h_frames = md_alloc((size_t)spec->n_frames, frame_bytes(context, spec), "slots of frames");
    return MD_OK;
}

void cuda_slots_destroy(CudaContext *context) {
    md_free(context->slots.rows);
    md_free(context->slots.h_frames);
}

MdStatus cuda_output_begin(void *opaque, const MdOutputRequest *request) {
    CudaContext *context = opaque;
    CudaSlots *slots = &context->slots;
    MdOutput *output = &slots->rows[request->row];
    *output = (MdOutput){.filled = true};
    MdStatus status = cuda_steps_finish(context);
    if (status != MD_OK) return status;
    cuda_reduce_sums(context, &output->sums);
    output->fault = cuda_integrate_fault(context);
    if (request->frame < 0) return MD_OK;
    char *at = slots->h_frames + (size_t)request->frame * frame_bytes(context, &slots->spec);
    void *arrays[4] = {NULL};
    for (int k = 0; k < 4; k++) {
        if (request->quantities >> k & 1) arrays[k] = at;
        at += vector_bytes(context, &slots->spec, 1u << k);
    }
    output->frame = (MdFrame){request->step, 0, slots->spec.precision, arrays[0], arrays[1], arrays[2], arrays[3]};
    cuda_gather_frame(context, &output->frame);
    return MD_OK;
}

MdStatus cuda_output_wait(void *opaque, const MdOutputRequest *request, MdOutput *output) {
    const CudaContext *context = opaque;
    *output = context->slots.rows[request->row];
    return MD_OK;
}

MdStatus cuda_output_settle(void *opaque) {
    (void)opaque; /* output_begin has waited */
    return MD_OK;
}
