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

#include "cuda/kernels/bricks/search.cuh"

constexpr int in_column8 = 8, columns8_of_word = 32, columns8_at_once = 4;
constexpr int most_words = (CUDA_MAX_STAGED + 1) / (in_column8 * columns8_of_word);

/* A column of the second matrix. */
struct Point {
    double x, y, z, square;
};

__device__ inline void set_staged(Point *to, const Atom &atom) {
    const double x = atom.v.x, y = atom.v.y, z = MD_DIMENSION == 3 ? atom.v.z : Pair(0);
    *to = Point{x, y, z, x * x + y * y + z * z};
}

/* Entries count in 16 to an atom (tile.cuh). */
constexpr int bytes_of_unit = sizeof(Point) / 16;

/* The rows of a lane: `upper` for row g, `lower` for row g + 8, if a warp has so many; each has two groups of
 * banks. */
constexpr int rows_at_once = CUDA_ROWS_PER_WARP(MD_SW_memory_brick_grid);
constexpr int n_sides = rows_at_once / 8, n_groups = 2;

/* product = a b + add by a warp, rows_at_once x 4 times 4 x 8. Lane 4 g + t: `upper` and `lower` are a[g][t] and a[g + 8][t], b is
 * b[t][g], the product is that of rows g, g, g + 8, g + 8 and columns 2 t, 2 t + 1, 2 t, 2 t + 1. (PTX ISA: mma.m16n8k4; of
 * eight rows mma.m8n8k4) */
#ifndef MD_MULTIPLY_MATRICES
#if MD_SW_memory_brick_grid != MD_BRICK_GRID_CELLS
#define MD_MULTIPLY_MATRICES(product, upper, lower, b, add)                                                            \
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"                     \
                 : "=d"(product[0]), "=d"(product[1])                                                                  \
                 : "d"(upper), "d"(b), "d"(add[0]), "d"(add[1]))
#else
#define MD_MULTIPLY_MATRICES(product, upper, lower, b, add)                                                            \
    asm volatile(                                                                                                      \
        "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"        \
        : "=d"(product[0]), "=d"(product[1]), "=d"(product[2]), "=d"(product[3])                                       \
        : "d"(upper), "d"(lower), "d"(b), "d"(add[0]), "d"(add[1]), "d"(add[2]), "d"(add[3]))
#endif
#endif

/* Pairs in range of one row and one group: bit b is column8 `last` - b of the table. Words without any are left out. */
struct Word {
    unsigned near;
    int last;
};

struct Words {
    Word words[most_words][n_sides][n_groups];
};

/* A line of cells of the region. */
struct Line {
    int y, z;
};

/* Largest of all up to here, over the lanes of a warp. */
__device__ inline int most_up_to(int value) {
    for (int distance = 1; distance < 32; distance *= 2)
        value = max(value,
                    __shfl_up_sync(whole_warp, value, (unsigned)distance)); /* a lane without one below gets its own */
    return value;
}

/* From where to where along x there may be atoms in range of any of the warp's rows, in a line of cells: none where *low is
 * above *high. Row lane % rows_at_once is at x in `line`; rows of a line stand side by side, in ascending order. */
__device__ inline void reach_of_rows(const Line &line, float x, float reach, const Line &searched, float *low,
                                     float *high) {
    const int lane = (int)threadIdx.x % 32, packed = line.z << 16 | line.y;
    const int before = __shfl_up_sync(whole_warp, packed, 1);
    constexpr unsigned behind = 1u << rows_at_once;
    unsigned begins = (__ballot_sync(whole_warp, lane == 0 || packed != before) & (behind - 1)) | behind;
    *low = 1e30f;
    *high = -1e30f;
    while (begins != behind) {
        const int first = __ffs((int)begins) - 1;
        begins &= begins - 1;
        const int of_rows = __shfl_sync(whole_warp, packed, first);
        const float lowest = __shfl_sync(whole_warp, x, first),
                    highest = __shfl_sync(whole_warp, x, __ffs((int)begins) - 2);
        const unsigned dz = (unsigned)(searched.z - (of_rows >> 16) + 1),
                       dy = (unsigned)(searched.y - (of_rows & 0xffff) + 1);
        if (dy <= 2 && dz <= 2) {
            *low = fminf(*low, lowest - reach);
            *high = fmaxf(*high, highest + reach);
        }
    }
}

/* The first of the staged atoms `from` to before `to`, which are sorted by x, at or beyond `low`, and the same for `high`: two
 * searches at a time. */
__device__ inline void first_beyond_both(const Point *points, float low, float high, int from, int to, int *begin,
                                         int *end) {
    *begin = *end = from;
    for (int left = to - from; left > 0; left /= 2) {
        const int half = left - left / 2; /* the rest may be one too many, which is beyond the end */
        const double at_begin = points[*begin + half - 1].x, at_end = points[*end + half - 1].x;
        *begin += at_begin < low ? half : 0;
        *end += at_end < high ? half : 0;
    }
}

/* Fills the table with the columns8 to be tested for the warp's rows, in ascending order; returns how many. Row lane % rows_at_once is
 * staged atom `own` in `line`; *place becomes the index of its own column8 in the table. A lane a line of cells. */
