/* Ways to a table of 1024 floats. Each thread reads a.n times; the index is the same for all lanes of a warp (uniform), or
 * another one for each, in another line (scattered).
 *
 *   constant    a cache that serves one address at a time to all lanes: ideal where the index is uniform, one after the other
 *               where it is not
 *   texture     tex1Dfetch: the texture unit computes the address and checks the bounds; less throughput than a load
 *   global      plain loads through the L1 cache; the lines of a warp come one after the other
 *   read-only   __ldg: the same cache today, and the promise that the data are not written
 *   shared      a copy in shared memory: as many words at once as lie in different banks
 *   local       an array of the thread whose index is not known when the kernel is compiled: registers have no index, so that
 *               it lies in local memory, which is memory of the device behind the L1 cache
 *   registers   the same array with constant indices, by an unrolled loop */
#include "microbench/kernels/ceiling.cuh"

__constant__ float c_table[CUDA_CEILING_TABLE];

/* Sum of `read` over all indices of the thread. */
template <class Read> __device__ inline void read_all(const CudaCeilingArguments &a, Read read) {
    const int base = a.parameter ? (int)(thread_index() % CUDA_CEILING_TABLE) * 67 : 0;
    float sum = 0;
#pragma unroll 8
    for (int k = 0; k < (int)a.n; k++) sum += read((base + k) & (CUDA_CEILING_TABLE - 1));
    a.b[thread_index()] = sum;
}

RESIDENT_CEILING(paths_global) {
    read_all(a, [&](int j) { return a.a[j]; });
}
RESIDENT_CEILING(paths_ldg) {
    read_all(a, [&](int j) { return __ldg(a.a + j); });
}
RESIDENT_CEILING(paths_texture) {
    read_all(a, [&](int j) { return tex1Dfetch<float>(a.texture, j); });
}
RESIDENT_CEILING(paths_constant) {
    read_all(a, [&](int j) { return c_table[j]; });
}
RESIDENT_CEILING(paths_shared) {
    __shared__ float s[CUDA_CEILING_TABLE];
    for (int j = (int)threadIdx.x; j < CUDA_CEILING_TABLE; j += (int)blockDim.x) s[j] = a.a[j];
    __syncthreads(); /* all is there */
    read_all(a, [&](int j) { return s[j]; });
}

/* Times one, as the compiler would read a.a instead of an array that is only a copy of it. */
__device__ inline void fill_own(const CudaCeilingArguments &a, float (&own)[CUDA_CEILING_LOCAL]) {
#pragma unroll
    for (int j = 0; j < CUDA_CEILING_LOCAL; j++) own[j] = __fmul_rn(a.a[j], a.one);
}
/* a.mask is zero, which the compiler does not know: nor does it know the index. */
RESIDENT_CEILING(paths_local) {
    float own[CUDA_CEILING_LOCAL], sum = 0;
    fill_own(a, own);
#pragma unroll 8
    for (int k = 0, j = 0; k < (int)a.n; k++, j += 1 + a.mask) sum += own[j & (CUDA_CEILING_LOCAL - 1)];
    a.b[thread_index()] = sum;
}
RESIDENT_CEILING(paths_registers) {
    float own[CUDA_CEILING_LOCAL], sum = 0;
    fill_own(a, own);
    for (int pass = 0; pass < (int)a.n / CUDA_CEILING_LOCAL; pass++)
#pragma unroll
        for (int j = 0; j < CUDA_CEILING_LOCAL; j++) sum += own[j];
    a.b[thread_index()] = sum;
}
