/* Stage sort: particles into the box, into cells, and (memory.sort) into the order of the cells.
 *
 * Ladder:
 *   none   the order of the particles stays; cells hold numbers of particles. Neighbours in space are anywhere in
 *          memory: each gather of the force kernel is a separate transaction, mostly from L2 or beyond.
 *   cell   all arrays are reordered by cell at each rebuild. Neighbours share cache lines, and the particles of a cell
 *          are one contiguous run that needs no index. Costs one read and one write of all arrays a rebuild. Cells that
 *          are next to each other along y or z are still far apart in memory.
 *   morton, hilbert
 *          the same, cells in the order of a space-filling curve: the atoms of a block of threads are compact along
 *          all axes, so they share more neighbours. Costs a look-up for each visited cell.
 *   brick  the same, brick by brick, for staging in shared memory (force.kernel = brick).
 *
 * The cells come from a counting sort: histogram by integer atomics (k_sort_wrap, of particles that are to be wrapped first,
 * or k_sort_bin), exclusive scan, scatter. If memory keeps an order, lanes of a warp that have the same cell count together.
 * The atomics give each cell its particles in order of arrival, which differs from run to run; k_sort_rank therefore sorts each
 * cell, and, if memory keeps that order, moves each particle at once. All later results
 * (rows, sums) are then the same in every run. Few cells have room for their sort keys in the memory of the list:
 * then two kernels do all of it (k_sort_rank_few), since launches are a large part of a small system's time.
 *
 * neighbor.predict = velocity: cells are those of where the particles will be (physics/predict.h). */
#include "cuda/kernels/ahead.cuh"
#include "cuda/kernels/border.cuh"
#include "cuda/kernels/columns.cuh"
#include "cuda/kernels/scan.cuh"
#include "physics/curve.h"

/* Whether there is an atom: with several processes it may have left. */
__device__ inline bool is_atom(const CudaArguments &a, int i) { return !has_domain || a.now.tag[i].id >= 0; }

/* By one thread, before the others ask. The device counts the steps itself: when the host learns of a stop changes nothing, and a
 * graph serves for any interval. Of a first list there is none to go by, and no step before it. */
/* Reads status.step, status.built_step; writes status.ahead, status.built_step. */
MD_KERNEL k_sort_look_ahead(MD_ARGUMENTS) {
    if (thread_index() > 0) return;
    const long long step = (long long)a.status->step + a.status->drifted;
    a.status->ahead = md_predict_time((double)(step - a.status->built_step), a.whole_step);
    a.status->built_step = step;
}

/* With several processes: for an own atom the rank of its cell; for a copy the rank of its cell beside the domain (k_halo_arrive);
 * for an atom that has left, if its slot was not reused, the rank after all cells. */
__device__ inline int place_in_domain(const CudaArguments &a, int i, const Vec3<Pair> &x, int id) {
    if (id < 0) return a.n;
    if (i >= own_slots(a)) return cell_place(a, a.slot_cell[i]);
    return cell_place(a, cell_number(a.grid, local_cell(a.domain, own_side, cell_of_place(a, x))));
}

/* By the positions that the list is made from, as pairs see them: they are kept, so that a restart finds the same cells. */
__device__ inline void count_in_cell(const CudaArguments &a, int i, const Vec3<Pair> &x, int id) {
    int place;
    if constexpr (has_domain) place = place_in_domain(a, i, x, id);
    else place = cell_place(a, cell_number(a.grid, cell_of_place(a, x)));
    count_at(a, i, place, sorted_slots(a), key_at(x, id));
}

/* Whether particle i, which is at x, had gone further than the list allows when that was used last: a drift ago, so that
 * no kernel need look while it is used. */
__device__ inline bool was_too_far(const CudaArguments &a, int i, const Vec3<State> &x) {
    const Vec3<Pair> v = load<Pair>(a.now.velocity, i);
    const State time = (State)a.factor;
    return displacement_sq(Vec3<Pair>{(Pair)(x.x - time * v.x), (Pair)(x.y - time * v.y), (Pair)(x.z - time * v.z)},
                           load<Pair>(a.reference, i)) > a.stale_sq;
}

/* Counts this build as late, once. By one thread of a block: if each warp has an atom that is too far, all would
 * access this one word (sort of 4 million atoms on an H200: 430 us by warps, 372 by blocks). */
__device__ inline void book_lateness(const CudaArguments &a) {
    const unsigned long long build = a.status->step + a.status->drifted + 1;
    if (*(volatile unsigned long long *)&a.status->late_build == build) return;
    if (atomicMax(&a.status->late_build, build) < build) atomicAdd(&a.status->n_late, 1u);
}

