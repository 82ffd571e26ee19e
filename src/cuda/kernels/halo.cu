/* Stage halo: copies of the atoms in the cells around a domain, from the ranks that own them, in one hop to each of up to 26 sides.
 *
 * At a list whole rows travel, in any order; with parallel.transport = direct as soon as atoms are wrapped (send.cuh). The sort puts
 * copies behind the own atoms, side by side, cell by cell as their owner has the cells, and the atoms of a cell in the order of their
 * keys, as there. So between two lists only places travel, and those from a side are received where the pair kernels read them, with
 * nothing to unpack. A copy keeps the coordinates that the atom has in the whole box; from the cell follows which image it is
 * (bricks/load_tile.cuh). */
#include "cuda/kernels/border.cuh"
#include "cuda/kernels/gpu_barrier.cuh"
#include "cuda/kernels/scan.cuh"
#include "cuda/kernels/send.cuh"

/* Counts the atoms of the border on each side; with a.n, their rows are sent. */
MD_KERNEL k_halo_border(MD_ARGUMENTS) {
    const CudaDomain &domain = a.domain;
    const int i = thread_index();
    const bool is_there = i < own_slots(a) && a.now.tag[i].id >= 0;
    const unsigned sides = is_there ? sides_of_border(domain, local_cell(domain, own_side, cell_of_atom(a, i))) : 0u;
    send_copies(a, sides, a.n != 0, [&] { return atom_row(a, i); });
}

/* The copies of all sides, behind the own atoms; with a.n, cells, also into their cells. */
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

/* --- when all are counted ------------------------------------------------------------------------------------------------ */

/* parallel.transport = direct: the rank on a side is told where its atoms are among the positions of this one. */
__device__ inline void tell_place(const CudaArguments &a, int side) {
    CudaMailbox *mailbox = a.domain.peers->mailbox[a.domain.peers->rank[side]];
    *(volatile int32_t *)&mailbox->to[CUDA_SIDES - 1 - side] = a.domain.table->n_own + a.domain.table->in[side];
    *(volatile int32_t *)&mailbox->stride[CUDA_SIDES - 1 - side] = a.stride;
}

/* The first atom of each border cell among those of its side, by the counts of all cells. A block a side. */
MD_KERNEL k_halo_sum(MD_ARGUMENTS) {
    __shared__ int s_before;
    const CudaDomain &domain = a.domain;
    const int side = (int)blockIdx.x;
    if ((domain.sides >> side & 1u) == 0) return; /* the whole block */
    const CellBox box = border_box(domain, side);
    const int n_cells = box.size[0] * box.size[1] * box.size[2];
    constexpr int items = 8; /* side by side, whose counts are asked for at once */
    int before = 0;
    for (int first = 0; first < n_cells; first += items * MD_BLOCK) {
        const int begin = first + items * (int)threadIdx.x;
        int n[items], sum = 0;
#pragma unroll
        for (int k = 0; k < items; k++) {
            const int c = cell_number(a.grid, cell_of_box(box, min(begin + k, n_cells - 1)));
            n[k] = begin + k < n_cells ? a.cell_count[cell_place(a, c)] : 0;
        }
        for (int k = 0; k < items; k++) sum += n[k];
        const int up_to = before + block_scan(sum);
        int next = up_to - sum;
        for (int k = 0; k < items; k++) {
            if (begin + k < n_cells) domain.out_cell[first_border_cell(domain, side) + begin + k] = next;
            next += n[k];
        }
        if (threadIdx.x == MD_BLOCK - 1) s_before = up_to;
        __syncthreads(); /* the last thread has written it, and the scan is over */
        before = s_before;
    }
    if (is_direct && threadIdx.x == 0) tell_place(a, side);
}

/* --- between two lists: their places in copy a.buffer of the positions ------------------------------------------------- */

/* parallel.transport = nccl: messages have room for more. */
constexpr bool has_rooms = MD_SW_parallel_transport == MD_TRANSPORT_NCCL;

