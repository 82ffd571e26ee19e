/* Words of near pairs, by tensor cores: bit for bit which staged atoms are in range of the rows of a warp (search_matrix.cuh). */
#ifndef MD_CUDA_BRICK_MATRIX_WORDS_CUH
#define MD_CUDA_BRICK_MATRIX_WORDS_CUH

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

#endif
