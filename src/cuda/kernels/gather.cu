/* Stage gather: particles into the device and out of it, by id, for any order in memory.
 *
 * A frame has rows of three numbers in the order of ids; particles are in the order of cells, in the layout of
 * memory.layout. Reads or writes must be scattered: the ladder (output.pack) shows the choices.
 *
 *   naive     a thread a particle writes its three numbers to row `id`: reads are coalesced, but each warp writes to 32
 *             rows, 12 bytes each in three stores. In device memory they meet in the L2 cache, unless the frame is
 *             larger; into mapped memory of the host every one of them crosses the bus separately.
 *   shared    a thread a row: it looks up the slot of the particle of this id (place_of_id, made once after each sort, which
 *             scatters 4 bytes a particle), and reads it there: one access with vec4, of a whole 32-byte sector in
 *             double. The block puts the numbers into a tile of shared memory, component by component, and
 *             writes the tile in the order of the file: whole lines, one after the other. Its defect: x, y, z of one
 *             row, side by side in the file, are in the same bank of the tile, since its edge is a multiple of
 *             32: three accesses in turn for each line.
 *   padded    the components are CUDA_TILE_PAD numbers further apart: the 32 numbers that a warp reads have 11, 11 and 10
 *             rows of the three components, and an offset of 11 puts them side by side into the 32 banks, wherever the
 *             warp begins; doubles (16 at a time, 6, 5 and 5 rows) as well. tests/kernels/test_pack.c counts.
 *
 * With several processes each packs its rows in the order of memory, and their ids beside them (k_gather_ids). With direct a
 * kernel of each rank that writes puts its rows together, with nccl one of rank 0 (k_gather_joined); else the hosts do. */
#include "cuda/kernels/gather_state.cuh"

constexpr bool is_naive = MD_SW_output_pack == MD_PACK_NAIVE;
constexpr int tile_edge = MD_BLOCK + (MD_SW_output_pack == MD_PACK_PADDED ? CUDA_TILE_PAD : 0);

/* Where each particle is, for the kernels that begin with the row. */
/* Reads tag [n]; writes place_of_id [n]. */
MD_KERNEL k_gather_places(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i < own_atoms(a)) a.place_of_id[a.now.tag[i].id] = i;
}

#if MD_DOMAIN
/* Rows are in the order of memory, and these are their ids. */
/* Reads tag [n]; writes out [n] int32, the ids. */
MD_KERNEL k_gather_ids(MD_ARGUMENTS) {
    const int i = atom_of_row(a);
    if (i >= 0 && !a.status->stopped) ((int32_t *)a.out)[thread_index()] = a.now.tag[i].id;
#if MD_SW_parallel_transport == MD_TRANSPORT_DIRECT /* all ranks are told how many there are */
    for (int rank = thread_index(); rank < a.domain.n_ranks && !a.status->stopped; rank += grid_size())
        *(volatile int32_t *)&a.domain.peers->mailbox[rank]->n_rows[a.domain.rank] = own_atoms(a);
#endif
}

#if MD_SW_parallel_transport == MD_TRANSPORT_NCCL || MD_SW_parallel_transport == MD_TRANSPORT_DIRECT
/* Of n rows of n_words words each, perhaps of another GPU, the rows that this rank writes, by id. All GPUs read all ids. Scattered
 * writes are to the memory of this GPU. */
__device__ inline void join_rows(const CudaArguments &a, const void *ids, const void *rows, int64_t n, int n_words) {
    for (int64_t k = thread_index(); k < n * n_words; k += grid_size()) {
        const int64_t row = ((const int32_t *)ids)[k / n_words] - a.domain.first_id; /* below 0 if never packed */
        if (row >= 0 && row < a.domain.n_ids)
            ((uint32_t *)a.out)[n_words * row + k % n_words] = ((const uint32_t *)rows)[k];
    }
}

