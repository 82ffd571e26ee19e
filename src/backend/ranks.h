/* Shared by the backends' operations over several ranks: the grid of domains, totals, faults, and gathering rows of particles
 * on rank 0, or by blocks of ids. All of these functions are collective, and do nothing for one rank (comm NULL). */
#ifndef MD_BACKEND_RANKS_H
#define MD_BACKEND_RANKS_H

#include "backend/backend.h"
#include "parallel/comm.h"
#include "parallel/domain.h"

/* For resolve: parallel.grid, which is one of these processes, for a system of this shape. */
MdStatus md_ranks_resolve_grid(MdConfig *config, const MdComm *comm, const MdDomainShape *shape, MdChoices *choices,
                               MdErrors *errors);

/* The sums of all ranks, added in their order: the same bits twice for the same grid of domains; with reduce.accumulate = reproducible
 * for any grid. own: of this rank. */
MdSums md_ranks_sums(const MdComm *comm, const MdSumParts *own);

/* The values of n sums in parts of whole quanta, of all ranks: the same bits for any grid. own: of this rank; is overwritten. */
void md_ranks_split_sums(const MdComm *comm, MdSplitSum *own, int n, double *values);

void md_ranks_add_counters(const MdComm *comm, MdCounters *counters); /* uncounted figures are so on all ranks */

/* Collective. Of all ranks, from those of one with n_own atoms: entries, neighbours, late and overflowing lists. */
void md_ranks_agree_statistics(const MdComm *comm, int64_t n_own, MdStatistics *statistics);

/* The fault of the earliest step, and there of the smallest id. */
MdFault md_ranks_first_fault(const MdComm *comm, MdFault own);

/* The particles of one rank, rows in the order of its memory: the part of a frame that it has. */
typedef struct MdPart {
    MdFrame frame; /* arrays [room], NULL for quantities that it cannot have */
    int32_t *ids;  /* [room] */
    int64_t n, room;
} MdPart;

/* Makes room for n rows of these quantities (MD_FRAME_*); the content is lost. */
void md_part_prepare(MdPart *part, unsigned quantities, int precision, int64_t n);
void md_part_free(MdPart *part);

/* The parts of all ranks into the arrays of whole, by id. Others than rank 0 have no use for whole. */
void md_ranks_collect(MdComm *comm, const MdPart *part, const MdFrame *whole);
/* The parts of all ranks into the arrays of block, of the quantities that the parts have: rows of the block of n_all ids that this
 * rank has. Floating-point numbers of ids that no rank has are NaN. */
void md_ranks_deal(MdComm *comm, const MdPart *part, int64_t n_all, const MdFrame *block);

/* Rows that there must be room for on this rank, for frames of n_all atoms: of all on rank 0; by_blocks: of the block of each rank, one at
 * least, as NULL is a quantity that is not there. And md_ranks_deal or md_ranks_collect, for such a frame. */
int64_t md_ranks_frame_room(const MdComm *comm, int64_t n_all, bool by_blocks);
void md_ranks_send_frame(MdComm *comm, const MdPart *part, int64_t n_all, bool by_blocks, const MdFrame *frame);

/* Of the arrays of a frame that are not NULL. */
unsigned md_frame_quantities(const MdFrame *frame);

#endif
