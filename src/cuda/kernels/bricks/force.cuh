/* Force kernel of bricks: a block a brick, a thread a row, or several (force.threads_per_atom): neighbours in a warp, which
 * take the quads of the row in turn and add up by shuffles.
 *
 * brick: the block brings the atoms of its brick and those in range of it into shared memory, as images near the brick,
 * and every pair is found there. An entry of the list is a 16-bit address in shared memory, four of them a load; its
 * rows lie side by side in slices of 32. Global memory delivers the list, and each position some five times
 * (once for each brick near it) instead of once a pair. */
#ifndef MD_CUDA_FORCE_BRICK_CUH
#define MD_CUDA_FORCE_BRICK_CUH

#include "cuda/kernels/pair.cuh"
#include "cuda/kernels/bricks/tile.cuh"

/* The list comes from memory, some thousand cycles away: so many quads are loaded before the first one is used. Two
 * more than force.unroll gives if a thread has a whole row, which is long (some twenty quads in a liquid) and
 * leaves registers for them; one more for a part of a row, which ends after a few, and for doubles, which take those
 * registers. */
constexpr int more_quads = !is_double && threads_per_atom == 1 ? 2 : 1;
constexpr int quads_ahead = unroll >= CUDA_QUAD ? unroll / CUDA_QUAD + more_quads : 1;
/* A quad is the most that is worked on at a time: force.unroll = 8 is that of 4 with one more quad ahead. */
constexpr int pairs_in_flight = unroll > CUDA_QUAD ? CUDA_QUAD : unroll;

/* memory.staging
 *   registers  positions pass through registers on their way into shared memory, where they are measured from the corner of
 *              the brick, or are images of atoms across the border. A warp waits for its positions before it asks for more.
 *   async      asynchronous copies from global into shared memory; a warp waits once for all of them (cp.async, compute
 *              capability 8.0). They cannot change the data, so that such bricks measure from the corner of the box;
 *              if low bits are staged (tile.cuh), each thread adds them in shared memory to the atoms that it has copied,
 *              after the wait. Bricks with images pass through registers as before. */
constexpr bool copies_async = MD_SW_memory_staging == MD_STAGING_ASYNC;

/* Whether staged atoms are bit copies of memory. */
__device__ inline bool is_as_copied(const CudaBrick &brick) {
    return copies_async && !stages_low_bits && !brick.has_images;
}

/* The corner that staged positions are measured from. */
__device__ inline Vec3<Pair> corner_of(const CudaBrick &brick) {
    return is_as_copied(brick) ? Vec3<Pair>{0, 0, 0} : staged_origin(brick);
}

#ifndef MD_COPY_16
#define MD_COPY_16(to, from)                                                                                           \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from))
#define MD_WAIT_FOR_COPIES() asm volatile("cp.async.wait_all;" ::: "memory")
#endif

/* Atoms that a thread loads at a time: first their indices, all at once, then their positions.
 * Three, as with four some kernels have too few registers afterwards. */
constexpr int staged_at_once = is_double ? 2 : 3, copied_at_once = 8;

__device__ inline void copy_atoms(const CudaArguments &a, const CudaBrick &brick, int begin, int64_t from,
                                  Atom *atoms) {
    constexpr int parts = (int)sizeof(Atom) / 16;
    const int32_t *source = a.bricks.source + brick.source;
    const char *positions = (const char *)((const Vec4<Pair> *)a.now.position.part[0] + from);
#pragma unroll 1
    for (int first = begin + (int)threadIdx.x; first < brick.n_staged; first += copied_at_once * MD_BLOCK) {
        int particle[copied_at_once];
#pragma unroll
        for (int k = 0; k < copied_at_once; k++) {
            const int s = first + k * MD_BLOCK;
            particle[k] = s < brick.n_staged ? source[s] : 0;
        }
#pragma unroll
        for (int k = 0; k < copied_at_once; k++) {
            const int s = first + k * MD_BLOCK;
            if (s >= brick.n_staged) continue;
            for (int part = 0; part < parts; part++)
                MD_COPY_16((char *)&atoms[1 + s] + 16 * part,
                           positions + (int64_t)sizeof(Atom) * particle[k] + 16 * part);
        }
    }
    MD_WAIT_FOR_COPIES();
    if constexpr (!stages_low_bits) return;
    const Vec3<Pair> origin = corner_of(brick);
    for (int s = begin + (int)threadIdx.x; s < brick.n_staged; s += MD_BLOCK) {
        const Place place = {atoms[1 + s].v, (unsigned)atoms[1 + s].type};
        atoms[1 + s] = staged_atom(staged_place(origin, place), place);
    }
}

