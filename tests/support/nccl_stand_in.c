/* A stand-in for NCCL on emulated GPUs (libnccl.so.2, found by LD_LIBRARY_PATH): messages between processes of one machine through
 * shared memory, in the order of the stream and in graphs, as far as src/cuda/device/nccl.c calls NCCL. What real NCCL would refuse, or
 * where it would wait for ever, ends the program with exit code 99: lengths that differ on the two sides, memory that is no GPU's, a
 * communicator that is none, a message outside of a group, a stream that changes within one, graphs that outlive the communicator.
 *
 * Between each two ranks there is a pipe in each direction; a message is its length and its bytes. All messages of a group go on side by
 * side.
 *
 * NCCL_STAND_IN: `init`: ranks cannot be joined; `silent`: nor do they learn it; `async`: the tenth group of rank 1 fails when it runs;
 * `old`: an old version */
#define _GNU_SOURCE 1
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_USAGE = 5, REMOTE_ERROR = 6 };
enum { MAX_RANKS = 16, MAX_OPS = 128, MAX_WORDS = 8, PIPE_BYTES = 1 << 16, FAILING_GROUP = 10 };

void emulator_run_early(void);
size_t emulator_graphs_that_call(cudaHostFn_t function);

typedef struct Pipe {
    _Atomic size_t n_in, n_out; /* bytes, ever */
    char bytes[PIPE_BYTES];
} Pipe;

typedef struct Shared {
    atomic_int n_joined, n_ranks;
    char gpus[MAX_RANKS][16];
    struct {
        atomic_long turn;
        unsigned values[2][MAX_WORDS]; /* of this turn and of the one before */
    } sums[MAX_RANKS];
    Pipe pipes[MAX_RANKS][MAX_RANKS]; /* [from][to] */
} Shared;

typedef struct Op {
    enum { SEND, RECEIVE, LARGEST } kind;
    char *data;
    size_t bytes, done; /* done: with the length before them */
    size_t length;      /* as the sender says */
    int rank;
} Op;

typedef struct ncclComm {
    char magic[8];
    Shared *shared;
    int rank, n_ranks, n_groups;
    long n_sums;
    atomic_bool is_aborted;
    atomic_int error;
    struct Group *groups; /* that graphs have */
} * ncclComm_t;

typedef struct Group {
    ncclComm_t comm;
    cudaStream_t stream;
    int n;
    Op ops[MAX_OPS];
    int is_kept;
    struct Group *next;
} Group;

typedef struct ncclUniqueId {
    char name[128];
} ncclUniqueId;

static _Thread_local Group *open_group; /* between start and end */
static _Thread_local int depth;

static _Noreturn void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "stand-in for NCCL: ");
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    _exit(99);
}

static int is_told(const char *what) {
    const char *told = getenv("NCCL_STAND_IN");
    return told && strcmp(told, what) == 0;
}

static ncclComm_t check_comm(ncclComm_t comm) {
    if (!comm || strcmp(comm->magic, "nccl-in") != 0) fail("%p is no communicator", (void *)comm);
    return comm;
}

/* --- when a group runs ------------------------------------------------------------------------------------------------ */

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* As many of n bytes as go into the pipe, or are in it, side by side. */
static size_t put(Pipe *pipe, const char *from, size_t n) {
    const size_t at = pipe->n_in, free_bytes = PIPE_BYTES - (at - pipe->n_out);
    n = smaller(n, smaller(free_bytes, PIPE_BYTES - at % PIPE_BYTES));
    memcpy(pipe->bytes + at % PIPE_BYTES, from, n);
    pipe->n_in = at + n;
    return n;
}

static size_t take(Pipe *pipe, char *to, size_t n) {
    const size_t at = pipe->n_out, there = pipe->n_in - at;
    n = smaller(n, smaller(there, PIPE_BYTES - at % PIPE_BYTES));
    memcpy(to, pipe->bytes + at % PIPE_BYTES, n);
    pipe->n_out = at + n;
    return n;
}

static int is_done(const Op *op) { return op->done == op->bytes + sizeof op->length; }

static void go_on(ncclComm_t comm, Op *op) {
    const size_t head = sizeof op->length;
    if (op->kind == SEND) {
        Pipe *pipe = &comm->shared->pipes[comm->rank][op->rank];
        if (op->done < head) op->done += put(pipe, (const char *)&op->bytes + op->done, head - op->done);
        if (op->done >= head) op->done += put(pipe, op->data + op->done - head, op->bytes + head - op->done);
        return;
    }
    Pipe *pipe = &comm->shared->pipes[op->rank][comm->rank];
    if (op->done < head) {
        op->done += take(pipe, (char *)&op->length + op->done, head - op->done);
        if (op->done < head) return;
        if (op->length != op->bytes)
            fail("rank %d receives %zu bytes from rank %d, which sends %zu", comm->rank, op->bytes, op->rank,
                 op->length);
    }
    op->done += take(pipe, op->data + op->done - head, op->bytes + head - op->done);
}

