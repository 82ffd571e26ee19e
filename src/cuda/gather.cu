/* Stage gather: particles into the device and out of it, by id, whatever their order in memory.
 *
 * Ladder:
 *   staging   a thread a particle scatters its numbers to row `id` of a device array in the layout of the file, one
 *             quantity after another; the array travels in pinned chunks, the host empties one while the next arrives.
 *             The scattered 12-byte writes meet in the L2 cache; the bus is the slower end by a factor of a hundred.
 * The loop waits for all of it: the pipeline that overlaps is another variant. */
#include <math.h>

#include "cuda/context.h"

struct MassTable {
    double inverse[MD_MAX_TYPES];
};

/* Everything that is not a place or a velocity; called first, since the others keep w. */
template <class P>
__global__ void __launch_bounds__(CUDA_BLOCK)
    k_gather_import_types(int n, MassTable mass, const int32_t *type, CudaView<P> now) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    typedef typename P::State State;
    now.state[i] = Vec4<State>{0, 0, 0, cuda_type_bits<State>(type[i])};
    now.velocity[i] = Vec4<State>{0, 0, 0, (State)mass.inverse[type[i]]};
    now.tag[i] = CudaTag{0, 0, 0, i};
}

template <class State>
__global__ void __launch_bounds__(CUDA_BLOCK) k_gather_import_vectors(int n, const double *xyz, Vec4<State> *vector) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    int64_t row = 3 * (int64_t)i;
    vector[i] = Vec4<State>{(State)xyz[row], (State)xyz[row + 1], (State)xyz[row + 2], vector[i].w};
}

/* Images, and the copies of the positions that depend on all the rest. */
template <class P>
__global__ void __launch_bounds__(CUDA_BLOCK)
    k_gather_import_images(int n, const int32_t *image, CudaView<P> now, Vec4<typename P::Pair> *reference) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    int64_t row = 3 * (int64_t)i;
    now.tag[i] = CudaTag{image[row], image[row + 1], image[row + 2], now.tag[i].id};
    const Vec4<typename P::Pair> seen = cuda_pair_position<typename P::Pair>(now.state[i]);
    if (P::has_copy) now.position[i] = seen;
    reference[i] = seen;
}

/* Position in the box, or (image not NULL) the box that it is in: both after rounding to Out, so that they agree. */
template <class P, class Out>
__global__ void __launch_bounds__(CUDA_BLOCK)
    k_gather_positions(int n, CudaBox<double> box, CudaView<P> now, Out *out, int32_t *image) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    const Vec4<typename P::State> x = now.state[i];
    CudaTag tag = now.tag[i];
    Out wx = cuda_wrap<Out>((double)x.x, box.length[0], box.inverse[0], &tag.ix);
    Out wy = cuda_wrap<Out>((double)x.y, box.length[1], box.inverse[1], &tag.iy);
    Out wz = cuda_wrap<Out>((double)x.z, box.length[2], box.inverse[2], &tag.iz);
    int64_t row = 3 * (int64_t)tag.id;
    if (image) {
        image[row] = tag.ix;
        image[row + 1] = tag.iy;
        image[row + 2] = tag.iz;
    } else {
        out[row] = wx;
        out[row + 1] = wy;
        out[row + 2] = wz;
    }
}

template <class In, class Out>
__global__ void __launch_bounds__(CUDA_BLOCK)
    k_gather_vectors(int n, const CudaTag *tag, const Vec4<In> *vector, Out *out) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    const Vec4<In> v = vector[i];
    int64_t row = 3 * (int64_t)tag[i].id;
    out[row] = (Out)v.x;
    out[row + 1] = (Out)v.y;
    out[row + 2] = (Out)v.z;
}

/* --- host --- */

static void upload(CudaContext *context, const void *host, size_t bytes) {
    CUDA_CHECK(cudaMemcpyAsync(context->staging, host, bytes, cudaMemcpyHostToDevice, context->stream));
}

