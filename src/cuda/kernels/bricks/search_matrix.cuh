/* neighbor.distances = matrix: rows of a brick, sixteen at a time by a warp, whose tensor cores find their distances; or eight
 * with memory.brick_grid = device and device-2, where sixteen would leave warps without work: each load of a column then serves
 * half as many rows.
 *
 * |a - b|^2 - range^2 is a product of matrices: of (-2x, -2y, -2z, 1) and (x, y, z, |b|^2), and |a|^2 - range^2 is added.
 * One instruction does that for 16 or 8 rows and 8 staged atoms in double, so that nothing is lost: staged positions are floats (in double
 * precision, doubles). Its result is a number for each pair, whose sign says whether the pair is in
 * range: four of them a lane, each shifted into a word with one instruction. 128 pairs take eight instructions of a warp,
 * while a thread in bricks/search.cuh takes ten for one pair.
 *
 * A column8 is a tile of 8 staged atoms, the columns of one product. Lane 4 g + t has the results of rows g and g + 8 with atoms 2 t
 * and 2 t + 1 of each column8. Columns8 are aligned, so these two atoms are always in the same two of the eight groups of banks, and
 * the words of a lane are sorted by groups of banks as they come. Row r
 * takes its entries k, k + 8, ... from the group k ^ (r mod 8), so that the eight threads of the force kernel whose
 * reads are served at once read from different groups. Where a group has fewer atoms than its share of the row, those of
 * others that have more fill in.
 *
 * All warps of a block test all atoms of a column8, wanted or not; so rows are taken in the order of the list, side by side
 * along x, and of each line of cells those columns8 that may be in range of any of the rows. */
#ifndef MD_CUDA_BRICK_MATRIX_CUH
#define MD_CUDA_BRICK_MATRIX_CUH

#include "cuda/kernels/bricks/search_matrix_words.cuh"

/* --- rows from words -------------------------------------------------------------------------------------------------- */

/* A row in the hands of the four lanes that have its pairs. */
struct SharedRow {
    uint16_t *entries; /* of the first quad, of which the next is 32 further */
    int n, n_stored;   /* entries (0: no such row), and with the rest of the last quad, as far as there is room */
    int count[n_groups];
    int before; /* entries of lanes before */
};

/* Atoms of one group for one row, one after another. */
struct Stream {
    unsigned left;  /* 0: the next word is due */
    int last, next; /* bit b is column8 last - b of the table; the next word */
};

/* Takes the next one, if `is_wanted` (there is one then); returns its index in the table of columns8. No branches: lanes
 * differ. */
__device__ inline int take(const Words &words, int side, int group, bool is_wanted, Stream *stream) {
    if (is_wanted && stream->left == 0) {
        const Word word = words.words[stream->next][side][group];
        stream->left = word.near;
        stream->last = word.last;
        stream->next += 1;
    }
    const int bit = 31 - __clz((int)stream->left);                 /* -1: none */
    stream->left ^= __funnelshift_lc(0, is_wanted, (unsigned)bit); /* 1 << bit, or nothing */
    return stream->last - bit;
}

/* Group 2 t + `group` as an entry, in the column8 that begins there. */
__device__ inline unsigned entry_of(unsigned column8, int group) {
    return column8 + (unsigned)staged_entry(2 * ((int)threadIdx.x % 4) + group);
}

__device__ inline void store_entry(const SharedRow &row, int k, unsigned entry) {
    if (k < row.n_stored) row.entries[k / CUDA_QUAD * 32 * CUDA_QUAD + k % CUDA_QUAD] = (uint16_t)entry;
}

/* Group by group, for rows most of whose atoms are in few groups of banks, as in a crystal. */
__device__ inline void store_by_groups(const Words &words, const uint16_t *columns8, int side, const SharedRow &row) {
    int k = row.before;
    for (int group = 0; group < n_groups; group++) {
        Stream stream = {};
#pragma unroll 1
        for (int left = row.count[group]; left > 0; left--)
            store_entry(row, k++, entry_of(columns8[take(words, side, group, true, &stream)], group));
    }
    if (threadIdx.x % 4 == 3) /* the rest of the last quad */
        for (; k % CUDA_QUAD != 0; k++) store_entry(row, k, 0);
}

