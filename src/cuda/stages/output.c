/* The output of the cuda backend: how sums and frames reach the host while the steps go on.
 *
 * The producer (cuda_output_issue) queues on the compute stream, behind the step: the sums, into the device buffer of the slot; the frame
 * by id in the layout of the file (kernels/gather.cu), into a device buffer; an event, `packed`. The copy stream waits for it and brings
 * both to pinned buffers of the host; at its end another event, `copied`, for which the consumer (cuda_output_wait) waits. So the next
 * step runs while a copy engine reads what the last one left, and the thread of the steps issues some ten calls and waits for nothing.
 * Who owns a slot when: backend/ring.h.
 *
 * Ladder
 *   output.pipeline=off               one slot, in the compute stream; the caller waits at once
 *   output.streams=1                  the copy stands in the way of the next step
 *   output.streams=2                  it does not: a stream of its own
 *   output.host_memory=pageable       the driver has no address that the copy engine could use: it copies in pieces to a
 *                                     buffer of its own, and cudaMemcpyAsync comes back when that is done. The thread
 *                                     of the steps waits for the device at every frame
 *   output.host_memory=pinned         pages that stay where they are: the copy engine writes to them by itself
 *   output.host_memory=write-combined the same without snooping the caches of the processor, which gains a little on the
 *                                     bus; reads by the host go past the caches too, so that the writer crawls
 *   output.host_memory=mapped         no copy, no buffer on the device: the gather kernels write across the bus, and occupy
 *                                     the device for as long as that takes
 * Sums are small and always pinned.
 *
 * A device that halts itself (batches/steps.c) lets everything behind it pass without effect; the sums then arrive with -1 in place of
 * the step, and the slot is SKIPPED. */
#include <math.h>

#include "base/memory.h"
#include "cuda/stages/stages.h"

enum { LINE_BYTES = 256 }; /* quantities begin on lines of their own */

static bool is_mapped(const CudaContext *context) {
    return context->config.output_host_memory == MD_HOST_MEMORY_MAPPED;
}

static bool copies_aside(const CudaContext *context) {
    return context->config.output_pipeline == MD_ON && context->config.output_streams == MD_STREAMS_2 &&
           !is_mapped(context);
}

/* --- sizes ---------------------------------------------------------------------------------------------------------- */

static size_t quantity_bytes(const CudaContext *context, unsigned quantity) {
    const MdRingSpec *spec = &context->output.spec;
    return (size_t)md_frame_bytes(context->n_atoms, spec->quantities & quantity, spec->precision);
}

static size_t whole_lines(size_t bytes) { return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES; }

/* Where the quantity is in a frame buffer; behind the last one its size. */
static size_t quantity_offset(const CudaContext *context, unsigned quantity) {
    size_t offset = 0;
    for (unsigned bit = 1; bit < quantity; bit <<= 1) offset += whole_lines(quantity_bytes(context, bit));
    return offset;
}

static size_t frame_bytes(const CudaContext *context) { return quantity_offset(context, MD_FRAME_IMAGE << 1); }

uint64_t cuda_output_host_bytes(const CudaContext *context) {
    const MdRingSpec *spec = &context->output.spec;
    return (uint64_t)spec->n_slots * (cuda_reduce_row_bytes(context) + sizeof(CudaSlot)) +
           (uint64_t)spec->n_frames * frame_bytes(context);
}

MdMemory cuda_output_estimate(CudaContext *context, const MdRingSpec *spec) {
    context->output.spec = *spec;
    const uint64_t rows = (uint64_t)spec->n_slots * cuda_reduce_row_bytes(context);
    const uint64_t device = rows + (is_mapped(context) ? 0 : (uint64_t)spec->n_frames * frame_bytes(context));
    const bool on_host = context->config.memory_space == MD_SPACE_MAPPED;
    return (MdMemory){.host_bytes = cuda_output_host_bytes(context) + (on_host ? device : 0),
                      .device_bytes = on_host ? 0 : device};
}

/* --- making ---------------------------------------------------------------------------------------------------------- */

