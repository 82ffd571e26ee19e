/* launch.barrier = local: passes of the resident kernel without a barrier of the grid between them. A position goes to the other
 * blocks together with its step, in one store of 16 bytes, and a reader loads it until it is of the wanted
 * step: one trip to the L2 and one back, where the barrier takes two more and waits for the slowest block of all. Accesses of
 * 16 bytes that are whole are new in compute capability 7.0 and CUDA 12.3 (plan/resolve_force.c asks for these).
 *
 * Two buffers suffice: a block overwrites the positions of step t only after all blocks around it have published those of t + 1,
 * hence have read those of t. No other order is needed, so relaxed accesses are enough: a block stores after
 * the barrier at which its loads are in shared memory, each load by then has its value, and no load may be moved after
 * that barrier.
 *
 * The fourth number of a position is its word (common.cuh), whose uppermost bits are the step, instead of the last bits of
 * the position. Those bits, and all other data that only the owner of the atom needs, are held on chip: so each block must hold all its
 * rows and all its sources. A block must also wait for each block that reads its positions. It does if each block stages atoms of
 * all bricks beside its own, as in a liquid. The search finds out whether both hold (note_grid_barrier in bricks/search.cuh);
 * if not, passes use the barrier of the grid.
 *
 * With device-check passes use the barrier of the grid from the step on for which the list may be stale: see passes_apart in
 * step.cu.
 *
 * Several processes: a position also goes to the copies that other GPUs have of the atom, in one store across the link, and blocks wait
 * for copies as for any position. */
#ifndef MD_CUDA_STEP_LOCAL_CUH
#define MD_CUDA_STEP_LOCAL_CUH

#include "cuda/kernels/batches/copies.cuh"
#include "cuda/kernels/bricks/search.cuh"
#include "cuda/kernels/position.cuh"
#include "cuda/kernels/system_words.cuh"

#ifndef MD_HAS_PTX_BY_NAME /* compilers without an assembler for PTX have these functions */
__device__ inline void ptx_st_relaxed_gpu_b128(void *place, unsigned long long low, unsigned long long high) {
    asm volatile("{\n.reg .b128 q;\nmov.b128 q, {%1, %2};\nst.relaxed.gpu.global.b128 [%0], q;\n}" ::"l"(place),
                 "l"(low), "l"(high)
                 : "memory");
}
__device__ inline void ptx_ld_relaxed_gpu_b128(const void *place, unsigned long long *low, unsigned long long *high) {
    asm volatile("{\n.reg .b128 q;\nld.relaxed.gpu.global.b128 q, [%2];\nmov.b128 {%0, %1}, q;\n}"
                 : "=l"(*low), "=l"(*high)
                 : "l"(place)
                 : "memory");
}
#endif

/* In the uppermost four bits of a word: a mark that this position carries its step, and two bits of the step. A block reads the
 * positions of a step before those of the step after next can overwrite them, so two bits of the number are enough. no_tag:
 * no step. The uppermost bit of any other word is 0. */
constexpr unsigned tag_bits = 0xf0000000u, no_tag = 0xffffffffu;
__device__ inline unsigned tag_of(unsigned long long step) { return 0x80000000u | ((unsigned)step & 3u) << 28; }

struct TaggedPlace {
    unsigned long long low, high;
    __device__ unsigned word(void) const { return (unsigned)(high >> 32); }
    __device__ unsigned tag(void) const { return word() & tag_bits; }
    __device__ Place place(void) const {
        return Place{Vec3<Pair>{(Pair)__uint_as_float((unsigned)low), (Pair)__uint_as_float((unsigned)(low >> 32)),
                                (Pair)__uint_as_float((unsigned)high)},
                     word()};
    }
};

/* Indices count through both copies: in 32 bits, as there are tags only if each block has all rows of its brick at once
 * (needs_grid_barrier), and an address takes one instruction instead of four. */
__device__ inline TaggedPlace load_tagged(const CudaArguments &a, int i) {
    TaggedPlace place;
    const float4 *from = (const float4 *)a.now.position.part[0] + i;
    if constexpr (has_domain) ptx_ld_relaxed_sys_b128(from, &place.low, &place.high); /* a copy is of another GPU */
    else ptx_ld_relaxed_gpu_b128(from, &place.low, &place.high);
    return place;
}

__device__ inline TaggedPlace tagged_place(const Place &place, unsigned tag) {
    const unsigned long long y = __float_as_uint((float)place.rounded.y), w = tag | (place.word & ~tag_bits);
    return TaggedPlace{y << 32 | __float_as_uint((float)place.rounded.x),
                       w << 32 | __float_as_uint((float)place.rounded.z)};
}

__device__ inline void store_tagged(const CudaArguments &a, int i, const TaggedPlace &place) {
    ptx_st_relaxed_gpu_b128((float4 *)a.now.position.part[0] + i, place.low, place.high);
}

/* To all copies of an atom, from this one on: copies.cuh. */
__device__ inline void store_copies(const CudaArguments &a, CudaCopy copy, int64_t to, const TaggedPlace &place) {
    for_copies(a, copy, to, [&](void *at) { ptx_st_relaxed_sys_b128(at, place.low, place.high); });
}

/* Before a barrier of the grid: removes the tag of entry i, which an earlier batch may have left. After a build there is
 * none: a sort has written both copies. */
__device__ inline void untag(const CudaArguments &a, int64_t i) { ((uint4 *)a.now.position.part[0])[i].w = no_tag; }

#endif
