/* The arguments of the elementary kernels: read as C11 by the host and as CUDA by the kernels. All memory is the device's. */
#ifndef MD_CUDA_CEILING_ARGUMENTS_H
#define MD_CUDA_CEILING_ARGUMENTS_H

enum {
    CUDA_CEILING_TABLE = 1024,   /* floats of the small table that the paths read */
    CUDA_CEILING_LOCAL = 16,     /* of the array of a thread: more than compilers keep in registers by comparisons */
    CUDA_CEILING_REVERSED = 256, /* of a block that is reversed */
    CUDA_CEILING_PATH =
        512, /* multiply-adds on a path of a branch: many, so that blocks do not begin and end too often */
    CUDA_CEILING_MOST_BLOCKS = 8192, /* sums of blocks that fit a static array */
    CUDA_CEILING_STARTS = 61,        /* numbers that chains of operations begin with */
    CUDA_CEILING_PICTURE_X = 76,
    CUDA_CEILING_PICTURE_Y = 62,    /* pixels of a picture */
    CUDA_CEILING_WAVE_STEPS = 40000 /* multiply-adds of a thread of a wave */
};

typedef struct CudaCeilingArguments {
    float *a, *c;               /* read; c is also where a sum has its tree in global memory */
    float *b;                   /* written */
    int *index;                 /* read */
    float *sum;                 /* written, or added to */
    unsigned *counts;           /* added to */
    unsigned long long texture; /* over a */
    long long n, width;         /* elements of the call or of a thread; of a row of a matrix */
    int parameter, mask, shift; /* of the row; of an index */
    float one;                  /* 1, which the compiler does not know; of equal numbers, the number */
} CudaCeilingArguments;

#endif
