/* A thermostat on each atom, in the midst of its drift (physics/bath_atoms.h), and its heat. */
#ifndef MD_CUDA_BATH_CUH
#define MD_CUDA_BATH_CUH

#include "cuda/kernels/reduce.cuh"

constexpr bool has_bath = (MD_BATH & MD_BATH_ACTS) != 0;

/* Quanta of heat of this thread. */
struct Heat {
    long long quanta = 0;
};

/* The noise of an atom in a drift. */
struct Noise {
    Pair normal[3];
    long long step; /* of the caller */
    bool acts;
};

__device__ inline void draw_normals(const uint32_t words[4], float normal[3]) { md_noise_normals_f(words, normal); }
__device__ inline void draw_normals(const uint32_t words[4], double normal[3]) { md_noise_normals_d(words, normal); }
__device__ inline float bath_velocity(float v, float keep, float width, float normal) {
    return md_bath_velocity_f(v, keep, width, normal);
}
__device__ inline double bath_velocity(double v, double keep, double width, double normal) {
    return md_bath_velocity_d(v, keep, width, normal);
}

__device__ inline long long whole_quanta(float energy) { return __float2ll_rn(energy); }
__device__ inline long long whole_quanta(double energy) { return __double2ll_rn(energy); }

/* step: that of the drift, or 0: the one after that of the status. */
__device__ inline Noise draw_noise_of(const CudaArguments &a, unsigned id, unsigned long long step) {
    Noise noise = {};
    if constexpr (has_bath) {
        uint32_t words[4];
        noise.step = (long long)(step == 0 ? a.status->step + 1 : step) + a.step_offset;
        md_noise_words_of_atom(a.bath.keys, (uint64_t)noise.step, id, MD_NOISE_NORMAL, words);
        draw_normals(words, noise.normal);
        noise.acts = !(MD_BATH & MD_BATH_CHANGES) || noise.step <= a.bath.last_action;
        if constexpr ((MD_BATH & MD_BATH_SHARES) != 0)
            noise.acts = noise.acts && md_noise_collides(a.bath.keys, (uint64_t)noise.step, id, a.bath.share);
    }
    return noise;
}
__device__ inline Noise draw_noise(const CudaArguments &a, int i, unsigned long long step) {
    if constexpr (has_bath) return draw_noise_of(a, (unsigned)a.now.tag[i].id, step);
    else return Noise{};
}

__device__ inline Pair bath_width(const CudaArguments &a, int type, long long step) {
    if constexpr ((MD_BATH & MD_BATH_CHANGES) != 0) return (Pair)md_bath_width(&a.bath, step, a.bath.root[type]);
    else return (Pair)(is_double ? a.bath.width[type] : (double)a.bath.width_f[type]);
}

/* The displacement of a drift: v dt, with friction and noise in its midst, which change v and add to the heat. */
__device__ inline Vec3<Pair> pass_drift(const CudaArguments &a, const Noise &noise, int type, Vec3<Pair> *v,
                                        Heat *heat) {
    const Pair dt = whole_step(a);
    if constexpr (has_bath) {
        const Pair keep = (Pair)(is_double ? a.bath.keep : (double)a.bath.keep_f),
                   quanta = (Pair)(is_double ? a.bath.quanta[type] : (double)a.bath.quanta_f[type]),
                   width = bath_width(a, type, noise.step);
        Vec3<Pair> way = {0, 0, dt * v->z};
        Pair energy = 0;
        const auto along = [&](Pair &one, Pair &moved, Pair normal) {
            const Pair after = bath_velocity(one, keep, width, normal), both = one + after;
            energy += (after - one) * both;
            moved = half_step(a) * both;
            one = after;
        };
        if (noise.acts) {
            along(v->x, way.x, noise.normal[0]);
            along(v->y, way.y, noise.normal[1]);
            if (MD_DIMENSION == 3) along(v->z, way.z, noise.normal[2]);
            heat->quanta += whole_quanta(quanta * energy);
            return way;
        }
    }
    return Vec3<Pair>{dt * v->x, dt * v->y, dt * v->z};
}

/* Sums of a warp by its hardware are of 32 bits: of the low 24 bits of all, and of the rest. Of lane 0. */
__device__ inline long long warp_heat(long long quanta) {
#if __CUDA_ARCH__ >= 800
    const unsigned low = __reduce_add_sync(whole_warp, (unsigned)quanta & 0xffffffu);
    return ((long long)__reduce_add_sync(whole_warp, (int)(quanta >> 24)) << 24) + low;
#else
    for (int distance = 16; distance > 0; distance /= 2) quanta += __shfl_down_sync(whole_warp, quanta, distance);
    return quanta;
#endif
}

/* The heat of the warps of a block. */
__device__ inline long long *heat_place(void) {
    __shared__ long long s_heat[n_warps];
    return s_heat;
}

/* By all threads, before a barrier of the block; after it one thread adds up. */
__device__ inline void leave_heat(const Heat &heat) {
    if constexpr (has_bath) {
        const long long quanta = warp_heat(heat.quanta);
        if (threadIdx.x % 32 == 0) heat_place()[threadIdx.x / 32] = quanta;
    }
}
__device__ inline void take_heat(unsigned long long *sum) {
    if constexpr (has_bath) {
        long long quanta = 0;
        for (int warp = 0; warp < n_warps; warp++) quanta += heat_place()[warp];
        atomicAdd(sum, (unsigned long long)quanta);
    }
}

/* By all threads of a block: heat of drifts that count. Between two calls is a barrier. */
__device__ inline void add_heat(const CudaArguments &a, const Heat &heat) {
    if constexpr (has_bath) {
        leave_heat(heat);
        __syncthreads(); /* all warps have left theirs */
        if (threadIdx.x == 0) take_heat(&a.status->heat);
    }
}

#endif
