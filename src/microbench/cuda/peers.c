/* Messages between the GPUs of two processes, ranks 0 and 1 of all. Memory of other processes is mapped by CUDA IPC;
 * the kernels that use it are in microbench/kernels/peers.cu. Timed by the clock of the host, which ranks begin
 * together.
 *
 * Each rank has a mailbox, as parallel.transport = direct has it, and after it an inbox, where rank 0 receives from
 * rank 1 and the other way round. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cuda/context/shared.h"
#include "cuda/plan/resolve.h"
#include "microbench/cuda/row.h"

typedef struct Peers {
    CudaArguments arguments;  /* of the kernels: memory for a barrier */
    CudaPeers peers;          /* as the device has it */
    CudaHostStatus *h_status; /* mapped; NULL: no wait on a device */
    int rank, partner;        /* partner -1: this rank takes part only in rows of all ranks */
    int n_mapped;
    void *mapped[CUDA_MOST_PEERS];
} Peers;

static Peers *peers_of(const CudaCeiling *c) { return c->extra; }
static size_t bytes_of(const CudaCeiling *c) { return (size_t)c->n_out * sizeof(float); }

/* Ranks begin a measurement together. */
static void wait_for_ranks(const CudaCeiling *c) {
    double unused = 0;
    md_comm_max(c->m->comm, &unused, 1);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static void launch(CudaCeiling *c, bool cooperative) {
    void *parameters[] = {&peers_of(c)->arguments, &c->arguments};
    const CudaDriver *driver = &c->m->driver;
    CUDA_DRIVER_CHECK(c->m, cooperative ? driver->launch_cooperative(c->function, c->grid[0], 1, 1, c->block[0], 1, 1,
                                                                     0, c->m->stream, parameters)
                                        : cuda_driver_launch(driver, c->function, c->grid, c->block, 0, c->m->stream,
                                                             false, parameters));
    c->arguments.width += c->arguments.parameter; /* rounds so far */
}

/* A kernel that waits for another GPU gives up after parallel.timeout. */
static double run_kernels(CudaCeiling *c, int64_t n_calls) {
    const Peers *p = peers_of(c);
    const bool cooperative = cuda_row_has(c, "tagged");
    const int64_t n = cuda_row_has(c, "barrier") ? n_calls * c->n : p->partner >= 0 ? n_calls : 0;
    wait_for_ranks(c);
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n; k++) launch(c, cooperative);
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    const int silent = p->h_status->silent;
    if (silent) md_comm_give_up(c->m->comm, silent > 0 ? silent - 1 : -1, c->m->config.parallel_timeout);
    return md_clock_s() - start_s;
}

static double run_engine(CudaCeiling *c, int64_t n_calls) {
    const Peers *p = peers_of(c);
    wait_for_ranks(c);
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls && p->partner >= 0; k++)
        CUDA_CHECK(
            cudaMemcpyAsync(p->peers.inbox[p->partner], c->arguments.a, bytes_of(c), cudaMemcpyDefault, c->m->stream));
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    return md_clock_s() - start_s;
}

static double run_staged(CudaCeiling *c, int64_t n_calls) {
    const int partner = peers_of(c)->partner;
    const int64_t bytes = (int64_t)bytes_of(c);
    const MdMessage messages[] = {{.rank = partner, .data = c->host[1], .bytes = bytes},
                                  {.rank = partner, .is_sent = true, .data = c->host[0], .bytes = bytes}};
    wait_for_ranks(c);
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls * c->n && partner >= 0; k++) {
        CUDA_CHECK(cudaMemcpyAsync(c->host[0], c->arguments.a, bytes_of(c), cudaMemcpyDeviceToHost, c->m->stream));
        CUDA_CHECK(cudaStreamSynchronize(c->m->stream)); /* it is complete, and earlier data are on the device */
        md_comm_begin(c->m->comm, messages, 2);
        md_comm_end(c->m->comm);
        CUDA_CHECK(cudaMemcpyAsync(c->arguments.b, c->host[1], bytes_of(c), cudaMemcpyHostToDevice, c->m->stream));
    }
    CUDA_CHECK(cudaStreamSynchronize(c->m->stream));
    return md_clock_s() - start_s;
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

static double is_of_partner(const CudaCeiling *c, int64_t i) { return cuda_ceiling_source(peers_of(c)->partner, i); }

