/* Sends atoms to the rank that owns the cell of their position, at any distance: at the first list the atoms of a block of ids to
 * their domains, later the few that have crossed a border. All columns of an atom go with it. */

#include "base/memory.h"
#include "cpu/context.h"
#include "parallel/rows.h"

uint64_t md_cpu_migrate_bytes(MdCpuContext *c) { return 2 * (uint64_t)c->n_atoms * md_cpu_row_of_atom(c).bytes; }

/* slot_of becomes the rank that owns the position of each atom that leaves, or -1. */
static void find_owners(MdCpuContext *c) {
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t i = 0; i < c->n_atoms; i++) {
        int32_t at[3];
        md_cpu_find_cell(c, i, at);
        bool own = true;
        for (int a = 0; a < 3; a++) own = own && at[a] >= c->domain.begin[a] && at[a] < c->domain.end[a];
        c->slot_of[i] = own ? -1 : md_domain_owner(&c->domain, at);
    }
}

/* The last atoms fill the gaps of those that leave. */
static void close_gaps(MdCpuContext *c, const MdCpuRow *row) {
    int64_t n = c->n_atoms;
    char last[MD_CPU_N_ARRAYS * sizeof(double)];
    for (int64_t i = 0; i < n; i++) {
        if (c->slot_of[i] < 0) continue;
        while (--n > i && c->slot_of[n] >= 0) {}
        if (n == i) break;
        md_cpu_pack_row(c, row, n, last);
        md_cpu_unpack_row(c, row, i, last);
    }
}

/* Padding takes part in vector loops: set to zero. */
static void clear_padding(MdCpuContext *c, const MdCpuRow *row) {
    const char zeros[MD_CPU_N_ARRAYS * sizeof(double)] = {0};
    for (int64_t i = c->n_atoms; i < c->n_padded; i++) md_cpu_unpack_row(c, row, i, zeros);
}

void md_cpu_migrate(MdCpuContext *c) {
    const MdCpuRow row = md_cpu_row_of_atom(c);
    c->halo.n_atoms = 0;
    find_owners(c);
    MdDeal deal = md_deal_create(c->comm, c->slot_of, c->n_atoms);
    char *out = md_alloc((size_t)deal.n_out, row.bytes, "atoms that leave");
    for (int64_t k = 0; k < deal.n_out; k++) md_cpu_pack_row(c, &row, deal.order[k], out + (size_t)k * row.bytes);
    char *in = md_deal_ordered(&deal, out, row.bytes);
    close_gaps(c, &row);
    const int64_t n_stay = c->n_atoms - deal.n_out, n = n_stay + deal.n_in;
    md_cpu_set_atoms(c, n_stay);
    md_cpu_make_room(c, n, 0, 0);
    for (int64_t k = 0; k < deal.n_in; k++) md_cpu_unpack_row(c, &row, n_stay + k, in + (size_t)k * row.bytes);
    md_cpu_set_atoms(c, n);
    clear_padding(c, &row);
    c->statistics.rank.n_migrated += deal.n_out;
    md_deal_destroy(&deal);
    md_free(in);
    md_free(out);
}
