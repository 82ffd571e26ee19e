/* The toolkit's headers, where kernels include some: reduce.method = cooperative and cub. */
#ifndef MD_CUDA_TOOLKIT_H
#define MD_CUDA_TOOLKIT_H

#include "deck/deck.h"

/* Cooperative groups and their reduce. */
#define CUDA_GROUPS_HEADER "cooperative_groups/reduce.h"
#define CUDA_CUB_HEADER    "cub/block/block_reduce.cuh"

enum {
    CUDA_TOOLKIT_BYTES = 224, /* of a path */
    CUDA_CUB_VERSION = 12060  /* of NVRTC: before, the headers of CUB include headers that it lacks */
};

/* The headers of the toolkit that kernels include for this configuration; NULL: none. */
const char *cuda_toolkit_header(const MdConfig *config);

/* The include folder of a toolkit that has the header, there or in its part cccl; false: none is found. Looks where the
 * program was built, then in $CUDA_HOME and $CUDA_PATH. */
bool cuda_toolkit_find(const char *header, char folder[CUDA_TOOLKIT_BYTES]);

/* Refuses switches that need missing headers. */
MdStatus cuda_toolkit_resolve(const MdConfig *config, MdErrors *errors);

#endif