__device__ inline int list_columns8(const Region &region, const Cells &cells, float reach, const Point *points, int own,
                                    const Line &line, uint16_t *columns8, int *place) {
    const int lane = (int)threadIdx.x % 32, n_lines = region.size[1] * region.size[2];
    const int line_number = line.z * region.size[1] + line.y;
    int n_columns8 = 0, behind = 0; /* columns8 before `behind` are in the table, or not wanted */
    *place = 0;
    for (int first = 0; first < n_lines; first += 32) {
        const int k = first + lane, z = k / region.size[1];
        float low, high;
        reach_of_rows(line, (float)points[own].x, reach, Line{k - z * region.size[1], z}, &low, &high);
        int begin = 0, end = 0;
        if (k < n_lines && low <= high) {
            const int from = 1 + cells.staged[k * region.size[0]], to = 1 + cells.staged[(k + 1) * region.size[0]];
            first_beyond_both(points, low, high, from, to, &begin, &end);
        }
        /* a column8 that two lines share is the first one's */
        const int last = max(behind, most_up_to(begin < end ? (end + in_column8 - 1) / in_column8 : 0));
        const int before = __shfl_up_sync(whole_warp, last, 1);
        const int start = begin < end ? max(begin / in_column8, lane == 0 ? behind : before) : last;
        const int sum = sum_up_to(last - start), shift = n_columns8 + sum - last; /* from a column8 to its index */
#pragma unroll 1
        for (int column8 = start; column8 < last; column8++)
            columns8[shift + column8] = (uint16_t)staged_entry(in_column8 * column8);
        const int of_own = __shfl_sync(whole_warp, shift, line_number - first);
        if (line_number >= first && line_number < first + 32) *place = of_own + own / in_column8;
        n_columns8 += __shfl_sync(whole_warp, sum, 31);
        behind = __shfl_sync(whole_warp, last, 31);
    }
    if (lane < columns8_at_once) columns8[n_columns8 + lane] = 0; /* so many are tested at once: these for nothing */
    __syncwarp();                                                 /* the table is there */
    return n_columns8;
}

/* The matrix elements of the rows in a lane. */
struct Rows {
    double upper, lower, add[2 * n_sides];
    int place[n_sides];                 /* where in the table the row's own column8 is */
    unsigned is_own[n_sides][n_groups]; /* all bits: it is the atom of this group there */
};

/* A lane's elements of some columns8: one of each. */
typedef double Columns[columns8_at_once];

/* The elements of the next columns8. One load brings their addresses. */
__device__ inline void load_columns(const char *own_column, const uint16_t *columns8, Columns &columns) {
    static_assert(columns8_at_once == 4, "as many as two words hold");
    const uint2 places = *(const uint2 *)columns8;
#pragma unroll
    for (int k = 0; k < columns8_at_once; k++)
        columns[k] = *(const double *)(own_column + bytes_of_unit * __byte_perm(k < 2 ? places.x : places.y, 0,
                                                                                k % 2 == 0 ? 0x4410 : 0x4432));
}

/* The signs of their products go into the words, first ones uppermost. */
__device__ inline void multiply_columns(const Rows &rows, const Columns &columns, unsigned (&near)[n_sides][n_groups]) {
#pragma unroll
    for (int k = 0; k < columns8_at_once; k++) {
        double product[2 * n_sides];
        MD_MULTIPLY_MATRICES(product, rows.upper, rows.lower, columns[k], rows.add);
#pragma unroll
        for (int e = 0; e < 2 * n_sides; e++)
            near[e / 2][e % 2] =
                __funnelshift_l((unsigned)__double2hiint(product[e]), near[e / 2][e % 2], 1); /* the sign */
    }
}

/* Columns8 are on their way while those before them are multiplied: worth its registers where a warp has few others beside it. */
constexpr bool looks_ahead = n_sides == 1;

/* The pairs in range among the n columns8 from `first` on, up to 32. */
__device__ inline void test_columns8(const Point *points, const Rows &rows, const uint16_t *columns8, int first, int n,
                                     unsigned (&near)[n_sides][n_groups]) {
    const int lane = (int)threadIdx.x % 32;
    const char *own_column = (const char *)((const double *)points + lane);
    const uint16_t *next = columns8 + first;
    for (int side = 0; side < n_sides; side++) near[side][0] = near[side][1] = 0;
    Columns columns;
    int left = __reduce_max_sync(whole_warp, n); /* n, and the compiler knows that it is the same in all lanes */
    if constexpr (looks_ahead) {
        Columns others;
        load_columns(own_column, next, columns);
        for (; left > 0; left -= 2 * columns8_at_once, next += 2 * columns8_at_once) {
            if (left > columns8_at_once) load_columns(own_column, next + columns8_at_once, others);
            multiply_columns(rows, columns, near);
            if (left <= columns8_at_once) break;
            if (left > 2 * columns8_at_once) load_columns(own_column, next + 2 * columns8_at_once, columns);
            multiply_columns(rows, others, near);
        }
    } else {
        for (; left > 0; left -= columns8_at_once, next += columns8_at_once) {
            load_columns(own_column, next, columns);
            multiply_columns(rows, columns, near);
        }
    }
    const int tested = (n + columns8_at_once - 1) / columns8_at_once * columns8_at_once;
    const unsigned wanted = n < columns8_of_word ? 0xffffffffu << (columns8_of_word - n) : 0xffffffffu;
#pragma unroll
    for (int side = 0; side < n_sides; side++) {
        /* 0x80000000 >> (place - first), or nothing */
        const unsigned own = __funnelshift_rc(0x80000000u, 0, (unsigned)(rows.place[side] - first));
#pragma unroll
        for (int group = 0; group < n_groups; group++) {
            if (n < columns8_of_word) near[side][group] = near[side][group] << (columns8_of_word - tested) & wanted;
            near[side][group] &= ~(own & rows.is_own[side][group]);
        }
    }
}

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
