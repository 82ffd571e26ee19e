/* The variants table of the cuda backend: plain data, there in builds without CUDA too. */
#ifndef MD_CUDA_VARIANTS_H
#define MD_CUDA_VARIANTS_H

#include "backend/variants.h"

MdVariantTable md_cuda_variants(void);

#endif
