/* One pair: its parameters, the test of the cutoff, force, energy and virial. All force kernels come here.
 *
 * Ladder (memory.parameters): where the table of type pairs lives
 *   global     an array in memory: a load per parameter and pair, from L1. With one type the compiler takes it out of
 *              the loop, unless the loop itself writes to memory (half lists).
 *   argument   in the arguments of the kernel, which are in the constant bank: with one type they are operands of the
 *              arithmetic itself, at no cost.
 *   constant   a __constant__ array: the same bank, filled by the host; the arguments stay short.
 * With several types the index differs between the threads of a warp, and the constant bank serves one address at a
 * time: there both argument and constant pay for each kind of pair in the warp, while global is one gather from L1.
 *
 * Ladder (force.cutoff_test):
 *   branch   pairs beyond the cutoff skip the arithmetic. A warp skips it only where all its 32 pairs do, which hardly
 *            ever happens, and pays for the branch at each of them.
 *   select   the arithmetic is done for every pair, and a predicate skips the addition beyond the cutoff. The loop
 *            has no branch, so that unrolled pairs overlap. Not a factor of 0: a self pair is inf * 0.
 *
 * Ladder (force.arithmetic):
 *   ieee   1/r^2 rounded correctly: the approximation, two Newton steps and a slow path for denormals
 *   fast   only the approximation (a bit or two less), denormals flushed to zero: flags of the unit (compile.c), so
 *          that the formula (physics/pair.inc) stays as it is */
#ifndef MD_CUDA_PAIR_CUH
#define MD_CUDA_PAIR_CUH

#include "cuda/kernels/reduce.cuh"
#include "cuda/kernels/position.cuh"
#include "cuda/kernels/tensor.cuh"
#include "physics/pair.h"

constexpr bool is_branching = MD_SW_force_cutoff_test == MD_CUTOFF_TEST_BRANCH;
static_assert(!(is_double && MD_SW_force_arithmetic == MD_ARITHMETIC_FAST),
              "the approximations are of single precision");

constexpr int unroll = 1 << MD_SW_force_unroll; /* pairs in flight */

/* Half lists: a pair is in one row, and its force goes to both atoms. */
constexpr bool has_rows = MD_SW_force_kernel == MD_KERNEL_LIST || MD_SW_force_kernel == MD_KERNEL_LIST_SPLIT;
constexpr bool is_half = has_rows && MD_SW_neighbor_list == MD_LIST_HALF;

/* Otherwise each pair is computed from both sides: sums over pairs are halved once (k_force_energy). */
constexpr bool has_both_directions = !is_half;

/* With one type all pairs have a factor in common, which waits until they are added up (Forces::whole). A shift of the force
 * has none, and half lists hand each pair on at once. */
constexpr bool has_common_factor = MD_N_TYPES == 1 && !MD_SHIFTS_FORCE(MD_SHIFT) && !is_half;

struct PairTable {
    PairParameters pair[MD_N_TYPES * MD_N_TYPES];
};

#if MD_SW_memory_parameters == MD_PARAMETERS_GLOBAL
#define MD_FORCE_ARGUMENTS MD_ARGUMENTS
#define MD_PAIR_TABLE      ((const PairParameters *)a.pairs)
#elif MD_SW_memory_parameters == MD_PARAMETERS_ARGUMENT
#define MD_FORCE_ARGUMENTS MD_ARGUMENTS, const __grid_constant__ PairTable table
#define MD_PAIR_TABLE      table.pair
#else /* constant */
extern "C" {
__constant__ PairTable c_pair_table; /* filled by cuda_kernels_set_parameters */
}
#define MD_FORCE_ARGUMENTS MD_ARGUMENTS
#define MD_PAIR_TABLE      c_pair_table.pair
#endif

__device__ inline void add_force(const CudaArguments &a, int64_t i, const Vec3<Pair> &f) {
    const CudaVectors &force = a.now.force;
    const int64_t at = is_aos ? 3 * i : is_vec4 ? 4 * i : i;
    Pair *x = (Pair *)force.part[0] + at;
    atomicAdd(x, f.x);
    atomicAdd(is_soa ? (Pair *)force.part[1] + at : x + 1, f.y);
    if (MD_DIMENSION == 3) atomicAdd(is_soa ? (Pair *)force.part[2] + at : x + 2, f.z);
    MD_COUNT_ADD(CUDA_COUNT_ATOMICS, MD_DIMENSION);
}

/* Threads that share a row. */
constexpr bool is_split = MD_SW_force_kernel == MD_KERNEL_LIST_SPLIT;
constexpr int threads_per_atom =
    is_split || MD_SW_force_kernel == MD_KERNEL_BRICK ? 1 << MD_SW_force_threads_per_atom : 1;

/* Forces are added by atomics: they must be zero before. */
constexpr bool is_summed_in_memory = is_split && MD_SW_force_partial_sums == MD_PARTIAL_SUMS_ATOMIC;
constexpr bool forces_add = is_half || is_summed_in_memory;

/* --- visitors ---------------------------------------------------------------------------------------------------------
 *
 * The loops over rows of neighbours do not depend on the quantity computed from the pairs: they hand each pair to a visitor, their
 * template argument. Each thread has an object of it, with
 *
 *   Row                                    the type of the sum of a row: a number or a Vec3. It begins at 0.
 *   visit(pair, d, r_sq, j, inside, &sum)  adds the pair with atom j, at distance d, if it is inside the cutoff. In half lists
 *                                          a pair is in one row, and this also adds to atom j. inside is an int: a bool
 *                                          passed on takes a byte, and instructions to fill and test it. j is only for
 *                                          half lists: in bricks it is 0.
 *   whole(pairs, sum)                      a thread's part of the sum, after its last pair: once for each row that it has pairs of
 *   prepare(i)                             called before row i (bricks only)
 *   finish(i, sum)                         takes the sum of row i: by one thread, or by each with its part (is_summed_in_memory) */
