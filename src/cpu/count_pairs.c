/* Histograms of the distances of pairs (system/pair_count.h), of positions as they are: by cells of their own, so that the distance may
 * be longer than the list reaches, and without a list. Positions are those that pair loops read, which copies have as well. */
#include <math.h>
#include <string.h>

#include "cpu/context.h"

/* Coordinate of an own atom or a copy. */
static double coordinate(const MdCpuContext *c, int64_t i, int axis) {
    const int64_t at = c->layout == MD_LAYOUT_VEC4  ? 4 * i + axis
                       : c->layout == MD_LAYOUT_AOS ? 3 * i + axis
                                                    : axis * c->n_places + i;
    if (axis >= c->box.dimension) return 0;
    return c->pair_double ? ((const double *)c->place)[at]
                          : ((const uint32_t *)c->place)[at] * 0x1p-32 * c->period[axis];
}

static int64_t cell_number(const MdPairCells *cells, const int at[3]) {
    return ((int64_t)at[2] * cells->n[1] + at[1]) * cells->n[0] + at[0];
}

/* The atom at index i, and its cell. */
static MdCpuPairAtom find_atom(const MdCpuContext *c, int64_t i, int64_t *cell) {
    MdCpuPairAtom atom = {.type = c->type[i], .id = c->id[i], .is_own = i < c->n_atoms};
    int at[3];
    for (int a = 0; a < 3; a++) at[a] = md_pair_cell(&c->pair_count.cells, a, coordinate(c, i, a), &atom.x[a]);
    *cell = cell_number(&c->pair_count.cells, at);
    return atom;
}

static int64_t index_of(const MdCpuContext *c, int64_t k) { return k < c->n_atoms ? k : c->atom_room + k - c->n_atoms; }

/* Of thin domains an atom may have copies on two sides: the second is nowhere. */
static void drop_copies(MdCpuContext *c, int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++)
        for (int64_t other = begin; other < k && !c->pair_atoms[k].is_own; other++)
            if (c->pair_atoms[other].id == c->pair_atoms[k].id) c->pair_atoms[k].x[0] = NAN;
}

/* pair_atoms in the order of cells; those of a cell begin at pair_start. */
static void sort_atoms(MdCpuContext *c) {
    const int64_t n_cells = md_pair_count_cells(&c->pair_count), n = c->n_atoms + c->halo.n_atoms;
    int64_t cell;
    memset(c->pair_start, 0, (size_t)(n_cells + 2) * sizeof *c->pair_start);
    for (int64_t k = 0; k < n; k++) {
        (void)find_atom(c, index_of(c, k), &cell);
        c->pair_start[cell + 2]++;
    }
    for (int64_t k = 2; k < n_cells + 2; k++) c->pair_start[k] += c->pair_start[k - 1];
    for (int64_t k = 0; k < n; k++) {
        const MdCpuPairAtom atom = find_atom(c, index_of(c, k), &cell);
        c->pair_atoms[c->pair_start[cell + 1]++] = atom;
    }
    for (int64_t k = 0; k < n_cells && c->halo.n_atoms > 0; k++) drop_copies(c, c->pair_start[k], c->pair_start[k + 1]);
}

/* Atom i with atoms begin .. end - 1, of a cell whose corner is `shift` from that of its own. A pair with a copy stands in the histogram of
 * another rank as well, and counts once in each. */
static void count_atom(const MdCpuContext *c, const MdCpuPairAtom *i, int64_t begin, int64_t end, const double shift[3],
                       int64_t *counts) {
    const MdPairCount *count = &c->pair_count;
    const double per_width = count->n_bins / count->range, range_sq = count->range * count->range * (1 + 1e-9);
    for (int64_t k = begin; k < end; k++) {
        const MdCpuPairAtom *j = &c->pair_atoms[k];
        double r_sq = 0;
        for (int a = 0; a < 3; a++) {
            const double d = j->x[a] + shift[a] - i->x[a];
            r_sq += d * d;
        }
        if (!(r_sq < range_sq)) continue;
        const int bin = (int)(sqrt(r_sq) * per_width);
        const int kind = count->n_kinds > 1 ? md_pair_kind(i->type, j->type, c->potential.n_types) : 0;
        if (bin < count->n_bins) counts[kind * count->n_bins + bin] += i->is_own + j->is_own;
    }
}

/* Atoms of a cell with each other, and with those of the cells after it. */
static void count_cell(const MdCpuContext *c, const int at[3], int64_t *counts) {
    const MdPairCells *cells = &c->pair_count.cells;
    const int64_t home = cell_number(cells, at), begin = c->pair_start[home], end = c->pair_start[home + 1];
    for (int k = 13; k < 27 && begin < end; k++) { /* 13: itself */
        const int step[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
        int other[3];
        double shift[3];
        if (step[2] > 0 && c->box.dimension == 2) continue;
        for (int a = 0; a < 3; a++) {
            other[a] = (at[a] + step[a] + cells->n[a]) % cells->n[a];
            shift[a] = step[a] * cells->edge[a];
        }
        const int64_t around = cell_number(cells, other);
        for (int64_t i = begin; i < end; i++)
            count_atom(c, &c->pair_atoms[i], k == 13 ? i + 1 : c->pair_start[around], c->pair_start[around + 1], shift,
                       counts);
    }
}

void md_cpu_count_pairs(MdCpuContext *c, int row) {
    const MdPairCells *cells = &c->pair_count.cells;
    const int64_t size = (int64_t)md_pair_count_size(&c->pair_count), n_cells = md_pair_count_cells(&c->pair_count);
    int64_t *counts = c->counted + row * size;
    sort_atoms(c);
    memset(counts, 0, (size_t)size * sizeof *counts);
#pragma omp parallel num_threads(c->n_threads)
    {
        int64_t own[MD_MOST_PAIR_COUNTS];
        memset(own, 0, (size_t)size * sizeof *own);
#pragma omp for schedule(dynamic, 16)
        for (int64_t k = 0; k < n_cells; k++) {
            const int at[3] = {(int)(k % cells->n[0]), (int)(k / cells->n[0] % cells->n[1]),
                               (int)(k / cells->n[0] / cells->n[1])};
            count_cell(c, at, own);
        }
#pragma omp critical
        for (int64_t k = 0; k < size; k++) counts[k] += own[k];
    }
}
