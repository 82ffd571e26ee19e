/* The judge: see reference.h.
 *
 * Cells are cubes at least one cutoff wide, so that all partners of an atom lie in its own cell and those around it.
 * Cells live in a hash table, keyed by three whole numbers: there is no grid to size, and an atom that has
 * flown far out of an open box costs nothing. Cells that follow each other along x have buckets that do, so that atoms
 * near in space are near in memory. Along a periodic axis the cells divide the length evenly, and the cell
 * numbers wrap; with two cells along an axis both sides are the same cell, with one cell there is no other, and each
 * is visited once.
 *
 * Each atom visits all of its partners, so atoms are independent of each other: blocks of them, whose size
 * does not depend on the number of threads, are shared out among the threads, and their totals are added in the order of the
 * blocks. The work for a pair is a visitor: one adds forces and energies, one adds the bounds of rounding; of a many-body form
 * others add densities before. Of several processes each judges a slab of the box (slabs.h). */
#include "cpu/reference.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stop.h"
#include "cpu/slabs.h"

/* Added to the cutoff when cells are sized: covers the rounding of position / width. */
static const double rounding_margin = 1 + 1e-9;

typedef struct Place {
    double x[3], extent; /* extent: the largest of |x| */
} Place;

typedef struct Cells {
    double per_length[3];          /* cells per sigma */
    int64_t n_periodic[3];         /* cells along a periodic axis, 0 along an open one */
    int n_around[3], around[3][3]; /* steps to the cells to visit along an axis */
    uint64_t mask;                 /* buckets - 1 */
    int64_t *start;                /* [buckets + 1] first slot of each bucket */
    int64_t *atom;      /* [n_atoms] that stands in a slot: atoms of a bucket in the order of their numbers */
    int64_t (*cell)[3]; /* [n_atoms] its cell */
    Place *place;       /* [n_atoms] and its position, so that a bucket is read in one go */
    bool *mixed;        /* [buckets] atoms of several cells are there */
} Cells;

