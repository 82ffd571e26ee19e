/* b = transpose of a, both with a.width elements to the edge, in blocks of 32 x 8 threads, four rows each.
 *
 * Ladder, naive to best:
 *   writes strided   rows are read whole, and written down a column: each lane writes to a line of its own
 *   reads strided    the other way round; reads may share lines in the cache, writes are whole
 *   shared           a tile of 32 x 32 goes through shared memory: reads and writes are both whole. But a column of the
 *                    tile lies in one bank, so that a warp's 32 reads of it come one after the other
 *   padded           rows of 33: a column lies in 32 banks
 *   swizzled         no padding: the place of a column is turned by its row (exclusive or), 32 banks again
 *   copy             nothing is transposed: what the others could reach */
#include "cuda/kernels/microbench/ceiling.cuh"

constexpr int tile = 32, rows = 8;

/* Runs `body` with the column and row of an element of the tile of this block, four times. */
template <class Body> __device__ inline void over_tile(int x, int y, const CudaCeilingArguments &a, Body body) {
    const long long column = (long long)x * tile + threadIdx.x;
    for (int k = 0; k < tile; k += rows) {
        const long long row = (long long)y * tile + threadIdx.y + k;
        if (column < a.width && row < a.width) body(column, row, (int)threadIdx.y + k);
    }
}

CEILING(transpose_copy) {
    over_tile(blockIdx.x, blockIdx.y, a,
              [&](long long column, long long row, int) { a.b[row * a.width + column] = a.a[row * a.width + column]; });
}

CEILING(transpose_writes_strided) {
    over_tile(blockIdx.x, blockIdx.y, a,
              [&](long long column, long long row, int) { a.b[column * a.width + row] = a.a[row * a.width + column]; });
}

CEILING(transpose_reads_strided) {
    over_tile(blockIdx.x, blockIdx.y, a,
              [&](long long column, long long row, int) { a.b[row * a.width + column] = a.a[column * a.width + row]; });
}

/* Through s_tile, whose rows are WIDTH long. The block writes the tile across the diagonal, lane by lane along its rows. */
template <int WIDTH, bool SWIZZLED> __device__ inline void transpose_shared(const CudaCeilingArguments &a) {
    __shared__ float s_tile[tile * WIDTH];
    const int lane = (int)threadIdx.x;
    over_tile(blockIdx.x, blockIdx.y, a, [&](long long column, long long row, int k) {
        s_tile[k * WIDTH + (SWIZZLED ? lane ^ k : lane)] = a.a[row * a.width + column];
    });
    __syncthreads(); /* the tile is whole */
    over_tile(blockIdx.y, blockIdx.x, a, [&](long long column, long long row, int k) {
        a.b[row * a.width + column] = s_tile[lane * WIDTH + (SWIZZLED ? k ^ lane : k)];
    });
}
CEILING(transpose_shared) { transpose_shared<tile, false>(a); }
CEILING(transpose_padded) { transpose_shared<tile + 1, false>(a); }
CEILING(transpose_swizzled) { transpose_shared<tile, true>(a); }
