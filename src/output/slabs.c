#define _XOPEN_SOURCE 700
#include "output/slabs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

struct MdSlabs {
    MdComm *comm;
    char path[PATH_MAX];
    int descriptor;
    int64_t begin, n; /* ids of this process */
    const MdFrame *frame;
};

/* What rank 0 tells the others. */
enum { OVER = -1 };
typedef struct Order {
    int quantity; /* to be written; OVER: the frame is */
    MdH5mdPlace place;
} Order;

static MdStatus fail(const MdSlabs *slabs, MdErrors *errors) {
    return md_fail(errors, MD_ERROR_OUTPUT, "%s: %s", slabs->path, strerror(errno));
}

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

bool md_slabs_write(int descriptor, const MdH5mdPlace *place, int64_t begin, int64_t n, const void *rows) {
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

static MdStatus obey(const MdSlabs *slabs, const Order *order, MdErrors *errors) {
    const MdFrame *frame = slabs->frame;
    const void *arrays[MD_H5MD_N_QUANTITIES] = {frame->position, frame->velocity, frame->force, frame->image};
    MdStatus status = MD_OK;
    if (!md_slabs_write(slabs->descriptor, &order->place, slabs->begin, slabs->n, arrays[order->quantity]))
        status = fail(slabs, errors);
    return md_comm_agree(slabs->comm, status, errors);
}

/* Rank 0 tells the others. */
static Order tell(const MdSlabs *slabs, int quantity, const MdH5mdPlace *place) {
    Order order;
    memset(&order, 0, sizeof order);
    order.quantity = quantity;
    if (place) order.place = *place;
    md_comm_broadcast(slabs->comm, &order, sizeof order);
    return order;
}

static bool put(void *opaque, int quantity, const MdH5mdPlace *place, MdErrors *errors) {
    const MdSlabs *slabs = opaque;
    const Order order = tell(slabs, quantity, place);
    return obey(slabs, &order, errors) == MD_OK;
}

/* Who names a file that another system has does not write to that of rank 0. */
typedef struct Identity {
    char path[PATH_MAX];
    ino_t number;
    off_t bytes;
} Identity;

static Identity identify(MdComm *comm, const char *path) {
    Identity told;
    struct stat own;
    memset(&told, 0, sizeof told);
    if (path && stat(path, &own) == 0) {
        snprintf(told.path, sizeof told.path, "%s", path);
        told.number = own.st_ino;
        told.bytes = own.st_size;
    }
    md_comm_broadcast(comm, &told, sizeof told);
    return told;
}

/* Whether it is the file of rank 0. */
static MdStatus open_file(MdSlabs *slabs, const Identity *told, MdErrors *errors) {
    struct stat own;
    slabs->descriptor = open(told->path, O_WRONLY | O_CLOEXEC);
    const char *problem = slabs->descriptor < 0 || fstat(slabs->descriptor, &own) != 0 ? strerror(errno)
                          : own.st_ino != told->number || own.st_size != told->bytes   ? "it is another file here"
                                                                                       : NULL;
    if (!problem) return MD_OK;
    return md_fail(
        errors, MD_ERROR_OUTPUT,
        "%s, which rank 0 has made: %s; parallel.frames = slabs needs a folder that all processes see: take root",
        told->path, problem);
}

MdSlabs *md_slabs_open(MdComm *comm, MdTrajectory *files, MdStatus status, int64_t n_atoms, MdErrors *errors) {
    if (md_comm_agree(comm, status, errors) != MD_OK) return NULL;
    const Identity told = identify(comm, files ? md_trajectory_h5_path(files) : NULL);
    MdSlabs *slabs = md_alloc(1, sizeof *slabs, "trajectory");
    *slabs =
        (MdSlabs){.comm = comm, .begin = md_comm_block_begin(comm, n_atoms), .n = md_comm_block_size(comm, n_atoms)};
    memcpy(slabs->path, told.path, sizeof slabs->path);
    if (md_comm_agree(comm, open_file(slabs, &told, errors), errors) == MD_OK) {
        if (files) md_trajectory_leave_particles(files, put, slabs);
        return slabs;
    }
    md_slabs_close(slabs, errors);
    return NULL;
}

MdStatus md_slabs_sync(const MdSlabs *slabs, MdErrors *errors) {
    return fdatasync(slabs->descriptor) == 0 ? MD_OK : fail(slabs, errors);
}

MdStatus md_slabs_close(MdSlabs *slabs, MdErrors *errors) {
    MdStatus status = MD_OK;
    if (!slabs) return status;
    if (slabs->descriptor >= 0) {
        status = md_slabs_sync(slabs, errors);
        if (close(slabs->descriptor) != 0 && status == MD_OK) status = fail(slabs, errors);
    }
    md_free(slabs);
    return status;
}

MdStatus md_slabs_append(MdSlabs *slabs, MdTrajectory *files, const MdFrame *frame, unsigned due,
                         const MdThermo *thermo, MdErrors *errors) {
    slabs->frame = frame;
    const MdStatus status = md_trajectory_append(files, frame, due, thermo, errors);
    tell(slabs, OVER, NULL);
    return status;
}

MdStatus md_slabs_follow(MdSlabs *slabs, const MdFrame *frame, MdErrors *errors) {
    MdStatus status = MD_OK;
    slabs->frame = frame;
    for (Order order;;) {
        md_comm_broadcast(slabs->comm, &order, sizeof order);
        if (order.quantity == OVER) return status;
        const MdStatus written = obey(slabs, &order, errors);
        if (status == MD_OK) status = written;
    }
}