static MdStatus allocate_host_frames(CudaContext *context, size_t bytes) {
    char **frames = &context->output.h_frames;
    const int memory = context->config.output_host_memory;
    if (memory == MD_HOST_MEMORY_PAGEABLE) {
        *frames = md_alloc(bytes, 1, "frame buffers");
        return MD_OK;
    }
    const unsigned flags = memory == MD_HOST_MEMORY_WRITE_COMBINED ? cudaHostAllocWriteCombined
                           : is_mapped(context)                    ? cudaHostAllocMapped
                                                                   : cudaHostAllocDefault;
    const cudaError_t error = cudaHostAlloc((void **)frames, bytes, flags);
    if (error != cudaErrorMemoryAllocation) {
        CUDA_CHECK(error);
        return MD_OK;
    }
    (void)cudaGetLastError(); /* reported here; the next launch must not find it */
    return md_fail(context->errors, MD_ERROR_INPUT,
                   "output.slots: the system has no %.1f MiB of pinned memory for frames: take fewer slots, "
                   "output.host_memory=pageable, or fewer quantities in a frame",
                   (double)bytes / 1048576);
}

static MdStatus allocate_frames(CudaContext *context) {
    CudaOutput *output = &context->output;
    const size_t bytes = (size_t)output->spec.n_frames * output->frame_bytes;
    MdStatus status = allocate_host_frames(context, bytes);
    if (status != MD_OK) return status;
    if (is_mapped(context)) {
        CUDA_CHECK(cudaHostGetDevicePointer((void **)&output->d_frames, output->h_frames, 0));
        return MD_OK;
    }
    status = cuda_allocate(context, (void **)&output->d_frames, bytes, false, "frame buffers", MD_ERROR_INPUT);
    /* what a halted device did not pack is copied all the same, and thrown away */
    if (status == MD_OK) CUDA_CHECK(cudaMemsetAsync(output->d_frames, 0, bytes, context->stream));
    return status;
}

static MdStatus allocate_rows(CudaContext *context) {
    CudaOutput *output = &context->output;
    const size_t row_bytes = cuda_reduce_row_bytes(context), bytes = (size_t)output->spec.n_slots * row_bytes;
    output->slots = md_alloc((size_t)output->spec.n_slots, sizeof *output->slots, "ring slots");
    MdStatus status = cuda_allocate(context, (void **)&output->d_rows, bytes, false, "sums of slots", MD_ERROR_INPUT);
    if (status != MD_OK) return status;
    CUDA_CHECK(cudaMallocHost((void **)&output->h_rows, bytes));
    for (int k = 0; k < output->spec.n_slots; k++) {
        CudaSlot *slot = &output->slots[k];
        slot->row.d_head = (CudaRowHead *)(output->d_rows + (size_t)k * row_bytes);
        slot->row.h_head = (CudaRowHead *)(output->h_rows + (size_t)k * row_bytes);
        CUDA_CHECK(cudaEventCreateWithFlags(&slot->packed, cudaEventDisableTiming));
        CUDA_CHECK(cudaEventCreate(&slot->copy_begun));
        CUDA_CHECK(cudaEventCreate(&slot->copied));
    }
    return MD_OK;
}

MdStatus cuda_output_create(void *opaque, MdRing *ring) {
    CudaContext *context = opaque;
    CudaOutput *output = &context->output;
    md_require(!output->slots);
    output->ring = ring;
    output->spec = ring->spec;
    output->frame_bytes = frame_bytes(context);
    output->copy_stream = context->stream;
    MdStatus status = allocate_rows(context);
    if (status != MD_OK || output->spec.n_frames == 0) return status;
    if (copies_aside(context)) {
        CUDA_CHECK(cudaStreamCreateWithFlags(&output->copy_stream, cudaStreamNonBlocking));
        cuda_trace_name_stream(output->copy_stream, "copy stream");
    }
    return allocate_frames(context);
}

/* Arrays of the device go with all others (cuda_memory_free). */
void cuda_output_destroy(CudaContext *context) {
    CudaOutput *output = &context->output;
    if (!output->slots) return;
    CUDA_CHECK(cudaStreamSynchronize(output->copy_stream));
    if (output->copy_stream != context->stream) CUDA_CHECK(cudaStreamDestroy(output->copy_stream));
    for (int k = 0; k < output->spec.n_slots; k++) {
        const CudaSlot *slot = &output->slots[k];
        const cudaEvent_t events[] = {slot->packed, slot->copy_begun, slot->copied};
        for (size_t e = 0; e < sizeof events / sizeof events[0]; e++)
            if (events[e]) CUDA_CHECK(cudaEventDestroy(events[e]));
    }
    if (context->config.output_host_memory == MD_HOST_MEMORY_PAGEABLE) md_free(output->h_frames);
    else if (output->h_frames) CUDA_CHECK(cudaFreeHost(output->h_frames));
    if (output->h_rows) CUDA_CHECK(cudaFreeHost(output->h_rows));
    md_free(output->slots);
}

