/* The buffers of the output (output.c): sums for each slot of the ring, and output.slots frame buffers; each on the device, and
 * on the host where it arrives.
 *
 * Ladder
 *   output.host_memory=pageable       the driver has no address that the copy engine could use: it copies in pieces to a
 *                                     buffer of its own, and cudaMemcpyAsync comes back when that is done. The thread
 *                                     of the steps waits for the device at every frame
 *   output.host_memory=pinned         pages that stay where they are: the copy engine writes to them by itself
 *   output.host_memory=write-combined the same without snooping the caches of the processor, which gains a little on the
 *                                     bus; reads by the host go past the caches too, so that the writer crawls
 *   output.host_memory=mapped         no copy, no buffer on the device: the gather kernels write across the bus, and occupy
 *                                     the device for as long as that takes
 * Sums are small and always pinned. */
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

static void plan(CudaContext *context, const MdRingSpec *spec) {
    CudaOutput *output = &context->output;
    output->spec = *spec;
    for (int k = 0; k < CUDA_N_QUANTITIES; k++) {
        output->bytes[k] = (size_t)md_frame_bytes(context->n_atoms, spec->quantities & 1u << k, spec->precision);
        output->offset[k] = output->frame_bytes;
        output->frame_bytes += (output->bytes[k] + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    }
}

uint64_t cuda_output_host_bytes(const CudaContext *context) {
    const CudaOutput *output = &context->output;
    return (uint64_t)output->spec.n_slots * (cuda_reduce_row_bytes(context) + sizeof(CudaSlot)) +
           (uint64_t)output->spec.n_frames * output->frame_bytes;
}

MdMemory cuda_output_estimate(CudaContext *context, const MdRingSpec *spec) {
    plan(context, spec);
    const uint64_t rows = (uint64_t)spec->n_slots * cuda_reduce_row_bytes(context);
    const uint64_t device = rows + (is_mapped(context) ? 0 : (uint64_t)spec->n_frames * context->output.frame_bytes);
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
    /* what a stopped device did not pack is copied all the same, and thrown away */
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
    output->copies_frames = !is_mapped(context);
    output->copy_stream = context->stream;
    plan(context, &ring->spec);
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
