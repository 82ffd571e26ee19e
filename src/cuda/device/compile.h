/* From the text of the kernels to code for one GPU, without one. */
#ifndef MD_CUDA_COMPILE_H
#define MD_CUDA_COMPILE_H

#include "deck/deck.h"
#include "physics/box.h"
#include "system/system.h"

/* What is compiled for. */
typedef struct CudaTarget {
    const MdConfig *config; /* resolved */
    const MdBox *box;
    const MdPotential *potential;
    int64_t n_atoms;
    int compute_capability; /* 90 for 9.0 */
    bool counting;          /* kernels that count their work */
    const char *header;     /* of the toolkit, which they include whatever the switches say; NULL: none */
    int n_sms; /* multiprocessors, which decide about blocks; 0: not known, as where code is compiled only */
} CudaTarget;

/* What NVRTC compiles to for a GPU: code for that GPU, or, for one that is newer than this NVRTC, PTX of the newest
 * architecture before it, which the driver compiles on. */
typedef struct CudaArchitecture {
    int number; /* 90 for 9.0; 0: the GPU is older than all that this NVRTC has */
    bool is_ptx;
} CudaArchitecture;
CudaArchitecture cuda_compile_architecture(int compute_capability);

/* Of NVRTC, as CUDA counts: 12030 for 12.3; 0: not known. */
int cuda_compile_version(void);

typedef struct CudaImage {
    char *bytes; /* a cubin, or PTX */
    size_t size;
    char *messages; /* of the compiler; NULL: none */
    bool is_kept;   /* it was in the cache (cache.h) */
} CudaImage;

/* Compiles kernels/<unit>.cu for blocks of `block` threads. A text that does not compile is an internal fault (input,
 * when it comes from MDMINI_KERNELS), with the compiler's messages. Free the image in any case. Several threads may compile at
 * once. */
MdStatus cuda_compile(const CudaTarget *target, const char *unit, int block, CudaImage *image, MdErrors *errors);
void cuda_image_free(CudaImage *image);

/* Compiles every unit that the switches need and throws the code away; a message of the compiler is a failure (with an
 * empty cache). For tests on machines without a GPU. In kernels.c. */
MdStatus cuda_kernels_try(const CudaTarget *target, MdErrors *errors);
/* Threads of a block of the unit, as asked for; with auto where the search for the best occupancy begins, which keeps those of bricks. */
int cuda_kernels_block_size(const CudaTarget *target, int unit);

#endif
