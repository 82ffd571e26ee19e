#define _GNU_SOURCE 1 /* syscall */
#include "base/nvtx.h"

#ifdef MDMINI_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

void md_nvtx_begin(const char *name, int64_t number) {
    const nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                              .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                              .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                              .message = {.ascii = name},
                                              .payloadType = NVTX_PAYLOAD_TYPE_INT64,
                                              .payload = {.llValue = number}};
    nvtxRangePushEx(&attributes);
}

void md_nvtx_end(void) { nvtxRangePop(); }

void md_nvtx_name_thread(const char *name) { nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), name); }

#else

void md_nvtx_begin(const char *name, int64_t number) { (void)name, (void)number; }
void md_nvtx_end(void) {}
void md_nvtx_name_thread(const char *name) { (void)name; }

#endif
