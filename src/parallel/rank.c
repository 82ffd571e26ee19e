#include "parallel/rank.h"

#include <stddef.h>
#include <stdlib.h>

int md_rank_local(void) {
    static const char *const names[] = {"SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "MV2_COMM_WORLD_LOCAL_RANK", "PMI_LOCAL_RANK"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const char *text = getenv(names[k]);
        char *end = NULL;
        long rank = text ? strtol(text, &end, 10) : -1;
        if (text && end != text && *end == '\0' && rank >= 0 && rank < 1 << 20) return (int)rank;
    }
    return 0;
}
