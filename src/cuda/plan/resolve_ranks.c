#define _POSIX_C_SOURCE 200809L
/* Switches for several processes, and the part of the system that each has: the choices of `auto` depend on it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/ranks.h"
#include "base/memory.h"
#include "cuda/bricks/bricks.h"
#include "cuda/device/check.h"
#include "cuda/device/device.h"
#include "cuda/device/nccl.h"
#include "cuda/plan/resolve.h"

/* Values that run over several processes. Others know of no copies of atoms, or would need a message in the midst of a launch. */
static const struct {
    int option, value;
    const char *why;
} needed[] = {
    {MD_OPTION_force_kernel, MD_KERNEL_BRICK, "which computes only the forces of the own atoms, from full lists"},
    {MD_OPTION_memory_sort, MD_SORT_BRICK, "which puts copies after the own atoms"},
    {MD_OPTION_memory_layout, MD_LAYOUT_VEC4,
     "by which positions are received directly into the arrays that kernels read"},
    {MD_OPTION_memory_load, MD_LOAD_GLOBAL, "which sees the stores of other GPUs"},
    {MD_OPTION_memory_allocation, MD_ALLOCATION_ONCE, "for the atoms that come and go"},
    /* from here on by parallel.transport and neighbor.rebuild */
    {MD_OPTION_launch_persistent, MD_PERSISTENT_OFF,
     "since positions are sent between two steps, or the host asks for displacements"},
    {MD_OPTION_launch_barrier, MD_BARRIER_LOCAL, "by which blocks wait for those of other GPUs"},
    {MD_OPTION_memory_brick_grid, MD_BRICK_GRID_CELLS,
     "since other grids are for the resident kernel of GPUs that are alike"},
    {MD_OPTION_launch_passes, MD_PASSES_KERNELS,
     "since positions are sent between two steps, or the host asks for displacements"},
    {MD_OPTION_launch_graph, MD_GRAPH_OFF,
     "since the host sends positions between two steps (parallel.transport = staged, cuda-aware)"},
    {MD_OPTION_memory_space, MD_SPACE_DEVICE,
     "which MPI, NCCL and other GPUs can reach (parallel.transport = cuda-aware, nccl, direct)"},
};
enum { N_NEEDED = sizeof needed / sizeof needed[0] };

/* alike: all GPUs have as many multiprocessors, so that domains come to have the same cells by them. */
static bool is_needed(const MdConfig *config, bool alike, int k) {
    const int transport = config->parallel_transport, rebuild = config->neighbor_rebuild;
    const bool is_direct = transport == MD_TRANSPORT_DIRECT, may_stay = is_direct && rebuild != MD_REBUILD_HOST_CHECK;
    switch (needed[k].option) {
    case MD_OPTION_launch_passes:
    case MD_OPTION_launch_persistent: return !may_stay;
    case MD_OPTION_memory_brick_grid: return !may_stay || !alike;
    case MD_OPTION_launch_barrier: return config->launch_persistent == MD_PERSISTENT_ON;
    case MD_OPTION_launch_graph: return transport == MD_TRANSPORT_STAGED || transport == MD_TRANSPORT_CUDA_AWARE;
    case MD_OPTION_memory_space: return transport != MD_TRANSPORT_STAGED;
    default: return true;
    }
}

static const char *word_of(int k) { return md_switch_words(needed[k].option)[needed[k].value]; }

static bool is_auto(const MdConfig *config, int option) {
    return strcmp(md_switch_words(option)[md_switch_value(config, option)], "auto") == 0;
}

static void resolve_switches(MdConfig *config, bool alike, MdChoices *choices) {
    for (int k = 0; k < N_NEEDED; k++) {
        if (!is_needed(config, alike, k) || !is_auto(config, needed[k].option)) continue;
        md_switch_set(config, needed[k].option, needed[k].value);
        md_choices_add(choices, md_option_name(needed[k].option), word_of(k), "several processes: %s", needed[k].why);
    }
}

static MdStatus check_switches(const MdConfig *config, bool alike, MdErrors *errors) {
    MdStatus status = MD_OK;
    for (int k = 0; k < N_NEEDED; k++) {
        const int option = needed[k].option, value = md_switch_value(config, option);
        if (!is_needed(config, alike, k) || value == needed[k].value || !md_option_has_effect(config, option)) continue;
        const bool may_run = option == MD_OPTION_launch_passes || option == MD_OPTION_launch_persistent;
        status =
            md_fail(errors, MD_ERROR_INPUT, "%s: %s does not run over several processes%s; take %s, %s",
                    md_option_name(option), md_switch_words(option)[value],
                    may_run ? " but with parallel.transport=direct, and neighbor.rebuild other than host-check" : "",
                    word_of(k), needed[k].why);
    }
    return status;
}

/* --- parallel.transport --------------------------------------------------------------------------------------------- */

typedef struct Gpu {
    char bus_id[16];
    int compute_capability;
} Gpu;

