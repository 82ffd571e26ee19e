/* The slots of the cuda backend: how sums and frames reach the host while the steps go on.
 *
 * A request (cuda_output_issue) queues on the compute stream, behind the step: the sums, into the row slot; the frame by
 * id in the layout of the file (kernels/gather.cu), into the frame slot on the device; an event, `filled`. The copy stream
 * waits for it and brings both to the host, at the end another event, `copied`, for which the thread of output_wait waits.
 * So the next step runs while a copy engine reads what the last one left, and the thread of the steps issues some ten
 * calls and waits for nothing.
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
 *   output.host_memory=mapped         no copy, no slot on the device: the gather kernels write across the bus, and occupy
 *                                     the device for as long as that takes
 * Sums are small and always pinned.
 *
 * A device that halts itself (neighbor.rebuild=device-check, see batches/steps.c) lets everything behind it pass without
 * effect; then the head of the row slot keeps -1 in place of the step, the thread that waits for it goes on waiting, and
 * batches/steps.c issues the request again, into the same slot. n_begun and n_issued count the issues, under the mutex: `copied`
 * may be waited for only while both agree, and the reader accepts a result only if no later issue has begun meanwhile. */
#include <math.h>

#include "base/memory.h"
#include "cuda/stages/stages.h"

enum { LINE_BYTES = 256 }; /* quantities begin on lines of their own */

static bool is_on(int value) { return value == MD_ON; }
static bool is_mapped(const CudaContext *context) {
    return context->config.output_host_memory == MD_HOST_MEMORY_MAPPED;
}

static bool copies_aside(const CudaContext *context) {
    return is_on(context->config.output_pipeline) && context->config.output_streams == MD_STREAMS_2 &&
           !is_mapped(context);
}

/* --- sizes ---------------------------------------------------------------------------------------------------------- */

static size_t quantity_bytes(const CudaContext *context, const MdSlotSpec *spec, unsigned quantity) {
    return (size_t)md_frame_bytes(context->n_atoms, spec->quantities & quantity, spec->precision);
}

static size_t whole_lines(size_t bytes) { return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES; }

/* Where the quantity is in a frame slot; behind the last one its size. */
static size_t quantity_offset(const CudaContext *context, const MdSlotSpec *spec, unsigned quantity) {
    size_t offset = 0;
    for (unsigned bit = 1; bit < quantity; bit <<= 1) offset += whole_lines(quantity_bytes(context, spec, bit));
    return offset;
}

static size_t frame_bytes(const CudaContext *context, const MdSlotSpec *spec) {
    return quantity_offset(context, spec, MD_FRAME_IMAGE << 1);
}

MdMemory cuda_slots_estimate(CudaContext *context, const MdSlotSpec *spec) {
    const uint64_t frames = (uint64_t)spec->n_frames * frame_bytes(context, spec);
    const uint64_t rows = (uint64_t)spec->n_rows * cuda_reduce_row_bytes(context);
    const uint64_t device = rows + (is_mapped(context) ? 0 : frames);
    const bool on_host = context->config.memory_space == MD_SPACE_MAPPED;
    return (MdMemory){.host_bytes = rows + frames + (uint64_t)spec->n_rows * sizeof(CudaSlot) + (on_host ? device : 0),
                      .device_bytes = on_host ? 0 : device};
}

uint64_t cuda_slots_host_bytes(const CudaContext *context) {
    const CudaSlots *slots = &context->slots;
    return (uint64_t)slots->spec.n_rows * (cuda_reduce_row_bytes(context) + sizeof(CudaSlot)) +
           (uint64_t)slots->spec.n_frames * slots->frame_bytes;
}

/* --- making ---------------------------------------------------------------------------------------------------------- */

static MdStatus refuse(CudaContext *context, size_t bytes) {
    (void)cudaGetLastError(); /* reported here; the next launch must not find it */
    return md_fail(context->errors, MD_ERROR_INPUT,
                   "output.slots: the system has no %.1f MiB of pinned memory for frames: take fewer slots, "
                   "output.host_memory=pageable, or fewer quantities in a frame",
                   (double)bytes / 1048576);
}

static MdStatus allocate_host_frames(CudaContext *context, size_t bytes) {
    CudaSlots *slots = &context->slots;
    cudaError_t error;
    switch (context->config.output_host_memory) {
    case MD_HOST_MEMORY_PAGEABLE: slots->h_frames = md_alloc(bytes, 1, "slots of frames"); return MD_OK;
    case MD_HOST_MEMORY_WRITE_COMBINED:
        error = cudaHostAlloc((void **)&slots->h_frames, bytes, cudaHostAllocWriteCombined);
        break;
    case MD_HOST_MEMORY_MAPPED: error = cudaHostAlloc((void **)&slots->h_frames, bytes, cudaHostAllocMapped); break;
    default: error = cudaHostAlloc((void **)&slots->h_frames, bytes, cudaHostAllocDefault);
    }
    if (error == cudaErrorMemoryAllocation) return refuse(context, bytes);
    CUDA_CHECK(error);
    return MD_OK;
}

