#include "parallel/rows.h"

#include <string.h>

#include "base/memory.h"

/* --- to any rank ---------------------------------------------------------------------------------------------------- */

MdDeal md_deal_create(MdComm *comm, const int32_t *to, int64_t n) {
    const size_t size = (size_t)md_comm_size(comm);
    MdDeal deal = {.comm = comm, .n = n, .out = md_alloc(2 * size, sizeof *deal.out, "rows of ranks")};
    deal.in = deal.out + size;
    for (int64_t k = 0; k < n; k++)
        if (to[k] >= 0) deal.out[to[k]]++;
    int64_t *next = md_alloc(size, sizeof *next, "rows of ranks");
    for (size_t rank = 0; rank < size; deal.n_out += deal.out[rank], rank++) next[rank] = deal.n_out;
    deal.order = md_alloc((size_t)deal.n_out, sizeof *deal.order, "rows of ranks");
    for (int64_t k = 0; k < n; k++)
        if (to[k] >= 0) deal.order[next[to[k]]++] = (int32_t)k;
    md_free(next);
    md_comm_alltoall(comm, deal.out, deal.in);
    for (size_t rank = 0; rank < size; rank++) deal.n_in += deal.in[rank];
    return deal;
}

void md_deal_destroy(MdDeal *deal) {
    md_free(deal->order);
    md_free(deal->out);
    *deal = (MdDeal){0};
}

void *md_deal_ordered(const MdDeal *deal, const void *rows, size_t row_bytes) {
    void *in = md_alloc((size_t)deal->n_in, row_bytes, "rows of other ranks");
    md_comm_alltoallv(deal->comm, rows, deal->out, in, deal->in, row_bytes);
    return in;
}

void *md_deal_rows(const MdDeal *deal, const void *rows, size_t row_bytes) {
    char *ordered = md_alloc((size_t)deal->n_out, row_bytes, "rows for other ranks");
    for (int64_t k = 0; k < deal->n_out; k++)
        memcpy(ordered + (size_t)k * row_bytes, (const char *)rows + (size_t)deal->order[k] * row_bytes, row_bytes);
    void *in = md_deal_ordered(deal, ordered, row_bytes);
    md_free(ordered);
    return in;
}

void *md_deal_back(const MdDeal *deal, const void *rows, size_t row_bytes) {
    char *ordered = md_alloc((size_t)deal->n_out, row_bytes, "rows of other ranks");
    char *back = md_alloc((size_t)deal->n, row_bytes, "rows of other ranks");
    md_comm_alltoallv(deal->comm, rows, deal->in, ordered, deal->out, row_bytes);
    for (int64_t k = 0; k < deal->n_out; k++)
        memcpy(back + (size_t)deal->order[k] * row_bytes, ordered + (size_t)k * row_bytes, row_bytes);
    md_free(ordered);
    return back;
}

/* --- to the ranks on the sides of a domain -------------------------------------------------------------------------- */

int md_sides_rank(const MdDomain *domain, int side) {
    int at[3];
    md_domain_side(side, at);
    return side == MD_SIDE_SELF ? -1 : md_domain_neighbor(domain, at);
}

/* Two ranks may be neighbours on several sides: the tag is the side of the sender. */
void md_sides_begin(MdComm *comm, const MdDomain *domain, const void *out, const int32_t out_first[MD_N_SIDES + 1],
                    void *in, const int32_t in_first[MD_N_SIDES + 1], size_t row_bytes) {
    MdMessage messages[2 * MD_N_SIDES];
    int n = 0;
    for (int k = 0; k < MD_N_SIDES; k++) {
        const int rank = md_sides_rank(domain, k);
        if (rank < 0) continue;
        messages[n++] = (MdMessage){.rank = rank,
                                    .tag = MD_N_SIDES - 1 - k,
                                    .data = (char *)in + (size_t)in_first[k] * row_bytes,
                                    .bytes = (in_first[k + 1] - in_first[k]) * (int64_t)row_bytes};
        messages[n++] = (MdMessage){.rank = rank,
                                    .tag = k,
                                    .is_sent = true,
                                    .data = (char *)out + (size_t)out_first[k] * row_bytes,
                                    .bytes = (out_first[k + 1] - out_first[k]) * (int64_t)row_bytes};
    }
    md_comm_begin(comm, messages, n);
}

void md_sides_exchange(MdComm *comm, const MdDomain *domain, const void *out, const int32_t out_first[MD_N_SIDES + 1],
                       void *in, const int32_t in_first[MD_N_SIDES + 1], size_t row_bytes) {
    md_sides_begin(comm, domain, out, out_first, in, in_first, row_bytes);
    md_comm_end(comm);
}

void md_sides_exchange_each(MdComm *comm, const MdDomain *domain, const void *out, void *in, size_t row_bytes) {
    int32_t first[MD_N_SIDES + 1];
    for (int k = 0; k <= MD_N_SIDES; k++) first[k] = k;
    md_sides_exchange(comm, domain, out, first, in, first, row_bytes);
}

void md_sides_add_up(const int32_t counts[MD_N_SIDES], int32_t first[MD_N_SIDES + 1]) {
    first[0] = 0;
    for (int k = 0; k < MD_N_SIDES; k++) first[k + 1] = first[k] + counts[k];
}