static bool share_a_node(const MdComm *comm, int rank) {
    return strcmp(md_comm_host(comm, rank), md_comm_host(comm, md_comm_rank(comm))) == 0;
}

/* MDMINI_SHARED_GPU=1 is for tests where there are more ranks than GPUs: a GPU takes turns between its ranks, and a kernel that waits
 * for another rank waits for its turn, a thousand times as long as for another GPU. */
static bool may_share_gpu(void) {
    const char *text = getenv("MDMINI_SHARED_GPU");
    return text && strcmp(text, "1") == 0;
}

/* Whether this rank has the GPU of another. */
static bool shares_gpu(const MdComm *comm, int rank, const Gpu *all) {
    return share_a_node(comm, rank) && strcmp(all[md_comm_rank(comm)].bus_id, all[rank].bus_id) == 0;
}

static void refuse_to_share(const MdComm *comm, int rank, char *reason) {
    snprintf(reason, CUDA_REASON, "ranks %d and %d share a GPU", md_comm_rank(comm), rank);
}

/* Why this rank cannot store into the memory of the GPU of another. */
static void judge_peer(const MdComm *comm, int rank, const Gpu *all, char *reason) {
    int device = 0, own_device = 0, access = 0;
    CUDA_CHECK(cudaGetDevice(&own_device));
    if (!share_a_node(comm, rank)) {
        snprintf(reason, CUDA_REASON, "ranks are on several nodes");
    } else if (shares_gpu(comm, rank, all)) {
        if (!may_share_gpu()) refuse_to_share(comm, rank, reason);
    } else if (cudaDeviceGetByPCIBusId(&device, all[rank].bus_id) != cudaSuccess) {
        (void)cudaGetLastError();
        snprintf(reason, CUDA_REASON,
                 "rank %d does not see the GPU of rank %d: where the batch system shows each only its own, start with "
                 "srun --gpu-bind=none",
                 md_comm_rank(comm), rank);
    } else {
        CUDA_CHECK(cudaDeviceCanAccessPeer(&access, own_device, device));
        if (!access) snprintf(reason, CUDA_REASON, "GPU %d cannot reach the memory of GPU %d", own_device, device);
    }
}

/* Why this rank cannot use a transport, into `reason`, which is empty: it can. */
typedef void Judge(const MdComm *comm, const Gpu *all, char *reason);

/* Not in every container. */
static void judge_ipc(char *reason) {
    cudaIpcMemHandle_t handle;
    void *data = NULL;
    CUDA_CHECK(cudaMalloc(&data, 1));
    if (cudaIpcGetMemHandle(&handle, data) != cudaSuccess) snprintf(reason, CUDA_REASON, "CUDA IPC does not work here");
    (void)cudaGetLastError();
    CUDA_CHECK(cudaFree(data));
}

static void judge_direct(const MdComm *comm, const Gpu *all, char *reason) {
    const int size = md_comm_size(comm), own = md_comm_rank(comm);
    if (size > CUDA_MOST_PEERS) snprintf(reason, CUDA_REASON, "for %d ranks at most", CUDA_MOST_PEERS);
    else if (all[own].compute_capability < 70) snprintf(reason, CUDA_REASON, "from compute capability 7.0 on");
    for (int rank = 0; rank < size && !*reason; rank++)
        if (rank != own) judge_peer(comm, rank, all, reason);
    if (!*reason) judge_ipc(reason);
}

/* NCCL refuses ranks of one host that share a GPU. */
static void judge_nccl(const MdComm *comm, const Gpu *all, char *reason) {
    const int own = md_comm_rank(comm);
    char host[16];
    snprintf(host, sizeof host, "rank%d", own);
    for (int rank = 0; rank < md_comm_size(comm) && !*reason; rank++) {
        if (rank == own || !shares_gpu(comm, rank, all)) continue;
        if (may_share_gpu()) setenv("NCCL_HOSTID", host, 0);
        else refuse_to_share(comm, rank, reason);
    }
    if (*reason) return;
    cuda_nccl_judge(reason, CUDA_REASON);
}

static void judge_cuda_aware(const MdComm *comm, const Gpu *all, char *reason) {
    (void)all;
    if (!md_comm_takes_device_memory(comm))
        snprintf(reason, CUDA_REASON,
                 "%s does not say that it is CUDA-aware (MPIX_Query_cuda_support): it would take pointers to memory of "
                 "a GPU for its own",
                 md_comm_library(comm));
}

/* The reason of the first rank that has one. */
static void judge_all(const MdComm *comm, Judge *judge, char reason[CUDA_REASON]) {
    const int size = md_comm_size(comm);
    int device = 0;
    Gpu own = {.compute_capability = cuda_device_compute_capability()};
    Gpu *all = md_alloc((size_t)size, sizeof *all, "GPUs of the ranks");
    char *reasons = md_alloc((size_t)size, CUDA_REASON, "GPUs of the ranks"), mine[CUDA_REASON] = "";
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetPCIBusId(own.bus_id, sizeof own.bus_id, device));
    md_comm_allgather(comm, &own, sizeof own, all);
    judge(comm, all, mine);
    md_comm_allgather(comm, mine, sizeof mine, reasons);
    *reason = '\0';
    for (int rank = 0; rank < size && !*reason; rank++) memcpy(reason, reasons + CUDA_REASON * rank, CUDA_REASON);
    md_free(all);
    md_free(reasons);
}

