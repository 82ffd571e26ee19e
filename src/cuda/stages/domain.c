/* Several processes, host side: the domain of this one, and the table of its atoms and copies. migrate.c sends atoms and halo.c sends
 * copies; their kernels are in kernels/migrate.cu and kernels/halo.cu.
 *
 * Each rank divides its part of the box into cells and bricks like a separate box, so that all have equal work; the
 * grid of the whole box is as many times that along each axis that is cut. Between two lists kernels read how many atoms there are
 * from a table in device memory. */
#include <math.h>
#include <string.h>

#include "cuda/stages/stages.h"
#include "parallel/rows.h"

static const double width_margin = 1 + 1e-6; /* covers the rounding of a position to its cell */

/* Copies around a domain of n atoms that is filled evenly: of a layer of cells. */
static double likely_halo(const CudaContext *context, double n) {
    double own = 1, all = 1;
    for (int a = 0; a < context->box.dimension; a++) {
        const double length = context->share.length[a], edge = length / cuda_cells_along(length, context->range);
        own *= length;
        all *= length + (md_domain_is_cut(&context->domain, a) ? 2 * edge : 0);
    }
    return n * (all / own - 1);
}

size_t cuda_domain_row_bytes(const CudaContext *context) {
    CudaParticles particles;
    CudaColumn columns[MD_N_COLUMNS];
    size_t bytes = 0;
    for (int k = cuda_columns(context, &particles, columns) - 1; k >= 0; k--)
        bytes += md_column_bytes(columns[k].column, context->config.run_precision);
    return CUDA_ATOM_ROW_BYTES(context->facts.pair_size, bytes);
}

void cuda_domain_configure(CudaContext *context, MdComm *comm) {
    const int size = md_comm_size(comm);
    int grid[3];
    for (int a = 0; a < 3; a++)
        grid[a] = context->config.parallel_grid.n > a ? (int)context->config.parallel_grid.values[a] : 1;
    context->comm = comm;
    md_domain_place(&context->domain, grid, md_comm_rank(comm), context->box.periodic);
    context->share = context->box;
    for (int a = 0; a < 3; a++) context->share.length[a] /= grid[a];
    context->n_share = context->n_own = context->room = (int)((context->n_all + size - 1) / size);
    if (!comm) return;
    for (int a = 0; a < 3; a++) {
        context->arguments.domain.grid[a] = grid[a];
        context->arguments.domain.halo[a] = md_domain_is_cut(&context->domain, a);
    }
    context->arguments.domain.rank = context->domain.rank;
    context->arguments.domain.n_ranks = size;
    context->arguments.domain.patience_ns = (long long)(1e9 * context->config.parallel_timeout);
    if (context->config.parallel_transport == MD_TRANSPORT_DIRECT)
        context->arguments.domain.inbox_room = 256 + (int32_t)(0.1 * likely_halo(context, context->n_share));
    /* rooms of messages are for the most that comes from a side at any list */
    const bool has_rooms = context->config.parallel_transport == MD_TRANSPORT_NCCL;
    const double halo = likely_halo(context, context->n_share), rows = 64 * CUDA_SIDES + (has_rooms ? 1.5 : 1.2) * halo;
    cuda_domain_set_rows(context, (int64_t)rows);
    context->room = (int)(1.1 * context->n_share + 0.1 * halo + rows) + 512;
    if (has_rooms) context->room += context->arguments.domain.inbox_room;
    for (int k = 0; k < CUDA_SIDES; k++)
        if (md_sides_rank(&context->domain, k) >= 0) context->arguments.domain.sides |= 1u << k;
}

void cuda_domain_set_rows(CudaContext *context, int64_t n) {
    context->arguments.domain.row_room = (int32_t)n;
    if (context->config.parallel_transport == MD_TRANSPORT_NCCL) /* migrant_room of kernels/send.cuh for each side */
        context->arguments.domain.inbox_room = (int32_t)(n / CUDA_ROOM_UNIT) + CUDA_LEAST_MIGRANTS * CUDA_SIDES;
}

/* --- cells ---------------------------------------------------------------------------------------------------------- */

