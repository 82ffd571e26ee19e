/* The atoms that a block of threads has staged in shared memory for force.kernel = brick: those of its brick and those in
 * range of it, as images near the brick, measured from a corner (of the brick, or of the box: corner_of in bricks/force.cuh). So
 * there is no nearest image to be found for a pair, and places are small numbers, which a float holds well.
 *
 * Entry 0 is an atom beyond any range, the rest of a row that does not fill its last quad. */
#ifndef MD_CUDA_STAGED_CUH
#define MD_CUDA_STAGED_CUH

#include "cuda/kernels/position.cuh"

__device__ inline Atom nowhere() { return Atom{Vec3<Pair>{Pair(1e9), Pair(1e9), Pair(1e9)}, 0}; }

/* Which image of a particle is staged: two bits an axis, x lowest, that hold how many boxes away it is, and one more. */
__device__ inline int image_at(int x, int y, int z) { return (z + 1) << 4 | (y + 1) << 2 | (x + 1); }
constexpr int no_image = 1 << 4 | 1 << 2 | 1;

/* What is added to a coordinate of a particle, one after the other, so that it is staged as an image: how far the image, as
 * measured from the corner of the brick, is from the particle, as pairs have it, and what that lacks (shift_along in
 * load_tile.cuh). The small one of them is added to a small number: first where the particle is near the lower edge, else last. */
struct alignas(2 * sizeof(Pair)) Shift {
    Pair first, second;
};

/* Of a brick, by axis, and by the two bits of image_at for it, of which 3 is no image. */
struct Shifts {
    Shift along[3][CUDA_IMAGES_ALONG];
};
static_assert(sizeof(Shifts) == CUDA_SHIFTS * sizeof(Pair), "as many numbers as the host makes room for");

__device__ inline Shifts *shifts_of_brick(const CudaArguments &a, int b) { return (Shifts *)a.bricks.shifts + b; }

/* A place as it is staged. */
__device__ inline Vec3<Pair> staged_place(const Vec3<Pair> &origin, const Vec3<Pair> &v) {
    return Vec3<Pair>{v.x - origin.x, v.y - origin.y, MD_DIMENSION == 3 ? v.z - origin.z : v.z};
}

struct ImageShift {
    Shift x, y, z;
};

__device__ inline ImageShift shift_of_image(const Shifts &shifts, unsigned image) {
    return ImageShift{shifts.along[0][image & 3], shifts.along[1][image >> 2 & 3], shifts.along[2][image >> 4 & 3]};
}

__device__ inline Vec3<Pair> staged_image(const ImageShift &shift, const Vec3<Pair> &v) {
    return Vec3<Pair>{v.x + shift.x.first + shift.x.second, v.y + shift.y.first + shift.y.second,
                      MD_DIMENSION == 3 ? v.z + shift.z.first + shift.z.second : v.z};
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