void cuda_ranks_judge_direct(const MdComm *comm, char reason[CUDA_REASON]) { judge_all(comm, judge_direct, reason); }

/* Whether NCCL, which is installed, joins these ranks. */
static void try_to_join(const MdConfig *config, const MdComm *comm, char *reason) {
    static const volatile unsigned long long no_progress;
    MdErrors *errors = md_errors_create();
    CudaNccl *nccl = cuda_nccl_create(comm, config->parallel_timeout, &no_progress, errors);
    double fails = nccl == NULL;
    md_comm_max(comm, &fails, 1);
    if (fails != 0) snprintf(reason, CUDA_REASON, "NCCL cannot join the ranks (NCCL_DEBUG=WARN tells more)");
    cuda_nccl_destroy(nccl);
    md_errors_destroy(errors);
}

/* In the order of their speeds, where NCCL finds more than sockets. */
static void choose_transport(MdConfig *config, const MdComm *comm, MdChoices *choices) {
    char direct[CUDA_REASON], nccl[CUDA_REASON] = "";
    judge_all(comm, judge_direct, direct);
    if (*direct) judge_all(comm, judge_nccl, nccl);
    if (*direct && !*nccl) try_to_join(config, comm, nccl);
    if (!*direct) {
        config->parallel_transport = MD_TRANSPORT_DIRECT;
        md_choices_add(choices, "parallel.transport", "direct", "each GPU can reach the memory of all others");
    } else if (!*nccl) {
        config->parallel_transport = MD_TRANSPORT_NCCL;
        md_choices_add(choices, "parallel.transport", "nccl", "not direct: %s", direct);
    } else {
        config->parallel_transport = MD_TRANSPORT_STAGED;
        md_choices_add(choices, "parallel.transport", "staged", "not direct: %s; not nccl: %s", direct, nccl);
    }
}

static MdStatus resolve_transport(MdConfig *config, const MdComm *comm, MdChoices *choices, MdErrors *errors) {
    static Judge *const judges[] = {[MD_TRANSPORT_CUDA_AWARE] = judge_cuda_aware,
                                    [MD_TRANSPORT_NCCL] = judge_nccl,
                                    [MD_TRANSPORT_DIRECT] = judge_direct};
    const int transport = config->parallel_transport;
    char reason[CUDA_REASON];
    if (transport == MD_TRANSPORT_STAGED) return MD_OK;
    if (transport == MD_TRANSPORT_AUTO) {
        choose_transport(config, comm, choices);
        return MD_OK;
    }
    judge_all(comm, judges[transport], reason);
    return *reason ? md_fail(errors, MD_ERROR_INPUT, "parallel.transport=%s: %s; take staged, or auto",
                             md_switch_words(MD_OPTION_parallel_transport)[transport], reason)
                   : MD_OK;
}

static MdDomainShape shape_of(const MdConfig *config, const MdSystemPlan *plan, double range) {
    MdDomainShape shape = {.unit = md_config_unit(config, MD_LENGTH),
                           .dimension = plan->box.dimension,
                           .n_per_node = md_comm_node_size(plan->comm),
                           .even = true};
    for (int a = 0; a < 3; a++) {
        shape.length[a] = plan->box.length[a];
        shape.periodic[a] = plan->box.periodic[a];
        shape.cells[a] = a < plan->box.dimension ? (int32_t)cuda_cells_along(plan->box.length[a], range) : 1;
        shape.reach[a] = 1;
    }
    return shape;
}

MdStatus cuda_ranks_resolve(MdConfig *config, const MdComm *comm, MdChoices *choices, MdErrors *errors) {
    if (!comm) return MD_OK;
    const MdStatus status = resolve_transport(config, comm, choices, errors);
    if (status != MD_OK) return status;
    double most[2] = {cuda_device_multiprocessors(), -cuda_device_multiprocessors()};
    md_comm_max(comm, most, 2);
    const bool alike = most[0] == -most[1];
    resolve_switches(config, alike, choices);
    return check_switches(config, alike, errors);
}

MdStatus cuda_ranks_divide(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors,
                           MdBox *part) {
    const double range = plan->potential.cutoff_max + (md_is_auto(config->neighbor_skin) ? 0 : config->neighbor_skin);
    const MdDomainShape shape = shape_of(config, plan, range);
    const MdStatus status = md_ranks_resolve_grid(config, plan->comm, &shape, choices, errors);
    for (int a = 0; a < config->parallel_grid.n && status == MD_OK; a++)
        part->length[a] /= (double)config->parallel_grid.values[a];
    return status;
}
