/* How the pair kernels read positions: position and type of an atom by its index in memory.
 *
 * Ladder (memory.load):
 *   global    plain loads (LDG). The compiler must assume that the kernel also writes the array.
 *   ldg       __ldg: the promise that positions are not written while the kernel runs (LDG.CONSTANT). Before Volta
 *             that was another cache; now both go through L1, and the promise only lets loads move over stores.
 *   texture   tex1Dfetch from a texture object over the array: the texture unit computes the address and checks the
 *             bounds; its path into L1 has less throughput and more latency than a load. Doubles
 *             travel as pairs of 32-bit integers. */
#ifndef MD_CUDA_POSITION_CUH
#define MD_CUDA_POSITION_CUH

#include "cuda/kernels/common.cuh"
#include "cuda/kernels/separation.cuh"

constexpr bool is_ldg = MD_SW_memory_load == MD_LOAD_LDG;
constexpr bool is_texture = MD_SW_memory_load == MD_LOAD_TEXTURE;

/* As shared memory holds it too: one access of 16 bytes, in double two. */
struct alignas(16) Atom {
    Vec3<Pair> v;
    int type;
};

template <class T> __device__ inline T fetch(const T *array, int64_t i) {
    if constexpr (is_ldg) return __ldg(array + i);
    else return array[i];
}

__device__ inline Pair texel(unsigned long long texture, int64_t i) {
    if constexpr (is_double) {
        const int2 halves = tex1Dfetch<int2>(texture, (int)i);
        return (Pair)__hiloint2double(halves.y, halves.x);
    } else {
        return (Pair)tex1Dfetch<float>(texture, (int)i);
    }
}

/* The vector of four at index i of a vec4 array. */
__device__ inline Vec4<Pair> fetch_vec4(const CudaParticles &p, int64_t i) {
    if constexpr (is_texture && is_double) {
        const int4 xy = tex1Dfetch<int4>(p.texture[0], (int)(2 * i));
        const int4 zw = tex1Dfetch<int4>(p.texture[0], (int)(2 * i + 1));
        return Vec4<Pair>{(Pair)__hiloint2double(xy.y, xy.x), (Pair)__hiloint2double(xy.w, xy.z),
                          (Pair)__hiloint2double(zw.y, zw.x), (Pair)__hiloint2double(zw.w, zw.z)};
    } else if constexpr (is_texture) {
        const float4 x = tex1Dfetch<float4>(p.texture[0], (int)i);
        return Vec4<Pair>{(Pair)x.x, (Pair)x.y, (Pair)x.z, (Pair)x.w};
    } else if constexpr (is_double) {
        const double2 *array = (const double2 *)p.position.part[0];
        const double2 xy = fetch(array, 2 * i), zw = fetch(array, 2 * i + 1);
        return Vec4<Pair>{(Pair)xy.x, (Pair)xy.y, (Pair)zw.x, (Pair)zw.y};
    } else {
        const float4 x = fetch((const float4 *)p.position.part[0], i);
        return Vec4<Pair>{(Pair)x.x, (Pair)x.y, (Pair)x.z, (Pair)x.w};
    }
}

/* Without the low bits. Of one type the word is not looked at. */
__device__ inline Atom atom_at(const Place &place) {
    return Atom{place.rounded, MD_SEVERAL_TYPES ? type_of(place.word) : 0};
}

__device__ inline Place fetch_place(const CudaParticles &p, int64_t i, int64_t from = 0) {
    const Vec4<Pair> x = fetch_vec4(p, i + from);
    return Place{Vec3<Pair>{x.x, x.y, x.z}, word_of(x.w)};
}

/* from: see load_type. */
__device__ inline Atom fetch_atom(const CudaParticles &p, int64_t i, int64_t from = 0) {
    if constexpr (is_vec4) {
        return atom_at(fetch_place(p, i, from));
    } else {
        const int64_t at = is_aos ? 3 * (i + from) : i + from;
        const int type = MD_SEVERAL_TYPES ? fetch(p.type, i) : 0;
        if constexpr (is_texture) {
            if constexpr (is_aos)
                return Atom{
                    Vec3<Pair>{texel(p.texture[0], at), texel(p.texture[0], at + 1), texel(p.texture[0], at + 2)},
                    type};
            else
                return Atom{Vec3<Pair>{texel(p.texture[0], at), texel(p.texture[1], at), texel(p.texture[2], at)},
                            type};
        } else {
            const Pair *x = (const Pair *)p.position.part[0];
            const Pair *y = is_aos ? x + 1 : (const Pair *)p.position.part[1];
            const Pair *z = is_aos ? x + 2 : (const Pair *)p.position.part[2];
            return Atom{Vec3<Pair>{fetch(x, at), fetch(y, at), fetch(z, at)}, type};
        }
    }
}

#endif
