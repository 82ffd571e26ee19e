/* Stage halo, host side; the kernels are in kernels/halo.cu.
 *
 * Ladder (parallel.transport)
 *   staged       positions go to pinned memory of the host, by MPI to the other process, and from there to its GPU: works
 *                everywhere, crosses the bus twice, and the host waits in every step
 *   cuda-aware   MPI takes them from the memory of this GPU, and puts them after the own atoms of the other: no copies
 *                through the host, which still waits for the stream before each message
 *   nccl         messages are in the stream, as kernels of NCCL, and so is the largest displacement of all: the host
 *                does nothing between two lists, and steps go in graphs. Each rank needs its own GPU, on any node
 *   direct       a kernel stores them into the memory of the other GPU (CUDA IPC), with a barrier of all GPUs at its end
 *                (gpu_barrier.cuh): no handshake, no packing, no other kernels. Ranks of one node
 *
 * With nccl the host issues a message before a kernel has counted its rows. So messages have spare room, and
 * are received into a separate array; a small kernel copies them after the own atoms. It costs a launch in each step. Both sides of a
 * message compute the same room for it, from the counts at the last list that the hosts made. */
#include <string.h>

#include "base/clock.h"
#include "cuda/stages/stages.h"
#include "parallel/rows.h"

static bool is_direct(const CudaContext *context) { return context->config.parallel_transport == MD_TRANSPORT_DIRECT; }

static bool is_by_nccl(const CudaContext *context) { return context->config.parallel_transport == MD_TRANSPORT_NCCL; }

static bool has_side(const CudaContext *context, int k) { return (context->arguments.domain.sides >> k & 1u) != 0; }

/* Rows of `bytes` of all sides, by NCCL: as md_sides_exchange, in a group of messages that is open. Two ranks that are
 * neighbours on several sides send and receive in the order of the sender's sides. */
static void post(CudaContext *context, const void *out, const int32_t *out_first, void *in, const int32_t *in_first,
                 size_t bytes) {
    CudaNccl *nccl = context->halo.nccl;
    for (int k = 0; k < CUDA_SIDES; k++) {
        const int from = CUDA_SIDES - 1 - k, n_out = out_first[k + 1] - out_first[k],
                  n_in = in_first[from + 1] - in_first[from];
        if (has_side(context, k) && n_out > 0)
            cuda_nccl_send(nccl, (const char *)out + out_first[k] * bytes, (size_t)n_out * bytes,
                           md_sides_rank(&context->domain, k), context->stream);
        if (has_side(context, from) && n_in > 0)
            cuda_nccl_receive(nccl, (char *)in + in_first[from] * bytes, (size_t)n_in * bytes,
                              md_sides_rank(&context->domain, from), context->stream);
    }
}

/* A word for each side. */
static void post_words(CudaContext *context, const int32_t *out, int32_t *in) {
    int32_t first[CUDA_SIDES + 1];
    for (int k = 0; k <= CUDA_SIDES; k++) first[k] = k;
    post(context, out, first, in, first, sizeof *out);
}

static void end_messages(CudaContext *context) {
    cuda_nccl_end(context->halo.nccl, context->stream, context->capturing != NULL);
}

/* --- a list --------------------------------------------------------------------------------------------------------- */

static void issue_border(CudaContext *context, int writes) {
    memset(context->halo.table.n_border, 0, sizeof context->halo.table.n_border);
    cuda_domain_upload(context);
    context->arguments.n = writes;
    cuda_launch(context, CUDA_K_halo_border, context->room);
}

/* parallel.transport = nccl: rooms of messages of so many positions. They stay while they suffice: graphs contain the messages. */
static void fit_rooms(CudaContext *context, const int32_t *first, int32_t *room_first) {
    int32_t rooms[CUDA_SIDES];
    bool change = false;
    for (int k = 0; k < CUDA_SIDES; k++) {
        const int32_t n = first[k + 1] - first[k];
        rooms[k] = room_first[k + 1] - room_first[k];
        if (!has_side(context, k) || (n <= rooms[k] && rooms[k] > 0)) continue;
        rooms[k] = (n + n / 8 + 64) / CUDA_ROOM_UNIT * CUDA_ROOM_UNIT;
        change = true;
    }
    md_sides_add_up(rooms, room_first);
    context->arguments.domain.n_rooms += change;
}

