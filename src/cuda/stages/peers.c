/* parallel.transport = direct, host side: memory of this GPU that the ranks of the node write to, and theirs (CUDA IPC). The kernels that use it
 * are in kernels/gpu_barrier.cuh and kernels/halo.cu. */
#include <string.h>

#include "cuda/stages/stages.h"
#include "parallel/rows.h"

_Static_assert(sizeof(CudaMailbox) <= CUDA_MAILBOX_BYTES, "the inbox is behind it");

/* Arrays that others have mapped. */
typedef struct Exported {
    cudaIpcMemHandle_t mailbox, position, rows, done, frame;
    int64_t room; /* of the frame: atoms */
} Exported;

static cudaIpcMemHandle_t handle_of(void *data) {
    cudaIpcMemHandle_t handle;
    CUDA_CHECK(cudaIpcGetMemHandle(&handle, data));
    return handle;
}

static void *map(CudaContext *context, const cudaIpcMemHandle_t *handle) {
    void *data = NULL;
    md_require(context->halo.n_mapped < (int)(sizeof context->halo.mapped / sizeof *context->halo.mapped));
    CUDA_CHECK(cudaIpcOpenMemHandle(&data, *handle, cudaIpcMemLazyEnablePeerAccess));
    context->halo.mapped[context->halo.n_mapped++] = data;
    return data;
}

static void unmap(CudaContext *context) {
    for (int k = 0; k < context->halo.n_mapped; k++) CUDA_CHECK(cudaIpcCloseMemHandle(context->halo.mapped[k]));
    context->halo.n_mapped = 0;
}

/* The inbox stands after the mailbox. */
static void set_mailbox(CudaContext *context, int rank, void *mailbox) {
    context->halo.h_peers->mailbox[rank] = mailbox;
    context->halo.h_peers->inbox[rank] = (char *)mailbox + CUDA_MAILBOX_BYTES;
}

/* The buffer in which a rank packs frames: none before there is an output. */
static void set_frame(CudaContext *context, int rank, char *rows, int64_t room) {
    for (int k = 0; k < CUDA_FRAME_COLUMNS; k++)
        context->halo.h_peers->frame[rank][k] = rows ? rows + cuda_frame_offset(context, k, room) : NULL;
}

static void map_rank(CudaContext *context, int rank, const Exported *exported) {
    CudaPeers *peers = context->halo.h_peers;
    void *position = NULL, *rows = NULL, *done = NULL;
    set_mailbox(context, rank, map(context, &exported->mailbox));
    if (context->arguments.domain.frame_rows && context->arguments.domain.n_ids > 0)
        set_frame(context, rank, map(context, &exported->frame), exported->room);
    for (int k = 0; k < CUDA_SIDES; k++) {
        if (md_sides_rank(&context->domain, k) != rank) continue;
        if (!position) position = map(context, &exported->position);
        if (!rows) rows = map(context, &exported->rows);
        if (!done && context->facts.queues) done = map(context, &exported->done);
        peers->position[k] = position;
        peers->rows[k] = rows;
        peers->done[k] = done;
        peers->rank[k] = rank;
    }
}

static void upload(CudaContext *context) {
    CUDA_CHECK(cudaMemcpyAsync(context->arguments.domain.peers, context->halo.h_peers, sizeof *context->halo.h_peers,
                               cudaMemcpyDefault, context->stream));
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
}

/* A copy from pageable memory may be unfinished when cudaMemcpy returns, and other GPUs read the target. */
static void write_number(CudaContext *context, uint32_t number) {
    CUDA_CHECK(
        cudaMemcpyAsync(&context->halo.mailbox->n_atoms, &number, sizeof number, cudaMemcpyDefault, context->stream));
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
}

/* Whether the mailbox of each rank is where it was mapped: each has written its number. */
static MdStatus try_mailboxes(CudaContext *context) {
    const CudaPeers *peers = context->halo.h_peers;
    uint32_t number = 0;
    double unused = 0;
    write_number(context, 1 + (uint32_t)context->domain.rank);
    md_comm_max(context->comm, &unused, 1); /* all have */
    MdStatus status = MD_OK;
    for (int rank = 0; rank < md_comm_size(context->comm) && status == MD_OK; rank++) {
        CUDA_CHECK(cudaMemcpy(&number, &peers->mailbox[rank]->n_atoms, sizeof number, cudaMemcpyDefault));
        if (number != 1 + (uint32_t)rank)
            status = md_fail(context->errors, MD_ERROR_INPUT,
                             "parallel.transport=direct: the memory of rank %d is not where it was mapped; take staged",
                             rank);
    }
    status = cuda_domain_agree(context, status);
    write_number(context, 0);
    return status;
}

static void exchange_handles(CudaContext *context) {
    Exported all[CUDA_MOST_PEERS], own;
    memset(&own, 0, sizeof own);
    own.mailbox = handle_of(context->halo.mailbox);
    own.position = handle_of(context->arguments.now.position.part[0]);
    own.rows = handle_of(context->arguments.domain.rows_in);
    if (context->facts.queues) own.done = handle_of(context->arguments.queue.done);
    if (context->arguments.domain.frame_rows) own.frame = handle_of(context->arguments.domain.frame_rows);
    own.room = context->room;
    md_comm_allgather(context->comm, &own, sizeof own, all);
    for (int rank = 0; rank < md_comm_size(context->comm); rank++)
        if (rank != context->domain.rank) map_rank(context, rank, &all[rank]);
    set_mailbox(context, context->domain.rank, context->halo.mailbox);
    set_frame(context, context->domain.rank, context->arguments.domain.frame_rows, context->room);
    upload(context);
}

MdStatus cuda_peers_create(CudaContext *context) {
    memset(context->halo.h_peers, 0, sizeof *context->halo.h_peers);
    CUDA_CHECK(cudaMemsetAsync(context->halo.mailbox, 0, CUDA_MAILBOX_BYTES, context->stream));
    for (int turn = 0; turn < 2; turn++) { /* no pass fails */
        unsigned *stop = &context->halo.mailbox->check[turn].stop;
        CUDA_CHECK(cudaMemsetAsync(stop, 0xff, sizeof *stop, context->stream));
    }
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    context->halo.pushed_copy = -1;
    exchange_handles(context);
    return try_mailboxes(context);
}

void cuda_peers_destroy(CudaContext *context) {
    double unused = 0;
    if (!context->halo.mailbox || context->halo.n_mapped == 0) return;
    unmap(context);
    md_comm_max(context->comm, &unused, 1); /* memory that others have mapped must not go */
}

bool cuda_peers_release(CudaContext *context, bool grows) {
    double any = grows;
    if (context->config.parallel_transport != MD_TRANSPORT_DIRECT) return false;
    md_comm_max(context->comm, &any, 1);
    if (any == 0) return false;
    cuda_wait_stream(context, "wait: peers");
    CUDA_CHECK(cudaMemcpy(context->halo.h_peers, context->arguments.domain.peers, sizeof *context->halo.h_peers,
                          cudaMemcpyDefault)); /* the barriers so far */
    unmap(context);
    md_comm_max(context->comm, &any, 1); /* no rank maps them any more */
    return true;
}

MdStatus cuda_peers_take(CudaContext *context, bool released, MdStatus status) {
    status = cuda_domain_agree(context, status);
    if (status == MD_OK && released) exchange_handles(context);
    return status;
}