/* How a row is dealt to a lane: group 2 t + `group` has entries first[group] + 8 j of the row, share[group] of them. */
struct Deal {
    Stream streams[n_groups];
    int first[n_groups], share[n_groups];
    int spare[n_groups], n_spare; /* entries beyond the share of a group; of the whole row */
    int own[n_groups];            /* the others */
    int spares_before, gap;       /* spare entries, and gaps, in lanes before */
};

__device__ inline Deal deal_row(const SharedRow &row, int rotation) {
    Deal deal = {};
    int both = 0;
#pragma unroll
    for (int group = 0; group < n_groups; group++) {
        deal.first[group] = (2 * ((int)threadIdx.x % 4) + group) ^ rotation;
        deal.share[group] = (row.n + in_column8 - 1 - deal.first[group]) / in_column8;
        deal.own[group] = min(row.count[group], deal.share[group]);
        deal.spare[group] = row.count[group] - deal.own[group];
        both += deal.spare[group] << 16 | (deal.share[group] - deal.own[group]);
    }
    const int here = both;
    for (int distance = 1; distance < 4; distance *= 2) {
        const int below = __shfl_up_sync(whole_warp, both, (unsigned)distance, 4);
        if ((int)threadIdx.x % 4 >= distance) both += below;
    }
    deal.n_spare = __shfl_sync(whole_warp, both, 3, 4) >> 16;
    deal.spares_before = (both - here) >> 16;
    deal.gap = (both - here) & 0xffff;
    return deal;
}

/* Spare entries of a row: in most rows of a liquid there are fewer. */
typedef uint16_t Spares[n_sides][8][CUDA_MOST_SPARES];
static_assert(sizeof(Spares) % 8 == 0, "the table of columns8 is behind it: see load_columns");

/* The first entries of groups that have more than their share are put down for those lanes that have gaps. */
__device__ inline void put_spares(const Words &words, const uint16_t *columns8, Deal (&deals)[n_sides],
                                  Spares &spares) {
    const int g = (int)threadIdx.x % 32 / 4;
    int most = 0;
    for (int side = 0; side < n_sides; side++) most = max(most, max(deals[side].spare[0], deals[side].spare[1]));
    most = __reduce_max_sync(whole_warp, most);
    for (int k = 0; k < most; k++)
#pragma unroll
        for (int side = 0; side < n_sides; side++)
#pragma unroll
            for (int group = 0; group < n_groups; group++) {
                Deal &deal = deals[side];
                const bool is_wanted = k < deal.spare[group];
                const int place = take(words, side, group, is_wanted, &deal.streams[group]);
                const int to = deal.spares_before + k + (group == 0 ? 0 : deal.spare[0]);
                if (is_wanted) spares[side][g][to] = (uint16_t)entry_of(columns8[place], group);
            }
    __syncwarp(); /* spares are there */
}

/* Entries 8 j .. 8 j + 7 of the row, of which this lane has two side by side: to `to`, if there is room. If it has none of its
 * own, it takes the spare ones at `gap` from the table of columns8 on, and 0 after the row. ALL_OWN: all lanes have their own
 * entries, and gaps are not read. */
template <bool ALL_OWN>
__device__ inline void store_round(const Words &words, const uint16_t *columns8, int side, int j, bool has_room,
                                   unsigned *to, Deal *deal, int *gap) {
    unsigned entry[n_groups];
#pragma unroll
    for (int group = 0; group < n_groups; group++) {
        const bool is_own = ALL_OWN || j < deal->own[group], is_there = ALL_OWN || j < deal->share[group];
        const int place = take(words, side, group, is_own, &deal->streams[group]);
        const unsigned found = columns8[is_own ? place : *gap]; /* after the row it does not matter */
        entry[group] = is_there ? found + (is_own ? entry_of(0, group) : 0) : 0;
        *gap += is_there & !is_own;
    }
    if (has_room) *to = __byte_perm(entry[0], entry[1], deal->first[0] & 1 ? 0x1054 : 0x5410);
}

