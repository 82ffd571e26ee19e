/* Launches of kernels. */
#include "cuda/stages/kernels.h"

/* Books and checks a launch; into a graph it is neither run nor to be waited for. */
static void check_launch(CudaContext *context, CudaKernelId id, CUresult result) {
    if (context->capturing) context->capturing->launches[id]++;
    else context->kernels[id].launches++;
    if (context->config.check_kernels == MD_CHECK_KERNELS_OFF) {
        if (result != CUDA_SUCCESS && context->refused == CUDA_SUCCESS) {
            context->refused = result;
            context->refused_kernel = cuda_kernel_symbol(id);
        }
        return;
    }
    cuda_driver_check(&context->driver, context->device, result, cuda_kernel_symbol(id), __FILE__, __LINE__);
    if (context->config.check_kernels == MD_CHECK_KERNELS_SYNC)
        cuda_check(cudaStreamSynchronize(context->stream), cuda_kernel_symbol(id), __FILE__, __LINE__);
}

void cuda_kernels_check(const CudaContext *context) {
    cuda_driver_check(&context->driver, context->device, context->refused, context->refused_kernel, __FILE__, __LINE__);
}

/* together: all blocks must be there at the same time. */
static void launch(CudaContext *context, CudaKernelId id, int64_t n_blocks, bool together) {
    const CudaKernel *kernel = &context->kernels[id];
    void *parameters[] = {&context->arguments, context->pair_table}; /* some kernels take only the first */
    const unsigned grid[] = {(unsigned)n_blocks, 1}, block[] = {(unsigned)kernel->block_size, 1};
    const unsigned shared = (unsigned)kernel->dynamic_shared;
    md_require(kernel->function != NULL);
    check_launch(context, id,
                 together ? context->driver.launch_cooperative(kernel->function, grid[0], 1, 1, block[0], 1, 1, shared,
                                                               context->stream, parameters)
                          : cuda_driver_launch(&context->driver, kernel->function, grid, block, shared, context->stream,
                                               false, parameters));
}

/* No more than the GPU holds at once. */
static int64_t at_once(const CudaContext *context, CudaKernelId id, int64_t n_blocks) {
    const int64_t most = (int64_t)context->kernels[id].blocks_per_sm * context->n_sms;
    md_require(most > 0);
    return n_blocks < most ? n_blocks : most;
}

void cuda_launch_blocks(CudaContext *context, CudaKernelId id, int64_t n_blocks) {
    launch(context, id, n_blocks, false);
}

void cuda_launch_filling(CudaContext *context, CudaKernelId id, int64_t n_blocks) {
    launch(context, id, at_once(context, id, n_blocks), false);
}

void cuda_launch_resident(CudaContext *context, CudaKernelId id, int64_t n_blocks) {
    launch(context, id, at_once(context, id, n_blocks), true);
}

void cuda_launch(CudaContext *context, CudaKernelId id, int64_t n_threads) {
    launch(context, id, cuda_blocks(n_threads, context->kernels[id].block_size), false);
}
