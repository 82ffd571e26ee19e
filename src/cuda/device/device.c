/* Chooses the GPU, checks that it can run this build, and describes it. A problem that a user can solve is an input error that
 * names the remedies. */
#include <stdio.h>

#include "cuda/device/nvrtc.h"
#include "cuda/device/check.h"
#include "cuda/device/device.h"
#include "parallel/comm.h"

void cuda_device_version_text(int version, char text[CUDA_VERSION_BYTES]) {
    snprintf(text, CUDA_VERSION_BYTES, "%d.%d", version / 1000 % 1000, version % 1000 / 10);
}

MdStatus cuda_device_choose(const MdConfig *config, const MdComm *comm, int *device, MdErrors *errors) {
    int n_devices = 0, driver = 0, runtime = 0;
    cudaError_t error = cudaGetDeviceCount(&n_devices);
    if (error == cudaErrorInsufficientDriver) {
        char has[16], needs[16];
        (void)cudaGetLastError();
        CUDA_CHECK(cudaDriverGetVersion(&driver));
        CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
        cuda_device_version_text(driver, has);
        cuda_device_version_text(runtime, needs);
        if (driver == 0)
            return md_fail(errors, MD_ERROR_INPUT,
                           "run.backend=cuda: no NVIDIA driver is loaded here; start on a node with a GPU, or take "
                           "run.backend=cpu");
        return md_fail(errors, MD_ERROR_INPUT,
                       "run.backend=cuda: the driver supports CUDA %s, this program was built with %s; update the "
                       "driver, build with an older toolkit, or take run.backend=cpu",
                       has, needs);
    }
    if (error == cudaErrorNoDevice || (error == cudaSuccess && n_devices == 0)) {
        (void)cudaGetLastError();
        return md_fail(errors, MD_ERROR_INPUT,
                       "run.backend=cuda: no GPU is visible (CUDA_VISIBLE_DEVICES and the batch system decide); ask "
                       "for one, or take run.backend=cpu");
    }
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return md_fail(errors, MD_ERROR_INPUT,
                       "run.backend=cuda: the GPU cannot be used: %s (%s); take run.backend=cpu, or ask the "
                       "administrator",
                       cudaGetErrorName(error), cudaGetErrorString(error));
    }
    if (config->run_device != MD_AUTO_INT && config->run_device >= n_devices)
        return md_fail(errors, MD_ERROR_INPUT,
                       "run.device=%lld: %d GPU%s visible, numbered from 0; take one of them, "
                       "or auto",
                       (long long)config->run_device, n_devices, n_devices == 1 ? " is" : "s are");
    *device = config->run_device == MD_AUTO_INT ? md_comm_node_rank(comm) % n_devices : (int)config->run_device;
    return MD_OK;
}

int cuda_device_attribute(int device, enum cudaDeviceAttr which) {
    int value = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
    return value;
}

/* Of the current GPU. */
static int attribute(enum cudaDeviceAttr which) {
    int device = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    return cuda_device_attribute(device, which);
}

int cuda_device_multiprocessors(void) { return attribute(cudaDevAttrMultiProcessorCount); }

int cuda_device_compute_capability(void) {
    return 10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor);
}

int64_t cuda_device_resident_threads(void) {
    return (int64_t)cuda_device_multiprocessors() * attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
}

int cuda_device_shared_bytes(void) { return attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin); }

/* The names by which others know the device. */
static void identify(const struct cudaDeviceProp *properties, int device, MdMachine *machine) {
    const unsigned char *b = (const unsigned char *)properties->uuid.bytes;
    snprintf(machine->device_uuid, sizeof machine->device_uuid,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4],
             b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    CUDA_CHECK(cudaDeviceGetPCIBusId(machine->device_bus_id, sizeof machine->device_bus_id, device));
    machine->device_number = device;
    machine->compute_capability = 10 * properties->major + properties->minor;
}

MdStatus cuda_device_probe(const MdConfig *config, const MdComm *comm, MdMachine *machine, MdErrors *errors) {
    int device = 0, driver = 0, runtime = 0;
    MdStatus status = cuda_device_choose(config, comm, &device, errors);
    if (status != MD_OK) return status;
    struct cudaDeviceProp properties;
    CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    if (cuda_nvrtc_architecture(10 * properties.major + properties.minor).number == 0)
        return md_fail(errors, MD_ERROR_INPUT,
                       "run.backend=cuda: GPU %d (%s) has compute capability %d.%d, for which the NVRTC of this "
                       "program has no target any more; take another GPU by run.device, build with an older toolkit, "
                       "or take run.backend=cpu",
                       device, properties.name, properties.major, properties.minor);
    cudaError_t error = cudaSetDevice(device);
    size_t free_bytes = 0, total_bytes = 0;
    if (error == cudaSuccess) error = cudaMemGetInfo(&free_bytes, &total_bytes); /* makes the device's context */
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return md_fail(errors, MD_ERROR_INPUT,
                       "run.backend=cuda: GPU %d (%s) cannot be used: %s (%s); take another by run.device, or "
                       "run.backend=cpu",
                       device, properties.name, cudaGetErrorName(error), cudaGetErrorString(error));
    }
    CUDA_CHECK(cudaDriverGetVersion(&driver));
    CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
    char driver_text[16], runtime_text[16];
    cuda_device_version_text(driver, driver_text);
    cuda_device_version_text(runtime, runtime_text);
    snprintf(machine->name, sizeof machine->name, "%.*s", (int)sizeof machine->name - 1, properties.name);
    snprintf(machine->details, sizeof machine->details,
             "GPU %d, compute capability %d.%d, %d SMs at up to %.0f MHz, %.0f GiB at %.0f MHz, driver for CUDA %s, "
             "runtime %s",
             device, properties.major, properties.minor, properties.multiProcessorCount,
             cuda_device_attribute(device, cudaDevAttrClockRate) * 1e-3, (double)properties.totalGlobalMem / 1073741824,
             cuda_device_attribute(device, cudaDevAttrMemoryClockRate) * 1e-3, driver_text, runtime_text);
    machine->n_threads = 0;
    identify(&properties, device, machine);
    CUDA_CHECK(cudaGetDeviceCount(&machine->n_devices));
    machine->device_total_bytes = total_bytes;
    machine->device_free_bytes = free_bytes;
    return MD_OK;
}
