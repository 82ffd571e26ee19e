/* Several processes, at a list: the order in which atoms of the border are sent between this list and the next, side by side, cell by
 * cell, and the atoms of a cell in their order in memory; and of each atom its copies. By the sort, which knows both. */
#ifndef MD_CUDA_BORDER_CUH
#define MD_CUDA_BORDER_CUH

#include "cuda/kernels/scan.cuh"
#include "cuda/kernels/send.cuh"

/* Border cells of all sides are numbered as the halo cells are in memory, from the first one on. */
__device__ inline int first_border_cell(const CudaDomain &domain, int side) {
    return domain.place_of_side[side] - domain.n_own[0] * domain.n_own[1] * domain.n_own[2];
}

/* parallel.transport = direct: the rank on a side is told where its atoms are among the positions of this one. */
__device__ inline void tell_place(const CudaArguments &a, int side) {
    CudaMailbox *mailbox = a.domain.peers->mailbox[a.domain.peers->rank[side]];
    *(volatile int32_t *)&mailbox->to[CUDA_SIDES - 1 - side] = a.domain.table->n_own + a.domain.table->in[side];
    *(volatile int32_t *)&mailbox->stride[CUDA_SIDES - 1 - side] = a.stride;
}

/* The first atom of each border cell among those of its side, by the counts of all cells. By all threads of a block. */
__device__ inline void sum_border(const CudaArguments &a, int side) {
    __shared__ int s_before;
    const CudaDomain &domain = a.domain;
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

/* Own atom i is number `rank` of cell c. */
__device__ inline void list_copies(const CudaArguments &a, int i, int c, int rank) {
    const CudaDomain &domain = a.domain;
    const Cell at = cell_at(a.grid, c);
    unsigned sides = sides_of_border(domain, at);
    CudaCopy copy = CUDA_NO_COPY;
    for (; sides != 0; sides &= sides - 1) {
        const int side = __ffs((int)sides) - 1;
        const int cell = first_border_cell(domain, side) + cell_in_box(border_box(domain, side), at);
        const int number = domain.out_cell[cell] + rank, k = domain.table->out[side] + number;
        domain.out[k] = i;
        if (!domain.first_copy) continue; /* the copies of an atom are not needed */
        domain.next_copy[k] = copy;
        const unsigned another = copy == CUDA_NO_COPY ? 0u : 1u;
        copy = (unsigned)side << CUDA_SIDE_SHIFT | another << CUDA_COPY_BITS | (unsigned)number;
    }
    if (domain.first_copy) domain.first_copy[i] = copy;
}

#endif
