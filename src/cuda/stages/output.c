/* The output of the cuda backend: how sums and frames reach the host while the steps go on. Owners of a slot:
 * backend/ring.h.
 *
 * The producer (cuda_output_issue) queues on the compute stream, after the step: the sums, into the device buffer of the slot;
 * the frame by id in the layout of the file (kernels/gather.cu), into a device buffer; an event, `packed`. The copy stream waits
 * for it and brings both to the host (output_buffers.c); at its end another event, `copied`, for which the consumer
 * (cuda_output_wait) waits. So the next step runs while a copy engine reads what the last one left, and the thread of the steps
 * issues some ten calls and does not wait. Several processes: on each rank that writes, a kernel joins its rows (join_frame).
 * With parallel.transport = direct it reads the packed rows of each rank after a barrier of all GPUs; NCCL brings them to rank 0.
 *
 * Ladder
 *   output.pipeline=off    one slot, in the compute stream; the caller waits at once
 *   output.streams=1       the next step waits for the copy
 *   output.streams=2       it does not: the copy has its own stream
 *
 * A device that stops itself (batches/steps.c) lets everything after it pass without effect; the sums then arrive with step
 * -1, and the slot is SKIPPED. */
#include <math.h>

#include "base/memory.h"
#include "cuda/stages/stages.h"

/* --- the producer ---------------------------------------------------------------------------------------------------- */

/* Whether a column of the frame buffer is used. */
static bool has(const CudaContext *context, const MdOutputRequest *request, int k) {
    return k == CUDA_FRAME_IDS ? context->comm && !cuda_output_joins(context) : request->quantities >> k & 1;
}

/* Of the own atoms; of several processes in the order of memory, with their ids. */
static void pack_rows(CudaContext *context, const MdOutputRequest *request, char *rows, int64_t room) {
    for (int k = 0; k < CUDA_N_QUANTITIES; k++)
        if (has(context, request, k))
            cuda_gather_quantity(context, k, context->output.spec.precision,
                                 rows + cuda_frame_offset(context, k, room));
    if (context->comm) cuda_gather_ids(context, rows + cuda_frame_offset(context, CUDA_FRAME_IDS, room));
}

/* parallel.transport = nccl: the rows of all to rank 0, column by column, rank by rank. All hosts know how many atoms they have. */
static void send_rows(CudaContext *context, const MdOutputRequest *request) {
    CudaNccl *nccl = context->halo.nccl;
    CudaDomain *domain = &context->arguments.domain;
    const int size = md_comm_size(context->comm), rank = context->domain.rank;
    int32_t *counts = md_alloc((size_t)size, sizeof *counts, "rows of a frame");
    const int32_t own = context->n_own;
    md_comm_allgather(context->comm, &own, sizeof own, counts);
    cuda_nccl_begin(nccl);
    for (int k = 0; k < CUDA_FRAME_COLUMNS; k++) {
        char *rows = (char *)domain->frame_rows + cuda_frame_offset(context, k, cuda_frame_rows(context));
        if (k != CUDA_FRAME_IDS && !has(context, request, k)) continue;
        if (rank > 0 && own > 0)
            cuda_nccl_send(nccl, rows, cuda_frame_column_bytes(context, k, own), 0, context->stream);
        for (int from = 1; from < size && rank == 0; from++) {
            rows += cuda_frame_column_bytes(context, k, counts[from - 1]);
            if (counts[from] > 0)
                cuda_nccl_receive(nccl, rows, cuda_frame_column_bytes(context, k, counts[from]), from, context->stream);
        }
    }
    cuda_nccl_end(nccl, context->stream, false);
    domain->frame_ids = (char *)domain->frame_rows + cuda_frame_offset(context, CUDA_FRAME_IDS, context->n_all);
    domain->n_frame_rows = context->n_all;
    md_free(counts);
}

/* parallel.transport = direct, nccl: the rows that this rank writes, from those of all. */
static void join_frame(CudaContext *context, const MdOutputRequest *request, const CudaFrameBuffer *frame) {
    const bool is_direct = context->config.parallel_transport == MD_TRANSPORT_DIRECT;
    if (is_direct) cuda_halo_barrier(context); /* the rows of the frame before have been read */
    pack_rows(context, request, context->arguments.domain.frame_rows, cuda_frame_rows(context));
    if (is_direct) cuda_halo_barrier(context); /* all have packed theirs */
    else send_rows(context, request);
    if (context->output.joined_copied)
        CUDA_CHECK(cudaStreamWaitEvent(context->stream, context->output.joined_copied, 0));
    context->output.joined_copied = context->output.slots[request->slot].copied;
    for (int k = 0; k < CUDA_N_QUANTITIES && frame->n > 0; k++)
        if (has(context, request, k))
            cuda_gather_joined(context, k, context->output.spec.precision,
                               frame->device + cuda_frame_offset(context, k, frame->room));
}

