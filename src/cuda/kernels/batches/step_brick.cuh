/* The data of a brick that the resident kernel keeps from step to step: the list and its atoms do not change within a launch, so
 * a step loads only the positions of the staged atoms, and writes only those of its own. Each
 * block holds its first brick, of which each thread holds its first row; the rest (later rounds, of blocks
 * with fewer threads than rows; other bricks, if not all have a block) goes through memory.
 *
 * Registers hold the data that are needed first in a step, the addresses of loads, and the row; shared memory the rest.
 * The threads of a row all integrate its atom: they have the same bits of its force, and need its new position. */
#ifndef MD_CUDA_STEP_BRICK_CUH
#define MD_CUDA_STEP_BRICK_CUH

#include "cuda/kernels/bricks/force.cuh"
#include "cuda/kernels/integrate.cuh"
#include "cuda/kernels/batches/step_local.cuh"

/* Rounds of staging, as the host expects them: beyond these the sources are read again at every step. */
constexpr int held_sources = MD_HELD_SOURCES;
static_assert(held_sources >= 1 && held_sources <= (int)sizeof(unsigned), "images of them are a byte each");

/* Whether the first quads are about all that a thread has of a row: else they are not worth their registers, and are read
 * again while the atoms are staged. */
constexpr bool holds_quads = quads_ahead * threads_per_atom * CUDA_QUAD >= 64;

struct HeldBrick {
    int source[held_sources]; /* -1: none */
    unsigned images;          /* of them, a byte each */
    int i;                    /* the atom of the row; -1: there is no row */
    RowPart row;
    QuadsAhead first; /* with holds_quads */
    Atom own;         /* as staged */
};

/* launch.barrier = local with device-check: the first passes may be made again (step.cu). */
constexpr bool may_roll_back = is_local && MD_SW_neighbor_rebuild == MD_REBUILD_DEVICE_CHECK;

/* Where an atom was when it was held. */
template <bool IS_KEPT> struct HeldBegin {
    Vec3<State> begin;
    __device__ void keep(const Vec3<State> &x) { begin = x; }
    __device__ Vec3<State> kept(void) const { return begin; }
};
template <> struct HeldBegin<false> {
    __device__ void keep(const Vec3<State> &) {}
    __device__ Vec3<State> kept(void) const { return Vec3<State>{}; }
};

/* Several processes: where others have copies of it. */
template <bool IS_KEPT> struct HeldCopies {
    CudaCopy first;
    __device__ void keep_copies(const CudaArguments &a, int i) { first = a.domain.first_copy[i]; }
    __device__ CudaCopy copies(void) const { return first; }
};
template <> struct HeldCopies<false> {
    __device__ void keep_copies(const CudaArguments &, int) {}
    __device__ CudaCopy copies(void) const { return CUDA_NO_COPY; }
};

/* In shared memory, after the staged atoms. */
struct HeldAtom : HeldBegin<may_roll_back>, HeldCopies<has_domain> {
    Moving moving;
    Vec3<Pair> reference;
};

/* The brick that is held; thread 0 writes it. */
__device__ inline CudaBrick *brick_place(void) {
    __shared__ CudaBrick s_brick;
    return &s_brick;
}

/* Shifts of the brick that is held. */
__device__ inline Shifts *shifts_place(void) {
    __shared__ Shifts s_shifts;
    return &s_shifts;
}

/* Of the atom of this thread's row; by its first thread. The size of all: cuda_brick_held_bytes. */
__device__ inline HeldAtom *atom_place(const CudaArguments &a) {
    MD_DYNAMIC_SHARED(
        Atom, s_atoms); /* [bricks.capacity + CUDA_STAGED_BESIDE], then HeldAtom [MD_BLOCK / threads_per_atom] */
    return (HeldAtom *)(s_atoms + a.bricks.capacity + CUDA_STAGED_BESIDE) + threadIdx.x / threads_per_atom;
}

