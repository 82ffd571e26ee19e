/* The halo: copies of the atoms in the cells around a domain, from the ranks that own them, in one hop to each of up to 26 sides.
 *
 * At a list each rank finds the atoms of its border cells for each side, and sends their ids, types and positions at the
 * build. Until the next list only pair positions are sent, in the same order, and are received where the pair loops read
 * them: a copy keeps the coordinates that the atom has in the whole box. Cells are sent in the order in which the receiver
 * has them, and the atoms of a cell in the order of their ids, so that nothing is sorted but the cells. */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cpu/context.h"
#include "parallel/rows.h"

static MdCellBox border_of(const MdCpuContext *c, int k) {
    int side[3];
    md_domain_side(k, side);
    return md_domain_border(&c->domain, side);
}

/* The row of cells of a box from (box.begin[0], y, z) on, in global numbers: its slots. */
static int32_t first_slot(const MdCpuContext *c, int32_t x, int32_t y, int32_t z) {
    const int32_t at[3] = {x - c->first_cell[0], y - c->first_cell[1], z - c->first_cell[2]};
    return c->cell_start[md_cpu_cell_number(c, at)];
}

/* Atoms of the border on a side, into out where it is not NULL; returns how many. */
static int32_t list_border(const MdCpuContext *c, const MdCellBox *box, int32_t *out) {
    int32_t n = 0;
    for (int32_t z = box->begin[2]; z < box->end[2]; z++)
        for (int32_t y = box->begin[1]; y < box->end[1]; y++) {
            const int32_t begin = first_slot(c, box->begin[0], y, z), end = first_slot(c, box->end[0], y, z);
            if (out) memcpy(out + n, c->atom_in + begin, (size_t)(end - begin) * sizeof *out);
            n += end - begin;
        }
    return n;
}

static size_t place_bytes(const MdCpuContext *c) {
    const size_t step = c->pair_double ? sizeof(double) : sizeof(int32_t);
    return (c->layout == MD_LAYOUT_VEC4 ? 4 : 3) * step;
}

uint64_t md_cpu_halo_bytes(const MdCpuContext *c) {
    const uint64_t places = place_bytes(c) * (c->layout == MD_LAYOUT_SOA ? 2 : 1);
    return (uint64_t)c->halo_room * (2 * sizeof(int32_t) + places + 2 * md_cpu_row_of_copy(c).bytes);
}

static void *resize(MdCpuContext *c, void *array, int64_t *room, int64_t n, size_t size, const char *what) {
    if (n <= *room) return array;
    md_cpu_release(c, array, *room, size);
    return md_cpu_take(c, *room = n + n / 10, size, what);
}

static void make_room_out(MdCpuContext *c, int64_t n) {
    MdCpuHalo *halo = &c->halo;
    int64_t room = halo->out_room;
    halo->out = resize(c, halo->out, &room, n, sizeof *halo->out, "atoms of the border");
    halo->sent = resize(c, halo->sent, &halo->out_room, n, place_bytes(c), "positions that are sent");
}

static void list_borders(MdCpuContext *c) {
    MdCpuHalo *halo = &c->halo;
    int32_t counts[MD_N_SIDES] = {0};
    for (int k = 0; k < MD_N_SIDES; k++) {
        const MdCellBox box = border_of(c, k);
        if (md_sides_rank(&c->domain, k) >= 0) counts[k] = list_border(c, &box, NULL);
    }
    md_sides_add_up(counts, halo->out_first);
    halo->n_out = halo->out_first[MD_N_SIDES];
    make_room_out(c, halo->n_out);
    for (int k = 0; k < MD_N_SIDES; k++) {
        const MdCellBox box = border_of(c, k);
        if (counts[k] > 0) list_border(c, &box, halo->out + halo->out_first[k]);
    }
}

static void trade_counts(MdCpuContext *c) {
    MdCpuHalo *halo = &c->halo;
    int32_t out[MD_N_SIDES], in[MD_N_SIDES] = {0};
    for (int k = 0; k < MD_N_SIDES; k++) out[k] = halo->out_first[k + 1] - halo->out_first[k];
    md_sides_exchange_each(c->comm, &c->domain, out, in, sizeof *out);
    md_sides_add_up(in, halo->in_first);
    halo->n_atoms = halo->in_first[MD_N_SIDES];
}

