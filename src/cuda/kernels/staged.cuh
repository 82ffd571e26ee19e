/* The atoms that a block of threads has staged in shared memory for force.kernel = brick: those of its brick and of the
 * cells around it, as images near the brick, measured from its corner. So there is no nearest image to be found for a
 * pair, and places are small numbers, which a float holds well.
 *
 * Entry 0 is an atom beyond any range, the rest of a row that does not fill its last quad. */
#ifndef MD_CUDA_STAGED_CUH
#define MD_CUDA_STAGED_CUH

#include "cuda/kernels/position.cuh"

__device__ inline Atom nowhere() { return Atom{Vec3<Pair>{Pair(1e9), Pair(1e9), Pair(1e9)}, 0}; }

/* As staged: a particle, `image` boxes away ((z + 1) 9 + (y + 1) 3 + x + 1; 13: where it is). */
constexpr int no_image = 13;

/* The way to an image that is x, y, z boxes away. */
__device__ inline Vec3<Pair> shift_of_boxes(const CudaArguments &a, int x, int y, int z) {
    return Vec3<Pair>{MD_PERIODIC_X ? (Pair)x * box_length(a, 0) : Pair(0),
                      MD_PERIODIC_Y ? (Pair)y * box_length(a, 1) : Pair(0),
                      MD_PERIODIC_Z ? (Pair)z * box_length(a, 2) : Pair(0)};
}

__device__ inline Vec3<Pair> shift_of_image(const CudaArguments &a, int image) {
    return shift_of_boxes(a, image % 3 - 1, image / 3 % 3 - 1, image / 9 - 1);
}

__device__ inline void add_shift(const Vec3<Pair> &shift, Atom *atom) {
    if (MD_PERIODIC_X) atom->v.x += shift.x;
    if (MD_PERIODIC_Y) atom->v.y += shift.y;
    if (MD_PERIODIC_Z) atom->v.z += shift.z;
}

__device__ inline Atom staged_particle(const CudaArguments &a, const Vec3<Pair> &origin, int particle, int64_t from) {
    Atom atom = fetch_atom(a.now, particle, from);
    atom.v.x -= origin.x;
    atom.v.y -= origin.y;
    if (MD_DIMENSION == 3) atom.v.z -= origin.z;
    return atom;
}

__device__ inline Atom staged_atom(const CudaArguments &a, const Vec3<Pair> &origin, int particle, int image,
                                   int64_t from = 0) {
    Atom atom = staged_particle(a, origin, particle, from);
    if (image != no_image) add_shift(shift_of_image(a, image), &atom);
    return atom;
}

__device__ inline Vec3<Pair> staged_origin(const CudaBrick &brick) {
    return Vec3<Pair>{(Pair)brick.origin[0], (Pair)brick.origin[1], (Pair)brick.origin[2]};
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
