/* The cells of a domain and of its halo, in local numbers (CudaDomain in context/shared.h). A side is a number from 0 to 26, x
 * fastest, of -1, 0 or 1 along each axis (parallel/domain.h). */
#ifndef MD_CUDA_DOMAIN_CUH
#define MD_CUDA_DOMAIN_CUH

#include "cuda/kernels/ahead.cuh"
#include "cuda/kernels/columns.cuh"

constexpr int own_side = CUDA_SIDES / 2;

__device__ inline int side_along(int side, int axis) {
    return (axis == 0 ? side : axis == 1 ? side / 3 : side / 9) % 3 - 1;
}

/* Of a word of CudaDomain.first_copy. */
__device__ inline int side_of_copy(CudaCopy copy) { return (int)(copy >> CUDA_SIDE_SHIFT); }
__device__ inline int number_of_copy(CudaCopy copy) { return (int)(copy & ((1u << CUDA_COPY_BITS) - 1)); }
__device__ inline bool has_another(CudaCopy copy) { return (copy >> CUDA_COPY_BITS & 1u) != 0; }

/* A box of cells, row by row, x fastest. */
struct CellBox {
    int low[3], size[3];
};

/* The cells of the halo on a side; the own cells, on none. */
__device__ inline CellBox halo_box(const CudaDomain &domain, int side) {
    CellBox box;
    for (int axis = 0; axis < 3; axis++) {
        const int at = side_along(side, axis), n = domain.n_own[axis], halo = domain.halo[axis];
        box.low[axis] = at < 0 ? 0 : at == 0 ? halo : halo + n;
        box.size[axis] = at == 0 ? n : halo;
    }
    return box;
}

/* The own cells of which the rank on a side has copies: as many, in the same order, as in its halo on the opposite side. */
__device__ inline CellBox border_box(const CudaDomain &domain, int side) {
    CellBox box = halo_box(domain, side);
    for (int axis = 0; axis < 3; axis++) box.low[axis] -= side_along(side, axis) * domain.halo[axis];
    return box;
}

__device__ inline int cell_in_box(const CellBox &box, const Cell &at) {
    return ((at.z - box.low[2]) * box.size[1] + at.y - box.low[1]) * box.size[0] + at.x - box.low[0];
}

__device__ inline Cell cell_of_box(const CellBox &box, int k) {
    const int line = k / box.size[0];
    return Cell{box.low[0] + k - line * box.size[0], box.low[1] + line % box.size[1], box.low[2] + line / box.size[1]};
}

__device__ inline int side_of_local(const CudaDomain &domain, const Cell &at) {
    const int c[3] = {at.x, at.y, at.z};
    int side = 0;
    for (int axis = 2; axis >= 0; axis--) {
        const int own = c[axis] - domain.halo[axis];
        side = 3 * side + (own < 0 ? 0 : own < domain.n_own[axis] ? 1 : 2);
    }
    return side;
}

/* Local number along an axis of a cell of the whole box, which is on that side: a halo is one cell thick. */
__device__ inline int local_along(const CudaDomain &domain, const CellBox &box, int axis, int cell) {
    return min(max(cell - domain.first[axis], box.low[axis]), box.low[axis] + box.size[axis] - 1);
}

__device__ inline Cell local_cell(const CudaDomain &domain, int side, const Cell &cell) {
    const CellBox box = halo_box(domain, side);
    return Cell{local_along(domain, box, 0, cell.x), local_along(domain, box, 1, cell.y),
                local_along(domain, box, 2, cell.z)};
}

/* Local numbers of a cell of the whole box that the domain has: others are somewhere else (is_own_cell). */
__device__ inline Cell cell_within(const CudaDomain &domain, const Cell &cell) {
    return Cell{cell.x - domain.first[0], cell.y - domain.first[1], cell.z - domain.first[2]};
}

__device__ inline bool is_own_cell(const CudaDomain &domain, const Cell &at) {
    const int c[3] = {at.x, at.y, at.z};
    bool is_own = true;
    for (int axis = 0; axis < 3; axis++)
        is_own = is_own && (unsigned)(c[axis] - domain.halo[axis]) < (unsigned)domain.n_own[axis];
    return is_own;
}

/* The rank that has a cell of the whole box. */
__device__ inline int owner_of(const CudaDomain &domain, const Cell &cell) {
    return (cell.z / domain.n_own[2] * domain.grid[1] + cell.y / domain.n_own[1]) * domain.grid[0] +
           cell.x / domain.n_own[0];
}

/* An atom on its way to another rank, or a copy of it: all that there is of it. */
struct alignas(16) AtomRow : ColumnEntries {
    Vec4<Pair> position, velocity;
    CudaTag tag;
};
static_assert(sizeof(AtomRow) == CUDA_ATOM_ROW_BYTES(sizeof(Pair), column_bytes), "as the host has it");
static_assert(!has_domain || is_vec4, "memory.layout");

/* Where the list takes an atom to be, before it is sorted. */
__device__ inline Cell cell_of_atom(const CudaArguments &a, int i) {
    const Vec3<Pair> way = predicts ? way_ahead(a, load<Pair>(a.now.velocity, i)) : Vec3<Pair>{0, 0, 0};
    return cell_of_place(a, place_ahead(load<Pair>(a.now.position, i), way));
}
__device__ inline Vec3<Pair> place_of_row(const CudaArguments &a, const AtomRow &row) {
    const Vec3<Pair> x = {row.position.x, row.position.y, row.position.z},
                     v = {row.velocity.x, row.velocity.y, row.velocity.z};
    return place_ahead(x, way_ahead(a, v));
}

/* from, to: where its position is, off the first ones. */
__device__ inline AtomRow atom_row(const CudaArguments &a, int i, int64_t from = 0) {
    return AtomRow{load_columns(a.now, i), ((const Vec4<Pair> *)a.now.position.part[0])[i + from],
                   ((const Vec4<Pair> *)a.now.velocity.part[0])[i], a.now.tag[i]};
}

__device__ inline void put_row(const CudaArguments &a, int i, const AtomRow &row, int64_t to = 0) {
    ((Vec4<Pair> *)a.now.position.part[0])[i + to] = row.position;
    ((Vec4<Pair> *)a.now.velocity.part[0])[i] = row.velocity;
    a.now.tag[i] = row.tag;
    store_columns(a.now, i, row);
}

#endif
