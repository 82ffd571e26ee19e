/* The particles of a restart file: each process reads some rows, and gets the fixed columns of these and the positions of its block of
 * ids. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/range.h"
#include "checkpoint/file.h"
#include "parallel/rows.h"

/* For each row the process that has the id; -1: none. */
static int32_t *find_owners(const MdSystem *system, const int32_t *ids) {
    int32_t *owner = md_alloc((size_t)system->n_own, sizeof *owner, "owners of rows");
    for (int64_t i = 0; i < system->n_own; i++) {
        const bool is_good = ids[i] >= 0 && ids[i] < system->n_atoms;
        owner[i] = is_good ? md_block_owner(system->n_atoms, ids[i], md_comm_size(system->comm)) : -1;
    }
    return owner;
}

/* Takes the positions of this block from rows; each id must come once. Returns how many are missing or come twice. */
static int64_t take_places(MdSystem *system, const int32_t *ids, const double *places, int64_t n) {
    char *seen = md_alloc((size_t)system->n_own, 1, "ids");
    int64_t n_bad = system->n_own - n;
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = ids[k] - system->first;
        if (seen[row]) n_bad++;
        seen[row] = 1;
        memcpy(system->position + 3 * row, places + 3 * k, 3 * sizeof *places);
    }
    md_free(seen);
    return n_bad < 0 ? -n_bad : n_bad;
}

/* A fixed column of this block, to the rows of the ids that came. */
static void *return_fixed(const MdSystem *system, const MdDeal *deal, const int32_t *ids, int column) {
    const size_t bytes = md_system_column_bytes(column);
    const char *own = md_system_column(system, column);
    char *rows = md_alloc((size_t)deal->n_in, bytes, md_columns[column].what);
    for (int64_t k = 0; k < deal->n_in; k++)
        memcpy(rows + (size_t)k * bytes, own + (size_t)(ids[k] - system->first) * bytes, bytes);
    void *fixed = md_deal_back(deal, rows, bytes);
    md_free(rows);
    return fixed;
}

/* They are used as indices. */
static MdStatus check_types(const MdCheckpoint *c, const MdSystem *system, MdErrors *errors) {
    for (int64_t i = 0; i < system->n_own; i++)
        if (system->type[i] < 0 || system->type[i] >= system->potential.n_types)
            return md_fail(errors, MD_ERROR_INPUT, "%s: types are not 1 to %d: particle %lld has type %lld", c->path,
                           system->potential.n_types, (long long)(system->first + i), (long long)system->type[i] + 1);
    return MD_OK;
}

/* Fixed columns of the rows of the file that this process reads, and positions of its block. ids are used as indices: each must be there
 * once. */
static MdStatus trade_rows(MdCheckpoint *c, MdSystem *system, const int32_t *ids, const double *places,
                           MdErrors *errors) {
    int32_t *owner = find_owners(system, ids);
    MdDeal deal = md_deal_create(system->comm, owner, system->n_own);
    int32_t *ids_in = md_deal_rows(&deal, ids, sizeof *ids);
    double *places_in = md_deal_rows(&deal, places, 3 * sizeof *places);
    int64_t n_bad[1] = {take_places(system, ids_in, places_in, deal.n_in)};
    for (int k = 0; k < MD_N_COLUMNS; k++)
        if (md_columns[k].traits & MD_COLUMN_FIXED) c->fixed[k] = return_fixed(system, &deal, ids_in, k);
    md_deal_destroy(&deal);
    md_free(owner);
    md_free(ids_in);
    md_free(places_in);
    md_comm_add_integers(system->comm, n_bad, 1);
    if (n_bad[0] == 0) return MD_OK;
    return md_fail(errors, MD_ERROR_INPUT, "%s: ids are not 0 to %lld", c->path, (long long)system->n_atoms - 1);
}

MdStatus md_checkpoint_find_rows(MdRestart *file, const MdSystem *system, const char *name, uint64_t row_bytes) {
    MdStatus status = md_restart_find(file, name, (uint64_t)system->n_atoms * row_bytes);
    return status == MD_OK ? md_restart_skip(file, (uint64_t)system->first * row_bytes) : status;
}

