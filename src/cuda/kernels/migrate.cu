/* Stage migrate: at a list atoms go to the rank that owns the cell of their place, as far away as it may be: at the first list
 * those of a block of ids to wherever they start, later the few that have crossed a border. What comes takes the places in memory
 * of what has left, then those behind the last atom; places that stay free are sorted out (k_sort_bin).
 *
 * Ladder (parallel.transport)
 *   staged   rows of those that leave are gathered, with their destinations; the host sends them
 *   direct   each row goes into the inbox of its new owner, at the next free place there, by an atomic across the link, as soon as the
 *            sort has wrapped the atom (sort_or_send in kernels/send.cuh); kernels here take in what has come */
#include "cuda/kernels/gpu_barrier.cuh"
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
/* When all have sent theirs: how many have come. One block. */
MD_KERNEL k_migrate_count(MD_ARGUMENTS) {
    CudaHaloTable *table = a.domain.table;
    __threadfence_system(); /* what kernels before have stored */
    gpu_barrier(a, 0);
    if (threadIdx.x != 0) return;
    CudaMailbox *mailbox = a.domain.peers->mailbox[a.domain.rank];
    const int n = (int)*(volatile uint32_t *)&mailbox->n_atoms, room = a.domain.inbox_room;
    mailbox->n_atoms = 0; /* the next ones come behind another barrier */
    table->n_arrived = min(n, room);
    table->n_slots = table->n_own + max(table->n_arrived - table->n_leaving, 0);
    table->lacks_room = n > room;
}

/* Those that have come, into their cells; and copies of those at the border are sent. */
MD_KERNEL k_migrate_take(MD_ARGUMENTS) {
    const CudaHaloTable &table = *a.domain.table;
    const int k = thread_index();
    AtomRow row = {};
    unsigned sides = 0;
    if (k < table.n_arrived) {
        const int i = k < table.n_leaving ? a.domain.leaving[k] : table.n_own + k - table.n_leaving;
        row = ((const AtomRow *)a.domain.peers->inbox[a.domain.rank])[k];
        put_row(a, i, row, on_the_way(a));
        const Cell at = local_cell(a.domain, own_side, cell_of_row(a, row));
        count_at(a, i, cell_place(a, cell_number(a.grid, at)), table.n_arrived);
        sides = sides_of_border(a.domain, at);
    }
    send_copies(a, sides, true, [&] { return row; });
}
#endif
