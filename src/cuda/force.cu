/* Stage force: forces, and on request energy and virial, from the full list.
 *
 * Ladder:
 *   list   one thread a row: reads its entries, gathers each neighbour by one vector load (place and type together),
 *          and writes its own force once. No atomics: each pair is computed twice, which costs less than two atomic
 *          additions to memory. Threads of a warp walk their rows in step; a warp is as slow as its longest row.
 *
 * With one type the pair parameters are kernel arguments, which arrive through the constant cache at no cost in
 * instructions; with several they are looked up by type pair in shared memory, since an index that differs between
 * threads would serialise the constant cache.
 *
 * Energy and virial are computed in instances of their own, so that steps that need forces only do not pay for them. */
#include "cuda/block.h"
#include "cuda/context.h"

template <class T> struct ForceArguments {
    int n, n_types;
    const Vec4<T> *position;
    Vec4<T> *force;
    CudaBox<T> box;
    CudaList list;
    typename CudaPotential<T>::Pair pair;         /* of the only type */
    const typename CudaPotential<T>::Pair *pairs; /* [n_types * n_types] */
    double *partials;                             /* [CUDA_PAIR_TOTALS][gridDim.x] */
};

template <class T, bool ENERGY, bool TYPES, bool SHIFTED>
__global__ void __launch_bounds__(CUDA_ROW_BLOCK) k_force_list(const ForceArguments<T> a) {
    typedef typename CudaPotential<T>::Pair Pair;
    __shared__ Pair s_pairs[TYPES ? MD_MAX_TYPES * MD_MAX_TYPES : 1];
    if (TYPES) {
        for (int k = (int)threadIdx.x; k < a.n_types * a.n_types; k += CUDA_ROW_BLOCK) s_pairs[k] = a.pairs[k];
        __syncthreads(); /* the whole table before anybody looks something up */
    }
    double sums[CUDA_PAIR_TOTALS] = {0, 0, 0, 0}; /* energy, truncation, virial, number; each pair twice */
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < a.n) {
        const Vec4<T> x = a.position[i];
        const Pair *row = TYPES ? &s_pairs[cuda_type_of(x.w) * a.n_types] : &a.pair;
        const int32_t *entry = a.list.entries + (int64_t)i * a.list.row_stride;
        const int count = a.list.counts[i];
        T fx = 0, fy = 0, fz = 0;
        for (int k = 0; k < count; k++, entry += a.list.entry_stride) {
            const Vec4<T> y = a.position[*entry];
            T dx = md_nearest_image(x.x - y.x, a.box.length[0], a.box.inverse[0]);
            T dy = md_nearest_image(x.y - y.y, a.box.length[1], a.box.inverse[1]);
            T dz = md_nearest_image(x.z - y.z, a.box.length[2], a.box.inverse[2]);
            T r_sq = dx * dx + dy * dy + dz * dz;
            const Pair *pair = TYPES ? &row[cuda_type_of(y.w)] : row;
            if (r_sq < pair->cutoff_sq) {
                T f = SHIFTED ? md_pair_force_shifted(pair, r_sq) : md_pair_force(pair, r_sq);
                fx += f * dx;
                fy += f * dy;
                fz += f * dz;
                if (ENERGY) {
                    sums[CUDA_POTENTIAL] += (double)md_pair_energy(pair, r_sq);
                    sums[CUDA_TRUNCATION] += (double)pair->truncation;
                    sums[CUDA_VIRIAL] += (double)(f * r_sq);
                    sums[CUDA_PAIRS] += 1;
                }
            }
        }
        a.force[i] = Vec4<T>{fx, fy, fz, 0};
    }
    if (ENERGY) {
        /* Threads beyond the last row come here too: the tree needs the whole block. */
        cuda_block_sum<CUDA_ROW_BLOCK, CUDA_PAIR_TOTALS>(sums);
        if (threadIdx.x == 0)
            for (int q = 0; q < CUDA_PAIR_TOTALS; q++) a.partials[q * gridDim.x + blockIdx.x] = 0.5 * sums[q];
    }
}

int cuda_force_blocks(int n_atoms) { return cuda_blocks(n_atoms, CUDA_ROW_BLOCK); }

template <class P> static void compute(CudaContext *context, bool with_energy) {
    typedef typename P::Pair T;
    typedef typename CudaPotential<T>::Pair Pair;
    typedef void (*Kernel)(const ForceArguments<T>);
    static const Kernel kernels[2][2][2] = {
        /* [energy][types][shifted] */
        {{k_force_list<T, false, false, false>, k_force_list<T, false, false, true>},
         {k_force_list<T, false, true, false>, k_force_list<T, false, true, true>}},
        {{k_force_list<T, true, false, false>, k_force_list<T, true, false, true>},
         {k_force_list<T, true, true, false>, k_force_list<T, true, true, true>}}};
    ForceArguments<T> a;
    CudaView<P> now(context->now);
    a.n = context->n_atoms;
    a.n_types = context->potential.n_types;
    a.position = now.position;
    a.force = now.force;
    a.box = cuda_box<T>(context->box);
    a.list = context->list;
    a.pair = CudaPotential<T>::from(context->potential.pair[0]);
    a.pairs = (const Pair *)context->pairs;
    a.partials = context->partials;
    Kernel kernel = kernels[with_energy][a.n_types > 1][context->potential.shift == MD_SHIFT_FORCE];
    CUDA_LAUNCH(context, kernel, cuda_force_blocks(a.n), CUDA_ROW_BLOCK, a);
}

void cuda_force_compute(CudaContext *context, bool with_energy) {
    cuda_timing_begin(context, CUDA_FORCE);
    CUDA_BY_PRECISION(context, compute, context, with_energy);
    if (with_energy) cuda_reduce_finish(context, CUDA_POTENTIAL, CUDA_PAIR_TOTALS, cuda_force_blocks(context->n_atoms));
    cuda_timing_end(context);
}
