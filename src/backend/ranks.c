#include "backend/ranks.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "parallel/rows.h"

MdStatus md_ranks_resolve_grid(MdConfig *config, const MdComm *comm, const MdDomainShape *shape, MdChoices *choices,
                               MdErrors *errors) {
    const int n_ranks = md_comm_size(comm);
    MdIntList *asked = &config->parallel_grid;
    const bool is_auto = asked->n == 0;
    int grid[3];
    for (int a = 0; a < 3 && !is_auto; a++) grid[a] = (int)asked->values[a];
    const bool found = !is_auto || md_domain_choose(shape, n_ranks, grid);
    char *problem = found && !is_auto ? md_domain_miscount(grid, n_ranks) : NULL;
    if (!problem) problem = md_domain_misfit(shape, found ? grid : NULL, n_ranks);
    if (problem) md_fail(errors, MD_ERROR_INPUT, "%s", problem);
    free(problem);
    if (problem || !is_auto || n_ranks == 1) return problem ? MD_ERROR_INPUT : MD_OK;
    asked->n = 3;
    for (int a = 0; a < 3; a++) asked->values[a] = grid[a];
    char value[24];
    snprintf(value, sizeof value, "%d %d %d", grid[0], grid[1], grid[2]);
    md_choices_add(choices, "parallel.grid", value, "the least expected time a step of all grids of %d domains",
                   n_ranks);
    return MD_OK;
}

MdSums md_ranks_sums(const MdComm *comm, const MdSumParts *own) {
    enum { N = sizeof(MdSums) / sizeof(double) };
    _Static_assert(sizeof *own == N * sizeof(MdSplitSum), "the same quantities");
    _Static_assert(offsetof(MdSumParts, kinetic) == offsetof(MdSums, kinetic) * MD_SPLIT_PARTS, "in the same order");
    MdSplitSum parts[N];
    double values[N];
    MdSums sums;
    memcpy(parts, own, sizeof parts);
    md_comm_add_doubles(comm, (double *)parts, N * MD_SPLIT_PARTS);
    for (int k = 0; k < N; k++) values[k] = md_split_value(&parts[k]);
    memcpy(&sums, values, sizeof sums);
    return sums;
}

void md_ranks_split_sums(const MdComm *comm, MdSplitSum *own, int n, double *values) {
    md_comm_add_doubles(comm, (double *)own, n * MD_SPLIT_PARTS);
    for (int k = 0; k < n; k++) values[k] = md_split_value(&own[k]);
}

void md_ranks_add_counters(const MdComm *comm, MdCounters *counters) {
    _Static_assert(sizeof(MdCounters) == 8 * sizeof(int64_t), "only integers");
    int64_t *each = &counters->force_pairs_tested;
    MdCounters own = *counters;
    md_comm_add_integers(comm, each, 8);
    for (int k = 0; k < 8; k++)
        if ((&own.force_pairs_tested)[k] < 0) each[k] = -1;
}

void md_ranks_agree_statistics(const MdComm *comm, int64_t n_own, MdStatistics *statistics) {
    if (!comm) return;
    const bool has_rows = !isnan(statistics->neighbors_per_atom);
    double largest[] = {(double)statistics->n_late_rebuilds, (double)statistics->n_overflows,
                        (double)statistics->capacity, has_rows ? 1 : 0};
    double sums[] = {has_rows ? statistics->neighbors_per_atom * (double)n_own : 0, (double)n_own};
    md_comm_max(comm, largest, 4);
    md_comm_add_doubles(comm, sums, 2);
    md_comm_add_integers(comm, &statistics->n_entries, 1);
    statistics->n_late_rebuilds = (int64_t)largest[0];
    statistics->n_overflows = (int64_t)largest[1];
    statistics->capacity = (int64_t)largest[2];
    statistics->neighbors_per_atom = largest[3] > 0 ? sums[0] / sums[1] : (double)NAN;
}

MdFault md_ranks_first_fault(const MdComm *comm, MdFault own) {
    const int size = md_comm_size(comm);
    MdFault *all = md_alloc((size_t)size, sizeof *all, "faults"), first;
    memset(&first, 0, sizeof first); /* with the padding between its fields: restart files have that, too */
    first.step = -1;
    md_comm_allgather(comm, &own, sizeof own, all);
    for (int rank = 0; rank < size; rank++) {
        const MdFault *other = &all[rank];
        if (other->step < 0) continue;
        if (first.step < 0 || other->step < first.step || (other->step == first.step && other->id < first.id))
            first = *other;
    }
    md_free(all);
    return first;
}

/* --- frames in parts ------------------------------------------------------------------------------------------------ */

enum { N_QUANTITIES = 4 };

typedef struct Column {
    void **array;
    size_t row_bytes;
} Column;

/* The arrays of a frame, as bits MD_FRAME_* number them. */
static void find_columns(MdFrame *frame, Column columns[N_QUANTITIES]) {
    const size_t real = frame->precision == MD_FILE_PRECISION_DOUBLE ? sizeof(double) : sizeof(float);
    columns[0] = (Column){&frame->position, 3 * real};
    columns[1] = (Column){&frame->velocity, 3 * real};
    columns[2] = (Column){&frame->force, 3 * real};
    columns[3] = (Column){(void **)&frame->image, 3 * sizeof(int32_t)};
}

unsigned md_frame_quantities(const MdFrame *frame) {
    return (frame->position ? MD_FRAME_POSITION : 0u) | (frame->velocity ? MD_FRAME_VELOCITY : 0u) |
           (frame->force ? MD_FRAME_FORCE : 0u) | (frame->image ? MD_FRAME_IMAGE : 0u);
}