__device__ inline void hold_sources(const CudaArguments &a, const CudaBrick &brick, HeldBrick *held) {
    held->images = 0;
#pragma unroll
    for (int k = 0; k < held_sources; k++) {
        const int s = k * MD_BLOCK + (int)threadIdx.x;
        const bool is_there = s < brick.n_staged;
        held->source[k] = is_there ? a.bricks.source[brick.source + s] : -1;
        const unsigned image = is_there && brick.has_images ? a.bricks.image[brick.source + s] : no_image;
        held->images |= image << (8 * k);
    }
}

/* The first brick of this block, with the positions as they are `from` there. */
template <bool HAS_CHECK> __device__ inline void hold_brick(const CudaArguments &a, int64_t from, HeldBrick *held) {
    const CudaBrick brick = a.bricks.table[blockIdx.x];
    if (threadIdx.x == 0) *brick_place() = brick;
    static_assert(CUDA_SHIFTS <= 32, "the smallest block copies them at once");
    if (threadIdx.x < CUDA_SHIFTS)
        ((Pair *)shifts_place())[threadIdx.x] =
            is_as_copied(brick) ? Pair(0) : ((const Pair *)shifts_of_brick(a, (int)blockIdx.x))[threadIdx.x];
    hold_sources(a, brick, held);
    const int r = (int)threadIdx.x / threads_per_atom;
    held->i = r < brick.end - brick.begin ? brick.begin + r : -1;
    held->row =
        RowPart{}; /* of a thread without a row: one without entries, which its warp goes through all the same */
    held->first = QuadsAhead{};
    held->own = Atom{};
    if (held->i >= 0) {
        held->row = part_of_row(a, brick, r);
        if (holds_quads) held->first = quads_of_round(held->row, 0);
        held->own = staged_particle(a, corner_of(brick), held->i, from);
        HeldAtom *atom = atom_place(a);
        if (threadIdx.x % threads_per_atom == 0) {
            atom->moving = Moving{load_velocity(a.now, held->i), load_position(a.now, held->i, from)};
            atom->keep(atom->moving.x);
            if (HAS_CHECK) atom->reference = load<Pair>(a.reference, held->i);
            atom->keep_copies(a, held->i);
        }
    }
    __syncthreads(); /* the brick, the shifts and the atoms are there */
}

/* Velocities to memory, where they have not been since hold_brick. */
__device__ inline void put_back(const CudaArguments &a, const HeldBrick &held) {
    if (held.i < 0 || threadIdx.x % threads_per_atom != 0) return;
    const Moving &moving = atom_place(a)->moving;
    store<Pair>(a.now.velocity, held.i, moving.v.v, moving.v.w);
}

/* Atoms as hold_brick found them, their positions `from` there in memory, too. Velocities in memory are still those of then. */
__device__ inline void roll_back(const CudaArguments &a, int64_t from, HeldBrick *held) {
    if (held->i < 0) return;
    HeldAtom *atom = atom_place(a);
    const Vec3<State> begin = atom->kept();
    if (threadIdx.x % threads_per_atom == 0) {
        atom->moving = Moving{load_velocity(a.now, held->i), begin};
        store_position(a.now, held->i, begin, held->own.type, from);
        if (has_domain) store_copies(a, atom->copies(), from, tagged_place(place_of(begin, held->own.type), 0));
    }
    held->own.v = staged_place(corner_of(*brick_place()), place_of(begin, held->own.type));
}

/* Integrates the atom of this thread's row, and stores its position for others, for other GPUs only if they need it. Returns its
 * squared displacement. By all threads; the first of the row has the heat. */
template <bool HAS_CHECK>
__device__ inline float integrate_held(const CudaArguments &a, const Vec3<Pair> &force, const Motion &motion,
                                       const Noise &noise, unsigned tag, bool tells_others, HeldBrick *held,
                                       Heat *heat) {
    HeldAtom *atom = atom_place(a);
    Moving moving = atom->moving;
    if (threads_per_atom > 1) __syncwarp(); /* all threads of the row have read it */
    if (held->i < 0) return 0;
    Heat of_atom;
    move(a, held->i, force, true, noise, held->own.type, motion, &moving, &of_atom);
    const Place place = place_of(moving.x, held->own.type);
    const float moved_sq = HAS_CHECK ? displacement_sq(place.rounded, atom->reference) : 0;
    if (threadIdx.x % threads_per_atom == 0) {
        if (is_local && tag != no_tag) store_tagged(a, held->i + (int)motion.to, tagged_place(place, tag));
        else store_position(a.now, held->i, moving.x, held->own.type, motion.to);
        if constexpr (has_domain)
            if (tells_others) store_copies(a, atom->copies(), motion.to, tagged_place(place, tag == no_tag ? 0 : tag));
        atom->moving = moving;
        heat->quanta += of_atom.quanta;
    }
    held->own.v = staged_place(corner_of(*brick_place()), place);
    return moved_sq;
}