/* How many copies each side needs, and how many come from it. */
static void trade_counts(CudaContext *context) {
    CudaHaloTable *table = &context->halo.table;
    int32_t in[CUDA_SIDES] = {0};
    issue_border(context, 0);
    cuda_domain_download(context);
    md_sides_exchange_each(context->comm, &context->domain, table->n_border, in, sizeof *in);
    md_sides_add_up(table->n_border, table->out);
    md_sides_add_up(in, table->in);
    if (!is_by_nccl(context)) return;
    fit_rooms(context, table->out, table->room_out);
    fit_rooms(context, table->in, table->room_in);
}

/* Rows that come from a side: where lists are made by kernels there is room for more, as those of the next list come uncounted. */
static int32_t row_most(const CudaContext *context, int k) {
    const int32_t *in = is_by_nccl(context) ? context->halo.table.room_in : context->halo.table.in,
                  n = in[k + 1] - in[k];
    return is_direct(context) && has_side(context, k) ? n + n / 8 + 64 : n;
}

/* Room for them and for atoms that come uncounted; which all make, or none goes on. */
static MdStatus make_room(CudaContext *context) {
    CudaHaloTable *table = &context->halo.table;
    int n_rows = 0;
    for (int k = 0; k < CUDA_SIDES; k++) {
        table->row_in[k] = n_rows;
        n_rows += row_most(context, k);
    }
    table->n_rows = n_rows;
    const int n_out = is_by_nccl(context) ? table->room_out[CUDA_SIDES] : table->out[CUDA_SIDES],
              most = n_out > n_rows ? n_out : n_rows;
    const CudaDomain *domain = &context->arguments.domain;
    const int n_sorted = table->n_slots + n_rows;
    const bool more_rows = most > domain->row_room,
               released = cuda_peers_release(context, more_rows || n_sorted + domain->inbox_room > context->room);
    MdStatus status = MD_OK;
    if (more_rows) status = cuda_memory_grow_rows(context, most); /* with nccl also room for atoms that come */
    const int n_atoms = n_sorted + domain->inbox_room;
    if (n_atoms > context->room && status == MD_OK) status = cuda_memory_grow_atoms(context, n_atoms);
    return cuda_peers_take(context, released, status);
}

static void send_by_nccl(CudaContext *context) {
    issue_border(context, 1);
    cuda_halo_send_copies(context);
}

static void send_by_host(CudaContext *context) {
    const CudaHaloTable *table = &context->halo.table;
    const size_t row = cuda_domain_row_bytes(context);
    issue_border(context, 1);
    CUDA_CHECK(cudaMemcpyAsync(context->halo.h_out, context->arguments.domain.rows,
                               (size_t)table->out[CUDA_SIDES] * row, cudaMemcpyDefault, context->stream));
    cuda_wait_stream(context, "wait: copies");
    md_sides_exchange(context->comm, &context->domain, context->halo.h_out, table->out, context->halo.h_in, table->in,
                      row);
    CUDA_CHECK(cudaMemcpyAsync(context->arguments.domain.rows_in, context->halo.h_in,
                               (size_t)table->in[CUDA_SIDES] * row, cudaMemcpyDefault, context->stream));
}

/* Each rank sends the address and the size of its room for copies from a side. Earlier rows are no longer read: a step is
 * between. */
static void send_direct(CudaContext *context) {
    CudaHaloTable *table = &context->halo.table;
    struct {
        int32_t to, most;
    } own[CUDA_SIDES], other[CUDA_SIDES];
    memset(other, 0, sizeof other);
    for (int k = 0; k < CUDA_SIDES; k++) {
        own[k].to = table->row_in[k];
        own[k].most = row_most(context, k);
    }
    md_sides_exchange_each(context->comm, &context->domain, own, other, sizeof *own);
    for (int k = 0; k < CUDA_SIDES; k++) {
        table->row_to[k] = other[k].to;
        table->row_most[k] = other[k].most;
    }
    issue_border(context, 1);
    cuda_halo_barrier(context);
}

MdStatus cuda_halo_make(CudaContext *context) {
    CudaHaloTable *table = &context->halo.table;
    trade_counts(context);
    const MdStatus status = make_room(context);
    if (status != MD_OK) return status;
    if (is_direct(context)) send_direct(context);
    else if (is_by_nccl(context)) send_by_nccl(context);
    else send_by_host(context);
    table->n_stored = table->n_own + table->in[CUDA_SIDES];
    table->n_sorted = table->n_slots + table->in[CUDA_SIDES];
    table->n_leaving = 0; /* kernels count from zero at the next list */
    memset(table->n_border, 0, sizeof table->n_border);
    cuda_domain_upload(context);
    return MD_OK;
}

