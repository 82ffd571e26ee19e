/* NCCL is loaded when a run asks for it, and declared here as far as it is used: neither the program nor its build
 * needs it. Its functions return before the device is done, so that their results say little; separate threads (ask, watch) find later failures,
 * and a rank that is gone or silent. NCCL itself waits for ever. */
#define _POSIX_C_SOURCE 200809L
#include "cuda/device/nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cuda/device/check.h"

/* As nccl.h has them, the same in all versions. */
typedef struct ncclComm *Handle;
typedef struct UniqueId {
    char bytes[128];
} UniqueId;
enum { SUCCESS = 0, IN_PROGRESS = 7 };
enum { TYPE_BYTE = 0, TYPE_UNSIGNED = 3 };
enum { OPERATION_MAX = 2 };
enum { OLDEST = 21100 }; /* 2.11: messages between two ranks may be captured */

typedef struct Functions {
    int (*GetVersion)(int *);
    int (*GetUniqueId)(UniqueId *);
    int (*CommInitRank)(Handle *, int, UniqueId, int);
    int (*CommDestroy)(Handle);
    int (*CommAbort)(Handle);
    int (*CommGetAsyncError)(Handle, int *);
    const char *(*GetErrorString)(int);
    int (*GroupStart)(void);
    int (*GroupEnd)(void);
    int (*Send)(const void *, size_t, int, int, Handle, cudaStream_t);
    int (*Recv)(void *, size_t, int, int, Handle, cudaStream_t);
    int (*AllReduce)(const void *, void *, size_t, int, int, Handle, cudaStream_t);
} Functions;

struct CudaNccl {
    Functions call;
    Handle handle;
    const MdComm *comm;
    int device;
    double patience_s;
    const volatile unsigned long long *progress;
    pthread_t watcher, asker;
    pthread_mutex_t lock;                                /* of the handle, which NCCL frees when ranks part */
    cudaEvent_t issued;                                  /* after the last messages */
    atomic_llong n_issued, n_done;                       /* groups of messages; of those, known to be done */
    atomic_bool is_joined, is_calling, is_aborted, ends; /* is_calling: the host is in NCCL, or launches a graph */
};

/* --- loading ------------------------------------------------------------------------------------------------------ */

static bool find_functions(void *library, Functions *functions, char *reason, size_t size) {
    static const char *const names[] = {
        "GetVersion",     "GetUniqueId", "CommInitRank", "CommDestroy", "CommAbort", "CommGetAsyncError",
        "GetErrorString", "GroupStart",  "GroupEnd",     "Send",        "Recv",      "AllReduce"};
    _Static_assert(sizeof *functions == sizeof names, "a name each, in their order");
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char name[64];
        snprintf(name, sizeof name, "nccl%s", names[k]);
        void *function = dlsym(library, name);
        if (!function) snprintf(reason, size, "the NCCL here lacks %s: it needs 2.11 or newer", name);
        if (!function) return false;
        memcpy((char *)functions + k * sizeof function, &function, sizeof function);
    }
    return true;
}

/* The library stays loaded until the program ends. Multicast (NVLS) gains nothing for one word, and takes memory. User
 * buffers are not registered: ranks may have to agree on that at each capture, and they capture graphs at different
 * times. */
static bool load(Functions *functions, char *reason, size_t size) {
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    setenv("NCCL_GRAPH_REGISTER", "0", 0);
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    int version = 0;
    if (!library) {
        snprintf(reason, size, "NCCL cannot be loaded: %s", dlerror());
        return false;
    }
    if (!find_functions(library, functions, reason, size)) return false;
    if (functions->GetVersion(&version) == SUCCESS && version >= OLDEST) return true;
    snprintf(reason, size, "the NCCL here is too old: it needs 2.11 or newer");
    return false;
}

void cuda_nccl_judge(char *reason, size_t size) {
    Functions unused;
    *reason = '\0';
    load(&unused, reason, size);
}

