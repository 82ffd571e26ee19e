/* The order of memory, and the cells of the atoms: counting sorts, and in a cell by id, so that the order depends only
 * on the positions of the atoms.
 *
 *   none      memory stays as it is; slots, in the order of cells, list the atoms of each cell
 *   cell      memory in the order of cells, row by row of the box: slots and memory are one
 *   morton    memory along the Z curve through cubes of cells: each stretch of memory is compact in space, jumps remain
 *   hilbert   along the Hilbert curve, which has no jumps
 *
 * The search wants rows of cells one after the other, so that slots always go row by row: along a curve the atoms are
 * sorted twice, by the rank of their cell in memory and by its number in slots. Ranks hold as long as the grid does.
 *
 * Of several processes each sorts the atoms of its domain, and then gets copies of those around it: these have slots, but
 * are not part of the order of memory. */
#include <stdlib.h>
#include <string.h>

#include "cpu/context.h"
#include "physics/curve.h"

/* size is a constant where this is called. */
static inline void copy_in_order(const MdCpuContext *c, const char *from, char *to, size_t size) {
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t slot = 0; slot < c->n_atoms; slot++)
        memcpy(to + (size_t)slot * size, from + (size_t)c->atom_in[slot] * size, size);
}

/* array[slot] = old array[atom_in[slot]], through a scratch array that replaces the old one. */
static void *reorder(MdCpuContext *c, void *array, size_t size) {
    void **scratch = size == 8 ? &c->scratch_double : &c->scratch_word;
    char *to = *scratch;
    if (size == 8) copy_in_order(c, array, to, 8);
    else copy_in_order(c, array, to, 4);
    memset(to + (size_t)c->n_atoms * size, 0, (size_t)(c->n_padded - c->n_atoms) * size);
    *scratch = array;
    return to;
}

static void reorder_memory(MdCpuContext *c) {
    for (int k = 0; k < MD_CPU_N_ARRAYS; k++)
        if (md_cpu_moves(c, k)) c->arrays[k] = reorder(c, c->arrays[k], md_cpu_number_bytes(c, k));
    /* Entries after the end of a row may be the index of any entry, and its type is looked up. */
    memset(c->type + c->n_atoms, 0, (size_t)(c->n_places - c->n_atoms) * sizeof *c->type);
    c->cell = reorder(c, c->cell, sizeof *c->cell);
    for (int64_t slot = 0; slot < c->n_atoms; slot++) c->atom_in[slot] = c->slot_of[slot] = (int32_t)slot;
}

/* Slots of a cell in the order of ids: by insertion, as most are in order from the last time. */
static void sort_by_id(MdCpuContext *c, int32_t start, int32_t end) {
    int32_t *atom = c->atom_in;
    for (int32_t slot = start + 1; slot < end; slot++) {
        const int32_t i = atom[slot];
        int32_t to = slot;
        for (; to > start && c->id[atom[to - 1]] > c->id[i]; to--) atom[to] = atom[to - 1];
        atom[to] = i;
    }
}

/* atom_in, of own atoms and copies, in the order of key[cell], or of the cells themselves; start afterwards holds where each
 * begins. */
static void count_sort(MdCpuContext *c, const int32_t *key) {
    const int64_t n_cells = md_cpu_count_cells(c);
    const struct { int64_t begin, end; } parts[2] = {{0, c->n_atoms}, {c->atom_room, c->atom_room + c->halo.n_atoms}};
    int32_t *start = c->cell_start;
    memset(start, 0, (size_t)(n_cells + 1) * sizeof *start);
    for (int p = 0; p < 2; p++)
        for (int64_t i = parts[p].begin; i < parts[p].end; i++) start[(key ? key[c->cell[i]] : c->cell[i]) + 1]++;
    for (int64_t k = 0; k < n_cells; k++) start[k + 1] += start[k];
    /* start[k] moves through cell k as it fills, and ends where k + 1 began: shift back by one afterwards. */
    for (int p = 0; p < 2; p++)
        for (int64_t i = parts[p].begin; i < parts[p].end; i++)
            c->atom_in[start[key ? key[c->cell[i]] : c->cell[i]]++] = (int32_t)i;
    memmove(start + 1, start, (size_t)n_cells * sizeof *start);
    start[0] = 0;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t k = 0; k < n_cells; k++) sort_by_id(c, start[k], start[k + 1]);
}

