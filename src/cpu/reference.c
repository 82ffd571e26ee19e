/* The judge: see reference.h.
 *
 * Cells are cubes at least one cutoff wide, so that all partners of an atom lie in its own cell and those around it.
 * Cells live in a hash table of chains, keyed by three whole numbers: there is no grid to size, and an atom that has
 * flown far out of an open box costs nothing. Along a periodic axis the cells divide the length evenly, and the cell
 * numbers wrap; with two cells along an axis both sides are the same cell, with one cell there is no other, and each
 * is visited once. A pair is taken where its second atom has the larger number, and forces are added in that order.
 *
 * What is done with a pair is a visitor: one adds forces and energies, one adds the bounds of rounding. */
#include "cpu/reference.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Added to the cutoff when cells are sized: covers the rounding of position / width. */
static const double rounding_margin = 1 + 1e-9;

typedef struct Cells {
    double per_length[3];          /* cells per sigma */
    int64_t n_periodic[3];         /* cells along a periodic axis, 0 along an open one */
    int n_around[3], around[3][3]; /* steps to the cells to visit along an axis */
    uint64_t mask;                 /* buckets - 1 */
    int64_t *first;                /* [buckets] first atom of the chain, -1: none */
    int64_t *next;                 /* [n_atoms] */
    int64_t (*cell)[3];            /* [n_atoms] */
} Cells;