template <class P> static void import_particles(CudaContext *context, const MdSystem *system) {
    typedef typename P::State State;
    int n = context->n_atoms, blocks = cuda_blocks(n, CUDA_BLOCK);
    size_t vectors = 3 * (size_t)n * sizeof(double);
    CudaView<P> now(context->now);
    const double *xyz = (const double *)context->staging;
    MassTable mass = {};
    for (int t = 0; t < system->potential.n_types; t++) mass.inverse[t] = 1 / system->mass[t];

    /* Each upload waits, on the stream, for the kernel that reads the one before. */
    upload(context, system->type, (size_t)n * sizeof(int32_t));
    CUDA_LAUNCH(context, (k_gather_import_types<P>), blocks, CUDA_BLOCK, n, mass, (const int32_t *)context->staging,
                now);
    upload(context, system->position, vectors);
    CUDA_LAUNCH(context, (k_gather_import_vectors<State>), blocks, CUDA_BLOCK, n, xyz, now.state);
    upload(context, system->velocity, vectors);
    CUDA_LAUNCH(context, (k_gather_import_vectors<State>), blocks, CUDA_BLOCK, n, xyz, now.velocity);
    upload(context, system->image, 3 * (size_t)n * sizeof(int32_t));
    CUDA_LAUNCH(context, (k_gather_import_images<P>), blocks, CUDA_BLOCK, n, (const int32_t *)context->staging, now,
                (Vec4<typename P::Pair> *)context->reference);

    typedef typename CudaPotential<typename P::Pair>::Pair Pair;
    Pair pairs[MD_MAX_TYPES * MD_MAX_TYPES];
    int n_pairs = system->potential.n_types * system->potential.n_types;
    for (int k = 0; k < n_pairs; k++) pairs[k] = CudaPotential<typename P::Pair>::from(system->potential.pair[k]);
    CUDA_CHECK(cudaMemcpyAsync(context->pairs, pairs, (size_t)n_pairs * sizeof(Pair), cudaMemcpyHostToDevice,
                               context->stream));
    CUDA_CHECK(cudaStreamSynchronize(context->stream)); /* host arrays may go now */
}

void cuda_gather_import(CudaContext *context, const MdSystem *system) {
    CUDA_BY_PRECISION(context, import_particles, context, system);
}

template <class P, class Out> static void gather_as(CudaContext *context, MdFrame *frame) {
    typedef typename P::State State;
    typedef typename P::Pair Pair;
    int n = context->n_atoms, blocks = cuda_blocks(n, CUDA_BLOCK);
    size_t reals = 3 * (size_t)n * sizeof(Out);
    CudaView<P> now(context->now);
    CudaBox<double> box = cuda_box<double>(context->box);
    Out *staging = (Out *)context->staging;
    int32_t *no_image = NULL;
    if (frame->position) {
        CUDA_LAUNCH(context, (k_gather_positions<P, Out>), blocks, CUDA_BLOCK, n, box, now, staging, no_image);
        cuda_memory_download(context, frame->position, staging, reals);
    }
    if (frame->image) {
        int32_t *images = (int32_t *)context->staging;
        CUDA_LAUNCH(context, (k_gather_positions<P, Out>), blocks, CUDA_BLOCK, n, box, now, staging, images);
        cuda_memory_download(context, frame->image, images, 3 * (size_t)n * sizeof(int32_t));
    }
    if (frame->velocity) {
        CUDA_LAUNCH(context, (k_gather_vectors<State, Out>), blocks, CUDA_BLOCK, n, now.tag, now.velocity, staging);
        cuda_memory_download(context, frame->velocity, staging, reals);
    }
    if (frame->force) {
        CUDA_LAUNCH(context, (k_gather_vectors<Pair, Out>), blocks, CUDA_BLOCK, n, now.tag, now.force, staging);
        cuda_memory_download(context, frame->force, staging, reals);
    }
}

template <class P> static void gather(CudaContext *context, MdFrame *frame) {
    if (frame->precision == MD_FILE_PRECISION_DOUBLE) gather_as<P, double>(context, frame);
    else gather_as<P, float>(context, frame);
}

void cuda_gather_frame(CudaContext *context, MdFrame *frame) {
    cuda_timing_begin(context, CUDA_GATHER);
    CUDA_BY_PRECISION(context, gather, context, frame);
    cuda_timing_end(context);
    CUDA_CHECK(cudaStreamSynchronize(context->stream)); /* also when nothing was asked for */
}
