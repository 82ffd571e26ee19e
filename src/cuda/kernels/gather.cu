/* Stage gather: particles into the device and out of it, by id, whatever their order in memory.
 *
 * A frame has rows of three numbers in the order of ids; particles are in the order of cells, in the layout of
 * memory.layout. Something has to be scattered: the ladder (output.pack) is about what.
 *
 *   naive     a thread a particle writes its three numbers to row `id`: reads are coalesced, but each warp writes to 32
 *             places, 12 bytes each in three stores. In device memory they meet in the L2 cache, unless the frame is
 *             larger; into mapped memory of the host every one of them crosses the bus by itself.
 *   shared    a thread a row: it looks up where the particle of this id is (place_of_id, made once after each sort, which
 *             scatters 4 bytes a particle), and reads it there: one access with vec4, of a whole 32-byte sector in
 *             double. The block puts the numbers into a tile of shared memory, component by component, and
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
    if (i >= a.n_own) return;
    const int type = ((const int32_t *)a.in)[i];
    const Pair inverse_mass = (Pair)a.inverse_mass_of[type];
    store_position(a.now, i, Vec3<State>{0, 0, 0}, type);
    store<Pair>(a.now.velocity, i, Vec3<Pair>{0, 0, 0}, inverse_mass);
    if constexpr (!is_vec4) {
        a.now.type[i] = type;
        ((Pair *)a.now.inverse_mass)[i] = inverse_mass;
    }
    a.now.tag[i] = CudaTag{0, 0, 0, i};
}

template <class T> __device__ inline Vec3<T> import_vector(const CudaArguments &a, int i) {
    const double *xyz = (const double *)a.in + 3 * (int64_t)i;
    return Vec3<T>{(T)xyz[0], (T)xyz[1], (T)xyz[2]};
}

__device__ inline Vec3<Pair> import_position(const CudaArguments &a, int i) {
    return store_position(a.now, i, storable(import_vector<State>(a, i)), load_type(a.now, i));
}

__device__ inline void import_velocity(const CudaArguments &a, int i) {
    store<Pair>(a.now.velocity, i, import_vector<Pair>(a, i), load_velocity(a.now, i).w);
}

MD_KERNEL k_gather_import_positions(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= a.n_own) return;
    store<Pair>(a.reference, i, import_position(a, i), Pair(0));
}

MD_KERNEL k_gather_import_velocities(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= a.n_own) return;
    import_velocity(a, i);
}

MD_KERNEL k_gather_import_images(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= a.n_own) return;
    const int32_t *image = (const int32_t *)a.in + 3 * (int64_t)i;
    a.now.tag[i] = CudaTag{image[0], image[1], image[2], a.now.tag[i].id};
}

/* --- out of the device --------------------------------------------------------------------------------------------- */

constexpr bool is_naive = MD_SW_output_pack == MD_PACK_NAIVE;
constexpr int tile_edge = MD_BLOCK + (MD_SW_output_pack == MD_PACK_PADDED ? CUDA_TILE_PAD : 0);

/* Where each particle is, for the kernels that begin with the row. */
MD_KERNEL k_gather_places(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i < a.n_own) a.place_of_id[a.now.tag[i].id] = i;
}

/* All of a kernel that gathers: row id of `out` gets the numbers of its particle; numbers(i) gives those of particle i in memory.
 * On a device that has stopped they may never have been written. */
template <class Out, class Numbers>
__device__ inline void gather_rows(const CudaArguments &a, Out *out, const Numbers &numbers) {
    if (a.status->stopped) return; /* the whole grid: written by an earlier kernel */
    if constexpr (is_naive) {
        const int i = thread_index();
        if (i >= a.n_own) return;
        const Vec3<Out> x = numbers(i);
        Out *row = out + 3 * (int64_t)a.now.tag[i].id;
        row[0] = x.x;
        row[1] = x.y;
        row[2] = x.z;
    } else {
        __shared__ Out s_tile[3 * tile_edge];
        const int first = (int)blockIdx.x * MD_BLOCK, id = thread_index(), t = (int)threadIdx.x;
        if (id < a.n_own) {
            const Vec3<Out> x = numbers(a.place_of_id[id]);
            s_tile[t] = x.x;
            s_tile[tile_edge + t] = x.y;
            s_tile[2 * tile_edge + t] = x.z;
        }
        __syncthreads(); /* the tile is complete before threads write what others put there */
        const int n_rows = a.n_own - first < MD_BLOCK ? a.n_own - first : MD_BLOCK;
        for (int k = t; k < 3 * n_rows; k += MD_BLOCK) out[3 * (int64_t)first + k] = s_tile[k % 3 * tile_edge + k / 3];
    }
}