/* Starts to send rows of the border, and to receive those of the halo. */
static void begin_exchange(MdCpuContext *c, const char *out, char *in, size_t row_bytes) {
    MdCpuHalo *halo = &c->halo;
    md_sides_begin(c->comm, &c->domain, out, halo->out_first, in, halo->in_first, row_bytes);
    c->statistics.rank.halo_bytes += halo->n_out * (int64_t)row_bytes;
}

/* The cell of a copy from a side, in local numbers: its own one, or that of its image in the halo. */
static int32_t cell_of_copy(const MdCpuContext *c, int64_t i, const MdCellBox *box) {
    int32_t at[3];
    md_cpu_find_cell(c, i, at);
    for (int a = 0; a < 3; a++) {
        at[a] -= c->first_cell[a];
        if (at[a] < box->begin[a]) at[a] += c->grid.n[a];
        else if (at[a] >= box->end[a]) at[a] -= c->grid.n[a];
        md_require(at[a] >= box->begin[a] && at[a] < box->end[a]);
    }
    return md_cpu_cell_number(c, at);
}

static void take_copies(MdCpuContext *c, const MdCpuRow *row, const char *in) {
    MdCpuHalo *halo = &c->halo;
    for (int k = 0; k < MD_N_SIDES; k++) {
        int at[3];
        md_domain_side(k, at);
        const MdCellBox box = md_domain_halo(&c->domain, at);
        for (int64_t copy = halo->in_first[k]; copy < halo->in_first[k + 1]; copy++, in += row->bytes) {
            md_cpu_unpack_row(c, row, c->atom_room + copy, in);
            halo->cell[copy] = cell_of_copy(c, c->atom_room + copy, &box);
        }
    }
    const size_t size = md_number_bytes(MD_NUMBER_STATE, c->precision), first = (size_t)c->atom_room * size;
    for (int a = 0; a < 3; a++) /* one of the two is read, whichever it is by then */
        memcpy((char *)c->built_at[a] + first, (char *)c->position[a] + first, (size_t)halo->n_atoms * size);
}

static void send_copies(MdCpuContext *c) {
    MdCpuHalo *halo = &c->halo;
    const MdCpuRow row = md_cpu_row_of_copy(c);
    char *out = md_alloc((size_t)halo->n_out, row.bytes, "copies that are sent");
    char *in = md_alloc((size_t)halo->n_atoms, row.bytes, "copies that are received");
    for (int64_t k = 0; k < halo->n_out; k++) md_cpu_pack_row(c, &row, halo->out[k], out + (size_t)k * row.bytes);
    begin_exchange(c, out, in, row.bytes);
    md_comm_end(c->comm);
    take_copies(c, &row, in);
    md_free(out);
    md_free(in);
}

static void find_halo(MdCpuContext *c) {
    MdCpuHalo *halo = &c->halo;
    list_borders(c);
    trade_counts(c);
    md_cpu_make_room(c, 0, halo->n_atoms, 0);
    halo->cell = resize(c, halo->cell, &halo->cell_room, halo->n_atoms, sizeof *halo->cell, "cells of the halo");
    send_copies(c);
    md_cpu_number_slots(c);
    halo->is_stale = false;
}

/* Whether the list of an atom of the cell reaches into the halo. */
static bool is_at_border(const MdCpuContext *c, int32_t cell) {
    const int32_t nx = c->n_cells[0], ny = c->n_cells[1], at[3] = {cell % nx, cell / nx % ny, cell / nx / ny};
    bool border = false;
    for (int a = 0; a < 3; a++) {
        const int32_t halo = c->domain.halo[a];
        border |= halo > 0 && (at[a] < 2 * halo || at[a] >= c->n_cells[a] - 2 * halo);
    }
    return border;
}

static void order_blocks(MdCpuContext *c) {
    int64_t n = 0;
    for (int border = 0; border < 2; border++) {
        for (int64_t block = 0; block < c->n_blocks; block++) {
            const int64_t begin = block * MD_CPU_BLOCK, past = begin + MD_CPU_BLOCK;
            bool is_border = false;
            for (int64_t i = begin; md_cpu_has_ranks(c) && i < past && i < c->n_atoms; i++)
                is_border |= is_at_border(c, c->cell[i]);
            if (is_border == (border == 1)) c->block_order[n++] = (int32_t)block;
        }
        if (border == 0) c->n_interior = n;
    }
}

