/* Stage reduce: sums and extremes over all particles.
 *
 * Ladder (method, finish):
 *   shared tree    each thread sums a stride of the particles in registers, the block adds up in shared memory
 *                  (block.h), one partial sum a block goes to memory.
 *   two-pass       a second, small kernel adds the partial sums in the order of the blocks: deterministic, where
 *                  atomicAdd of floating-point numbers is not. Extremes finish by an integer atomicMax, which is.
 * The number of blocks depends on the number of particles only, so the same input gives the same bits. */
#include "cuda/block.h"
#include "cuda/context.h"

/* Kinetic energy, momentum and the sum of F^2/m. w of velocity: 1/mass. */
template <class P>
__global__ void __launch_bounds__(CUDA_BLOCK) k_reduce_sums(int n, CudaView<P> now, double *partials) {
    double sums[CUDA_ATOM_TOTALS] = {0, 0, 0, 0, 0};
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += (int)(gridDim.x * blockDim.x)) {
        const Vec4<typename P::State> v = now.velocity[i];
        const Vec4<typename P::Pair> f = now.force[i];
        double vx = (double)v.x, vy = (double)v.y, vz = (double)v.z, inverse_mass = (double)v.w;
        double fx = (double)f.x, fy = (double)f.y, fz = (double)f.z;
        sums[0] += 0.5 * (vx * vx + vy * vy + vz * vz) / inverse_mass;
        sums[1] += vx / inverse_mass;
        sums[2] += vy / inverse_mass;
        sums[3] += vz / inverse_mass;
        sums[4] += (fx * fx + fy * fy + fz * fz) * inverse_mass;
    }
    cuda_block_sum<CUDA_BLOCK, CUDA_ATOM_TOTALS>(sums);
    if (threadIdx.x == 0)
        for (int q = 0; q < CUDA_ATOM_TOTALS; q++) partials[q * gridDim.x + blockIdx.x] = sums[q];
}

/* Block q adds up the partial sums of quantity q. */
__global__ void __launch_bounds__(CUDA_BLOCK) k_reduce_finish(int n_partials, const double *partials, double *totals) {
    double sum[1] = {0};
    const double *mine = partials + (int64_t)blockIdx.x * n_partials;
    for (int k = (int)threadIdx.x; k < n_partials; k += CUDA_BLOCK) sum[0] += mine[k];
    cuda_block_sum<CUDA_BLOCK, 1>(sum);
    if (threadIdx.x == 0) totals[blockIdx.x] = sum[0];
}

/* Largest displacement since the last build, and the bounding box. */
template <class T>
__global__ void __launch_bounds__(CUDA_BLOCK)
    k_reduce_measure(int n, const Vec4<T> *position, const Vec4<T> *reference, CudaMeasures *measures) {
    float extreme[7] = {0, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += (int)(gridDim.x * blockDim.x)) {
        const Vec4<T> x = position[i], x0 = reference[i];
        T dx = x.x - x0.x, dy = x.y - x0.y, dz = x.z - x0.z;
        float place[3] = {(float)x.x, (float)x.y, (float)x.z};
        extreme[0] = fmaxf(extreme[0], (float)(dx * dx + dy * dy + dz * dz));
        for (int a = 0; a < 3; a++) {
            extreme[1 + a] = fmaxf(extreme[1 + a], place[a]);
            extreme[4 + a] = fmaxf(extreme[4 + a], -place[a]);
        }
    }
    cuda_block_max<CUDA_BLOCK, 7>(extreme);
    if (threadIdx.x == 0) {
        atomicMax(&measures->moved_sq, __float_as_uint(extreme[0]));
        for (int a = 0; a < 3; a++) {
            atomicMax(&measures->high[a], cuda_float_key(extreme[1 + a]));
            atomicMax(&measures->low[a], cuda_float_key(extreme[4 + a]));
        }
    }
}

/* --- host --- */

static int sum_blocks(int n) {
    int blocks = cuda_blocks(n, CUDA_BLOCK);
    return blocks < CUDA_MAX_SUM_BLOCKS ? blocks : CUDA_MAX_SUM_BLOCKS;
}

void cuda_reduce_finish(CudaContext *context, int first, int n_sums, int n_partials) {
    CUDA_LAUNCH(context, k_reduce_finish, n_sums, CUDA_BLOCK, n_partials, context->partials, context->d_totals + first);
}

template <class P> static void sum_particles(CudaContext *context, int blocks) {
    CUDA_LAUNCH(context, (k_reduce_sums<P>), blocks, CUDA_BLOCK, context->n_atoms, CudaView<P>(context->now),
                context->partials);
}

void cuda_reduce_sums(CudaContext *context, MdSums *sums) {
    int blocks = sum_blocks(context->n_atoms);
    cuda_timing_begin(context, CUDA_REDUCE);
    CUDA_BY_PRECISION(context, sum_particles, context, blocks);
    cuda_reduce_finish(context, CUDA_KINETIC, CUDA_ATOM_TOTALS, blocks);
    CUDA_CHECK(cudaMemcpyAsync(context->h_totals, context->d_totals, CUDA_N_TOTALS * sizeof(double),
                               cudaMemcpyDeviceToHost, context->stream));
    cuda_timing_end(context);
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    const double *totals = context->h_totals;
    sums->pairs = totals[CUDA_PAIRS];
    sums->potential = totals[CUDA_POTENTIAL];
    sums->truncation = totals[CUDA_TRUNCATION];
    sums->virial = totals[CUDA_VIRIAL];
    sums->kinetic = totals[CUDA_KINETIC];
    for (int a = 0; a < 3; a++) sums->momentum[a] = totals[CUDA_MOMENTUM + a];
    sums->force_sq_mass = totals[CUDA_FORCE_SQ];
}

template <class P> static void measure(CudaContext *context) {
    typedef typename P::Pair T;
    CUDA_LAUNCH(context, (k_reduce_measure<T>), sum_blocks(context->n_atoms), CUDA_BLOCK, context->n_atoms,
                CudaView<P>(context->now).position, (const Vec4<T> *)context->reference, &context->d_watch->measures);
}

void cuda_reduce_measure(CudaContext *context) {
    CUDA_CHECK(cudaMemsetAsync(&context->d_watch->measures, 0, sizeof(CudaMeasures), context->stream));
    CUDA_BY_PRECISION(context, measure, context);
}