static MdStatus allocate_frames(CudaContext *context) {
    CudaSlots *slots = &context->slots;
    const size_t bytes = (size_t)slots->spec.n_frames * slots->frame_bytes;
    MdStatus status = allocate_host_frames(context, bytes);
    if (status != MD_OK) return status;
    if (is_mapped(context)) {
        CUDA_CHECK(cudaHostGetDevicePointer((void **)&slots->d_frames, slots->h_frames, 0));
        return MD_OK;
    }
    status = cuda_allocate(context, (void **)&slots->d_frames, bytes, false, "slots of frames", MD_ERROR_INPUT);
    /* what a halted device did not gather is copied all the same, and thrown away */
    if (status == MD_OK) CUDA_CHECK(cudaMemsetAsync(slots->d_frames, 0, bytes, context->stream));
    return status;
}

static MdStatus allocate_rows(CudaContext *context) {
    CudaSlots *slots = &context->slots;
    const size_t row_bytes = cuda_reduce_row_bytes(context), bytes = (size_t)slots->spec.n_rows * row_bytes;
    slots->slots = md_alloc((size_t)slots->spec.n_rows, sizeof *slots->slots, "slots of sums");
    MdStatus status = cuda_allocate(context, (void **)&slots->d_rows, bytes, false, "slots of sums", MD_ERROR_INPUT);
    if (status != MD_OK) return status;
    CUDA_CHECK(cudaMallocHost((void **)&slots->h_rows, bytes));
    for (int k = 0; k < slots->spec.n_rows; k++) {
        CudaSlot *slot = &slots->slots[k];
        slot->row.d_head = (CudaRowHead *)(slots->d_rows + (size_t)k * row_bytes);
        slot->row.h_head = (CudaRowHead *)(slots->h_rows + (size_t)k * row_bytes);
        CUDA_CHECK(cudaEventCreateWithFlags(&slot->filled, cudaEventDisableTiming));
        CUDA_CHECK(cudaEventCreate(&slot->copy_begun));
        CUDA_CHECK(cudaEventCreate(&slot->copied));
    }
    return MD_OK;
}

MdStatus cuda_slots_create(void *opaque, const MdSlotSpec *spec) {
    CudaContext *context = opaque;
    CudaSlots *slots = &context->slots;
    md_require(!slots->slots);
    slots->spec = *spec;
    slots->frame_bytes = frame_bytes(context, spec);
    pthread_mutex_init(&slots->mutex, NULL);
    pthread_cond_init(&slots->issued, NULL);
    slots->copy_stream = context->stream;
    MdStatus status = allocate_rows(context);
    if (status != MD_OK || spec->n_frames == 0) return status;
    if (copies_aside(context)) {
        CUDA_CHECK(cudaStreamCreateWithFlags(&slots->copy_stream, cudaStreamNonBlocking));
        cuda_trace_name_stream(slots->copy_stream, "copy stream");
    }
    return allocate_frames(context);
}

