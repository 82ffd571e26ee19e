/* Several processes, at a list: the order in which atoms of the border are sent between this list and the next, side by side, cell by
 * cell, and the atoms of a cell in their order in memory; and of each atom its copies. By the sort, which knows both. */
#ifndef MD_CUDA_BORDER_CUH
#define MD_CUDA_BORDER_CUH

#include "cuda/kernels/send.cuh"

/* Border cells of all sides are numbered as the halo cells are in memory, from the first one on. */
__device__ inline int first_border_cell(const CudaDomain &domain, int side) {
    return domain.place_of_side[side] - domain.n_own[0] * domain.n_own[1] * domain.n_own[2];
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
        if (!domain.first_copy) continue; /* nobody asks for the copies of an atom */
        domain.next_copy[k] = copy;
        const unsigned another = copy == CUDA_NO_COPY ? 0u : 1u;
        copy = (unsigned)side << CUDA_SIDE_SHIFT | another << CUDA_COPY_BITS | (unsigned)number;
    }
    if (domain.first_copy) domain.first_copy[i] = copy;
}

#endif
