/* Stage gather: the start of a run and its restart files. Particles into the device, a thread each, when they are in the order of
 * ids; for restart files out of it and back, as they are. */
#ifndef MD_CUDA_GATHER_STATE_CUH
#define MD_CUDA_GATHER_STATE_CUH

#include "cuda/kernels/common.cuh"

/* The atom of this thread, whose row of `in` or `out` has the number of the thread; -1: none. */
__device__ inline int atom_of_row(const CudaArguments &a) {
    const int row = thread_index(), i = a.first_row + row;
    return row < a.n_rows && i < own_atoms(a) ? i : -1;
}

/* Everything except positions and velocities; called first, since the others keep its data. a.in: types; a.n: with several
 * processes, the id of the first. */
/* Reads in [n] int32; writes type, inverse mass, tag [n], position and velocity [n] as zero. */
MD_KERNEL k_gather_import_types(MD_ARGUMENTS) {
    const int i = atom_of_row(a);
    if (i < 0) return;
    const int type = ((const int32_t *)a.in)[thread_index()];
    const Pair inverse_mass = (Pair)a.inverse_mass_of[type];
    store_position(a.now, i, Vec3<State>{0, 0, 0}, type);
    store<Pair>(a.now.velocity, i, Vec3<Pair>{0, 0, 0}, inverse_mass);
    if constexpr (!is_vec4) {
        a.now.type[i] = type;
        ((Pair *)a.now.inverse_mass)[i] = inverse_mass;
    }
    a.now.tag[i] = CudaTag{0, 0, 0, (has_domain ? a.n : 0) + i};
}

template <class T> __device__ inline Vec3<T> import_vector(const CudaArguments &a) {
    const double *xyz = (const double *)a.in + 3 * (int64_t)thread_index();
    return Vec3<T>{(T)xyz[0], (T)xyz[1], (T)xyz[2]};
}

__device__ inline Vec3<Pair> import_position(const CudaArguments &a, int i) {
    return store_position(a.now, i, storable(import_vector<State>(a)), load_type(a.now, i));
}

__device__ inline void import_velocity(const CudaArguments &a, int i) {
    store<Pair>(a.now.velocity, i, import_vector<Pair>(a), load_velocity(a.now, i).w);
}

/* Reads in [n, 3] double; writes position, reference [n]. */
MD_KERNEL k_gather_import_positions(MD_ARGUMENTS) {
    const int i = atom_of_row(a);
    if (i < 0) return;
    store<Pair>(a.reference, i, import_position(a, i), Pair(0));
}

/* Reads in [n, 3] double; writes velocity [n]. */
MD_KERNEL k_gather_import_velocities(MD_ARGUMENTS) {
    const int i = atom_of_row(a);
    if (i < 0) return;
    import_velocity(a, i);
}

/* Reads in [n, 3] int32; writes tag [n]. */
MD_KERNEL k_gather_import_images(MD_ARGUMENTS) {
    const int i = atom_of_row(a);
    if (i < 0) return;
    const int32_t *image = (const int32_t *)a.in + 3 * (int64_t)thread_index();
    a.now.tag[i] = CudaTag{image[0], image[1], image[2], a.now.tag[i].id};
}

/* --- restart files --------------------------------------------------------------------------------------------------- */

/* Numbers as they are, in the order of memory, as double (exact for both precisions). a.raw_quantity: which,
 * CUDA_RAW_... */
template <class T> __device__ inline void export_raw(const CudaArguments &a, const Vec3<T> &v) {
    double *out = (double *)a.out + 3 * (int64_t)thread_index();
    out[0] = (double)v.x;
    out[1] = (double)v.y;
    out[2] = (double)v.z;
}

/* Reads position, velocity, force or reference [n]; writes out [n, 3] double. */
MD_KERNEL k_gather_export_raw(MD_ARGUMENTS) {
    const int i = atom_of_row(a);
    if (i < 0) return;
    if (a.raw_quantity == CUDA_RAW_POSITION) export_raw(a, load_position(a.now, i));
    else if (a.raw_quantity == CUDA_RAW_VELOCITY) export_raw(a, load<Pair>(a.now.velocity, i));
    else if (a.raw_quantity == CUDA_RAW_FORCE) export_raw(a, load<Pair>(a.now.force, i));
    else export_raw(a, load<Pair>(a.reference, i));
}

/* Types, masses and tags are there. Numbers of the same precision come back as they were. */
/* Reads in [n, 3] double; writes position, velocity, force or reference [n]. */
MD_KERNEL k_gather_import_raw(MD_ARGUMENTS) {
    const int i = atom_of_row(a);
    if (i < 0) return;
    if (a.raw_quantity == CUDA_RAW_POSITION) import_position(a, i);
    else if (a.raw_quantity == CUDA_RAW_VELOCITY) import_velocity(a, i);
    else store<Pair>(a.raw_quantity == CUDA_RAW_FORCE ? a.now.force : a.reference, i, import_vector<Pair>(a), Pair(0));
}

#endif
