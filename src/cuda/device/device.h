/* The GPUs of this machine. */
#ifndef MD_CUDA_DEVICE_H
#define MD_CUDA_DEVICE_H

#include <cuda_runtime_api.h>

#include "backend/backend.h"

/* By run.device; auto: by the number of this rank on its node. */
MdStatus cuda_device_choose(const MdConfig *config, const MdComm *comm, int *device, MdErrors *errors);
int cuda_device_attribute(int device, enum cudaDeviceAttr which);
int cuda_device_multiprocessors(void);      /* of the current GPU */
int cuda_device_compute_capability(void);   /* of the current GPU, 90 for 9.0 */
int64_t cuda_device_resident_threads(void); /* that the current GPU holds at once, at most */
int cuda_device_shared_bytes(void);         /* of a block on the current GPU, at most */
/* `13.0` of 13000. */
enum { CUDA_VERSION_BYTES = 16 };
void cuda_device_version_text(int version, char text[CUDA_VERSION_BYTES]);
bool cuda_device_describe(const MdConfig *config, int number, MdDescription *description, MdErrors *errors);
MdStatus cuda_device_probe(const MdConfig *config, const MdComm *comm, MdMachine *machine, MdErrors *errors);

#endif
