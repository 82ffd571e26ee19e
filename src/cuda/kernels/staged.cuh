/* The atoms that a block of threads has staged in shared memory for force.kernel = brick: those of its brick and those in
 * range of it, as images near the brick, measured from a corner (of the brick, or of the box: corner_of in force_brick.cuh). So
 * there is no nearest image to be found for a
 * pair, and places are small numbers, which a float holds well.
 *
 * Entry 0 is an atom beyond any range, the rest of a row that does not fill its last quad. */
#ifndef MD_CUDA_STAGED_CUH
#define MD_CUDA_STAGED_CUH

#include "cuda/kernels/position.cuh"

__device__ inline Atom nowhere() { return Atom{Vec3<Pair>{Pair(1e9), Pair(1e9), Pair(1e9)}, 0}; }

/* Which image of a particle is staged: two bits an axis, x lowest, that hold how many boxes away it is, and one more. */
__device__ inline int image_at(int x, int y, int z) { return (z + 1) << 4 | (y + 1) << 2 | (x + 1); }
constexpr int no_image = 1 << 4 | 1 << 2 | 1;

/* What is added to the place of a particle, before and after the origin is taken off, so that it is staged as an image. Of the edge of
 * the box and what that lacks (box_rest) each is added where it leaves a small number. */
struct Shift {
    Vec3<Pair> before, after;
};

__device__ inline void shift_along(const CudaArguments &a, int axis, int boxes, Pair *before, Pair *after) {
    /* products, for what is selected of would take registers all along, of which some kernels have none left */
    const Pair up = (Pair)max(boxes, 0), down = (Pair)max(-boxes, 0);
    *before = up * box_rest(a, axis) - down * box_length(a, axis);
    *after = up * box_length(a, axis) - down * box_rest(a, axis);
}

__device__ inline Shift shift_of_image(const CudaArguments &a, int image) {
    Shift s = {};
    if (MD_PERIODIC_X) shift_along(a, 0, (image & 3) - 1, &s.before.x, &s.after.x);
    if (MD_PERIODIC_Y) shift_along(a, 1, (image >> 2 & 3) - 1, &s.before.y, &s.after.y);
    if (MD_PERIODIC_Z) shift_along(a, 2, (image >> 4 & 3) - 1, &s.before.z, &s.after.z);
    return s;
}

__device__ inline void add_shift(const Vec3<Pair> &shift, Vec3<Pair> *v) {
    if (MD_PERIODIC_X) v->x += shift.x;
    if (MD_PERIODIC_Y) v->y += shift.y;
    if (MD_PERIODIC_Z) v->z += shift.z;
}

/* A place as it is staged. */
__device__ inline Vec3<Pair> staged_place(const Vec3<Pair> &origin, const Vec3<Pair> &v) {
    return Vec3<Pair>{v.x - origin.x, v.y - origin.y, MD_DIMENSION == 3 ? v.z - origin.z : v.z};
}

__device__ inline Vec3<Pair> staged_image(const Vec3<Pair> &origin, const Shift &shift, Vec3<Pair> v) {
    add_shift(shift.before, &v);
    v = staged_place(origin, v);
    add_shift(shift.after, &v);
    return v;
}

__device__ inline Atom staged_particle(const CudaArguments &a, const Vec3<Pair> &origin, int particle,
                                       int64_t from = 0) {
    Atom atom = fetch_atom(a.now, particle, from);
    atom.v = staged_place(origin, atom.v);
    return atom;
}

__device__ inline Vec3<Pair> staged_origin(const CudaBrick &brick) {
    if constexpr (is_double) return Vec3<Pair>{(Pair)brick.origin[0], (Pair)brick.origin[1], (Pair)brick.origin[2]};
    else return Vec3<Pair>{(Pair)brick.origin_f[0], (Pair)brick.origin_f[1], (Pair)brick.origin_f[2]};
}

/* What an entry of the list is: the place of the atom in units of 16 bytes, in 16 bits; in double an atom has two. */
__device__ inline uint64_t staged_entry(int staged) { return (uint64_t)(16 * staged); }
__device__ inline const Atom &staged_at(const Atom *atoms, unsigned entry) {
    return *(const Atom *)((const char *)atoms + entry * (sizeof(Atom) / 16));
}

/* Rows stand in slices of 32, in each of which quad q of all rows is contiguous. The first quad of a row of the brick; the
 * next ones are 32 apart. */
__device__ inline uint64_t *brick_quads(const CudaArguments &a, const CudaBrick &brick, int row) {
    return (uint64_t *)a.list.entries + (brick.slice + row / 32) * (a.list.capacity / CUDA_QUAD) * 32 + row % 32;
}

#endif
