#include "cpu/slices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { SAMPLES = 256 }; /* of each rank: slices then differ by some 6 % */

typedef struct Planes {
    int axis, n_slices;
    double length,
        *at; /* length: of a periodic axis, 0 of an open one; at [n_slices + 1]: slice k is from at[k] to at[k + 1] */
} Planes;

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The finite samples along an axis, in order; sorted [n_samples]. */
static int64_t sort_samples(const double (*samples)[3], int64_t n_samples, int axis, double *sorted) {
    int64_t n = 0;
    for (int64_t k = 0; k < n_samples; k++)
        if (isfinite(samples[k][axis])) sorted[n++] = samples[k][axis];
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    return n;
}

static void place_planes(const MdSystem *system, const double (*samples)[3], int64_t n_samples, Planes *planes) {
    double *sorted = md_alloc((size_t)n_samples, sizeof *sorted, "slices"), longest = -1;
    for (int axis = 0; axis < system->box.dimension; axis++) {
        const int64_t n = sort_samples(samples, n_samples, axis, sorted);
        const double spread = n > 0 ? sorted[n - 1] - sorted[0] : 0;
        if (spread > longest) planes->axis = axis;
        longest = fmax(longest, spread);
    }
    planes->length = system->box.periodic[planes->axis] ? system->box.length[planes->axis] : 0;
    const int64_t n = sort_samples(samples, n_samples, planes->axis, sorted);
    planes->at[0] = planes->length > 0 ? 0 : -INFINITY;
    for (int k = 1; k < planes->n_slices; k++) planes->at[k] = n > 0 ? sorted[n * k / planes->n_slices] : planes->at[0];
    planes->at[planes->n_slices] = planes->length > 0 ? planes->length : INFINITY;
    md_free(sorted);
}

static Planes make_planes(const MdSystem *system, const double *position) {
    const int size = md_comm_size(system->comm);
    Planes planes = {.n_slices = size, .at = md_alloc((size_t)size + 1, sizeof *planes.at, "slices")};
    double own[SAMPLES][3], (*all)[3] = md_alloc((size_t)size, sizeof own, "slices");
    for (int k = 0; k < SAMPLES; k++)
        for (int a = 0; a < 3; a++)
            own[k][a] = system->n_own > 0 ? position[3 * (system->n_own * k / SAMPLES) + a] : (double)NAN;
    md_comm_gather(system->comm, own, sizeof own, all);
    place_planes(system, (const double(*)[3])all, (int64_t)size * SAMPLES, &planes);
    md_free(all);
    return planes;
}

/* An atom whose place is no number is in the first one. */
static int slice_of(const Planes *planes, double x) {
    int low = 0, high = planes->n_slices; /* at[low] <= x < at[high], but for places off the ends */
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (x >= planes->at[middle]) low = middle;
        else high = middle;
    }
    return low;
}

static bool is_near(const Planes *planes, int slice, double x, double reach) {
    const double low = planes->at[slice] - reach, high = planes->at[slice + 1] + reach, length = planes->length;
    return (x >= low && x <= high) || (length > 0 && (x + length <= high || x - length >= low));
}

typedef struct Row {
    double x[3];
    int32_t type, is_judged;
} Row;

/* The own atoms that a slice needs, into rows, or NULL: counts them. */
static int64_t pack(const MdSlice *slice, const Planes *planes, int rank, const double *position, double reach,
                    Row *rows) {
    int64_t n = 0;
    for (int64_t i = 0; i < slice->whole->n_own; i++) {
        const double *x = &position[3 * i];
        const bool is_judged = slice->judge[i] == rank;
        if (!is_judged && !is_near(planes, rank, x[planes->axis], reach)) continue;
        if (rows) rows[n] = (Row){{x[0], x[1], x[2]}, slice->whole->type[i], is_judged};
        n++;
    }
    return n;
}

