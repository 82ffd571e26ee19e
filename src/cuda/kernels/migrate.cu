/* Stage migrate: at a list atoms go to the rank that owns the cell of their place, as far away as it may be: at the first list
 * those of a block of ids to wherever they start, later the few that have crossed a border. What comes takes the places in memory
 * of what has left, then those behind the last atom; places that stay free are sorted out (k_sort_bin).
 *
 * Ladder (parallel.transport)
 *   staged   rows of those that leave are gathered, with their destinations; the host sends them
 *   direct   each row goes into the inbox of its new owner, at the next free place there, by an atomic across the link, as soon as the
 *            sort has wrapped the atom (sort_or_send in kernels/send.cuh); kernels here take in what has come */
#include "cuda/kernels/gpu_barrier.cuh"
#include "cuda/kernels/scan.cuh"
#include "cuda/kernels/send.cuh"

/* Rows of atoms that leave, as far as there is room: the rest go in another round. */
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

/* Row k of those that have come, of n_left places in memory that are free. */
__device__ inline void take_in(const CudaArguments &a, int k, int n_left, const AtomRow &row) {
    put_row(a, k < n_left ? a.domain.leaving[k] : own_slots(a) + k - n_left, row);
}

/* a.n rows that have come, a.in. */
MD_KERNEL k_migrate_arrive(MD_ARGUMENTS) {
    const int k = thread_index();
    if (k < a.n) take_in(a, k, min(a.domain.table->n_leaving, a.domain.row_room), ((const AtomRow *)a.in)[k]);
}

#if MD_SW_parallel_transport == 3 /* direct */
/* Those that have come, into their cells; copies of those at the border are sent. By all threads of a block. */
__device__ inline void take_all(const CudaArguments &a, int n_arrived) {
    const CudaHaloTable &table = *a.domain.table;
    for (int first = 0; first < n_arrived; first += MD_BLOCK) {
        const int k = first + (int)threadIdx.x;
        AtomRow row = {};
        unsigned sides = 0;
        if (k < n_arrived) {
            const int i = k < table.n_leaving ? a.domain.leaving[k] : table.n_own + k - table.n_leaving;
            row = ((const AtomRow *)a.domain.peers->inbox[a.domain.rank])[k];
            put_row(a, i, row, on_the_way(a));
            const Vec3<Pair> place = place_of_row(a, row);
            const Cell at = local_cell(a.domain, own_side, cell_of_place(a, place));
            count_at(a, i, cell_place(a, cell_number(a.grid, at)), n_arrived - first, key_at(place, row.tag.id));
            sides = sides_of_border(a.domain, at);
        }
        send_copies(a, sides, true, [&] { return row; });
    }
}

/* What of the table follows from how many atoms and copies have come, and how many copies were sent. By one thread. */
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
    a.status->n_rows_sent += (unsigned long long)n_sent;
    table->n_leaving = 0;
}

/* When all have sent theirs: takes in the atoms that have come. Then each rank is told how many copies come to it, and all whether any
 * lacks room: then nothing is sorted. One block, as few atoms come; a thread for each side. */
MD_KERNEL k_migrate_take(MD_ARGUMENTS) {
    const CudaDomain &domain = a.domain;
    const int side = (int)threadIdx.x;
    const bool has_side = side < CUDA_SIDES && (domain.sides >> side & 1u) != 0;
    CudaHaloTable *table = domain.table;
    CudaMailbox *mailbox = domain.peers->mailbox[domain.rank];
    __threadfence_system(); /* what kernels before have stored */
    gpu_barrier(a, 0);
    const int n = (int)*(volatile uint32_t *)&mailbox->n_atoms, n_arrived = min(n, domain.inbox_room);
    take_all(a, n_arrived);
    __syncthreads(); /* all copies are counted, and all threads know how many atoms have come */
    if (threadIdx.x == 0) mailbox->n_atoms = 0; /* the next ones come behind another barrier */
    const int n_border = has_side ? *(const volatile int32_t *)&table->n_border[side] : 0;
    if (has_side)
        *(volatile int32_t *)&domain.peers->mailbox[domain.peers->rank[side]]->n_copies[CUDA_SIDES - 1 - side] =
            n_border;
    int n_sent = block_scan(n_border);
    bool lacks = n > domain.inbox_room || n_sent > domain.row_room || (has_side && n_border > table->row_most[side]);
    __threadfence_system(); /* what this and kernels before have stored */
    lacks = __syncthreads_or(lacks);
    lacks = gpu_barrier(a, lacks).bits != 0;
    const int n_copies = block_scan(has_side && !lacks ? *(const volatile int32_t *)&mailbox->n_copies[side] : 0);
    if (lacks) n_sent = 0;
    if (side >= CUDA_SIDES) return;
    table->out[side + 1] = n_sent;
    table->in[side + 1] = n_copies;
    table->n_border[side] = 0; /* for the next list */
    if (side == CUDA_SIDES - 1) end_counts(a, n_arrived, n_sent, n_copies, lacks);
}
#endif