/* The same for both rows of this lane, whose first entry in them is `first`; `to` goes on to the next round. */
template <bool ALL_OWN>
__device__ inline void store_rounds(const Words &words, const uint16_t *columns8, int j, int first,
                                    const SharedRow (&rows)[n_sides], unsigned *(&to)[n_sides], Deal (&deals)[n_sides],
                                    int (&gaps)[n_sides]) {
#pragma unroll
    for (int side = 0; side < n_sides; side++) {
        store_round<ALL_OWN>(words, columns8, side, j, first + in_column8 * j < rows[side].n_stored, to[side],
                             &deals[side], &gaps[side]);
        to[side] += in_column8 / CUDA_QUAD * 32 * CUDA_QUAD / 2; /* two quads, in words of two entries */
    }
}

/* Rows g, and g + 8, of all g, from the words of all lanes. */
__device__ inline void store_rows(const Words &words, const uint16_t *columns8, const SharedRow (&rows)[n_sides],
                                  Spares &spares) {
    const int g = (int)threadIdx.x % 32 / 4;
    Deal deals[n_sides];
    int most_spare = 0, most = 0, least_own = rows[0].n; /* no share is larger */
#pragma unroll
    for (int side = 0; side < n_sides; side++) {
        const Deal &deal = deals[side] = deal_row(rows[side], g);
        most_spare = max(most_spare, deal.n_spare);
        most = max(most, rows[side].n);
        least_own = min(least_own, min(deal.own[0], deal.own[1]));
    }
    if (__any_sync(whole_warp, most_spare > CUDA_MOST_SPARES)) {
        for (int side = 0; side < n_sides; side++) store_by_groups(words, columns8, side, rows[side]);
        __syncwarp(); /* the table of columns8 was read */
        return;
    }
    put_spares(words, columns8, deals, spares);
    const int first = deals[0].first[0] & ~1, longest = __reduce_max_sync(whole_warp, most);
    const int all_own = __reduce_min_sync(whole_warp, least_own);
    const int offset = first / CUDA_QUAD * 32 * CUDA_QUAD + first % CUDA_QUAD;
    int gaps[n_sides];
    unsigned *to[n_sides];
#pragma unroll
    for (int side = 0; side < n_sides; side++) {
        gaps[side] = (int)(&spares[side][g][deals[side].gap] - columns8);
        to[side] = (unsigned *)(rows[side].entries + offset);
    }
    int j = 0;
    for (; j < all_own; j++) store_rounds<true>(words, columns8, j, first, rows, to, deals, gaps);
    for (; in_column8 * j < longest; j++) store_rounds<false>(words, columns8, j, first, rows, to, deals, gaps);
    __syncwarp(); /* spares were read, and the table of columns8 */
}

/* --- a block ---------------------------------------------------------------------------------------------------------- */

/* Rows first_row to before first_row + rows_at_once of the brick, by a warp; lane: row lane % rows_at_once of them, or the last
 * one of all. */
__device__ inline int slot_of_lane(const CudaBrick &brick, int first_row) {
    return min(brick.begin + first_row + (int)threadIdx.x % 32 % rows_at_once, brick.end - 1);
}