/* x moved by the boxes that bring the position `way` ahead of it into the box; *image gains their number. The particle itself may
 * be outside then, as before any build. */
template <class Round>
__device__ inline State wrap_ahead(State x, Pair way, double length, double inverse, int32_t *image, Round round) {
    if (way == 0) return wrap((double)x, length, inverse, image, round);
    int32_t boxes = 0;
    wrap((double)x + (double)way, length, inverse, &boxes, round);
    *image += boxes;
    return round((double)x - boxes * length);
}

/* Particle i at x, wrapped, into its cell, if a.n says that there are cells; several processes: see sort_or_send. */
__device__ inline unsigned wrap_into_cell(const CudaArguments &a, int i, const Vec3<State> &place_of_i, CudaTag tag) {
    Vec3<State> x = place_of_i;
    const CudaTag before = tag;
    const auto round = [](double place) { return storable((State)place); };
    const Vec3<Pair> way = way_ahead(a, load<Pair>(a.now.velocity, i));
    x.x = wrap_ahead(x.x, way.x, a.length[0], a.inverse[0], &tag.ix, round);
    x.y = wrap_ahead(x.y, way.y, a.length[1], a.inverse[1], &tag.iy, round);
    x.z = wrap_ahead(x.z, way.z, a.length[2], a.inverse[2], &tag.iz, round);
    if (tag.ix != before.ix || tag.iy != before.iy || tag.iz != before.iz) a.now.tag[i] = tag; /* few leave the box */
    const int64_t to = has_domain && a.n == 0 ? 0 : on_the_way(a); /* the host may send it before it is sorted */
    const Vec3<Pair> rounded = store_position(a.now, i, x, load_type(a.now, i), to);
    const Vec3<Pair> place = place_ahead(rounded, way);
    if constexpr (!reorders) /* otherwise put_into_slot does */
        store<Pair>(a.reference, i, place, Pair(0));
    if (a.n == 0) return 0;
#if MD_DOMAIN && (MD_SW_parallel_transport == MD_TRANSPORT_NCCL ||                                                     \
                  MD_SW_parallel_transport == MD_TRANSPORT_DIRECT) /* here each atom is seen */
    return sort_or_send(a, i, cell_of_place(a, place), own_atoms(a), a.n, key_at(place, tag.id));
#else
    count_in_cell(a, i, place, tag.id);
    return 0;
#endif
}

/* Wraps positions, and stores the positions that displacements are measured from. Positions may have left the box
 * since the last build: the image counters take what the wrap takes off. */
/* Reads position, velocity, tag [n]; writes position, tag, place, arrival or keys [n], cell_count [n_cells + 1]. */
MD_KERNEL k_sort_wrap(MD_ARGUMENTS) {
    const int i = thread_index();
    const bool is_there = i < own_atoms(a);
    if (i == 0) {
        a.status->stopped = 0;               /* the old list is not needed any more */
        a.status->measures = CudaMeasures{}; /* of this build: its search is the first that adds to them */
        a.status->pass_step[0] = a.status->step + a.status->drifted;
    }
    Vec3<State> x = {};
    CudaTag tag = {};
    if (is_there) {
        x = load_position(a.now, i);
        tag = a.now.tag[i];
    }
    if (MD_SW_neighbor_rebuild == MD_REBUILD_EVERY && a.factor >= 0 &&
        __syncthreads_or(is_there && was_too_far(a, i, x)) && threadIdx.x == 0)
        book_lateness(a);
    unsigned sides = 0;
    if (is_there) sides = wrap_into_cell(a, i, x, tag);
    if constexpr (has_domain && lists_by_kernels)
        if (a.n > 0) send_copies(a, sides, true, [&] { return atom_row(a, i, on_the_way(a)); });
}

/* For particles that were sorted before, by the same positions: after a restart these are not predicted again. */
/* Reads position, velocity, tag [n_sorted]; writes place, arrival or keys [n_sorted], cell_count [n_cells + 1]. */
MD_KERNEL k_sort_bin(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= sorted_slots(a)) return;
    const Vec3<Pair> way = predicts ? way_ahead(a, load<Pair>(a.now.velocity, i)) : Vec3<Pair>{0, 0, 0};
    count_in_cell(a, i, place_ahead(load<Pair>(a.now.position, i), way), a.now.tag[i].id);
    if (reorders) copy_rounded(a.now.position, i + on_the_way(a), a.now.position, i);
}

