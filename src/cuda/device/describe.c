/* The description of a GPU: the facts that CUDA's deviceQuery shows. No context is made, so that GPUs on which kernels
 * of this program cannot run are shown as well. */
#include <stdio.h>

#include "cuda/device/check.h"
#include "cuda/device/device.h"

static const char bytes[] = "bytes";

static void describe_chip(MdDescription *d, int device, const struct cudaDeviceProp *properties) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d", properties->major, properties->minor);
    md_describe_text(d, "compute_capability", "compute capability", text);
    md_describe_number(d, "multiprocessors", "multiprocessors (SMs)", properties->multiProcessorCount, "");
    md_describe_number(d, "clock_mhz", "clock, at most", cuda_device_attribute(device, cudaDevAttrClockRate) / 1000,
                       "MHz");
    md_describe_number(d, "memory_bytes", "global memory", (int64_t)properties->totalGlobalMem, bytes);
    md_describe_number(d, "memory_clock_mhz", "clock of the memory, at most",
                       cuda_device_attribute(device, cudaDevAttrMemoryClockRate) / 1000, "MHz");
    md_describe_number(d, "memory_bus_bits", "width of the memory bus",
                       cuda_device_attribute(device, cudaDevAttrGlobalMemoryBusWidth), "bits");
    md_describe_number(d, "l2_bytes", "L2 cache", cuda_device_attribute(device, cudaDevAttrL2CacheSize), bytes);
    md_describe_number(d, "constant_bytes", "constant memory",
                       cuda_device_attribute(device, cudaDevAttrTotalConstantMemory), bytes);
}

static void describe_multiprocessor(MdDescription *d, int device) {
    md_describe_number(d, "shared_bytes_per_block", "shared memory of a block",
                       cuda_device_attribute(device, cudaDevAttrMaxSharedMemoryPerBlock), bytes);
    md_describe_number(d, "shared_bytes_per_block_opt_in", "shared memory of a block that asks for more",
                       cuda_device_attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin), bytes);
    md_describe_number(d, "shared_bytes_per_multiprocessor", "shared memory of an SM",
                       cuda_device_attribute(device, cudaDevAttrMaxSharedMemoryPerMultiprocessor), bytes);
    md_describe_number(d, "registers_per_block", "registers of a block, of 32 bits",
                       cuda_device_attribute(device, cudaDevAttrMaxRegistersPerBlock), "");
    md_describe_number(d, "registers_per_multiprocessor", "registers of an SM",
                       cuda_device_attribute(device, cudaDevAttrMaxRegistersPerMultiprocessor), "");
    md_describe_number(d, "warp_size", "threads of a warp", cuda_device_attribute(device, cudaDevAttrWarpSize), "");
    md_describe_number(d, "threads_per_block", "threads of a block, at most",
                       cuda_device_attribute(device, cudaDevAttrMaxThreadsPerBlock), "");
    md_describe_number(d, "threads_per_multiprocessor", "threads of an SM, at most",
                       cuda_device_attribute(device, cudaDevAttrMaxThreadsPerMultiProcessor), "");
    md_describe_number(d, "blocks_per_multiprocessor", "blocks of an SM, at most",
                       cuda_device_attribute(device, cudaDevAttrMaxBlocksPerMultiprocessor), "");
    const int64_t block[3] = {cuda_device_attribute(device, cudaDevAttrMaxBlockDimX),
                              cuda_device_attribute(device, cudaDevAttrMaxBlockDimY),
                              cuda_device_attribute(device, cudaDevAttrMaxBlockDimZ)};
    const int64_t grid[3] = {cuda_device_attribute(device, cudaDevAttrMaxGridDimX),
                             cuda_device_attribute(device, cudaDevAttrMaxGridDimY),
                             cuda_device_attribute(device, cudaDevAttrMaxGridDimZ)};
    md_describe_three(d, "block_limits", "threads of a block along x, y, z, at most", block);
    md_describe_three(d, "grid_limits", "blocks of a grid along x, y, z, at most", grid);
}

static void describe_abilities(MdDescription *d, int device) {
    md_describe_number(d, "copy_engines", "copy engines", cuda_device_attribute(device, cudaDevAttrAsyncEngineCount),
                       "");
    md_describe_yes(d, "concurrent_kernels", "concurrent kernels",
                    cuda_device_attribute(device, cudaDevAttrConcurrentKernels));
    md_describe_yes(d, "unified_addressing", "unified addressing",
                    cuda_device_attribute(device, cudaDevAttrUnifiedAddressing));
    md_describe_yes(d, "managed_memory", "managed memory", cuda_device_attribute(device, cudaDevAttrManagedMemory));
    md_describe_yes(d, "cooperative_launch", "cooperative launch",
                    cuda_device_attribute(device, cudaDevAttrCooperativeLaunch));
}

static void describe_place(MdDescription *d, int device) {
    char text[32];
    int version = 0;
    CUDA_CHECK(cudaDeviceGetPCIBusId(text, sizeof text, device));
    md_describe_text(d, "pci_address", "PCI address", text);
    CUDA_CHECK(cudaDriverGetVersion(&version));
    cuda_device_version_text(version, text);
    md_describe_text(d, "driver_cuda", "driver for CUDA", text);
    CUDA_CHECK(cudaRuntimeGetVersion(&version));
    cuda_device_version_text(version, text);
    md_describe_text(d, "runtime_cuda", "runtime of CUDA", text);
}

bool cuda_device_describe(const MdConfig *config, int number, MdDescription *description, MdErrors *errors) {
    int n_devices = 0, chosen;
    if (cuda_device_choose(config, NULL, &chosen, errors) != MD_OK) return false;
    CUDA_CHECK(cudaGetDeviceCount(&n_devices));
    if (number >= n_devices) return false;
    struct cudaDeviceProp properties;
    CUDA_CHECK(cudaGetDeviceProperties(&properties, number));
    snprintf(description->name, sizeof description->name, "%s", properties.name);
    describe_chip(description, number, &properties);
    describe_multiprocessor(description, number);
    describe_abilities(description, number);
    describe_place(description, number);
    return true;
}
