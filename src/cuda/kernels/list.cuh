/* Rows of the neighbour list, for writing and reading: an entry is the index of the neighbour. */
#ifndef MD_CUDA_LIST_CUH
#define MD_CUDA_LIST_CUH

#include "cuda/kernels/cells.cuh"

/* First entry of row i; the next ones are list.entry_stride apart. */
__device__ inline int32_t *row_entries(const CudaArguments &a, int i) {
    return (int32_t *)a.list.entries + i * a.list.row_stride;
}

#endif