template <class Out> struct Wrapped {
    Vec3<Out> x;
    Vec3<int32_t> image;
};

/* Position in the box, and the box that it is in: both after rounding to Out, so that they agree. */
template <class Out> __device__ inline Wrapped<Out> wrapped(const CudaArguments &a, int i, CudaTag tag) {
    const Vec3<State> x = load_position(a.now, i);
    Wrapped<Out> w;
    const auto round = [](double place) { return (Out)place; };
    w.x.x = wrap((double)x.x, a.length[0], a.inverse[0], &tag.ix, round);
    w.x.y = wrap((double)x.y, a.length[1], a.inverse[1], &tag.iy, round);
    w.x.z = wrap((double)x.z, a.length[2], a.inverse[2], &tag.iz, round);
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

template <class Out> __device__ inline void gather_vectors(const CudaArguments &a, const CudaVectors &vectors) {
    gather_rows(a, (Out *)a.out, [&](int i) {
        const Vec3<Pair> v = load<Pair>(vectors, i);
        return Vec3<Out>{(Out)v.x, (Out)v.y, (Out)v.z};
    });
}

MD_KERNEL k_gather_positions_single(MD_ARGUMENTS) { gather_positions<float>(a); }
MD_KERNEL k_gather_positions_double(MD_ARGUMENTS) { gather_positions<double>(a); }
MD_KERNEL k_gather_images_single(MD_ARGUMENTS) { gather_images<float>(a); }
MD_KERNEL k_gather_images_double(MD_ARGUMENTS) { gather_images<double>(a); }
MD_KERNEL k_gather_velocities_single(MD_ARGUMENTS) { gather_vectors<float>(a, a.now.velocity); }
MD_KERNEL k_gather_velocities_double(MD_ARGUMENTS) { gather_vectors<double>(a, a.now.velocity); }
MD_KERNEL k_gather_forces_single(MD_ARGUMENTS) { gather_vectors<float>(a, a.now.force); }
MD_KERNEL k_gather_forces_double(MD_ARGUMENTS) { gather_vectors<double>(a, a.now.force); }

/* For restart files: numbers as they are, in the order of memory, as double (exact for both precisions). a.raw_quantity: which,
 * CUDA_RAW_... */
template <class T> __device__ inline void export_raw(const CudaArguments &a, const Vec3<T> &v, int i) {
    double *out = (double *)a.out + 3 * (int64_t)i;
    out[0] = (double)v.x;
    out[1] = (double)v.y;
    out[2] = (double)v.z;
}

MD_KERNEL k_gather_export_raw(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= a.n_own) return;
    if (a.raw_quantity == CUDA_RAW_POSITION) export_raw(a, load_position(a.now, i), i);
    else if (a.raw_quantity == CUDA_RAW_VELOCITY) export_raw(a, load<Pair>(a.now.velocity, i), i);
    else if (a.raw_quantity == CUDA_RAW_FORCE) export_raw(a, load<Pair>(a.now.force, i), i);
    else export_raw(a, load<Pair>(a.reference, i), i);
}

/* Types, masses and tags are there. Numbers of the same precision come back as they were. */
MD_KERNEL k_gather_import_raw(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= a.n_own) return;
    if (a.raw_quantity == CUDA_RAW_POSITION) import_position(a, i);
    else if (a.raw_quantity == CUDA_RAW_VELOCITY) import_velocity(a, i);
    else
        store<Pair>(a.raw_quantity == CUDA_RAW_FORCE ? a.now.force : a.reference, i, import_vector<Pair>(a, i),
                    Pair(0));
}
