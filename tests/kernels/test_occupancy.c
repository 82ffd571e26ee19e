/* What limits the occupancy of a kernel: values of CUDA's occupancy calculator for GPUs that need not be here, and, where the
 * toolkit has that calculator (cuda_occupancy.h), all of its answers over a grid of blocks. What the driver says of kernels that
 * are loaded: test_cuda. */
#include <stdio.h>
#include <string.h>

#include "check.h"

#ifdef MDMINI_HAVE_CUDA
#include <cuda_occupancy.h>

#include "cuda/device/occupancy.h"

static const CudaMultiprocessor gpus[] = {
    {70, 32, 2048, 65536, 96 << 10, 0},      {75, 16, 1024, 65536, 64 << 10, 0},
    {80, 32, 2048, 65536, 164 << 10, 1024},  {86, 16, 1536, 65536, 100 << 10, 1024},
    {89, 24, 1536, 65536, 100 << 10, 1024},  {90, 32, 2048, 65536, 228 << 10, 1024},
    {100, 32, 2048, 65536, 228 << 10, 1024}, {120, 24, 1536, 65536, 100 << 10, 1024}};
enum { N_GPUS = sizeof gpus / sizeof gpus[0] };

/* --- known values ---------------------------------------------------------------------------------------------------- */

static const struct {
    int compute_capability, block_size, registers;
    size_t shared_bytes;
    int blocks;
    const char *limits;
} known[] = {{90, 256, 32, 0, 8, "full"},
             {90, 256, 33, 0, 6, "registers"}, /* 40 a thread are taken, which is 48 warps */
             {90, 256, 64, 0, 4, "registers"},
             {90, 256, 65, 0, 3, "registers"},
             {90, 32, 16, 0, 32, "blocks"},
             {90, 32, 64, 0, 32, "blocks, registers"},
             {90, 128, 32, 20 << 10, 10, "shared"},
             {90, 768, 32, 0, 2, "threads, registers"},
             {90, 96, 168, 0, 4, "registers"}, /* 12 warps: 3 of each partition */
             {86, 1024, 32, 0, 1, "threads"},
             {86, 512, 40, 0, 3, "full"},
             {86, 64, 32, 0, 16, "blocks"},
             {86, 128, 32, 9 << 10, 10, "shared"},
             {75, 1024, 64, 0, 1, "full"},
             {75, 128, 32, 8192, 8, "full"},
             {75, 128, 32, 8193, 7, "shared"}, /* 8,448 are taken */
             {75, 256, 80, 0, 3, "registers"}};

static const CudaMultiprocessor *gpu_of(int compute_capability) {
    int k = 0;
    while (gpus[k].compute_capability != compute_capability) k++;
    return &gpus[k];
}

static void test_known(void) {
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        const CudaMultiprocessor *sm = gpu_of(known[k].compute_capability);
        char limits[CUDA_LIMITS_BYTES];
        const CudaOccupancy o = cuda_occupancy(sm, known[k].block_size, known[k].registers, known[k].shared_bytes);
        cuda_occupancy_limits(sm, &o, known[k].block_size, limits);
        check_context("%d: blocks of %d, %d registers, %zu bytes: %d blocks, limited by %s", sm->compute_capability,
                      known[k].block_size, known[k].registers, known[k].shared_bytes, cuda_occupancy_blocks(&o),
                      limits);
        CHECK(cuda_occupancy_blocks(&o) == known[k].blocks);
        CHECK(strcmp(limits, known[k].limits) == 0);
    }
}

/* --- the calculator of the toolkit ----------------------------------------------------------------------------------- */

/* False: it does not know such a GPU. */
static bool calculate(const CudaMultiprocessor *sm, int block, int registers, size_t shared, cudaOccResult *result) {
    const cudaOccDeviceProp gpu = {.computeMajor = sm->compute_capability / 10,
                                   .computeMinor = sm->compute_capability % 10,
                                   .maxThreadsPerBlock = 1024,
                                   .maxThreadsPerMultiprocessor = sm->threads,
                                   .regsPerBlock = sm->registers,
                                   .regsPerMultiprocessor = sm->registers,
                                   .warpSize = 32,
                                   .sharedMemPerBlock = sm->shared_bytes,
                                   .sharedMemPerMultiprocessor = sm->shared_bytes,
                                   .sharedMemPerBlockOptin = sm->shared_bytes,
                                   .reservedSharedMemPerBlock = sm->reserved_bytes,
                                   .numSms = 1};
    const cudaOccFuncAttributes kernel = {.maxThreadsPerBlock = 1024,
                                          .numRegs = registers,
                                          .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
                                          .maxDynamicSharedSizeBytes = shared};
    const cudaOccDeviceState state = {.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};
    return cudaOccMaxActiveBlocksPerMultiprocessor(result, &gpu, &kernel, &state, block, shared) == CUDA_OCC_SUCCESS;
}

static void compare(const CudaMultiprocessor *sm, int block, int registers, size_t shared) {
    cudaOccResult theirs;
    if (!calculate(sm, block, registers, shared, &theirs)) return;
    const CudaOccupancy ours = cuda_occupancy(sm, block, registers, shared);
    check_context("%d: blocks of %d, %d registers, %zu bytes: by blocks %d (%d), threads %d (%d), registers %d (%d), "
                  "shared %d (%d)",
                  sm->compute_capability, block, registers, shared, ours.by_blocks, theirs.blockLimitBlocks,
                  ours.by_threads, theirs.blockLimitWarps, ours.by_registers, theirs.blockLimitRegs, ours.by_shared,
                  theirs.blockLimitSharedMem);
    CHECK(ours.by_blocks == theirs.blockLimitBlocks);
    CHECK(ours.by_threads == theirs.blockLimitWarps);
    CHECK(ours.by_registers == theirs.blockLimitRegs);
    CHECK(ours.by_shared == theirs.blockLimitSharedMem);
    CHECK(cuda_occupancy_blocks(&ours) == theirs.activeBlocksPerMultiprocessor);
}

static void test_calculator(void) {
    static const size_t shared[] = {0, 1, 1000, 4096, 8193, 16384, 33000, 49152, 60000};
    for (int g = 0; g < N_GPUS; g++)
        for (int block = 32; block <= 1024; block += 32)
            for (int registers = 16; registers <= 255; registers++) {
                if (registers * block > gpus[g].registers) continue; /* no such kernel can be launched */
                for (size_t k = 0; k < sizeof shared / sizeof shared[0]; k++)
                    compare(&gpus[g], block, registers, shared[k]);
            }
}

int main(void) {
    test_known();
    test_calculator();
    return check_finish();
}
#else
int main(void) {
    printf("skipped: this build has no cuda backend\n");
    return 77;
}
#endif
