#define _XOPEN_SOURCE 700
#include "output/collective.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/memory.h"

struct MdCollective {
    MdComm *comm;
    char path[PATH_MAX];
    int descriptor;
    int64_t begin, n; /* ids of this process */
    const MdFrame *frame;
};

/* Commands of rank 0 to the other ranks. */
enum { OVER = -1 };
typedef struct Command {
    int quantity; /* that all write; OVER: the frame is whole */
    MdH5mdPlace place;
} Command;

/* Of a file, by which a rank knows that it sees that of rank 0. */
typedef struct Identity {
    ino_t number;
    off_t bytes;
    uint64_t head; /* checksum of its first bytes, which hold the id of the run */
} Identity;

static MdStatus fail(const MdCollective *c, MdErrors *errors) {
    return md_fail(errors, MD_ERROR_OUTPUT, "%s: %s", c->path, strerror(errno));
}

/* --- a frame -------------------------------------------------------------------------------------------------------- */

static bool write_bytes(int descriptor, const char *bytes, int64_t n, int64_t at) {
    while (n > 0) {
        const ssize_t written = pwrite(descriptor, bytes, (size_t)n, (off_t)at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes += written;
        at += written;
        n -= written;
    }
    return true;
}

bool md_collective_write(int descriptor, const MdH5mdPlace *place, int64_t begin, int64_t n, const void *rows) {
    const char *next = rows;
    for (int64_t i = begin, n_here; i < begin + n; i += n_here) {
        const int64_t piece = i / place->piece_atoms, end = (piece + 1) * place->piece_atoms;
        n_here = (end < begin + n ? end : begin + n) - i;
        const int64_t at =
            place->first + piece * place->piece_bytes + (i - piece * place->piece_atoms) * place->row_bytes;
        if (!write_bytes(descriptor, next, n_here * place->row_bytes, at)) return false;
        next += n_here * place->row_bytes;
    }
    return true;
}

static MdStatus write_rows(const MdCollective *c, const Command *command, MdErrors *errors) {
    const void *arrays[MD_H5MD_N_QUANTITIES] = {c->frame->position, c->frame->velocity, c->frame->force,
                                                c->frame->image};
    MdStatus status = MD_OK;
    if (!md_collective_write(c->descriptor, &command->place, c->begin, c->n, arrays[command->quantity]))
        status = fail(c, errors);
    return md_comm_worst_status(c->comm, status, errors);
}

static Command send_command(const MdCollective *c, int quantity, const MdH5mdPlace *place) {
    Command command;
    memset(&command, 0, sizeof command);
    command.quantity = quantity;
    if (place) command.place = *place;
    md_comm_broadcast(c->comm, &command, sizeof command);
    return command;
}

static bool put(void *opaque, int quantity, const MdH5mdPlace *place, MdErrors *errors) {
    const MdCollective *c = opaque;
    const Command command = send_command(c, quantity, place);
    return write_rows(c, &command, errors) == MD_OK;
}

MdStatus md_collective_append(MdCollective *c, MdTrajectory *files, const MdFrame *frame, unsigned due,
                              const MdThermo *thermo, MdErrors *errors) {
    c->frame = frame;
    const MdStatus status = md_trajectory_append(files, frame, due, thermo, errors);
    send_command(c, OVER, NULL);
    return status;
}

MdStatus md_collective_follow(MdCollective *c, const MdFrame *frame, MdErrors *errors) {
    MdStatus status = MD_OK;
    c->frame = frame;
    for (Command command;;) {
        md_comm_broadcast(c->comm, &command, sizeof command);
        if (command.quantity == OVER) return status;
        const MdStatus written = write_rows(c, &command, errors);
        if (status == MD_OK) status = written;
    }
}

/* --- the file ------------------------------------------------------------------------------------------------------- */

/* False, with errno. */
static bool identify(int descriptor, Identity *identity) {
    enum { HEAD_BYTES = 65536 };
    struct stat found;
    char *head = md_alloc(HEAD_BYTES, 1, "head of the trajectory");
    const ssize_t n = pread(descriptor, head, HEAD_BYTES, 0);
    const bool is_there = n >= 0 && fstat(descriptor, &found) == 0;
    if (is_there) {
        MdChecksum sum = md_checksum_begin();
        md_checksum_add(&sum, head, (size_t)n);
        identity->head = md_checksum_value(&sum);
        identity->number = found.st_ino;
        identity->bytes = found.st_size;
    }
    md_free(head);
    return is_there;
}

static MdStatus open_file(MdCollective *c, MdErrors *errors) {
    c->descriptor = open(c->path, O_RDWR | O_CLOEXEC);
    Identity own, told;
    memset(&told, 0, sizeof told);
    const bool is_open = c->descriptor >= 0 && identify(c->descriptor, &own);
    const int error = errno;
    if (is_open) told = own;
    md_comm_broadcast(c->comm, &told, sizeof told);
    if (is_open && own.number == told.number && own.bytes == told.bytes && own.head == told.head) return MD_OK;
    return md_fail(
        errors, MD_ERROR_OUTPUT,
        "%s, which rank 0 has made: %s; parallel.frames = all needs a folder that all processes see: take root",
        c->path, is_open ? "another file is here" : strerror(error));
}

MdCollective *md_collective_open(MdComm *comm, MdTrajectory *files, const char *path, MdStatus status, int64_t n_atoms,
                                 MdErrors *errors) {
    MdCollective *c = md_alloc(1, sizeof *c, "trajectory");
    *c = (MdCollective){.comm = comm,
                        .descriptor = -1,
                        .begin = md_comm_block_begin(comm, n_atoms),
                        .n = md_comm_block_size(comm, n_atoms)};
    if (status == MD_OK && files) status = md_trajectory_leave_particles(files, put, c, errors);
    status = md_comm_worst_status(comm, status, errors);
    if (path) snprintf(c->path, sizeof c->path, "%s", path);
    md_comm_broadcast(comm, c->path, sizeof c->path);
    if (status == MD_OK) status = md_comm_worst_status(comm, open_file(c, errors), errors);
    if (status == MD_OK) return c;
    md_collective_close(c);
    return NULL;
}

void md_collective_close(MdCollective *c) {
    if (!c) return;
    if (c->descriptor >= 0) close(c->descriptor);
    md_free(c);
}

MdStatus md_collective_sync(const MdCollective *c, MdStatus status, MdErrors *errors) {
    if (status == MD_OK && fdatasync(c->descriptor) != 0) status = fail(c, errors);
    return md_comm_worst_status(c->comm, status, errors);
}
