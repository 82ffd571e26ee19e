/* Reductions over one thread block.
 *
 * Ladder (reduce.method):
 *   global          a tree in global memory, each block its own stretch: log2(block) levels, each a trip to the cache
 *                   and back, with a barrier between
 *   shared          the same tree in static shared memory: tens of cycles a level instead of hundreds
 *   shared-dynamic  the launch gives the size: one kernel for every block size, at the cost of an argument
 *   syncwarp        levels that stay within a warp wait for that warp only; five of the barriers go
 *   shuffle         a warp adds in registers; shared memory holds one value a warp, and one barrier is left for the
 *                   values of a call together (sums in another precision are another call)
 *   cooperative     the same by cooperative groups: tiles and cg::reduce of the toolkit
 *   cub             cub::BlockReduce of the toolkit
 *
 * Trees (reduce.addressing):
 *   interleaved     thread t adds t + stride where t is a multiple of 2 stride: every warp stays busy with few threads,
 *                   and from a stride of 32 words on all of them access the same bank
 *   sequential      the first threads add: whole warps drop out, no conflict
 * They take one value after the other, so that a block needs room for only one a thread in shared memory.
 *
 * The order of the additions is fixed by the thread number in all of them, so the sums are the same in every run.
 *
 * The type of a sum (reduce.accumulate):
 *   single          float: each addition rounds at 2^-24 of the sum
 *   compensated     two floats: the second collects rounding errors (Knuth's two-sum), about 2^-48; seven additions for one
 *   double          one addition, at half rate or a sixty-fourth, depending on the GPU
 *   reproducible    three doubles of whole quanta, by twelve additions (physics/split_sum.h): none rounds, so that any order has the
 *                   same bits, also that of atomics, and any number of processes
 * That is in registers and in the block. The sums of blocks, a thousandth of the numbers, are finished in double. */
#ifndef MD_CUDA_REDUCE_CUH
#define MD_CUDA_REDUCE_CUH

#include "deck/choices.h"
#if MD_SW_reduce_method == MD_METHOD_COOPERATIVE
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#elif MD_SW_reduce_method == MD_METHOD_CUB
#include <cub/block/block_reduce.cuh>
#endif

#include "cuda/kernels/common.cuh"
#include "physics/split_sum.h"

constexpr bool is_double_sum = MD_SW_reduce_accumulate == MD_ACCUMULATE_DOUBLE;
constexpr bool is_reproducible = MD_SW_reduce_accumulate == MD_ACCUMULATE_REPRODUCIBLE;
constexpr int sum_parts = is_reproducible ? MD_SPLIT_PARTS : 1; /* of a sum, a double each */
constexpr bool has_tensor = MD_HAS_TENSOR;                      /* analysis.pressure */
constexpr int pair_totals = CUDA_PAIR_TOTALS(has_tensor), atom_totals = CUDA_ATOM_TOTALS(has_tensor);
constexpr int reduce_method = MD_SW_reduce_method;
constexpr bool is_interleaved = MD_SW_reduce_addressing == MD_ADDRESSING_INTERLEAVED;
constexpr int n_warps = MD_BLOCK / 32; /* blocks are whole warps, and powers of two where a tree adds up */
constexpr int warp_lanes = n_warps > 16 ? 32 : n_warps > 8 ? 16 : n_warps > 4 ? 8 : n_warps > 2 ? 4 : n_warps;

/* --- types of a sum over particles ------------------------------------------------------------------------------------- */

struct Compensated {
    float high, low;
    __device__ explicit operator double() const { return (double)high + (double)low; }
};

typedef Select<MD_SW_reduce_accumulate == MD_ACCUMULATE_SINGLE, float,
               Select<MD_SW_reduce_accumulate == MD_ACCUMULATE_COMPENSATED, Compensated,
                      Select<is_reproducible, MdSplitSum, double>::type>::type>::type Sum;

__device__ inline void add(double &sum, double value) { sum += value; }
__device__ inline void add(float &sum, double value) { sum += (float)value; }

/* The intrinsics keep the compiler from merging an addition with a product that comes before it. */
__device__ inline void add(Compensated &sum, double value) {
    const float x = (float)value, total = __fadd_rn(sum.high, x), x_seen = __fsub_rn(total, sum.high);
    const float lost = __fadd_rn(__fsub_rn(sum.high, __fsub_rn(total, x_seen)), __fsub_rn(x, x_seen));
    sum.high = total;
    sum.low = __fadd_rn(sum.low, lost);
}

