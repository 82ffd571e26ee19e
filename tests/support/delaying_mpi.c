/* In front of MPI (LD_PRELOAD): calls that take part in messages come late, by up to two milliseconds, at random and on each rank
 * otherwise. What is right whenever messages come gives the same bits. DELAYING_MPI_COUNTS names a file for each rank, `.RANK`
 * behind it, which gets the number of calls that were late. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned seed;
static _Atomic long n_late;

static void delay(void) {
    int rank = 0;
    if (!seed) {
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        seed = 12345u + 7919u * (unsigned)rank;
    }
    const int kind = rand_r(&seed) % 8; /* most calls are in time, and a few very late: the order changes */
    if (kind > 1) return;
    n_late++;
    nanosleep(&(struct timespec){.tv_nsec = rand_r(&seed) % (kind ? 2000000 : 200000)}, NULL);
}

int MPI_Isend(const void *data, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request) {
    delay();
    return PMPI_Isend(data, n, type, rank, tag, comm, request);
}

int MPI_Irecv(void *data, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request) {
    delay();
    return PMPI_Irecv(data, n, type, rank, tag, comm, request);
}

int MPI_Testall(int n, MPI_Request *requests, int *done, MPI_Status *statuses) {
    delay();
    return PMPI_Testall(n, requests, done, statuses);
}

int MPI_Iallgather(const void *out, int n_out, MPI_Datatype type_out, void *in, int n_in, MPI_Datatype type_in,
                   MPI_Comm comm, MPI_Request *request) {
    delay();
    return PMPI_Iallgather(out, n_out, type_out, in, n_in, type_in, comm, request);
}

int MPI_Finalize(void) {
    const char *counts = getenv("DELAYING_MPI_COUNTS");
    int rank;
    char name[4096];
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "%s.%d", counts ? counts : "/dev/null", rank);
    FILE *file = counts ? fopen(name, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", n_late);
        fclose(file);
    }
    return PMPI_Finalize();
}
