/* The rows of a GPU. An element of the arrays is a float of 4 bytes.
 *
 * Sizes: an array of 2^25 floats is 128 MiB, and so are the sectors that strides touch; rows for main memory only grow
 * with the L2 of the GPU. If every thread has its own elements, there are as many threads as the GPU holds at once. Sizes of
 * --quick are odd where kernels have edges to get right. */
#include "microbench/host/table.h"

#define ROW(how_, ...) MD_CEILING_ROW("cuda", __VA_ARGS__)

enum { ARRAY = 1 << 25, L2_ARRAY = 1 << 20, TRANSFER = 1 << 24, PICTURE = 76 * 62 }; /* a picture: of pixels */

const MdCeiling md_ceilings_cuda[] = {
#include "microbench/host/rows_memory.def"
#include "microbench/host/rows_reduction.def"
#include "microbench/host/rows_tables.def"
#include "microbench/host/rows_compute.def"
#include "microbench/host/rows_operations.def"
#include "microbench/host/rows_matrix.def"
#include "microbench/host/rows_transfer.def"
#include "microbench/host/rows_latency.def"
#include "microbench/host/rows_random.def"
#include "microbench/host/rows_peers.def"
    {0}};
