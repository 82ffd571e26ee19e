/* NCCL, as far as it is used: messages between GPUs in the order of a stream, also in graphs. */
#ifndef MD_CUDA_NCCL_H
#define MD_CUDA_NCCL_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "parallel/comm.h"

/* The communicator of all ranks. NULL: there is none; functions that allow it then do nothing. */
typedef struct CudaNccl CudaNccl;

/* Why this process cannot use NCCL; empty: it can. */
void cuda_nccl_judge(char *reason, size_t size);

/* Collective. *progress changes while the device is at work. A device that waits for another one for longer than
 * patience_s is let go, and the run ends. NULL: NCCL refuses, and why is in errors. */
CudaNccl *cuda_nccl_create(const MdComm *comm, double patience_s, const volatile unsigned long long *progress,
                           MdErrors *errors);
/* Collective; NULL: nothing. Graphs that hold messages must be gone: NCCL would wait for them. */
void cuda_nccl_destroy(CudaNccl *nccl);

/* Messages between begin and end go together. Those between two ranks arrive in the order in which they are sent. */
void cuda_nccl_begin(CudaNccl *nccl);
void cuda_nccl_send(CudaNccl *nccl, const void *data, size_t bytes, int rank, cudaStream_t stream);
void cuda_nccl_receive(CudaNccl *nccl, void *data, size_t bytes, int rank, cudaStream_t stream);
/* Over all ranks, each in place. */
void cuda_nccl_largest(CudaNccl *nccl, unsigned *values, size_t n, cudaStream_t stream);
void cuda_nccl_end(CudaNccl *nccl, cudaStream_t stream, bool is_captured);

/* Before and after the launch of a graph that may hold messages; NULL: nothing. */
void cuda_nccl_begin_launch(CudaNccl *nccl);
void cuda_nccl_end_launch(CudaNccl *nccl, cudaStream_t stream);
/* After a wait: ends the run if the device did not deliver; accepts NULL. */
void cuda_nccl_check(const CudaNccl *nccl);

#endif