void cuda_halo_arrive(CudaContext *context, int n_cells) {
    context->arguments.n = n_cells;
    cuda_launch(context, CUDA_K_halo_arrive, context->arguments.domain.row_room);
}

static void first_migrants(const int32_t *room_first, int32_t first[CUDA_SIDES + 1]) {
    for (int k = 0; k <= CUDA_SIDES; k++) first[k] = room_first[k] / CUDA_ROOM_UNIT + CUDA_LEAST_MIGRANTS * k;
}

void cuda_halo_send_migrants(CudaContext *context) {
    const CudaDomain *domain = &context->arguments.domain;
    const CudaHaloTable *table = &context->halo.table;
    int32_t out[CUDA_SIDES + 1], in[CUDA_SIDES + 1];
    if (is_direct(context)) { /* kernels have sent them */
        cuda_halo_barrier(context);
        return;
    }
    first_migrants(table->room_out, out);
    first_migrants(table->room_in, in);
    cuda_nccl_begin(context->halo.nccl);
    post_words(context, domain->table->n_migrants, domain->table->n_migrants_in);
    post(context, domain->migrants, out, domain->migrants_in, in, cuda_domain_row_bytes(context));
    end_messages(context);
}

void cuda_halo_send_copies(CudaContext *context) {
    const CudaDomain *domain = &context->arguments.domain;
    const CudaHaloTable *table = &context->halo.table;
    cuda_nccl_begin(context->halo.nccl);
    post_words(context, domain->table->n_border, domain->table->n_copies_in);
    post(context, domain->rows, table->room_out, domain->rows_in, table->room_in, cuda_domain_row_bytes(context));
    end_messages(context);
}

void cuda_halo_end_list(CudaContext *context) {
    if (!cuda_domain_lists_by_kernels(context)) return;
    if (is_by_nccl(context)) {
        cuda_launch_blocks(context, CUDA_K_halo_found, 1);
        cuda_nccl_begin(context->halo.nccl);
        cuda_nccl_largest(context->halo.nccl, context->arguments.domain.table->found, CUDA_LIST_BITS, context->stream);
        end_messages(context);
    }
    cuda_launch_blocks(context, CUDA_K_halo_end, 1);
}

/* --- at each step --------------------------------------------------------------------------------------------------- */

/* All devices find the largest displacement of all. */
static void agree(CudaContext *context, unsigned *moved_sq) {
    float moved;
    memcpy(&moved, context->halo.h_moved_sq, sizeof moved);
    double of_all = (double)moved;
    md_comm_max(context->comm, &of_all, 1);
    moved = (float)of_all;
    memcpy(context->halo.h_moved_sq, &moved, sizeof moved);
    CUDA_CHECK(cudaMemcpyAsync(moved_sq, context->halo.h_moved_sq, sizeof moved, cudaMemcpyDefault, context->stream));
}

/* Where the positions of a copy have those of others, after the own atoms. */
static char *place_of_copies(const CudaContext *context, int copy) {
    return (char *)context->arguments.now.position.part[0] +
           (copy * (size_t)context->arguments.stride + (size_t)context->n_own) * 4 * context->facts.pair_size;
}

static unsigned *moved_sq_of(const CudaContext *context, int copy) {
    CudaMeasures *measures = &context->arguments.status->measures;
    return copy == 0 ? &measures->moved_sq : &measures->moved_sq_odd;
}

