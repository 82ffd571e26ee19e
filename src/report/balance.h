/* How a run is divided among its processes: their hosts and GPUs, and the atoms and work of each. */
#ifndef MD_REPORT_BALANCE_H
#define MD_REPORT_BALANCE_H

#include "backend/backend.h"
#include "base/json.h"
#include "base/log.h"
#include "parallel/comm.h"

enum {
    MD_BALANCE_ATOMS,
    MD_BALANCE_HALO,
    MD_BALANCE_MIGRATED,
    MD_BALANCE_BYTES,
    MD_BALANCE_FORCE_S,
    MD_BALANCE_EXCHANGE_S,
    MD_BALANCE_WAIT_S,
    MD_BALANCE_N_FIGURES
};

/* A figure over the ranks. */
typedef struct MdRankSpread {
    double min, mean, max;
} MdRankSpread;

typedef struct MdRankGpu {
    char uuid[48];
    int32_t number; /* as CUDA counts on its host */
    int32_t n_seen; /* GPUs that the rank sees */
    int32_t first;  /* the first rank on this GPU */
} MdRankGpu;

typedef struct MdBalance {
    MdRankSpread figures[MD_BALANCE_N_FIGURES]; /* MdRankStatistics, and the stage of the forces */
    MdRankGpu *gpus;                            /* [ranks], from md_alloc; NULL: they have none */
} MdBalance;

/* Collective. machine: of this rank. */
void md_balance_gather_gpus(const MdComm *comm, const MdMachine *machine, MdBalance *balance);

/* Collective. own: statistics of this rank. */
void md_balance_gather(const MdComm *comm, const MdStatistics *own, MdBalance *balance);

/* Hosts on which the ranks are; 1 for one process (comm NULL). */
int md_balance_count_hosts(const MdComm *comm);

/* The ranks, on lines that begin with prefix, and causes of slowness; nothing for one process. config: as resolved; n_atoms:
 * of all ranks. */
void md_balance_log_ranks(MdLog *log, const char *prefix, const MdComm *comm, const MdConfig *config, int64_t n_atoms,
                          const MdRankGpu *gpus);

/* Ranks that share a GPU while another one of their host is idle, and the remedy; NULL: there are none. From md_format. */
char *md_balance_warning(const MdComm *comm, const MdConfig *config, const MdRankGpu *gpus);

/* The table of the figures; nothing for one process. */
void md_balance_log(MdLog *log, const MdComm *comm, const MdBalance *balance);

/* The object `ranks`; null for one process. */
void md_balance_write(MdJson *json, const MdComm *comm, const MdConfig *config, const MdBalance *balance);

#endif
