/* The atoms that a block of threads has staged in shared memory for force.kernel = brick: those of its brick and those in
 * range of it, as images near the brick, measured from a corner (of the brick, or of the box: corner_of in bricks/force.cuh). So
 * there is no nearest image to be found for a pair, and tile positions are small numbers, which a float holds well.
 *
 * How well, in mixed precision. A float has 24 bits: at a coordinate of 500 its last bit is 3e-5, and the force between two atoms
 * that touch changes by 50 times as much. Measured from the corner of its brick an atom is some 15 away at most (but in a dilute
 * system, whose cells are wide), where the last bit is 1e-6. So the low bits of a position count. They are added when the corner
 * is subtracted:
 *
 *     staged = (float - corner) + low bits
 *
 *   - The difference is rounded once. Far from the origin it is exact: float and corner are multiples of the last bit of the
 *     smaller of them, and so is their difference, which is small. Near the origin it is off by half of its own last bit.
 *   - Eight of the low bits are a byte of the word of the position. As a float they are exact; the sum is rounded once more, again
 *     by half of its last bit.
 *   - The ninth low bit is left out. The messages between blocks of the resident kernel have no room for it
 *     (batches/step_local.cuh), and all kernels must stage the same number. So positions have steps of 1/256 of the last bit of their
 *     float: 1.2e-7 at a coordinate of 500.
 *   - An image is moved by two numbers instead of one (Shift). That is one more rounding of the same size.
 *
 * Together a tile position is off by one of its last bits, that of an image by one and a half: 1e-6 and 1.4e-6 in a liquid.
 * tests/physics/test_accuracy measures forces: at a coordinate of 500 they are off by 3.5e-6 of their root mean square, and by
 * 4.0e-4 if only floats are staged.
 *
 * The cost is four instructions a component: a byte is put into a float of the size of the position, and the old value of that float
 * is subtracted. Only memory.layout = vec4 has low bits in the array that others read. The other layouts have one copy of them, which
 * the owner of an atom writes while its neighbours would read (launch.fuse = step); these stage only floats. So does the search, as
 * the skin is much wider than the error.
 *
 * Entry 0 is an atom beyond any range, the rest of a row that does not fill its last quad. */
#ifndef MD_CUDA_STAGED_CUH
#define MD_CUDA_STAGED_CUH

#include "cuda/kernels/position.cuh"

__device__ inline Atom nowhere() { return Atom{Vec3<Pair>{Pair(1e9), Pair(1e9), Pair(1e9)}, 0}; }

/* Which image of a particle is staged: two bits an axis, x lowest, that hold how many boxes away it is, and one more. */
__device__ inline int image_at(int x, int y, int z) { return (z + 1) << 4 | (y + 1) << 2 | (x + 1); }
constexpr int no_image = 1 << 4 | 1 << 2 | 1;

/* The two numbers that are added to a coordinate of a particle to stage its image: the difference between the image, measured
 * from the corner of the brick, and the particle, as pairs see it; and the rounding error of that difference (shift_along in
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

/* Whether low bits are staged. */
constexpr bool stages_low_bits = is_mixed && is_vec4;

/* A component that is staged, with its low bits; rounded: the float that lacks them. size: the power of two below that float, with its
 * sign; its last bit is 2^-23 of that. The byte is put where 1 is 2^-15 of size. It stands for 1/256 of a last bit, which is 2^-16
 * of that, and for zero when it is 128, which is 2^-8 of size. */
__device__ inline Pair with_low_bits(Pair staged, Pair rounded, unsigned word, int axis) {
    if constexpr (!stages_low_bits) return staged;
    const unsigned size = __float_as_uint((float)rounded) & 0xff800000u;
    const float held = __uint_as_float(__byte_perm(size, word, 0x3200u | (4u + (unsigned)axis) << 4));
    const float low = held - __uint_as_float(size) * (1 + 0x1p-8f);
    return (Pair)((float)staged + low * 0x1p-16f);
}

__device__ inline Vec3<Pair> with_low_bits(const Vec3<Pair> &staged, const Place &place) {
    return Vec3<Pair>{with_low_bits(staged.x, place.rounded.x, place.word, 0),
                      with_low_bits(staged.y, place.rounded.y, place.word, 1),
                      MD_DIMENSION == 3 ? with_low_bits(staged.z, place.rounded.z, place.word, 2) : staged.z};
}

/* A tile position. */
__device__ inline Vec3<Pair> staged_place(const Vec3<Pair> &origin, const Place &place) {
    const Vec3<Pair> &v = place.rounded;
    return with_low_bits(Vec3<Pair>{v.x - origin.x, v.y - origin.y, MD_DIMENSION == 3 ? v.z - origin.z : v.z}, place);
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

/* The same with the low bits. */
__device__ inline Vec3<Pair> staged_image(const ImageShift &shift, const Place &place) {
    return with_low_bits(staged_image(shift, place.rounded), place);
}

/* A particle before it is staged: with low bits to stage, as memory has it, else with only the type. */
__device__ inline Place fetch_to_stage(const CudaParticles &p, int64_t i, int64_t from) {
    if constexpr (is_vec4) return fetch_place(p, i, from);
    const Atom atom = fetch_atom(p, i, from);
    return Place{atom.v, (unsigned)atom.type << type_shift};
}

__device__ inline Atom staged_atom(const Vec3<Pair> &v, const Place &place) { return Atom{v, atom_at(place).type}; }

__device__ inline Atom staged_particle(const CudaArguments &a, const Vec3<Pair> &origin, int particle,
                                       int64_t from = 0) {
    const Place place = fetch_to_stage(a.now, particle, from);
    return staged_atom(staged_place(origin, place), place);
}

__device__ inline Vec3<Pair> staged_origin(const CudaBrick &brick) {
    if constexpr (is_double) return Vec3<Pair>{(Pair)brick.origin[0], (Pair)brick.origin[1], (Pair)brick.origin[2]};
    else return Vec3<Pair>{(Pair)brick.origin_f[0], (Pair)brick.origin_f[1], (Pair)brick.origin_f[2]};
}

/* An entry of the list: the offset of the atom in units of 16 bytes, in 16 bits; in double an atom has two units. */
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