/* Arrays of the device go with all others (cuda_memory_free). */
void cuda_slots_destroy(CudaContext *context) {
    CudaSlots *slots = &context->slots;
    if (!slots->slots) return;
    CUDA_CHECK(cudaStreamSynchronize(slots->copy_stream));
    if (slots->copy_stream != context->stream) CUDA_CHECK(cudaStreamDestroy(slots->copy_stream));
    for (int k = 0; k < slots->spec.n_rows; k++) {
        const CudaSlot *slot = &slots->slots[k];
        const cudaEvent_t events[] = {slot->filled, slot->copy_begun, slot->copied};
        for (size_t e = 0; e < sizeof events / sizeof events[0]; e++)
            if (events[e]) CUDA_CHECK(cudaEventDestroy(events[e]));
    }
    if (context->config.output_host_memory == MD_HOST_MEMORY_PAGEABLE) md_free(slots->h_frames);
    else if (slots->h_frames) CUDA_CHECK(cudaFreeHost(slots->h_frames));
    if (slots->h_rows) CUDA_CHECK(cudaFreeHost(slots->h_rows));
    md_free(slots->slots);
    pthread_cond_destroy(&slots->issued);
    pthread_mutex_destroy(&slots->mutex);
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

/* --- the thread of the steps ----------------------------------------------------------------------------------------- */

static void gather_quantities(CudaContext *context, const MdOutputRequest *request) {
    const CudaSlots *slots = &context->slots;
    char *slot = slots->d_frames + (size_t)request->frame * slots->frame_bytes;
    cuda_timing_begin(context, CUDA_GATHER);
    for (unsigned bit = 1; bit <= MD_FRAME_IMAGE; bit <<= 1)
        if (request->quantities & bit)
            gather_quantity(context, bit, slots->spec.precision, slot + quantity_offset(context, &slots->spec, bit));
    cuda_timing_end(context);
}

/* The quantities of a request, each on its own and to its last byte: nobody has written what lies between them. */
static void copy_quantities(const CudaContext *context, const MdOutputRequest *request, cudaStream_t stream) {
    const CudaSlots *slots = &context->slots;
    const size_t slot = (size_t)request->frame * slots->frame_bytes;
    for (unsigned bit = 1; bit <= MD_FRAME_IMAGE; bit <<= 1) {
        if (!(request->quantities & bit)) continue;
        const size_t offset = slot + quantity_offset(context, &slots->spec, bit);
        CUDA_CHECK(cudaMemcpyAsync(slots->h_frames + offset, slots->d_frames + offset,
                                   quantity_bytes(context, &slots->spec, bit), cudaMemcpyDefault, stream));
    }
}

static void count_up(CudaSlots *slots, int64_t *count) {
    pthread_mutex_lock(&slots->mutex);
    *count += 1;
    pthread_cond_broadcast(&slots->issued);
    pthread_mutex_unlock(&slots->mutex);
}

void cuda_output_issue(CudaContext *context, const MdOutputRequest *request) {
    CudaSlots *slots = &context->slots;
    CudaSlot *slot = &slots->slots[request->row];
    const bool copies = request->frame >= 0 && !is_mapped(context);
    count_up(slots, &slot->n_begun);
    slot->step_offset = context->step_offset;
    /* A copy of an issue that had no effect may still read what is filled now. */
    CUDA_CHECK(cudaStreamWaitEvent(context->stream, slot->copied, 0));
    cuda_reduce_row(context, &slot->row, request->step);
    if (request->frame >= 0) gather_quantities(context, request);
    if (slots->copy_stream != context->stream) {
        CUDA_CHECK(cudaEventRecord(slot->filled, context->stream));
        CUDA_CHECK(cudaStreamWaitEvent(slots->copy_stream, slot->filled, 0));
    }
    cuda_reduce_copy_row(&slot->row, slots->copy_stream);
    if (copies) {
        CudaSpan *span = cuda_timing_begin_copy(context, slots->copy_stream, "copy: frame");
        CUDA_CHECK(cudaEventRecord(slot->copy_begun, slots->copy_stream));
        copy_quantities(context, request, slots->copy_stream);
        cuda_timing_end_copy(span, slots->copy_stream);
    }
    CUDA_CHECK(cudaEventRecord(slot->copied, slots->copy_stream));
    count_up(slots, &slot->n_issued);
}

void cuda_output_abandon(CudaContext *context) {
    CudaSlots *slots = &context->slots;
    pthread_mutex_lock(&slots->mutex);
    slots->abandoned = true;
    pthread_cond_broadcast(&slots->issued);
    pthread_mutex_unlock(&slots->mutex);
}

/* --- the thread that waits ------------------------------------------------------------------------------------------- */

/* Waits for one issue of the slot, the next after `last`; 0: there will be none. */
static int64_t wait_for_issue(CudaSlots *slots, CudaSlot *slot, int64_t last) {
    pthread_mutex_lock(&slots->mutex);
    while ((slot->n_issued == last || slot->n_issued != slot->n_begun) && !slots->abandoned)
        pthread_cond_wait(&slots->issued, &slots->mutex);
    const int64_t issue = slot->n_issued != last ? slot->n_issued : 0;
    pthread_mutex_unlock(&slots->mutex);
    if (issue) CUDA_CHECK(cudaEventSynchronize(slot->copied));
    return issue;
}

/* Whether the issue had effect. When a later one has begun, the slot is being written again. */
static bool is_filled(CudaSlots *slots, const CudaSlot *slot, int64_t issue, int64_t step) {
    pthread_mutex_lock(&slots->mutex);
    const bool filled = slot->n_begun == issue && slot->row.h_head->step == step;
    pthread_mutex_unlock(&slots->mutex);
    return filled;
}

static MdFrame frame_of(const CudaContext *context, const MdOutputRequest *request) {
    const CudaSlots *slots = &context->slots;
    MdFrame frame = {.step = request->step, .precision = slots->spec.precision};
    void *arrays[4] = {NULL};
    for (int k = 0; k < 4; k++)
        if (request->quantities >> k & 1)
            arrays[k] = slots->h_frames + (size_t)request->frame * slots->frame_bytes +
                        quantity_offset(context, &slots->spec, 1u << k);
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
    CudaSlots *slots = &context->slots;
    CudaSlot *slot = &slots->slots[request->row];
    CUDA_CHECK(cudaSetDevice(context->device)); /* of this thread */
    *output = (MdOutput){.filled = false, .fault = {-1, -1, NAN}};
    int64_t issue = slot->n_seen;
    do {
        issue = wait_for_issue(slots, slot, issue);
        if (!issue) return MD_OK;
    } while (!is_filled(slots, slot, issue, request->step));
    slot->n_seen = issue;
    output->filled = true;
    cuda_reduce_read_row(&slot->row, &output->sums);
    if (slot->row.h_head->fault_step != ~0ull)
        output->fault =
            cuda_integrate_read_fault(slot->row.h_head->fault_step, slot->row.h_head->fault_key, slot->step_offset);
    if (request->frame < 0) return MD_OK;
    output->frame = frame_of(context, request);
    if (!is_mapped(context)) output->copy_s = copy_seconds(slot);
    return MD_OK;
}
