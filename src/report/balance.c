#include "report/balance.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "sensors/host.h"

static const struct {
    const char *key, *name;
    int n_decimals; /* in the log */
} rows[MD_BALANCE_N_FIGURES] = {[MD_BALANCE_ATOMS] = {"atoms", "atoms", 0},
                                [MD_BALANCE_HALO] = {"halo_atoms", "halo atoms", 0},
                                [MD_BALANCE_MIGRATED] = {"migrated_atoms", "atoms moved to others", 0},
                                [MD_BALANCE_BYTES] = {"halo_bytes", "bytes sent for halos", 0},
                                [MD_BALANCE_FORCE_S] = {"force_seconds", "seconds: forces", 4},
                                [MD_BALANCE_EXCHANGE_S] = {"exchange_seconds", "  halo and migration", 4},
                                [MD_BALANCE_WAIT_S] = {"wait_seconds", "  waiting", 4}};

static double stage_seconds(const MdStatistics *statistics, const char *stage) {
    for (int k = 0; k < statistics->n_stages; k++)
        if (strcmp(statistics->stages[k].stage, stage) == 0) return statistics->stages[k].seconds;
    return NAN;
}

void md_balance_gather(const MdComm *comm, const MdStatistics *own, MdBalance *balance) {
    const MdRankStatistics *rank = &own->rank;
    const double figures[MD_BALANCE_N_FIGURES] = {[MD_BALANCE_ATOMS] = (double)rank->n_atoms,
                                                  [MD_BALANCE_HALO] = (double)rank->n_halo,
                                                  [MD_BALANCE_MIGRATED] = (double)rank->n_migrated,
                                                  [MD_BALANCE_BYTES] = (double)rank->halo_bytes,
                                                  [MD_BALANCE_FORCE_S] = stage_seconds(own, "force"),
                                                  [MD_BALANCE_EXCHANGE_S] = rank->exchange_seconds,
                                                  [MD_BALANCE_WAIT_S] = rank->wait_seconds};
    const int n = md_comm_size(comm);
    double(*all)[MD_BALANCE_N_FIGURES] = md_alloc((size_t)n, sizeof *all, "figures of ranks");
    md_comm_allgather(comm, figures, sizeof figures, all);
    for (int k = 0; k < MD_BALANCE_N_FIGURES; k++) {
        MdRankSpread spread = {all[0][k], 0, all[0][k]};
        for (int other = 0; other < n; other++) {
            spread.min = fmin(spread.min, all[other][k]);
            spread.max = fmax(spread.max, all[other][k]);
            spread.mean += all[other][k] / n;
        }
        balance->figures[k] = spread;
    }
    md_free(all);
}

static bool share_a_host(const MdComm *comm, int rank, int other) {
    return strcmp(md_comm_host(comm, rank), md_comm_host(comm, other)) == 0;
}

static bool is_first_on_host(const MdComm *comm, int rank) {
    for (int other = 0; other < rank; other++)
        if (share_a_host(comm, rank, other)) return false;
    return true;
}

int md_balance_count_hosts(const MdComm *comm) {
    int n = 1;
    for (int rank = 1; rank < md_comm_size(comm); rank++) n += is_first_on_host(comm, rank);
    return n;
}

/* GPUs are told apart by their UUIDs: the number is 0 for all ranks if each sees only its own GPU. */
static int first_on_gpu(const MdComm *comm, const MdRankGpu *gpus, int rank) {
    int first = 0;
    while (!share_a_host(comm, rank, first) || strcmp(gpus[rank].uuid, gpus[first].uuid) != 0) first++;
    return first;
}

void md_balance_gather_gpus(const MdComm *comm, const MdMachine *machine, MdBalance *balance) {
    MdRankGpu own = {.number = machine->device_total_bytes > 0 ? machine->device_number : -1,
                     .n_seen = machine->n_devices};
    double none = own.number < 0;
    if (!comm) return;
    md_comm_max(comm, &none, 1);
    if (none != 0) return;
    memcpy(own.uuid, machine->device_uuid, sizeof own.uuid);
    balance->gpus = md_alloc((size_t)md_comm_size(comm), sizeof own, "GPUs of the ranks");
    md_comm_allgather(comm, &own, sizeof own, balance->gpus);
    for (int rank = 0; rank < md_comm_size(comm); rank++)
        balance->gpus[rank].first = first_on_gpu(comm, balance->gpus, rank);
}

