#include "parallel/launcher.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The first of the variables that is a whole number from `least` on; otherwise: when none is. */
static int read_first(const char *const *names, int least, int otherwise) {
    for (; *names; names++) {
        const char *text = getenv(*names);
        char *end = NULL;
        const long number = text ? strtol(text, &end, 10) : -1;
        if (text && end != text && *end == '\0' && number >= least && number < 1 << 20) return (int)number;
    }
    return otherwise;
}

/* Of a job step, not of a job: a batch script that starts a program without srun has started one process. 0: nobody tells. */
static int read_size(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
                                        "SLURM_STEP_NUM_TASKS", NULL};
    return read_first(names, 1, 0);
}

bool md_launcher_is_there(void) { return read_size() > 0; }

int md_launcher_processes(void) {
    const int size = read_size();
    const char *alone = getenv("MDMINI_ALONE");
    return alone && strcmp(alone, "1") == 0 ? 1 : size > 0 ? size : 1;
}

int md_launcher_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID",
                                        NULL};
    return read_first(names, 0, 0);
}

int md_launcher_local_rank(void) {
    static const char *const names[] = {"SLURM_LOCALID",   "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",
                                        "PMI_LOCAL_RANK",  NULL};
    return read_first(names, 0, 0);
}