/* slot_of of the atoms in the slots. */
static void number_slots(MdCpuContext *c) {
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t slot = 0; slot < c->n_atoms + c->halo.n_atoms; slot++) c->slot_of[c->atom_in[slot]] = (int32_t)slot;
}

/* By key; the thin cells of one cube, which share it, along x. */
static int compare_ranked(const void *a, const void *b) {
    const MdCpuRanked *left = a, *right = b;
    if (left->key != right->key) return left->key < right->key ? -1 : 1;
    return (left->cell > right->cell) - (left->cell < right->cell);
}

static void rank_cells(MdCpuContext *c) {
    const int32_t *n = c->n_cells, reach = c->grid.reach[0], thin = reach > 1 ? reach : 1;
    if (memcmp(n, c->ranked_cells, sizeof c->ranked_cells) == 0 && reach == c->ranked_reach) return;
    const int32_t n_cells = (int32_t)md_cpu_count_cells(c);
    int32_t longest = n[0] / thin + 1;
    for (int a = 1; a < 3; a++) longest = n[a] > longest ? n[a] : longest;
    const int bits = md_curve_bits((uint32_t)longest);
    for (int32_t cell = 0; cell < n_cells; cell++) {
        const uint32_t x = (uint32_t)(cell % n[0] / thin), y = (uint32_t)(cell / n[0] % n[1]);
        const uint32_t z = (uint32_t)(cell / n[0] / n[1]);
        const uint64_t key =
            c->sort == MD_SORT_MORTON ? md_curve_morton(x, y, z) : md_curve_hilbert(c->box.dimension, bits, x, y, z);
        c->ranked[cell] = (MdCpuRanked){key, cell};
    }
    qsort(c->ranked, (size_t)n_cells, sizeof *c->ranked, compare_ranked);
    for (int32_t place = 0; place < n_cells; place++) c->rank[c->ranked[place].cell] = place;
    memcpy(c->ranked_cells, n, sizeof c->ranked_cells);
    c->ranked_reach = reach;
}

/* The cell of each own atom. */
static void assign_cells(MdCpuContext *c) {
    if (c->sort == MD_SORT_NONE && c->search == MD_SEARCH_BRUTE) return;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t i = 0; i < c->n_atoms; i++) {
        int32_t at[3];
        md_cpu_find_cell(c, i, at);
        for (int a = 0; a < 3; a++) at[a] -= c->first_cell[a];
        c->cell[i] = md_cpu_cell_number(c, at);
    }
}

/* Slots for the search; without cells, memory as it lies. */
static void assign_slots(MdCpuContext *c) {
    if (c->search == MD_SEARCH_CELL) count_sort(c, NULL);
    else
        for (int64_t slot = 0; slot < c->n_atoms; slot++) c->atom_in[slot] = (int32_t)slot;
    number_slots(c);
}

void md_cpu_sort_atoms(MdCpuContext *c) {
    assign_cells(c);
    if (c->sort == MD_SORT_CELL) {
        count_sort(c, NULL);
        reorder_memory(c); /* and slots are memory */
    } else if (c->sort != MD_SORT_NONE) {
        rank_cells(c);
        count_sort(c, c->rank);
        reorder_memory(c);
    }
    if (c->sort != MD_SORT_CELL) assign_slots(c);
}

void md_cpu_trade_places(MdCpuContext *c) {
    for (int a = 0; a < 3; a++) {
        void *place = c->built_at[a];
        c->built_at[a] = c->position[a];
        c->position[a] = place;
    }
}

void md_cpu_number_slots(MdCpuContext *c) {
    for (int64_t k = 0; k < c->halo.n_atoms; k++) c->cell[c->atom_room + k] = c->halo.cell[k];
    count_sort(c, NULL);
    number_slots(c);
}

void md_cpu_find_cells(MdCpuContext *c) {
    assign_cells(c);
    if (md_cpu_has_ranks(c)) md_cpu_number_slots(c);
    else assign_slots(c);
}
