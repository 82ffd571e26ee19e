/* Several processes: atoms and copies of atoms into the memory of other ranks (parallel.transport = direct), or to where NCCL or the host
 * takes them from. */
#ifndef MD_CUDA_SEND_CUH
#define MD_CUDA_SEND_CUH

#include "cuda/kernels/count_in_cell.cuh"
#include "cuda/kernels/domain.cuh"

/* parallel.transport: data for other ranks are stored in their memory, or sent by NCCL, in messages with room for each side. */
constexpr bool is_direct = MD_SW_parallel_transport == MD_TRANSPORT_DIRECT;
constexpr bool is_by_nccl = MD_SW_parallel_transport == MD_TRANSPORT_NCCL;
constexpr bool lists_by_kernels = is_direct || is_by_nccl;

/* The sides on which others have copies of the atoms of an own cell, a bit each. */
__device__ inline unsigned sides_of_border(const CudaDomain &domain, const Cell &at) {
    const int c[3] = {at.x, at.y, at.z};
    unsigned along[3], sides = 0; /* a bit each for -1, 0 and 1 */
    for (int axis = 0; axis < 3; axis++) {
        const int halo = domain.halo[axis], own = c[axis] - halo;
        along[axis] = 2u | (own < halo ? 1u : 0u) | (own >= domain.n_own[axis] - halo ? 4u : 0u);
    }
    if ((along[0] | along[1] | along[2]) == 2u) return 0;
    for (int side = 0; side < CUDA_SIDES; side++)
        if ((along[0] >> side % 3 & along[1] >> side / 3 % 3 & along[2] >> side / 9 & 1u) != 0) sides |= 1u << side;
    return sides & domain.sides;
}

/* Entries of a side, by the first one of each. */
__device__ inline int room_of(const int32_t *first, int side) { return first[side + 1] - first[side]; }

/* By all lanes of a warp, each with an atom and the sides that get a copy of it. Counts the copies of each side; `writes`: stores
 * row_of() there, as far as there is room. One atomic a side reserves entries for the whole warp. */
template <class RowOf>
__device__ inline void send_copies(const CudaArguments &a, unsigned sides, bool writes, RowOf row_of) {
    const CudaDomain &domain = a.domain;
    const CudaHaloTable &table = *domain.table;
    const int lane = (int)threadIdx.x % 32;
    while (__any_sync(whole_warp, sides != 0)) {
        const int first = __ffs((int)__ballot_sync(whole_warp, sides != 0)) - 1;
        const int side = __shfl_sync(whole_warp, __ffs((int)sides) - 1, first);
        const bool is_sent = (sides >> side & 1u) != 0;
        const unsigned sent = __ballot_sync(whole_warp, is_sent);
        int k = lane == first ? atomicAdd(&domain.table->n_border[side], __popc(sent)) : 0;
        k = __shfl_sync(whole_warp, k, first) + __popc(sent & ((1u << lane) - 1));
        sides &= ~(1u << side);
        if (!is_sent || !writes) continue;
        if (is_direct) {
            if (k < table.row_most[side]) ((AtomRow *)domain.peers->rows[side])[table.row_to[side] + k] = row_of();
        } else if (!is_by_nccl || k < room_of(table.room_out, side)) {
            ((AtomRow *)domain.rows)[(is_by_nccl ? table.room_out : table.out)[side] + k] = row_of();
        }
    }
}

#if MD_SW_parallel_transport == MD_TRANSPORT_DIRECT
/* Into the inbox of the rank that owns the cell, at the next free row there. */
__device__ inline bool put_into_inbox(const CudaArguments &a, const Cell &cell, const AtomRow &row) {
    const CudaPeers &peers = *a.domain.peers;
    const int owner = owner_of(a.domain, cell);
    const unsigned k = atomicAdd_system(&peers.mailbox[owner]->n_atoms, 1u);
    if (k < (unsigned)a.domain.inbox_room) ((AtomRow *)peers.inbox[owner])[k] = row;
    return k < (unsigned)a.domain.inbox_room; /* else the owner tells all ranks */
}
#elif MD_SW_parallel_transport == MD_TRANSPORT_NCCL
/* Where those begin that leave to a side, or come from there, by the rooms for copies; and the room for them. */
__device__ inline int first_migrant(const int32_t *first, int side) {
    return first[side] / CUDA_ROOM_UNIT + CUDA_LEAST_MIGRANTS * side;
}
__device__ inline int migrant_room(const int32_t *first, int side) {
    return room_of(first, side) / CUDA_ROOM_UNIT + CUDA_LEAST_MIGRANTS;
}

/* The side on which the owner of a cell is, from one of another rank; -1: on none. */
__device__ inline int side_of_owner(const CudaDomain &domain, const Cell &cell) {
    const int c[3] = {cell.x, cell.y, cell.z};
    int side = 0;
    for (int axis = 2; axis >= 0; axis--) {
        const int n = domain.grid[axis], own = (domain.first[axis] + domain.halo[axis]) / domain.n_own[axis],
                  steps = c[axis] / domain.n_own[axis] - own;
        const bool is_next = steps == 1 || steps == 1 - n, is_last = steps == -1 || steps == n - 1;
        if (steps != 0 && !is_next && !is_last) return -1;
        side = 3 * side + (steps == 0 ? 1 : steps == -1 || !is_next ? 0 : 2);
    }
    return (domain.sides >> side & 1u) != 0 ? side : -1;
}

/* Among the atoms that leave to that side. */
__device__ inline bool put_into_message(const CudaArguments &a, const Cell &cell, const AtomRow &row) {
    CudaHaloTable *table = a.domain.table;
    const int side = side_of_owner(a.domain, cell),
              k = side < 0 ? 0
                           : atomicAdd(&table->n_migrants[side], 1); /* k_migrate_count looks whether there is room */
    if (side < 0) table->lacks_room = 1;
    if (side < 0 || k >= migrant_room(table->room_out, side)) return false;
    ((AtomRow *)a.domain.migrants)[first_migrant(table->room_out, side) + k] = row;
    return true;
}
#endif

#if MD_SW_parallel_transport == MD_TRANSPORT_NCCL || MD_SW_parallel_transport == MD_TRANSPORT_DIRECT
/* Sends atom i to its new owner. If there is no room, it stays: all ranks learn it, and the hosts send the rest. */
__device__ inline void send_to_owner(const CudaArguments &a, const Cell &cell, int i, const AtomRow &row) {
#if MD_SW_parallel_transport == MD_TRANSPORT_DIRECT
    if (!put_into_inbox(a, cell, row)) return;
#else
    if (!put_into_message(a, cell, row)) return;
#endif
    a.domain.leaving[atomicAdd(&a.domain.table->n_leaving, 1)] = i;
    a.now.tag[i].id = -1;
}

/* By one of the first n threads: counts own atom i in its cell, of n_cells; or sends it to its new owner, and counts it after all cells.
 * Its position is the one on the way. Returns the sides that get a copy of it. */
__device__ inline unsigned sort_or_send(const CudaArguments &a, int i, const Cell &cell, int n, int n_cells,
                                        SlotKey key) {
    const CudaDomain &domain = a.domain;
    const Cell at = cell_within(domain, cell);
    const bool is_own = is_own_cell(domain, at);
    count_at(a, i, is_own ? cell_place(a, cell_number(a.grid, at)) : n_cells, n, key);
    if (is_own) return sides_of_border(domain, at);
    send_to_owner(a, cell, i, atom_row(a, i, on_the_way(a)));
    return 0;
}
#endif

#endif
