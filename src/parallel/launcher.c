#include "parallel/launcher.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The variables of launchers, the nearest first: processes of mpirun in a batch job inherit the job's variables. */
static const struct Launcher {
    const char *size, *rank, *local_rank; /* size NULL: it does not say how many it has started, but `sign` is set */
    const char *sign;
} launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", NULL},
    {"PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", NULL}, /* MPICH, Intel MPI */
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", NULL},
    {"PMI_SIZE", "PMI_RANK", "PMI_LOCAL_RANK", NULL},
    {NULL, "PMIX_RANK", "PMIX_RANK", "PMIX_RANK"}, /* prterun, prun; on one node it is the local rank */
    {NULL, "PMIX_RANK", "PMIX_RANK", "PMIX_NAMESPACE"},
    {NULL, "PMI_ID", "PMI_ID", "PMI_PORT"}, /* mpiexec -pmi-port of MPICH */
    /* Of a job step, not of a job: a batch script that starts a program without srun has started one process. */
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID", NULL},
};
enum { N_LAUNCHERS = sizeof launchers / sizeof launchers[0] };

/* A whole number from 0 on; -1: there is none. */
static int read_number(const char *name) {
    const char *text = getenv(name);
    char *end = NULL;
    const long number = text ? strtol(text, &end, 10) : -1;
    return text && end != text && *end == '\0' && number >= 0 && number < 1 << 20 ? (int)number : -1;
}

/* mpirun of Open MPI, and srun --mpi=pmix, set the variables of prterun, and also their own sizes. */
static bool says_more(const char *sign) {
    const char *space = getenv("PMIX_NAMESPACE");
    return strncmp(sign, "PMIX_", 5) == 0 &&
           (getenv("OMPI_COMM_WORLD_SIZE") || (space && strncmp(space, "slurm.", 6) == 0));
}

/* How many processes it has started; 0: it does not say; -1: it is not there. */
static int read_size(const struct Launcher *launcher) {
    if (!launcher->size) return getenv(launcher->sign) && !says_more(launcher->sign) ? 0 : -1;
    const int size = read_number(launcher->size);
    return size > 0 ? size : -1;
}

static int read_nearest_size(void) {
    int size = -1;
    for (int k = 0; k < N_LAUNCHERS && size < 0; k++) size = read_size(&launchers[k]);
    return size;
}

bool md_launcher_is_there(void) { return read_nearest_size() >= 0; }

int md_launcher_processes(void) {
    const int size = read_nearest_size();
    const char *alone = getenv("MDMINI_ALONE");
    return size < 0 || (alone && alone[0] && strcmp(alone, "0") != 0) ? 1 : size;
}

/* From the nearest launcher that gives the number, except launchers of one process: the launcher around them may know more. */
static int read_nearest_rank(bool local) {
    for (int k = 0; k < N_LAUNCHERS; k++) {
        const int size = read_size(&launchers[k]);
        if (size == 1 || (size < 0 && !launchers[k].size)) continue;
        const int rank = read_number(local ? launchers[k].local_rank : launchers[k].rank);
        if (rank >= 0) return rank;
    }
    return 0;
}

int md_launcher_rank(void) { return read_nearest_rank(false); }

int md_launcher_local_rank(void) { return read_nearest_rank(true); }

/* Where the number is not known, rank 0 does not know that there are others, but rank 1 does. */
bool md_launcher_speaks(void) { return md_launcher_rank() == (md_launcher_processes() == 0 ? 1 : 0); }
