/* Atoms go to the rank that owns the cell of their place, as far away as it may be: at the first list those of a block of ids to
 * wherever they start, later the few that have crossed a border. They bring all that is known of them. */
#include <string.h>

#include "base/memory.h"
#include "cpu/context.h"

typedef struct Column {
    void **array;
    size_t size; /* of an entry */
} Column;

enum { MOST_COLUMNS = 20 };

static int find_columns(MdCpuContext *c, Column columns[MOST_COLUMNS], size_t *row_bytes) {
    const size_t state = c->state_double ? sizeof(double) : sizeof(float);
    const size_t pair = c->pair_double ? sizeof(double) : sizeof(float);
    int n = 0;
    for (int a = 0; a < 3; a++) {
        columns[n++] = (Column){&c->position[a], state};
        columns[n++] = (Column){&c->velocity[a], state};
        columns[n++] = (Column){&c->built_at[a], state};
        columns[n++] = (Column){(void **)&c->image[a], sizeof(int32_t)};
        if (c->moves_forces) columns[n++] = (Column){&c->force[a], pair};
    }
    columns[n++] = (Column){(void **)&c->type, sizeof(int32_t)};
    columns[n++] = (Column){(void **)&c->id, sizeof(int32_t)};
    *row_bytes = 0;
    for (int k = 0; k < n; k++) *row_bytes += columns[k].size;
    return n;
}

uint64_t md_cpu_migrate_bytes(MdCpuContext *c) {
    Column columns[MOST_COLUMNS];
    size_t row_bytes;
    find_columns(c, columns, &row_bytes);
    return 2 * (uint64_t)c->n_atoms * row_bytes;
}

static char *entry(const Column *column, int64_t i) { return (char *)*column->array + (size_t)i * column->size; }

static void pack_row(const Column *columns, int n, int64_t i, char *row) {
    for (int k = 0; k < n; row += columns[k].size, k++) memcpy(row, entry(&columns[k], i), columns[k].size);
}

static void unpack_row(const Column *columns, int n, int64_t i, const char *row) {
    for (int k = 0; k < n; row += columns[k].size, k++) memcpy(entry(&columns[k], i), row, columns[k].size);
}

/* slot_of becomes the rank that owns the place of each atom. */
static void find_owners(MdCpuContext *c) {
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t i = 0; i < c->n_atoms; i++) {
        int32_t at[3];
        md_cpu_find_cell(c, i, at);
        bool own = true;
        for (int a = 0; a < 3; a++) own = own && at[a] >= c->domain.begin[a] && at[a] < c->domain.end[a];
        c->slot_of[i] = own ? c->domain.rank : md_domain_owner(&c->domain, at);
    }
}

/* Rows of the atoms that leave, by rank; the last atoms take their places. Returns the rows, from md_alloc. */
static char *take_out(MdCpuContext *c, const Column *columns, int n_columns, size_t row_bytes, int64_t *out_bytes) {
    const int size = md_comm_size(c->comm), own = c->domain.rank;
    char **next = md_alloc((size_t)size, sizeof *next, "atoms that leave");
    int64_t n_out = 0;
    for (int64_t i = 0; i < c->n_atoms; i++) {
        if (c->slot_of[i] == own) continue;
        out_bytes[c->slot_of[i]] += (int64_t)row_bytes;
        n_out++;
    }
    char *rows = md_alloc((size_t)n_out, row_bytes, "atoms that leave"), *end = rows;
    for (int rank = 0; rank < size; end += out_bytes[rank], rank++) next[rank] = end;
    for (int64_t i = 0; i < c->n_atoms; i++) {
        if (c->slot_of[i] == own) continue;
        pack_row(columns, n_columns, i, next[c->slot_of[i]]);
        next[c->slot_of[i]] += row_bytes;
    }
    int64_t n = c->n_atoms;
    for (int64_t i = 0; i < n; i++) {
        if (c->slot_of[i] == own) continue;
        while (--n > i && c->slot_of[n] != own) {}
        if (n == i) break;
        for (int k = 0; k < n_columns; k++) memcpy(entry(&columns[k], i), entry(&columns[k], n), columns[k].size);
    }
    md_cpu_set_atoms(c, c->n_atoms - n_out);
    c->statistics.rank.n_migrated += n_out;
    md_free(next);
    return rows;
}

/* Padding takes part in vector loops: set to zero. */
static void clear_padding(MdCpuContext *c, const Column *columns, int n_columns) {
    for (int k = 0; k < n_columns; k++)
        memset(entry(&columns[k], c->n_atoms), 0, (size_t)(c->n_padded - c->n_atoms) * columns[k].size);
}

void md_cpu_migrate(MdCpuContext *c) {
    const int size = md_comm_size(c->comm);
    Column columns[MOST_COLUMNS];
    size_t row_bytes;
    const int n_columns = find_columns(c, columns, &row_bytes);
    int64_t *out_bytes = md_alloc(2 * (size_t)size, sizeof *out_bytes, "atoms that leave"),
            *in_bytes = out_bytes + size;
    c->halo.n_atoms = 0;
    find_owners(c);
    char *out = take_out(c, columns, n_columns, row_bytes, out_bytes);
    char *in = md_comm_alltoallv(c->comm, out, out_bytes, in_bytes);
    int64_t n_in = 0;
    for (int rank = 0; rank < size; rank++) n_in += in_bytes[rank] / (int64_t)row_bytes;
    const int64_t first = c->n_atoms;
    md_cpu_make_room(c, first + n_in, 0, 0);
    for (int64_t k = 0; k < n_in; k++) unpack_row(columns, n_columns, first + k, in + (size_t)k * row_bytes);
    md_cpu_set_atoms(c, first + n_in);
    clear_padding(c, columns, n_columns);
    md_free(in);
    md_free(out);
    md_free(out_bytes);
}
