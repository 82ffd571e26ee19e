#define _POSIX_C_SOURCE 200809L
#include "output/xyz.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "output/path.h"

/* Text on its way into the file; a line never has more than MAX_LINE bytes. */
enum { BUFFER_BYTES = 1 << 16, MAX_LINE = 1024 };

struct MdXyz {
    char *path;
    int descriptor;
    MdH5mdSpec spec;
    bool velocities, broken;
    int64_t n_frames, n_dropped;
    off_t end;  /* of the last whole frame */
    int reason; /* errno of the first write that failed; 0 */
    size_t n_buffer;
    char buffer[BUFFER_BYTES];
};

static MdXyz *open_file(const char *path, int flags, const MdH5mdSpec *spec, bool velocities, MdErrors *errors) {
    int descriptor = open(path, flags | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        md_fail(errors, MD_ERROR_OUTPUT, "%s: %s", path, strerror(errno));
        return NULL;
    }
    MdXyz *xyz = md_alloc(1, sizeof *xyz, "XYZ file");
    xyz->path = md_copy_text(path);
    xyz->descriptor = descriptor;
    xyz->spec = *spec;
    xyz->velocities = velocities;
    return xyz;
}

MdXyz *md_xyz_create(const char *path, const MdH5mdSpec *spec, bool velocities, MdErrors *errors) {
    return open_file(path, O_WRONLY | O_CREAT | O_TRUNC, spec, velocities, errors);
}

static void flush(MdXyz *xyz) {
    for (size_t done = 0; done < xyz->n_buffer && !xyz->reason;) {
        ssize_t n = write(xyz->descriptor, xyz->buffer + done, xyz->n_buffer - done);
        if (n >= 0) done += (size_t)n;
        else if (errno != EINTR) xyz->reason = errno;
    }
    xyz->n_buffer = 0;
}

