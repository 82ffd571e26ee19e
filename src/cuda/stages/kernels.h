/* The part of kernels.c for launches and reports of kernels. A unit is the kernels of a stage, compiled together. */
#ifndef MD_CUDA_KERNELS_H
#define MD_CUDA_KERNELS_H

#include "cuda/stages/stages.h"

enum { CUDA_SMALLEST_BLOCK = 64 }; /* that launch.block_size = auto tries */

const char *cuda_kernel_symbol(CudaKernelId id);
int cuda_kernel_unit(CudaKernelId id);
bool cuda_unit_is_of_bricks(const MdConfig *config, int unit);
int cuda_unit_first_block(const CudaContext *context, int unit); /* threads of a block, where auto began; */
int cuda_unit_block(const CudaContext *context, int unit);       /* and as they are */
double cuda_unit_resident_threads(const CudaContext *context, int unit, int block);

#endif
