/* b = transpose of a, both with a.width elements to the edge, in blocks of 32 x 8 threads, four rows each.
 *
 * Ladder, naive to best:
 *   writes strided   rows are read whole, and written down a column: each lane writes to another line
 *   reads strided    reads down a column, writes whole rows; reads may share lines in the cache
 *   shared           a tile of 32 x 32 goes through shared memory: reads and writes are both whole. But a column of the
 *                    tile lies in one bank, so that a warp's 32 reads of it come one after the other
 *   padded           rows of 33: a column lies in 32 banks
 *   swizzled         no padding: the index of a column is combined with its row (exclusive or), 32 banks again
 *   copy             nothing is transposed: the limit of the others; through shared memory: the cost of the tile
 *
 * In double precision a lane takes 8 bytes: lines are whole by 16 lanes, and a warp's access of shared memory is two passes. */
#include "microbench/kernels/ceiling.cuh"

constexpr int tile = 32, rows = 8;

/* Runs `body` with the column and row of an element of the tile of this block, four times. */
template <class Body> __device__ inline void over_tile(int x, int y, const CudaCeilingArguments &a, Body body) {
    const long long column = (long long)x * tile + threadIdx.x;
    for (int k = 0; k < tile; k += rows) {
        const long long row = (long long)y * tile + threadIdx.y + k;
        if (column < a.width && row < a.width) body(column, row, (int)threadIdx.y + k);
    }
}

template <class Real> __device__ inline void copy_tile(const CudaCeilingArguments &a) {
    const Real *from = (const Real *)a.a;
    Real *to = (Real *)a.b;
    over_tile(blockIdx.x, blockIdx.y, a,
              [&](long long column, long long row, int) { to[row * a.width + column] = from[row * a.width + column]; });
}
CEILING(transpose_copy) { copy_tile<float>(a); }
CEILING(transpose_copy_double) { copy_tile<double>(a); }

template <class Real> __device__ inline void write_strided(const CudaCeilingArguments &a) {
    const Real *from = (const Real *)a.a;
    Real *to = (Real *)a.b;
    over_tile(blockIdx.x, blockIdx.y, a,
              [&](long long column, long long row, int) { to[column * a.width + row] = from[row * a.width + column]; });
}
CEILING(transpose_writes_strided) { write_strided<float>(a); }
CEILING(transpose_writes_strided_double) { write_strided<double>(a); }

CEILING(transpose_reads_strided) {
    over_tile(blockIdx.x, blockIdx.y, a,
              [&](long long column, long long row, int) { a.b[row * a.width + column] = a.a[column * a.width + row]; });
}

/* Through s_tile, whose rows are WIDTH long. The block writes the tile across the diagonal, lane by lane along its rows. */
template <class Real, int WIDTH, bool SWIZZLED> __device__ inline void transpose_shared(const CudaCeilingArguments &a) {
    __shared__ Real s_tile[tile * WIDTH];
    const Real *from = (const Real *)a.a;
    Real *to = (Real *)a.b;
    const int lane = (int)threadIdx.x;
    over_tile(blockIdx.x, blockIdx.y, a, [&](long long column, long long row, int k) {
        s_tile[k * WIDTH + (SWIZZLED ? lane ^ k : lane)] = from[row * a.width + column];
    });
    __syncthreads(); /* the tile is whole */
    over_tile(blockIdx.y, blockIdx.x, a, [&](long long column, long long row, int k) {
        to[row * a.width + column] = s_tile[lane * WIDTH + (SWIZZLED ? k ^ lane : k)];
    });
}
CEILING(transpose_shared) { transpose_shared<float, tile, false>(a); }
CEILING(transpose_padded) { transpose_shared<float, tile + 1, false>(a); }
CEILING(transpose_swizzled) { transpose_shared<float, tile, true>(a); }
CEILING(transpose_shared_double) { transpose_shared<double, tile, false>(a); }
CEILING(transpose_padded_double) { transpose_shared<double, tile + 1, false>(a); }

CEILING(transpose_copy_shared) {
    __shared__ float s_tile[tile * tile];
    const int lane = (int)threadIdx.x;
    over_tile(blockIdx.x, blockIdx.y, a,
              [&](long long column, long long row, int k) { s_tile[k * tile + lane] = a.a[row * a.width + column]; });
    __syncthreads(); /* the tile is whole */
    over_tile(blockIdx.x, blockIdx.y, a,
              [&](long long column, long long row, int k) { a.b[row * a.width + column] = s_tile[k * tile + lane]; });
}
