/* Histograms of the distances of pairs (analysis.rdf_every): what backends count. */
#ifndef MD_SYSTEM_PAIR_COUNT_H
#define MD_SYSTEM_PAIR_COUNT_H

#include "deck/deck.h"
#include "physics/pair_cells.h"
#include "system/system.h"

/* Most numbers of a histogram, of all kinds of pairs together: a block of a GPU has room for them in shared memory. */
enum { MD_MOST_PAIR_COUNTS = 8192 };

typedef struct MdPairCount {
    int n_bins;  /* of equal width from 0 to range; 0: the deck asks for no histogram */
    int n_kinds; /* of pairs: of all types together, or by md_pair_kind */
    double range;
    MdPairCells cells;
} MdPairCount;

/* n_atoms: of the whole system. */
MdPairCount md_pair_count(const MdConfig *config, const MdBox *box, const MdPotential *potential, int64_t n_atoms);

/* Whether the system has what the deck asks for. MD_ERROR_INPUT, with the way out. */
MdStatus md_pair_count_check(const MdDeck *deck, const MdSystemPlan *plan, MdErrors *errors);

/* Numbers of one histogram, [n_kinds][n_bins]. */
static inline size_t md_pair_count_size(const MdPairCount *count) {
    return (size_t)count->n_kinds * (size_t)count->n_bins;
}

static inline int64_t md_pair_count_cells(const MdPairCount *count) {
    return (int64_t)count->cells.n[0] * count->cells.n[1] * count->cells.n[2];
}

#endif
