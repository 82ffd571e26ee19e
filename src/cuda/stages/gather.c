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

/* --- rows in memory of the host, so many at a time as the staging memory holds ---------------------------------------- */

/* The kernel for the rows from `first` on. naive: each thread has the particle of its number, which may be in any row. */
static void launch_rows(CudaContext *context, CudaKernelId kernel, int64_t first, bool is_scattered) {
    context->arguments.first_row = (int32_t)first;
    context->arguments.n_rows = CUDA_STAGED_ROWS;
    cuda_launch(context, kernel, is_scattered ? context->room : cuda_staged_rows(context));
}

typedef struct Download {
    CudaKernelId kernel;
    bool is_scattered;
} Download;

static const void *packed_rows(CudaContext *context, const void *of, size_t k) {
    const Download *download = of;
    context->arguments.out = context->staging;
    launch_rows(context, download->kernel, (int64_t)k * CUDA_STAGED_ROWS, download->is_scattered);
    return context->staging;
}

static void download_rows(CudaContext *context, Download download, void *host, size_t row_bytes) {
    cuda_memory_download_chunks(context, host, (size_t)context->n_own * row_bytes, CUDA_STAGED_ROWS * row_bytes,
                                packed_rows, &download);
}

void cuda_gather_download(CudaContext *context, CudaKernelId kernel, void *host, size_t row_bytes) {
    download_rows(context, (Download){kernel, false}, host, row_bytes);
}

void cuda_gather_upload(CudaContext *context, CudaKernelId kernel, const void *host, size_t row_bytes) {
    const int64_t n = context->n_own;
    context->arguments.in = context->staging;
    for (int64_t first = 0; first < n; first += CUDA_STAGED_ROWS) {
        const int64_t rows = n - first < CUDA_STAGED_ROWS ? n - first : CUDA_STAGED_ROWS;
        CUDA_CHECK(cudaMemcpyAsync(context->staging, (const char *)host + (size_t)first * row_bytes,
                                   (size_t)rows * row_bytes, cudaMemcpyDefault, context->stream));
        launch_rows(context, kernel, first, false);
    }
}

/* --- quantities ------------------------------------------------------------------------------------------------------- */

static void need(CudaContext *context, int k) {
    if (1u << k == MD_FRAME_FORCE) cuda_memory_need_forces(context);
    if (context->places_stale && !context->comm && context->config.output_pack != MD_PACK_NAIVE)
        cuda_launch(context, CUDA_K_gather_places, context->room);
    context->places_stale = false;
}

/* All rows at once, into memory of the device. */
static void pack(CudaContext *context, CudaKernelId kernel, void *out) {
    context->arguments.out = out;
    context->arguments.first_row = 0;
    context->arguments.n_rows = context->room;
    cuda_launch(context, kernel, context->room);
}

void cuda_gather_quantity(CudaContext *context, int k, int precision, void *out) {
    need(context, k);
    pack(context, gather_kernels[k][precision == MD_FILE_PRECISION_DOUBLE], out);
}

/* The rows of this process, into memory of the host. */
static void gather_own(CudaContext *context, const MdFrame *frame) {
    void *const arrays[CUDA_N_QUANTITIES] = {frame->position, frame->velocity, frame->force, frame->image};
    const bool is_naive = context->config.output_pack == MD_PACK_NAIVE;
    cuda_timing_begin(context, CUDA_GATHER);
    cuda_memory_begin(context, CUDA_STAGING);
    for (int k = 0; k < CUDA_N_QUANTITIES; k++) {
        if (!arrays[k]) continue;
        need(context, k);
        download_rows(context, (Download){gather_kernels[k][frame->precision == MD_FILE_PRECISION_DOUBLE], is_naive},
                      arrays[k], (size_t)md_frame_bytes(1, 1u << k, frame->precision));
    }
    cuda_memory_end(context, CUDA_STAGING);
    cuda_timing_end(context);
    cuda_wait_stream(context, "wait: frame"); /* also when nothing was asked for */
}

void cuda_gather_ids(CudaContext *context, void *out) { pack(context, CUDA_K_gather_ids, out); }

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
    cuda_gather_download(context, CUDA_K_gather_ids, part.ids, sizeof *part.ids);
    md_ranks_deal(context->comm, &part, context->n_all, frame);
    md_part_free(&part);
}
