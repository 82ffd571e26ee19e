/* Kinds of memory that this GPU does not support. */
#include "cuda/device/device.h"
#include "cuda/plan/resolve.h"

MdStatus cuda_memory_check(const MdConfig *config, const MdComm *comm, MdErrors *errors) {
    int device = 0;
    const struct {
        int option, value;
        enum cudaDeviceAttr attribute;
        const char *lack, *others;
    } needs[] = {
        {MD_OPTION_memory_space, MD_SPACE_MAPPED, cudaDevAttrCanMapHostMemory, "cannot map memory of the host",
         "memory.space=managed, managed-prefetch or device"},
        {MD_OPTION_memory_space, MD_SPACE_MANAGED, cudaDevAttrManagedMemory, "has no managed memory",
         "memory.space=mapped or device"},
        {MD_OPTION_memory_space, MD_SPACE_MANAGED_PREFETCH, cudaDevAttrConcurrentManagedAccess,
         "cannot move pages of managed memory on request", "memory.space=mapped, managed or device"},
        {MD_OPTION_memory_allocation, MD_ALLOCATION_POOL, cudaDevAttrMemoryPoolsSupported, "has no memory pools",
         "memory.allocation=per-call or once"},
    };
    MdStatus status = cuda_device_choose(config, comm, &device, errors);
    if (status != MD_OK) return status;
    for (size_t k = 0; k < sizeof needs / sizeof needs[0]; k++) {
        if (md_switch_value(config, needs[k].option) != needs[k].value) continue;
        if (!cuda_device_attribute(device, needs[k].attribute))
            status = md_fail(errors, MD_ERROR_INPUT, "%s=%s: GPU %d %s: take %s", md_option_name(needs[k].option),
                             md_switch_words(needs[k].option)[needs[k].value], device, needs[k].lack, needs[k].others);
    }
    return status;
}
