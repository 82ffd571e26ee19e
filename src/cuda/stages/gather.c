/* Stage gather, host side; the kernels and their ladder stand in kernels/gather.cu. */
#include <string.h>

#include "cuda/stages/stages.h"

void cuda_gather_upload(CudaContext *context, CudaKernelId kernel, const void *host, size_t bytes) {
    CUDA_CHECK(cudaMemcpyAsync(context->staging, host, bytes, cudaMemcpyDefault, context->stream));
    context->arguments.in = context->staging;
    cuda_launch(context, kernel, context->n_atoms);
}

static void import_parameters(CudaContext *context) {
    int n_pairs = context->potential.n_types * context->potential.n_types;
    size_t size = context->facts.pair_size == sizeof(float) ? sizeof(MdPair_f) : sizeof(MdPair_d);
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
    cuda_gather_upload(context, CUDA_K_gather_import_types, system->type, n * sizeof(int32_t));
    cuda_gather_upload(context, CUDA_K_gather_import_positions, system->position, vectors);
    cuda_gather_upload(context, CUDA_K_gather_import_velocities, system->velocity, vectors);
    cuda_gather_upload(context, CUDA_K_gather_import_images, system->image, 3 * n * sizeof(int32_t));
    import_parameters(context);
    context->places_stale = true;
    cuda_memory_end(context, CUDA_STAGING);
    CUDA_CHECK(cudaStreamSynchronize(context->stream)); /* host arrays may go now */
}

/* The kernel of a quantity, by its bit, in single and double precision. */
static const CudaKernelId gather_kernels[4][2] = {
    {CUDA_K_gather_positions_single, CUDA_K_gather_positions_double},
    {CUDA_K_gather_velocities_single, CUDA_K_gather_velocities_double},
    {CUDA_K_gather_forces_single, CUDA_K_gather_forces_double},
    {CUDA_K_gather_images_single, CUDA_K_gather_images_double},
};

void cuda_gather_quantity(CudaContext *context, unsigned quantity, int precision, void *out) {
    int k = 0;
    while (1u << k != quantity) k++;
    if (quantity == MD_FRAME_FORCE) cuda_memory_need_forces(context);
    if (context->places_stale && context->config.output_pack != MD_PACK_NAIVE)
        cuda_launch(context, CUDA_K_gather_places, context->n_atoms);
    context->places_stale = false;
    context->arguments.out = out;
    cuda_launch(context, gather_kernels[k][precision == MD_FILE_PRECISION_DOUBLE], context->n_atoms);
}

void cuda_gather_frame(CudaContext *context, MdFrame *frame) {
    const bool twice = frame->precision == MD_FILE_PRECISION_DOUBLE;
    const size_t n = 3 * (size_t)context->n_atoms, real = twice ? sizeof(double) : sizeof(float);
    void *const arrays[4] = {frame->position, frame->velocity, frame->force, frame->image};
    cuda_timing_begin(context, CUDA_GATHER);
    cuda_memory_begin(context, CUDA_STAGING);
    for (int k = 0; k < 4; k++) {
        if (!arrays[k]) continue;
        cuda_gather_quantity(context, 1u << k, frame->precision, context->staging);
        cuda_memory_download(context, arrays[k], context->staging,
                             n * (1u << k == MD_FRAME_IMAGE ? sizeof(int32_t) : real));
    }
    cuda_memory_end(context, CUDA_STAGING);
    cuda_timing_end(context);
    cuda_wait_stream(context, "wait: frame"); /* also when nothing was asked for */
}
