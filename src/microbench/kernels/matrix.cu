/* b = a c, square matrices of a.width elements to the edge, in single precision.
 *
 * Ladder, naive to best:
 *   plain, by rows   a thread an element, neighbouring threads down a column of b: a warp reads 32 rows of a at once
 *   plain            neighbouring threads along a row: c is read in whole lines, a is the same for all lanes; but each number is
 *                    read width times
 *   tiled 16, 32     tiles of a and c in shared memory: each number is read 16 or 32 times less from main memory; but each
 *                    multiply-add still takes two reads of shared memory
 *   not unrolled     the same, with a loop whose end is tested for each of them
 *   registers        each thread has 4 x 4 elements of b: eight reads of shared memory for sixteen multiply-adds */
#include "microbench/kernels/ceiling.cuh"

/* The element of a matrix, zero outside. */
__device__ inline float at(const float *matrix, long long row, long long column, long long width) {
    return row < width && column < width ? matrix[row * width + column] : 0;
}

__device__ inline void multiply_plain(const CudaCeilingArguments &a, long long row, long long column) {
    if (row >= a.width || column >= a.width) return;
    float sum = 0;
    for (long long k = 0; k < a.width; k++) sum += a.a[row * a.width + k] * a.c[k * a.width + column];
    a.b[row * a.width + column] = sum;
}
CEILING(matrix_plain_rows) {
    multiply_plain(a, (long long)blockIdx.x * 16 + threadIdx.x, (long long)blockIdx.y * 16 + threadIdx.y);
}
CEILING(matrix_plain) {
    multiply_plain(a, (long long)blockIdx.y * 16 + threadIdx.y, (long long)blockIdx.x * 16 + threadIdx.x);
}

template <int TILE, int UNROLLED> __device__ inline void multiply_tiled(const CudaCeilingArguments &a) {
    __shared__ float s_a[TILE][TILE], s_c[TILE][TILE];
    const int x = (int)threadIdx.x, y = (int)threadIdx.y;
    const long long row = (long long)blockIdx.y * TILE + y, column = (long long)blockIdx.x * TILE + x;
    float sum = 0;
    for (long long k0 = 0; k0 < a.width; k0 += TILE) {
        s_a[y][x] = at(a.a, row, k0 + x, a.width);
        s_c[y][x] = at(a.c, k0 + y, column, a.width);
        __syncthreads(); /* both tiles are whole */
#pragma unroll UNROLLED
        for (int k = 0; k < TILE; k++) sum += s_a[y][k] * s_c[k][x];
        __syncthreads(); /* nobody reads them any more */
    }
    if (row < a.width && column < a.width) a.b[row * a.width + column] = sum;
}
CEILING(matrix_tiled_16) { multiply_tiled<16, 16>(a); }
CEILING(matrix_tiled_16_loop) { multiply_tiled<16, 1>(a); }
CEILING(matrix_tiled_32) { multiply_tiled<32, 32>(a); }

/* 16 x 16 threads, a tile of 64 x 64 of b, 16 deep. The elements of a thread are 16 apart, so that lanes read neighbours. */
CEILING(matrix_registers) {
    constexpr int edge = 64, depth = 16, own = 4;
    __shared__ float s_a[depth][edge + 1], s_c[depth][edge];
    const int x = (int)threadIdx.x, y = (int)threadIdx.y, t = y * 16 + x;
    const long long row0 = (long long)blockIdx.y * edge, column0 = (long long)blockIdx.x * edge;
    float sum[own][own] = {};
    for (long long k0 = 0; k0 < a.width; k0 += depth) {
        for (int j = t; j < edge * depth; j += 256) {
            s_a[j % depth][j / depth] = at(a.a, row0 + j / depth, k0 + j % depth, a.width);
            s_c[j / edge][j % edge] = at(a.c, k0 + j / edge, column0 + j % edge, a.width);
        }
        __syncthreads(); /* both tiles are whole */
#pragma unroll
        for (int k = 0; k < depth; k++) {
            float left[own], right[own];
#pragma unroll
            for (int r = 0; r < own; r++) left[r] = s_a[k][y + 16 * r], right[r] = s_c[k][x + 16 * r];
#pragma unroll
            for (int r = 0; r < own; r++)
#pragma unroll
                for (int q = 0; q < own; q++) sum[r][q] += left[r] * right[q];
        }
        __syncthreads(); /* nobody reads them any more */
    }
    for (int r = 0; r < own; r++)
        for (int q = 0; q < own; q++) {
            const long long row = row0 + y + 16 * r, column = column0 + x + 16 * q;
            if (row < a.width && column < a.width) a.b[row * a.width + column] = sum[r][q];
        }
}