/* Whether the number of its GPU is that of another on its host as well. */
static bool is_ambiguous(const MdComm *comm, const MdRankGpu *gpus, int rank) {
    for (int other = 0; other < md_comm_size(comm); other++)
        if (gpus[rank].number == gpus[other].number && share_a_host(comm, rank, other) &&
            gpus[rank].first != gpus[other].first)
            return true;
    return false;
}

/* A line for each of the first hosts. */
static void log_gpus(MdLog *log, const char *prefix, const MdComm *comm, const MdRankGpu *gpus) {
    const int most = 16, size = md_comm_size(comm);
    int n = 0;
    for (int rank = 0; rank < size && n < most; rank++) {
        if (!is_first_on_host(comm, rank)) continue;
        md_log(log, "%s          %s:", prefix, md_comm_host(comm, rank));
        for (int other = rank; other < size; other++) {
            if (!share_a_host(comm, rank, other)) continue;
            md_log(log, "%s rank %d on GPU %d", other > rank ? "," : "", other, gpus[other].number);
            if (is_ambiguous(comm, gpus, other)) md_log(log, " (%s)", gpus[other].uuid);
        }
        md_log(log, "\n");
        n++;
    }
}

/* Atoms on each GPU from which two are faster than one (run/results/h200/README.md); of cuda-aware none are known. */
static double least_atoms(const MdConfig *config) {
    switch (config->parallel_transport) {
    case MD_TRANSPORT_STAGED: return INFINITY;
    case MD_TRANSPORT_DIRECT: return config->neighbor_rebuild == MD_REBUILD_EVERY ? 25e3 : 40e3;
    case MD_TRANSPORT_NCCL: return 5e5;
    default: return 0;
    }
}

/* Whether a rank sees more GPUs than the ranks of its host use. */
static bool sees_idle_gpu(const MdComm *comm, const MdRankGpu *gpus, int rank) {
    int n_used = 0;
    for (int other = 0; other < md_comm_size(comm); other++)
        n_used += share_a_host(comm, rank, other) && gpus[other].first == other;
    return n_used < gpus[rank].n_seen;
}

/* The first rank that shares the GPU of a rank before it, while it sees an idle one or not; -1: there is none. */
static int find_sharing(const MdComm *comm, const MdRankGpu *gpus, bool beside_idle) {
    for (int rank = 1; gpus && rank < md_comm_size(comm); rank++)
        if (gpus[rank].first < rank && sees_idle_gpu(comm, gpus, rank) == beside_idle) return rank;
    return -1;
}

char *md_balance_warning(const MdComm *comm, const MdConfig *config, const MdRankGpu *gpus) {
    const int rank = find_sharing(comm, gpus, true);
    if (rank < 0) return NULL;
    return md_format("ranks %d and %d share GPU %d of %s, and another GPU there is idle: %s", gpus[rank].first, rank,
                     gpus[rank].number, md_comm_host(comm, rank),
                     config->run_device == MD_AUTO_INT
                         ? "show all ranks the same GPUs in the same order (CUDA_VISIBLE_DEVICES)"
                         : "with run.device = auto each rank takes another one");
}

static void log_notes(MdLog *log, const char *prefix, const MdComm *comm, const MdConfig *config, int64_t n_atoms,
                      const MdRankGpu *gpus) {
    const double least = least_atoms(config);
    if (find_sharing(comm, gpus, false) >= 0)
        md_log(log, "%snote      ranks share a GPU by time slicing: one rank would be faster\n", prefix);
    else if (least == INFINITY)
        md_log(log, "%snote      this transport makes several GPUs slower than one: they add memory, not speed\n",
               prefix);
    else if ((double)n_atoms < least * md_comm_size(comm))
        md_log(log, "%snote      one GPU would be faster: two pay from some %.0f atoms on each\n", prefix, least);
    if (md_host_cpus_allowed() == 1)
        md_log(
            log,
            "%snote      rank 0 may use one processor: the thread that writes files takes it from the one that issues\n"
            "%s          steps, and verification has one thread. Bind to more, or to none: mpirun --bind-to none\n",
            prefix, prefix);
}

