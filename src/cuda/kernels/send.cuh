/* Several processes: atoms and copies of atoms into the memory of other ranks (parallel.transport = direct), or to where the host takes
 * them from. */
#ifndef MD_CUDA_SEND_CUH
#define MD_CUDA_SEND_CUH

#include "cuda/kernels/count_in_cell.cuh"
#include "cuda/kernels/domain.cuh"

/* parallel.transport: what others need is stored in their memory. */
constexpr bool is_direct = MD_SW_parallel_transport == MD_TRANSPORT_DIRECT;

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

/* By all lanes of a warp, each with an atom and the sides that get a copy of it. Counts the copies of each side; `writes`: stores
 * row_of() there, as far as there is room. One atomic a side takes the places of the whole warp. */
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
        if (!is_direct) ((AtomRow *)domain.rows)[table.out[side] + k] = row_of();
        else if (k < table.row_most[side]) ((AtomRow *)domain.peers->rows[side])[table.row_to[side] + k] = row_of();
    }
}

#if MD_SW_parallel_transport == 3 /* direct */
/* Atom i into the inbox of its new owner, at the next free place there. If the inbox is full the atom stays: the owner tells all ranks,
 * and the hosts send what is left. */
__device__ inline void send_home(const CudaArguments &a, int owner, int i, const AtomRow &row) {
    const CudaDomain &domain = a.domain;
    const unsigned k = atomicAdd_system(&domain.peers->mailbox[owner]->n_atoms, 1u);
    if (k >= (unsigned)domain.inbox_room) return;
    ((AtomRow *)domain.peers->inbox[owner])[k] = row;
    domain.leaving[atomicAdd(&domain.table->n_leaving, 1)] = i;
    a.now.tag[i].id = -1;
}

/* By one of the first n threads: counts own atom i in its cell, of n_cells; or sends it to its new owner, and counts it behind all cells.
 * Its position is the one on the way. Returns the sides that get a copy of it. */
__device__ inline unsigned sort_or_send(const CudaArguments &a, int i, const Cell &cell, int n, int n_cells,
                                        SlotKey key) {
    const CudaDomain &domain = a.domain;
    const int owner = owner_of(domain, cell);
    const Cell at = local_cell(domain, own_side, cell);
    count_at(a, i, owner == domain.rank ? cell_place(a, cell_number(a.grid, at)) : n_cells, n, key);
    if (owner == domain.rank) return sides_of_border(domain, at);
    send_home(a, owner, i, atom_row(a, i, on_the_way(a)));
    return 0;
}
#endif

#endif
