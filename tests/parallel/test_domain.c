/* Spatial decomposition: for grids of 1 to 64 ranks each cell has one owner, both ends of each message mean the same
 * cells, and a rank has copies of all cells that its list reaches and of no others. */
#include "parallel/domain.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { MOST_RANKS = 64 };

typedef struct Case {
    const char *name;
    MdDomainShape shape;
} Case;

/* Few of these numbers of cells are multiples of the ranks along their axis. */
static const Case cases[] = {
    {"3-D periodic", {3, {20, 15, 10}, {true, true, true}, {29, 17, 11}, {4, 1, 1}, 0, false, NULL}},
    {"3-D open", {3, {30, 20, 26}, {false, false, false}, {23, 13, 64}, {2, 1, 1}, 0, false, NULL}},
    {"slab", {3, {14, 14, 28}, {true, true, false}, {21, 10, 10}, {3, 2, 1}, 8, false, NULL}},
    {"thin film", {3, {5, 60, 60}, {true, false, true}, {1, 22, 23}, {0, 1, 2}, 0, false, NULL}},
    {"2-D periodic", {2, {90, 70, 1}, {true, true, false}, {67, 31, 1}, {4, 1, 0}, 4, false, NULL}},
    {"3-D, even", {3, {12, 20, 10}, {true, false, true}, {5, 8, 3}, {1, 1, 1}, 0, true, NULL}},
    {"2-D, one axis open", {2, {90, 40, 1}, {false, true, false}, {128, 33, 1}, {2, 1, 0}, 0, false, NULL}},
};
enum { N_CASES = sizeof cases / sizeof *cases };

static MdDomain domain_of(const MdDomainShape *shape, const int grid[3], int rank) {
    MdDomain domain;
    md_domain_place(&domain, grid, rank, shape->periodic);
    md_domain_divide(&domain, shape->cells, shape->reach);
    return domain;
}

static int64_t count_cells(const MdCellBox *box) {
    int64_t n = 1;
    for (int a = 0; a < 3; a++) n *= box->end[a] - box->begin[a];
    return n;
}

/* Cell number k of a box, x fastest. */
static void cell_in(const MdCellBox *box, int64_t k, int32_t cell[3]) {
    for (int a = 0; a < 3; a++) {
        const int32_t n = box->end[a] - box->begin[a];
        cell[a] = box->begin[a] + (int32_t)(k % n);
        k /= n;
    }
}

/* The definition: the domain at place `at` begins at the cell cells * at / grid, rounded down. */
static void check_bounds(const MdDomain *d) {
    for (int a = 0; a < 3; a++) {
        const int64_t cells = d->cells[a], grid = d->grid[a];
        const bool begins = d->begin[a] * grid <= cells * d->at[a] && cells * d->at[a] < (d->begin[a] + 1) * grid;
        CHECK(begins);
        CHECK(d->halo[a] == 0 || d->end[a] - d->begin[a] >= d->halo[a]);
        CHECK(md_domain_is_cut(d, a) == (grid > 1));
    }
}

/* Each cell of the whole box is within the bounds of one rank, which is its owner. */
static void check_owners(const MdDomainShape *shape, const int grid[3], int n_ranks) {
    const MdCellBox whole = {{0, 0, 0}, {shape->cells[0], shape->cells[1], shape->cells[2]}};
    const int64_t n_cells = count_cells(&whole);
    int *owners = calloc((size_t)n_cells, sizeof *owners); /* how many a cell has */
    bool agree = true, inside = true;
    for (int rank = 0; rank < n_ranks; rank++) {
        const MdDomain d = domain_of(shape, grid, rank);
        check_bounds(&d);
        MdCellBox own;
        memcpy(own.begin, d.begin, sizeof own.begin);
        memcpy(own.end, d.end, sizeof own.end);
        for (int64_t k = 0; k < count_cells(&own); k++) {
            int32_t cell[3];
            cell_in(&own, k, cell);
            for (int a = 0; a < 3; a++) inside &= cell[a] >= 0 && cell[a] < shape->cells[a];
            if (!inside) break;
            owners[((int64_t)cell[2] * shape->cells[1] + cell[1]) * shape->cells[0] + cell[0]]++;
            agree &= md_domain_owner(&d, cell) == rank && md_domain_owner(&d, own.begin) == rank;
        }
    }
    bool one = true;
    for (int64_t c = 0; c < n_cells; c++) one &= owners[c] == 1;
    CHECK(inside);
    CHECK(agree);
    CHECK(one);
    free(owners);
}

