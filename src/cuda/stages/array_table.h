/* The device arrays of a context, as a table that allocation, estimate and growth share. */
#ifndef MD_CUDA_ARRAY_TABLE_H
#define MD_CUDA_ARRAY_TABLE_H

#include "cuda/stages/stages.h"

typedef struct CudaArray {
    void **where;
    size_t count, size;
    CudaGroup group;
    const char *what;
} CudaArray;

typedef struct CudaArrays {
    int n;
    CudaArray rows[CUDA_MAX_BLOCKS];
} CudaArrays;

static inline void cuda_array_add(CudaArrays *arrays, CudaGroup group, void *where, size_t count, size_t size,
                                  const char *what) {
    md_require(arrays->n < CUDA_MAX_BLOCKS);
    arrays->rows[arrays->n++] = (CudaArray){where, count, size, group, what};
}

static inline void cuda_array_keep(CudaArrays *arrays, void *where, size_t count, size_t size, const char *what) {
    cuda_array_add(arrays, CUDA_KEPT, where, count, size, what);
}

/* Numbers of a vector that stand side by side, in the layout of the run. */
static inline size_t cuda_vector_width(const CudaContext *context) {
    static const size_t widths[] = {[MD_LAYOUT_AOS] = 3, [MD_LAYOUT_SOA] = 1, [MD_LAYOUT_VEC4] = 4};
    return widths[context->config.memory_layout];
}

/* Sums of a sample of an analysis. */
static inline size_t cuda_row_sums(const CudaContext *context) {
    return MD_OBSERVE_N * (size_t)context->potential.n_types;
}

static inline size_t cuda_array_bytes(const CudaArray *array) { return array->count * array->size; }

/* --- arrays.c --- */
void cuda_arrays_plan(CudaContext *context); /* bounds of the grid, capacity and strides of the list */
/* For rows of so many entries; for arrays of so many atoms. */
void cuda_arrays_set_capacity(CudaContext *context, int64_t count);
void cuda_arrays_set_room(CudaContext *context, int64_t n);
void cuda_arrays_list(CudaContext *context,
                      CudaArrays *arrays);               /* all that the switches need, as large as they are now */
size_t cuda_arrays_partials(const CudaContext *context); /* most partial sums of a reduction */

/* --- arrays_domain.c: several processes --- */
void cuda_arrays_add_domain(CudaContext *context, CudaArrays *arrays);
void cuda_arrays_add_domain_pinned(CudaContext *context, CudaArrays *arrays); /* of the host; CUDA_STAGING: they grow */
/* Elements of an array that other GPUs may map. */
size_t cuda_arrays_exported(const CudaContext *context, size_t n, size_t size);

#endif
