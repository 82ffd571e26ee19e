#include "cpu/slabs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { SAMPLES = 256 }; /* of each rank: slabs then differ by some 6 % */

typedef struct Planes {
    int axis, n_slabs;
    double length; /* of a periodic axis, 0 of an open one */
    double *at;    /* [n_slabs + 1]; slab k is from at[k] to at[k + 1] */
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
    double *sorted = md_alloc((size_t)n_samples, sizeof *sorted, "slabs"), longest = -1;
    for (int axis = 0; axis < system->box.dimension; axis++) {
        const int64_t n = sort_samples(samples, n_samples, axis, sorted);
        const double spread = n > 0 ? sorted[n - 1] - sorted[0] : 0;
        if (spread > longest) planes->axis = axis;
        longest = fmax(longest, spread);
    }
    planes->length = system->box.periodic[planes->axis] ? system->box.length[planes->axis] : 0;
    const int64_t n = sort_samples(samples, n_samples, planes->axis, sorted);
    planes->at[0] = planes->length > 0 ? 0 : -INFINITY;
    for (int k = 1; k < planes->n_slabs; k++) planes->at[k] = n > 0 ? sorted[n * k / planes->n_slabs] : planes->at[0];
    planes->at[planes->n_slabs] = planes->length > 0 ? planes->length : INFINITY;
    md_free(sorted);
}

/* By the golden ratio: evenly spread, and in no step of a lattice. */
static int64_t sampled_row(int64_t n, int k) {
    const double place = 0.618033988749895 * (k + 1);
    return (int64_t)((place - floor(place)) * (double)n);
}

static Planes make_planes(const MdSystem *system, const double *position) {
    const int size = md_comm_size(system->comm);
    Planes planes = {.n_slabs = size, .at = md_alloc((size_t)size + 1, sizeof *planes.at, "slabs")};
    double own[SAMPLES][3], (*all)[3] = md_alloc((size_t)size, sizeof own, "slabs");
    for (int k = 0; k < SAMPLES; k++)
        for (int a = 0; a < 3; a++)
            own[k][a] = system->n_own > 0 ? position[3 * sampled_row(system->n_own, k) + a] : (double)NAN;
    md_comm_allgather(system->comm, own, sizeof own, all);
    place_planes(system, (const double(*)[3])all, (int64_t)size * SAMPLES, &planes);
    md_free(all);
    return planes;
}

/* An atom whose place is no number is in the first one. */
static int slab_of(const Planes *planes, double x) {
    int low = 0, high = planes->n_slabs; /* at[low] <= x < at[high], but for places off the ends */
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (x >= planes->at[middle]) low = middle;
        else high = middle;
    }
    return low;
}

static bool is_near(const Planes *planes, int slab, double x, double reach) {
    const double low = planes->at[slab] - reach, high = planes->at[slab + 1] + reach, length = planes->length;
    return (x >= low && x <= high) || (length > 0 && (x + length <= high || x - length >= low));
}

typedef struct Row {
    double x[3];
    int32_t type, is_judged;
} Row;

/* The own atoms that a slab needs, into rows, or NULL: counts them. */
static int64_t pack(const MdSlab *slab, const Planes *planes, int rank, const double *position, double reach,
                    Row *rows) {
    int64_t n = 0;
    for (int64_t i = 0; i < slab->whole->n_own; i++) {
        const double *x = &position[3 * i];
        const bool is_judged = slab->judge[i] == rank;
        if (!is_judged && !is_near(planes, rank, x[planes->axis], reach)) continue;
        if (rows) rows[n] = (Row){{x[0], x[1], x[2]}, slab->whole->type[i], is_judged};
        n++;
    }
    return n;
}

static Row *deal(const MdSlab *slab, const double *position, double reach) {
    MdComm *comm = slab->whole->comm;
    const int size = md_comm_size(comm);
    Planes planes = make_planes(slab->whole, position);
    int64_t *bytes = md_alloc((size_t)size, sizeof *bytes, "slabs"), n = 0;
    for (int64_t i = 0; i < slab->whole->n_own; i++) slab->judge[i] = slab_of(&planes, position[3 * i + planes.axis]);
    for (int rank = 0; rank < size; rank++) {
        const int64_t n_rows = pack(slab, &planes, rank, position, reach, NULL);
        bytes[rank] = n_rows * (int64_t)sizeof(Row);
        n += n_rows;
    }
    Row *out = md_alloc((size_t)n, sizeof *out, "slabs"), *next = out;
    for (int rank = 0; rank < size; rank++) next += pack(slab, &planes, rank, position, reach, next);
    Row *in = md_comm_alltoallv(comm, out, bytes, slab->n_from);
    for (int rank = 0; rank < size; rank++) slab->n_from[rank] /= (int64_t)sizeof(Row);
    md_free(out);
    md_free(bytes);
    md_free(planes.at);
    return in;
}

