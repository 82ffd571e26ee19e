#include "parallel/domain.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"

void md_domain_side(int k, int side[3]) {
    side[0] = k % 3 - 1;
    side[1] = k / 3 % 3 - 1;
    side[2] = k / 9 - 1;
}

static int rank_at(const int grid[3], const int at[3]) { return (at[2] * grid[1] + at[1]) * grid[0] + at[0]; }

void md_domain_place(MdDomain *domain, const int grid[3], int rank, const bool periodic[3]) {
    *domain = (MdDomain){.rank = rank, .n_ranks = grid[0] * grid[1] * grid[2]};
    md_require(rank >= 0 && rank < domain->n_ranks);
    for (int a = 0; a < 3; a++) {
        domain->grid[a] = grid[a];
        domain->periodic[a] = periodic[a];
    }
    domain->at[0] = rank % grid[0];
    domain->at[1] = rank / grid[0] % grid[1];
    domain->at[2] = rank / grid[0] / grid[1];
}

/* First cell of the domains at index `at` along an axis. */
static int32_t first_cell(int32_t cells, int at, int grid) { return (int32_t)((int64_t)cells * at / grid); }

static int most_domains(int32_t cells, int32_t reach, bool periodic) {
    if (periodic && cells < 2 * reach + 1) return 1;
    return cells /
           (reach > 1 ? reach : 1); /* of an uneven division the thinnest domain has cells / grid, rounded down */
}

void md_domain_divide(MdDomain *domain, const int32_t cells[3], const int32_t reach[3]) {
    for (int a = 0; a < 3; a++) {
        const int grid = domain->grid[a];
        md_require(cells[a] > 0 && (grid == 1 || grid <= most_domains(cells[a], reach[a], domain->periodic[a])));
        domain->cells[a] = cells[a];
        domain->begin[a] = first_cell(cells[a], domain->at[a], grid);
        domain->end[a] = first_cell(cells[a], domain->at[a] + 1, grid);
        domain->halo[a] = md_domain_is_cut(domain, a) ? reach[a] : 0;
    }
}

int md_domain_owner(const MdDomain *domain, const int32_t cell[3]) {
    int at[3];
    /* The last index whose first cell is not beyond: floor(cells * at / grid) <= cell means cells * at < grid * (cell + 1). */
    for (int a = 0; a < 3; a++) at[a] = (int)(((int64_t)domain->grid[a] * (cell[a] + 1) - 1) / domain->cells[a]);
    return rank_at(domain->grid, at);
}

int md_domain_neighbor(const MdDomain *domain, const int side[3]) {
    int at[3];
    for (int a = 0; a < 3; a++) {
        const int grid = domain->grid[a];
        at[a] = domain->at[a] + side[a];
        if (side[a] != 0 && !md_domain_is_cut(domain, a)) return -1;
        if ((at[a] < 0 || at[a] >= grid) && !domain->periodic[a]) return -1;
        at[a] = (at[a] + grid) % grid;
    }
    return rank_at(domain->grid, at);
}

MdCellBox md_domain_border(const MdDomain *domain, const int side[3]) {
    MdCellBox box;
    for (int a = 0; a < 3; a++) {
        box.begin[a] = side[a] > 0 ? domain->end[a] - domain->halo[a] : domain->begin[a];
        box.end[a] = side[a] < 0 ? domain->begin[a] + domain->halo[a] : domain->end[a];
    }
    return box;
}

MdCellBox md_domain_halo(const MdDomain *domain, const int side[3]) {
    MdCellBox box;
    for (int a = 0; a < 3; a++) {
        const int32_t halo = domain->halo[a], own = domain->end[a] - domain->begin[a];
        box.begin[a] = side[a] < 0 ? 0 : side[a] > 0 ? halo + own : halo;
        box.end[a] = side[a] < 0 ? halo : side[a] > 0 ? own + 2 * halo : halo + own;
    }
    return box;
}