/* Begins with the vectors of a section, of which read_vector gives one after the other. *size: of a number. */
static MdStatus find_vectors(MdCheckpoint *c, const MdSystem *system, const char *name, size_t *size) {
    const uint64_t bytes = md_restart_bytes(c->file, name);
    *size = bytes == 3 * (uint64_t)system->n_atoms * sizeof(float) ? sizeof(float) : sizeof(double);
    return md_checkpoint_find_rows(c->file, system, name, 3 * *size);
}

static MdStatus read_vector(MdCheckpoint *c, size_t size, double vector[3]) {
    float single[3] = {0};
    if (size == sizeof(double)) return md_restart_read(c->file, vector, 3 * size);
    const MdStatus status = md_restart_read(c->file, single, sizeof single);
    for (int a = 0; a < 3; a++) vector[a] = (double)single[a];
    return status;
}

MdStatus md_checkpoint_kinetic(MdCheckpoint *c, const MdSystem *system, double *kinetic) {
    const int32_t *type = c->fixed[MD_COLUMN_type];
    double sums[5] = {0}; /* kinetic energy, momentum, mass */
    size_t size;
    MdStatus status = find_vectors(c, system, "velocity", &size);
    for (int64_t i = 0; status == MD_OK && i < system->n_own; i++) {
        double v[3];
        const double mass = system->mass[type[i]];
        status = read_vector(c, size, v);
        sums[0] += 0.5 * mass * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        for (int a = 0; a < 3; a++) sums[1 + a] += mass * v[a];
        sums[4] += mass;
    }
    md_comm_add_doubles(system->comm, sums, 5);
    *kinetic = sums[0] - (sums[1] * sums[1] + sums[2] * sums[2] + sums[3] * sums[3]) / (2 * sums[4]);
    return status;
}

static MdStatus read_places(MdCheckpoint *c, const MdSystem *system, double *places, MdErrors *errors) {
    size_t size;
    MdStatus status = find_vectors(c, system, "position", &size);
    for (int64_t i = 0; status == MD_OK && i < system->n_own; i++) {
        double *place = places + 3 * i;
        status = read_vector(c, size, place);
        const MdRange ranges[] = {
            {"x", place[0], -1e15, 1e15}, {"y", place[1], -1e15, 1e15}, {"z", place[2], -1e15, 1e15}};
        if (status == MD_OK) status = MD_RANGE_CHECK(ranges, c->path, errors);
    }
    return status;
}

static MdStatus read_fixed(MdCheckpoint *c, const MdSystem *system) {
    MdStatus status = MD_OK;
    for (int k = 0; k < MD_N_COLUMNS && status == MD_OK; k++) {
        const size_t bytes = md_system_column_bytes(k);
        if (!(md_columns[k].traits & MD_COLUMN_FIXED)) continue;
        status = md_checkpoint_find_rows(c->file, system, md_columns[k].name, bytes);
        if (status == MD_OK)
            status = md_restart_read(c->file, md_system_column(system, k), (uint64_t)system->n_own * bytes);
    }
    return status;
}

MdSystem *md_checkpoint_system(MdCheckpoint *c, const MdSystemPlan *plan, MdErrors *errors) {
    MdSystem *system = md_system_allocate(plan, c->system.mass);
    const uint64_t n = (uint64_t)system->n_own;
    int32_t *ids = md_alloc(n, sizeof *ids, "ids");
    double *places = md_alloc(3 * n, sizeof *places, "positions of rows");
    MdStatus status = read_fixed(c, system);
    if (status == MD_OK) status = check_types(c, system, errors);
    if (status == MD_OK) status = md_checkpoint_find_rows(c->file, system, "id", sizeof *ids);
    if (status == MD_OK) status = md_restart_read(c->file, ids, n * sizeof *ids);
    if (status == MD_OK) status = read_places(c, system, places, errors);
    status = md_comm_worst_status(plan->comm, status, errors);
    if (status == MD_OK) status = trade_rows(c, system, ids, places, errors);
    md_free(ids);
    md_free(places);
    if (status == MD_OK) return system;
    md_system_destroy(system);
    return NULL;
}
