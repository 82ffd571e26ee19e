/* The expected results of the rows of kernels.c: elements of the output, and checks of results that are not compared element by
 * element. A check overwrites the result, so that the next one checks later calls. */
#ifndef MD_CUDA_CEILING_RESULTS_H
#define MD_CUDA_CEILING_RESULTS_H

#include "microbench/cuda/row.h"

/* Element i, by kind of row. */
CudaCeilingElement cuda_ceiling_is_copy, cuda_ceiling_is_tripled, cuda_ceiling_is_three, cuda_ceiling_is_triad,
    cuda_ceiling_is_offset, cuda_ceiling_is_strided, cuda_ceiling_is_gathered, cuda_ceiling_is_broadcast,
    cuda_ceiling_is_reversed, cuda_ceiling_is_reversed_by_block, cuda_ceiling_is_transpose,
    cuda_ceiling_is_transpose_of_doubles, cuda_ceiling_is_path, cuda_ceiling_is_counted, cuda_ceiling_is_raised,
    cuda_ceiling_is_wave, cuda_ceiling_is_steps, cuda_ceiling_is_bank_sum, cuda_ceiling_is_table_sum,
    cuda_ceiling_is_own_sum;

/* The sums of all threads, together the sum of the array; counters, of all calls, or of the last, if each begins at
 * zero; a product of matrices; zeros. */
CudaCeilingStep cuda_ceiling_check_thread_sums, cuda_ceiling_check_counts, cuda_ceiling_check_last_counts,
    cuda_ceiling_check_product, cuda_ceiling_check_zero;
size_t cuda_ceiling_count_bytes(const CudaCeiling *c); /* of a count, by the type that the row is about */

#endif
