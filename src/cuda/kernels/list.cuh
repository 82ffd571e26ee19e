/* Entries of the neighbour list, for those who write them and those who read them (neighbor.index):
 *   32  the number of the neighbour.
 *   16  where it is as seen from the row: which of the 27 cells around its own (upper 5 bits, (dz + 1) 9 + (dy + 1) 3 +
 *       dx + 1) and the place in that cell (lower 11 bits). Half the bytes of the largest array of all, for a look-up in
 *       a table of the cell, which its rows share. Particles must be in the order of cells. */
#ifndef MD_CUDA_LIST_CUH
#define MD_CUDA_LIST_CUH

#include "cuda/kernels/cells.cuh"

constexpr bool is_compressed = MD_SW_neighbor_index == MD_INDEX_16;

typedef Select<is_compressed, uint16_t, int32_t>::type Entry;

/* First entry of row i; the next ones are list.entry_stride apart. */
__device__ inline Entry *row_entries(const CudaArguments &a, int i) {
    return (Entry *)a.list.entries + i * a.list.row_stride;
}

/* What entry_atom needs to know of row i, to be fetched once a row: the first particles of the cells around. */
__device__ inline const int32_t *row_bases(const CudaArguments &a, int i) {
    if constexpr (is_compressed) return a.cell_bases + (int64_t)a.slot_cell[i] * CUDA_STENCIL;
    else return nullptr;
}

/* The particle that an entry stands for. */
__device__ inline int entry_atom(const int32_t *bases, Entry entry) {
    if constexpr (is_compressed) return bases[entry / CUDA_MAX_CROWD] + entry % CUDA_MAX_CROWD;
    else return entry;
}

/* The entry for particle j in cell `code` of the stencil, which begins with particle `begin`. */
__device__ inline Entry make_entry(int j, int code, int begin) {
    if constexpr (is_compressed) return (Entry)(code * CUDA_MAX_CROWD + ((j - begin) & (CUDA_MAX_CROWD - 1)));
    else return j;
}

#endif
