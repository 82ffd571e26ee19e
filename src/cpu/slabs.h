/* The box in slabs, one for each process, so that each judges its own atoms (reference.h): a slab lies between two planes across
 * the longest axis. The planes divide the atoms evenly, by samples of their positions (as samples choose splitters in a sample sort: Frazer and
 * McKellar, J. ACM 17, 496 (1970)). A process gets the atoms of its slab and those within reach around it from the processes that have
 * their rows. It uses none of the domains, halos and migrations that are judged. */
#ifndef MD_CPU_SLABS_H
#define MD_CPU_SLABS_H

#include "parallel/rows.h"
#include "system/system.h"

typedef struct MdSlab {
    const MdSystem *whole;
    MdSystem system;        /* with the atoms that are here, in the order of their ids: their number and their types */
    const double *position; /* [system.n_atoms][3] */
    /* Several processes; NULL for one, which has all atoms where the caller has them. */
    bool *is_judged; /* [system.n_atoms] in the slab; the others are around it */
    MdDeal deal;     /* of the own atoms that slabs need, */
    int32_t *judged; /* [deal.n] and which own atom the rank judges that gets it; -1: none, it is around its slab */
} MdSlab;

/* position [n_own][3] of the rows of system, in [0, length) along periodic axes. Collective. */
MdSlab md_slab_take(const MdSystem *system, const double *position, double reach);
void md_slab_free(MdSlab *slab);

/* Rows of `width` zeros for the atoms that are here; `own`, set to zeros, for one process. own [n_own][width]. */
double *md_slab_rows(const MdSlab *slab, double *own, int width);
/* The rows of the judged atoms, to the processes that have them; frees md_slab_rows. Collective. */
void md_slab_return(const MdSlab *slab, double *rows, double *own, int width);

/* The most atoms of this process, for estimates of a system without empty regions. */
int64_t md_slab_most(const MdSystemPlan *plan, double reach);

#endif