/* Messages between two ranks take their turn. */
static int is_first(const Group *group, int k) {
    const Op *op = &group->ops[k];
    for (int before = 0; before < k; before++) {
        const Op *other = &group->ops[before];
        if (other->kind == op->kind && other->rank == op->rank && !is_done(other)) return 0;
    }
    return 1;
}

static int largest_is_there(ncclComm_t comm, Op *op) {
    const long turn = comm->n_sums;
    unsigned *own = (unsigned *)op->data;
    const size_t n = op->bytes / sizeof *own;
    if (op->done == 0) {
        memcpy(comm->shared->sums[comm->rank].values[turn % 2], own, op->bytes);
        comm->shared->sums[comm->rank].turn = turn;
        op->done = 1;
    }
    for (int rank = 0; rank < comm->n_ranks; rank++)
        if (comm->shared->sums[rank].turn < turn) return 0;
    for (int rank = 0; rank < comm->n_ranks; rank++)
        for (size_t k = 0; k < n; k++) {
            const unsigned value = comm->shared->sums[rank].values[turn % 2][k];
            if (value > own[k]) own[k] = value;
        }
    op->done = op->bytes + sizeof op->length;
    return 1;
}

static void run_group(void *data) {
    Group *group = data;
    ncclComm_t comm = group->comm;
    comm->n_groups++;
    if (is_told("async") && comm->rank == 1 && comm->n_groups == FAILING_GROUP) comm->error = REMOTE_ERROR;
    for (int k = 0; k < group->n; k++) {
        group->ops[k].done = 0;
        if (group->ops[k].kind == LARGEST) comm->n_sums++;
    }
    for (int left = 1; (left || comm->error) && !comm->is_aborted; sched_yield()) {
        left = 0;
        for (int k = 0; k < group->n && !comm->error; k++) {
            Op *op = &group->ops[k];
            if (is_done(op)) continue;
            if (op->kind == LARGEST) largest_is_there(comm, op);
            else if (is_first(group, k)) go_on(comm, op);
            left |= !is_done(op);
        }
    }
    if (!group->is_kept) free(group);
}

/* --- the calls -------------------------------------------------------------------------------------------------------- */

EXPORT int ncclGetVersion(int *version) {
    *version = is_told("old") ? 2708 : 22803;
    return SUCCESS;
}

EXPORT const char *ncclGetErrorString(int error) {
    return error == REMOTE_ERROR    ? "remote process exited or there was a network error"
           : error == INVALID_USAGE ? "invalid usage (run with NCCL_DEBUG=WARN for details)"
                                    : "unhandled system error (run with NCCL_DEBUG=INFO for details)";
}

EXPORT int ncclGetUniqueId(ncclUniqueId *id) {
    static int n;
    memset(id, 0, sizeof *id);
    snprintf(id->name, sizeof id->name, "/nccl-stand-in-%d-%d", (int)getpid(), n++);
    const int file = shm_open(id->name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return SYSTEM_ERROR;
    close(file);
    return SUCCESS;
}

static int has_gpu_of_another(const Shared *shared, int n_ranks, int rank) {
    for (int other = 0; other < n_ranks; other++)
        if (other != rank && strcmp(shared->gpus[other], shared->gpus[rank]) == 0) return 1;
    return 0;
}

EXPORT int ncclCommInitRank(ncclComm_t *comm, int n_ranks, ncclUniqueId id, int rank) {
    int device = 0;
    const int file = shm_open(id.name, O_RDWR, 0600);
    Shared *shared = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED || n_ranks > MAX_RANKS) fail("%s: no shared memory for %d ranks", id.name, n_ranks);
    close(file);
    emulator_run_early();
    cudaGetDevice(&device);
    cudaDeviceGetPCIBusId(shared->gpus[rank], sizeof shared->gpus[rank], device);
    shared->n_joined++;
    while (shared->n_joined < n_ranks) sched_yield();
    if (rank == 0) shm_unlink(id.name);
    while (is_told("silent")) sched_yield();
    if (is_told("init")) return SYSTEM_ERROR;
    if (has_gpu_of_another(shared, n_ranks, rank)) return INVALID_USAGE;
    *comm = calloc(1, sizeof **comm);
    **comm = (struct ncclComm){.magic = "nccl-in", .shared = shared, .rank = rank, .n_ranks = n_ranks};
    return SUCCESS;
}