struct VisitorBase {
    const CudaArguments &a;
    template <class Row> __device__ Row whole(const PairParameters *, const Row &sum) const { return sum; }
    __device__ void prepare(int) const {}
};

/* Forces, which go to memory. */
struct Forces : VisitorBase {
    typedef Vec3<Pair> Row;

    /* Returns the force over the distance, less the factor that all pairs have in common. */
    __device__ Pair visit(const PairParameters *pair, const Vec3<Pair> &d, Pair r_sq, int64_t j, int inside,
                          Vec3<Pair> *force) const {
        Pair f = has_common_factor ? md_pair_force_unit(pair, r_sq) : md_pair_force_at(pair, r_sq, MD_SHIFT);
        /* opaque: else compilers branch around it where they like, pair after pair */
        if constexpr (!is_branching) f = opaque(f);
        if (is_branching || inside) {
            force->x += f * d.x;
            force->y += f * d.y;
            if (MD_DIMENSION == 3) force->z += f * d.z;
        }
        if (is_half && inside) add_force(a, j, Vec3<Pair>{-f * d.x, -f * d.y, -f * d.z});
        return f;
    }

    /* With the factor that visit has left out. */
    __device__ Vec3<Pair> whole(const PairParameters *pairs, const Vec3<Pair> &sum) const {
        if constexpr (has_common_factor) {
            const Pair factor = pairs->p[0];
            return Vec3<Pair>{factor * sum.x, factor * sum.y, factor * sum.z};
        } else {
            return sum;
        }
    }

    __device__ void finish(int64_t i, const Vec3<Pair> &force) const {
        if constexpr (forces_add) add_force(a, i, force);
        else store<Pair>(a.now.force, i, force, Pair(0));
    }
};

/* Energies and virial as well, which the kernel adds up over all rows of the thread. */
struct ForcesAndEnergies : Forces {
    Sum (&sums)[pair_totals];
    RowTensor tensor;

    __device__ void visit(const PairParameters *pair, const Vec3<Pair> &d, Pair r_sq, int64_t j, int inside,
                          Vec3<Pair> *force) {
        const Pair f = Forces::visit(pair, d, r_sq, j, inside, force);
        if (!inside) return;
        add(sums[CUDA_POTENTIAL], (double)md_pair_energy_at(pair, r_sq, MD_SHIFT));
        add(sums[CUDA_TRUNCATION], (double)pair->truncation);
        add(sums[CUDA_VIRIAL], (double)((has_common_factor ? f * pair->p[0] : f) * r_sq));
        add(sums[CUDA_PAIRS], 1);
        if constexpr (has_tensor) tensor.add_pair(f, d);
    }

    __device__ Vec3<Pair> whole(const PairParameters *pairs, const Vec3<Pair> &sum) {
        if constexpr (has_tensor) tensor.end_row(has_common_factor ? pairs->p[0] : Pair(1), sums);
        return Forces::whole(pairs, sum);
    }
};

/* Hands a visitor the pair of an atom, whose row of the table is row, with atom j of that type, d away from it. counts: false if
 * it is no pair (an atom and itself, padding). */
template <class Visitor>
__device__ inline void add_pair_at(const CudaArguments &a, const PairParameters *row, const Vec3<Pair> &d, int type,
                                   int64_t j, bool counts, typename Visitor::Row *sum, Visitor &visitor) {
    const Pair r_sq = squared(d);
    const PairParameters *pair = &row[type];
    const bool inside = counts && r_sq < pair->cutoff_sq;
    if (counts) MD_COUNT_ADD(CUDA_COUNT_TESTED, 1);
    if (inside) MD_COUNT_ADD(CUDA_COUNT_INSIDE, 1);
    if (is_branching && !inside) return;
    visitor.visit(pair, d, r_sq, j, inside, sum);
}

/* The same for atoms at x and y, of which the nearest images count. */
template <class Visitor>
__device__ inline void add_pair(const CudaArguments &a, const PairParameters *row, const Vec3<Pair> &x, const Atom &y,
                                int64_t j, bool counts, typename Visitor::Row *sum, Visitor &visitor) {
    add_pair_at(a, row, separation(a, x, y.v), y.type, j, counts, sum, visitor);
}

/* Adds up two parts of a row. */
template <class T> __device__ inline void operator+=(Vec3<T> &sum, const Vec3<T> &part) {
    sum.x += part.x;
    sum.y += part.y;
    sum.z += part.z;
}

/* The other part is that of the lane whose number differs by `distance`. */
template <class T> __device__ inline void add_lane(T *sum, int distance) {
    *sum += __shfl_xor_sync(whole_warp, *sum, distance);
}
template <class T> __device__ inline void add_lane(Vec3<T> *sum, int distance) {
    add_lane(&sum->x, distance);
    add_lane(&sum->y, distance);
    if (MD_DIMENSION == 3) add_lane(&sum->z, distance);
}

/* Adds up the parts of a row's threads, which are neighbours in a warp: all of them have the sum. Every thread of the warp
 * comes here. */
template <class Row> __device__ inline void add_up_row(Row *sum) {
    for (int distance = threads_per_atom / 2; distance > 0; distance /= 2) add_lane(sum, distance);
}

#endif