template <bool IMAGES>
__device__ inline void stage_atoms(const CudaArguments &a, const CudaBrick &brick, const Shifts &shifts, int begin,
                                   int64_t from, Atom *atoms) {
    const Vec3<Pair> origin = corner_of(brick);
    const int32_t *source = a.bricks.source + brick.source;
    const uint8_t *image = a.bricks.image + brick.source;
#pragma unroll 1
    for (int first = begin + (int)threadIdx.x; first < brick.n_staged; first += staged_at_once * MD_BLOCK) {
        int particle[staged_at_once], images[staged_at_once];
        Place place[staged_at_once];
#pragma unroll
        for (int k = 0; k < staged_at_once; k++) {
            const int s = first + k * MD_BLOCK;
            particle[k] = s < brick.n_staged ? source[s] : 0;
            images[k] = IMAGES && s < brick.n_staged ? image[s] : no_image;
        }
#pragma unroll
        for (int k = 0; k < staged_at_once; k++) place[k] = fetch_to_stage(a.now, particle[k], from);
#pragma unroll
        for (int k = 0; k < staged_at_once; k++) {
            const int s = first + k * MD_BLOCK;
            /* opaque: shifts of all atoms at once would take registers that some kernels need for the next quads */
            const Vec3<Pair> v = IMAGES ? staged_image(shift_of_image(*opaque(&shifts), (unsigned)images[k]), place[k])
                                        : staged_place(origin, place[k]);
            if (s < brick.n_staged) atoms[1 + s] = staged_atom(v, place[k]);
        }
    }
}

/* Stages the atoms of the brick's list, without the first `begin`. */
__device__ inline void stage_brick(const CudaArguments &a, const CudaBrick &brick, const Shifts &shifts, int begin,
                                   int64_t from, Atom *atoms) {
    if (threadIdx.x == 0) atoms[0] = nowhere();
    if (brick.has_images) stage_atoms<true>(a, brick, shifts, begin, from, atoms);
    else if constexpr (copies_async) copy_atoms(a, brick, begin, from, atoms);
    else stage_atoms<false>(a, brick, shifts, begin, from, atoms);
}

/* If a thread has a whole row, its loads keep their order (so do loads of atoms ahead). Otherwise
 * a compiler that is short of registers moves the load of a later quad down to its use, and every iteration waits for memory (k_step_pass of a
 * million atoms: 7 of 14 cycles an instruction). */
constexpr bool loads_in_order = !is_double && threads_per_atom == 1;

__device__ inline uint64_t load_quad(const uint64_t *quad) {
    if constexpr (loads_in_order) return *(const volatile uint64_t *)quad;
    else return *quad;
}

/* Whether threads that share a row are to read the entries of their quads in turns: see CUDA_FIRST_OF_QUAD. */
constexpr bool takes_turns = threads_per_atom > 2 && MD_SW_neighbor_distances == MD_DISTANCES_MATRIX;
__device__ inline int first_of_quad(void) {
    return takes_turns ? CUDA_FIRST_OF_QUAD((int)threadIdx.x % threads_per_atom, threads_per_atom) : 0;
}

/* A quad of this thread's part of a row, the entry that it begins with first. */
__device__ inline uint64_t quad_in_turn(const uint64_t *quad) {
    const uint64_t entries = load_quad(quad);
    if constexpr (!takes_turns) return entries;
    const int first = first_of_quad();
    const unsigned low = (unsigned)(first < 2 ? entries : entries >> 32),
                   high = (unsigned)(first < 2 ? entries >> 32 : entries), turn = first % 2 == 0 ? 0x3210 : 0x5432;
    return (uint64_t)__byte_perm(high, low, turn) << 32 | __byte_perm(low, high, turn);
}

#ifndef MD_LOAD_SHARED_FLOATS
#define MD_LOAD_SHARED_FLOATS(x, y, z, w, from)                                                                        \
    asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"                                                   \
                 : "=f"(x), "=f"(y), "=f"(z), "=f"(w)                                                                  \
                 : "r"((unsigned)__cvta_generic_to_shared(from)))
#endif

/* Where more than two threads share a row, an atom is asked for two pairs before it is looked at: 4,000 atoms by eight threads a row
 * made 319,500 steps/s without that, and make 326,200. By two threads a row, which have few registers left, 32,000 atoms lost half a
 * per cent, and by one nothing was gained (H200, run/results/h200/LOG.md); doubles were not tried. */
constexpr int atoms_ahead = !is_double && threads_per_atom > 2 && unroll >= CUDA_QUAD ? 2 : 0;
constexpr int places_ahead = atoms_ahead > 0 ? atoms_ahead : 1; /* no array is empty */

__device__ inline Atom load_staged(const Atom *staged) {
    if constexpr (loads_in_order || atoms_ahead > 0) {
        float x, y, z, w;
        MD_LOAD_SHARED_FLOATS(x, y, z, w, staged);
        return Atom{Vec3<Pair>{x, y, z}, __float_as_int(w)};
    } else {
        return *staged;
    }
}

