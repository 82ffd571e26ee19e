/* Stage observe: histograms of the distances of pairs (system/pair_count.h), of positions as they are.
 *
 * Ladder
 *   list       a visitor of the force kernels: no search, but each pair from both sides, no distance beyond the cutoff, and nothing
 *              for kernels without a list
 *   cells      cells of their own, filled anew from positions as they are: any distance, for all force kernels and ranks
 *   lines      a pair meets once, in one half of the cells around; three cells side by side along x are one run in memory, so that the
 *              loop is long, and threads of a warp, which are neighbours, read the same atoms at the same time
 *
 * Ladder of the histogram
 *   global     an atomic addition to global memory a pair: millions a sample to 200 numbers
 *   shared     privatization: each block has a histogram in shared memory, and adds it to the global one at its end
 *   copies     and this in several copies, threads of a warp in turns: those that meet the same bin, as all do in a crystal, add to
 *              different words, in different banks
 * Counts are whole numbers, so they have no order. A distance is found by coordinates measured from a corner near the pair, in the
 * precision of pairs, with all bits of the positions; it has the same bits on any number of ranks. No atom has copies on two sides of a
 * domain: domains are of whole cells, even in number along an axis, and two of them have four at least (parallel/domain.h). */
#ifndef MD_CUDA_COUNT_PAIRS_CUH
#define MD_CUDA_COUNT_PAIRS_CUH

#include "cuda/kernels/stale.cuh"
#include "physics/pair_cells.h"

constexpr int n_counts = MD_RDF_KINDS * MD_RDF_BINS;
constexpr int count_copies = n_counts <= 512 ? 8 : n_counts <= 1024 ? 4 : n_counts <= 2048 ? 2 : 1;
constexpr int segment = 16; /* cells along x that coordinates are measured from the same corner in */
/* Square roots are approximate where they are of pairs: the name of the switch sets flags of the unit. */
static_assert(!(is_double && MD_SW_force_arithmetic == MD_ARITHMETIC_FAST),
              "the approximations are of single precision");

/* Fourth component of an atom in the order of cells: its type, and whether it is an own one. */
constexpr unsigned own_bit = most_types;

__device__ inline int line_of(const MdPairCells &cells, int y, int z) { return (z * cells.n[1] + y) * cells.n[0]; }

__device__ inline int wrapped(int cell, int n) { return cell < 0 ? cell + n : cell >= n ? cell - n : cell; }

/* The cell of atom i; its coordinates from the corner of the cell, along x from that of its segment. */
__device__ inline int find_cell(const CudaArguments &a, int64_t i, Vec3<Pair> *place) {
    const MdPairCells &cells = a.pair_count.cells;
    const Vec3<State> x = load_position(a.now, i);
    double rest[3];
    const int cx = md_pair_cell(&cells, 0, (double)x.x, &rest[0]), cy = md_pair_cell(&cells, 1, (double)x.y, &rest[1]),
              cz = MD_DIMENSION == 3 ? md_pair_cell(&cells, 2, (double)x.z, &rest[2]) : 0;
    *place = Vec3<Pair>{(Pair)(rest[0] + cx % segment * cells.edge[0]), (Pair)rest[1],
                        MD_DIMENSION == 3 ? (Pair)rest[2] : Pair(0)};
    return line_of(cells, cy, cz) + cx;
}

/* Reads position [n_stored]; writes pair_count.cursor [cells], which was zero: atoms of each cell. */
MD_KERNEL k_observe_pair_cells(MD_ARGUMENTS) {
    if (comes_again(a)) return;
    Vec3<Pair> place;
    for (int64_t i = thread_index(); i < stored_atoms(a); i += grid_size())
        atomicAdd(&a.pair_count.cursor[find_cell(a, i, &place)], 1);
}

/* Where the atoms of each cell begin: a warp takes a line of cells along x, which stand side by side. Lines come in any order: the last
 * number of `begin`, which was zero, says how many atoms have a place. */
/* Reads pair_count.cursor [cells]; writes pair_count.begin, .cursor [cells]. */
MD_KERNEL k_observe_pair_lines(MD_ARGUMENTS) {
    const MdPairCells &cells = a.pair_count.cells;
    const int lane = (int)threadIdx.x % 32, line = thread_index() / 32;
    int total = 0, first = 0;
    if (comes_again(a) || line >= cells.n[1] * cells.n[2]) return; /* the whole warp */
    int *counts = a.pair_count.cursor + line * cells.n[0], *begin = a.pair_count.begin + line * cells.n[0];
    for (int k = lane; k < cells.n[0]; k += 32) total += counts[k];
    for (int distance = 16; distance > 0; distance /= 2) total += __shfl_xor_sync(whole_warp, total, distance);
    if (lane == 0) first = atomicAdd(&a.pair_count.begin[cells.n[0] * cells.n[1] * cells.n[2]], total);
    first = __shfl_sync(whole_warp, first, 0);
    for (int chunk = 0; chunk < cells.n[0]; chunk += 32) {
        const int k = chunk + lane, own = k < cells.n[0] ? counts[k] : 0;
        int up_to = own;
        for (int distance = 1; distance < 32; distance *= 2) {
            const int below = __shfl_up_sync(whole_warp, up_to, (unsigned)distance);
            if (lane >= distance) up_to += below;
        }
        if (k < cells.n[0]) begin[k] = counts[k] = first + up_to - own;
        first += __shfl_sync(whole_warp, up_to, 31);
    }
}