/* The global cell of a local one of the rank, of its image in the box. */
static void global_cell(const MdDomain *d, const int32_t local[3], int32_t cell[3]) {
    for (int a = 0; a < 3; a++) {
        const int32_t image = local[a] - d->halo[a] + d->begin[a];
        cell[a] = (image + d->cells[a]) % d->cells[a];
    }
}

/* What the neighbour on a side sends is, cell after cell, what the rank has there. */
static void check_pair(const MdDomainShape *shape, const MdDomain *d, int k) {
    int side[3], back[3];
    md_domain_side(k, side);
    md_domain_side(MD_N_SIDES - 1 - k, back);
    for (int a = 0; a < 3; a++) CHECK(back[a] == -side[a]);
    const int rank = md_domain_neighbor(d, side);
    if (rank < 0) return;
    for (int a = 0; a < 3; a++) CHECK(side[a] == 0 || d->grid[a] > 1);
    const MdDomain other = domain_of(shape, d->grid, rank);
    CHECK(md_domain_neighbor(&other, back) == d->rank);
    const MdCellBox sent = md_domain_border(&other, back), kept = md_domain_halo(d, side);
    bool same = true, owned = true;
    for (int a = 0; a < 3; a++) same &= sent.end[a] - sent.begin[a] == kept.end[a] - kept.begin[a];
    if (!CHECK(same)) return;
    for (int64_t i = 0; i < count_cells(&sent); i++) {
        int32_t from[3], local[3], to[3];
        cell_in(&sent, i, from);
        cell_in(&kept, i, local);
        global_cell(d, local, to);
        for (int a = 0; a < 3; a++) same &= from[a] == to[a];
        owned &= md_domain_owner(d, from) == rank;
    }
    CHECK(same);
    CHECK(owned);
}

/* A cell along one axis as seen from a domain: within reach of its own cells, and not beyond an open end. */
static bool is_within(const MdDomain *d, const int32_t reach[3], int axis, int32_t local) {
    const int32_t image = local - d->halo[axis] + d->begin[axis];
    const bool inside = image >= 0 && image < d->cells[axis];
    if (!md_domain_is_cut(d, axis)) return inside;
    return image >= d->begin[axis] - reach[axis] && image < d->end[axis] + reach[axis] && (d->periodic[axis] || inside);
}

/* Own cells and those of all sides together: each cell of the local grid once, less those beyond open ends. */
static void check_cover(const MdDomainShape *shape, const MdDomain *d) {
    MdCellBox local = {{0, 0, 0}, {0, 0, 0}};
    for (int a = 0; a < 3; a++) {
        local.end[a] = d->end[a] - d->begin[a] + 2 * d->halo[a];
        CHECK(d->halo[a] == (d->grid[a] > 1 ? shape->reach[a] : 0));
    }
    const int64_t n_cells = count_cells(&local);
    int *times = calloc((size_t)n_cells, sizeof *times);
    bool inside = true, once = true;
    for (int k = 0; k < MD_N_SIDES; k++) {
        int side[3];
        md_domain_side(k, side);
        if (md_domain_neighbor(d, side) < 0) continue;
        const MdCellBox box = md_domain_halo(d, side);
        for (int a = 0; a < 3; a++)
            inside &= box.begin[a] >= 0 && box.begin[a] <= box.end[a] && box.end[a] <= local.end[a];
        for (int64_t i = 0; i < count_cells(&box) && inside; i++) {
            int32_t c[3];
            cell_in(&box, i, c);
            times[((int64_t)c[2] * local.end[1] + c[1]) * local.end[0] + c[0]]++;
        }
    }
    for (int64_t i = 0; i < n_cells; i++) {
        int32_t c[3];
        cell_in(&local, i, c);
        bool within = true;
        for (int a = 0; a < 3; a++) within &= is_within(d, shape->reach, a, c[a]);
        once &= times[i] == within;
    }
    CHECK(inside);
    CHECK(once);
    free(times);
}

static void check_grid(const MdDomainShape *shape, const int grid[3], int n_ranks) {
    check_owners(shape, grid, n_ranks);
    for (int rank = 0; rank < n_ranks; rank++) {
        const MdDomain d = domain_of(shape, grid, rank);
        CHECK(d.rank == rank && d.n_ranks == n_ranks);
        CHECK((d.at[2] * grid[1] + d.at[1]) * grid[0] + d.at[0] == rank);
        CHECK(md_domain_neighbor(&d, (const int[3]){0, 0, 0}) == rank);
        for (int k = 0; k < MD_N_SIDES; k++) check_pair(shape, &d, k);
        check_cover(shape, &d);
    }
}

