/* In front of the C library (LD_PRELOAD): the processes of one machine have names of several nodes, RANKS_OF_NODE processes each. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int gethostname(char *name, size_t size) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *n = getenv("RANKS_OF_NODE");
    const int per_node = n ? atoi(n) : 1;
    snprintf(name, size, "node%d", rank && per_node > 0 ? atoi(rank) / per_node : 0);
    return 0;
}
