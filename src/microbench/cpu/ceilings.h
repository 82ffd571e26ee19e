/* Elementary kernels of the cpu: mdmini --ceilings. */
#ifndef MD_CPU_CEILINGS_H
#define MD_CPU_CEILINGS_H

#include "microbench/host/measure.h"

enum { MD_CPU_LINE = 8, MD_CPU_CHAINS = 12 }; /* doubles of a cache line; independent chains of arithmetic */

/* A row, prepared. */
typedef struct MdCpuCeiling {
    MdCeilingCase of;
    int64_t n;               /* elements of a call; along an edge of a matrix */
    int64_t width;           /* of the rows of a matrix in memory */
    int64_t n_calls;         /* since the last check */
    double *a, *b, *c;       /* arrays */
    int32_t *index;          /* indices for gathers; numbers for branches */
    int64_t *chain, *counts; /* of the chain, a line apart; of each thread, a line apart */
    int64_t n_places;        /* of the chain */
    int64_t at, checked_at;  /* where a call goes on in it; where the last check ended */
    float *f, *g, *h;        /* matrices */
    double *results;         /* of each thread, a line apart */
    double one;              /* 1, which the compiler does not know */
    MdComm *comm;            /* the processes that measure together */
    int partner;             /* the one that this one exchanges with; -1: none */
} MdCpuCeiling;

typedef void MdCpuCeilingKernel(MdCpuCeiling *c);

/* The functions of the rows of md_ceilings_cpu, in their order, for an instruction set. */
MdCpuCeilingKernel *const *md_cpu_ceilings_baseline(void);
MdCpuCeilingKernel *const *md_cpu_ceilings_v3(void);
MdCpuCeilingKernel *const *md_cpu_ceilings_v4(void);

#endif
