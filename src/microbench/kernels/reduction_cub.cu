/* The ladder of reduction.cu by the library: cub::BlockReduce after a grid stride. Its headers are those of the toolkit. */
#include "microbench/kernels/ceiling.cuh"

#include <cub/block/block_reduce.cuh>

typedef cub::BlockReduce<float, 256> Reduction;

RESIDENT_CEILING(reduction_cub) {
    __shared__ Reduction::TempStorage s;
    float x = 0;
    for (long long i = thread_index(); i < a.n; i += grid_size()) x += a.a[i];
    x = Reduction(s).Sum(x);
    if (threadIdx.x == 0) a.b[blockIdx.x] = x;
}
