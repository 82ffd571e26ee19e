/* Force kernel of bricks: a block a brick, a thread a row, or several (force.threads_per_atom): neighbours in a warp, which
 * take the quads of the row in turn and add up by shuffles.
 *
 * brick: the block brings the atoms of its brick and of the cells around it into shared memory, as images near the brick,
 * and every pair is found there. An entry of the list is a 16-bit address in shared memory, four of them a load; its
 * rows lie side by side in slices of 32. What global memory serves is the list, and each position some five times
 * (once a brick that it is near) in place of once a pair. */
#ifndef MD_CUDA_FORCE_BRICK_CUH
#define MD_CUDA_FORCE_BRICK_CUH

#include "cuda/kernels/pair.cuh"
#include "cuda/kernels/staged.cuh"

/* The list comes from memory, some thousand cycles away: so many quads are asked for before the first one is looked at. Two
 * more than those of force.unroll where a thread has a row of its own, which is long (some twenty quads in a liquid) and
 * leaves registers for them; one more of a part of a row, which is over after a few, and of doubles, which take those
 * registers. Rows that are one thread's go on to a whole number of quads_ahead: the more of them, the more padding. */
constexpr int more_quads = !is_double && row_threads == 1 ? 2 : 1;
constexpr int quads_ahead = unroll >= CUDA_QUAD ? unroll / CUDA_QUAD + more_quads : 1;
/* A quad is the most that is worked on at a time: force.unroll = 8 is that of 4 with one more quad ahead. */
constexpr int pairs_in_flight = unroll > CUDA_QUAD ? CUDA_QUAD : unroll;

/* Atoms that a thread brings in at a time: where they come from is asked for all of them at once, then where they are. */
constexpr int staged_at_once = is_double ? 2 : 4;

template <bool IMAGES>
__device__ inline void stage_atoms(const CudaArguments &a, const CudaBrick &brick, int begin, int64_t from,
                                   Atom *atoms) {
    const Vec3<Pair> origin = staged_origin(brick);
    const int32_t *source = a.bricks.source + brick.source;
    const uint8_t *image = a.bricks.image + brick.source;
#pragma unroll 1
    for (int first = begin + (int)threadIdx.x; first < brick.n_staged; first += staged_at_once * MD_BLOCK) {
        int particle[staged_at_once], images[staged_at_once];
        Atom atom[staged_at_once];
#pragma unroll
        for (int k = 0; k < staged_at_once; k++) {
            const int s = first + k * MD_BLOCK;
            particle[k] = s < brick.n_staged ? source[s] : 0;
            images[k] = IMAGES && s < brick.n_staged ? image[s] : no_image;
        }
#pragma unroll
        for (int k = 0; k < staged_at_once; k++) atom[k] = staged_particle(a, origin, particle[k], from);
#pragma unroll
        for (int k = 0; k < staged_at_once; k++) {
            const int s = first + k * MD_BLOCK;
            if (IMAGES) add_shift(shift_of_image(a, images[k]), &atom[k]);
            if (s < brick.n_staged) atoms[1 + s] = atom[k];
        }
    }
}

/* Brings in what the list of the brick is about, but for the first `begin` of the atoms. */
__device__ inline void stage_brick(const CudaArguments &a, const CudaBrick &brick, int begin, int64_t from,
                                   Atom *atoms) {
    if (threadIdx.x == 0) atoms[0] = nowhere();
    if (brick.has_images) stage_atoms<true>(a, brick, begin, from, atoms);
    else stage_atoms<false>(a, brick, begin, from, atoms);
}

/* Where a thread has a row of its own, its loads keep their order. Left to itself a compiler that is short of registers moves
 * that of a later quad down to where the quad is needed, and every turn of the loop waits for memory (k_step_pass of a
 * million atoms: 7 of 14 cycles an instruction). */
constexpr bool loads_in_order = !is_double && row_threads == 1;

__device__ inline uint64_t load_quad(const uint64_t *quad) {
    if constexpr (loads_in_order) return *(const volatile uint64_t *)quad;
    else return *quad;
}

#ifndef MD_LOAD_SHARED_FLOATS
#define MD_LOAD_SHARED_FLOATS(x, y, z, w, from)                                                                        \
    asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"                                                   \
                 : "=f"(x), "=f"(y), "=f"(z), "=f"(w)                                                                  \
                 : "r"((unsigned)__cvta_generic_to_shared(from)))
#endif

__device__ inline Atom load_staged(const Atom *staged) {
    if constexpr (loads_in_order) {
        float x, y, z, w;
        MD_LOAD_SHARED_FLOATS(x, y, z, w, staged);
        return Atom{Vec3<Pair>{x, y, z}, __float_as_int(w)};
    } else {
        return *staged;
    }
}

/* Four times the atom that is nowhere. */
constexpr uint64_t no_quad = 0;

