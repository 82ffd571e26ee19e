/* Stage migrate: at a list atoms are sent to the rank that owns the cell of their position, at any distance: at the first list
 * the atoms of a block of ids to their domains, later the few that have crossed a border. Arriving atoms take the slots
 * of leaving ones, then slots after the last atom; the sort removes slots that stay free (k_sort_bin).
 *
 * Ladder (parallel.transport)
 *   staged   rows of those that leave are gathered, with their destinations; the host sends them
 *   nccl     rows for each side in messages, from kernel to kernel in the stream; further away the host sends them
 *   direct   each row goes into the inbox of its new owner, at the next free row there, by an atomic across the link, as soon as the
 *            sort has wrapped the atom (sort_or_send in kernels/send.cuh); kernels here take in the received rows */
#include "cuda/kernels/gpu_barrier.cuh"
#include "cuda/kernels/scan.cuh"
#include "cuda/kernels/send.cuh"

/* Rows of atoms that leave, as far as there is room: the rest go in another round. */
/* Reads the atoms [n_slots]; writes rows, leaving, destination [n_leaving], tag [n_slots]. */
MD_KERNEL k_migrate_leave(MD_ARGUMENTS) {
    const CudaDomain &domain = a.domain;
    const int i = thread_index();
    if (i >= own_slots(a) || a.now.tag[i].id < 0) return;
    const int owner = owner_of(domain, cell_of_atom(a, i));
    if (owner == domain.rank) return;
    const int k = atomicAdd(&domain.table->n_leaving, 1);
    if (k >= domain.row_room) return;
    ((AtomRow *)domain.rows)[k] = atom_row(a, i);
    domain.leaving[k] = i;
    domain.destination[k] = owner;
    a.now.tag[i].id = -1;
}

/* Received row k; n_left slots in memory are free. */
__device__ inline void take_in(const CudaArguments &a, int k, int n_left, const AtomRow &row) {
    put_row(a, k < n_left ? a.domain.leaving[k] : own_slots(a) + k - n_left, row);
}

/* a.n rows that have come, a.in. */
/* Reads in [a.n] rows, leaving; writes the atoms [a.n]. */
MD_KERNEL k_migrate_arrive(MD_ARGUMENTS) {
    const int k = thread_index();
    if (k < a.n) take_in(a, k, min(a.domain.table->n_leaving, a.domain.row_room), ((const AtomRow *)a.in)[k]);
}

#if MD_SW_parallel_transport == MD_TRANSPORT_NCCL || MD_SW_parallel_transport == MD_TRANSPORT_DIRECT
#if MD_SW_parallel_transport == MD_TRANSPORT_DIRECT
__device__ inline int n_in_inbox(const CudaArguments &a) {
    return (int)*(volatile uint32_t *)&a.domain.peers->mailbox[a.domain.rank]->n_atoms;
}
__device__ inline int count_arrived(const CudaArguments &a) { return min(n_in_inbox(a), a.domain.inbox_room); }
__device__ inline AtomRow row_of_arrived(const CudaArguments &a, int k) {
    return ((const AtomRow *)a.domain.peers->inbox[a.domain.rank])[k];
}
#else /* nccl: rooms of all sides */
__device__ inline int arrived_from(const CudaHaloTable &table, int side) {
    return min(table.n_migrants_in[side], migrant_room(table.room_in, side));
}
__device__ inline int count_arrived(const CudaArguments &a) {
    int n = 0;
    for (int side = 0; side < CUDA_SIDES; side++) n += arrived_from(*a.domain.table, side);
    return n;
}
__device__ inline AtomRow row_of_arrived(const CudaArguments &a, int k) {
    const CudaHaloTable &table = *a.domain.table;
    int side = 0;
    for (; k >= arrived_from(table, side); side++) k -= arrived_from(table, side);
    return ((const AtomRow *)a.domain.migrants_in)[first_migrant(table.room_in, side) + k];
}
#endif

/* Atom k of n that have come, into its cell; copies of it, if it is at the border, are sent. By all lanes of a warp. */
__device__ inline void take_one(const CudaArguments &a, int k, int n) {
    const CudaHaloTable &table = *a.domain.table;
    AtomRow row = {};
    unsigned sides = 0;
    if (k < n) {
        const int i = k < table.n_leaving ? a.domain.leaving[k] : table.n_own + k - table.n_leaving;
        row = row_of_arrived(a, k);
        put_row(a, i, row, on_the_way(a));
        const Vec3<Pair> place = place_of_row(a, row);
        const Cell at = local_cell(a.domain, own_side, cell_of_place(a, place));
        count_at(a, i, cell_place(a, cell_number(a.grid, at)), n, key_at(place, row.tag.id));
        sides = sides_of_border(a.domain, at);
    }
    send_copies(a, sides, true, [&] { return row; });
}