/* Key of the octant at (x, y, z), in units of octants of 2^level cells: the order in which the curve enters them. */
__device__ inline uint64_t octant_key(int bits, int level, int x, int y, int z) {
    if (MD_SW_memory_sort == MD_SORT_MORTON) return md_curve_morton((uint32_t)x, (uint32_t)y, (uint32_t)z);
    return md_curve_hilbert(MD_DIMENSION, bits - level, (uint32_t)x, (uint32_t)y, (uint32_t)z);
}

/* Cells of octant o that are inside the grid, along one axis. */
__device__ inline int octant_cells(int o, int level, int n) { return min(max(n - (o << level), 0), 1 << level); }

/* Cells that come before cell `at`: those of the layers of bricks below its brick, of the lines of bricks before it in its
 * layer, of the bricks before it in its line, and those before it in its brick. */
__device__ inline int place_in_bricks(const CudaGrid &grid, const int32_t (&n)[3], const Cell &at) {
    const int c[3] = {at.x, at.y, at.z};
    int low[3], size[3];
    for (int k = 0; k < 3; k++) {
        const int b = brick_of(n[k], grid.n_bricks[k], c[k]);
        low[k] = brick_begin(n[k], grid.n_bricks[k], b);
        size[k] = brick_begin(n[k], grid.n_bricks[k], b + 1) - low[k];
    }
    const int before = (low[2] * n[1] + size[2] * low[1]) * n[0] + size[2] * size[1] * low[0];
    return before + ((at.z - low[2]) * size[1] + at.y - low[1]) * size[0] + at.x - low[0];
}

/* The own cells brick by brick; after them those of the halo, side by side, each row by row, as their atoms come. */
__device__ inline int place_of_local(const CudaArguments &a, const Cell &at) {
    const CudaDomain &domain = a.domain;
    const int side = side_of_local(domain, at);
    if (side == own_side)
        return place_in_bricks(a.grid, domain.n_own,
                               Cell{at.x - domain.halo[0], at.y - domain.halo[1], at.z - domain.halo[2]});
    return domain.place_of_side[side] + cell_in_box(halo_box(domain, side), at);
}

__device__ inline void put_cell(const CudaArguments &a, int c, int place) {
    a.cell_place[c] = place;
    a.place_cell[place] = c;
}

/* The rank of each cell is the number of cells that the curve visits before it. A curve fills an octant before it
 * enters the next, so these are, at each level, the cells in those of the eight (2-D: four) octants around it that are
 * entered before its own, as far as the grid reaches into them: counted, without a sort. */
/* Reads grid; writes cell_place, place_cell [a.n]. */
MD_KERNEL k_sort_curve(MD_ARGUMENTS) {
    const int c = thread_index();
    if (c >= a.n) return;
    if constexpr (in_bricks) {
        const Cell at = cell_at(a.grid, c);
        if constexpr (has_domain) put_cell(a, c, place_of_local(a, at));
        else put_cell(a, c, place_in_bricks(a.grid, a.grid.n, at));
        return;
    }
    const int *n = a.grid.n;
    const int bits = md_curve_bits((uint32_t)max(max(n[0], n[1]), n[2]));
    const Cell at = cell_at(a.grid, c);
    int place = 0;
    for (int level = 0; level < bits; level++) {
        const uint64_t own = octant_key(bits, level, at.x >> level, at.y >> level, at.z >> level);
        for (int octant = 0; octant < 1 << MD_DIMENSION; octant++) {
            const int x = (at.x >> level & ~1) + (octant & 1), y = (at.y >> level & ~1) + (octant >> 1 & 1);
            const int z = (at.z >> level & ~1) + (octant >> 2);
            if (octant_key(bits, level, x, y, z) >= own) continue;
            place += octant_cells(x, level, n[0]) * octant_cells(y, level, n[1]) * octant_cells(z, level, n[2]);
        }
    }
    put_cell(a, c, place);
}

/* --- exclusive scan of a.n numbers, from cell_count to cell_start, in three launches: sums of tiles, scan of the sums by one
 * block, scan of each tile from its offset. A tile is the MD_BLOCK numbers that one block scans. If they are few, each block that
 * needs them scans them all, which takes no launch. A kernel after the last one that reads a count sets it to zero,
 * for the next sort; few cells have two arrays of counts, in turn. -------------------- */

