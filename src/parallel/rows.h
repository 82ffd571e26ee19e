/* Rows of bytes between ranks: each to the rank that it is for, or to the ranks on the sides of a domain. */
#ifndef MD_PARALLEL_ROWS_H
#define MD_PARALLEL_ROWS_H

#include "parallel/comm.h"
#include "parallel/domain.h"

/* Which rows are sent to which rank. It serves for rows of any size, any number of times. */
typedef struct MdDeal {
    MdComm *comm;
    int64_t n, n_out, n_in; /* rows here; rows sent; rows received */
    int32_t *order;    /* [n_out] their numbers: those for rank 0 first, each in the order in which it stands here */
    int64_t *out, *in; /* [ranks] rows sent to a rank, and received from it */
} MdDeal;

/* to [n]: the rank of each row; -1: it is not sent. Collective, as are all functions that send. */
MdDeal md_deal_create(MdComm *comm, const int32_t *to, int64_t n);
void md_deal_destroy(MdDeal *deal);

/* rows [n]. Returns the rows received [n_in], in the order of ranks, from md_alloc. */
void *md_deal_rows(const MdDeal *deal, const void *rows, size_t row_bytes);
/* The same of rows that stand in deal->order: [n_out]. */
void *md_deal_ordered(const MdDeal *deal, const void *rows, size_t row_bytes);
/* Sends received rows [n_in] back to their senders. Returns them in the senders' order [n], from md_alloc; zeros
 * for a row that was not sent. */
void *md_deal_back(const MdDeal *deal, const void *rows, size_t row_bytes);

/* The rank that has copies of atoms on a side, and sends copies from there; -1: there is none. */
int md_sides_rank(const MdDomain *domain, int side);

/* Starts messages: rows out_first[k] to out_first[k + 1] - 1 of `out` go to the rank on side k, and those from there become rows
 * in_first[k] to in_first[k + 1] - 1 of `in`. md_comm_end ends them. */
void md_sides_begin(MdComm *comm, const MdDomain *domain, const void *out, const int32_t out_first[MD_N_SIDES + 1],
                    void *in, const int32_t in_first[MD_N_SIDES + 1], size_t row_bytes);
void md_sides_exchange(MdComm *comm, const MdDomain *domain, const void *out, const int32_t out_first[MD_N_SIDES + 1],
                       void *in, const int32_t in_first[MD_N_SIDES + 1], size_t row_bytes);
/* One row of each side: out [MD_N_SIDES], in [MD_N_SIDES]. */
void md_sides_exchange_each(MdComm *comm, const MdDomain *domain, const void *out, void *in, size_t row_bytes);
/* first[k]: the sum of the counts of the sides before k. */
void md_sides_add_up(const int32_t counts[MD_N_SIDES], int32_t first[MD_N_SIDES + 1]);

#endif
