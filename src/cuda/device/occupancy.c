/* The numbers of the occupancy calculator for compute capability 7.0 and newer: registers are given to whole warps, 256 at a
 * time, by the partition that runs the warp; shared memory is given to blocks, 128 bytes at a time, 256 before 8.0. */
#include "cuda/device/occupancy.h"

#include <limits.h>
#include <stdio.h>

#include "cuda/device/device.h"

enum { WARP = 32, PARTITIONS = 4, REGISTER_UNIT = 256 };

CudaMultiprocessor cuda_multiprocessor(int device) {
    return (CudaMultiprocessor){
        .compute_capability = 10 * cuda_device_attribute(device, cudaDevAttrComputeCapabilityMajor) +
                              cuda_device_attribute(device, cudaDevAttrComputeCapabilityMinor),
        .blocks = cuda_device_attribute(device, cudaDevAttrMaxBlocksPerMultiprocessor),
        .threads = cuda_device_attribute(device, cudaDevAttrMaxThreadsPerMultiProcessor),
        .registers = cuda_device_attribute(device, cudaDevAttrMaxRegistersPerMultiprocessor),
        .shared_bytes = (size_t)cuda_device_attribute(device, cudaDevAttrMaxSharedMemoryPerMultiprocessor),
        .reserved_bytes = (size_t)cuda_device_attribute(device, cudaDevAttrReservedSharedMemoryPerBlock)};
}

static size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

CudaOccupancy cuda_occupancy(const CudaMultiprocessor *sm, int block_size, int registers, size_t shared_bytes) {
    const int warps = (block_size + WARP - 1) / WARP;
    const int of_warp = (int)round_up((size_t)registers * WARP, REGISTER_UNIT);
    const int warps_by_registers = of_warp > 0 ? sm->registers / PARTITIONS / of_warp * PARTITIONS : INT_MAX;
    const size_t shared = round_up(shared_bytes + sm->reserved_bytes, sm->compute_capability < 80 ? 256 : 128);
    return (CudaOccupancy){.by_blocks = sm->blocks,
                           .by_threads = sm->threads / WARP / warps,
                           .by_registers = warps_by_registers / warps,
                           .by_shared = shared > 0 ? (int)(sm->shared_bytes / shared) : INT_MAX};
}

static int least(int a, int b) { return a < b ? a : b; }

int cuda_occupancy_blocks(const CudaOccupancy *o) {
    return least(least(o->by_blocks, o->by_threads), least(o->by_registers, o->by_shared));
}

void cuda_occupancy_limits(const CudaMultiprocessor *sm, const CudaOccupancy *occupancy, int block_size,
                           char text[CUDA_LIMITS_BYTES]) {
    const int blocks = cuda_occupancy_blocks(occupancy);
    const struct {
        const char *name;
        int blocks;
    } limits[] = {{"blocks", occupancy->by_blocks},
                  {"threads", occupancy->by_threads},
                  {"registers", occupancy->by_registers},
                  {"shared", occupancy->by_shared}};
    size_t length = 0;
    if (blocks * block_size == sm->threads) {
        snprintf(text, CUDA_LIMITS_BYTES, "full");
        return;
    }
    text[0] = '\0';
    for (size_t k = 0; k < sizeof limits / sizeof limits[0]; k++)
        if (limits[k].blocks == blocks)
            length += (size_t)snprintf(text + length, CUDA_LIMITS_BYTES - length, "%s%s", length > 0 ? ", " : "",
                                       limits[k].name);
}
