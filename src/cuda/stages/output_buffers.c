/* The buffers of the output (output.c): sums for each slot of the ring, and output.slots frame buffers; each on the device, and
 * on the host where it arrives.
 *
 * Ladder
 *   output.host_memory=pageable       the driver has no address that the copy engine could use: it copies in pieces to its
 *                                     own buffer, and cudaMemcpyAsync returns when that is done. The thread
 *                                     of the steps waits for the device at every frame
 *   output.host_memory=pinned         pages that do not move: the copy engine writes to them directly
 *   output.host_memory=write-combined the same without snooping the caches of the processor, which gains a little on the
 *                                     bus; reads by the host go past the caches too, so that the writer crawls
 *   output.host_memory=mapped         no copy, no buffer on the device: the gather kernels write across the bus, and occupy
 *                                     the device for as long as that takes
 * Sums are small and always pinned. */
#include "base/memory.h"
#include "cuda/stages/stages.h"

static bool is_mapped(const CudaContext *context) {
    return context->config.output_host_memory == MD_HOST_MEMORY_MAPPED;
}

static bool copies_aside(const CudaContext *context) {
    return context->config.output_pipeline == MD_ON && context->config.output_streams == MD_STREAMS_2 &&
           !is_mapped(context);
}

/* --- sizes ---------------------------------------------------------------------------------------------------------- */

/* Rows joined by GPUs are in the order of ids, without an array of ids. */
static size_t frame_bytes(const CudaContext *context, int64_t room) {
    return cuda_frame_offset(context, cuda_output_joins(context) ? CUDA_FRAME_IDS : CUDA_FRAME_COLUMNS, room);
}

static int64_t rows_to_write(const CudaContext *context) {
    return md_ranks_frame_room(context->comm, context->n_all, context->output.spec.by_blocks);
}

/* Of a frame at first; one in which more atoms come to be grows. */
static int64_t first_room(const CudaContext *context) {
    if (cuda_output_joins(context)) return rows_to_write(context);
    return context->comm ? context->n_share + context->n_share / 10 : context->n_all;
}

static int64_t most_room(const CudaContext *context) {
    int64_t most = first_room(context);
    for (int k = 0; context->output.frames && k < context->output.spec.n_frames; k++)
        if (context->output.frames[k].room > most) most = context->output.frames[k].room;
    return most;
}

static uint64_t whole_bytes(const CudaContext *context) {
    const MdRingSpec *spec = &context->output.spec;
    if (!context->comm || cuda_output_joins(context) || spec->n_frames == 0) return 0;
    const int64_t n = rows_to_write(context);
    return md_frame_bytes(n, spec->quantities, spec->precision) + (uint64_t)n * sizeof(int32_t);
}

uint64_t cuda_output_host_bytes(const CudaContext *context) {
    const CudaOutput *output = &context->output;
    return (uint64_t)output->spec.n_slots * (cuda_reduce_row_bytes(context) + sizeof(CudaSlot)) +
           (uint64_t)output->spec.n_frames * frame_bytes(context, most_room(context)) + whole_bytes(context);
}

MdMemory cuda_output_estimate(CudaContext *context, const MdRingSpec *spec) {
    context->output.spec = *spec;
    const uint64_t rows = (uint64_t)spec->n_slots * cuda_reduce_row_bytes(context),
                   frames = (uint64_t)spec->n_frames * frame_bytes(context, first_room(context));
    uint64_t device = rows + (is_mapped(context) ? 0 : frames);
    if (cuda_output_joins(context) && spec->n_frames > 0)
        device = rows + cuda_frame_rows_bytes(context) + (is_mapped(context) ? 0 : frames / (uint64_t)spec->n_frames);
    const bool on_host = context->config.memory_space == MD_SPACE_MAPPED;
    return (MdMemory){.host_bytes = cuda_output_host_bytes(context) + (on_host ? device : 0),
                      .device_bytes = on_host ? 0 : device};
}

/* --- making ---------------------------------------------------------------------------------------------------------- */

static MdStatus allocate_host_frame(CudaContext *context, CudaFrameBuffer *frame, size_t bytes) {
    const int memory = context->config.output_host_memory;
    if (memory == MD_HOST_MEMORY_PAGEABLE) {
        frame->host = md_alloc(bytes, 1, "frame buffers");
        return MD_OK;
    }
    const unsigned flags = memory == MD_HOST_MEMORY_WRITE_COMBINED ? cudaHostAllocWriteCombined
                           : is_mapped(context)                    ? cudaHostAllocMapped
                                                                   : cudaHostAllocDefault;
    const cudaError_t error = cudaHostAlloc((void **)&frame->host, bytes, flags);
    if (error != cudaErrorMemoryAllocation) {
        CUDA_CHECK(error);
        return MD_OK;
    }
    frame->host = NULL;
    (void)cudaGetLastError(); /* reported here; the next launch must not find it */
    return md_fail(context->errors, MD_ERROR_INPUT,
                   "output.slots: the system has no %.1f MiB of pinned memory for a frame: take fewer slots, "
                   "output.host_memory=pageable, or fewer quantities in a frame",
                   (double)bytes / 1048576);
}

