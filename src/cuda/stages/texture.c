/* Texture objects over the positions, for memory.load = texture. */
#include "cuda/stages/stages.h"

static struct cudaChannelFormatDesc texel_format(const CudaContext *context) {
    const bool twice = context->config.run_precision == MD_PRECISION_DOUBLE;
    const bool four = context->config.memory_layout == MD_LAYOUT_VEC4;
    return (struct cudaChannelFormatDesc){.x = 32,
                                          .y = four || twice ? 32 : 0,
                                          .z = four ? 32 : 0,
                                          .w = four ? 32 : 0,
                                          .f = twice ? cudaChannelFormatKindSigned : cudaChannelFormatKindFloat};
}

void cuda_textures_create(CudaContext *context) {
    CudaParticles *p = &context->arguments.now;
    if (context->config.memory_load != MD_LOAD_TEXTURE) return;
    const size_t copies = context->config.launch_fuse == MD_FUSE_STEP ? 2 : 1; /* that forces are computed from */
    const int layout = context->config.memory_layout;
    const size_t numbers = layout == MD_LAYOUT_SOA ? 1 : layout == MD_LAYOUT_AOS ? 3 : 4;
    for (int part = 0; part < 3 && p->position.part[part]; part++) {
        struct cudaResourceDesc resource = {.resType = cudaResourceTypeLinear};
        resource.res.linear.devPtr = p->position.part[part];
        resource.res.linear.desc = texel_format(context);
        resource.res.linear.sizeInBytes = copies * (size_t)context->room * numbers * context->facts.pair_size;
        const struct cudaTextureDesc how = {.readMode = cudaReadModeElementType};
        cudaTextureObject_t texture;
        CUDA_CHECK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
        p->texture[part] = texture;
    }
}

void cuda_textures_destroy(CudaContext *context) {
    CudaParticles *p = &context->arguments.now;
    for (int part = 0; part < 3; part++) {
        if (p->texture[part]) CUDA_CHECK(cudaDestroyTextureObject(p->texture[part]));
        p->texture[part] = 0;
    }
}