static void pack_frame(CudaContext *context, const MdOutputRequest *request) {
    CudaFrameBuffer *frame = &context->output.frames[request->frame];
    cuda_output_fit(context, frame);
    cuda_timing_begin(context, CUDA_GATHER);
    if (cuda_output_joins(context)) join_frame(context, request, frame);
    else pack_rows(context, request, frame->device, frame->room);
    cuda_timing_end(context);
}

/* Each quantity separately and to its last byte: the bytes between them are not written. */
static void copy_frame(const CudaContext *context, const MdOutputRequest *request) {
    const CudaFrameBuffer *frame = &context->output.frames[request->frame];
    for (int k = 0; k < CUDA_FRAME_COLUMNS; k++) {
        const size_t offset = cuda_frame_offset(context, k, frame->room),
                     bytes = cuda_frame_column_bytes(context, k, frame->n);
        if (has(context, request, k) && bytes > 0)
            CUDA_CHECK(cudaMemcpyAsync(frame->host + offset, frame->device + offset, bytes, cudaMemcpyDefault,
                                       context->output.copy_stream));
    }
}

void cuda_output_issue(CudaContext *context, const MdOutputRequest *request) {
    CudaOutput *output = &context->output;
    CudaSlot *slot = &output->slots[request->slot];
    md_ring_begin(output->ring, request);
    slot->step_offset = context->step_offset;
    /* The copy of a skipped issue may still read the buffer that is packed now. */
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
        copy_frame(context, request);
        cuda_timing_end_copy(span, output->copy_stream);
    }
    CUDA_CHECK(cudaEventRecord(slot->copied, output->copy_stream));
    md_ring_end(output->ring, request);
}

/* --- the consumer ---------------------------------------------------------------------------------------------------- */

/* The rows of this process: of its own atoms, or by id the rows that it writes. */
static MdPart part_of(const CudaContext *context, const MdOutputRequest *request) {
    const CudaFrameBuffer *frame = &context->output.frames[request->frame];
    void *columns[CUDA_FRAME_COLUMNS];
    for (int k = 0; k < CUDA_FRAME_COLUMNS; k++)
        columns[k] = has(context, request, k) && frame->room > 0
                         ? frame->host + cuda_frame_offset(context, k, frame->room)
                         : NULL;
    return (MdPart){.frame = {.step = request->step,
                              .precision = context->output.spec.precision,
                              .position = columns[0],
                              .velocity = columns[1],
                              .force = columns[2],
                              .image = columns[3]},
                    .ids = columns[CUDA_FRAME_IDS],
                    .n = frame->n};
}

/* The rows that this process writes, by id. */
static MdFrame whole_of(CudaContext *context, const MdOutputRequest *request, const MdPart *part) {
    const MdFrame *whole = &context->output.whole.frame;
    const MdFrame frame = {.step = request->step,
                           .precision = context->output.spec.precision,
                           .position = has(context, request, 0) ? whole->position : NULL,
                           .velocity = has(context, request, 1) ? whole->velocity : NULL,
                           .force = has(context, request, 2) ? whole->force : NULL,
                           .image = has(context, request, 3) ? whole->image : NULL};
    md_ranks_send_frame(context->output.ring->comm, part, context->n_all, context->output.spec.by_blocks, &frame);
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
    cuda_check_peers(context); /* ranks that have not answered in time have old positions */
    output->arrived = true;
    MdSumParts sums;
    cuda_reduce_read_row(&slot->row, &sums);
    if (head->fault_step != ~0ull)
        output->fault = cuda_integrate_read_fault(head->fault_step, head->fault_key, slot->step_offset);
    output->sums = md_ranks_sums(context->output.ring->comm, &sums);
    output->fault = md_ranks_first_fault(context->output.ring->comm, output->fault);
    if (request->frame < 0) return MD_OK;
    const MdPart part = part_of(context, request);
    output->frame = context->comm && !cuda_output_joins(context) ? whole_of(context, request, &part) : part.frame;
    if (context->output.copies_frames) output->copy_s = copy_seconds(slot);
    return MD_OK;
}
