/* Properties of the configuration: computed once when it is resolved, and read by all of the cuda backend. Values that
 * depend on the grid of cells as well are in stages/sizes.c. */
#ifndef MD_CUDA_FACTS_H
#define MD_CUDA_FACTS_H

#include "deck/deck.h"
#include "system/system.h"

typedef struct CudaFacts {
    /* force.kernel */
    bool has_list;        /* a Verlet list: rows of atoms, of clusters or of bricks */
    bool has_clusters;    /* its rows are those of clusters */
    bool has_bricks;      /* they stand in slices of bricks */
    bool adds_forces;     /* kernels add forces in memory, by atomics */
    int threads_per_atom; /* that share a row */
    size_t pair_size;     /* bytes of a number that is stored */
    size_t state_size;    /* and of a coordinate while an atom moves */
    int sum_parts;        /* of a sum over atoms: with reduce.accumulate = reproducible MD_SPLIT_PARTS, else 1 */
    int pair_sums, atom_sums; /* sums over pairs, and over atoms */

    bool observes;     /* an analysis takes samples of atoms */
    bool counts_pairs; /* and histograms of pairs */
    /* With these the forces of the last requested step wait for what comes next, in which they may be the first of a batch:
     * see batches/samples.c. keeps_velocity: of which the first pass then keeps the velocities at the end of the step. */
    bool leaves_open, keeps_velocity;

    /* the list */
    bool halves;       /* neighbor.list = half */
    bool has_matrices; /* neighbor.distances = matrix */
    int rows_per_warp; /* for which a warp searches at a time by matrices: fewer where a multiprocessor has one brick or two */

    /* the order of the atoms */
    bool needs_cells;  /* atoms are sorted into cells */
    bool reorders;     /* and stand in that order in memory */
    bool places_cells; /* cells stand in memory by a table, not row by row */
    bool sorts_bricks; /* memory.sort = brick */

    /* how steps are issued */
    bool checks_on_device; /* neighbor.rebuild = device-check */
    bool is_resident;      /* batches by the resident kernel */
    bool fuses_steps;      /* launch.fuse = step */
    bool queues;           /* launch.passes = queue */
    bool lists_copies;     /* several processes: each atom has a list of its copies, for the block that moves it */
    bool batches;          /* steps without output go in batches */
    bool stops_itself;     /* the kernel of a batch stops in its midst: some steps more in it cost hardly anything */
    /* Blocks of the resident kernel may have to make steps again: launch.barrier = local with device-check. */
    bool may_roll_back;
} CudaFacts;

/* config: resolved; before that, the request so far. */
CudaFacts cuda_facts(const MdConfig *config);

/* How far apart the atoms of a listed pair may be, sigma: the longest cutoff and the skin. */
double cuda_list_range(const MdConfig *config, const MdPotential *potential);

#endif