/* --- packing --------------------------------------------------------------------------------------------------------- */

/* The kernel of a quantity, by its bit, in single and double precision. */
static const CudaKernelId gather_kernels[4][2] = {
    {CUDA_K_gather_positions_single, CUDA_K_gather_positions_double},
    {CUDA_K_gather_velocities_single, CUDA_K_gather_velocities_double},
    {CUDA_K_gather_forces_single, CUDA_K_gather_forces_double},
    {CUDA_K_gather_images_single, CUDA_K_gather_images_double},
};

static void gather_quantity(CudaContext *context, unsigned quantity, int precision, void *out) {
    int k = 0;
    while (1u << k != quantity) k++;
    if (quantity == MD_FRAME_FORCE) cuda_memory_need_forces(context);
    if (context->places_stale && context->config.output_pack != MD_PACK_NAIVE)
        cuda_launch(context, CUDA_K_gather_places, context->n_atoms);
    context->places_stale = false;
    context->arguments.out = out;
    cuda_launch(context, gather_kernels[k][precision == MD_FILE_PRECISION_DOUBLE], context->n_atoms);
}

/* At once, into memory of the caller. */
void cuda_output_gather(CudaContext *context, MdFrame *frame) {
    void *const arrays[4] = {frame->position, frame->velocity, frame->force, frame->image};
    cuda_timing_begin(context, CUDA_GATHER);
    cuda_memory_begin(context, CUDA_STAGING);
    for (int k = 0; k < 4; k++) {
        if (!arrays[k]) continue;
        gather_quantity(context, 1u << k, frame->precision, context->staging);
        cuda_memory_download(context, arrays[k], context->staging,
                             (size_t)md_frame_bytes(context->n_atoms, 1u << k, frame->precision));
    }
    cuda_memory_end(context, CUDA_STAGING);
    cuda_timing_end(context);
    cuda_wait_stream(context, "wait: frame"); /* also when nothing was asked for */
}

/* --- the producer ---------------------------------------------------------------------------------------------------- */

static size_t offset_in_frames(const CudaContext *context, const MdOutputRequest *request, unsigned quantity) {
    return (size_t)request->frame * context->output.frame_bytes + quantity_offset(context, quantity);
}

static void pack_frame(CudaContext *context, const MdOutputRequest *request) {
    const CudaOutput *output = &context->output;
    cuda_timing_begin(context, CUDA_GATHER);
    for (unsigned bit = 1; bit <= MD_FRAME_IMAGE; bit <<= 1)
        if (request->quantities & bit)
            gather_quantity(context, bit, output->spec.precision,
                            output->d_frames + offset_in_frames(context, request, bit));
    cuda_timing_end(context);
}

/* Each quantity on its own and to its last byte: nobody has written what lies between them. */
static void copy_frame(const CudaContext *context, const MdOutputRequest *request) {
    const CudaOutput *output = &context->output;
    for (unsigned bit = 1; bit <= MD_FRAME_IMAGE; bit <<= 1) {
        if (!(request->quantities & bit)) continue;
        const size_t offset = offset_in_frames(context, request, bit);
        CUDA_CHECK(cudaMemcpyAsync(output->h_frames + offset, output->d_frames + offset, quantity_bytes(context, bit),
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
    if (request->frame >= 0 && !is_mapped(context)) {
        CudaSpan *span = cuda_timing_begin_copy(context, output->copy_stream, "copy: frame");
        CUDA_CHECK(cudaEventRecord(slot->copy_begun, output->copy_stream));
        copy_frame(context, request);
        cuda_timing_end_copy(span, output->copy_stream);
    }
    CUDA_CHECK(cudaEventRecord(slot->copied, output->copy_stream));
    md_ring_end(output->ring, request);
}

/* --- the consumer ---------------------------------------------------------------------------------------------------- */

static MdFrame frame_of(const CudaContext *context, const MdOutputRequest *request) {
    MdFrame frame = {.step = request->step, .precision = context->output.spec.precision};
    void *arrays[4] = {NULL};
    for (int k = 0; k < 4; k++)
        if (request->quantities >> k & 1)
            arrays[k] = context->output.h_frames + offset_in_frames(context, request, 1u << k);
    frame.position = arrays[0];
    frame.velocity = arrays[1];
    frame.force = arrays[2];
    frame.image = arrays[3];
    return frame;
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
    output->frame = frame_of(context, request);
    if (!is_mapped(context)) output->copy_s = copy_seconds(slot);
    return MD_OK;
}