/* Where number k of all sides is, by the first one of each side and the first place in its room. */
__device__ inline int in_room(const int32_t *first, const int32_t *room, int k) {
    int side = 0;
    while (k >= first[side + 1]) side++;
    return room[side] + k - first[side];
}

MD_KERNEL k_halo_pack(MD_ARGUMENTS) {
    const CudaDomain &domain = a.domain;
    const CudaHaloTable &table = *domain.table;
    const Vec4<Pair> *position = (const Vec4<Pair> *)a.now.position.part[0] + a.buffer * (int64_t)a.stride;
    const int n = table.out[CUDA_SIDES];
    for (int k = thread_index(); k < n; k += grid_size())
        ((Vec4<Pair> *)domain.sent)[has_rooms ? in_room(table.out, table.room_out, k) : k] = position[domain.out[k]];
    if (has_rooms && thread_index() == 0) a.status->n_places_sent += (unsigned long long)table.room_out[CUDA_SIDES];
}

#if MD_SW_parallel_transport == 2 /* nccl */
/* From the rooms of the messages to behind the own atoms, side by side. */
MD_KERNEL k_halo_unpack(MD_ARGUMENTS) {
    const CudaHaloTable &table = *a.domain.table;
    Vec4<Pair> *copies = (Vec4<Pair> *)a.now.position.part[0] + a.buffer * (int64_t)a.stride + table.n_own;
    for (int k = thread_index(); k < table.in[CUDA_SIDES]; k += grid_size())
        copies[k] = ((const Vec4<Pair> *)a.domain.rows_in)[in_room(table.in, table.room_in, k)];
}
#endif

#if MD_SW_parallel_transport == 3 /* direct */
/* Into that copy of the ranks that need them; behind a barrier all know the largest displacement of all. */
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
MD_KERNEL k_halo_barrier(MD_ARGUMENTS) {
    if (a.status->stopped) return; /* as in k_halo_push */
    __threadfence_system();        /* what kernels before have stored */
    gpu_barrier(a, 0);
}

/* The end of a list. Each rank learns where the others have its copies, and what any rank has found, so that all GPUs stop together or go
 * on together. One block. */
MD_KERNEL k_halo_end(MD_ARGUMENTS) {
    const CudaDomain &domain = a.domain;
    CudaHaloTable *table = domain.table;
    const CudaMailbox *mailbox = domain.peers->mailbox[domain.rank];
    const int side = (int)threadIdx.x, most = table->n_own + table->n_rows + domain.inbox_room;
    const CudaMeasures &found = a.status->measures;
    const bool is_held =
        a.n_force_items <= domain.held_bricks && found.rows <= domain.held_rows && found.staged <= domain.held_staged;
    const unsigned own = (table->lacks_room ? CUDA_LIST_LACKS_ROOM : 0u) | (a.status->stopped ? CUDA_LIST_FULL : 0u) |
                         (most > a.stride ? CUDA_LIST_WANTS_ROOM : 0u) |
                         (a.status->fault_step != ~0ull ? CUDA_LIST_FAULT : 0u) |
                         (is_held && found.sides_without_halo == 0 ? 0u : CUDA_LIST_NEEDS_BARRIER);
    __threadfence_system(); /* what kernels before have stored */
    const unsigned all = gpu_barrier(a, own).bits;
    if (side < CUDA_SIDES) {
        table->to[side] = *(const volatile int32_t *)&mailbox->to[side];
        table->stride_of[side] = *(const volatile int32_t *)&mailbox->stride[side];
    }
    if (threadIdx.x > 0) return;
    a.host_status->n_own = table->n_own;
    a.host_status->n_copies = table->in[CUDA_SIDES];
    a.host_status->list = all;
    table->needs_barrier = (all & CUDA_LIST_NEEDS_BARRIER) != 0;
    if (all & (CUDA_LIST_LACKS_ROOM | CUDA_LIST_FULL)) set_stop_flag(a, CUDA_STOPPED_FULL);
}

#endif