/* From the rule as it is said: no domain is thinner than the list reaches, or than a cell; a periodic axis that is cut has
 * more cells than a list looks through. */
static bool fits_by_rule(const MdDomainShape *shape, const int grid[3]) {
    for (int a = 0; a < 3; a++) {
        const int64_t of_box = shape->cells[a], reach = shape->reach[a],
                      cells = shape->even ? of_box - of_box % grid[a] : of_box;
        if (grid[a] == 1) continue;
        if (a >= shape->dimension || (shape->periodic[a] && cells < 2 * reach + 1)) return false;
        for (int at = 0; at < grid[a]; at++) {
            const int64_t thick = cells * (at + 1) / grid[a] - cells * at / grid[a];
            if (thick < reach || thick < 1) return false;
        }
    }
    return true;
}

static bool next_grid(int n_ranks, int grid[3]) {
    do {
        if (++grid[1] > n_ranks) {
            grid[1] = 1;
            if (++grid[0] > n_ranks) return false;
        }
        grid[2] = n_ranks / (grid[0] * grid[1]);
    } while (grid[0] * grid[1] * grid[2] != n_ranks);
    return true;
}

/* All grids of so many ranks; returns how many fit. */
static int check_ranks(const Case *one, int n_ranks) {
    const MdDomainShape *shape = &one->shape;
    int grid[3] = {1, 0, 0}, n_fit = 0;
    while (next_grid(n_ranks, grid)) {
        check_context("%s, %d x %d x %d", one->name, grid[0], grid[1], grid[2]);
        const bool fits = md_domain_fits(shape, grid);
        CHECK(fits == fits_by_rule(shape, grid));
        char *misfit = md_domain_misfit(shape, grid, n_ranks);
        CHECK((misfit == NULL) == fits);
        free(misfit);
        if (!fits) continue;
        n_fit++;
        check_grid(shape, grid, n_ranks);
    }
    return n_fit;
}

static void check_choice(const Case *one, int n_ranks, int n_fit) {
    int grid[3], again[3];
    check_context("%s, auto of %d", one->name, n_ranks);
    const bool found = md_domain_choose(&one->shape, n_ranks, grid);
    CHECK(found == (n_fit > 0));
    char *misfit = md_domain_misfit(&one->shape, NULL, n_ranks);
    CHECK((misfit == NULL) == found);
    free(misfit);
    if (!found) return;
    CHECK(md_domain_fits(&one->shape, grid));
    CHECK(grid[0] * grid[1] * grid[2] == n_ranks);
    CHECK(md_domain_choose(&one->shape, n_ranks, again) && memcmp(grid, again, sizeof grid) == 0);
}

/* What auto takes, where the reason is clear. */
static void test_choices(void) {
    static const struct {
        const char *name;
        MdDomainShape shape;
        int n_ranks, grid[3];
    } choices[] = {
        {"least surface",
         {3, {200, 200, 200}, {true, true, true}, {288, 72, 72}, {4, 1, 1}, 0, false, NULL},
         64,
         {4, 4, 4}},
        {"least surface",
         {2, {900, 900, 1}, {true, true, false}, {1296, 324, 1}, {4, 1, 0}, 0, false, NULL},
         16,
         {4, 4, 1}},
        {"few edges", {3, {60, 60, 60}, {true, true, true}, {80, 20, 20}, {4, 1, 1}, 0, false, NULL}, 8, {1, 2, 4}},
        {"few neighbours", {3, {24, 30, 24}, {true, true, true}, {32, 10, 8}, {4, 1, 1}, 0, false, NULL}, 8, {1, 1, 8}},
        {"whole layers", {3, {60, 60, 60}, {true, true, true}, {80, 20, 20}, {4, 1, 1}, 0, false, NULL}, 2, {1, 1, 2}},
        {"a long box", {3, {400, 20, 20}, {true, true, true}, {560, 7, 7}, {4, 1, 1}, 0, false, NULL}, 8, {8, 1, 1}},
        {"equal shares", {3, {60, 60, 60}, {true, true, true}, {20, 21, 20}, {1, 1, 1}, 0, false, NULL}, 3, {1, 3, 1}},
        {"one node",
         {3, {160, 160, 160}, {false, false, false}, {64, 64, 64}, {2, 2, 2}, 0, false, NULL},
         32,
         {2, 4, 4}},
        {"two nodes",
         {3, {160, 160, 160}, {false, false, false}, {64, 64, 64}, {2, 2, 2}, 16, false, NULL},
         32,
         {4, 4, 2}},
    };
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++) {
        int grid[3] = {0, 0, 0};
        CHECK(md_domain_choose(&choices[k].shape, choices[k].n_ranks, grid));
        check_context("%s: %d x %d x %d", choices[k].name, grid[0], grid[1], grid[2]);
        CHECK(memcmp(grid, choices[k].grid, sizeof grid) == 0);
    }
}