/* Reads cell_count [a.n]; writes scan_sums [tiles]. */
MD_KERNEL k_sort_scan_tiles(MD_ARGUMENTS) {
    const int k = thread_index(), n_tiles = (a.n + MD_BLOCK - 1) / MD_BLOCK;
    if (has_domain && (int)blockIdx.x >= n_tiles) { /* blocks after those of the tiles: as many as there are sides */
        sum_border(a, (int)blockIdx.x - n_tiles);
        return;
    }
    const int sum = block_scan(k < a.n ? a.cell_count[k] : 0);
    if (threadIdx.x == MD_BLOCK - 1) a.scan_sums[blockIdx.x] = sum;
}

/* The same scan by one block, eight numbers side by side a thread: of the sums of tiles, in place, and of few cells. */
__device__ inline void scan_by_block(const int *counts, int *starts, int n) {
    constexpr int items = 8;
    __shared__ int s_before;
    int before = 0;
    for (int first = 0; first < n; first += items * MD_BLOCK) {
        const int begin = first + items * (int)threadIdx.x;
        int own[items], sum = 0;
        for (int k = 0; k < items; k++) {
            own[k] = begin + k < n ? counts[begin + k] : 0;
            sum += own[k];
        }
        const int up_to = before + block_scan(sum);
        int next = up_to - sum;
        for (int k = 0; k < items; k++) {
            if (begin + k < n) starts[begin + k] = next;
            next += own[k];
        }
        if (threadIdx.x == MD_BLOCK - 1) s_before = up_to;
        /* the last thread has written it; the next scan has barriers before it is written again */
        __syncthreads();
        before = s_before;
    }
}

/* Reads scan_sums [a.n]; writes scan_sums [a.n]. */
MD_KERNEL k_sort_scan_sums(MD_ARGUMENTS) { scan_by_block(a.scan_sums, a.scan_sums, a.n); }

/* With several processes nothing is sorted if any of them lacks room; with nccl, if this one does. */
__device__ inline bool is_sorted(const CudaArguments &a) { return !has_domain || a.domain.table->lacks_room == 0; }

/* Reads cell_count [a.n], scan_sums [tiles]; writes cell_start, cell_count [a.n]. */
MD_KERNEL k_sort_scan_finish(MD_ARGUMENTS) {
    const int k = thread_index();
    const int own = k < a.n ? a.cell_count[k] : 0, sum = block_scan(own);
    if (k >= a.n) return;
    a.cell_start[k] = is_sorted(a) ? a.scan_sums[blockIdx.x] + sum - own : 0;
    a.cell_count[k] = 0;
}

__device__ inline SlotKey slot_key(const CudaArguments &a, int i) {
    const int id = a.now.tag[i].id;
    if constexpr (in_bricks) {
        const Vec3<Pair> rounded = load<Pair>(a.now.position, i + on_the_way(a));
        const Vec3<Pair> way = predicts ? way_ahead(a, load<Pair>(a.now.velocity, i)) : Vec3<Pair>{0, 0, 0};
        return key_at(place_ahead(rounded, way), id);
    } else {
        return id;
    }
}

/* Reads place, arrival, tag [n_sorted], cell_start [n_cells + 1]; writes slot_key [n_sorted]. */
MD_KERNEL k_sort_scatter(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= sorted_slots(a) || !is_atom(a, i)) return;
    ((SlotKey *)a.slot_key)[a.cell_start[a.place[i]] + a.arrival[i]] = slot_key(a, i);
}

/* The data of a particle that move to another slot. Forces are not moved: they are computed again before they are read. */
struct Carried : ColumnEntries {
    Full<Pair> v; /* velocity */
    CudaTag tag;
    int type;
    uint32_t low;
};

__device__ inline Carried pick_up(const CudaParticles &from, int i) {
    Carried carried = {load_columns(from, i), load_velocity(from, i), from.tag[i], 0, 0};
    if constexpr (!is_vec4) {
        carried.type = from.type[i];
        if (is_mixed) carried.low = from.low[i];
    }
    return carried;
}

__device__ inline void put_down(const CudaParticles &to, int i, const Carried &carried) {
    store<Pair>(to.velocity, i, carried.v.v, carried.v.w);
    to.tag[i] = carried.tag;
    if constexpr (!is_vec4) {
        to.type[i] = carried.type;
        if (is_mixed) to.low[i] = carried.low;
        ((Pair *)to.inverse_mass)[i] = carried.v.w;
    }
    store_columns(to, i, carried);
}

/* A particle on its way into its slot, in memory that keeps the order of the slots. */
struct Sorted {
    Full<Pair> rounded; /* position, with its word */
    Carried carried;
};

