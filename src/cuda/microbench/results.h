/* What must come of the rows of kernels.c: elements of what is written, and checks of what is not compared element by element.
 * A check spoils the result, so that the next one sees what later calls do. */
#ifndef MD_CUDA_CEILING_RESULTS_H
#define MD_CUDA_CEILING_RESULTS_H

#include "cuda/microbench/ceilings.h"

/* Element i, by kind of row. */
double cuda_ceiling_is_copy(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_three(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_triad(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_offset(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_strided(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_gathered(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_broadcast(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_reversed(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_reversed_by_block(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_transpose(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_transpose_of_doubles(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_path(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_counted(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_raised(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_wave(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_steps(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_bank_sum(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_table_sum(const CudaCeiling *c, int64_t i);
double cuda_ceiling_is_own_sum(const CudaCeiling *c, int64_t i);

/* The sums of all threads, together the sum of the array; counts by place; a product of matrices; zeros. */
bool cuda_ceiling_check_thread_sums(CudaCeiling *c, char *reason);
bool cuda_ceiling_check_counts(CudaCeiling *c, char *reason);
size_t cuda_ceiling_count_bytes(const CudaCeiling *c); /* of a count, by the type that the row is about */
bool cuda_ceiling_check_product(CudaCeiling *c, char *reason);
bool cuda_ceiling_check_zero(CudaCeiling *c, char *reason);

#endif