/* Reads position, type [n_stored]; writes pair_count.atoms, .cell_of [n_stored], .cursor [cells]: where the atoms of a cell end. */
MD_KERNEL k_observe_pair_atoms(MD_ARGUMENTS) {
    if (comes_again(a)) return;
    for (int64_t i = thread_index(); i < stored_atoms(a); i += grid_size()) {
        Vec3<Pair> place;
        const int cell = find_cell(a, i, &place), slot = atomicAdd(&a.pair_count.cursor[cell], 1);
        const unsigned word = (unsigned)load_type(a.now, i) + (i < own_atoms(a) ? own_bit : 0);
        ((Vec4<Pair> *)a.pair_count.atoms)[slot] = Vec4<Pair>{place.x, place.y, place.z, word_bits(word)};
        a.pair_count.cell_of[slot] = cell;
    }
}

/* The block's histogram: [n_counts][count_copies]. */
struct PairCounts {
    unsigned *counts;
    Pair per_width, range_sq;

    /* An atom at x with one that is at other. A pair with a copy stands in the histogram of another rank as well, and counts once in
     * each. Not an if for the distance alone: the root is found for all, and an addition is skipped. */
    __device__ void visit(const Vec3<Pair> &x, unsigned word, const Vec4<Pair> &other) const {
        const Pair dx = x.x - other.x, dy = x.y - other.y, dz = MD_DIMENSION == 3 ? x.z - other.z : Pair(0);
        const Pair r_sq = dx * dx + dy * dy + dz * dz;
        const unsigned bin = (unsigned)(int)(sqrt(r_sq) * per_width), word_of_other = word_of(other.w);
        const unsigned weight = has_domain ? (word / own_bit) + (word_of_other / own_bit) : 2;
        const int kind =
            MD_RDF_KINDS == 1 ? 0 : md_pair_kind((int)(word % own_bit), (int)(word_of_other % own_bit), MD_N_TYPES);
        if (r_sq < range_sq && bin < MD_RDF_BINS && weight > 0)
            atomicAdd(&counts[(kind * MD_RDF_BINS + (int)bin) * count_copies + (int)threadIdx.x % count_copies],
                      weight);
    }
};

/* The atom in slot s with those after it: the rest of its line, and the lines after that. */
__device__ inline void count_partners(const CudaArguments &a, int s, const PairCounts &counts) {
    const MdPairCells &cells = a.pair_count.cells;
    const Vec4<Pair> *atoms = (const Vec4<Pair> *)a.pair_count.atoms;
    const Vec4<Pair> own = atoms[s];
    const int cell = a.pair_count.cell_of[s], nx = cells.n[0], x = cell % nx, y = cell / nx % cells.n[1],
              z = cell / nx / cells.n[1];
    const Pair edge_x = (Pair)cells.edge[0], edge_y = (Pair)cells.edge[1], edge_z = (Pair)cells.edge[2];
    constexpr int n_lines = MD_DIMENSION == 3 ? 5 : 2;
    for (int k = 0; k < n_lines; k++) { /* steps of y and z: 0 0, 1 0, -1 1, 0 1, 1 1 */
        const int dy = k < 2 ? k : k - 3, dz = k < 2 ? 0 : 1;
        const int line = line_of(cells, wrapped(y + dy, cells.n[1]), wrapped(z + dz, cells.n[2]));
        Vec3<Pair> from = {own.x, own.y - dy * edge_y, own.z - dz * edge_z};
        for (int u = k == 0 ? x : x - 1; u <= x + 1;) { /* in pieces within a segment, and a box */
            const int first = wrapped(u, nx), corner = first - first % segment,
                      last = min(min(first + x + 1 - u, corner + segment - 1), nx - 1);
            from.x = own.x + (Pair)(x - x % segment - (u - first + corner)) * edge_x;
            const int end = a.pair_count.cursor[line + last];
#pragma unroll 4
            for (int j = k == 0 && u == x ? s + 1 : a.pair_count.begin[line + first]; j < end; j++)
                counts.visit(from, word_of(own.w), atoms[j]);
            u += last - first + 1;
        }
    }
}

/* Reads pair_count.atoms, .cell_of [n_stored], .begin, .cursor [cells]; writes pair_count.counts [row]. */
MD_KERNEL k_observe_pairs(MD_ARGUMENTS) {
    __shared__ unsigned s_counts[n_counts * count_copies];
    if (comes_again(a)) return;
    const PairCounts counts = {s_counts, (Pair)(MD_RDF_BINS / a.pair_count.range),
                               (Pair)(a.pair_count.range * a.pair_count.range * (1 + 1e-6))};
    for (int k = (int)threadIdx.x; k < n_counts * count_copies; k += MD_BLOCK) s_counts[k] = 0;
    __syncthreads(); /* it is zero */
    for (int s = thread_index(); s < stored_atoms(a); s += grid_size()) count_partners(a, s, counts);
    __syncthreads(); /* all pairs of the block are counted */
    for (int k = (int)threadIdx.x; k < n_counts; k += MD_BLOCK) {
        unsigned long long sum = 0;
        for (int copy = 0; copy < count_copies; copy++) sum += s_counts[k * count_copies + copy];
        if (sum > 0) atomicAdd(&a.pair_count.counts[(int64_t)a.count_row * n_counts + k], sum);
    }
}

#endif