/* --- the choice of the grid --- */

int md_domain_most(const MdDomainShape *shape, int axis) {
    if (axis >= shape->dimension) return 1;
    const int most = most_domains(shape->cells[axis], shape->reach[axis], shape->periodic[axis]);
    return most > 1 ? most : 1;
}

/* Two domains of a cell each along a periodic axis, where there is room for three cells, but not for four. */
static bool is_uneven(const MdDomainShape *shape, int axis, int n) {
    return shape->even && shape->periodic[axis] && n > 1 && shape->cells[axis] / n * n < 2 * shape->reach[axis] + 1;
}

bool md_domain_fits(const MdDomainShape *shape, const int grid[3]) {
    for (int a = 0; a < 3; a++)
        if (grid[a] < 1 || grid[a] > md_domain_most(shape, a) || is_uneven(shape, a, grid[a])) return false;
    return true;
}

/* The time of a step in units of the work for one atom of the rank's own. A volume of 1 (area, in two dimensions) counts
 * as an atom, as in a liquid. The weights are round and partly assumed: they rank grids, and predict no time.
 *
 * An atom of the halo is 16 bytes that are packed, sent and stored, and no forces: a quarter, assumed. A neighbour costs a
 * message, about a microsecond within a node, in which a core does 32 atoms (run/results/epyc-zen5/README.md: 60 M
 * atom-steps/s on two). Between nodes both are four times that, assumed: an adapter is slower than memory, and the ranks of
 * a node share it. */
static const double halo_weight = 0.25, neighbor_weight = 32, between_nodes = 4;

static double volume(const MdDomainShape *shape, const MdCellBox *box) {
    double product = 1;
    for (int a = 0; a < shape->dimension; a++)
        product *= (box->end[a] - box->begin[a]) * shape->length[a] / shape->cells[a];
    return product;
}

static double time_of_rank(const MdDomainShape *shape, const int grid[3], int rank) {
    MdDomain domain;
    md_domain_place(&domain, grid, rank, shape->periodic);
    md_domain_divide(&domain, shape->cells, shape->reach);
    const MdCellBox own = md_domain_halo(&domain, (const int[3]){0, 0, 0});
    double time = volume(shape, &own);
    for (int k = 0; k < MD_N_SIDES; k++) {
        int side[3];
        md_domain_side(k, side);
        const int neighbor = md_domain_neighbor(&domain, side);
        if (k == MD_SIDE_SELF || neighbor < 0) continue;
        const MdCellBox copies = md_domain_halo(&domain, side);
        const bool same_node = shape->n_per_node == 0 || rank / shape->n_per_node == neighbor / shape->n_per_node;
        time += (volume(shape, &copies) * halo_weight + neighbor_weight) * (same_node ? 1 : between_nodes);
    }
    return time;
}

/* All wait for the slowest. */
static double time_of_step(const MdDomainShape *shape, const int grid[3]) {
    const int n_ranks = grid[0] * grid[1] * grid[2];
    double slowest = 0;
    for (int rank = 0; rank < n_ranks; rank++) {
        const double time = time_of_rank(shape, grid, rank);
        if (time > slowest) slowest = time;
    }
    return slowest;
}

bool md_domain_choose(const MdDomainShape *shape, int n_ranks, int grid[3]) {
    double least = 0;
    bool found = false;
    for (int x = 1; x <= n_ranks; x++) {
        if (n_ranks % x != 0) continue;
        for (int y = 1; y <= n_ranks / x; y++) {
            if (n_ranks / x % y != 0) continue;
            const int candidate[3] = {x, y, n_ranks / x / y};
            if (!md_domain_fits(shape, candidate)) continue;
            const double time = time_of_step(shape, candidate);
            if (found && time >= least) continue;
            for (int a = 0; a < 3; a++) grid[a] = candidate[a];
            least = time;
            found = true;
        }
    }
    return found;
}