/* The part of the table that follows from the numbers of received atoms and copies, and of sent copies. By one thread. */
__device__ inline void end_counts(const CudaArguments &a, int n_arrived, int n_sent, int n_copies, bool lacks) {
    CudaHaloTable *table = a.domain.table;
    const int n_slots = table->n_own + max(n_arrived - table->n_leaving, 0);
    table->out[0] = table->in[0] = 0;
    table->lacks_room = lacks;
    table->n_slots = n_slots;
    table->n_own += n_arrived - table->n_leaving;
    table->n_stored = table->n_own + n_copies;
    table->n_sorted = lacks ? 0 : n_slots + n_copies;
    a.status->n_migrated += (unsigned long long)table->n_leaving;
    a.status->n_rows_sent += (unsigned long long)(is_by_nccl ? table->room_out[CUDA_SIDES] : n_sent);
    table->n_leaving = 0;
}

/* Copies that go to each side, with those before it, and that come from there, for the next steps. By all threads of a block, one a
 * side, some barrier after another scan. */
__device__ inline void book_copies(const CudaArguments &a, int n_arrived, int n_sent, int n_in, bool lacks) {
    CudaHaloTable *table = a.domain.table;
    const int side = (int)threadIdx.x, n_copies = block_scan(lacks ? 0 : n_in);
    if (lacks) n_sent = 0;
    if (side >= CUDA_SIDES) return;
    table->out[side + 1] = n_sent;
    table->in[side + 1] = n_copies;
    table->n_border[side] = 0; /* for the next list */
    if (side == CUDA_SIDES - 1) end_counts(a, n_arrived, n_sent, n_copies, lacks);
}

__device__ inline bool has_side(const CudaDomain &domain, int side) {
    return side < CUDA_SIDES && (domain.sides >> side & 1u) != 0;
}

#if MD_SW_parallel_transport == MD_TRANSPORT_DIRECT
/* When this GPU has sent all copies: each rank is told how many come to it, and all whether any lacks room; then nothing is sorted. By
 * all threads of a block, one a side. */
__device__ inline void tell_counts(const CudaArguments &a, int n_arrived) {
    const CudaDomain &domain = a.domain;
    const CudaHaloTable &table = *domain.table;
    CudaMailbox *mailbox = domain.peers->mailbox[domain.rank];
    const int side = (int)threadIdx.x;
    const bool is_side = has_side(domain, side);
    const int n_border = is_side ? *(const volatile int32_t *)&table.n_border[side] : 0;
    if (is_side)
        *(volatile int32_t *)&domain.peers->mailbox[domain.peers->rank[side]]->n_copies[CUDA_SIDES - 1 - side] =
            n_border;
    const int n_sent = block_scan(n_border);
    bool lacks =
        n_in_inbox(a) > domain.inbox_room || n_sent > domain.row_room || (is_side && n_border > table.row_most[side]);
    __threadfence_system(); /* the stores of this and earlier kernels */
    lacks = __syncthreads_or(lacks);
    if (threadIdx.x == 0) mailbox->n_atoms = 0; /* the next ones come after another barrier */
    lacks = gpu_barrier(a, lacks).bits != 0;
    book_copies(a, n_arrived, n_sent, is_side ? *(const volatile int32_t *)&mailbox->n_copies[side] : 0, lacks);
}
#endif

/* Takes in the atoms that have come, and sends their copies: with nccl in the next messages. */
/* Reads the received rows, leaving; writes these atoms, place, cell_count, rows of copies. */
MD_KERNEL k_migrate_take(MD_ARGUMENTS) {
    const int n_arrived = count_arrived(a);
    take_one(a, thread_index(), n_arrived);
#if MD_SW_parallel_transport == MD_TRANSPORT_DIRECT
    if (is_last_block(a)) tell_counts(a, n_arrived); /* all have taken theirs, and know how many have come */
#endif
}

#if MD_SW_parallel_transport == MD_TRANSPORT_NCCL
/* When the copies have come. Where this rank lacks room, it sorts nothing; the others learn it at the end of the list. One block, a
 * thread for each side. */
/* Reads table.n_border, n_copies_in, n_migrants_in [sides]; writes table.out, in [sides + 1], n_own, n_stored. */
MD_KERNEL k_migrate_count(MD_ARGUMENTS) {
    CudaHaloTable *table = a.domain.table;
    const int side = (int)threadIdx.x, n_arrived = count_arrived(a);
    const bool is_side = has_side(a.domain, side);
    const int n_out = is_side ? table->n_border[side] : 0, n_in = is_side ? table->n_copies_in[side] : 0;
    const bool lacks = is_side && (n_out > room_of(table->room_out, side) || n_in > room_of(table->room_in, side) ||
                                   table->n_migrants[side] > migrant_room(table->room_out, side) ||
                                   table->n_migrants_in[side] > migrant_room(table->room_in, side));
    const int n_sent = block_scan(n_out);
    const bool any_lacks = __syncthreads_or(lacks || table->lacks_room != 0);
    if (is_side) table->n_migrants[side] = 0; /* for the next list */
    book_copies(a, n_arrived, n_sent, n_in, any_lacks);
}
#endif
#endif
