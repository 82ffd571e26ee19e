/* The parts of the integration, as functions of one particle. */
#ifndef MD_CUDA_INTEGRATE_CUH
#define MD_CUDA_INTEGRATE_CUH

#include "cuda/kernels/bath.cuh"

/* Passes by a queue. One of them may be discarded: see step_queue.cuh. So they have velocities and last bits twice as well as
 * positions, the second in memory that only a rebuild needs. */
constexpr bool is_checked_queue = MD_CHECKED_QUEUE;

/* With an analysis of velocities: the first pass of a queue keeps those at the end of its step, for k_observe_motion. */
constexpr bool keeps_velocity = MD_HAS_VACF && !MD_DOMAIN && MD_SW_launch_passes == MD_PASSES_QUEUE;

/* Where those of particle i are: where the next sort moves its origin to. Three numbers. */
__device__ inline Pair *kept_velocity(const CudaArguments &a, int64_t i) {
    return (Pair *)a.spare.vacf_origin + 3 * i;
}

/* For the copy `at` there, the particles for reading and writing by kernels that move them. */
template <bool HAS_COPIES> struct CopyOf {
    static __device__ inline const CudaParticles &at(const CudaArguments &a, int64_t) { return a.now; }
};
template <> struct CopyOf<true> {
    static __device__ inline CudaParticles at(const CudaArguments &a, int64_t at) {
        CudaParticles copy = a.now;
        if (at != 0) {
            copy.velocity = a.spare.velocity;
            copy.low = a.spare.low;
        }
        return copy;
    }
};
typedef CopyOf<is_checked_queue> MotionCopy;

/* The fault of the earliest step wins, and among those of the same step that of the smallest id, so that every run says the
 * same. Blocks may be at different steps, so that the earliest fault need not be found first: each step has its own key.
 * Two steps of a launch never share a key, because a launch has fewer steps than there are keys; after the first drift of the
 * resident kernel there is a barrier of the grid. A fault of a later step than one that is known does not count. A step may have to
 * be replayed: its fault is told when it is known that it need not (tell_fault).
 * step: that of the drift, or 0: the one after that of the status. */
__device__ inline void raise_fault(const CudaArguments &a, int id, float displacement, unsigned long long step,
                                   bool counts) {
    if (step == 0) step = a.status->step + 1;
    if (!counts && a.status->fault_step < step) return; /* not written while passes are made that may not count */
    if (atomicMin(counts ? &a.status->fault_step : &a.queue.check->fault_step, step) < step) return;
    atomicMin(&a.status->fault_key[step % CUDA_GRAPH_STEPS],
              (unsigned long long)id << 32 | __float_as_uint(displacement));
    if (!counts) return;
    *(volatile int *)&a.host_status->fault = 1; /* host memory: every fault writes the same */
    __threadfence_system();                     /* a reader of the stop flag also sees the fault */
}

/* The first fault of passes that count, up to the drift to step `last`: later passes are made again. By
 * one thread, when all of these passes are over; other threads may be at later steps. */
__device__ inline void tell_fault(const CudaArguments &a, unsigned long long last) {
    const unsigned long long step = *(volatile unsigned long long *)&a.queue.check->fault_step;
    if (step <= last) {
        atomicMin(&a.status->fault_step, step);
        *(volatile int *)&a.host_status->fault = 1;
        __threadfence_system(); /* a reader of the stop flag also sees the fault */
    } else if (step != ~0ull) {
        a.queue.check->fault_step = ~0ull;
        for (int k = 0; k < CUDA_GRAPH_STEPS; k++) a.status->fault_key[k] = ~0ull;
    }
}

/* v += f/m dt/2 */
__device__ inline void half_kick(const CudaArguments &a, const Vec3<Pair> &f, Full<Pair> *v) {
    const Pair c = half_step(a) * v->w;
    v->v.x += c * f.x;
    v->v.y += c * f.y;
    v->v.z += c * f.z;
}

/* Where positions come from and go to, the step of the drift (0: ask the status), whether it may turn out not to count, and whether
 * the velocity before it, at the end of a step, is kept. */
struct Motion {
    int64_t from, to;
    unsigned long long step;
    bool may_not_count, keeps;
};

/* The data of a particle that change in a step. */
struct Moving {
    Full<Pair> v; /* with 1/mass */
    Vec3<State> x;
};

/* x += v dt, with friction and noise in its midst. A particle that would move too far stays, so that every position is always a finite
 * number. */
__device__ inline void drift(const CudaArguments &a, int i, const Noise &noise, int type, const Motion &motion,
                             Moving *moving, Heat *heat) {
    const Vec3<Pair> d = pass_drift(a, noise, type, &moving->v.v, heat);
    const Pair distance_sq = d.x * d.x + d.y * d.y + d.z * d.z;
    Vec3<State> *x = &moving->x;
    if (distance_sq <= fault_sq(a)) { /* false for NaN */
        *x = storable(Vec3<State>{x->x + (State)d.x, x->y + (State)d.y, x->z + (State)d.z});
    } else {
        raise_fault(a, a.now.tag[i].id, sqrtf((float)distance_sq), motion.step, !motion.may_not_count);
    }
}

/* The whole integration of particle i, on which f acts, up to the drift; kick_first: with the second half kick of the step
 * before, by the same force. */
__device__ inline void move(const CudaArguments &a, int i, const Vec3<Pair> &f, bool kick_first, const Noise &noise,
                            int type, const Motion &motion, Moving *moving, Heat *heat) {
    if (kick_first) half_kick(a, f, &moving->v);
    if (keeps_velocity && motion.keeps) {
        Pair *kept = kept_velocity(a, i);
        kept[0] = moving->v.v.x;
        kept[1] = moving->v.v.y;
        kept[2] = moving->v.v.z;
    }
    half_kick(a, f, &moving->v);
    drift(a, i, noise, type, motion, moving, heat);
}

/* The same for a particle in memory; `left`: its new position. Returns its squared displacement from its position at the build
 * if has_check needs it. */
__device__ inline float integrate_by(const CudaArguments &a, int i, const Vec3<Pair> &f, bool kick_first,
                                     bool has_check, const Motion &motion, Place *left, Heat *heat) {
    const auto &from = MotionCopy::at(a, motion.from), &to = MotionCopy::at(a, motion.to);
    const Noise noise = draw_noise(a, i, motion.step);
    Moving moving = {load_velocity(from, i), load_position(from, i, motion.from)};
    const int type = load_type(a.now, i, motion.from);
    move(a, i, f, kick_first, noise, type, motion, &moving, heat);
    store<Pair>(to.velocity, i, moving.v.v, moving.v.w);
    *left = place_of(moving.x, type);
    store_place(to, i, *left, motion.to);
    return has_check ? displacement_sq(left->rounded, load<Pair>(a.reference, i)) : 0;
}

__device__ inline float integrate_atom(const CudaArguments &a, int i, bool kick_first, bool has_check, Heat *heat,
                                       const Motion &motion = Motion{0, 0, 0, false}) {
    Place left;
    return integrate_by(a, i, load<Pair>(a.now.force, i), kick_first, has_check, motion, &left, heat);
}

#endif