static void exchange_timed(MdCpuContext *c, void (*part)(MdCpuContext *c)) {
    const double start_s = md_clock_s();
    part(c);
    c->statistics.rank.exchange_seconds += md_clock_s() - start_s;
}

void md_cpu_arrange_atoms(MdCpuContext *c) {
    md_cpu_divide_grid(c);
    md_cpu_make_room(c, c->n_atoms, 0, md_cpu_count_cells(c));
    if (md_cpu_has_ranks(c)) exchange_timed(c, md_cpu_migrate);
    md_cpu_sort_atoms(c);
    if (md_cpu_has_ranks(c)) exchange_timed(c, find_halo);
    order_blocks(c);
}

/* --- at each step --------------------------------------------------------------------------------------------------- */

/* Entries of `size` bytes, a constant where this is called. */
static inline void pack_entries(const MdCpuContext *c, const char *from, char *to, size_t size, size_t row,
                                size_t column) {
    const int32_t *const out = c->halo.out;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t k = 0; k < c->halo.n_out; k++)
        memcpy(to + (size_t)k * row + column, from + (size_t)out[k] * size, size);
}

static void pack_places(const MdCpuContext *c) {
    const char *place = c->place;
    const size_t row = place_bytes(c), step = c->pair_double ? sizeof(double) : sizeof(int32_t);
    char *sent = c->halo.sent;
    if (c->layout == MD_LAYOUT_SOA) {
        for (size_t a = 0; a < 3; a++, place += (size_t)c->n_places * step) {
            if (step == 8) pack_entries(c, place, sent, 8, row, a * step);
            else pack_entries(c, place, sent, 4, row, a * step);
        }
    } else if (row == 16) pack_entries(c, place, sent, 16, row, 0);
    else if (row == 32) pack_entries(c, place, sent, 32, row, 0);
    else if (row == 12) pack_entries(c, place, sent, 12, row, 0);
    else pack_entries(c, place, sent, 24, row, 0);
}

/* Into the three arrays of memory.layout = soa; the other layouts receive rows where they stay. */
static void unpack_places(const MdCpuContext *c) {
    const size_t step = c->pair_double ? sizeof(double) : sizeof(int32_t);
    const char *row = c->halo.received;
    char *to = (char *)c->place + (size_t)c->atom_room * step;
    for (int64_t k = 0; k < c->halo.n_atoms; k++, row += 3 * step, to += step)
        for (size_t a = 0; a < 3; a++) memcpy(to + a * (size_t)c->n_places * step, row + a * step, step);
}

static void begin_places(MdCpuContext *c) {
    MdCpuHalo *halo = &c->halo;
    const size_t row = place_bytes(c);
    const bool rows_stay = c->layout != MD_LAYOUT_SOA;
    if (!rows_stay)
        halo->received =
            resize(c, halo->received, &halo->received_room, halo->n_atoms, row, "positions that are received");
    pack_places(c);
    begin_exchange(c, halo->sent, rows_stay ? (char *)c->place + (size_t)c->atom_room * row : halo->received, row);
}

static void end_places(MdCpuContext *c) {
    md_comm_end(c->comm);
    if (c->layout == MD_LAYOUT_SOA) unpack_places(c);
    c->halo.is_stale = false;
}

void md_cpu_begin_halo(MdCpuContext *c) { exchange_timed(c, begin_places); }
void md_cpu_end_halo(MdCpuContext *c) { exchange_timed(c, end_places); }

static void begin_slopes(MdCpuContext *c) {
    const size_t size = c->pair_double ? sizeof(double) : sizeof(float);
    pack_entries(c, c->slope, c->halo.sent, size, size, 0);
    begin_exchange(c, c->halo.sent, (char *)c->slope + (size_t)c->atom_room * size, size);
}
static void end_slopes(MdCpuContext *c) { md_comm_end(c->comm); }

void md_cpu_begin_slopes(MdCpuContext *c) { exchange_timed(c, begin_slopes); }
void md_cpu_end_slopes(MdCpuContext *c) { exchange_timed(c, end_slopes); }

void md_cpu_free_halo(MdCpuContext *c) {
    md_free(c->halo.out);
    md_free(c->halo.sent);
    md_free(c->halo.received);
    md_free(c->halo.cell);
}
