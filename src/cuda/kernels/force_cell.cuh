/* Force kernel of cells: the atoms of a cell with those of the cells around it, without a list.
 *
 * cell: a warp a cell, a lane an atom. The atoms of the cells around come through shared memory, 32 at a time, one a
 * lane: each is read once a cell, not once an atom. About one distance in nine is inside the cutoff, against three in
 * four of a list, and lanes beyond the population of a cell idle; but a rebuild costs a sort and nothing more. Cells are those
 * of the last rebuild, whose edges leave room for the skin. Particles must be in the order of cells. */
#ifndef MD_CUDA_FORCE_CELL_CUH
#define MD_CUDA_FORCE_CELL_CUH

#include "cuda/kernels/cells.cuh"
#include "cuda/kernels/pair.cuh"

/* The atoms of slots begin to before end with atom i of this lane (counts: there is one). stage: of this warp. */
template <class Visitor>
__device__ inline void add_cell(const CudaArguments &a, const PairParameters *row, const Atom &own, int i, bool counts,
                                int begin, int end, Atom *stage, typename Visitor::Row *sum, Visitor &visitor) {
    const int lane = (int)threadIdx.x % 32;
    for (int first = begin; first < end; first += 32) {
        __syncwarp(); /* the atoms before have been read by all lanes */
        if (first + lane < end) stage[lane] = fetch_atom(a.now, first + lane);
        __syncwarp(); /* these are there */
        const int size = min(32, end - first);
#pragma unroll unroll
        for (int k = 0; k < size; k++)
            add_pair(a, row, own.v, stage[k], first + k, counts && first + k != i, sum, visitor);
    }
}

/* Block `block` of MD_BLOCK / 32 cells. */
template <class Visitor>
__device__ inline void force_block_cell(const CudaArguments &a, const PairParameters *pairs, int block,
                                        Visitor &visitor) {
    MD_DYNAMIC_SHARED(Atom, s_atoms); /* [MD_BLOCK] */
    const CudaGrid &grid = a.grid;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, c = block * (MD_BLOCK / 32) + warp;
    if (c >= grid.n[0] * grid.n[1] * grid.n[2]) return; /* the whole warp */
    const int begin = cell_begin(a, c), end = cell_end(a, c);
    for (int first = begin; first < end; first += 32) {
        const int i = first + lane;
        const Atom own = fetch_atom(a.now, min(i, end - 1));
        typename Visitor::Row sum = {};
        for_cells_around(grid, c, [&](int other) {
            add_cell(a, &pairs[own.type * MD_N_TYPES], own, i, i < end, cell_begin(a, other), cell_end(a, other),
                     s_atoms + 32 * warp, &sum, visitor);
        });
        if (i < end) visitor.finish(i, visitor.whole(pairs, sum));
    }
}

#endif