/* The shift of source k. */
__device__ inline ImageShift held_shift(const HeldBrick &held, int k) {
    return shift_of_image(*shifts_place(), held.images >> (8 * k));
}

/* All loads first: they are on the way together. */
__device__ inline void stage_held(const CudaArguments &a, const HeldBrick &held, int64_t from, Atom *atoms) {
    const CudaBrick &brick = *brick_place();
    Place place[held_sources];
#pragma unroll
    for (int k = 0; k < held_sources; k++)
        if (held.source[k] >= 0) place[k] = fetch_to_stage(a.now, held.source[k], from);
#pragma unroll
    for (int k = 0; k < held_sources; k++) {
        if (held.source[k] < 0) continue;
        atoms[1 + k * MD_BLOCK + (int)threadIdx.x] = staged_atom(staged_image(held_shift(held, k), place[k]), place[k]);
    }
    stage_brick(a, brick, *shifts_place(), held_sources * MD_BLOCK, from, atoms);
}

/* Several processes: whether the position of atom i has not come for too long. For own atoms, too: their block may wait for another GPU. */
__device__ inline bool is_silent(const CudaArguments &a, int i, Patience *patience) {
    return has_domain && patience->is_over_with(a, [&] {
        if (i < own_atoms(a)) return -1;
        int side = 0;
        while (i - own_atoms(a) >= a.domain.table->in[side + 1]) side++;
        return 1 + a.domain.peers->rank[side];
    });
}

/* The same with positions that may not have arrived. */
__device__ inline void stage_tagged(const CudaArguments &a, const HeldBrick &held, int64_t from, unsigned tag,
                                    Atom *atoms) {
    TaggedPlace tagged[held_sources];
#pragma unroll
    for (int k = 0; k < held_sources; k++)
        if (held.source[k] >= 0) tagged[k] = load_tagged(a, held.source[k] + (int)from);
#pragma unroll
    for (int k = 0; k < held_sources; k++) {
        if (held.source[k] < 0) continue;
        const ImageShift shift = held_shift(held, k); /* before it waits */
        Patience patience;
        while (tagged[k].tag() != tag && !is_silent(a, held.source[k], &patience))
            tagged[k] = load_tagged(a, held.source[k] + (int)from);
        const Place place = tagged[k].place();
        atoms[1 + k * MD_BLOCK + (int)threadIdx.x] = staged_atom(staged_image(shift, place), place);
    }
}

/* A pass over the brick that is held: visitor.own(force, held) is called by all threads of the rows that are held, and whole
 * warps of them, visitor.finish(i, force) for others. Unless positions carry tags, a barrier of the grid is between two of these,
 * and so no thread reads the atoms staged before. tag: of the wanted positions; no_tag: in the usual form. */
template <class Visitor>
__device__ inline void pass_held(const CudaArguments &a, const PairParameters *pairs, int64_t from, unsigned tag,
                                 HeldBrick *held, Visitor &visitor) {
    MD_DYNAMIC_SHARED(Atom, s_atoms);
    if (!holds_quads && held->i >= 0) held->first = quads_of_round(held->row, 0);
    if (is_local && tag != no_tag) {
        __syncthreads(); /* all have read the atoms staged before */
        stage_tagged(a, *held, from, tag, s_atoms);
    } else {
        stage_held(a, *held, from, s_atoms);
    }
    __syncthreads(); /* all atoms are staged */
    Vec3<Pair> force = sum_of_part(a, pairs, s_atoms, held->row, held->first, held->own, visitor);
    add_up_row(&force);
    visitor.own(force, held);
    later_rows(a, pairs, brick_place(), s_atoms, from, visitor);
}

#endif