/* Four times the atom that is nowhere. */
constexpr uint64_t no_quad = 0;

/* Entry k by one instruction, where k is a constant: shift and mask take two. */
__device__ inline unsigned entry_of_quad(uint64_t quad, int k) {
    return __byte_perm((unsigned)(k < 2 ? quad : quad >> 32), 0, k % 2 == 0 ? 0x4410 : 0x4432);
}

/* Those that were asked for, by atoms_ahead. */
struct AtomsAhead {
    Atom next[places_ahead];
};

__device__ inline AtomsAhead atoms_of_quad(const Atom *atoms, uint64_t quad) {
    AtomsAhead ahead;
#pragma unroll
    for (int k = 0; k < atoms_ahead; k++) ahead.next[k] = load_staged(&staged_at(atoms, entry_of_quad(quad, k)));
    return ahead;
}

/* Entry k of a quad, which was asked for, and one further on instead, of that quad or the next one. */
__device__ inline Atom take_ahead(const Atom *atoms, uint64_t quad, uint64_t next, int k, AtomsAhead *ahead) {
    const Atom taken = ahead->next[k % places_ahead];
    const int further = k + atoms_ahead;
    const unsigned entry =
        further < CUDA_QUAD ? entry_of_quad(quad, further) : entry_of_quad(next, further - CUDA_QUAD);
    ahead->next[k % places_ahead] = load_staged(&staged_at(atoms, entry));
    return taken;
}

/* The four pairs of a quad of row `own`, after which comes `next`; n: entries that are no padding. */
template <class Visitor>
__device__ inline void add_quad(const CudaArguments &a, const PairParameters *pairs, const Atom *atoms, const Atom &own,
                                uint64_t quad, uint64_t next, AtomsAhead *ahead, int n, typename Visitor::Row *sum,
                                Visitor &visitor) {
#pragma unroll pairs_in_flight
    for (int k = 0; k < CUDA_QUAD; k++) {
        Atom other;
        if constexpr (atoms_ahead > 0) other = take_ahead(atoms, quad, next, k, ahead);
        else other = load_staged(&staged_at(atoms, entry_of_quad(quad, k)));
        const Vec3<Pair> d = {own.v.x - other.v.x, own.v.y - other.v.y,
                              MD_DIMENSION == 3 ? own.v.z - other.v.z : Pair(0)};
        /* padding is out of range */
        add_pair_at(a, &pairs[own.type * MD_N_TYPES], d, MD_N_TYPES == 1 ? 0 : other.type, 0,
                    !MD_COUNT || (k + first_of_quad()) % CUDA_QUAD < n, sum, visitor);
    }
}

/* A thread's part of a row: every threads_per_atom-th of its quads. */
struct RowPart {
    const uint64_t *quads; /* threads_per_atom * 32 apart */
    int count;             /* entries of the row from the first of them on */
};

/* The next ones of them that are asked for. */
struct QuadsAhead {
    uint64_t next[quads_ahead];
};

constexpr int quad_step = threads_per_atom * CUDA_QUAD; /* entries from one quad of a part to the next */

__device__ inline RowPart part_of_row(const CudaArguments &a, const CudaBrick &brick, int r) {
    const int part = (int)threadIdx.x % threads_per_atom;
    return RowPart{brick_quads(a, brick, r) + part * 32, a.list.counts[brick.begin + r] - part * CUDA_QUAD};
}

/* Those of round `round` of a row. */
__device__ inline QuadsAhead quads_of_round(const RowPart &row, int round) {
    QuadsAhead ahead;
#pragma unroll
    for (int k = 0; k < quads_ahead; k++) {
        const int quad = round * quads_ahead + k;
        ahead.next[k] = row.count > quad * quad_step ? quad_in_turn(&row.quads[quad * threads_per_atom * 32]) : no_quad;
    }
    return ahead;
}

/* The pairs of atom `own` in a round of its row, of which `left` entries are left; of the longest row of the warp `most` are, and
 * no quad is begun behind it: padding is computed as well. */
template <class Visitor>
__device__ inline void add_round(const CudaArguments &a, const PairParameters *pairs, const Atom *atoms,
                                 const Atom &own, const QuadsAhead &round, int left, int most,
                                 typename Visitor::Row *sum, Visitor &visitor) {
    AtomsAhead ready = atoms_of_quad(atoms, round.next[0]);
#pragma unroll
    for (int k = 0; k < quads_ahead; k++) {
        if (k > 0 && most <= k * quad_step) break;
        const uint64_t following = k + 1 < quads_ahead ? round.next[k + 1] : no_quad;
        add_quad(a, pairs, atoms, own, round.next[k], following, &ready, left - k * quad_step, sum, visitor);
    }
}

