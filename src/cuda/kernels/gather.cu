/* Stage gather: particles into the device and out of it, by id, whatever their order in memory.
 *
 * Ladder:
 *   staging   a thread a particle scatters its numbers to row `id` of a device array in the layout of the file, one
 *             quantity after another; the array travels in pinned chunks, the host empties one while the next arrives.
 *             The scattered 12-byte writes meet in the L2 cache; the bus is the slower end by a factor of a hundred. */
#include "cuda/kernels/common.cuh"

/* Everything that is not a place or a velocity; called first, since the others keep what it writes. a.in: types. */
MD_KERNEL k_gather_import_types(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= a.n_atoms) return;
    const int type = ((const int32_t *)a.in)[i];
    const State inverse_mass = (State)a.inverse_mass_of[type];
    store<State>(a.now.state, i, Vec3<State>{0, 0, 0}, type_bits<State>(type));
    if (is_mixed) store<Pair>(a.now.position, i, Vec3<Pair>{0, 0, 0}, type_bits<Pair>(type));
    store<State>(a.now.velocity, i, Vec3<State>{0, 0, 0}, inverse_mass);
    if constexpr (!is_vec4) {
        a.now.type[i] = type;
        ((State *)a.now.inverse_mass)[i] = inverse_mass;
    }
    a.now.tag[i] = CudaTag{0, 0, 0, i};
}

__device__ inline Vec3<State> import_vector(const CudaArguments &a, int i) {
    const double *xyz = (const double *)a.in + 3 * (int64_t)i;
    return Vec3<State>{(State)xyz[0], (State)xyz[1], (State)xyz[2]};
}

MD_KERNEL k_gather_import_positions(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= a.n_atoms) return;
    const int type = load_type(a.now, i);
    const Vec3<Pair> seen = store_position(a.now, i, import_vector(a, i), type);
    store<Pair>(a.reference, i, seen, type_bits<Pair>(type));
}

MD_KERNEL k_gather_import_velocities(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= a.n_atoms) return;
    store<State>(a.now.velocity, i, import_vector(a, i), load_velocity(a.now, i).w);
}

MD_KERNEL k_gather_import_images(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= a.n_atoms) return;
    const int32_t *image = (const int32_t *)a.in + 3 * (int64_t)i;
    a.now.tag[i] = CudaTag{image[0], image[1], image[2], a.now.tag[i].id};
}

/* Position in the box, or (a.image not NULL) the box that it is in: both after rounding to Out, so that they agree. */
template <class Out> __device__ inline void gather_position(const CudaArguments &a) {
    const int i = thread_index();
    if (i >= a.n_atoms) return;
    const Vec3<State> x = load<State>(a.now.state, i);
    CudaTag tag = a.now.tag[i];
    const Out wx = wrap<Out>((double)x.x, a.length[0], a.inverse[0], &tag.ix);
    const Out wy = wrap<Out>((double)x.y, a.length[1], a.inverse[1], &tag.iy);
    const Out wz = wrap<Out>((double)x.z, a.length[2], a.inverse[2], &tag.iz);
    const int64_t row = 3 * (int64_t)tag.id;
    if (a.image) {
        a.image[row] = tag.ix;
        a.image[row + 1] = tag.iy;
        a.image[row + 2] = tag.iz;
    } else {
        Out *out = (Out *)a.out;
        out[row] = wx;
        out[row + 1] = wy;
        out[row + 2] = wz;
    }
}

template <class T, class Out> __device__ inline void gather_vector(const CudaArguments &a, const CudaVectors &vectors) {
    const int i = thread_index();
    if (i >= a.n_atoms) return;
    const Vec3<T> v = load<T>(vectors, i);
    Out *out = (Out *)a.out + 3 * (int64_t)a.now.tag[i].id;
    out[0] = (Out)v.x;
    out[1] = (Out)v.y;
    out[2] = (Out)v.z;
}

MD_KERNEL k_gather_positions_single(MD_ARGUMENTS) { gather_position<float>(a); }
MD_KERNEL k_gather_positions_double(MD_ARGUMENTS) { gather_position<double>(a); }
MD_KERNEL k_gather_velocities_single(MD_ARGUMENTS) { gather_vector<State, float>(a, a.now.velocity); }
MD_KERNEL k_gather_velocities_double(MD_ARGUMENTS) { gather_vector<State, double>(a, a.now.velocity); }
MD_KERNEL k_gather_forces_single(MD_ARGUMENTS) { gather_vector<Pair, float>(a, a.now.force); }
MD_KERNEL k_gather_forces_double(MD_ARGUMENTS) { gather_vector<Pair, double>(a, a.now.force); }

/* For restart files: numbers as they are, in the order of memory, as double (exact for both precisions). a.first: which,
 * CUDA_RAW_... */
template <class T> __device__ inline void export_raw(const CudaArguments &a, const CudaVectors &vectors, int i) {
    const Vec3<T> v = load<T>(vectors, i);
    double *out = (double *)a.out + 3 * (int64_t)i;
    out[0] = (double)v.x;
    out[1] = (double)v.y;
    out[2] = (double)v.z;
}

MD_KERNEL k_gather_export_raw(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= a.n_atoms) return;
    if (a.first == CUDA_RAW_POSITION) export_raw<State>(a, a.now.state, i);
    else if (a.first == CUDA_RAW_VELOCITY) export_raw<State>(a, a.now.velocity, i);
    else if (a.first == CUDA_RAW_FORCE) export_raw<Pair>(a, a.now.force, i);
    else export_raw<Pair>(a, a.reference, i);
}

/* Types, masses and tags are there. */
MD_KERNEL k_gather_import_raw(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= a.n_atoms) return;
    const Vec3<State> x = import_vector(a, i);
    const Vec3<Pair> y = {(Pair)x.x, (Pair)x.y, (Pair)x.z}; /* they were that */
    if (a.first == CUDA_RAW_POSITION) store_position(a.now, i, x, load_type(a.now, i));
    else if (a.first == CUDA_RAW_VELOCITY) store<State>(a.now.velocity, i, x, load_velocity(a.now, i).w);
    else if (a.first == CUDA_RAW_FORCE) store<Pair>(a.now.force, i, y, Pair(0));
    else store<Pair>(a.reference, i, y, type_bits<Pair>(load_type(a.now, i)));
}