static void check(const CudaNccl *nccl, int result, const char *what) {
    if (result != SUCCESS) md_panic("%s failed: %s", what, nccl->call.GetErrorString(result));
}

/* --- the threads that look ---------------------------------------------------------------------------------------- */

static void pause_shortly(void) { nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); }

/* Notes which messages are done. The query may block: a launch waits while the queue of the device is full, here for other ranks, and
 * other calls may wait for it. So it has a separate thread. */
static void *ask(void *opaque) {
    CudaNccl *nccl = opaque;
    cudaSetDevice(nccl->device); /* of this thread */
    while (!atomic_load(&nccl->ends)) {
        const long long n_issued = atomic_load(&nccl->n_issued);
        if (cudaEventQuery(nccl->issued) == cudaSuccess) atomic_store(&nccl->n_done, n_issued);
        pause_shortly();
    }
    return NULL;
}

static void check_in_passing(CudaNccl *nccl) {
    int error = SUCCESS;
    pthread_mutex_lock(&nccl->lock);
    const bool is_known = atomic_load(&nccl->is_joined) && !atomic_load(&nccl->ends) &&
                          nccl->call.CommGetAsyncError(nccl->handle, &error) == SUCCESS;
    pthread_mutex_unlock(&nccl->lock);
    if (is_known && error != SUCCESS && error != IN_PROGRESS)
        md_panic("parallel.transport=nccl: a message of NCCL failed: %s", nccl->call.GetErrorString(error));
}

/* The kernels of NCCL end, and with them all waits for the device: see cuda_nccl_check. */
static void let_go(CudaNccl *nccl) {
    if (!atomic_load(&nccl->is_joined) || atomic_load(&nccl->ends))
        md_panic("parallel.transport=nccl: NCCL has waited for other ranks for %g s (parallel.timeout) to %s them",
                 nccl->patience_s, atomic_load(&nccl->ends) ? "part from" : "join");
    atomic_store(&nccl->is_aborted, true);
    nccl->call.CommAbort(nccl->handle);
}

static void *watch(void *opaque) {
    CudaNccl *nccl = opaque;
    double since_s = md_clock_s();
    long long n_issued = 0;
    unsigned long long progress = 0;
    cudaSetDevice(nccl->device); /* of this thread */
    while (!atomic_load(&nccl->is_aborted)) {
        pause_shortly();
        if (atomic_load(&nccl->ends) && !atomic_load(&nccl->is_calling)) break;
        check_in_passing(nccl);
        const bool goes_on = n_issued != atomic_load(&nccl->n_issued) || progress != *nccl->progress;
        n_issued = atomic_load(&nccl->n_issued);
        progress = *nccl->progress;
        const bool waits = atomic_load(&nccl->is_calling) || n_issued != atomic_load(&nccl->n_done);
        if (goes_on || !waits) since_s = md_clock_s();
        else if (md_clock_s() - since_s > nccl->patience_s) let_go(nccl);
    }
    return NULL;
}

void cuda_nccl_check(const CudaNccl *nccl) {
    if (nccl && atomic_load(&nccl->is_aborted)) md_comm_give_up(nccl->comm, -1, nccl->patience_s);
}

/* --- ranks -------------------------------------------------------------------------------------------------------- */

static void stop_watching(CudaNccl *nccl) {
    atomic_store(&nccl->is_calling, false);
    atomic_store(&nccl->ends, true);
    pthread_join(nccl->watcher, NULL);
    pthread_join(nccl->asker, NULL);
    pthread_mutex_destroy(&nccl->lock);
    CUDA_CHECK(cudaEventDestroy(nccl->issued));
    md_free(nccl);
}