/* Blocks of ids come in the order of ranks, each in the order of ids. */
MdSlab md_slab_take(const MdSystem *system, const double *position, double reach) {
    MdSlab slab = {.whole = system, .system = *system, .position = position};
    if (!system->comm) return slab;
    slab.judge = md_alloc((size_t)system->n_own, sizeof *slab.judge, "slabs");
    slab.n_from = md_alloc((size_t)md_comm_size(system->comm), sizeof *slab.n_from, "slabs");
    Row *rows = deal(&slab, position, reach * (1 + 1e-9)); /* with room for the rounding of distances */
    int64_t n = 0;
    for (int rank = 0; rank < md_comm_size(system->comm); rank++) n += slab.n_from[rank];
    double *places = md_alloc((size_t)n, 3 * sizeof *places, "slabs");
    int32_t *types = md_alloc((size_t)n, sizeof *types, "slabs");
    slab.is_judged = md_alloc((size_t)n, sizeof *slab.is_judged, "slabs");
    for (int64_t i = 0; i < n; i++) {
        memcpy(&places[3 * i], rows[i].x, sizeof rows[i].x);
        types[i] = rows[i].type;
        slab.is_judged[i] = rows[i].is_judged != 0;
    }
    md_free(rows);
    slab.position = places;
    slab.system.type = types;
    slab.system.n_atoms = slab.system.n_own = n;
    return slab;
}

void md_slab_free(MdSlab *slab) {
    if (!slab->judge) return;
    md_free(slab->judge);
    md_free(slab->n_from);
    md_free(slab->is_judged);
    md_free((double *)slab->position);
    md_free(slab->system.type);
}

double *md_slab_rows(const MdSlab *slab, double *own, int width) {
    double *rows = slab->judge ? md_alloc((size_t)slab->system.n_atoms * (size_t)width, sizeof *rows, "slabs") : own;
    memset(rows, 0, (size_t)slab->system.n_atoms * (size_t)width * sizeof *rows);
    return rows;
}

void md_slab_return(const MdSlab *slab, double *rows, double *own, int width) {
    if (!slab->judge) return;
    const size_t row_bytes = (size_t)width * sizeof *rows;
    const int size = md_comm_size(slab->whole->comm);
    int64_t *bytes = md_alloc(2 * (size_t)size, sizeof *bytes, "slabs"), *next = bytes + size, i = 0, n = 0;
    for (int rank = 0; rank < size; rank++) {
        const int64_t first = n;
        for (const int64_t end = i + slab->n_from[rank]; i < end; i++) /* to the front of rows, which end later */
            if (slab->is_judged[i]) memmove(&rows[width * n++], &rows[width * i], row_bytes);
        bytes[rank] = (n - first) * (int64_t)row_bytes;
    }
    double *in = md_comm_alltoallv(slab->whole->comm, rows, bytes, next);
    int64_t first = 0; /* from the bytes of a rank to where its rows begin */
    for (int rank = 0; rank < size; rank++) {
        const int64_t n_rows = next[rank] / (int64_t)row_bytes;
        next[rank] = first;
        first += n_rows;
    }
    for (i = 0; i < slab->whole->n_own; i++) memcpy(&own[width * i], &in[width * next[slab->judge[i]]++], row_bytes);
    md_free(in);
    md_free(bytes);
    md_free(rows);
}

int64_t md_slab_most(const MdSystemPlan *plan, double reach) {
    double longest = plan->spread;
    for (int a = 0; a < plan->box.dimension; a++)
        if (plan->box.periodic[a]) longest = fmax(longest, plan->box.length[a]);
    const double own = (double)md_comm_block_size(plan->comm, plan->n_atoms),
                 around = 2 * reach / longest * (double)plan->n_atoms;
    return plan->comm ? (int64_t)fmin(1.3 * own + around, (double)plan->n_atoms) : plan->n_atoms;
}