/* As md_split_add, by constants, and so that no kernel merges an addition with a product that comes before it. */
template <int TERMS, int SIZE> __device__ inline void add_split(MdSplitSum &sum, double value) {
    constexpr double shift[MD_SPLIT_PARTS] = {md_split_shift(TERMS, SIZE, 0), md_split_shift(TERMS, SIZE, 1),
                                              md_split_shift(TERMS, SIZE, 2)};
    for (int k = 0; k < MD_SPLIT_PARTS; k++) {
        const double part = __dsub_rn(__dadd_rn(value, shift[k]), shift[k]);
        sum.part[k] += part;
        value = __dsub_rn(value, part);
    }
}
__device__ inline void add(MdSplitSum &sum, double value) {
    add_split<MD_SUM_BITS + MD_SPLIT_TERMS_OF_ATOM, MD_SPLIT_SIZE>(sum, value);
}

/* Where each pair was counted twice. Exact. */
__device__ inline void halve(double &sum) { sum *= 0.5; }
__device__ inline void halve(float &sum) { sum *= 0.5f; }
__device__ inline void halve(Compensated &sum) { sum = Compensated{0.5f * sum.high, 0.5f * sum.low}; }
__device__ inline void halve(MdSplitSum &sum) {
    for (int k = 0; k < MD_SPLIT_PARTS; k++) sum.part[k] *= 0.5;
}

/* Adds the sums of two threads. */
struct AddUp {
    template <class T> __device__ static T nothing() { return T{}; }
    __device__ double operator()(double a, double b) const { return a + b; }
    __device__ float operator()(float a, float b) const { return a + b; }
    __device__ Compensated operator()(Compensated a, Compensated b) const {
        add(a, (double)b.high);
        return Compensated{a.high, a.low + b.low};
    }
};

