/* Main memory. A warp asks for 32 addresses at once; memory delivers sectors of 32 bytes and lines of 128. The fraction
 * of the bandwidth that a kernel reaches is the used part of the delivered sectors, if enough requests are in flight.
 *
 * Ladder, from bad to good:
 *   gather, random     each lane another sector: an eighth of the moved bytes is used, and neither lines nor pages help
 *   stride s           lanes s elements apart: 1/s of each sector is used, down to an eighth
 *   gather, sorted     random elements in ascending order: lanes meet in the same lines
 *   offset k           lanes side by side, but the warp begins in the middle of a line: it touches one line more
 *   broadcast          all lanes of a warp read one element: one sector, delivered to all, of which an eighth is used
 *   copy               lanes side by side from the start of a line: whole lines (coalesced)
 *   permuted           the same lines, lanes in another order: coalesced all the same
 *   reversed           the same lines, lanes and warps from the end to the start; through shared memory, with an array of
 *                      fixed size (static) or of a size that the launch tells (dynamic), no side is backwards
 *   grid stride        as many threads as the GPU holds, each with many elements: no blocks to replace; but a thread still has
 *                      one load under way
 *   float2, float4     8 or 16 bytes a lane: more bytes under way for each thread */
#include "microbench/kernels/ceiling.cuh"

RESIDENT_CEILING(bandwidth_write) {
    for (long long i = thread_index(); i < a.n; i += grid_size()) a.b[i] = 3 * a.one;
}

CEILING(bandwidth_copy) {
    const long long i = thread_index();
    if (i < a.n) a.b[i] = a.a[i];
}

/* A thread copies whole vectors; the first threads copy the rest of the array one by one. */
template <class Vector> __device__ inline void copy_vectors(const CudaCeilingArguments &a) {
    constexpr int width = sizeof(Vector) / sizeof(float);
    const long long i = thread_index(), n_vectors = a.n / width;
    if (i < n_vectors) ((Vector *)a.b)[i] = ((const Vector *)a.a)[i];
    if (i < a.n % width) a.b[n_vectors * width + i] = a.a[n_vectors * width + i];
}
CEILING(bandwidth_copy2) { copy_vectors<float2>(a); }
CEILING(bandwidth_copy4) { copy_vectors<float4>(a); }

RESIDENT_CEILING(bandwidth_copy_loop) {
    for (long long i = thread_index(); i < a.n; i += grid_size()) a.b[i] = a.a[i];
}

CEILING(bandwidth_triad) {
    const long long i = thread_index();
    if (i < a.n) a.b[i] = a.a[i] + 3 * a.one * a.c[i];
}

CEILING(bandwidth_offset) {
    const long long i = thread_index();
    if (i < a.n) a.b[i] = a.a[i + a.parameter];
}

CEILING(bandwidth_stride) {
    const long long i = thread_index();
    if (i < a.n) a.b[i] = a.a[i * a.parameter];
}

CEILING(bandwidth_gather) {
    const long long i = thread_index();
    if (i < a.n) a.b[i] = a.a[a.index[i]];
}

CEILING(bandwidth_permuted) {
    const long long lane = threadIdx.x * 5 % 32, i = (thread_index() & ~31LL) + lane;
    if (i < a.n) a.b[i] = a.a[i];
}

CEILING(bandwidth_broadcast) {
    const long long i = thread_index();
    if (i < a.n) a.b[i] = a.a[i & ~31LL];
}

CEILING(bandwidth_reversed) {
    const long long i = thread_index();
    if (i < a.n) a.b[i] = a.a[a.n - 1 - i];
}

/* The elements of this block in reverse order, through s. */
__device__ inline void reverse_block(const CudaCeilingArguments &a, float *s) {
    const long long i = thread_index(), left = a.n - (long long)blockIdx.x * blockDim.x;
    const int last = (int)(left < blockDim.x ? left : blockDim.x) - 1;
    if (i < a.n) s[threadIdx.x] = a.a[i];
    __syncthreads(); /* all is there */
    if (i < a.n) a.b[i] = s[last - (int)threadIdx.x];
}
CEILING(bandwidth_reverse_static) {
    __shared__ float s[CUDA_CEILING_REVERSED];
    reverse_block(a, s);
}
CEILING(bandwidth_reverse_dynamic) {
    extern __shared__ float s_dynamic[];
    reverse_block(a, s_dynamic);
}

/* Each thread sums a grid stride of vectors and writes one number. */
RESIDENT_CEILING(bandwidth_read) {
    const float4 *vectors = (const float4 *)a.a;
    float sum = 0;
    for (long long i = thread_index(); i < a.n / 4; i += grid_size()) {
        const float4 v = vectors[i];
        sum += v.x + v.y + v.z + v.w;
    }
    if (thread_index() < a.n % 4) sum += a.a[a.n / 4 * 4 + thread_index()];
    a.b[thread_index()] = sum;
}

/* A small array again and again, bypassing L1 (__ldcg: cached only in L2). */
RESIDENT_CEILING(bandwidth_read_l2) {
    const float4 *vectors = (const float4 *)a.a;
    float sum = 0;
    for (long long i = thread_index(); i < a.n / 4; i += grid_size()) {
        const float4 v = __ldcg(vectors + (i & (a.parameter / 4 - 1)));
        sum += v.x + v.y + v.z + v.w;
    }
    a.b[thread_index()] = sum;
}