static MdStatus allocate_frame(CudaContext *context, CudaFrameBuffer *frame, int64_t room) {
    const size_t bytes = frame_bytes(context, room);
    frame->room = room;
    MdStatus status = allocate_host_frame(context, frame, bytes > 0 ? bytes : 1);
    if (status != MD_OK) return status;
    if (is_mapped(context)) {
        CUDA_CHECK(cudaHostGetDevicePointer((void **)&frame->device, frame->host, 0));
        return MD_OK;
    }
    if (bytes == 0) return MD_OK;                                       /* of a rank that writes none */
    if (cuda_output_joins(context) && frame > context->output.frames) { /* one for all: it may be as large as the box */
        frame->device = context->output.frames->device;
        return MD_OK;
    }
    status = cuda_allocate(context, (void **)&frame->device, bytes, false, "frame buffers", MD_ERROR_INPUT);
    /* a buffer that a stopped device did not pack is copied too, and ignored */
    if (status == MD_OK) CUDA_CHECK(cudaMemsetAsync(frame->device, 0, bytes, context->stream));
    return status;
}

static void free_host_frame(const CudaContext *context, const CudaFrameBuffer *frame) {
    if (context->config.output_host_memory == MD_HOST_MEMORY_PAGEABLE) md_free(frame->host);
    else if (frame->host) CUDA_CHECK(cudaFreeHost(frame->host));
}

static MdStatus allocate_frames(CudaContext *context) {
    CudaOutput *output = &context->output;
    MdStatus status = MD_OK;
    output->frames = md_alloc((size_t)output->spec.n_frames, sizeof *output->frames, "frame buffers");
    for (int k = 0; k < output->spec.n_frames && status == MD_OK; k++)
        status = allocate_frame(context, &output->frames[k], first_room(context));
    if (status == MD_OK && whole_bytes(context) > 0)
        md_part_prepare(&output->whole, output->spec.quantities, output->spec.precision, rows_to_write(context));
    return status;
}

void cuda_output_fit(CudaContext *context, CudaFrameBuffer *frame) {
    frame->n = cuda_output_joins(context) ? frame->room : context->n_own;
    if (frame->n <= frame->room) return;
    CUDA_CHECK(cudaStreamSynchronize(context->output.copy_stream));
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    if (!is_mapped(context)) cuda_release(context, frame->device);
    free_host_frame(context, frame);
    if (allocate_frame(context, frame, frame->n + frame->n / 10) != MD_OK)
        md_panic("there is no memory for a frame of the %lld atoms that this process has come to have",
                 (long long)frame->n);
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

/* Rows that were not written have no id. */
static MdStatus allocate_joined(CudaContext *context) {
    CudaDomain *domain = &context->arguments.domain;
    domain->first_id = context->output.spec.by_blocks ? md_comm_block_begin(context->comm, context->n_all) : 0;
    domain->n_ids = rows_to_write(context);
    const size_t bytes = cuda_frame_rows_bytes(context);
    MdStatus status = cuda_allocate(context, &domain->frame_rows, bytes, false, "rows of a frame", MD_ERROR_INPUT);
    if (status == MD_OK) CUDA_CHECK(cudaMemsetAsync(domain->frame_rows, 0xff, bytes, context->stream));
    return status;
}

MdStatus cuda_output_create(void *opaque, MdRing *ring) {
    CudaContext *context = opaque;
    CudaOutput *output = &context->output;
    md_require(!output->slots);
    output->ring = ring;
    output->copies_frames = !is_mapped(context);
    output->copy_stream = context->stream;
    output->spec = ring->spec;
    MdStatus status = allocate_rows(context);
    if (output->spec.n_frames == 0) return status;
    if (cuda_output_joins(context)) {
        const bool released = cuda_peers_release(context, true);
        if (status == MD_OK) status = allocate_joined(context);
        status = cuda_peers_take(context, released, status);
    }
    if (status != MD_OK) return status;
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
    for (int k = 0; output->frames && k < output->spec.n_frames; k++) free_host_frame(context, &output->frames[k]);
    md_free(output->frames);
    md_part_free(&output->whole);
    if (output->h_rows) CUDA_CHECK(cudaFreeHost(output->h_rows));
    md_free(output->slots);
}
