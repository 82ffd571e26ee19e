/* The part of comm.h that does not depend on how messages travel. Each rank computes all sums and maxima from the gathered
 * values of all ranks: the values are few, and every rank has the same bits. */
#define _POSIX_C_SOURCE 200809L
#include "parallel/comm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "parallel/engine.h"
#include "parallel/launcher.h"

/* --- ranks ---------------------------------------------------------------------------------------------------------- */

/* Whether this process is one of several that can talk to each other. Where it is not: fails, unless it may be the only one. */
static bool join(MdComm *comm, const MdCommEngine *engine, MdErrors *errors) {
    const int told = md_launcher_processes(), n = told > 0 ? told : md_launcher_rank() + 1;
    const char *or_more = told > 0 ? "" : " or more";
    comm->engine = engine;
    if (engine) {
        if (!engine->start(comm, errors)) return false;
        if (comm->size > 1) return true;
        engine->finish(comm);
    }
    if (n == 1) return false;
    if (!engine)
        md_fail(errors, MD_ERROR_INPUT,
                "%d%s processes were started, but this program was built without MPI, which joins them to one run: "
                "build it with MPI (Debian: libopenmpi-dev), or set MDMINI_ALONE=1 to run each independently",
                n, or_more);
    else
        md_fail(errors, MD_ERROR_INPUT,
                "%d%s processes were started, but MPI (%s) sees only one: use the launcher of the MPI that this "
                "program was built with (with Slurm: srun --mpi=%s), or set MDMINI_ALONE=1 to run each independently",
                n, or_more, comm->library, strncmp(comm->library, "Open MPI", 8) == 0 ? "pmix" : "pmi2");
    return false;
}

MdComm *md_comm_create(const MdCommEngine *engine, MdErrors *errors) {
    if (md_launcher_processes() == 1) return NULL;
    MdComm *comm = md_alloc(1, sizeof *comm, "communicator");
    comm->patience_s = INFINITY;
    if (!join(comm, engine, errors)) {
        md_free(comm);
        return NULL;
    }
    comm->hosts = md_alloc((size_t)comm->size, sizeof *comm->hosts, "names of hosts");
    char own[MD_HOST_NAME_SIZE] = "";
    if (gethostname(own, sizeof own) != 0) strcpy(own, "?");
    own[sizeof own - 1] = '\0';
    md_comm_allgather(comm, own, sizeof own, comm->hosts);
    md_panic_ends_by(engine->abort);
    return comm;
}

void md_comm_destroy(MdComm *comm) {
    if (!comm) return;
    if (!comm->is_duplicate) md_panic_ends_by(NULL);
    comm->engine->finish(comm);
    if (!comm->is_duplicate) md_free(comm->hosts);
    md_free(comm);
}

MdComm *md_comm_duplicate(const MdComm *comm) {
    if (!comm) return NULL;
    MdComm *other = md_alloc(1, sizeof *other, "communicator");
    *other = *comm;
    other->is_duplicate = true;
    other->patience_s = INFINITY; /* of writers: output/pipeline.c */
    other->waited_s = 0;
    other->state = comm->engine->duplicate(comm);
    return other;
}

bool md_comm_serves_threads(const MdComm *comm) { return !comm || comm->serves_threads; }
bool md_comm_takes_device_memory(const MdComm *comm) { return comm && comm->takes_device_memory; }
int md_comm_rank(const MdComm *comm) { return comm ? comm->rank : 0; }
int md_comm_size(const MdComm *comm) { return comm ? comm->size : 1; }
bool md_comm_is_root(const MdComm *comm) { return md_comm_rank(comm) == 0; }
int md_comm_node_size(const MdComm *comm) { return comm ? comm->node_size : 1; }
int md_comm_node_rank(const MdComm *comm) { return comm ? comm->node_rank : md_launcher_local_rank(); }
const char *md_comm_host(const MdComm *comm, int rank) { return comm->hosts[rank]; }
const char *md_comm_library(const MdComm *comm) { return comm ? comm->library : ""; }

double md_comm_waited(const MdComm *comm) { return comm ? comm->waited_s : 0; }

void md_comm_give_up(const MdComm *comm, int silent, double seconds) {
    comm->engine->give_up(comm, silent, seconds);
    abort();
}

void md_comm_set_patience(MdComm *comm, double seconds) {
    if (comm) comm->patience_s = seconds;
}

/* --- values --------------------------------------------------------------------------------------------------------- */

/* Of the communicator's thread; the ranks stay the same. */
static void add_wait(const MdComm *comm, double start_s) { ((MdComm *)comm)->waited_s += md_clock_s() - start_s; }

void md_comm_allgather(const MdComm *comm, const void *own, size_t bytes, void *all) {
    if (!comm) {
        memcpy(all, own, bytes);
        return;
    }
    const double start_s = md_clock_s();
    comm->engine->gather(comm, own, bytes, all);
    add_wait(comm, start_s);
}

void md_comm_broadcast(const MdComm *comm, void *data, size_t bytes) {
    if (!comm || bytes == 0) return;
    MdMessage *messages = md_alloc((size_t)comm->size, sizeof *messages, "messages");
    int n = 0;
    if (comm->rank > 0) messages[n++] = (MdMessage){.rank = 0, .data = data, .bytes = (int64_t)bytes};
    for (int rank = 1; comm->rank == 0 && rank < comm->size; rank++)
        messages[n++] = (MdMessage){.rank = rank, .is_sent = true, .data = data, .bytes = (int64_t)bytes};
    MdComm *mine = (MdComm *)comm;
    md_comm_begin(mine, messages, n);
    md_comm_end(mine);
    md_free(messages);
}