static void update_by_host(CudaContext *context, int copy) {
    const CudaHaloTable *table = &context->halo.table;
    const bool is_staged = context->config.parallel_transport == MD_TRANSPORT_STAGED;
    const size_t row = 4 * context->facts.pair_size;
    const double begin_s = md_clock_s();
    unsigned *moved_sq = moved_sq_of(context, copy);
    const int n_out = table->out[CUDA_SIDES], n_in = table->in[CUDA_SIDES];
    char *position = place_of_copies(context, copy), *sent = context->arguments.domain.sent;
    if (n_out > 0) cuda_launch(context, CUDA_K_halo_pack, n_out);
    if (n_out > 0 && is_staged)
        CUDA_CHECK(cudaMemcpyAsync(context->halo.h_out, sent, (size_t)n_out * row, cudaMemcpyDefault, context->stream));
    CUDA_CHECK(
        cudaMemcpyAsync(context->halo.h_moved_sq, moved_sq, sizeof *moved_sq, cudaMemcpyDefault, context->stream));
    cuda_wait_stream(context, "wait: positions");
    if (is_staged)
        md_sides_exchange(context->comm, &context->domain, context->halo.h_out, table->out, context->halo.h_in,
                          table->in, row);
    else md_sides_exchange(context->comm, &context->domain, sent, table->out, position, table->in, row);
    if (context->facts.checks_on_device) agree(context, moved_sq);
    if (n_in > 0 && is_staged)
        CUDA_CHECK(
            cudaMemcpyAsync(position, context->halo.h_in, (size_t)n_in * row, cudaMemcpyDefault, context->stream));
    context->rank.halo_bytes += (int64_t)n_out * (int64_t)row;
    context->rank.exchange_seconds += md_clock_s() - begin_s;
}

static void launch_for_rows(CudaContext *context, CudaKernelId kernel) {
    cuda_launch_filling(context, kernel,
                        cuda_blocks(context->arguments.domain.row_room, context->kernels[kernel].block_size));
}

/* Exchanges that the host issues before it waits: the driver holds some thousand launches, and then a launch waits, and would
 * not notice that a rank is gone. */
enum { MOST_UNWAITED = 100 };

static void update_nccl(CudaContext *context, int copy) {
    const CudaHaloTable *table = &context->halo.table;
    const CudaDomain *domain = &context->arguments.domain;
    launch_for_rows(context, CUDA_K_halo_pack);
    cuda_nccl_begin(context->halo.nccl);
    post(context, domain->sent, table->room_out, domain->rows_in, table->room_in, 4 * context->facts.pair_size);
    if (context->facts.checks_on_device)
        cuda_nccl_largest(context->halo.nccl, moved_sq_of(context, copy), 1, context->stream);
    end_messages(context);
    launch_for_rows(context, CUDA_K_halo_unpack);
    if (context->capturing || ++context->halo.n_unwaited < MOST_UNWAITED) return;
    cuda_wait_stream(context, "wait: positions");
    context->halo.n_unwaited = 0;
}

/* The first messages between two ranks have NCCL connect them, which no graph should hold. */
static void try_nccl(CudaContext *context) {
    const CudaHaloTable *table = context->arguments.domain.table;
    cuda_nccl_begin(context->halo.nccl);
    post_words(context, table->n_migrants, (int32_t *)(uintptr_t)table->n_migrants_in);
    cuda_nccl_largest(context->halo.nccl, &context->arguments.status->measures.moved_sq, 1, context->stream);
    end_messages(context);
    cuda_wait_stream(context, "wait: NCCL");
}

MdStatus cuda_halo_join(CudaContext *context) {
    context->halo.nccl = cuda_nccl_create(context->comm, context->config.parallel_timeout,
                                          &context->h_host_status->step, context->errors);
    const MdStatus status = cuda_domain_agree(context, context->halo.nccl ? MD_OK : MD_ERROR_INPUT);
    if (status == MD_OK) try_nccl(context);
    return status;
}

/* Of two copies in turn, one is read while the other is pushed; of one, all must be through with it. */
static void update_direct(CudaContext *context, int copy) {
    if (context->halo.pushed_copy != 1 - copy) cuda_halo_barrier(context);
    launch_for_rows(context, CUDA_K_halo_push);
    context->halo.pushed_copy = copy;
}

void cuda_halo_barrier(CudaContext *context) { cuda_launch_blocks(context, CUDA_K_halo_barrier, 1); }

void cuda_halo_begin(CudaContext *context) {
    context->halo.is_stale = false;
    context->halo.pushed_copy = 0;
}

void cuda_halo_forget(CudaContext *context) {
    context->halo.is_stale = true;
    context->halo.pushed_copy = -1;
}

void cuda_halo_update(CudaContext *context, int copy) {
    if (!context->comm || !context->halo.is_stale) return;
    context->arguments.buffer = copy;
    if (is_direct(context)) update_direct(context, copy);
    else if (is_by_nccl(context)) update_nccl(context, copy);
    else update_by_host(context, copy);
    context->halo.is_stale = false;
}
