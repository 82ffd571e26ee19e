/* Stage gather, host side; the kernels and their ladder stand in kernels/gather.cu. */
#include <string.h>

#include "cuda/context.h"

/* Each upload waits, on the stream, for the kernel that reads the one before. */
static void import(CudaContext *context, CudaKernelId kernel, const void *host, size_t bytes) {
    CUDA_CHECK(cudaMemcpyAsync(context->staging, host, bytes, cudaMemcpyDefault, context->stream));
    context->arguments.in = context->staging;
    cuda_launch(context, kernel, context->n_atoms);
}

static void import_parameters(CudaContext *context) {
    int n_pairs = context->potential.n_types * context->potential.n_types;
    size_t size = context->pair_size == sizeof(float) ? sizeof(MdPair_f) : sizeof(MdPair_d);
    for (int k = 0; k < n_pairs; k++) {
        MdPair_f single = md_pair_to_single(context->potential.pair[k]);
        const void *pair = size == sizeof single ? (const void *)&single : (const void *)&context->potential.pair[k];
        memcpy(context->pair_table + (size_t)k * size, pair, size);
    }
    CUDA_CHECK(cudaMemcpyAsync((void *)(uintptr_t)context->arguments.pairs, context->pair_table, (size_t)n_pairs * size,
                               cudaMemcpyDefault, context->stream));
    cuda_kernels_set_parameters(context);
}

void cuda_gather_import(CudaContext *context, const MdSystem *system) {
    size_t n = (size_t)context->n_atoms, vectors = 3 * n * sizeof(double);
    for (int t = 0; t < system->potential.n_types; t++) context->arguments.inverse_mass_of[t] = 1 / system->mass[t];
    cuda_memory_begin(context, CUDA_STAGING);
    import(context, CUDA_K_gather_import_types, system->type, n * sizeof(int32_t));
    import(context, CUDA_K_gather_import_positions, system->position, vectors);
    import(context, CUDA_K_gather_import_velocities, system->velocity, vectors);
    import(context, CUDA_K_gather_import_images, system->image, 3 * n * sizeof(int32_t));
    import_parameters(context);
    cuda_memory_end(context, CUDA_STAGING);
    CUDA_CHECK(cudaStreamSynchronize(context->stream)); /* host arrays may go now */
}

static void export(CudaContext *context, CudaKernelId kernel, void *host, size_t bytes) {
    cuda_launch(context, kernel, context->n_atoms);
    cuda_memory_download(context, host, context->staging, bytes);
}

void cuda_gather_frame(CudaContext *context, MdFrame *frame) {
    const bool twice = frame->precision == MD_FILE_PRECISION_DOUBLE;
    const size_t n = 3 * (size_t)context->n_atoms, reals = n * (twice ? sizeof(double) : sizeof(float));
    CudaArguments *a = &context->arguments;
    const CudaKernelId positions = twice ? CUDA_K_gather_positions_double : CUDA_K_gather_positions_single;
    cuda_timing_begin(context, CUDA_GATHER);
    cuda_memory_begin(context, CUDA_STAGING);
    if (frame->force) cuda_memory_need_forces(context);
    a->out = context->staging;
    a->image = NULL;
    if (frame->position) export(context, positions, frame->position, reals);
    if (frame->image) {
        a->image = context->staging;
        export(context, positions, frame->image, n * sizeof(int32_t));
    }
    if (frame->velocity)
        export(context, twice ? CUDA_K_gather_velocities_double : CUDA_K_gather_velocities_single, frame->velocity,
               reals);
    if (frame->force)
        export(context, twice ? CUDA_K_gather_forces_double : CUDA_K_gather_forces_single, frame->force, reals);
    cuda_memory_end(context, CUDA_STAGING);
    cuda_timing_end(context);
    cuda_wait_stream(context, "wait: frame"); /* also when nothing was asked for */
}