static bool check_elements(CudaCeiling *c, char *reason) {
    return peers_of(c)->partner < 0 || cuda_ceiling_check_elements(c, reason);
}

/* The checks by kernels; all except the barrier are of ranks 0 and 1. */
static bool check_counts(CudaCeiling *c, char *reason) {
    unsigned counts[2];
    const bool is_barrier = cuda_row_has(c, "barrier");
    const int64_t n_words = cuda_row_has(c, "tagged") ? c->of.row->parameter : 1,
                  n_rounds = is_barrier                  ? c->n
                             : peers_of(c)->partner >= 0 ? c->arguments.parameter
                                                         : 0;
    CUDA_CHECK(cudaMemcpy(counts, c->arguments.counts, sizeof counts, cudaMemcpyDefault));
    CUDA_CHECK(cudaMemset(c->arguments.counts, 0, sizeof counts));
    return cuda_ceiling_equal("the count of received numbers", counts[1], (unsigned)(c->n_calls * n_rounds * n_words),
                              reason) && /* modulo 2^32, as the counter */
           cuda_ceiling_equal("the count of wrong values", counts[0], 0, reason);
}

/* --- preparing ---------------------------------------------------------------------------------------------------- */

static void release(CudaCeiling *c) {
    Peers *p = peers_of(c);
    for (int k = 0; k < p->n_mapped; k++) CUDA_CHECK(cudaIpcCloseMemHandle(p->mapped[k]));
    wait_for_ranks(c); /* memory that others have mapped must not go */
    if (p->h_status) CUDA_CHECK(cudaFreeHost(p->h_status));
    for (int k = 0; k < 2; k++)
        if (c->host[k]) CUDA_CHECK(cudaFreeHost(c->host[k]));
    md_free(p);
}

/* Collective, as the following functions. */
static bool agree(CudaCeiling *c, cudaError_t error, const char *what, char *reason) {
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        snprintf(reason, MD_CEILING_REASON, "%s: %s", what, cudaGetErrorString(error));
    }
    return md_ceilings_agree(c->m->comm, error == cudaSuccess, reason);
}

/* The mailboxes of all ranks, and the inboxes after them. */
static bool map_mailboxes(CudaCeiling *c, void *own, char *reason) {
    Peers *p = peers_of(c);
    cudaIpcMemHandle_t handle, all[CUDA_MOST_PEERS];
    memset(&handle, 0, sizeof handle);
    if (!agree(c, cudaIpcGetMemHandle(&handle, own), "CUDA IPC does not give memory to others", reason)) return false;
    md_comm_allgather(c->m->comm, &handle, sizeof handle, all);
    cudaError_t error = cudaSuccess;
    for (int rank = 0; rank < md_comm_size(c->m->comm) && error == cudaSuccess; rank++) {
        void *mailbox = own;
        if (rank != p->rank) error = cudaIpcOpenMemHandle(&mailbox, all[rank], cudaIpcMemLazyEnablePeerAccess);
        if (rank != p->rank && error == cudaSuccess) p->mapped[p->n_mapped++] = mailbox;
        p->peers.mailbox[rank] = mailbox;
        p->peers.inbox[rank] = (char *)mailbox + CUDA_MAILBOX_BYTES;
    }
    return agree(c, error, "CUDA IPC does not map the memory of another process", reason);
}

static void set_arguments(CudaCeiling *c, CudaPeers *d_peers) {
    Peers *p = peers_of(c);
    CUDA_CHECK(cudaMemcpy(d_peers, &p->peers, sizeof p->peers, cudaMemcpyDefault));
    p->arguments.domain.peers = d_peers;
    p->arguments.domain.rank = p->rank;
    p->arguments.domain.n_ranks = md_comm_size(c->m->comm);
    p->arguments.domain.patience_ns = (long long)(1e9 * c->m->config.parallel_timeout);
    void *status = NULL;
    CUDA_CHECK(cudaHostGetDevicePointer(&status, p->h_status, 0));
    p->arguments.host_status = status;
}

