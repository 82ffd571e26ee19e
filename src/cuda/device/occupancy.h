/* How many blocks of a kernel a multiprocessor holds, and the resource that limits them: the arithmetic of CUDA's occupancy calculator.
 * How many there are the driver says too (cuOccupancyMaxActiveBlocksPerMultiprocessor); it does not say why. */
#ifndef MD_CUDA_OCCUPANCY_H
#define MD_CUDA_OCCUPANCY_H

#include <stddef.h>

enum { CUDA_LIMITS_BYTES = 48 };

/* The resources of a multiprocessor. */
typedef struct CudaMultiprocessor {
    int compute_capability; /* 90 for 9.0 */
    int blocks, threads, registers;
    size_t shared_bytes, reserved_bytes; /* shared memory: all of it; CUDA's own part for each block */
} CudaMultiprocessor;

/* Blocks that fit as far as this resource goes. */
typedef struct CudaOccupancy {
    int by_blocks, by_threads, by_registers, by_shared;
} CudaOccupancy;

CudaMultiprocessor cuda_multiprocessor(int device);

/* Of blocks of block_size threads that take so many registers each, and shared_bytes together. */
CudaOccupancy cuda_occupancy(const CudaMultiprocessor *sm, int block_size, int registers, size_t shared_bytes);
int cuda_occupancy_blocks(const CudaOccupancy *occupancy);

/* The resources of which the fewest blocks fit, `registers, shared`; `full`: the blocks have all threads that there may be. */
void cuda_occupancy_limits(const CudaMultiprocessor *sm, const CudaOccupancy *occupancy, int block_size,
                           char text[CUDA_LIMITS_BYTES]);

#endif
