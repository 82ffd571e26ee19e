/* Stage halo: copies of the atoms in the cells around a domain, from the ranks that own them, in one hop to each of up to 26 sides.
 *
 * At a list whole rows are sent, in any order; if kernels make the list, as soon as atoms are wrapped (send.cuh). The sort puts copies
 * after the own atoms, cell by cell in the owner's order of cells, and the atoms of a cell in the order of their keys, as on the owner.
 * So between two lists only positions are sent, in the order in which the pair kernels read them. A copy keeps the coordinates that the atom
 * has in the whole box; from the cell follows which image it is (bricks/load_tile.cuh). */
#include "cuda/kernels/border.cuh"
#include "cuda/kernels/gpu_barrier.cuh"
#include "cuda/kernels/send.cuh"

/* Counts the atoms of the border on each side; with a.n, their rows are sent. */
/* Reads position, tag [n_slots]; writes table.n_border [sides], with a.n rows of copies. */
MD_KERNEL k_halo_border(MD_ARGUMENTS) {
    const CudaDomain &domain = a.domain;
    const int i = thread_index();
    const bool is_there = i < own_slots(a) && a.now.tag[i].id >= 0;
    const unsigned sides = is_there ? sides_of_border(domain, local_cell(domain, own_side, cell_of_atom(a, i))) : 0u;
    send_copies(a, sides, a.n != 0, [&] { return atom_row(a, i); });
}

/* The copies of all sides, after the own atoms; with a.n, cells, also into their cells. */
/* Reads rows_in [copies]; writes the atoms after the own ones, slot_cell [copies], with a.n place, cell_count. */
MD_KERNEL k_halo_arrive(MD_ARGUMENTS) {
    const CudaDomain &domain = a.domain;
    const CudaHaloTable &table = *domain.table;
    const int k = thread_index();
    if (k >= table.in[CUDA_SIDES]) return;
    int side = 0;
    while (k >= table.in[side + 1]) side++;
    const AtomRow row = ((const AtomRow *)domain.rows_in)[table.row_in[side] + k - table.in[side]];
    const Vec3<Pair> place = place_of_row(a, row);
    const int i = own_slots(a) + k, cell = cell_number(a.grid, local_cell(domain, side, cell_of_place(a, place)));
    put_row(a, i, row, a.n > 0 ? on_the_way(a) : 0);
    a.slot_cell[i] = cell;
    if (a.n > 0)
        count_at(a, i, cell_place(a, cell), table.in[CUDA_SIDES],
                 key_at(place, row.tag.id)); /* k_sort_bin does otherwise */
}

/* When all are counted, of few cells: a block a side. Of many, blocks of k_sort_scan_tiles do it. */
/* Reads cell_count of the border; writes out_cell. */
MD_KERNEL k_halo_sum(MD_ARGUMENTS) { sum_border(a, (int)blockIdx.x); }

/* --- between two lists: their entries in copy a.buffer of the positions ------------------------------------------------ */

/* The index of copy k of all sides, by the first one of each side and the first entry in its room. */
__device__ inline int in_room(const int32_t *first, const int32_t *room, int k) {
    int side = 0;
    while (k >= first[side + 1]) side++;
    return room[side] + k - first[side];
}

/* Reads position [n], out [row_room]; writes sent [row_room]. */
MD_KERNEL k_halo_pack(MD_ARGUMENTS) {
    const CudaDomain &domain = a.domain;
    const CudaHaloTable &table = *domain.table;
    const Vec4<Pair> *position = (const Vec4<Pair> *)a.now.position.part[0] + a.buffer * (int64_t)a.stride;
    const int n = table.out[CUDA_SIDES];
    for (int k = thread_index(); k < n; k += grid_size())
        ((Vec4<Pair> *)domain.sent)[is_by_nccl ? in_room(table.out, table.room_out, k) : k] = position[domain.out[k]];
    if (is_by_nccl && thread_index() == 0) a.status->n_places_sent += (unsigned long long)table.room_out[CUDA_SIDES];
}

#if MD_SW_parallel_transport == MD_TRANSPORT_NCCL
/* From the rooms of the messages to after the own atoms, side by side. */
/* Reads rows_in [row_room]; writes position [copies]. */
MD_KERNEL k_halo_unpack(MD_ARGUMENTS) {
    if (a.status->stopped) return; /* all GPUs; a list that is to be made again may have its atoms here */
    const CudaHaloTable &table = *a.domain.table;
    Vec4<Pair> *copies = (Vec4<Pair> *)a.now.position.part[0] + a.buffer * (int64_t)a.stride + table.n_own;
    for (int k = thread_index(); k < table.in[CUDA_SIDES]; k += grid_size())
        copies[k] = ((const Vec4<Pair> *)a.domain.rows_in)[in_room(table.in, table.room_in, k)];
}
#endif