void md_part_prepare(MdPart *part, unsigned quantities, int precision, int64_t n) {
    part->n = n;
    if (part->ids && n <= part->room && md_frame_quantities(&part->frame) == quantities) return;
    md_part_free(part);
    part->n = n;
    part->room = n + n / 10;
    part->frame.precision = precision;
    part->ids = md_alloc((size_t)part->room, sizeof *part->ids, "ids of a part");
    Column columns[N_QUANTITIES];
    find_columns(&part->frame, columns);
    for (int k = 0; k < N_QUANTITIES; k++)
        if (quantities & 1u << k)
            *columns[k].array = md_alloc((size_t)part->room, columns[k].row_bytes, "part of a frame");
}

void md_part_free(MdPart *part) {
    Column columns[N_QUANTITIES];
    find_columns(&part->frame, columns);
    for (int k = 0; k < N_QUANTITIES; k++) md_free(*columns[k].array);
    md_free(part->ids);
    memset(part, 0, sizeof *part);
}

static void scatter_rows(const int32_t *ids, const char *rows, int64_t n, size_t row_bytes, char *whole) {
    for (int64_t k = 0; k < n; k++) memcpy(whole + (size_t)ids[k] * row_bytes, rows + (size_t)k * row_bytes, row_bytes);
}

static void pass(MdComm *comm, int rank, bool is_sent, void *data, int64_t bytes) {
    const MdMessage message = {.rank = rank, .is_sent = is_sent, .data = data, .bytes = bytes};
    md_comm_begin(comm, &message, 1);
    md_comm_end(comm);
}

static void take_parts(MdComm *comm, const int64_t *n_rows, const Column *columns) {
    int64_t most = 0;
    for (int rank = 1; rank < md_comm_size(comm); rank++) most = n_rows[rank] > most ? n_rows[rank] : most;
    int32_t *ids = md_alloc((size_t)most, sizeof *ids, "ids of a part");
    char *rows = md_alloc((size_t)most, 3 * sizeof(double), "part of a frame");
    for (int rank = 1; rank < md_comm_size(comm); rank++) {
        pass(comm, rank, false, ids, n_rows[rank] * (int64_t)sizeof *ids);
        for (int k = 0; k < N_QUANTITIES; k++) {
            if (!*columns[k].array) continue;
            pass(comm, rank, false, rows, n_rows[rank] * (int64_t)columns[k].row_bytes);
            scatter_rows(ids, rows, n_rows[rank], columns[k].row_bytes, *columns[k].array);
        }
    }
    md_free(ids);
    md_free(rows);
}

void md_ranks_collect(MdComm *comm, const MdPart *part, const MdFrame *whole) {
    MdFrame own = part->frame, all = *whole;
    Column from[N_QUANTITIES], to[N_QUANTITIES];
    find_columns(&own, from);
    find_columns(&all, to);
    int64_t *n_rows = md_alloc((size_t)md_comm_size(comm), sizeof *n_rows, "rows of ranks");
    md_comm_allgather(comm, &part->n, sizeof part->n, n_rows);
    if (md_comm_is_root(comm)) { /* whose frame has the quantities of the parts */
        for (int k = 0; k < N_QUANTITIES; k++)
            if (*from[k].array) scatter_rows(part->ids, *from[k].array, part->n, to[k].row_bytes, *to[k].array);
        take_parts(comm, n_rows, to);
    } else {
        pass(comm, 0, true, part->ids, part->n * (int64_t)sizeof *part->ids);
        for (int k = 0; k < N_QUANTITIES; k++)
            if (*from[k].array) pass(comm, 0, true, *from[k].array, part->n * (int64_t)from[k].row_bytes);
    }
    md_free(n_rows);
}

void md_ranks_deal(MdComm *comm, const MdPart *part, int64_t n_all, const MdFrame *block) {
    const int64_t begin = md_comm_block_begin(comm, n_all), n_block = md_comm_block_size(comm, n_all);
    MdFrame own = part->frame, here = *block;
    Column from[N_QUANTITIES], to[N_QUANTITIES];
    find_columns(&own, from);
    find_columns(&here, to);
    int32_t *owner = md_alloc((size_t)part->n, sizeof *owner, "rows of ranks");
    for (int64_t k = 0; k < part->n; k++) owner[k] = md_block_owner(n_all, part->ids[k], md_comm_size(comm));
    MdDeal deal = md_deal_create(comm, owner, part->n);
    int32_t *ids = md_deal_rows(&deal, part->ids, sizeof *ids);
    for (int64_t k = 0; k < deal.n_in; k++) ids[k] -= (int32_t)begin;
    for (int k = 0; k < N_QUANTITIES; k++) {
        if (!*from[k].array) continue;
        char *rows = md_deal_rows(&deal, *from[k].array, from[k].row_bytes);
        memset(*to[k].array, 0xff, (size_t)n_block * to[k].row_bytes); /* NaN */
        scatter_rows(ids, rows, deal.n_in, to[k].row_bytes, *to[k].array);
        md_free(rows);
    }
    md_free(ids);
    md_free(owner);
    md_deal_destroy(&deal);
}

int64_t md_ranks_frame_room(const MdComm *comm, int64_t n_all, bool by_blocks) {
    const int64_t n_block = md_comm_block_size(comm, n_all);
    if (by_blocks) return n_block > 0 ? n_block : 1;
    return md_comm_is_root(comm) ? n_all : 0;
}

void md_ranks_send_frame(MdComm *comm, const MdPart *part, int64_t n_all, bool by_blocks, const MdFrame *frame) {
    if (by_blocks) md_ranks_deal(comm, part, n_all, frame);
    else md_ranks_collect(comm, part, frame);
}