/* The four pairs of a quad of row `own`; n: entries that are no padding. */
template <bool ENERGY>
__device__ inline void add_quad(const CudaArguments &a, const PairParameters *pairs, const Atom *atoms, const Atom &own,
                                uint64_t quad, int n, Vec3<Pair> *force, Sum (&sums)[CUDA_PAIR_TOTALS]) {
#pragma unroll pairs_in_flight
    for (int k = 0; k < CUDA_QUAD; k++) {
        const Atom other = load_staged(&staged_at(atoms, (unsigned)(quad >> (16 * k)) & 0xffffu));
        const Vec3<Pair> d = {own.v.x - other.v.x, own.v.y - other.v.y,
                              MD_DIMENSION == 3 ? own.v.z - other.v.z : Pair(0)};
        /* padding is out of range */
        add_pair_at<ENERGY>(a, &pairs[own.type * MD_N_TYPES], d, MD_N_TYPES == 1 ? 0 : other.type, 0,
                            !MD_COUNT || k < n, force, sums);
    }
}

/* What a thread has of a row: every row_threads-th of its quads. */
struct RowPart {
    const uint64_t *quads; /* row_threads * 32 apart */
    int count;             /* entries of the row from the first of them on */
};

/* The next ones of them that are asked for. */
struct QuadsAhead {
    uint64_t next[quads_ahead];
};

constexpr int quad_step = row_threads * CUDA_QUAD; /* entries from one quad of a part to the next */

__device__ inline RowPart part_of_row(const CudaArguments &a, const CudaBrick &brick, int r) {
    const int part = (int)threadIdx.x % row_threads;
    return RowPart{brick_quads(a, brick, r) + part * 32, a.list.counts[brick.begin + r] - part * CUDA_QUAD};
}

__device__ inline QuadsAhead first_quads(const RowPart &row) {
    QuadsAhead ahead;
#pragma unroll
    for (int k = 0; k < quads_ahead; k++)
        ahead.next[k] = row.count > k * quad_step ? load_quad(&row.quads[k * row_threads * 32]) : no_quad;
    return ahead;
}

/* Of the force on atom `own` what comes of this part of its row. A row that is one thread's goes on to a whole number of
 * quads_ahead, without a branch between them; parts are too short for that. */
template <bool ENERGY>
__device__ inline Vec3<Pair> part_of_force(const CudaArguments &a, const PairParameters *pairs, const Atom *atoms,
                                           const RowPart &row, QuadsAhead ahead, const Atom &own,
                                           Sum (&sums)[CUDA_PAIR_TOTALS]) {
    const uint64_t *quads = row.quads;
    Vec3<Pair> force = {0, 0, 0};
    for (int left = row.count; left > 0; left -= quads_ahead * quad_step) {
        quads += quads_ahead * row_threads * 32;
#pragma unroll
        for (int k = 0; k < quads_ahead; k++) {
            if (row_threads > 1 && left <= k * quad_step) break;
            const uint64_t quad = ahead.next[k];
            ahead.next[k] = left > (k + quads_ahead) * quad_step ? load_quad(&quads[k * row_threads * 32]) : no_quad;
            add_quad<ENERGY>(a, pairs, atoms, own, quad, left - k * quad_step, &force, sums);
        }
    }
    return whole_force(pairs, force);
}

/* The rows of the brick from `begin` on. Positions come `from` there; finish(i, force) is called for each row. Every thread
 * of the block comes here. */
template <bool ENERGY, class Finish>
__device__ inline void brick_rows(const CudaArguments &a, const PairParameters *pairs, const CudaBrick &brick,
                                  int begin, const Atom *atoms, Sum (&sums)[CUDA_PAIR_TOTALS], int64_t from,
                                  Finish &finish) {
    const int n_rows = brick.end - brick.begin;
    for (int first = begin; first < n_rows; first += MD_BLOCK / row_threads) { /* the same for all: they add up */
        const int r = first + (int)threadIdx.x / row_threads;
        Vec3<Pair> force = {0, 0, 0};
        if (r < n_rows) {
            const RowPart row = part_of_row(a, brick, r);
            const QuadsAhead ahead = first_quads(row);
            const Atom own = staged_particle(a, staged_origin(brick), brick.begin + r, from);
            force = part_of_force<ENERGY>(a, pairs, atoms, row, ahead, own, sums);
        }
        add_up_row(&force);
        if (threadIdx.x % row_threads == 0 && r < n_rows) finish(brick.begin + r, force);
    }
}

template <bool ENERGY, class Finish>
__device__ inline void force_block_brick(const CudaArguments &a, const PairParameters *pairs, int b,
                                         Sum (&sums)[CUDA_PAIR_TOTALS], int64_t from, Finish &finish) {
    MD_DYNAMIC_SHARED(Atom, s_atoms); /* [bricks.capacity + CUDA_STAGED_BESIDE] */
    const CudaBrick brick = a.bricks.table[b];
    __syncthreads(); /* what an earlier call has staged was read by all */
    stage_brick(a, brick, 0, from, s_atoms);
    __syncthreads(); /* all atoms are staged */
    brick_rows<ENERGY>(a, pairs, brick, 0, s_atoms, sums, from, finish);
}

#endif