static void check_text(char *text, const char *expected) {
    check_context("%s", text ? text : "no message");
    CHECK(text && strcmp(text, expected) == 0);
    free(text);
}

static void test_refusals(void) {
    const MdDomainShape cube = {3, {16.8, 16.8, 16.8}, {true, true, true}, {24, 6, 2}, {4, 1, 1}, 0, false, NULL};
    const MdDomainShape square = {2, {28, 28, 1}, {true, true, false}, {40, 10, 1}, {4, 1, 0}, 0, false, NULL};
    const MdDomainShape even = {3, {9, 9, 9}, {true, true, true}, {3, 3, 3}, {1, 1, 1}, 0, true, NULL};
    check_text(md_domain_misfit(&even, (const int[3]){1, 2, 1}, 2),
               "parallel.grid: 1 x 2 x 1: 2 domains as thick as the list reaches, 3.00 sigma, do not suffice along y: "
               "1 or 3 here");
    check_text(md_domain_misfit(&even, NULL, 2),
               "parallel.grid: auto: no grid of 2 domains fits: at most 3 along x, 3 "
               "along y and 3 along z here (where 3 fit but not 4, 2 do not: "
               "domains have equal numbers of cells); 1 process would do (1 x 1 x 1)");
    check_context("a grid that is right");
    CHECK(md_domain_miscount((const int[3]){3, 2, 1}, 6) == NULL);
    CHECK(md_domain_misfit(&cube, (const int[3]){6, 6, 1}, 36) == NULL);
    check_text(md_domain_misfit(&cube, (const int[3]){8, 1, 1}, 8),
               "parallel.grid: 8 x 1 x 1: domains would be 2.10 sigma thick along x, and the list reaches 2.80, cutoff "
               "and skin in whole cells: at most 6 along x here");
    check_text(md_domain_misfit(&cube, (const int[3]){1, 7, 1}, 7),
               "parallel.grid: 1 x 7 x 1: there are 6 cells of 2.80 sigma along y, and a domain takes 1, as far as the "
               "list reaches: at most 6 along y here");
    check_text(
        md_domain_misfit(&cube, (const int[3]){1, 1, 2}, 2),
        "parallel.grid: 1 x 1 x 2: 16.80 sigma are too short along z to be cut: cutoff and skin make 2 cells of them, "
        "and that takes 3: at most 1 along z here");
    check_text(md_domain_misfit(&square, (const int[3]){1, 1, 2}, 2),
               "parallel.grid: 1 x 1 x 2: a system of two dimensions is not cut along z: at most 1 along z here");
    check_text(
        md_domain_misfit(&cube, NULL, 7),
        "parallel.grid: auto: no grid of 7 domains fits: at most 6 along x, 6 along y and 1 along z here; 6 processes "
        "would do (1 x 6 x 1)");
    check_text(
        md_domain_miscount((const int[3]){2, 2, 1}, 6),
        "parallel.grid: 2 x 2 x 1 is 4 processes, but 6 were started: start 4 (mpirun -n 4), or take parallel.grid = "
        "auto");
    check_text(
        md_domain_miscount((const int[3]){1, 1, 1}, 2),
        "parallel.grid: 1 x 1 x 1 is 1 process, but 2 were started: start 1 (mpirun -n 1), or take parallel.grid = "
        "auto");
    check_text(
        md_domain_miscount((const int[3]){1000000, 1000000, 1}, 1),
        "parallel.grid: 1000000 x 1000000 x 1 is 1000000000000 processes, but 1 was started: start 1000000000000 "
        "(mpirun -n 1000000000000), or take parallel.grid = auto");
}

int main(void) {
    for (int c = 0; c < N_CASES; c++) {
        int n_fit_all = 0;
        for (int n_ranks = 1; n_ranks <= MOST_RANKS; n_ranks++) {
            const int n_fit = check_ranks(&cases[c], n_ranks);
            check_choice(&cases[c], n_ranks, n_fit);
            n_fit_all += n_fit;
        }
        check_context("%s", cases[c].name);
        CHECK(n_fit_all > 20);
    }
    test_choices();
    test_refusals();
    return check_finish();
}