static Row *deal(const MdSlice *slice, const double *position, double reach) {
    MdComm *comm = slice->whole->comm;
    const int size = md_comm_size(comm);
    Planes planes = make_planes(slice->whole, position);
    int64_t *bytes = md_alloc((size_t)size, sizeof *bytes, "slices"), n = 0;
    for (int64_t i = 0; i < slice->whole->n_own; i++)
        slice->judge[i] = slice_of(&planes, position[3 * i + planes.axis]);
    for (int rank = 0; rank < size; rank++) {
        const int64_t n_rows = pack(slice, &planes, rank, position, reach, NULL);
        bytes[rank] = n_rows * (int64_t)sizeof(Row);
        n += n_rows;
    }
    Row *out = md_alloc((size_t)n, sizeof *out, "slices"), *next = out;
    for (int rank = 0; rank < size; rank++) next += pack(slice, &planes, rank, position, reach, next);
    Row *in = md_comm_deal(comm, out, bytes, slice->n_from);
    for (int rank = 0; rank < size; rank++) slice->n_from[rank] /= (int64_t)sizeof(Row);
    md_free(out);
    md_free(bytes);
    md_free(planes.at);
    return in;
}

/* Blocks of ids come in the order of ranks, each in the order of ids. */
MdSlice md_slice_take(const MdSystem *system, const double *position, double reach) {
    MdSlice slice = {.whole = system, .system = *system, .position = position};
    if (!system->comm) return slice;
    slice.judge = md_alloc((size_t)system->n_own, sizeof *slice.judge, "slices");
    slice.n_from = md_alloc((size_t)md_comm_size(system->comm), sizeof *slice.n_from, "slices");
    Row *rows = deal(&slice, position, reach * (1 + 1e-9)); /* with room for the rounding of distances */
    int64_t n = 0;
    for (int rank = 0; rank < md_comm_size(system->comm); rank++) n += slice.n_from[rank];
    double *places = md_alloc((size_t)n, 3 * sizeof *places, "slices");
    int32_t *types = md_alloc((size_t)n, sizeof *types, "slices");
    slice.is_judged = md_alloc((size_t)n, sizeof *slice.is_judged, "slices");
    for (int64_t i = 0; i < n; i++) {
        memcpy(&places[3 * i], rows[i].x, sizeof rows[i].x);
        types[i] = rows[i].type;
        slice.is_judged[i] = rows[i].is_judged != 0;
    }
    md_free(rows);
    slice.position = places;
    slice.system.type = types;
    slice.system.n_atoms = slice.system.n_own = n;
    return slice;
}

void md_slice_free(MdSlice *slice) {
    if (!slice->judge) return;
    md_free(slice->judge);
    md_free(slice->n_from);
    md_free(slice->is_judged);
    md_free((double *)slice->position);
    md_free(slice->system.type);
}

double *md_slice_rows(const MdSlice *slice, double *own, int width) {
    double *rows = slice->judge ? md_alloc((size_t)slice->system.n_atoms * (size_t)width, sizeof *rows, "slices") : own;
    memset(rows, 0, (size_t)slice->system.n_atoms * (size_t)width * sizeof *rows);
    return rows;
}

void md_slice_return(const MdSlice *slice, double *rows, double *own, int width) {
    if (!slice->judge) return;
    const size_t row_bytes = (size_t)width * sizeof *rows;
    const int size = md_comm_size(slice->whole->comm);
    int64_t *bytes = md_alloc(2 * (size_t)size, sizeof *bytes, "slices"), *next = bytes + size, i = 0, n = 0;
    for (int rank = 0; rank < size; rank++) {
        const int64_t first = n;
        for (const int64_t end = i + slice->n_from[rank]; i < end; i++) /* to the front of rows, which end later */
            if (slice->is_judged[i]) memmove(&rows[width * n++], &rows[width * i], row_bytes);
        bytes[rank] = (n - first) * (int64_t)row_bytes;
    }
    double *in = md_comm_deal(slice->whole->comm, rows, bytes, next);
    int64_t first = 0; /* from the bytes of a rank to where its rows begin */
    for (int rank = 0; rank < size; rank++) {
        const int64_t n_rows = next[rank] / (int64_t)row_bytes;
        next[rank] = first;
        first += n_rows;
    }
    for (i = 0; i < slice->whole->n_own; i++) memcpy(&own[width * i], &in[width * next[slice->judge[i]]++], row_bytes);
    md_free(in);
    md_free(bytes);
    md_free(rows);
}

int64_t md_slice_most(const MdSystemPlan *plan, double reach) {
    double longest = 0;
    for (int a = 0; a < plan->box.dimension; a++) longest = fmax(longest, plan->box.length[a]);
    const double own = (double)md_comm_block_size(plan->comm, plan->n_atoms),
                 around = 2 * reach / longest * (double)plan->n_atoms;
    return plan->comm ? (int64_t)fmin(1.1 * own + around, (double)plan->n_atoms) : plan->n_atoms;
}