EXPORT int ncclCommAbort(ncclComm_t comm) {
    check_comm(comm)->is_aborted = 1;
    return SUCCESS;
}

EXPORT int ncclCommGetAsyncError(ncclComm_t comm, int *error) {
    *error = check_comm(comm)->error;
    return SUCCESS;
}

EXPORT int ncclCommDestroy(ncclComm_t comm) {
    if (emulator_graphs_that_call(run_group) > 0) fail("ncclCommDestroy waits for ever: graphs hold messages");
    for (Group *group = check_comm(comm)->groups, *next; group; group = next) {
        next = group->next;
        free(group);
    }
    comm->shared->n_joined--;
    while (comm->shared->n_joined > 0) sched_yield(); /* real NCCL may also wait for the others */
    munmap(comm->shared, sizeof *comm->shared);
    memset(comm, 0, sizeof *comm);
    free(comm);
    return SUCCESS;
}

EXPORT int ncclGroupStart(void) {
    if (depth++ == 0) open_group = calloc(1, sizeof *open_group);
    return SUCCESS;
}

EXPORT int ncclGroupEnd(void) {
    Group *group = open_group;
    enum cudaStreamCaptureStatus status;
    if (depth == 0) fail("ncclGroupEnd without ncclGroupStart");
    if (--depth > 0) return SUCCESS;
    open_group = NULL;
    if (group->n == 0) return free(group), SUCCESS;
    cudaStreamIsCapturing(group->stream, &status);
    group->is_kept = status != cudaStreamCaptureStatusNone;
    if (group->is_kept) {
        group->next = group->comm->groups;
        group->comm->groups = group;
    }
    return cudaLaunchHostFunc(group->stream, run_group, group) == cudaSuccess ? SUCCESS : 1;
}

static void check_memory(const char *call, const char *data, size_t bytes) {
    struct cudaPointerAttributes first, last;
    if (bytes == 0) return;
    if (cudaPointerGetAttributes(&first, data) != cudaSuccess || first.type != cudaMemoryTypeDevice ||
        cudaPointerGetAttributes(&last, data + bytes - 1) != cudaSuccess || last.type != cudaMemoryTypeDevice)
        fail("%s: %zu bytes at %p are not in the memory of a GPU", call, bytes, (const void *)data);
}

static int add(ncclComm_t comm, const char *call, Op op, cudaStream_t stream) {
    if (!open_group) fail("%s outside of a group: two ranks that send to each other so wait for ever", call);
    if (check_comm(comm)->is_aborted) return INVALID_USAGE;
    if (op.rank < 0 || op.rank >= comm->n_ranks) fail("%s: there is no rank %d of %d", call, op.rank, comm->n_ranks);
    if (open_group->n == MAX_OPS) fail("a group has at most %d messages here", MAX_OPS);
    if (open_group->n > 0 && (open_group->comm != comm || open_group->stream != stream))
        fail("%s: another communicator or stream within a group", call);
    check_memory(call, op.data, op.bytes);
    open_group->comm = comm;
    open_group->stream = stream;
    open_group->ops[open_group->n++] = op;
    return SUCCESS;
}

EXPORT int ncclSend(const void *data, size_t n, int type, int rank, ncclComm_t comm, cudaStream_t stream) {
    if (type != 0) fail("ncclSend: type %d", type);
    return add(comm, "ncclSend", (Op){.kind = SEND, .data = (char *)(uintptr_t)data, .bytes = n, .rank = rank}, stream);
}

EXPORT int ncclRecv(void *data, size_t n, int type, int rank, ncclComm_t comm, cudaStream_t stream) {
    if (type != 0) fail("ncclRecv: type %d", type);
    return add(comm, "ncclRecv", (Op){.kind = RECEIVE, .data = data, .bytes = n, .rank = rank}, stream);
}

EXPORT int ncclAllReduce(const void *in, void *out, size_t n, int type, int operation, ncclComm_t comm,
                         cudaStream_t stream) {
    if (in != out || n > MAX_WORDS || type != 3 || operation != 2)
        fail("ncclAllReduce: the largest of some unsigned, in place");
    return add(comm, "ncclAllReduce", (Op){.kind = LARGEST, .data = out, .bytes = n * sizeof(unsigned)}, stream);
}
