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

/* An atom whose position is no number is in the first one. */
static int slab_of(const Planes *planes, double x) {
    int low = 0, high = planes->n_slabs; /* at[low] <= x < at[high], except for positions outside */
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

/* The own atoms that slabs need, slab by slab: to and atom, or NULL: counts them. judge: the slab that each is in. */
static int64_t list_atoms(const MdSystem *system, const Planes *planes, const double *position, double reach,
                          const int32_t *judge, int32_t *to, int32_t *atom) {
    int64_t n = 0;
    for (int rank = 0; rank < planes->n_slabs; rank++)
        for (int64_t i = 0; i < system->n_own; i++) {
            if (judge[i] != rank && !is_near(planes, rank, position[3 * i + planes->axis], reach)) continue;
            if (to) to[n] = rank;
            if (to) atom[n] = (int32_t)i;
            n++;
        }
    return n;
}

static Row *deal(MdSlab *slab, const double *position, double reach) {
    const MdSystem *system = slab->whole;
    Planes planes = make_planes(system, position);
    int32_t *judge = md_alloc((size_t)system->n_own, sizeof *judge, "slabs");
    for (int64_t i = 0; i < system->n_own; i++) judge[i] = slab_of(&planes, position[3 * i + planes.axis]);
    const int64_t n = list_atoms(system, &planes, position, reach, judge, NULL, NULL);
    int32_t *to = md_alloc((size_t)n, sizeof *to, "slabs"), *atom = md_alloc((size_t)n, sizeof *atom, "slabs");
    Row *out = md_alloc((size_t)n, sizeof *out, "slabs");
    list_atoms(system, &planes, position, reach, judge, to, atom);
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = atom[k];
        const double *x = &position[3 * i];
        out[k] = (Row){{x[0], x[1], x[2]}, system->type[i], judge[i] == to[k]};
        if (!out[k].is_judged) atom[k] = -1;
    }
    slab->deal = md_deal_create(system->comm, to, n);
    slab->judged = atom;
    Row *in = md_deal_ordered(&slab->deal, out, sizeof *out); /* they are listed slab by slab */
    md_free(out);
    md_free(to);
    md_free(judge);
    md_free(planes.at);
    return in;
}

/* Blocks of ids come in the order of ranks, each in the order of ids. */
MdSlab md_slab_take(const MdSystem *system, const double *position, double reach) {
    MdSlab slab = {.whole = system, .system = *system, .position = position};
    if (!system->comm) return slab;
    Row *rows = deal(&slab, position, reach * (1 + 1e-9)); /* with room for the rounding of distances */
    const int64_t n = slab.deal.n_in;
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
    if (!slab->is_judged) return;
    md_deal_destroy(&slab->deal);
    md_free(slab->judged);
    md_free(slab->is_judged);
    md_free((double *)slab->position);
    md_free(slab->system.type);
}

double *md_slab_rows(const MdSlab *slab, double *own, int width) {
    double *rows =
        slab->is_judged ? md_alloc((size_t)slab->system.n_atoms * (size_t)width, sizeof *rows, "slabs") : own;
    memset(rows, 0, (size_t)slab->system.n_atoms * (size_t)width * sizeof *rows);
    return rows;
}

void md_slab_return(const MdSlab *slab, double *rows, double *own, int width) {
    if (!slab->is_judged) return;
    const size_t row_bytes = (size_t)width * sizeof *rows;
    double *back = md_deal_back(&slab->deal, rows, row_bytes);
    for (int64_t k = 0; k < slab->deal.n; k++)
        if (slab->judged[k] >= 0) memcpy(&own[width * (int64_t)slab->judged[k]], &back[width * k], row_bytes);
    md_free(back);
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
