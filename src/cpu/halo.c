/* The halo: copies of the atoms in the cells around a domain, from the ranks that own them, in one hop to each of up to 26 sides.
 *
 * At a list each rank finds the atoms of its border cells for each side, and sends who they are and where they were at the
 * build. Until the next list only their places travel, in the same order, and are received where the pair loops read
 * them: a copy keeps the coordinates that the atom has in the whole box. Cells are sent in the order in which the receiver
 * has them, and the atoms of a cell in the order of their ids, so that nothing is sorted but the cells. */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cpu/context.h"

/* An atom as its copies are made of it. */
typedef struct Copy {
    int32_t id, type;
    double position[3];
} Copy;

static void find_sides(MdCpuContext *c) {
    MdCpuHalo *halo = &c->halo;
    halo->n_sides = 0;
    for (int k = 0; k < MD_N_SIDES; k++) {
        int side[3];
        md_domain_side(k, side);
        const int rank = k == MD_SIDE_SELF ? -1 : md_domain_neighbor(&c->domain, side);
        if (rank >= 0) halo->sides[halo->n_sides++] = (MdCpuSide){.rank = rank, .side = k};
    }
}

static MdCellBox border_of(const MdCpuContext *c, int k) {
    int side[3];
    md_domain_side(k, side);
    return md_domain_border(&c->domain, side);
}

/* The row of cells of a box from (box.begin[0], y, z) on, in global numbers: its slots. */
static int64_t first_slot(const MdCpuContext *c, int32_t x, int32_t y, int32_t z) {
    const int32_t at[3] = {x - c->first_cell[0], y - c->first_cell[1], z - c->first_cell[2]};
    return c->cell_start[md_cpu_cell_number(c, at)];
}

/* Atoms of the border on a side, into out where it is not NULL; returns how many. */
static int64_t list_border(const MdCpuContext *c, const MdCellBox *box, int32_t *out) {
    int64_t n = 0;
    for (int32_t z = box->begin[2]; z < box->end[2]; z++)
        for (int32_t y = box->begin[1]; y < box->end[1]; y++) {
            const int64_t begin = first_slot(c, box->begin[0], y, z), end = first_slot(c, box->end[0], y, z);
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
    return (uint64_t)c->halo_room * (2 * sizeof(int32_t) + places + 2 * sizeof(Copy));
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
    halo->sent = resize(c, halo->sent, &halo->out_room, n, place_bytes(c), "places that are sent");
}

static void list_borders(MdCpuContext *c) {
    MdCpuHalo *halo = &c->halo;
    halo->n_out = 0;
    for (int s = 0; s < halo->n_sides; s++) {
        const MdCellBox box = border_of(c, halo->sides[s].side);
        halo->n_out += halo->sides[s].n_out = list_border(c, &box, NULL);
    }
    make_room_out(c, halo->n_out);
    int32_t *out = halo->out;
    for (int s = 0; s < halo->n_sides; out += halo->sides[s].n_out, s++) {
        const MdCellBox box = border_of(c, halo->sides[s].side);
        list_border(c, &box, halo->sides[s].out = out);
    }
}

/* Rows of n_out and n_in of each side, from `out` and into `in`. Two ranks may be neighbours on several sides: the tag is the side of the
 * sender. */
static void begin_exchange(MdCpuContext *c, char *out, char *in, size_t row_bytes) {
    MdCpuHalo *halo = &c->halo;
    MdMessage messages[2 * MD_N_SIDES];
    int n = 0;
    for (int s = 0; s < halo->n_sides; s++) {
        const MdCpuSide *side = &halo->sides[s];
        const int64_t out_bytes = side->n_out * (int64_t)row_bytes, in_bytes = side->n_in * (int64_t)row_bytes;
        messages[n++] =
            (MdMessage){.rank = side->rank, .tag = MD_N_SIDES - 1 - side->side, .data = in, .bytes = in_bytes};
        messages[n++] =
            (MdMessage){.rank = side->rank, .tag = side->side, .is_sent = true, .data = out, .bytes = out_bytes};
        out += out_bytes;
        in += in_bytes;
        c->statistics.rank.halo_bytes += out_bytes;
    }
    md_comm_begin(c->comm, messages, n);
}

static void exchange(MdCpuContext *c, void *out, void *in, size_t row_bytes) {
    begin_exchange(c, out, in, row_bytes);
    md_comm_end(c->comm);
}

static void trade_counts(MdCpuContext *c) {
    MdCpuHalo *halo = &c->halo;
    int64_t out[MD_N_SIDES], in[MD_N_SIDES], first = c->atom_room;
    for (int s = 0; s < halo->n_sides; s++) out[s] = halo->sides[s].n_out;
    for (int s = 0; s < halo->n_sides; s++) halo->sides[s].n_out = halo->sides[s].n_in = 1;
    exchange(c, out, in, sizeof *out);
    for (int s = 0; s < halo->n_sides; s++) {
        halo->sides[s].n_out = out[s];
        halo->sides[s].n_in = in[s];
        halo->sides[s].first_in = first;
        first += in[s];
    }
    halo->n_atoms = first - c->atom_room;
}

static void put_state(const MdCpuContext *c, void *array, int64_t i, double value) {
    if (c->state_double) ((double *)array)[i] = value;
    else ((float *)array)[i] = (float)value;
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

static void take_copies(MdCpuContext *c, const Copy *in) {
    MdCpuHalo *halo = &c->halo;
    for (int s = 0; s < halo->n_sides; s++) {
        int at[3];
        md_domain_side(halo->sides[s].side, at);
        const MdCellBox box = md_domain_halo(&c->domain, at);
        for (int64_t k = 0; k < halo->sides[s].n_in; k++, in++) {
            const int64_t i = halo->sides[s].first_in + k;
            c->id[i] = in->id;
            c->type[i] = in->type;
            for (int a = 0; a < 3; a++) {
                put_state(c, c->position[a], i, in->position[a]);
                put_state(c, c->built_at[a], i, in->position[a]); /* one of the two is read, whichever it is by then */
            }
            halo->cell[i - c->atom_room] = cell_of_copy(c, i, &box);
        }
    }
}

static void send_copies(MdCpuContext *c) {
    MdCpuHalo *halo = &c->halo;
    Copy *out = md_alloc((size_t)halo->n_out, sizeof *out, "copies that are sent");
    Copy *in = md_alloc((size_t)halo->n_atoms, sizeof *in, "copies that are received");
    for (int64_t k = 0; k < halo->n_out; k++) {
        const int64_t i = halo->out[k];
        out[k] = (Copy){.id = c->id[i], .type = c->type[i]};
        for (int a = 0; a < 3; a++) out[k].position[a] = md_cpu_state(c, c->position, a, i);
    }
    exchange(c, out, in, sizeof *out);
    take_copies(c, in);
    md_free(out);
    md_free(in);
}

static void find_halo(MdCpuContext *c) {
    MdCpuHalo *halo = &c->halo;
    find_sides(c);
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
            resize(c, halo->received, &halo->received_room, halo->n_atoms, row, "places that are received");
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

void md_cpu_free_halo(MdCpuContext *c) {
    md_free(c->halo.out);
    md_free(c->halo.sent);
    md_free(c->halo.received);
    md_free(c->halo.cell);
}
