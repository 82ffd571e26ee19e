/* The particles of a restart file: each process reads some rows, and gets the types of these and the places of its block of ids. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/range.h"
#include "checkpoint/file.h"

/* A row of the file on its way to the process whose block has the id of its particle, and back with the type. */
typedef struct Query {
    int32_t row, id, type;
    double place[3];
} Query;

/* By the process that has the id. */
static int64_t *count_queries(const MdSystem *system, const int32_t *ids, int64_t *n_good) {
    const int size = md_comm_size(system->comm);
    int64_t *bytes = md_alloc((size_t)size, sizeof *bytes, "types of rows");
    *n_good = 0;
    for (int64_t i = 0; i < system->n_own; i++) {
        if (ids[i] < 0 || ids[i] >= system->n_atoms) continue;
        bytes[md_block_owner(system->n_atoms, ids[i], size)] += (int64_t)sizeof(Query);
        (*n_good)++;
    }
    return bytes;
}

static Query *make_queries(const MdSystem *system, const int32_t *ids, const double *places, const int64_t *bytes,
                           int64_t n_good) {
    const int size = md_comm_size(system->comm);
    Query *queries = md_alloc((size_t)n_good, sizeof *queries, "types of rows");
    Query **next = md_alloc((size_t)size, sizeof *next, "types of rows"), *begin = queries;
    for (int rank = 0; rank < size; begin += bytes[rank] / (int64_t)sizeof *begin, rank++) next[rank] = begin;
    for (int64_t i = 0; i < system->n_own; i++) {
        if (ids[i] < 0 || ids[i] >= system->n_atoms) continue;
        Query *query = next[md_block_owner(system->n_atoms, ids[i], size)]++;
        *query = (Query){.row = (int32_t)i, .id = ids[i]};
        memcpy(query->place, places + 3 * i, sizeof query->place);
    }
    md_free(next);
    return queries;
}

/* Types of ids of this block, which get their places; each id must come once. Returns how many do not, or not at all. */
static int64_t answer_queries(MdSystem *system, Query *queries, int64_t n) {
    char *seen = md_alloc((size_t)system->n_own, 1, "ids");
    int64_t n_bad = system->n_own - n;
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = queries[k].id - system->first;
        if (seen[row]) n_bad++;
        seen[row] = 1;
        queries[k].type = system->type[row];
        memcpy(system->position + 3 * row, queries[k].place, sizeof queries[k].place);
    }
    md_free(seen);
    return n_bad < 0 ? -n_bad : n_bad;
}

/* They are used as indices. */
static MdStatus check_types(const MdCheckpoint *c, const MdSystem *system, MdErrors *errors) {
    for (int64_t i = 0; i < system->n_own; i++)
        if (system->type[i] < 0 || system->type[i] >= system->potential.n_types)
            return md_fail(errors, MD_ERROR_INPUT, "%s: types are not 1 to %d: particle %lld has type %lld", c->path,
                           system->potential.n_types, (long long)(system->first + i), (long long)system->type[i] + 1);
    return MD_OK;
}

/* Types of the rows of the file that this process reads, and places of its block. ids are used as indices: each must be there
 * once. */
static MdStatus trade_rows(MdCheckpoint *c, MdSystem *system, const int32_t *ids, const double *places,
                           MdErrors *errors) {
    int64_t n_good, n_asked = 0, n_bad[1];
    int64_t *out_bytes = count_queries(system, ids, &n_good);
    const int size = md_comm_size(system->comm);
    int64_t *in_bytes = md_alloc((size_t)size, sizeof *in_bytes, "types of rows");
    Query *out = make_queries(system, ids, places, out_bytes, n_good);
    Query *in = md_comm_alltoallv(system->comm, out, out_bytes, in_bytes);
    for (int rank = 0; rank < size; rank++) n_asked += in_bytes[rank] / (int64_t)sizeof *in;
    n_bad[0] = answer_queries(system, in, n_asked);
    Query *answers = md_comm_alltoallv(system->comm, in, in_bytes, out_bytes);
    c->row_type = md_alloc((size_t)system->n_own, sizeof *c->row_type, "types of rows");
    for (int64_t k = 0; k < n_good; k++) c->row_type[answers[k].row] = answers[k].type;
    md_free(out);
    md_free(in);
    md_free(answers);
    md_free(out_bytes);
    md_free(in_bytes);
    md_comm_add_integers(system->comm, n_bad, 1);
    if (n_bad[0] == 0) return MD_OK;
    return md_fail(errors, MD_ERROR_INPUT, "%s: ids are not 0 to %lld", c->path, (long long)system->n_atoms - 1);
}

MdStatus md_checkpoint_find_rows(MdRestart *file, const MdSystem *system, const char *name, uint64_t row_bytes) {
    MdStatus status = md_restart_find(file, name, (uint64_t)system->n_atoms * row_bytes);
    return status == MD_OK ? md_restart_skip(file, (uint64_t)system->first * row_bytes) : status;
}

static MdStatus read_places(MdCheckpoint *c, const MdSystem *system, double *places, MdErrors *errors) {
    const uint64_t bytes = md_restart_bytes(c->file, "position");
    const size_t size = bytes == 3 * (uint64_t)system->n_atoms * sizeof(float) ? sizeof(float) : sizeof(double);
    MdStatus status = md_checkpoint_find_rows(c->file, system, "position", 3 * size);
    for (int64_t i = 0; status == MD_OK && i < system->n_own; i++) {
        float single[3];
        double *place = places + 3 * i;
        status = md_restart_read(c->file, size == sizeof(float) ? (void *)single : (void *)place, 3 * size);
        for (int a = 0; a < 3 && size == sizeof(float); a++) place[a] = (double)single[a];
        const MdRange ranges[] = {
            {"x", place[0], -1e15, 1e15}, {"y", place[1], -1e15, 1e15}, {"z", place[2], -1e15, 1e15}};
        if (status == MD_OK) status = MD_RANGE_CHECK(ranges, c->path, errors);
    }
    return status;
}

MdSystem *md_checkpoint_system(MdCheckpoint *c, const MdSystemPlan *plan, MdErrors *errors) {
    MdSystem *system = md_system_allocate(plan, c->system.mass);
    const uint64_t n = (uint64_t)system->n_own;
    int32_t *ids = md_alloc(n, sizeof *ids, "ids");
    double *places = md_alloc(3 * n, sizeof *places, "places of rows");
    MdStatus status = md_checkpoint_find_rows(c->file, system, "type", sizeof *system->type);
    if (status == MD_OK) status = md_restart_read(c->file, system->type, n * sizeof *system->type);
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
