/* Stage integrate: velocity Verlet in two halves, and the watch over the motion.
 *
 * Ladder:
 *   kick-drift         one thread a particle; bound by memory: every array is read and written once, in 16-byte
 *                      accesses.
 *   kick-drift-check   the displacement since the last build is taken on the way, while the position is in a register:
 *                      one more read instead of a kernel of its own. Its maximum goes through shared memory to one
 *                      integer atomicMax a block, and to the host by a small asynchronous copy. */
#include <string.h>

#include "cuda/block.h"
#include "cuda/context.h"

/* First fault wins; among those of the same step the smallest id does, so that every run says the same. */
__device__ inline void raise_fault(CudaWatch *watch, int *raised, unsigned long long step, int id, float displacement) {
    unsigned long long seen = atomicCAS(&watch->fault_step, ~0ull, step);
    if (seen != ~0ull && seen != step) return;
    atomicMin(&watch->fault_key, (unsigned long long)id << 32 | __float_as_uint(displacement));
    *(volatile int *)raised = 1; /* host memory: every fault writes the same */
}

template <class P> struct DriftArguments {
    int n;
    unsigned long long step;
    typename P::State half_step, whole_step, limit_sq;
    CudaView<P> now;
    const Vec4<typename P::Pair> *reference;
    CudaWatch *watch;
    int *raised;
};

template <class P, bool CHECK>
__global__ void __launch_bounds__(CUDA_BLOCK) k_integrate_kick_drift(const DriftArguments<P> a) {
    typedef typename P::State State;
    typedef typename P::Pair Pair;
    float moved_sq[1] = {0};
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < a.n) {
        Vec4<State> x = a.now.state[i], v = a.now.velocity[i];
        const Vec4<Pair> f = a.now.force[i];
        const State c = a.half_step * v.w; /* dt / 2m */
        v.x += c * (State)f.x;
        v.y += c * (State)f.y;
        v.z += c * (State)f.z;
        const State dx = a.whole_step * v.x, dy = a.whole_step * v.y, dz = a.whole_step * v.z;
        const State distance_sq = dx * dx + dy * dy + dz * dz;
        a.now.velocity[i] = v;
        if (distance_sq <= a.limit_sq) { /* false for NaN */
            x.x += dx;
            x.y += dy;
            x.z += dz;
            a.now.state[i] = x;
        } else { /* it stays, so that every position is a finite number whatever comes */
            raise_fault(a.watch, a.raised, a.step, a.now.tag[i].id, sqrtf((float)distance_sq));
        }
        const Vec4<Pair> seen = cuda_pair_position<Pair>(x);
        if (P::has_copy) a.now.position[i] = seen;
        if (CHECK) {
            const Vec4<Pair> x0 = a.reference[i];
            const Pair ex = seen.x - x0.x, ey = seen.y - x0.y, ez = seen.z - x0.z;
            moved_sq[0] = (float)(ex * ex + ey * ey + ez * ez);
        }
    }
    if (CHECK) {
        cuda_block_max<CUDA_BLOCK, 1>(moved_sq); /* the whole block, as the tree needs */
        if (threadIdx.x == 0) atomicMax(&a.watch->measures.moved_sq, __float_as_uint(moved_sq[0]));
    }
}

template <class P>
__global__ void __launch_bounds__(CUDA_BLOCK) k_integrate_kick(int n, typename P::State half_step, CudaView<P> now) {
    typedef typename P::State State;
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    Vec4<State> v = now.velocity[i];
    const Vec4<typename P::Pair> f = now.force[i];
    const State c = half_step * v.w;
    v.x += c * (State)f.x;
    v.y += c * (State)f.y;
    v.z += c * (State)f.z;
    now.velocity[i] = v;
}

template <class State>
__global__ void __launch_bounds__(CUDA_BLOCK) k_integrate_scale(int n, double factor, Vec4<State> *velocity) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    Vec4<State> v = velocity[i];
    v.x = (State)((double)v.x * factor);
    v.y = (State)((double)v.y * factor);
    v.z = (State)((double)v.z * factor);
    velocity[i] = v;
}

/* --- host --- */

template <class P> static void kick_drift(CudaContext *context, int64_t step) {
    DriftArguments<P> a = {context->n_atoms,
                           (unsigned long long)step,
                           (typename P::State)(0.5 * context->timestep),
                           (typename P::State)context->timestep,
                           (typename P::State)(context->fault_distance * context->fault_distance),
                           CudaView<P>(context->now),
                           (const Vec4<typename P::Pair> *)context->reference,
                           context->d_watch,
                           context->d_fault_raised};
    int blocks = cuda_blocks(a.n, CUDA_BLOCK);
    if (context->rebuild == MD_REBUILD_HOST_CHECK)
        CUDA_LAUNCH(context, (k_integrate_kick_drift<P, true>), blocks, CUDA_BLOCK, a);
    else CUDA_LAUNCH(context, (k_integrate_kick_drift<P, false>), blocks, CUDA_BLOCK, a);
}

void cuda_integrate_kick_drift(CudaContext *context, int64_t step) {
    cuda_timing_begin(context, CUDA_INTEGRATE);
    CUDA_BY_PRECISION(context, kick_drift, context, step);
    cuda_timing_end(context);
    if (context->rebuild == MD_REBUILD_HOST_CHECK) cuda_watch_read(context, false);
}

template <class P> static void kick(CudaContext *context) {
    CUDA_LAUNCH(context, (k_integrate_kick<P>), cuda_blocks(context->n_atoms, CUDA_BLOCK), CUDA_BLOCK, context->n_atoms,
                (typename P::State)(0.5 * context->timestep), CudaView<P>(context->now));
}

void cuda_integrate_kick(CudaContext *context) {
    cuda_timing_begin(context, CUDA_INTEGRATE);
    CUDA_BY_PRECISION(context, kick, context);
    cuda_timing_end(context);
}

template <class P> static void scale(CudaContext *context, double factor) {
    CUDA_LAUNCH(context, (k_integrate_scale<typename P::State>), cuda_blocks(context->n_atoms, CUDA_BLOCK), CUDA_BLOCK,
                context->n_atoms, factor, CudaView<P>(context->now).velocity);
}

void cuda_integrate_scale(CudaContext *context, double factor) {
    cuda_timing_begin(context, CUDA_INTEGRATE);
    CUDA_BY_PRECISION(context, scale, context, factor);
    cuda_timing_end(context);
}

/* The flag costs a look at host memory; what it is about is fetched once, when the run is over anyway. */
MdFault cuda_integrate_fault(CudaContext *context) {
    if (context->fault.step >= 0 || !*context->h_fault_raised) return context->fault;
    CUDA_CHECK(cudaMemcpyAsync(context->h_watch, context->d_watch, sizeof(CudaWatch), cudaMemcpyDeviceToHost,
                               context->stream));
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    unsigned bits = (unsigned)(context->h_watch->fault_key & 0xffffffffu);
    float displacement;
    memcpy(&displacement, &bits, sizeof displacement);
    context->fault.step = (int64_t)context->h_watch->fault_step;
    context->fault.id = (int32_t)(context->h_watch->fault_key >> 32);
    context->fault.displacement = isfinite(displacement) ? (double)displacement : (double)NAN;
    return context->fault;
}