/* symbol: the kernel; NULL: none. The inbox: two copies of the words, or floats, or a few numbers. */
static bool prepare_direct(CudaCeiling *c, const char *symbol, char *reason) {
    Peers *p = peers_of(c);
    const size_t inbox_bytes = cuda_row_has(c, "tagged") ? 2 * 16 * (size_t)c->of.row->parameter : bytes_of(c) + 16;
    char *own = cuda_ceiling_take(c, CUDA_MAILBOX_BYTES + inbox_bytes, reason);
    CudaPeers *d_peers = own ? cuda_ceiling_take(c, sizeof *d_peers, reason) : NULL;
    c->arguments.counts = d_peers ? cuda_ceiling_take(c, 2 * sizeof *c->arguments.counts, reason) : NULL;
    const bool has_all = c->arguments.counts && (!symbol || cuda_ceiling_load(c, "peers", symbol, reason));
    if (!md_ceilings_agree(c->m->comm, has_all, reason)) return false;
    CUDA_CHECK(cudaHostAlloc((void **)&p->h_status, sizeof *p->h_status, cudaHostAllocMapped));
    memset(p->h_status, 0, sizeof *p->h_status);
    if (!map_mailboxes(c, own, reason)) return false;
    c->arguments.b = (float *)p->peers.inbox[p->rank];
    set_arguments(c, d_peers);
    return true;
}

static bool prepare_staged(CudaCeiling *c, char *reason) {
    c->n_out = c->of.row->parameter;
    c->arguments.b = cuda_ceiling_take(c, bytes_of(c), reason);
    for (int k = 0; k < 2 && c->arguments.b; k++) CUDA_CHECK(cudaMallocHost((void **)&c->host[k], bytes_of(c)));
    return md_ceilings_agree(c->m->comm, c->arguments.b != NULL, reason);
}

/* Threads and arguments of the kernel. One thread sends a flag, one block has a barrier, and each word has its own
 * thread, up to a block on each multiprocessor, since all must be resident. */
static void set_shape(CudaCeiling *c) {
    const bool is_flag = cuda_row_has(c, "flag"), is_words = cuda_row_has(c, "tagged");
    double n_sms = -c->m->n_sms; /* of the smallest GPU: threads of two must have the same words */
    md_comm_max(c->m->comm, &n_sms, 1);
    const int64_t n_words = c->of.row->parameter, n_most = -256 * (int64_t)n_sms;
    cuda_ceiling_shape(c, cuda_row_has(c, "stores") ? cuda_ceiling_resident(c->m)
                          : is_words                ? (n_words < n_most ? n_words : n_most)
                                                    : 1);
    if (is_flag) c->block[0] = 1;
    c->arguments.n = is_words ? n_words : c->n;
    c->arguments.parameter = is_flag ? (int)c->n / 2 : (int)c->n; /* rounds */
}

bool cuda_ceiling_prepare_peers(CudaCeiling *c, char *reason) {
    static const struct {
        const char *word, *symbol; /* of the variant; of the kernel, NULL: none */
        CudaCeilingRun *run;
        CudaCeilingStep *check;
    } kinds[] = {{"relaxed", "k_peers_flag_relaxed", run_kernels, check_counts},
                 {"release", "k_peers_flag_ordered", run_kernels, check_counts},
                 {"tagged", "k_peers_words", run_kernels, check_counts},
                 {"stores", "k_peers_stores", run_kernels, check_elements},
                 {"barrier", "k_peers_barrier", run_kernels, check_counts},
                 {"engine", NULL, run_engine, check_elements},
                 {"staged", NULL, run_staged, check_elements}};
    size_t kind = 0;
    while (!cuda_row_has(c, kinds[kind].word)) kind++;
    const bool is_staged = kinds[kind].run == run_staged;
    if (!c->m->comm) snprintf(reason, MD_CEILING_REASON, MD_CEILINGS_ALONE);
    else if (!is_staged) cuda_ranks_judge_direct(c->m->comm, reason);
    if (*reason) return false;
    Peers *p = c->extra = md_alloc(1, sizeof *p, "ceilings");
    p->rank = md_comm_rank(c->m->comm);
    p->partner = p->rank < 2 ? 1 - p->rank : -1;
    c->release = release;
    c->run = kinds[kind].run;
    c->check = kinds[kind].check;
    c->expected = is_of_partner;
    c->arguments.a = c->m->d_source[p->rank == 1];
    c->n_out = c->n;
    if (is_staged) return prepare_staged(c, reason);
    set_shape(c);
    return prepare_direct(c, kinds[kind].symbol, reason);
}
