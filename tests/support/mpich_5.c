/* In front of MPI (LD_PRELOAD): MPICH 5, which ends a process that a launcher of PMIx has started, of whatever number. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int MPI_Get_library_version(char *version, int *length) {
    strcpy(version, "MPICH Version:      5.0.2\nMPICH Release date: unreleased");
    *length = (int)strlen(version);
    return MPI_SUCCESS;
}

int MPI_Init_thread(int *n_arguments, char ***arguments, int needed, int *granted) {
    (void)n_arguments, (void)arguments, (void)needed, (void)granted;
    exit(16);
}
