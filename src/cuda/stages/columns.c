/* The table of the columns that have an array each. */
#include "cuda/stages/stages.h"

int cuda_columns(const CudaContext *context, CudaParticles *p, CudaColumn columns[MD_N_COLUMNS]) {
    int n = 0;
#define ARRAY_COLUMN(name, number, components, when)                                                                   \
    if (md_column_is_there(MD_COLUMN_##name, &context->config)) columns[n++] = (CudaColumn){MD_COLUMN_##name, &p->name};
    MD_COLUMNS(MD_ARRAY_COLUMN)
#undef ARRAY_COLUMN
    return n;
}
