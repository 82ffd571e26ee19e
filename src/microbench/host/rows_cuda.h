/* What the tables of the rows of a GPU share. An element of the arrays is a float of 4 bytes.
 *
 * Sizes: an array of 2^25 floats is 128 MiB, and so are the sectors that strides touch; rows that mean main memory alone grow
 * with the L2 of the GPU. Threads are those that the GPU holds at once, where every thread has elements of its own. Sizes of
 * --quick are odd where kernels have edges to get right. */
#ifndef MD_CEILINGS_ROWS_CUDA_H
#define MD_CEILINGS_ROWS_CUDA_H

#include "microbench/host/table.h"

/* group, variant, unit, bytes, operations, size, quick size, dimension, parameter, shows, check; then what is seldom given */
#define ROW(group_, variant_, unit_, bytes_, operations_, size_, quick_, dimension_, parameter_, shows_, ...)          \
    {                                                                                                                  \
        .backend = "cuda", .group = group_, .variant = variant_, .unit = unit_, .bytes = bytes_,                       \
        .operations = operations_, .size = size_, .quick_size = quick_, .dimension = dimension_,                       \
        .parameter = parameter_, .shows = shows_, .check = __VA_ARGS__                                                 \
    }

enum { ARRAY = 1 << 25, L2_ARRAY = 1 << 20, TRANSFER = 1 << 24, PICTURE = 76 * 62 }; /* a picture: of pixels */

#endif
