/* Blocks: n rows in a row, as even as they can be, over ranks. */
#ifndef MD_BASE_BLOCK_H
#define MD_BASE_BLOCK_H

#include <stdint.h>

/* First row of the block of a rank, which ends where that of the next begins; n for rank = n_ranks. Blocks differ by one row
 * at most; with fewer rows than ranks some have none. n * n_ranks must fit into 63 bits. */
static inline int64_t md_block_begin(int64_t n, int rank, int n_ranks) { return n * rank / n_ranks; }

/* The rank whose block has the row. */
static inline int md_block_owner(int64_t n, int64_t row, int n_ranks) { return (int)(((row + 1) * n_ranks - 1) / n); }

#endif
