/* Stage migrate, host side; the kernels are in kernels/migrate.cu. */
#include "base/memory.h"
#include "cuda/stages/stages.h"
#include "parallel/rows.h"

/* Sends the first n leaving atoms, and returns the arriving ones, from md_alloc. */
static char *trade(CudaContext *context, int n, int *n_in) {
    const size_t row = cuda_domain_row_bytes(context);
    const CudaDomain *domain = &context->arguments.domain;
    int32_t *rank = md_alloc((size_t)n, sizeof *rank, "atoms that leave");
    if (n > 0) {
        CUDA_CHECK(
            cudaMemcpyAsync(context->halo.h_out, domain->rows, (size_t)n * row, cudaMemcpyDefault, context->stream));
        CUDA_CHECK(
            cudaMemcpyAsync(rank, domain->destination, (size_t)n * sizeof *rank, cudaMemcpyDefault, context->stream));
        cuda_wait_stream(context, "wait: atoms that leave");
    }
    MdDeal deal = md_deal_create(context->comm, rank, n);
    char *in = md_deal_rows(&deal, context->halo.h_out, row);
    *n_in = (int)deal.n_in;
    md_deal_destroy(&deal);
    md_free(rank);
    return in;
}

/* n rows that have come. */
static void take_in(CudaContext *context, const char *rows, int n) {
    if (n == 0) return;
    CUDA_CHECK(cudaMemcpyAsync(context->arguments.domain.rows_in, rows, (size_t)n * cuda_domain_row_bytes(context),
                               cudaMemcpyDefault, context->stream));
    context->arguments.n = n;
    context->arguments.in = context->arguments.domain.rows_in;
    cuda_launch(context, CUDA_K_migrate_arrive, n);
    cuda_wait_stream(context, "wait: atoms that come");
}

/* One round: as many as there is room for. *more: some rank has others. */
static MdStatus migrate_round(CudaContext *context, bool *more) {
    CudaHaloTable *table = &context->halo.table;
    table->n_leaving = 0;
    cuda_domain_upload(context);
    cuda_launch(context, CUDA_K_migrate_leave, context->room);
    cuda_domain_download(context);
    const int room = context->arguments.domain.row_room, n = table->n_leaving < room ? table->n_leaving : room;
    double left = table->n_leaving - n;
    int n_in;
    char *in = trade(context, n, &n_in);
    const int n_places = table->n_slots + (n_in > n ? n_in - n : 0);
    const bool more_atoms = n_places > context->room, more_rows = n_in > room;
    const bool released = cuda_peers_release(context, more_atoms || more_rows);
    MdStatus status = more_atoms ? cuda_memory_grow_atoms(context, n_places) : MD_OK;
    if (status == MD_OK && more_rows) status = cuda_memory_grow_rows(context, n_in);
    status = cuda_peers_take(context, released, status);
    if (status == MD_OK) {
        take_in(context, in, n_in);
        table->n_slots = n_places;
        table->n_own += n_in - n;
        context->rank.n_migrated += n;
    }
    md_free(in);
    md_comm_max(context->comm, &left, 1);
    *more = left > 0 && status == MD_OK;
    return status;
}

MdStatus cuda_migrate(CudaContext *context) {
    MdStatus status;
    bool more;
    do status = migrate_round(context, &more);
    while (more);
    return status;
}
