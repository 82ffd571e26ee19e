/* Spatial decomposition: which process has which part of the box.
 *
 * The box is divided into cells of one global grid, which is the same for any number of processes ("ranks"), so that
 * results need not depend on it. The ranks form a grid, too, and each owns a box of whole cells: its domain. Along an
 * axis that is cut, so with several domains, a rank also has copies of the cells around its own, as many layers as the
 * neighbour list reaches: its halo. Every domain is at least that thick, hence all copies come from the 26 domains
 * around it, in one hop. Along an axis that is not cut the domain is the whole box, and wraps around as in one process.
 *
 * Cells have two numbers along each axis: a global one, from 0 to cells - 1, and a local one, which counts from the
 * first layer of the halo, so that the first cell of the rank's own is halo[axis]:
 *
 *     local number = global number - begin + halo      (a copy across a periodic border: of its image beside the domain)
 *
 * The local grid has end - begin + 2 halo cells along an axis. Beyond an open end there is no domain, and halo cells are empty.
 *
 * The cuda backend takes from here the grid of ranks, the neighbour on each side, and which grids fit. It gives all domains as many
 * cells (cuda/stages/domain.c).
 *
 * All functions are pure and do the same on every rank; nothing is sent here. */
#ifndef MD_PARALLEL_DOMAIN_H
#define MD_PARALLEL_DOMAIN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct MdDomain {
    int rank, n_ranks;
    int grid[3]; /* ranks along each axis */
    int at[3];   /* indices of this domain: rank = (at[2] * grid[1] + at[1]) * grid[0] + at[0] */
    bool periodic[3];
    /* By md_domain_divide, anew for each grid of cells (along open axes it follows the particles): */
    int32_t cells[3];         /* of the whole box */
    int32_t begin[3], end[3]; /* global numbers of the rank's own cells: cells * at / grid, cells * (at + 1) / grid */
    int32_t halo[3];          /* layers of copies on either side: the reach along axes that are cut, 0 along others */
} MdDomain;

/* A box of cells: numbers from begin to end - 1 along each axis. In order, x is fastest and z is slowest. */
typedef struct MdCellBox {
    int32_t begin[3], end[3];
} MdCellBox;

/* The sides of a domain: 6 faces, 12 edges, 8 corners, and itself in the middle. Side k is -1, 0 or 1 along each axis,
 * x fastest; opposite to it is side MD_N_SIDES - 1 - k. */
enum { MD_N_SIDES = 27, MD_SIDE_SELF = 13 };
void md_domain_side(int k, int side[3]);

/* The rank's indices in a grid of grid[0] * grid[1] * grid[2] ranks. */
void md_domain_place(MdDomain *domain, const int grid[3], int rank, const bool periodic[3]);

/* Shares cells out. reach: layers around a cell that its list looks through. The grid must fit (md_domain_most): along an
 * open axis whose cells follow the particles the caller makes at least grid * reach cells, though some be empty. */
void md_domain_divide(MdDomain *domain, const int32_t cells[3], const int32_t reach[3]);

/* Whether other domains are beside this one along the axis. */
static inline bool md_domain_is_cut(const MdDomain *domain, int axis) { return domain->grid[axis] > 1; }

/* The rank that owns a cell (global numbers, 0 <= cell < cells). */
int md_domain_owner(const MdDomain *domain, const int32_t cell[3]);

/* The rank on a side, which may be this one's neighbour on other sides as well: of two domains along a periodic axis
 * each has the other on both. -1: no rank sends copies from there; it is beyond an open end or an axis that is not cut. */
int md_domain_neighbor(const MdDomain *domain, const int side[3]);

/* Own cells, in global numbers, of which the neighbour on a side has copies: within halo layers of that side, and all
 * along axes where side is 0. */
MdCellBox md_domain_border(const MdDomain *domain, const int side[3]);

/* Where copies from the neighbour on a side are, in local numbers. Its border towards this domain (on its opposite side)
 * is a box of the same shape, and cell after cell in the same order. */
MdCellBox md_domain_halo(const MdDomain *domain, const int side[3]);

/* --- the choice of the grid --- */

typedef struct MdDomainShape {
    int dimension;    /* along the third axis a system of two dimensions is not cut */
    double length[3]; /* of an open axis, the extent of its cells */
    bool periodic[3];
    int32_t cells[3], reach[3]; /* of the global grid, as for md_domain_divide */
    int n_per_node;             /* ranks of a node, which follow each other; 0: all */
    bool even;                  /* all domains have as many cells; cells are enlarged to fill the box */
    const char *unit;           /* of length, for messages; NULL: sigma */
} MdDomainShape;

/* The most domains along an axis: each has as many layers as the list reaches, and a cell at least. A periodic axis of
 * fewer than 2 reach + 1 cells cannot be cut: a pair would be found in more than one image of a cell. */
int md_domain_most(const MdDomainShape *shape, int axis);

bool md_domain_fits(const MdDomainShape *shape, const int grid[3]);

/* The grid of n_ranks domains for which a step is expected to take least time, by the weights in domain.c. Of equals the
 * one with the fewest along x, then along y: cells of a layer across z are contiguous in memory. false: none fits. */
bool md_domain_choose(const MdDomainShape *shape, int n_ranks, int grid[3]);

/* The problem with parallel.grid and its remedy, as a message without its origin: from malloc; NULL: none.
 * miscount: the grid is not of as many processes as were started. misfit: a domain would be too thin; grid NULL, as for
 * auto: none of n_ranks domains fits. */
char *md_domain_miscount(const int grid[3], int n_ranks);
char *md_domain_misfit(const MdDomainShape *shape, const int grid[3], int n_ranks);

#endif