static uint64_t bucket_of(const Cells *cells, const int64_t cell[3]) {
    uint64_t hash = 0;
    for (int a = 0; a < 3; a++) {
        /* Odd constant of golden-ratio hashing (Knuth, The Art of Computer Programming 3, 6.4). */
        hash = (hash ^ (uint64_t)cell[a]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    return hash & cells->mask;
}

static int64_t wrap_cell(const Cells *cells, int axis, int64_t c) {
    int64_t n = cells->n_periodic[axis];
    return n ? (c % n + n) % n : c;
}

static Cells make_cells(const MdSystem *system, const double *position, double margin) {
    Cells cells = {.mask = 1};
    double width = (system->potential.cutoff_max + margin) * rounding_margin;
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
    cells.first = md_alloc(cells.mask + 1, sizeof *cells.first, "reference cells");
    cells.next = md_alloc((size_t)system->n_atoms, sizeof *cells.next, "reference cells");
    cells.cell = md_alloc((size_t)system->n_atoms, sizeof *cells.cell, "reference cells");
    for (uint64_t b = 0; b <= cells.mask; b++) cells.first[b] = -1;
    for (int64_t i = system->n_atoms - 1; i >= 0; i--) { /* backwards, so that chains run in order of the atoms */
        for (int a = 0; a < 3; a++) {
            /* Cells beyond 1e15 are one cell: the double cannot tell them apart anyway. NaN goes there too. */
            double c = floor(position[3 * i + a] * cells.per_length[a]);
            cells.cell[i][a] = wrap_cell(&cells, a, fabs(c) < 1e15 ? (int64_t)c : INT64_C(1000000000000000));
        }
        uint64_t b = bucket_of(&cells, cells.cell[i]);
        cells.next[i] = cells.first[b];
        cells.first[b] = i;
    }
    return cells;
}

static void free_cells(Cells *cells) {
    md_free(cells->first);
    md_free(cells->next);
    md_free(cells->cell);
}

/* What is done with each pair: d points from j to i, nearest image; pairs beyond their cutoff come too. */
typedef struct Visitor Visitor;
struct Visitor {
    void (*visit)(Visitor *visitor, int64_t i, int64_t j, const MdPair_d *pair, const double d[3], double r_sq);
    int shift;
    double *force; /* [n_atoms][3] */
    MdSums *sums;
    MdSums lost;                        /* what the additions to sums have rounded away so far */
    double roundoff, accumulate, shake; /* for bounds: see reference.h */
    const double *position;
    double longest;      /* periodic edge */
    double *force_bound; /* [n_atoms] */
    MdSums *sums_bound;
    MdSums shaken_sq;       /* squares of what the shake does to each pair */
    const MdSystem *system; /* for the curvature */
    double curvature;
};

static double force_over_r(const Visitor *visitor, const MdPair_d *pair, double r_sq) {
    return visitor->shift == MD_SHIFT_FORCE ? md_pair_force_shifted_d(pair, r_sq) : md_pair_force_d(pair, r_sq);
}

/* Adds a term to a total of any length without its error growing with the length: the part of the smaller number that
 * the addition loses is kept apart (Neumaier, Z. Angew. Math. Mech. 54, 39 (1974)). A crystal needs it: tens of millions
 * of equal terms round the same way each time. */
static void add_term(double *total, double *lost, double term) {
    double sum = *total + term;
    *lost += fabs(*total) >= fabs(term) ? (*total - sum) + term : (term - sum) + *total;
    *total = sum;
}

/* Adds the pair to forces and sums if it is inside its cutoff. */
static void add_pair(Visitor *visitor, int64_t i, int64_t j, const MdPair_d *pair, const double d[3], double r_sq) {
    if (!(r_sq < pair->cutoff_sq)) return;
    double over_r = force_over_r(visitor, pair, r_sq);
    for (int a = 0; a < 3; a++) {
        visitor->force[3 * i + a] += over_r * d[a];
        visitor->force[3 * j + a] -= over_r * d[a];
    }
    visitor->sums->pairs++;
    add_term(&visitor->sums->potential, &visitor->lost.potential, md_pair_energy_d(pair, r_sq));
    add_term(&visitor->sums->truncation, &visitor->lost.truncation, pair->truncation);
    add_term(&visitor->sums->virial, &visitor->lost.virial, over_r * r_sq);
}

/* Adds what rounding may do to this pair. In the force on one atom every part is added in full. In the sums over all
 * pairs the roundings of the formula are, since a crystal makes the same ones in each pair; those of the places are
 * independent, so that six times the root of the sum of their squares bounds them (Hoeffding). The two powers of the formula round on their own, so their sizes add; a shift
 * of the distance by shake changes each by up to 14 shake / r of itself (the steepest power is r^-14 in force over r,
 * times r); and a pair within shake of its cutoff may be counted by one side and not by the other. */
static void add_bound(Visitor *visitor, int64_t i, int64_t j, const MdPair_d *pair, const double d[3], double r_sq) {
    (void)d;
    double r = sqrt(r_sq), extent = visitor->longest;
    for (int a = 0; a < 3; a++)
        extent = fmax(extent, fmax(fabs(visitor->position[3 * i + a]), fabs(visitor->position[3 * j + a])));
    double shake = visitor->shake * extent + visitor->roundoff * r;
    if (!(r < pair->cutoff + shake)) return;
    double inverse_6 = 1 / (r_sq * r_sq * r_sq);
    double shaken = 14 * shake / r, relative = visitor->roundoff + shaken;
    double force = (pair->force_12 * inverse_6 + pair->force_6) * inverse_6 / r;
    double energy = (pair->energy_12 * inverse_6 + pair->energy_6) * inverse_6;
    double force_size = force + fabs(pair->force_shift), force_bound = relative * force_size;
    double total = visitor->roundoff + visitor->accumulate; /* sizes of parts are no less than that of the whole */
    double energy_bound = total * (energy + fabs(pair->energy_shift) + r * fabs(pair->force_shift));
    double energy_shaken = shaken * energy + shake * fabs(pair->force_shift), virial_bound = total * force_size * r;
    visitor->shaken_sq.potential += energy_shaken * energy_shaken;
    visitor->shaken_sq.virial += shaken * force_size * r * shaken * force_size * r;
    if (r > pair->cutoff - shake) {
        force_bound += fabs(force_over_r(visitor, pair, pair->cutoff_sq)) * r;
        virial_bound += fabs(force_over_r(visitor, pair, pair->cutoff_sq)) * r * r;
        energy_bound += fabs(md_pair_energy_d(pair, pair->cutoff_sq));
        visitor->sums_bound->truncation += fabs(pair->truncation);
        visitor->sums_bound->pairs++;
    }
    visitor->force_bound[i] += force_bound;
    visitor->force_bound[j] += force_bound;
    visitor->sums_bound->potential += energy_bound;
    visitor->sums_bound->truncation += total * fabs(pair->truncation);
    visitor->sums_bound->virial += virial_bound;
}

/* Laplacian of the pair energy by the place of either atom, over its mass: U'' + (D - 1) U'/r. */
static void add_curvature(Visitor *visitor, int64_t i, int64_t j, const MdPair_d *pair, const double d[3],
                          double r_sq) {
    (void)d;
    if (!(r_sq < pair->cutoff_sq)) return;
    const MdSystem *system = visitor->system;
    double inverse_6 = 1 / (r_sq * r_sq * r_sq);
    double second = (13 * pair->force_12 * inverse_6 - 7 * pair->force_6) * inverse_6 / r_sq;
    double laplacian = second - (system->box.dimension - 1) * force_over_r(visitor, pair, r_sq);
    visitor->curvature += laplacian * (1 / system->mass[system->type[i]] + 1 / system->mass[system->type[j]]);
}

static void visit_pair(const MdSystem *system, const double *position, int64_t i, int64_t j, Visitor *visitor) {
    const MdPotential *potential = &system->potential;
    double d[3], r_sq = 0;
    for (int a = 0; a < 3; a++) {
        d[a] = md_nearest_image_d(position[3 * i + a] - position[3 * j + a], system->box.length[a],
                                  md_box_inverse(&system->box, a));
        r_sq += d[a] * d[a];
    }
    const MdPair_d *pair = &potential->pair[system->type[i] * potential->n_types + system->type[j]];
    visitor->visit(visitor, i, j, pair, d, r_sq);
}

/* Pairs of atom i with the atoms of one cell. */
static void visit_cell(const MdSystem *system, const Cells *cells, const double *position, int64_t i,
                       const int64_t cell[3], Visitor *visitor) {
    for (int64_t j = cells->first[bucket_of(cells, cell)]; j >= 0; j = cells->next[j]) {
        const int64_t *other = cells->cell[j]; /* a chain holds every cell that hashes to its bucket */
        if (j > i && other[0] == cell[0] && other[1] == cell[1] && other[2] == cell[2])
            visit_pair(system, position, i, j, visitor);
    }
}

/* Each pair nearer than cutoff_max + margin once, and others that come along. */
static void visit_pairs(const MdSystem *system, const double *position, double margin, Visitor *visitor) {
    Cells cells = make_cells(system, position, margin);
    for (int64_t i = 0; i < system->n_atoms; i++)
        for (int z = 0; z < cells.n_around[2]; z++)
            for (int y = 0; y < cells.n_around[1]; y++)
                for (int x = 0; x < cells.n_around[0]; x++) {
                    const int64_t cell[3] = {wrap_cell(&cells, 0, cells.cell[i][0] + cells.around[0][x]),
                                             wrap_cell(&cells, 1, cells.cell[i][1] + cells.around[1][y]),
                                             wrap_cell(&cells, 2, cells.cell[i][2] + cells.around[2][z])};
                    visit_cell(system, &cells, position, i, cell, visitor);
                }
    free_cells(&cells);
}

static Visitor force_visitor(const MdSystem *system, double *force, MdSums *sums) {
    memset(force, 0, (size_t)system->n_atoms * 3 * sizeof *force);
    memset(sums, 0, sizeof *sums);
    Visitor visitor = {.visit = add_pair, .shift = system->potential.shift, .force = force, .sums = sums};
    return visitor;
}

static void finish_sums(Visitor *visitor) {
    visitor->sums->potential += visitor->lost.potential;
    visitor->sums->truncation += visitor->lost.truncation;
    visitor->sums->virial += visitor->lost.virial;
}

void md_reference_forces(const MdSystem *system, const double *position, double *force, MdSums *sums) {
    Visitor visitor = force_visitor(system, force, sums);
    visit_pairs(system, position, 0, &visitor);
    finish_sums(&visitor);
}

void md_reference_forces_brute(const MdSystem *system, const double *position, double *force, MdSums *sums) {
    Visitor visitor = force_visitor(system, force, sums);
    for (int64_t i = 0; i < system->n_atoms; i++)
        for (int64_t j = i + 1; j < system->n_atoms; j++) visit_pair(system, position, i, j, &visitor);
    finish_sums(&visitor);
}

void md_reference_bounds(const MdSystem *system, const double *position, double roundoff, double accumulate,
                         double shake, double *force_bound, MdSums *sums_bound) {
    memset(force_bound, 0, (size_t)system->n_atoms * sizeof *force_bound);
    memset(sums_bound, 0, sizeof *sums_bound);
    Visitor visitor = {.visit = add_bound,
                       .shift = system->potential.shift,
                       .roundoff = roundoff,
                       .accumulate = accumulate,
                       .shake = shake,
                       .position = position,
                       .force_bound = force_bound,
                       .sums_bound = sums_bound};
    for (int a = 0; a < system->box.dimension; a++)
        if (system->box.periodic[a]) visitor.longest = fmax(visitor.longest, system->box.length[a]);
    /* Pairs this far beyond the cutoff are looked at, in case that rounding brings them in: more than enough where the
     * places are worth anything. */
    visit_pairs(system, position, 0.05 * system->potential.cutoff_max, &visitor);
    sums_bound->potential += 6 * sqrt(visitor.shaken_sq.potential);
    sums_bound->virial += 6 * sqrt(visitor.shaken_sq.virial);
}

double md_reference_curvature(const MdSystem *system, const double *position) {
    Visitor visitor = {.visit = add_curvature, .shift = system->potential.shift, .system = system};
    visit_pairs(system, position, 0, &visitor);
    return visitor.curvature;
}