struct TakeLargest {
    template <class T> __device__ static T nothing() { return __int_as_float((int)0xff800000); } /* minus infinity */
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/* --- trees ------------------------------------------------------------------------------------------------------------- */

/* Where the tree of this block stands: one T a thread. The argument of the launch for shared-dynamic is in reduce.c. */
template <class T> __device__ inline T *tree_place(const CudaArguments &a) {
    if constexpr (reduce_method == MD_METHOD_GLOBAL) {
        return (T *)((double *)a.tree + (int64_t)blockIdx.x * MD_BLOCK);
    } else if constexpr (reduce_method == MD_METHOD_SHARED_DYNAMIC) {
        MD_DYNAMIC_SHARED(T, s_tree);
        return s_tree;
    } else {
        __shared__ T s_tree[MD_BLOCK];
        return s_tree;
    }
}

/* The result is that of thread 0. */
template <class Combine, class T> __device__ inline T tree_reduce(const CudaArguments &a, T own) {
    T *tree = tree_place<T>(a);
    const int t = (int)threadIdx.x;
    __syncthreads(); /* an earlier use of the memory is over */
    tree[t] = own;
    for (int level = 1; level < MD_BLOCK; level *= 2) {
        const int stride = is_interleaved ? level : MD_BLOCK / 2 / level;
        /* The level before is complete before this one reads it. Its values come from the 2 stride threads around. */
        if (reduce_method == MD_METHOD_SYNCWARP && 2 * stride <= 32) __syncwarp();
        else __syncthreads();
        const bool adds = is_interleaved ? t % (2 * stride) == 0 : t < stride;
        if (adds) tree[t] = Combine()(tree[t], tree[t + stride]);
    }
    return tree[t];
}

/* --- warps ------------------------------------------------------------------------------------------------------------- */

template <class T> __device__ inline T shuffle_down(T value, int distance) {
    return __shfl_down_sync(whole_warp, value, (unsigned)distance);
}
__device__ inline Compensated shuffle_down(Compensated value, int distance) {
    return Compensated{shuffle_down(value.high, distance), shuffle_down(value.low, distance)};
}

/* Over the first WIDTH lanes; the result is that of lane 0. All lanes of the warp must call it. */
template <int WIDTH, class Combine, class T> __device__ inline T warp_reduce(T value) {
#if MD_SW_reduce_method == MD_METHOD_COOPERATIVE
    namespace cg = cooperative_groups;
    return cg::reduce(cg::tiled_partition<WIDTH>(cg::this_thread_block()), value, Combine());
#else
    for (int distance = WIDTH / 2; distance > 0; distance /= 2) value = Combine()(value, shuffle_down(value, distance));
    return value;
#endif
}

template <class Combine, int N, class T> __device__ inline void reduce_by_warps(T (&value)[N]) {
    for (int q = 0; q < N; q++) value[q] = warp_reduce<32, Combine>(value[q]);
    if constexpr (n_warps > 1) {
        __shared__ T s_of_warp[N][n_warps];
        const int t = (int)threadIdx.x;
        if (t % 32 == 0)
            for (int q = 0; q < N; q++) s_of_warp[q][t / 32] = value[q];
        __syncthreads(); /* all warps have written before the first one reads */
        if (t < 32)
            for (int q = 0; q < N; q++)
                value[q] =
                    warp_reduce<warp_lanes, Combine>(t < n_warps ? s_of_warp[q][t] : Combine::template nothing<T>());
    }
}

/* --- the block --------------------------------------------------------------------------------------------------------- */

template <class Combine, int N, class T> __device__ inline void block_reduce(const CudaArguments &a, T (&value)[N]) {
    if constexpr (reduce_method == MD_METHOD_SHUFFLE || reduce_method == MD_METHOD_COOPERATIVE) {
        reduce_by_warps<Combine>(value);
    } else if constexpr (reduce_method == MD_METHOD_CUB) {
#if MD_SW_reduce_method == MD_METHOD_CUB
        typedef cub::BlockReduce<T, MD_BLOCK> Reduction;
        __shared__ typename Reduction::TempStorage s_storage[N];
        for (int q = 0; q < N; q++) value[q] = Reduction(s_storage[q]).Reduce(value[q], Combine());
#endif
    } else {
        for (int q = 0; q < N; q++) value[q] = tree_reduce<Combine>(a, value[q]);
    }
}

/* Sums N values over the threads of the block; the sums are in value[] of thread 0. Every thread of the block must call
 * it; between two calls for the same N and type a barrier must lie (of the grid, in the resident kernel). */
template <int N, class T> __device__ inline void block_sum(const CudaArguments &a, T (&value)[N]) {
    block_reduce<AddUp>(a, value);
}

/* The same for the largest of N values. */
template <int N> __device__ inline void block_max(const CudaArguments &a, float (&value)[N]) {
    block_reduce<TakeLargest>(a, value);
}

/* --- towards the totals ------------------------------------------------------------------------------------------------ */

/* Adds the sum k of a block to total `first` + k: by one thread, in the way of reduce.finish. */
__device__ inline void store_sum(const CudaArguments &a, int first, int k, double sum) {
    if (MD_SW_reduce_finish == MD_FINISH_ATOMIC) atomicAdd(&a.totals[first + k], sum);
    else a.partials[(int64_t)k * gridDim.x + blockIdx.x] = sum;
}

/* Sums N values over the block and hands the sums on to totals FIRST, FIRST + 1, ..., in the way of reduce.finish: added
 * to the totals, which the host has set to zero, or as partial sums of gridDim.x blocks; sum_parts of each. Every thread must
 * call it. The number of pairs stays exact: the count of one thread fits a float, that of a block or the system may not. */
template <int FIRST, int N> __device__ inline void add_to_totals(const CudaArguments &a, Sum (&sums)[N]) {
    if constexpr (is_reproducible) {
        double parts[N * sum_parts];
        for (int k = 0; k < N * sum_parts; k++) parts[k] = sums[k / sum_parts].part[k % sum_parts];
        block_sum<N * sum_parts>(a, parts);
        if (threadIdx.x != 0) return;
        for (int k = 0; k < N * sum_parts; k++) store_sum(a, FIRST * sum_parts, k, parts[k]);
    } else {
        constexpr bool counts = FIRST <= CUDA_PAIRS && CUDA_PAIRS < FIRST + N && !is_double_sum;
        double pairs[1];
        if constexpr (counts) {
            pairs[0] = (double)sums[CUDA_PAIRS - FIRST];
            block_sum<1>(a, pairs);
        }
        block_sum<N>(a, sums);
        if (threadIdx.x != 0) return;
        for (int q = 0; q < N; q++)
            store_sum(a, FIRST, q, counts && FIRST + q == CUDA_PAIRS ? pairs[0] : (double)sums[q]);
    }
}

#endif
