/* The functions that comm.c needs from a message library. Internal to src/parallel: comm_mpi.c implements them by MPI. */
#ifndef MD_PARALLEL_ENGINE_H
#define MD_PARALLEL_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "parallel/message.h"

enum { MD_HOST_NAME_SIZE = 64, MD_LIBRARY_NAME_SIZE = 128 };

typedef struct MdComm {
    const struct MdCommEngine *engine;
    int rank, size, node_rank, node_size;
    char (*hosts)[MD_HOST_NAME_SIZE]; /* [size] */
    char library[MD_LIBRARY_NAME_SIZE];
    bool serves_threads, takes_device_memory;
    bool is_duplicate; /* which goes before the first one, whose hosts it has */
    double patience_s, waited_s;
    void *state; /* of the engine */
} MdComm;

typedef struct MdCommEngine {
    /* The fields of *comm, or only library and size, where that is 1. Whether this went well; the problem goes to errors. */
    bool (*start)(MdComm *comm, MdErrors *errors);
    void (*finish)(MdComm *comm);           /* of the first one, which is the last to go: ends the library as well */
    void *(*duplicate)(const MdComm *comm); /* the state of another */
    void (*gather)(const MdComm *comm, const void *own, size_t bytes, void *all);
    /* [size][bytes]: one for each rank, one of each. */
    void (*trade)(const MdComm *comm, const void *out, size_t bytes, void *in);
    void (*begin)(MdComm *comm, const MdMessage *messages, int n);
    void (*end)(MdComm *comm);
    void (*give_up)(const MdComm *comm, int silent, double seconds); /* does not return; silent -1: any */
    void (*abort)(int code);                                         /* of all ranks */
} MdCommEngine;

#endif