void md_balance_log_ranks(MdLog *log, const char *prefix, const MdComm *comm, const MdConfig *config, int64_t n_atoms,
                          const MdRankGpu *gpus) {
    if (!comm) return;
    const int n_hosts = md_balance_count_hosts(comm);
    md_log(log, "%sranks     %d processes on %d host%s (%s), domains%s", prefix, md_comm_size(comm), n_hosts,
           n_hosts == 1 ? "" : "s", md_comm_library(comm), config->parallel_grid.n > 0 ? "" : " not chosen: no GPU");
    for (int a = 0; a < config->parallel_grid.n; a++)
        md_log(log, "%s%lld", a ? " x " : " ", (long long)config->parallel_grid.values[a]);
    md_log(log, "\n");
    if (gpus) log_gpus(log, prefix, comm, gpus);
    if (config->run_backend == MD_BACKEND_CUDA) log_notes(log, prefix, comm, config, n_atoms, gpus);
}

/* The largest over the mean: 1 where all ranks are equal, and where none has any. */
static double excess(const MdRankSpread *spread) { return spread->max == 0 ? 1 : spread->max / spread->mean; }

void md_balance_log(MdLog *log, const MdComm *comm, const MdBalance *balance) {
    if (!comm) return;
    md_log(log, "\n%-22s %14s %14s %14s %9s\n", "over the ranks", "min", "mean", "max", "max/mean");
    for (int k = 0; k < MD_BALANCE_N_FIGURES; k++) {
        const MdRankSpread *spread = &balance->figures[k];
        md_log(log, "%-22s %14.*f %14.*f %14.*f %9.2f\n", rows[k].name, rows[k].n_decimals, spread->min,
               rows[k].n_decimals, spread->mean, rows[k].n_decimals, spread->max, excess(spread));
    }
    md_log(log,
           "waiting: in messages and agreements of the loop, those of halo and migration among them; stage halo has "
           "agreements on the list, too\n");
    if (excess(&balance->figures[MD_BALANCE_ATOMS]) > 1.5)
        md_log(log,
               "note: domains have equal volumes, and here unequal numbers of atoms: name a parallel.grid that cuts "
               "along other axes\n");
}

void md_balance_write(MdJson *json, const MdComm *comm, const MdConfig *config, const MdBalance *balance) {
    if (!comm) {
        md_json_text(json, "ranks", NULL);
        return;
    }
    md_json_begin_object(json, "ranks");
    md_json_int(json, "n", md_comm_size(comm));
    md_json_int(json, "hosts", md_balance_count_hosts(comm));
    md_json_text(json, "library", md_comm_library(comm));
    md_json_begin_array(json, "grid");
    for (int a = 0; a < config->parallel_grid.n; a++) md_json_int(json, NULL, config->parallel_grid.values[a]);
    md_json_end_array(json);
    md_json_begin_array(json, "gpus"); /* by rank; empty: the steps run on processors */
    for (int rank = 0; balance->gpus && rank < md_comm_size(comm); rank++) {
        md_json_begin_object(json, NULL);
        md_json_text(json, "host", md_comm_host(comm, rank));
        md_json_int(json, "number", balance->gpus[rank].number);
        md_json_text(json, "uuid", balance->gpus[rank].uuid);
        md_json_end_object(json);
    }
    md_json_end_array(json);
    for (int k = 0; k < MD_BALANCE_N_FIGURES; k++) {
        md_json_begin_object(json, rows[k].key);
        md_json_real(json, "min", balance->figures[k].min);
        md_json_real(json, "mean", balance->figures[k].mean);
        md_json_real(json, "max", balance->figures[k].max);
        md_json_end_object(json);
    }
    md_json_end_object(json);
}
