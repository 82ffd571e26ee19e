/* In front of MPI (LD_PRELOAD): an MPI that says it is CUDA-aware, on the emulated GPU. Messages from and to the memory of a GPU go
 * through the host; so they have what is in memory when they begin: work of a stream that was not waited for is missing. */
#define _POSIX_C_SOURCE 200809L
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_OPEN = 256 };

/* The program has them; in the launcher, which loads this as well, they are NULL. */
#pragma weak cudaPointerGetAttributes
#pragma weak cudaMemcpy
#pragma weak cudaGetLastError

static _Thread_local struct {
    MPI_Request request;
    void *device, *host; /* device: to be received; NULL: it is sent */
    size_t bytes;
    int is_of_set;
} opened[MAX_OPEN];
static _Thread_local int n_opened;

int MPIX_Query_cuda_support(void);
int MPIX_Query_cuda_support(void) { return 1; }

static int is_on_device(const void *data) {
    struct cudaPointerAttributes attributes;
    if (!cudaPointerGetAttributes) return 0;
    if (cudaPointerGetAttributes(&attributes, data) != cudaSuccess) return cudaGetLastError(), 0;
    return attributes.type == cudaMemoryTypeDevice;
}

static void copy(void *to, const void *from, size_t bytes) {
    if (cudaMemcpy(to, from, bytes, cudaMemcpyDefault) == cudaSuccess) return;
    fprintf(stderr, "CUDA-aware stand-in: a copy of %zu bytes failed\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 99);
}

static void *open_message(void *device, int n, int is_sent) {
    void *host = malloc((size_t)n);
    if (!host || n_opened == MAX_OPEN) MPI_Abort(MPI_COMM_WORLD, 99);
    if (is_sent) copy(host, device, (size_t)n);
    opened[n_opened].device = is_sent ? NULL : device;
    opened[n_opened].host = host;
    opened[n_opened++].bytes = (size_t)n;
    return host;
}

int MPI_Isend(const void *data, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request) {
    if (!is_on_device(data)) return PMPI_Isend(data, n, type, rank, tag, comm, request);
    const int error = PMPI_Isend(open_message((void *)data, n, 1), n, type, rank, tag, comm, request);
    opened[n_opened - 1].request = *request;
    return error;
}

int MPI_Irecv(void *data, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request) {
    if (!is_on_device(data)) return PMPI_Irecv(data, n, type, rank, tag, comm, request);
    const int error = PMPI_Irecv(open_message(data, n, 0), n, type, rank, tag, comm, request);
    opened[n_opened - 1].request = *request;
    return error;
}

static void close_messages(void) {
    int n = 0;
    for (int k = 0; k < n_opened; k++) {
        if (!opened[k].is_of_set) {
            opened[n++] = opened[k];
            continue;
        }
        if (opened[k].device) copy(opened[k].device, opened[k].host, opened[k].bytes);
        free(opened[k].host);
    }
    n_opened = n;
}

int MPI_Testall(int n, MPI_Request *requests, int *done, MPI_Status *statuses) {
    int n_of_set = 0;
    for (int k = 0; k < n_opened; k++) {
        opened[k].is_of_set = 0;
        for (int i = 0; i < n && !opened[k].is_of_set; i++) opened[k].is_of_set = requests[i] == opened[k].request;
        n_of_set += opened[k].is_of_set;
    }
    const int error = PMPI_Testall(n, requests, done, statuses);
    if (*done && n_of_set > 0) close_messages();
    return error;
}