/* A line of cells along x is a run of buckets, which begins anywhere; a few cells share one. */
static uint64_t bucket_of(const Cells *cells, const int64_t cell[3]) {
    uint64_t hash = 0;
    for (int a = 1; a < 3; a++) {
        /* Odd constant of golden-ratio hashing (Knuth, The Art of Computer Programming 3, 6.4). */
        hash = (hash ^ (uint64_t)cell[a]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    return ((uint64_t)cell[0] + hash) & cells->mask;
}

static int64_t wrap_cell(const Cells *cells, int axis, int64_t c) {
    int64_t n = cells->n_periodic[axis];
    return n ? (c % n + n) % n : c;
}

static uint64_t place_atom(const Cells *cells, const double position[3], int64_t cell[3]) {
    for (int a = 0; a < 3; a++) {
        /* Cells beyond 1e15 are one cell: the double cannot tell them apart anyway. NaN goes there too. */
        double c = floor(position[a] * cells->per_length[a]);
        cell[a] = wrap_cell(cells, a, fabs(c) < 1e15 ? (int64_t)c : INT64_C(1000000000000000));
    }
    return bucket_of(cells, cell);
}

static Place place_of(const double x[3]) {
    return (Place){{x[0], x[1], x[2]}, fmax(fabs(x[0]), fmax(fabs(x[1]), fabs(x[2])))};
}

static bool is_in(const Cells *cells, int64_t slot, const int64_t cell[3]) {
    const int64_t *own = cells->cell[slot];
    return own[0] == cell[0] && own[1] == cell[1] && own[2] == cell[2];
}

/* Sorts the atoms by bucket: counts, sums up, puts in. */
static void fill_cells(Cells *cells, int64_t n_atoms, const double *position) {
    const uint64_t n_buckets = cells->mask + 1;
    uint64_t *bucket = md_alloc((size_t)n_atoms, sizeof *bucket, "reference cells");
    cells->start = md_alloc(n_buckets + 1, sizeof *cells->start, "reference cells");
    cells->atom = md_alloc((size_t)n_atoms, sizeof *cells->atom, "reference cells");
    cells->cell = md_alloc((size_t)n_atoms, sizeof *cells->cell, "reference cells");
    cells->place = md_alloc((size_t)n_atoms, sizeof *cells->place, "reference cells");
    cells->mixed = md_alloc(n_buckets, sizeof *cells->mixed, "reference cells");
    memset(cells->start, 0, (n_buckets + 1) * sizeof *cells->start);
#pragma omp parallel for
    for (int64_t i = 0; i < n_atoms; i++) {
        int64_t cell[3];
        bucket[i] = place_atom(cells, &position[3 * i], cell);
    }
    for (int64_t i = 0; i < n_atoms; i++) cells->start[bucket[i] + 1]++;
    for (uint64_t b = 0; b < n_buckets; b++) cells->start[b + 1] += cells->start[b];
    /* Backwards from the end of each bucket, which then is its start. */
    for (int64_t i = n_atoms - 1; i >= 0; i--) cells->atom[--cells->start[bucket[i] + 1]] = i;
    memmove(cells->start, cells->start + 1, n_buckets * sizeof *cells->start);
    cells->start[n_buckets] = n_atoms;
    md_free(bucket);
#pragma omp parallel for
    for (int64_t slot = 0; slot < n_atoms; slot++) {
        cells->place[slot] = place_of(&position[3 * cells->atom[slot]]);
        place_atom(cells, cells->place[slot].x, cells->cell[slot]);
    }
#pragma omp parallel for
    for (uint64_t b = 0; b < n_buckets; b++) {
        cells->mixed[b] = false;
        for (int64_t slot = cells->start[b] + 1; slot < cells->start[b + 1]; slot++)
            if (!is_in(cells, slot, cells->cell[slot - 1])) cells->mixed[b] = true;
    }
}

static Cells make_cells(const MdSystem *system, const double *position, double reach) {
    Cells cells = {.mask = 1};
    double width = reach * rounding_margin;
    for (int a = 0; a < 3; a++) {
        bool periodic = system->box.periodic[a];
        int64_t n = (int64_t)floor(system->box.length[a] / width);
        if (n < 1) n = 1;
        cells.n_periodic[a] = periodic ? n : 0;
        cells.per_length[a] = periodic ? (double)n / system->box.length[a] : 1 / width;
        /* Own cell, next, previous; fewer where these would be the same cell, or where space has no such axis. */
        const int steps[3] = {0, 1, -1};
        cells.n_around[a] = a >= system->box.dimension ? 1 : periodic && n < 3 ? (int)n : 3;
        memcpy(cells.around[a], steps, sizeof steps);
    }
    while (cells.mask + 1 < (uint64_t)system->n_atoms) cells.mask = 2 * cells.mask + 1;
    fill_cells(&cells, system->n_atoms, position);
    return cells;
}

static void free_cells(Cells *cells) {
    md_free(cells->start);
    md_free(cells->atom);
    md_free(cells->cell);
    md_free(cells->place);
    md_free(cells->mixed);
}

/* The sums over the pairs of a block of atoms. */
typedef struct Totals {
    MdSums sums, lost;            /* lost: the rounding errors of the additions to sums so far */
    MdSums sums_bound, shaken_sq; /* shaken_sq: squares of the change of each pair by the shake */
    MdReferenceScales scales;
} Totals;

/* An atom and one of its partners: d points from j to i, nearest image. */
typedef struct Partners {
    int64_t i, j;
    const Place *x_i, *x_j;
    const MdPair_d *pair;
    int kind, turned; /* of the pair of types, and of that the other way round */
    double d[3], r_sq;
} Partners;

/* An atom of a many-body form. For the bounds also: F''; the gradient of rho; what roundings may change rho by, and roundings and shaken
 * distances together; and by how much F' may be off then. */
typedef struct Embedded {
    double rho, slope; /* slope: F' */
    double bend, gradient[3], rounded, off, slope_off;
} Embedded;

/* The work for each atom and each of its partners within reach, some beyond their cutoff. Every pair comes twice,
 * once from either atom: quantities of the pair are added where i < j. */
typedef struct Visitor Visitor;
struct Visitor {
    void (*visit)(const Visitor *visitor, const Partners *p, Totals *totals);
    const MdSystem *system;
    double reach;                       /* sigma */
    double *force;                      /* [n_atoms][3] */
    double roundoff, accumulate, shake; /* for bounds: see reference.h */
    double longest;                     /* periodic edge, or another length that scales the rounding of positions */
    double *force_bound;                /* [n_atoms] */
    Embedded *embedded;                 /* [n_atoms]; NULL: a form of pairs */
    bool goes_around;                   /* visits the atoms around the slab as well: densities */
};

static double force_over_r(const Visitor *visitor, const Partners *p, double r_sq) {
    const MdPotential *potential = &visitor->system->potential;
    const double of_pair = md_potential_force_at(potential, p->kind, r_sq);
    if (!visitor->embedded) return of_pair;
    return of_pair + visitor->embedded[p->i].slope * md_potential_density_force_at(potential, p->kind, r_sq) +
           visitor->embedded[p->j].slope * md_potential_density_force_at(potential, p->turned, r_sq);
}

static double pair_energy(const Visitor *visitor, const Partners *p, double r_sq) {
    return md_potential_energy_at(&visitor->system->potential, p->kind, r_sq);
}

/* Adds a term to a total of any length without its error growing with the length: the part of the smaller number that
 * the addition loses is kept apart (Neumaier, Z. Angew. Math. Mech. 54, 39 (1974)). A crystal needs it: tens of millions
 * of equal terms round the same way each time. */
static void add_term(double *total, double *lost, double term) {
    double sum = *total + term;
    *lost += fabs(*total) >= fabs(term) ? (*total - sum) + term : (term - sum) + *total;
    *total = sum;
}

static void add_density(const Visitor *visitor, const Partners *p, Totals *totals) {
    (void)totals;
    if (p->r_sq < p->pair->cutoff_sq)
        visitor->embedded[p->i].rho += md_potential_density_at(&visitor->system->potential, p->kind, p->r_sq);
}

/* Adds the pair to the force on i, and once to the sums, if it is inside its cutoff. */
static void add_pair(const Visitor *visitor, const Partners *p, Totals *totals) {
    if (!(p->r_sq < p->pair->cutoff_sq)) return;
    double over_r = force_over_r(visitor, p, p->r_sq);
    for (int a = 0; a < 3; a++) visitor->force[3 * p->i + a] += over_r * p->d[a];
    if (p->i > p->j) return;
    totals->sums.pairs++;
    add_term(&totals->sums.potential, &totals->lost.potential, pair_energy(visitor, p, p->r_sq));
    add_term(&totals->sums.truncation, &totals->lost.truncation, p->pair->truncation);
    add_term(&totals->sums.virial, &totals->lost.virial, over_r * p->r_sq);
    for (int k = 0; k < MD_N_TENSOR; k++)
        add_term(&totals->sums.virial_tensor[k], &totals->lost.virial_tensor[k],
                 over_r * p->d[MD_TENSOR_FIRST_AXIS(k)] * p->d[MD_TENSOR_SECOND_AXIS(k)]);
}

/* By how much roundings change the distance of a pair. */
static double shake_of(const Visitor *visitor, const Partners *p, double r) {
    const double extent = fmax(visitor->longest, fmax(p->x_i->extent, p->x_j->extent));
    return visitor->shake * extent + visitor->roundoff * r;
}

/* Of the pair, with a many-body form of phi + (F'(rho_i) + F'(rho_j)) g; the size of U stays that of phi. */
static MdShape shape_of(const Visitor *visitor, const Partners *p, double r) {
    const MdPotential *potential = &visitor->system->potential;
    MdShape shape = md_potential_pair_shape(potential, p->kind, r);
    for (int turn = 0; turn < 2 && visitor->embedded; turn++) {
        const MdShape g = md_potential_density_shape(potential, turn ? p->turned : p->kind, r);
        const double slope = visitor->embedded[turn ? p->j : p->i].slope, size = fabs(slope);
        shape.du += slope * g.du;
        shape.ddu += slope * g.ddu;
        shape.size_du += size * g.size_du;
        shape.size_ddu += size * g.size_ddu;
    }
    return shape;
}

/* Of the force, by what F' is off. */
static double slope_error(const Visitor *visitor, const Partners *p, double r) {
    if (!visitor->embedded) return 0;
    const MdPotential *potential = &visitor->system->potential;
    return visitor->embedded[p->i].slope_off * md_potential_density_shape(potential, p->kind, r).size_du +
           visitor->embedded[p->j].slope_off * md_potential_density_shape(potential, p->turned, r).size_du;
}

/* The density at atom i, its gradient, and by how much it may be off. */
static void add_density_bound(const Visitor *visitor, const Partners *p, Totals *totals) {
    const MdPotential *potential = &visitor->system->potential;
    const double r = sqrt(p->r_sq), shake = shake_of(visitor, p, r), cutoff = p->pair->cutoff;
    Embedded *e = &visitor->embedded[p->i];
    (void)totals;
    if (!(r < cutoff + shake)) return;
    const MdShape g = md_potential_density_shape(potential, p->kind, r);
    const double edge = r > cutoff - shake ? fabs(md_potential_density_at(potential, p->kind, p->pair->cutoff_sq)) : 0;
    e->rounded += visitor->roundoff * g.size_u + edge;
    e->off += visitor->roundoff * g.size_u + edge + shake * g.size_du;
    if (!(p->r_sq < p->pair->cutoff_sq)) return;
    e->rho += g.u;
    for (int a = 0; a < 3; a++) e->gradient[a] += g.du * p->d[a] / r;
}

/* Adds the bound on the rounding errors of this pair. For the force on one atom all parts are added in full. For the sums over
 * all pairs the errors of the formula are too, since a crystal makes the same ones in each pair; the errors of positions are
 * independent, so six times the root of the sum of their squares bounds them (Hoeffding). The terms of the formula round
 * separately, so their sizes add; a shift of the distance by shake changes the force by the sizes of U'' and U'/r; and a
 * pair within shake of its cutoff may be counted by one side and not by the other.
 *
 * A component of the virial tensor is f d_a d_b / r, no larger than f r, and off by as much as the virial and by twice the shake of a
 * distance, which also turns the direction of the pair. One bound is for all components: the first. */
static void add_bound(const Visitor *visitor, const Partners *p, Totals *totals) {
    const MdPair_d *pair = p->pair;
    const double r = sqrt(p->r_sq), shake = shake_of(visitor, p, r);
    if (!(r < pair->cutoff + shake)) return;
    const MdShape shape = shape_of(visitor, p, r);
    double force_size = shape.size_du;
    double force_shaken = shake * (shape.size_ddu + force_size / r) + slope_error(visitor, p, r);
    double force_bound = visitor->roundoff * force_size + force_shaken;
    double edge_force = r > pair->cutoff - shake ? fabs(force_over_r(visitor, p, pair->cutoff_sq)) * r : 0;
    visitor->force_bound[p->i] += force_bound + edge_force;
    totals->scales.force += force_size;
    totals->scales.extent = fmax(totals->scales.extent, fmax(visitor->longest, fmax(p->x_i->extent, p->x_j->extent)));
    if (p->i > p->j) return;
    double total = visitor->roundoff + visitor->accumulate; /* sizes of parts are no less than that of the whole */
    double energy_shaken = shake * force_size;
    totals->shaken_sq.potential += energy_shaken * energy_shaken;
    totals->shaken_sq.virial += force_shaken * r * force_shaken * r;
    const double tensor_shaken = force_shaken * r + 2 * shake * force_size;
    totals->shaken_sq.virial_tensor[0] += tensor_shaken * tensor_shaken;
    if (r > pair->cutoff - shake) {
        totals->sums_bound.potential += fabs(pair_energy(visitor, p, pair->cutoff_sq));
        totals->sums_bound.truncation += fabs(pair->truncation);
        totals->sums_bound.pairs++;
    }
    totals->sums_bound.potential += total * shape.size_u;
    totals->sums_bound.truncation += total * fabs(pair->truncation);
    totals->sums_bound.virial += total * force_size * r + edge_force * r;
    totals->sums_bound.virial_tensor[0] += total * force_size * r + edge_force * r;
}

/* Laplacian of the pair energy by the position of atom i, over its mass: U'' + (D - 1) U'/r. */
static void add_curvature(const Visitor *visitor, const Partners *p, Totals *totals) {
    if (!(p->r_sq < p->pair->cutoff_sq)) return;
    const MdSystem *system = visitor->system;
    const double second = shape_of(visitor, p, sqrt(p->r_sq)).ddu;
    double laplacian = second - (system->box.dimension - 1) * force_over_r(visitor, p, p->r_sq);
    if (visitor->embedded) { /* the density at j changes */
        const double slope = md_potential_density_shape(&system->potential, p->turned, sqrt(p->r_sq)).du;
        laplacian += visitor->embedded[p->j].bend * slope * slope;
    }
    const int type = system->type[p->i];
    totals->scales.curvature += laplacian / system->mass[type];
    totals->scales.curvature_of[type] += laplacian / system->mass[type];
}

static void add_limits(const Visitor *visitor, const Partners *p, Totals *totals) {
    add_bound(visitor, p, totals);
    add_curvature(visitor, p, totals);
}

static void visit_pair(const Visitor *visitor, int64_t i, const Place *x_i, int64_t j, const Place *x_j,
                       Totals *totals) {
    const MdSystem *system = visitor->system;
    const MdPotential *potential = &system->potential;
    Partners p = {.i = i, .j = j, .x_i = x_i, .x_j = x_j};
    for (int a = 0; a < 3; a++) {
        p.d[a] = x_i->x[a] - x_j->x[a];
        if (!(fabs(p.d[a]) <= 0.5 * system->box.length[a])) /* few are */
            p.d[a] = md_nearest_image_d(p.d[a], system->box.length[a], md_box_inverse(&system->box, a));
        p.r_sq += p.d[a] * p.d[a];
    }
    if (!(p.r_sq <= visitor->reach * visitor->reach)) return;
    p.kind = system->type[i] * potential->n_types + system->type[j];
    p.turned = system->type[j] * potential->n_types + system->type[i];
    p.pair = &potential->pair[p.kind];
    visitor->visit(visitor, &p, totals);
}

/* The atom in a slot with the atoms of one cell. */
static void visit_cell(const Visitor *visitor, const Cells *cells, int64_t slot, const int64_t cell[3],
                       Totals *totals) {
    const uint64_t bucket = bucket_of(cells, cell);
    const int64_t begin = cells->start[bucket], end = cells->start[bucket + 1];
    const bool mixed = cells->mixed[bucket];
    if (begin == end || (!mixed && !is_in(cells, begin, cell))) return;
    for (int64_t other = begin; other < end; other++)
        if (other != slot && (!mixed || is_in(cells, other, cell)))
            visit_pair(visitor, cells->atom[slot], &cells->place[slot], cells->atom[other], &cells->place[other],
                       totals);
}

static void visit_atom(const Visitor *visitor, const Cells *cells, int64_t slot, Totals *totals) {
    for (int z = 0; z < cells->n_around[2]; z++)
        for (int y = 0; y < cells->n_around[1]; y++)
            for (int x = 0; x < cells->n_around[0]; x++) {
                const int64_t *own = cells->cell[slot];
                const int64_t cell[3] = {wrap_cell(cells, 0, own[0] + cells->around[0][x]),
                                         wrap_cell(cells, 1, own[1] + cells->around[1][y]),
                                         wrap_cell(cells, 2, own[2] + cells->around[2][z])};
                visit_cell(visitor, cells, slot, cell, totals);
            }
}

static void add_sums(MdSums *sums, const MdSums *more) {
    sums->pairs += more->pairs;
    sums->potential += more->potential;
    sums->truncation += more->truncation;
    sums->virial += more->virial;
    for (int k = 0; k < MD_N_TENSOR; k++) sums->virial_tensor[k] += more->virial_tensor[k];
}

static void add_totals(Totals *totals, const Totals *block) {
    totals->sums.pairs += block->sums.pairs;
    add_term(&totals->sums.potential, &totals->lost.potential, block->sums.potential);
    add_term(&totals->sums.truncation, &totals->lost.truncation, block->sums.truncation);
    add_term(&totals->sums.virial, &totals->lost.virial, block->sums.virial);
    for (int k = 0; k < MD_N_TENSOR; k++)
        add_term(&totals->sums.virial_tensor[k], &totals->lost.virial_tensor[k], block->sums.virial_tensor[k]);
    add_sums(&totals->lost, &block->lost);
    add_sums(&totals->sums_bound, &block->sums_bound);
    add_sums(&totals->shaken_sq, &block->shaken_sq);
    totals->scales.curvature += block->scales.curvature;
    for (int t = 0; t < MD_MAX_TYPES; t++) totals->scales.curvature_of[t] += block->scales.curvature_of[t];
    totals->scales.force += block->scales.force;
    totals->scales.extent = fmax(totals->scales.extent, block->scales.extent);
}

_Static_assert(sizeof(Totals) == 4 * sizeof(MdSums) + sizeof(MdReferenceScales) &&
                   sizeof(MdReferenceScales) == (3 + 2 * MD_MAX_TYPES) * sizeof(double),
               "only doubles");

static void add_over_ranks(const MdComm *comm, Totals *totals) {
    double extent = totals->scales.extent;
    md_comm_max(comm, &extent, 1);
    md_comm_add_doubles(comm, (double *)totals, (int)(sizeof *totals / sizeof(double)));
    totals->scales.extent = extent;
}

/* Each atom of the slab with every other within reach; totals of all slabs. */
static Totals visit_pairs(const Visitor *visitor, const MdSlab *slab) {
    enum { BLOCK = 512 }; /* so that 32,000 atoms keep 60 threads busy */
    const int64_t n_atoms = slab->system.n_atoms, n_blocks = (n_atoms + BLOCK - 1) / BLOCK;
    Cells cells = make_cells(&slab->system, slab->position, visitor->reach);
    Totals *blocks = md_alloc((size_t)n_blocks, sizeof *blocks, "reference totals"), totals = {0};
#pragma omp parallel for schedule(dynamic)
    for (int64_t b = 0; b < n_blocks; b++) {
        const int64_t end = (b + 1) * BLOCK < n_atoms ? (b + 1) * BLOCK : n_atoms;
        blocks[b] = (Totals){0};
        if (md_stop_requested()) continue;
        for (int64_t slot = b * BLOCK; slot < end; slot++)
            if (!slab->is_judged || visitor->goes_around || slab->is_judged[cells.atom[slot]])
                visit_atom(visitor, &cells, slot, &blocks[b]);
    }
    for (int64_t b = 0; b < n_blocks; b++) add_totals(&totals, &blocks[b]);
    md_free(blocks);
    free_cells(&cells);
    add_over_ranks(slab->whole->comm, &totals);
    return totals;
}

/* --- many-body forms ------------------------------------------------------------------------------------------------ */

/* NULL of a form of pairs. */
static Embedded *make_embedded(const MdSlab *slab) {
    if (!md_potential_embeds(&slab->system.potential)) return NULL;
    Embedded *embedded = md_alloc((size_t)slab->system.n_atoms, sizeof *embedded, "densities");
    memset(embedded, 0, (size_t)slab->system.n_atoms * sizeof *embedded);
    return embedded;
}

/* From the densities F' and its error, of all atoms here; of those that this process judges the energies, their bounds and the curvature of
 * the density at each atom, over all processes. */
static Totals embed(const Visitor *visitor, const MdSlab *slab) {
    const MdSystem *system = visitor->system;
    Totals totals = {0};
    for (int64_t i = 0; i < system->n_atoms; i++) {
        Embedded *e = &visitor->embedded[i];
        const int type = system->type[i];
        const MdEmbedding f = md_potential_embedding(&system->potential, type, e->rho);
        e->slope = f.du;
        e->bend = f.ddu;
        e->slope_off = f.ddu * e->off + visitor->roundoff * fabs(f.du);
        if (slab->is_judged && !slab->is_judged[i]) continue;
        add_term(&totals.sums.potential, &totals.lost.potential, f.u);
        totals.sums_bound.potential += fabs(f.du) * e->rounded + (visitor->roundoff + visitor->accumulate) * fabs(f.u);
        double gradient_sq = 0;
        for (int a = 0; a < 3; a++) gradient_sq += e->gradient[a] * e->gradient[a];
        totals.scales.curvature += f.ddu * gradient_sq / system->mass[type];
        totals.scales.curvature_of[type] += f.ddu * gradient_sq / system->mass[type];
    }
    add_over_ranks(slab->whole->comm, &totals);
    return totals;
}

/* The first pass, by that visit: densities. */
static Totals add_densities(const Visitor *visitor, const MdSlab *slab,
                            void (*visit)(const Visitor *visitor, const Partners *p, Totals *totals)) {
    if (!visitor->embedded) return (Totals){0};
    Visitor first = *visitor;
    first.visit = visit;
    first.goes_around = true;
    visit_pairs(&first, slab);
    return embed(visitor, slab);
}

/* How far around a slab atoms are needed: those at its edge have neighbours whose densities come from as far again. */
static double slab_reach(const MdSystem *system, double reach) {
    return md_potential_embeds(&system->potential) ? 2 * reach : reach;
}

static Visitor force_visitor(const MdSlab *slab, double *force) {
    return (Visitor){.visit = add_pair,
                     .system = &slab->system,
                     .reach = slab->system.potential.cutoff_max,
                     .force = md_slab_rows(slab, force, 3),
                     .embedded = make_embedded(slab)};
}

static MdSums finished_sums(const Totals *totals) {
    MdSums sums = totals->sums;
    add_sums(&sums, &totals->lost);
    return sums;
}

void md_reference_forces(const MdSystem *system, const double *position, double *force, MdSums *sums) {
    MdSlab slab = md_slab_take(system, position, slab_reach(system, system->potential.cutoff_max));
    const Visitor visitor = force_visitor(&slab, force);
    const Totals of_atoms = add_densities(&visitor, &slab, add_density);
    Totals totals = visit_pairs(&visitor, &slab);
    add_totals(&totals, &of_atoms);
    *sums = finished_sums(&totals);
    md_slab_return(&slab, visitor.force, force, 3);
    md_free(visitor.embedded);
    md_slab_free(&slab);
}

static void visit_brute(const Visitor *visitor, const MdSlab *slab, Totals *totals) {
    for (int64_t i = 0; i < slab->system.n_atoms; i++) {
        const Place x_i = place_of(&slab->position[3 * i]);
        for (int64_t j = 0; j < slab->system.n_atoms; j++) {
            const Place x_j = place_of(&slab->position[3 * j]);
            if (i != j) visit_pair(visitor, i, &x_i, j, &x_j, totals);
        }
    }
}

void md_reference_forces_brute(const MdSystem *system, const double *position, double *force, MdSums *sums) {
    const MdSlab slab = {.whole = system, .system = *system, .position = position};
    const Visitor visitor = force_visitor(&slab, force);
    Totals totals = {0};
    if (visitor.embedded) {
        Visitor first = visitor;
        first.visit = add_density;
        visit_brute(&first, &slab, &totals);
        totals = embed(&visitor, &slab);
    }
    visit_brute(&visitor, &slab, &totals);
    *sums = finished_sums(&totals);
    md_free(visitor.embedded);
}

void md_reference_bounds(const MdSystem *system, const double *position, double roundoff, double accumulate,
                         double shake, double wide, double *force_bound, MdSums *sums_bound,
                         MdReferenceScales *scales) {
    /* Pairs this far beyond the cutoff are looked at, in case that rounding brings them in: more than enough if the
     * positions are meaningful. */
    const double reach = 1.05 * system->potential.cutoff_max;
    MdSlab slab = md_slab_take(system, position, slab_reach(system, reach));
    Visitor visitor = {.visit = add_limits,
                       .system = &slab.system,
                       .reach = reach,
                       .roundoff = roundoff,
                       .accumulate = accumulate,
                       .shake = shake,
                       .longest = wide,
                       .force_bound = md_slab_rows(&slab, force_bound, 1),
                       .embedded = make_embedded(&slab)};
    for (int a = 0; a < system->box.dimension; a++)
        if (system->box.periodic[a]) visitor.longest = fmax(visitor.longest, system->box.length[a]);
    const Totals of_atoms = add_densities(&visitor, &slab, add_density_bound);
    Totals totals = visit_pairs(&visitor, &slab);
    add_totals(&totals, &of_atoms);
    md_slab_return(&slab, visitor.force_bound, force_bound, 1);
    md_free(visitor.embedded);
    md_slab_free(&slab);
    *sums_bound = totals.sums_bound;
    sums_bound->potential += 6 * sqrt(totals.shaken_sq.potential);
    sums_bound->virial += 6 * sqrt(totals.shaken_sq.virial);
    sums_bound->virial_tensor[0] += 6 * sqrt(totals.shaken_sq.virial_tensor[0]);
    *scales = totals.scales;
    for (int64_t i = 0; i < system->n_own; i++) scales->n_of[system->type[i]]++;
    md_comm_add_doubles(system->comm, scales->n_of, MD_MAX_TYPES);
}