char *md_domain_miscount(const int grid[3], int n_ranks) {
    const long long n = (long long)grid[0] * grid[1] * grid[2];
    if (n == n_ranks) return NULL;
    return md_format("parallel.grid: %d x %d x %d is %lld process%s, but %d %s started: start %lld (mpirun -n %lld), "
                     "or take parallel.grid = auto",
                     grid[0], grid[1], grid[2], n, n == 1 ? "" : "es", n_ranks, n_ranks == 1 ? "was" : "were", n, n);
}

/* None of the grids of so many domains: how many would do. */
static char *describe_none(const MdDomainShape *shape, int n_ranks) {
    int grid[3], fewer = n_ranks - 1;
    while (!md_domain_choose(shape, fewer, grid)) fewer--; /* one domain always fits */
    return md_format("parallel.grid: auto: no grid of %d domains fits: at most %d along x, %d along y and %d along z "
                     "here%s; %d process%s would do (%d x %d x %d)",
                     n_ranks, md_domain_most(shape, 0), md_domain_most(shape, 1), md_domain_most(shape, 2),
                     is_uneven(shape, 0, 2) || is_uneven(shape, 1, 2) || is_uneven(shape, 2, 2)
                         ? " (where 3 fit but not 4, 2 do not: domains have equal numbers of cells)"
                         : "",
                     fewer, fewer == 1 ? "" : "es", grid[0], grid[1], grid[2]);
}

static const char *unit_of(const MdDomainShape *shape) { return shape->unit ? shape->unit : "sigma"; }

/* Why there cannot be so many domains along the axis. */
static char *describe_axis(const MdDomainShape *shape, int axis, int n) {
    const int32_t cells = shape->cells[axis], reach = shape->reach[axis];
    const double edge = shape->length[axis] / cells, thick = shape->even ? shape->length[axis] / n : cells / n * edge;
    const char name = "xyz"[axis];
    if (axis >= shape->dimension) return md_format("a system of two dimensions is not cut along %c", name);
    if (cells == 1 || (shape->periodic[axis] && cells < 2 * reach + 1))
        return md_format("%.2f %s are too short along %c to be cut: cutoff and skin make %d cell%s of them, and that "
                         "takes %d",
                         shape->length[axis], unit_of(shape), name, cells, cells == 1 ? "" : "s",
                         shape->periodic[axis] && reach > 0 ? 2 * reach + 1 : 2);
    if (!shape->even && cells < n)
        return md_format("there are %d cells of %.2f %s along %c, and a domain takes %d, as far as the list reaches",
                         cells, edge, unit_of(shape), name, reach > 1 ? reach : 1);
    return md_format("domains would be %.2f %s thick along %c, and the list reaches %.2f, cutoff and skin in whole "
                     "cells",
                     thick, unit_of(shape), name, reach * edge);
}

char *md_domain_misfit(const MdDomainShape *shape, const int grid[3], int n_ranks) {
    int found[3];
    if (!grid) return md_domain_choose(shape, n_ranks, found) ? NULL : describe_none(shape, n_ranks);
    for (int a = 0; a < 3; a++) {
        const int most = md_domain_most(shape, a);
        if (grid[a] <= most && is_uneven(shape, a, grid[a]))
            return md_format("parallel.grid: %d x %d x %d: %d domains as thick as the list reaches, %.2f %s, do not "
                             "suffice along %c: 1 or %d here",
                             grid[0], grid[1], grid[2], grid[a], shape->length[a] / shape->cells[a], unit_of(shape),
                             "xyz"[a], most);
        if (grid[a] <= most) continue;
        char *why = describe_axis(shape, a, grid[a]);
        char *text = md_format("parallel.grid: %d x %d x %d: %s: at most %d along %c here", grid[0], grid[1], grid[2],
                               why, most, "xyz"[a]);
        free(why);
        return text;
    }
    return NULL;
}