/* cell: that of slot_of_lane. */
__device__ inline void search_at_once(const CudaArguments &a, const CudaBrick &brick, const Region &region,
                                      const Cells &cells, const Bounds &bounds, const Point *points, int first_row,
                                      int cell, Spares &spares, uint16_t *columns8, Tally *tally) {
    const int lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4, n_rows = brick.end - brick.begin;
    const int slot = slot_of_lane(brick, first_row);
    const Cell at = cell_at(a.grid, cell);
    const Line line = {at.y - region.low[1], at.z - region.low[2]};
    const int own = own_place(cells, (line.z * region.size[1] + line.y) * region.size[0] + at.x - region.low[0], slot);
    const float reach = (float)(sqrt(bounds.range_sq) + bounds.margin);
    int place;
    const int n_columns8 = list_columns8(region, cells, reach, points, own, line, columns8, &place);
    Rows rows = {};
    for (int side = 0; side < n_sides; side++) {
        const int of_row = __shfl_sync(whole_warp, own, g + 8 * side);
        const double component = ((const double *)&points[of_row])[t];
        (side == 0 ? rows.upper : rows.lower) = t < 3 ? -2 * component : 1;
        /* Loaded once each: if the compiler knew that they are equal, it would copy one before every product. */
        const volatile double *square = &points[of_row].square;
        for (int column = 0; column < 2; column++) rows.add[2 * side + column] = *square - a.range_sq;
        rows.place[side] = __shfl_sync(whole_warp, place, g + 8 * side);
        for (int group = 0; group < n_groups; group++)
            rows.is_own[side][group] = of_row % in_column8 == 2 * t + group ? ~0u : 0;
    }
    Words words;
    SharedRow shared[n_sides] = {};
    int n_words[n_sides][n_groups] = {};
    for (int first = 0; first < n_columns8; first += columns8_of_word) {
        unsigned near[n_sides][n_groups];
        test_columns8(points, rows, columns8, first, min(columns8_of_word, n_columns8 - first), near);
#pragma unroll
        for (int side = 0; side < n_sides; side++)
#pragma unroll
            for (int group = 0; group < n_groups; group++) {
                shared[side].count[group] += __popc(near[side][group]);
                if (near[side][group] != 0)
                    words.words[n_words[side][group]][side][group] =
                        Word{near[side][group], first + columns8_of_word - 1};
                n_words[side][group] += near[side][group] != 0;
            }
    }
    for (int side = 0; side < n_sides; side++) {
        const int r = first_row + g + 8 * side;
        if (r >= n_rows) shared[side].count[0] = shared[side].count[1] = 0;
        const int of_lane = shared[side].count[0] + shared[side].count[1];
        int sum = of_lane;
        for (int distance = 1; distance < 4; distance *= 2) {
            const int below = __shfl_up_sync(whole_warp, sum, (unsigned)distance, 4);
            if (t >= distance) sum += below;
        }
        shared[side].before = sum - of_lane;
        shared[side].n = __shfl_sync(whole_warp, sum, 3, 4);
        shared[side].entries = (uint16_t *)brick_quads(a, brick, min(r, n_rows - 1));
        shared[side].n_stored =
            min((shared[side].n + CUDA_QUAD - 1) / CUDA_QUAD, a.list.capacity / CUDA_QUAD) * CUDA_QUAD;
        if (r < n_rows && t == 0) book_row(a, brick, r, shared[side].n, tally);
        MD_COUNT_ADD(CUDA_COUNT_TESTED, r < n_rows ? n_groups * n_columns8 : 0);
        MD_COUNT_ADD(CUDA_COUNT_INSIDE, of_lane);
    }
    store_rows(words, columns8, shared, spares);
}

/* Rows by warps: see RowsByThreads. */
struct RowsByWarps {
    typedef Point Staged;

    /* Points that are tested besides the n: entry 0, and the rest of the last column8. */
    __device__ static void end_staging(Point *points, int n) {
        const int k = (int)threadIdx.x;
        if (k == 0) set_staged(&points[0], nowhere());
        else if (k < in_column8 && (n + k - 1) / in_column8 == (n - 1) / in_column8)
            set_staged(&points[n + k - 1], nowhere());
    }

    /* The cells of a warp's first rows. */
    __device__ static int ask(const CudaArguments &a, const CudaBrick &brick) {
        const int first = (int)threadIdx.x / 32 * rows_at_once;
        return first < brick.end - brick.begin ? a.slot_cell[slot_of_lane(brick, first)] : 0;
    }

    __device__ static void search(const CudaArguments &a, const CudaBrick &brick, const Region &region,
                                  const Cells &cells, const Bounds &bounds, const Point *points, int cell,
                                  Tally *tally) {
        constexpr int rows_of_round = MD_BLOCK / 32 * rows_at_once;
        const int warp = (int)threadIdx.x / 32, n_rows = brick.end - brick.begin;
        if (brick.n_staged < 0) {
            for (int r = (int)threadIdx.x; r < n_rows; r += MD_BLOCK) a.list.counts[brick.begin + r] = 0;
            return;
        }
        char *const tables = (char *)(points + a.bricks.capacity + CUDA_STAGED_BESIDE) + a.bricks.cell_bytes +
                             warp * a.bricks.warp_bytes;
        Spares &spares = *(Spares *)tables;
        for (int first = rows_at_once * warp; first < n_rows; first += rows_of_round) {
            const int next = first + rows_of_round;
            const int next_cell = next < n_rows ? a.slot_cell[slot_of_lane(brick, next)] : 0;
            search_at_once(a, brick, region, cells, bounds, points, first, cell, spares,
                           (uint16_t *)(tables + sizeof(Spares)), tally);
            cell = next_cell;
        }
    }
};

#endif
