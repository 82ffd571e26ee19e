/* Stage gather: particles into the device and out of it, by id, whatever their order in memory.
 *
 * A frame has rows of three numbers in the order of ids; particles are in the order of cells, in the layout of
 * memory.layout. Something has to be scattered: the ladder (output.pack) is about what.
 *
 *   naive     a thread a particle writes its three numbers to row `id`: reads are coalesced, but each warp writes to 32
 *             places, 12 bytes each in three stores. In device memory they meet in the L2 cache, unless the frame is
 *             larger; into mapped memory of the host every one of them crosses the bus by itself.
 *   shared    a thread a row: it looks up where the particle of this id is (place_of_id, made once after each sort, which
 *             scatters 4 bytes a particle), and reads it there: one access with vec4, of a whole 32-byte sector where the
 *             state is in double. The block puts the numbers into a tile of shared memory, component by component, and
 *             writes the tile out as it stands in the file: whole lines, one after the other. Its defect: what side by
 *             side in the file is x, y, z of one row lies in the same bank of the tile, since its edge is a multiple of
 *             32: three accesses in turn for each line.
 *   padded    the components are CUDA_TILE_PAD numbers further apart: the 32 numbers that a warp reads have 11, 11 and 10
 *             rows of the three components, and an offset of 11 puts them side by side into the 32 banks, wherever the
 *             warp begins; doubles (16 at a time, 6, 5 and 5 rows) as well. tests/kernels/test_pack.c counts.
 *
 * Into the device: a thread a particle, which is in the order of ids then. */
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

/* --- out of the device --------------------------------------------------------------------------------------------- */

constexpr bool is_naive = MD_SW_output_pack == MD_PACK_NAIVE;
constexpr int tile_edge = MD_BLOCK + (MD_SW_output_pack == MD_PACK_PADDED ? CUDA_TILE_PAD : 0);

/* Where each particle is, for the kernels that begin with the row. */
MD_KERNEL k_gather_places(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i < a.n_atoms) a.place_of_id[a.now.tag[i].id] = i;
}

/* Row id of `out` gets the numbers of its particle; numbers(i) gives those of particle i in memory. On a device that has halted
 * they may never have been written. */
template <class Out, class Numbers>
__device__ inline void gather_rows(const CudaArguments &a, Out *out, const Numbers &numbers) {
    if (a.watch->halted) return; /* the whole grid: written by an earlier kernel */
    if constexpr (is_naive) {
        const int i = thread_index();
        if (i >= a.n_atoms) return;
        const Vec3<Out> x = numbers(i);
        Out *row = out + 3 * (int64_t)a.now.tag[i].id;
        row[0] = x.x;
        row[1] = x.y;
        row[2] = x.z;
    } else {
        __shared__ Out s_tile[3 * tile_edge];
        const int first = (int)blockIdx.x * MD_BLOCK, id = thread_index(), t = (int)threadIdx.x;
        if (id < a.n_atoms) {
            const Vec3<Out> x = numbers(a.place_of_id[id]);
            s_tile[t] = x.x;
            s_tile[tile_edge + t] = x.y;
            s_tile[2 * tile_edge + t] = x.z;
        }
        __syncthreads(); /* the tile is complete before threads write what others put there */
        const int n_rows = a.n_atoms - first < MD_BLOCK ? a.n_atoms - first : MD_BLOCK;
        for (int k = t; k < 3 * n_rows; k += MD_BLOCK) out[3 * (int64_t)first + k] = s_tile[k % 3 * tile_edge + k / 3];
    }
}

template <class Out> struct Wrapped {
    Vec3<Out> x;
    Vec3<int32_t> image;
};

/* Position in the box, and the box that it is in: both after rounding to Out, so that they agree. */
template <class Out> __device__ inline Wrapped<Out> wrapped(const CudaArguments &a, int i, CudaTag tag) {
    const Vec3<State> x = load<State>(a.now.state, i);
    Wrapped<Out> w;
    w.x.x = wrap<Out>((double)x.x, a.length[0], a.inverse[0], &tag.ix);
    w.x.y = wrap<Out>((double)x.y, a.length[1], a.inverse[1], &tag.iy);
    w.x.z = wrap<Out>((double)x.z, a.length[2], a.inverse[2], &tag.iz);
    w.image = Vec3<int32_t>{tag.ix, tag.iy, tag.iz};
    return w;
}

template <class Out> __device__ inline void gather_positions(const CudaArguments &a) {
    gather_rows(a, (Out *)a.out, [&](int i) { return wrapped<Out>(a, i, CudaTag{0, 0, 0, 0}).x; });
}

/* The images that go with positions of type Out. */
template <class Out> __device__ inline void gather_images(const CudaArguments &a) {
    gather_rows(a, (int32_t *)a.out, [&](int i) { return wrapped<Out>(a, i, a.now.tag[i]).image; });
}

template <class T, class Out>
__device__ inline void gather_vectors(const CudaArguments &a, const CudaVectors &vectors) {
    gather_rows(a, (Out *)a.out, [&](int i) {
        const Vec3<T> v = load<T>(vectors, i);
        return Vec3<Out>{(Out)v.x, (Out)v.y, (Out)v.z};
    });
}

MD_KERNEL k_gather_positions_single(MD_ARGUMENTS) { gather_positions<float>(a); }
MD_KERNEL k_gather_positions_double(MD_ARGUMENTS) { gather_positions<double>(a); }
MD_KERNEL k_gather_images_single(MD_ARGUMENTS) { gather_images<float>(a); }
MD_KERNEL k_gather_images_double(MD_ARGUMENTS) { gather_images<double>(a); }
MD_KERNEL k_gather_velocities_single(MD_ARGUMENTS) { gather_vectors<State, float>(a, a.now.velocity); }
MD_KERNEL k_gather_velocities_double(MD_ARGUMENTS) { gather_vectors<State, double>(a, a.now.velocity); }
MD_KERNEL k_gather_forces_single(MD_ARGUMENTS) { gather_vectors<Pair, float>(a, a.now.force); }
MD_KERNEL k_gather_forces_double(MD_ARGUMENTS) { gather_vectors<Pair, double>(a, a.now.force); }

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
