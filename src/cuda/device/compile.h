/* From the text of the kernels to code for one GPU, without one. */
#ifndef MD_CUDA_COMPILE_H
#define MD_CUDA_COMPILE_H

#include "cuda/device/cache.h"
#include "deck/deck.h"
#include "physics/box.h"
#include "system/system.h"

/* The target of the compiler. */
typedef struct CudaTarget {
    const MdConfig *config; /* resolved */
    const MdBox *box;
    const MdPotential *potential;
    int64_t n_atoms, n_all; /* of this process; of all of them */
    int compute_capability; /* 90 for 9.0 */
    bool counting;          /* kernels that count their work */
    const char *header;     /* of the toolkit, which they include with any switches; NULL: none */
    int n_sms;        /* multiprocessors, which decide about blocks; 0: not known, as where code is compiled only */
    int held_sources; /* rounds in which a block of the resident kernel loads its tile (cuda_brick_held_sources) */
} CudaTarget;

/* Compiles <unit>.cu, a path below src/, for blocks of `block` threads. A text that does not compile is an internal fault (input,
 * when it comes from MDMINI_KERNELS), with the compiler's messages. Free the image in any case. Several threads may compile at
 * once. */
MdStatus cuda_compile(const CudaTarget *target, const char *unit, int block, CudaImage *image, MdErrors *errors);

#endif