/* The largest of all lanes of a warp. */
__device__ inline int most_of_warp(int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(whole_warp, value);
#else
    for (int distance = 16; distance > 0; distance /= 2)
        value = max(value, __shfl_xor_sync(whole_warp, value, (unsigned)distance));
    return value;
#endif
}

/* The sum of this part of the row of atom `own`; by whole warps. The quads of a round are loaded a whole
 * round before they are used, into separate registers (two rounds take turns: copies from one to the other would wait for
 * the loads just issued), and a warp goes on to the last quad of its longest part. So all lanes go the same way, and the
 * compiler knows, from compute capability 8.0 on: it keeps the address of the atoms in a register of the warp, and where threads
 * share a row a pair takes two or three instructions of 22 less. */
template <class Visitor>
__device__ inline typename Visitor::Row sum_of_part(const CudaArguments &a, const PairParameters *pairs,
                                                    const Atom *atoms, const RowPart &row, QuadsAhead ahead,
                                                    const Atom &own, Visitor &visitor) {
    constexpr int of_round = quads_ahead * quad_step;
    typename Visitor::Row sum = {};
    RowPart rest = row;
    for (int most = most_of_warp(row.count); most > 0; most -= 2 * of_round) {
        const QuadsAhead next = quads_of_round(rest, 1);
        add_round(a, pairs, atoms, own, ahead, rest.count, most, &sum, visitor);
        if (most <= of_round) break;
        ahead = quads_of_round(rest, 2);
        add_round(a, pairs, atoms, own, next, rest.count - of_round, most - of_round, &sum, visitor);
        rest.quads += 2 * quads_ahead * threads_per_atom * 32;
        rest.count -= 2 * of_round;
    }
    return visitor.whole(pairs, sum);
}

/* The loads of a thread before it can begin with its row. */
struct RowBegin {
    RowPart row;
    QuadsAhead first;
    Atom own; /* as staged */
};

/* Of the row that this thread has of those from `first` on; after the last one, a row without entries. */
__device__ inline RowBegin begin_row(const CudaArguments &a, const CudaBrick &brick, int first, int64_t from) {
    const int r = first + (int)threadIdx.x / threads_per_atom;
    RowBegin begin = {};
    if (r < brick.end - brick.begin) {
        begin.row = part_of_row(a, brick, r);
        begin.first = quads_of_round(begin.row, 0);
        begin.own = staged_particle(a, corner_of(brick), brick.begin + r, from);
    }
    return begin;
}

/* One round of the rows of the brick, from `first` on: each thread has one, or a part of one, for which `begin` was
 * asked before. Every thread of the block comes here. */
template <class Visitor>
__device__ inline void round_of_rows(const CudaArguments &a, const PairParameters *pairs, const CudaBrick &brick,
                                     int first, const RowBegin &begin, const Atom *atoms, Visitor &visitor) {
    const int r = first + (int)threadIdx.x / threads_per_atom;
    const bool ends = threadIdx.x % threads_per_atom == 0 && r < brick.end - brick.begin;
    if (ends) visitor.prepare(brick.begin + r);
    typename Visitor::Row sum = sum_of_part(a, pairs, atoms, begin.row, begin.first, begin.own, visitor);
    add_up_row(&sum);
    if (ends) visitor.finish(brick.begin + r, sum);
}

/* The rounds after the first one, of the brick at `place`; positions come `from` there. Few bricks have any:
 * so it is loaded again, and this loop is separate from that of the first round, which otherwise would lack registers for
 * its pairs. */
template <class Visitor>
__device__ inline void later_rows(const CudaArguments &a, const PairParameters *pairs, const CudaBrick *place,
                                  const Atom *atoms, int64_t from, Visitor &visitor) {
    constexpr int rows_of_round = MD_BLOCK / threads_per_atom;
    const CudaBrick &brick = *opaque(place);
    /* the same rounds for all: they add up */
    for (int first = rows_of_round; first < brick.end - brick.begin; first += rows_of_round)
        round_of_rows(a, pairs, brick, first, begin_row(a, brick, first, from), atoms, visitor);
}

template <class Visitor>
__device__ inline void force_block_brick(const CudaArguments &a, const PairParameters *pairs, int b, int64_t from,
                                         Visitor &visitor) {
    MD_DYNAMIC_SHARED(Atom, s_atoms); /* [bricks.capacity + CUDA_STAGED_BESIDE] */
    const CudaBrick brick = a.bricks.table[b];
    __syncthreads(); /* the atoms staged by an earlier call were read by all */
    const RowBegin begin = begin_row(a, brick, 0, from);
    stage_brick(a, brick, *shifts_of_brick(a, b), 0, from, s_atoms);
    __syncthreads(); /* all atoms are staged */
    round_of_rows(a, pairs, brick, 0, begin, s_atoms, visitor);
    later_rows(a, pairs, &a.bricks.table[b], s_atoms, from, visitor);
}

#endif
