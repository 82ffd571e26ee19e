/* The columns of physics/columns.def that have an array each: their entries of one atom, on the way with it in a sort or to another
 * rank. Words of 32 bits: then a row has no gap, as the host counts it. */
#ifndef MD_CUDA_COLUMNS_CUH
#define MD_CUDA_COLUMNS_CUH

#include "cuda/kernels/common.cuh"

typedef int32_t ColumnWORD;
typedef State ColumnSTATE;
typedef Pair ColumnPAIR;
typedef double ColumnDOUBLE;

/* What is there for a column, by its word for when: nothing, or all. */
#define MD_COLUMN_ALWAYS(...) __VA_ARGS__
#if MD_HAS_MSD
#define MD_COLUMN_MSD(...) __VA_ARGS__
#else
#define MD_COLUMN_MSD(...)
#endif
#if MD_HAS_VACF
#define MD_COLUMN_VACF(...) __VA_ARGS__
#else
#define MD_COLUMN_VACF(...)
#endif

template <class Number, int components> struct ColumnEntry {
    uint32_t word[components * sizeof(Number) / sizeof(uint32_t)];
};

/* A base class, as without such columns it takes no memory. */
struct ColumnEntries {
#define ARRAY_COLUMN(name, number, components, when) MD_COLUMN_##when(ColumnEntry<Column##number, components> name;)
    MD_COLUMNS(MD_ARRAY_COLUMN)
#undef ARRAY_COLUMN
};

#define ARRAY_COLUMN(name, number, components, when) MD_COLUMN_##when(+sizeof(ColumnEntry<Column##number, components>))
constexpr size_t column_bytes = 0 MD_COLUMNS(MD_ARRAY_COLUMN);
#undef ARRAY_COLUMN

__device__ inline ColumnEntries load_columns(const CudaParticles &from, int64_t i) {
    ColumnEntries entries = {};
    (void)from, (void)i;
#define ARRAY_COLUMN(name, number, components, when)                                                                   \
    MD_COLUMN_##when(entries.name = ((const ColumnEntry<Column##number, components> *)from.name)[i];)
    MD_COLUMNS(MD_ARRAY_COLUMN)
#undef ARRAY_COLUMN
    return entries;
}

__device__ inline void store_columns(const CudaParticles &to, int64_t i, const ColumnEntries &entries) {
    (void)to, (void)i, (void)entries;
#define ARRAY_COLUMN(name, number, components, when)                                                                   \
    MD_COLUMN_##when(((ColumnEntry<Column##number, components> *)to.name)[i] = entries.name;)
    MD_COLUMNS(MD_ARRAY_COLUMN)
#undef ARRAY_COLUMN
}

#endif