#if MD_SW_parallel_transport == MD_TRANSPORT_DIRECT
/* Into that copy of the ranks that need them; after a barrier all know the largest displacement of all. */
/* Reads position [n], out [row_room]; writes position of other ranks, the largest measures.moved_sq. */
MD_KERNEL k_halo_push(MD_ARGUMENTS) {
    if (a.status->stopped) return; /* all GPUs: they stop at the same step */
    const CudaDomain &domain = a.domain;
    const CudaHaloTable &table = *domain.table;
    const Vec4<Pair> *position = (const Vec4<Pair> *)a.now.position.part[0] + a.buffer * (int64_t)a.stride;
    const int n = table.out[CUDA_SIDES];
    for (int k = thread_index(); k < n; k += grid_size()) {
        int side = 0;
        while (k >= table.out[side + 1]) side++;
        Vec4<Pair> *to = (Vec4<Pair> *)domain.peers->position[side] + a.buffer * (int64_t)table.stride_of[side];
        to[table.to[side] + k - table.out[side]] = position[domain.out[k]];
    }
    if (!is_last_block(a)) return;
    CudaMeasures *measures = &a.status->measures;
    unsigned *moved_sq = a.buffer == 0 ? &measures->moved_sq : &measures->moved_sq_odd; /* as force.cuh has it */
    const unsigned largest = gpu_barrier(a, *(volatile unsigned *)moved_sq)
                                 .largest; /* of squares: the order of floats is that of their bits */
    if (threadIdx.x > 0) return;
    *moved_sq = largest;
    a.status->n_places_sent += (unsigned long long)n;
}

/* Before anything is stored where others may still read, or is read that others have stored. One block. */
/* Reads words [ranks] of the own mailbox; writes those of all ranks. */
MD_KERNEL k_halo_barrier(MD_ARGUMENTS) {
    if (a.status->stopped) return; /* as in k_halo_push */
    __threadfence_system();        /* the stores of earlier kernels */
    gpu_barrier(a, 0);
}
#endif

/* --- the end of a list ---------------------------------------------------------------------------------------------------- */

#if MD_SW_parallel_transport == MD_TRANSPORT_NCCL || MD_SW_parallel_transport == MD_TRANSPORT_DIRECT
/* The result of this rank, CUDA_LIST_... */
__device__ inline unsigned found_here(const CudaArguments &a) {
    const CudaDomain &domain = a.domain;
    const CudaHaloTable *table = domain.table;
    const int most = table->n_own + table->n_rows + domain.inbox_room;
    const CudaMeasures &found = a.status->measures;
    const bool is_held =
        a.n_force_items <= domain.held_bricks && found.rows <= domain.held_rows && found.staged <= domain.held_staged;
    return (table->lacks_room ? CUDA_LIST_LACKS_ROOM : 0u) | (a.status->stopped ? CUDA_LIST_FULL : 0u) |
           (most > a.stride ? CUDA_LIST_WANTS_ROOM : 0u) | (a.status->fault_step != ~0ull ? CUDA_LIST_FAULT : 0u) |
           (is_held && found.sides_without_halo == 0 ? 0u : CUDA_LIST_NEEDS_BARRIER);
}

#if MD_SW_parallel_transport == MD_TRANSPORT_DIRECT
/* By the threads of a block: the results of all ranks. Each learns where the others have its copies, too. */
__device__ inline unsigned found_by_peers(const CudaArguments &a) {
    CudaHaloTable *table = a.domain.table;
    const CudaMailbox *mailbox = a.domain.peers->mailbox[a.domain.rank];
    const int side = (int)threadIdx.x;
    __threadfence_system(); /* the stores of earlier kernels */
    const unsigned all = gpu_barrier(a, found_here(a)).bits;
    if (side < CUDA_SIDES) {
        table->to[side] = *(const volatile int32_t *)&mailbox->to[side];
        table->stride_of[side] = *(const volatile int32_t *)&mailbox->stride[side];
    }
    return all;
}
#else /* nccl */
/* Between this kernel and the next one NCCL finds the largest of each word. */
/* Reads table, measures, status; writes table.found [bits]. */
MD_KERNEL k_halo_found(MD_ARGUMENTS) {
    const int k = (int)threadIdx.x;
    if (k < CUDA_LIST_BITS) a.domain.table->found[k] = found_here(a) >> k & 1u;
}

__device__ inline unsigned found_in_words(const CudaArguments &a) {
    unsigned all = 0;
    for (int k = 0; k < CUDA_LIST_BITS; k++) all |= a.domain.table->found[k] << k;
    return all;
}
#endif

/* One block. All GPUs stop together, or go on together. */
/* Reads the results of all ranks; writes host_status, table.needs_barrier, table.to, status.stopped. */
MD_KERNEL k_halo_end(MD_ARGUMENTS) {
    CudaHaloTable *table = a.domain.table;
#if MD_SW_parallel_transport == MD_TRANSPORT_DIRECT
    const unsigned all = found_by_peers(a);
#else
    const unsigned all = found_in_words(a);
#endif
    if (threadIdx.x > 0) return;
    table->needs_barrier = (all & CUDA_LIST_NEEDS_BARRIER) != 0;
    a.host_status->n_own = table->n_own;
    a.host_status->n_copies = table->in[CUDA_SIDES];
    a.host_status->list = all;
    if (all & (CUDA_LIST_LACKS_ROOM | CUDA_LIST_FULL)) set_stop_flag(a, CUDA_STOPPED_FULL);
}
#endif
