/* In front of MPI (LD_PRELOAD): what rank 1 sends is wrong, for tests of those who check what comes. CORRUPTING_MPI:
 * bytes of the messages of which the last byte is wrong; -1: none, but whole numbers from 1 on that all gather, which
 * are too large. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int is_chosen(int bytes) {
    const char *chosen = getenv("CORRUPTING_MPI");
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 1 && chosen && atoi(chosen) == bytes;
}

int MPI_Isend(const void *data, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request) {
    if (!is_chosen(n)) return PMPI_Isend(data, n, type, rank, tag, comm, request);
    char *copy = malloc((size_t)n); /* lives as long as the message may */
    if (!copy) abort();
    memcpy(copy, data, (size_t)n);
    copy[n - 1] ^= 1;
    return PMPI_Isend(copy, n, type, rank, tag, comm, request);
}

int MPI_Iallgather(const void *out, int n_out, MPI_Datatype type_out, void *in, int n_in, MPI_Datatype type_in,
                   MPI_Comm comm, MPI_Request *request) {
    static double number; /* one at a time */
    if (n_out == sizeof number && is_chosen(-1)) {
        memcpy(&number, out, sizeof number);
        if (number >= 1 && number < 1000 && floor(number) >= number) {
            number++;
            out = &number;
        }
    }
    return PMPI_Iallgather(out, n_out, type_out, in, n_in, type_in, comm, request);
}