static void put(MdXyz *xyz, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(MdXyz *xyz, const char *format, ...) {
    if (xyz->n_buffer > BUFFER_BYTES - MAX_LINE) flush(xyz);
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(xyz->buffer + xyz->n_buffer, MAX_LINE, format, arguments);
    va_end(arguments);
    md_require(n >= 0 && n < MAX_LINE);
    xyz->n_buffer += (size_t)n;
}

/* An axis that the dimension lacks gets some length above 0, as readers want it. */
static void put_comment(MdXyz *xyz, const MdThermo *thermo) {
    const MdBox *box = &xyz->spec.box;
    double length[3], largest = 0;
    for (int a = 0; a < box->dimension; a++) largest = box->length[a] > largest ? box->length[a] : largest;
    for (int a = 0; a < 3; a++) length[a] = a < box->dimension ? box->length[a] : largest;
    put(xyz, "Lattice=\"%.17g 0 0 0 %.17g 0 0 0 %.17g\" Properties=species:S:1:pos:R:3%s pbc=\"", length[0], length[1],
        length[2], xyz->velocities ? ":velo:R:3" : "");
    for (int a = 0; a < 3; a++) put(xyz, "%s%c", a ? " " : "", a < box->dimension && box->periodic[a] ? 'T' : 'F');
    put(xyz, "\" run_id=\"%s\"", xyz->spec.run_id);
    put(xyz, " step=%" PRId64 " time=%.17g temperature=%.17g potential_energy=%.17g kinetic_energy=%.17g", thermo->step,
        thermo->time, thermo->temperature, thermo->potential, thermo->kinetic);
    if (thermo->pressure == thermo->pressure) put(xyz, " pressure=%.17g", thermo->pressure);
    put(xyz, "\n");
}

static void put_vector(MdXyz *xyz, const void *array, int64_t i) {
    bool twice = xyz->spec.precision == MD_FILE_PRECISION_DOUBLE;
    for (int64_t k = 3 * i; k < 3 * i + 3; k++)
        put(xyz, " %.*g", twice ? 17 : 9, twice ? ((const double *)array)[k] : (double)((const float *)array)[k]);
}

static MdStatus fail(MdXyz *xyz, const char *reason, MdErrors *errors) {
    xyz->broken = true;
    md_fail(errors, MD_ERROR_OUTPUT, "%s: %s", xyz->path, reason);
    /* Where even that fails, a reader meets part of a frame at the end; the first problem has been told. */
    if (ftruncate(xyz->descriptor, xyz->end) != 0) errno = 0;
    return MD_ERROR_OUTPUT;
}

bool md_xyz_is_output(const char *path) {
    char line[MAX_LINE];
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    FILE *file = fopen(path, "r");
    if (!file) return false;
    /* as md_xyz_append puts them */
    const bool is_output = fgets(line, sizeof line, file) && fgets(line, sizeof line, file) &&
                           strncmp(line, "Lattice=\"", strlen("Lattice=\"")) == 0 && strstr(line, "\" run_id=\"") &&
                           strstr(line, "\" step=");
    fclose(file);
    return is_output;
}

MdStatus md_xyz_append(MdXyz *xyz, const MdFrame *frame, const MdThermo *thermo, MdErrors *errors) {
    if (xyz->broken) return MD_ERROR_OUTPUT;
    md_require(frame->precision == xyz->spec.precision && frame->position && (frame->velocity || !xyz->velocities));
    put(xyz, "%" PRId64 "\n", xyz->spec.n_atoms);
    put_comment(xyz, thermo);
    for (int64_t i = 0; i < xyz->spec.n_atoms && !xyz->reason; i++) {
        put(xyz, "%s", xyz->spec.type_name[xyz->spec.type[i]]);
        put_vector(xyz, frame->position, i);
        if (xyz->velocities) put_vector(xyz, frame->velocity, i);
        put(xyz, "\n");
    }
    flush(xyz);
    if (xyz->reason) return fail(xyz, strerror(xyz->reason), errors);
    const char *lost = md_path_lost(xyz->path, xyz->descriptor);
    if (lost) return fail(xyz, lost, errors);
    xyz->end = lseek(xyz->descriptor, 0, SEEK_CUR);
    xyz->n_frames++;
    return MD_OK;
}

/* Reads the frame that begins at the reader's place, for this spec and these columns: its step; -1 where there is no whole
 * one. *foreign: there is something else. */
static int64_t skip_frame(const MdXyz *xyz, FILE *reader, char **line, size_t *size, bool *foreign) {
    char *end, *found;
    if (getline(line, size, reader) < 0) return -1;
    long long n_atoms = strtoll(*line, &end, 10);
    if (end == *line || *end != '\n') return -1;
    char id[64];
    snprintf(id, sizeof id, " run_id=\"%s\" ", xyz->spec.run_id);
    bool complete = getline(line, size, reader) > 0 && strchr(*line, '\n') && (found = strstr(*line, " step="));
    if (!complete) return -1;
    long long step = strtoll(found + strlen(" step="), NULL, 10);
    *foreign =
        !strstr(*line, id) || n_atoms != xyz->spec.n_atoms || (strstr(*line, ":velo:R:3") != NULL) != xyz->velocities;
    for (long long i = 0; i < n_atoms && !*foreign; i++) {
        ssize_t length = getline(line, size, reader);
        if (length <= 0 || (*line)[length - 1] != '\n') return -1;
    }
    return step;
}

/* Why a file cannot be gone on with; NULL: it can. */
static const char *find_problem(const MdXyz *xyz, bool foreign, int64_t n_frames) {
    if (foreign) return "holds frames of another run, or other columns than this one writes";
    if (xyz->n_frames < n_frames)
        return "has fewer frames than when the restart file was written: not the same file, or damaged";
    return NULL;
}

MdXyz *md_xyz_reopen(const char *path, const MdH5mdSpec *spec, bool velocities, int64_t last_step, int64_t n_frames,
                     MdErrors *errors) {
    MdXyz *xyz = open_file(path, O_RDWR, spec, velocities, errors);
    if (!xyz) return NULL;
    FILE *reader = fopen(path, "r");
    bool foreign = reader == NULL;
    char *line = NULL;
    size_t size = 0;
    int64_t step = -1;
    while (!foreign && (step = skip_frame(xyz, reader, &line, &size, &foreign)) >= 0 && !foreign && step <= last_step) {
        xyz->n_frames++;
        xyz->end = ftello(reader);
    }
    bool other = foreign; /* what comes after the frames that stay is no reason to refuse them */
    for (; !other && step >= 0; step = skip_frame(xyz, reader, &line, &size, &other)) xyz->n_dropped++;
    free(line);
    if (reader) fclose(reader);
    const char *problem = find_problem(xyz, foreign, n_frames);
    if (!problem) return xyz;
    md_fail(errors, MD_ERROR_INPUT, "%s: %s", path, problem);
    xyz->broken = true;
    md_xyz_close(xyz, errors);
    return NULL;
}

MdStatus md_xyz_cut(MdXyz *xyz, MdErrors *errors) {
    if (ftruncate(xyz->descriptor, xyz->end) == 0 && lseek(xyz->descriptor, xyz->end, SEEK_SET) >= 0) return MD_OK;
    return fail(xyz, strerror(errno), errors);
}

MdStatus md_xyz_sync(MdXyz *xyz, MdErrors *errors) {
    if (xyz->broken) return MD_ERROR_OUTPUT;
    const char *lost = md_path_lost(xyz->path, xyz->descriptor);
    if (lost) return fail(xyz, lost, errors);
    const bool synced = fdatasync(xyz->descriptor) == 0 && md_path_sync_folder(xyz->path);
    return synced ? MD_OK : fail(xyz, strerror(errno), errors);
}

int64_t md_xyz_dropped(const MdXyz *xyz) { return xyz->n_dropped; }

int64_t md_xyz_frames(const MdXyz *xyz) { return xyz->n_frames; }

uint64_t md_xyz_bytes(const MdXyz *xyz) { return (uint64_t)xyz->end; }

MdStatus md_xyz_close(MdXyz *xyz, MdErrors *errors) {
    if (!xyz) return MD_OK;
    MdStatus status = md_xyz_sync(xyz, errors);
    if (close(xyz->descriptor) != 0 && status == MD_OK)
        status = md_fail(errors, MD_ERROR_OUTPUT, "%s: %s", xyz->path, strerror(errno));
    free(xyz->path);
    md_free(xyz);
    return status;
}