static void *gather_values(const MdComm *comm, const void *values, int n, size_t size) {
    void *all = md_alloc((size_t)comm->size * (size_t)n, size, "values of all ranks");
    md_comm_allgather(comm, values, (size_t)n * size, all);
    return all;
}

void md_comm_max(const MdComm *comm, double *values, int n) {
    if (!comm) return;
    double *all = gather_values(comm, values, n, sizeof *values);
    for (int k = 0; k < n; k++)
        for (int rank = 0; rank < comm->size; rank++) values[k] = fmax(values[k], all[rank * n + k]);
    md_free(all);
}

void md_comm_add_doubles(const MdComm *comm, double *values, int n) {
    if (!comm) return;
    double *all = gather_values(comm, values, n, sizeof *values);
    for (int k = 0; k < n; k++) {
        values[k] = all[k];
        for (int rank = 1; rank < comm->size; rank++) values[k] += all[rank * n + k];
    }
    md_free(all);
}

void md_comm_add_integers(const MdComm *comm, int64_t *values, int n) {
    if (!comm) return;
    int64_t *all = gather_values(comm, values, n, sizeof *values);
    for (int k = 0; k < n; k++) {
        values[k] = all[k];
        for (int rank = 1; rank < comm->size; rank++) values[k] += all[rank * n + k];
    }
    md_free(all);
}

/* --- messages ------------------------------------------------------------------------------------------------------- */

void md_comm_begin(MdComm *comm, const MdMessage *messages, int n) {
    if (comm) comm->engine->begin(comm, messages, n);
    else md_require(n == 0);
}

void md_comm_end(MdComm *comm) {
    if (!comm) return;
    const double start_s = md_clock_s();
    comm->engine->end(comm);
    add_wait(comm, start_s);
}

void md_comm_alltoall(const MdComm *comm, const int64_t *out, int64_t *in) {
    const double start_s = md_clock_s();
    if (comm) comm->engine->trade(comm, out, sizeof *out, in);
    else in[0] = out[0];
    if (comm) add_wait(comm, start_s);
}

void md_comm_alltoallv(MdComm *comm, const void *out, const int64_t *n_out, void *in, const int64_t *n_in,
                       size_t row_bytes) {
    const int size = md_comm_size(comm);
    MdMessage *messages = md_alloc(2 * (size_t)size, sizeof *messages, "messages");
    char *from = (char *)out, *to = in;
    int n = 0;
    for (int rank = 0; rank < size; rank++) {
        const int64_t out_bytes = n_out[rank] * (int64_t)row_bytes, in_bytes = n_in[rank] * (int64_t)row_bytes;
        if (rank == md_comm_rank(comm)) memcpy(to, from, (size_t)out_bytes);
        else {
            messages[n++] = (MdMessage){.rank = rank, .data = to, .bytes = in_bytes};
            messages[n++] = (MdMessage){.rank = rank, .is_sent = true, .data = from, .bytes = out_bytes};
        }
        from += out_bytes;
        to += in_bytes;
    }
    md_comm_begin(comm, messages, n);
    md_comm_end(comm);
    md_free(messages);
}

/* --- agreement ------------------------------------------------------------------------------------------------------ */

typedef struct Report {
    int status;
    int64_t bytes; /* of the messages, each with its end */
} Report;

static char *join_messages(const MdErrors *errors, int64_t *bytes) {
    *bytes = 0;
    for (int k = 0; k < md_errors_count(errors); k++) *bytes += (int64_t)strlen(md_errors_text(errors, k)) + 1;
    char *text = md_alloc((size_t)*bytes, 1, "messages"), *end = text;
    for (int k = 0; k < md_errors_count(errors); k++) end = stpcpy(end, md_errors_text(errors, k)) + 1;
    return text;
}

static bool has_message(const MdErrors *errors, const char *text) {
    for (int k = 0; k < md_errors_count(errors); k++)
        if (strcmp(md_errors_text(errors, k), text) == 0) return true;
    return false;
}

static void take_messages(MdComm *comm, int rank, MdStatus status, const char *text, int64_t bytes, MdErrors *errors) {
    for (const char *end = text + bytes; text < end; text += strlen(text) + 1) {
        char *told = md_format("rank %d (%s): %s", rank, md_comm_host(comm, rank), text);
        if (!has_message(errors, text) && !has_message(errors, told)) md_fail(errors, status, "%s", told);
        free(told);
    }
}

MdStatus md_comm_worst_status(MdComm *comm, MdStatus own, MdErrors *errors) {
    if (!comm) return own;
    Report report = {.status = own};
    char *text = join_messages(errors, &report.bytes);
    Report *all = gather_values(comm, &report, 1, sizeof report);
    MdStatus gravest = MD_OK;
    for (int rank = 0; rank < comm->size; rank++) {
        const MdStatus status = (MdStatus)all[rank].status;
        if (status != MD_OK && (gravest == MD_OK || status < gravest)) gravest = status;
    }
    for (int rank = 1; rank < comm->size && gravest != MD_OK; rank++) { /* one after the other: rare, and short */
        if (comm->rank != 0 && comm->rank != rank) continue;
        char *other = comm->rank == 0 ? md_alloc((size_t)all[rank].bytes, 1, "messages") : text;
        const MdMessage message = {
            .rank = comm->rank == 0 ? rank : 0, .is_sent = comm->rank != 0, .data = other, .bytes = all[rank].bytes};
        md_comm_begin(comm, &message, 1);
        md_comm_end(comm);
        if (comm->rank != 0) continue;
        take_messages(comm, rank, (MdStatus)all[rank].status, other, all[rank].bytes, errors);
        md_free(other);
    }
    md_free(all);
    md_free(text);
    return gravest;
}