/* Column a.n of all ranks, whose rows have a.buffer words; after a barrier of all GPUs, or when NCCL has brought them to a.in. */
/* Reads rows and ids of all ranks; writes out [n_ids, a.buffer words]. */
MD_KERNEL k_gather_joined(MD_ARGUMENTS) {
    if (a.status->stopped) return; /* all GPUs: they stop at the same step */
#if MD_SW_parallel_transport == MD_TRANSPORT_DIRECT
    const CudaPeers &peers = *a.domain.peers;
    for (int rank = 0; rank < a.domain.n_ranks; rank++)
        join_rows(a, peers.frame[rank][CUDA_FRAME_IDS], peers.frame[rank][a.n],
                  peers.mailbox[a.domain.rank]->n_rows[rank], a.buffer);
#else
    join_rows(a, a.domain.frame_ids, a.in, a.domain.n_frame_rows, a.buffer);
#endif
}
#endif
#endif

/* All of a kernel that gathers: row id of `out`, from a.first_row on, gets the numbers of its particle; numbers(i) gives those of particle
 * i in memory. On a device that has stopped they may never have been written. */
template <class Out, class Numbers>
__device__ inline void gather_rows(const CudaArguments &a, Out *out, const Numbers &numbers) {
    if (a.status->stopped) return; /* the whole grid: written by an earlier kernel */
    if constexpr (is_naive) {
        const int i = thread_index();
        if (i >= own_atoms(a)) return;
        const int at = (has_domain ? i : a.now.tag[i].id) - a.first_row;
        if (at < 0 || at >= a.n_rows) return;
        const Vec3<Out> x = numbers(i);
        Out *row = out + 3 * (int64_t)at;
        row[0] = x.x;
        row[1] = x.y;
        row[2] = x.z;
    } else {
        __shared__ Out s_tile[3 * tile_edge];
        const int first = (int)blockIdx.x * MD_BLOCK, id = atom_of_row(a), t = (int)threadIdx.x;
        if (id >= 0) {
            const Vec3<Out> x = numbers(has_domain ? id : a.place_of_id[id]);
            s_tile[t] = x.x;
            s_tile[tile_edge + t] = x.y;
            s_tile[2 * tile_edge + t] = x.z;
        }
        __syncthreads(); /* the tile is complete before threads write numbers of other threads */
        const int n_rows = min(min(own_atoms(a) - a.first_row, a.n_rows) - first, MD_BLOCK);
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

/* Reads position [n], place_of_id or tag [n]; writes out [n, 3] float. */
MD_KERNEL k_gather_positions_single(MD_ARGUMENTS) { gather_positions<float>(a); }
/* Reads position [n], place_of_id or tag [n]; writes out [n, 3] double. */
MD_KERNEL k_gather_positions_double(MD_ARGUMENTS) { gather_positions<double>(a); }
/* Reads position, tag [n], place_of_id [n]; writes out [n, 3] int32. */
MD_KERNEL k_gather_images_single(MD_ARGUMENTS) { gather_images<float>(a); }
/* Reads position, tag [n], place_of_id [n]; writes out [n, 3] int32. */
MD_KERNEL k_gather_images_double(MD_ARGUMENTS) { gather_images<double>(a); }
/* Reads velocity [n], place_of_id or tag [n]; writes out [n, 3] float. */
MD_KERNEL k_gather_velocities_single(MD_ARGUMENTS) { gather_vectors<float>(a, a.now.velocity); }
/* Reads velocity [n], place_of_id or tag [n]; writes out [n, 3] double. */
MD_KERNEL k_gather_velocities_double(MD_ARGUMENTS) { gather_vectors<double>(a, a.now.velocity); }
/* Reads force [n], place_of_id or tag [n]; writes out [n, 3] float. */
MD_KERNEL k_gather_forces_single(MD_ARGUMENTS) { gather_vectors<float>(a, a.now.force); }
/* Reads force [n], place_of_id or tag [n]; writes out [n, 3] double. */
MD_KERNEL k_gather_forces_double(MD_ARGUMENTS) { gather_vectors<double>(a, a.now.force); }