/* An open axis may be too short for its cells: some are after the last atom then. */
void cuda_domain_share(const CudaContext *context, double whole[3], double part[3]) {
    for (int a = 0; a < 3; a++) {
        const int n = context->domain.grid[a];
        if (n > 1 && !context->box.periodic[a]) whole[a] = fmax(whole[a], n * context->range * width_margin);
        part[a] = whole[a] / n;
    }
}

/* The cells of a side's halo: one along each axis but those along which the side is none. */
static int32_t cells_of_side(const CudaDomain *domain, int k) {
    int side[3], n = 1;
    md_domain_side(k, side);
    for (int a = 0; a < 3; a++) n *= side[a] == 0 ? domain->n_own[a] : domain->halo[a];
    return n;
}

void cuda_domain_set_cells(CudaContext *context, CudaGrid *grid) {
    CudaDomain *domain = &context->arguments.domain;
    for (int a = 0; a < 3; a++) {
        const int n = context->domain.grid[a];
        domain->n_own[a] = grid->n[a];
        domain->n_all[a] = n * grid->n[a];
        domain->first[a] = context->domain.at[a] * grid->n[a] - domain->halo[a];
        grid->n[a] += 2 * domain->halo[a];
        grid->wraps[a] = context->box.periodic[a] && n == 1;
    }
    int32_t place = domain->n_own[0] * domain->n_own[1] * domain->n_own[2];
    for (int k = 0; k < CUDA_SIDES; k++) {
        domain->place_of_side[k] = place;
        if (k != MD_SIDE_SELF) place += cells_of_side(domain, k);
    }
}

int cuda_domain_owner(const CudaContext *context, const CudaGrid *whole, const double place[3]) {
    int at[3];
    for (int a = 0; a < 3; a++) { /* as cell_along of kernels/cells.cuh */
        const double cell = floor((place[a] - whole->origin[a]) * whole->inverse_edge[a]);
        const int n = context->arguments.domain.n_all[a], c = (int)fmin(fmax(cell, 0.0), (double)(n - 1));
        at[a] = c / context->arguments.domain.n_own[a];
    }
    return (at[2] * context->domain.grid[1] + at[1]) * context->domain.grid[0] + at[0];
}

int64_t cuda_domain_count(const CudaContext *context, const int32_t n[3]) {
    int64_t count = 1;
    for (int a = 0; a < 3; a++) count *= n[a] + 2 * context->arguments.domain.halo[a];
    return count;
}

/* --- a list --------------------------------------------------------------------------------------------------------- */

/* From pinned memory that is not changed before the copy is made: the host waits more often than once in CUDA_SENT_TABLES. */
void cuda_domain_upload(CudaContext *context) {
    CudaHaloTable *sent = &context->halo.sent_tables[context->halo.n_uploads++ % CUDA_SENT_TABLES];
    *sent = context->halo.table;
    CUDA_CHECK(
        cudaMemcpyAsync(context->arguments.domain.table, sent, sizeof *sent, cudaMemcpyDefault, context->stream));
}

/* Waits for the counts of kernels. */
void cuda_domain_download(CudaContext *context) {
    CudaHaloTable *received = &context->halo.sent_tables[context->halo.n_uploads++ % CUDA_SENT_TABLES];
    CUDA_CHECK(cudaMemcpyAsync(received, context->arguments.domain.table, sizeof *received, cudaMemcpyDefault,
                               context->stream));
    cuda_wait_stream(context, "wait: counts");
    context->halo.table = *received;
}

void cuda_domain_confirm(CudaContext *context) {
    const volatile CudaHostStatus *status = context->h_host_status;
    cuda_check_peers(context); /* a rank that has not answered has sent nothing */
    context->rank.n_atoms = context->n_own = status->n_own;
    context->rank.n_halo = status->n_copies;
    context->halo.wants_room = (status->list & CUDA_LIST_WANTS_ROOM) != 0;
    context->halo.has_fault = (status->list & CUDA_LIST_FAULT) != 0;
}

MdStatus cuda_domain_agree(CudaContext *context, MdStatus status) {
    return md_comm_worst_status(context->comm, status, context->errors);
}

void cuda_domain_set_own(CudaContext *context, int64_t n_own) {
    CudaHaloTable *table = &context->halo.table;
    table->n_own = table->n_stored = table->n_slots = table->n_sorted = (int32_t)n_own;
    context->n_own = (int)n_own;
    cuda_domain_upload(context);
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
}