CudaNccl *cuda_nccl_create(const MdComm *comm, double patience_s, const volatile unsigned long long *progress,
                           MdErrors *errors) {
    CudaNccl *nccl = md_alloc(1, sizeof *nccl, "NCCL");
    char reason[128] = "";
    UniqueId id = {""}, *ids = md_alloc((size_t)md_comm_size(comm), sizeof *ids, "NCCL");
    nccl->comm = comm;
    nccl->patience_s = patience_s;
    nccl->progress = progress;
    if (!load(&nccl->call, reason, sizeof reason)) md_panic("%s", reason); /* it was there when the run was planned */
    CUDA_CHECK(cudaGetDevice(&nccl->device));
    CUDA_CHECK(cudaEventCreateWithFlags(&nccl->issued, cudaEventDisableTiming));
    pthread_mutex_init(&nccl->lock, NULL);
    if (md_comm_is_root(comm)) check(nccl, nccl->call.GetUniqueId(&id), "ncclGetUniqueId");
    md_comm_allgather(comm, &id, sizeof id, ids); /* by all: no rank waits in NCCL for one that still compiles */
    atomic_store(&nccl->is_calling, true);
    if (pthread_create(&nccl->watcher, NULL, watch, nccl) != 0 || pthread_create(&nccl->asker, NULL, ask, nccl) != 0)
        md_panic("no threads that watch NCCL");
    const int result = nccl->call.CommInitRank(&nccl->handle, md_comm_size(comm), ids[0], md_comm_rank(comm));
    md_free(ids);
    if (result != SUCCESS) {
        md_fail(
            errors, MD_ERROR_INPUT,
            "parallel.transport=nccl: NCCL cannot join the ranks: %s; NCCL_DEBUG=WARN tells more, staged does without",
            nccl->call.GetErrorString(result));
        stop_watching(nccl);
        return NULL;
    }
    atomic_store(&nccl->is_joined, true);
    atomic_store(&nccl->is_calling, false);
    return nccl;
}

void cuda_nccl_destroy(CudaNccl *nccl) {
    if (!nccl) return;
    atomic_store(&nccl->is_calling, true);
    pthread_mutex_lock(&nccl->lock);
    atomic_store(&nccl->ends, true);
    pthread_mutex_unlock(&nccl->lock);
    check(nccl, nccl->call.CommDestroy(nccl->handle), "ncclCommDestroy");
    stop_watching(nccl);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

void cuda_nccl_begin_launch(CudaNccl *nccl) {
    if (!nccl) return;
    cuda_nccl_check(nccl);
    atomic_store(&nccl->is_calling, true);
}

void cuda_nccl_end_launch(CudaNccl *nccl, cudaStream_t stream) {
    if (!nccl) return;
    CUDA_CHECK(cudaEventRecord(nccl->issued, stream));
    atomic_fetch_add(&nccl->n_issued, 1);
    atomic_store(&nccl->is_calling, false);
}

void cuda_nccl_begin(CudaNccl *nccl) {
    cuda_nccl_begin_launch(nccl);
    check(nccl, nccl->call.GroupStart(), "ncclGroupStart");
}

void cuda_nccl_send(CudaNccl *nccl, const void *data, size_t bytes, int rank, cudaStream_t stream) {
    check(nccl, nccl->call.Send(data, bytes, TYPE_BYTE, rank, nccl->handle, stream), "ncclSend");
}

void cuda_nccl_receive(CudaNccl *nccl, void *data, size_t bytes, int rank, cudaStream_t stream) {
    check(nccl, nccl->call.Recv(data, bytes, TYPE_BYTE, rank, nccl->handle, stream), "ncclRecv");
}

void cuda_nccl_largest(CudaNccl *nccl, unsigned *values, size_t n, cudaStream_t stream) {
    check(nccl, nccl->call.AllReduce(values, values, n, TYPE_UNSIGNED, OPERATION_MAX, nccl->handle, stream),
          "ncclAllReduce");
}

void cuda_nccl_end(CudaNccl *nccl, cudaStream_t stream, bool is_captured) {
    check(nccl, nccl->call.GroupEnd(), "ncclGroupEnd");
    if (is_captured) atomic_store(&nccl->is_calling, false);
    else cuda_nccl_end_launch(nccl, stream);
}