__device__ inline Sorted take_sorted(const CudaArguments &a, int i) {
    Sorted sorted = {};
    if constexpr (reorders) {
        const int64_t at = i + on_the_way(a);
        if constexpr (is_vec4) sorted.rounded = load_full<Pair>(a.now.position, nullptr, at);
        else sorted.rounded.v = load<Pair>(a.now.position, at);
        sorted.carried = pick_up(a.now, i);
    }
    return sorted;
}

/* Particle i, of the cell of rank `place`, into its slot. Returns the cell. */
__device__ inline int put_into_slot(const CudaArguments &a, int i, int place, int slot, const Sorted &sorted) {
    const int cell = is_placed ? a.place_cell[place] : place;
    a.slot_cell[slot] = cell;
    if constexpr (reorders) {
        store<Pair>(a.now.position, slot, sorted.rounded.v, sorted.rounded.w);
        put_down(a.spare, slot, sorted.carried);
        store<Pair>(a.reference, slot, place_ahead(sorted.rounded.v, way_ahead(a, sorted.carried.v.v)), Pair(0));
    } else {
        a.slot_atom[slot] = i;
    }
    return cell;
}

/* How many of n keys are smaller. Several loads are on the way at once. */
__device__ inline int count_smaller(const SlotKey *keys, int n, SlotKey key) {
    constexpr int at_once = 8;
    int smaller = 0;
    for (int first = 0; first < n; first += at_once) {
        SlotKey other[at_once];
#pragma unroll
        for (int k = 0; k < at_once; k++) other[k] = first + k < n ? keys[first + k] : key;
#pragma unroll
        for (int k = 0; k < at_once; k++) smaller += other[k] < key;
    }
    return smaller;
}

/* The rank of a particle in its cell is the number of smaller keys there. Quadratic in the population of a cell, but so is
 * the search for neighbours, 27 times over. */
/* Reads place, slot_key [n_sorted], cell_start [n_cells + 1]; writes slot_cell, slot_atom or the atoms [n_sorted]. */
MD_KERNEL k_sort_rank(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= sorted_slots(a) || !is_atom(a, i)) return;
    const int place = a.place[i], begin = a.cell_start[place], end = a.cell_start[place + 1];
    const int rank = count_smaller((const SlotKey *)a.slot_key + begin, end - begin, slot_key(a, i)),
              slot = begin + rank;
    const int cell = put_into_slot(a, i, place, slot, take_sorted(a, i));
    if (has_domain && slot < own_atoms(a)) list_copies(a, slot, cell, rank);
}

/* The same for a cell in which more have come than there is room for: among all particles. The host is told, and sees to it that
 * this does not happen often. */
__device__ inline int count_smaller_of_all(const CudaArguments &a, int place, SlotKey key) {
    int smaller = 0;
    for (int i = 0; i < sorted_slots(a); i++) smaller += a.place[i] == place && slot_key(a, i) < key;
    return smaller;
}

/* The scan of a.n counts, and the ranks, of few cells; a.out: the counts of the next sort, which become zero. The data
 * of a particle are loaded before the scan. */
/* Reads place, keys [n_sorted], cell_count [a.n]; writes cell_start [a.n], slot_cell, slot_atom or the atoms [n_sorted]. */
MD_KERNEL k_sort_rank_few(MD_ARGUMENTS) {
    __shared__ int s_start[CUDA_FEW_CELLS];
    const int i = thread_index();
    const bool is_there = i < sorted_slots(a) && is_atom(a, i);
    int place = 0;
    SlotKey key = 0;
    Sorted sorted = {};
    if (is_there) {
        place = a.place[i];
        key = slot_key(a, i);
        sorted = take_sorted(a, i);
    }
    scan_by_block(a.cell_count, s_start, a.n);
    for (int k = i; k < a.n; k += grid_size()) {
        a.cell_start[k] = is_sorted(a) ? s_start[k] : 0;
        ((int *)a.out)[k] = 0;
    }
    if (!is_there) return;
    const int begin = s_start[place], n = s_start[place + 1] - begin;
    const bool fits = n <= a.keys_per_cell;
    const int smaller = fits ? count_smaller(keys_of_few(a, place), n, key) : count_smaller_of_all(a, place, key);
    if (!fits) *(volatile int *)&a.host_status->largest_cell = n; /* host memory: whichever comes last */
    const int cell = put_into_slot(a, i, place, begin + smaller, sorted);
    if (has_domain && begin + smaller < own_atoms(a)) list_copies(a, begin + smaller, cell, smaller);
}
