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
#include "base/number.h"
#include "output/path.h"

/* Text on its way into the file; a line never has more than MAX_LINE bytes. */
enum { BUFFER_BYTES = 1 << 16, MAX_LINE = 1024 };

/* Columns of velocities by output.xyz_velocities. */
static const char *const velocity_columns[] = {[MD_XYZ_VELOCITIES_OFF] = "",
                                               [MD_XYZ_VELOCITIES_VELO] = ":velo:R:3",
                                               [MD_XYZ_VELOCITIES_VEL] = ":vel:R:3",
                                               [MD_XYZ_VELOCITIES_MOMENTA] = ":momenta:R:3"};

struct MdXyz {
    char *path;
    int descriptor;
    MdH5mdSpec spec;
    int velocities;
    bool masses, broken;
    int64_t n_frames, n_dropped;
    off_t end;  /* of the last whole frame */
    int reason; /* errno of the first write that failed; 0 */
    size_t n_buffer;
    char buffer[BUFFER_BYTES];
};

/* Readers take 1 where a file says no masses, ASE those of the elements: with momenta they are always there. */
static bool needs_masses(const MdH5mdSpec *spec, int velocities) {
    bool needed = velocities == MD_XYZ_VELOCITIES_MOMENTA;
    for (int t = 0; spec->mass && t < spec->n_types; t++) needed = needed || spec->mass[t] != 1;
    return needed;
}

static MdXyz *open_file(const char *path, int flags, const MdH5mdSpec *spec, int velocities, MdErrors *errors) {
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
    xyz->masses = needs_masses(spec, velocities);
    return xyz;
}

MdXyz *md_xyz_create(const char *path, const MdH5mdSpec *spec, int velocities, MdErrors *errors) {
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

/* Always with a point or an exponent: readers tell the type of a value from its looks. */
static void put_real(MdXyz *xyz, const char *before, double value) {
    char number[MD_NUMBER_BYTES];
    md_number_write(number, value);
    put(xyz, "%s%s%s", before, number, strpbrk(number, ".en") ? "" : ".0");
}

/* No box where all axes are open: some readers take any box as a periodic one. An axis that the dimension lacks gets some
 * length above 0, as readers want it. */
static void put_lattice(MdXyz *xyz) {
    const MdBox *box = &xyz->spec.box;
    double edges[9];
    if (md_box_is_open(box)) return;
    md_box_fill_edges(box, edges);
    for (int k = 0; k < 9; k++) put_real(xyz, k ? " " : "Lattice=\"", edges[k]);
    put(xyz, "\" ");
}

/* Keys with the unit of each number of the line and of each column, as the format has no place for them. */
static void put_units(MdXyz *xyz) {
    const MdUnits units = xyz->spec.units;
    static const char *const velocities[] = {[MD_XYZ_VELOCITIES_VELO] = "angstrom/ps",
                                             [MD_XYZ_VELOCITIES_VEL] = "angstrom/fs",
                                             [MD_XYZ_VELOCITIES_MOMENTA] = "sqrt(amu*eV)"};
    if (units == MD_STYLE_LJ) return;
    put(xyz, " unit_style=%s length_unit=%s time_unit=%s temperature_unit=%s energy_unit=%s pressure_unit=%s",
        md_unit_style(units), md_unit_name(units, MD_LENGTH), md_unit_name(units, MD_TIME),
        md_unit_name(units, MD_TEMPERATURE), md_unit_name(units, MD_ENERGY),
        md_unit_name(units, md_unit_pressure(xyz->spec.box.dimension)));
    if (xyz->masses) put(xyz, " mass_unit=%s", md_unit_name(units, MD_MASS));
    if (xyz->velocities)
        put(xyz, " %s_unit=%s", xyz->velocities == MD_XYZ_VELOCITIES_MOMENTA ? "momenta" : "velocity",
            velocities[xyz->velocities]);
}

static void put_comment(MdXyz *xyz, const MdThermo *thermo) {
    const MdBox *box = &xyz->spec.box;
    put_lattice(xyz);
    put(xyz, "Properties=species:S:1:pos:R:3%s%s pbc=\"", velocity_columns[xyz->velocities],
        xyz->velocities == MD_XYZ_VELOCITIES_MOMENTA ? ":masses:R:1"
        : xyz->masses                                ? ":mass:R:1"
                                                     : "");
    for (int a = 0; a < 3; a++) put(xyz, "%s%c", a ? " " : "", a < box->dimension && box->periodic[a] ? 'T' : 'F');
    put(xyz, "\" run_id=\"%s\" step=%" PRId64, xyz->spec.run_id, thermo->step);
    put_real(xyz, " time=", thermo->time);
    put_real(xyz, " temperature=", thermo->temperature);
    put_real(xyz, " potential_energy=", thermo->potential);
    put_real(xyz, " kinetic_energy=", thermo->kinetic);
    if (thermo->pressure == thermo->pressure) put_real(xyz, " pressure=", thermo->pressure);
    put_units(xyz);
    put(xyz, "\n");
}

/* From the velocities of a frame to the column: momenta are those of ASE, in sqrt(amu eV), and vel is in angstrom/fs. */
static double velocity_factor(const MdXyz *xyz, double mass) {
    const double inside = 1 / md_unit_factor(xyz->spec.units, MD_VELOCITY);
    if (xyz->velocities == MD_XYZ_VELOCITIES_MOMENTA) return mass * inside;
    return xyz->velocities == MD_XYZ_VELOCITIES_VEL && xyz->spec.units == MD_STYLE_METAL ? 1e-3 : 1;
}

static void put_vector(MdXyz *xyz, const void *array, int64_t i, double factor) {
    bool twice = xyz->spec.precision == MD_FILE_PRECISION_DOUBLE;
    for (int64_t k = 3 * i; k < 3 * i + 3; k++)
        put(xyz, " %.*g", twice ? 17 : 9,
            factor * (twice ? ((const double *)array)[k] : (double)((const float *)array)[k]));
}

static void put_atom(MdXyz *xyz, const MdFrame *frame, int64_t i) {
    const int type = xyz->spec.type[i];
    put(xyz, "%s", xyz->spec.type_name[type]);
    put_vector(xyz, frame->position, i, 1);
    if (xyz->velocities) put_vector(xyz, frame->velocity, i, velocity_factor(xyz, xyz->spec.mass[type]));
    if (xyz->masses) put(xyz, " %.17g", xyz->spec.mass[type]);
    put(xyz, "\n");
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
                           strstr(line, "Properties=species:S:1:pos:R:3") && strstr(line, "\" run_id=\"") &&
                           strstr(line, "\" step=");
    fclose(file);
    return is_output;
}

MdStatus md_xyz_append(MdXyz *xyz, const MdFrame *frame, const MdThermo *thermo, MdErrors *errors) {
    if (xyz->broken) return MD_ERROR_OUTPUT;
    md_require(frame->precision == xyz->spec.precision && frame->position && (frame->velocity || !xyz->velocities));
    put(xyz, "%" PRId64 "\n", xyz->spec.n_atoms);
    put_comment(xyz, thermo);
    for (int64_t i = 0; i < xyz->spec.n_atoms && !xyz->reason; i++) put_atom(xyz, frame, i);
    flush(xyz);
    if (xyz->reason) return fail(xyz, strerror(xyz->reason), errors);
    const char *lost = md_path_lost(xyz->path, xyz->descriptor);
    if (lost) return fail(xyz, lost, errors);
    xyz->end = lseek(xyz->descriptor, 0, SEEK_CUR);
    xyz->n_frames++;
    return MD_OK;
}

/* Whether a comment line has the column of velocities that this file has. */
static bool has_velocities(const MdXyz *xyz, const char *comment) {
    bool same = true;
    for (int k = MD_XYZ_VELOCITIES_OFF + 1; k <= MD_XYZ_VELOCITIES_MOMENTA; k++)
        same = same && (strstr(comment, velocity_columns[k]) != NULL) == (k == xyz->velocities);
    return same;
}

/* Reads the frame at the reader's offset, for this spec and these columns: its step; -1 if there is no complete
 * one. *foreign: the reason, if the content is not a frame of this run. */
static int64_t skip_frame(const MdXyz *xyz, FILE *reader, char **line, size_t *size, const char **foreign) {
    char *end, *found;
    if (getline(line, size, reader) < 0) return -1;
    long long n_atoms = strtoll(*line, &end, 10);
    if (end == *line || *end != '\n') return -1;
    char id[64];
    snprintf(id, sizeof id, " run_id=\"%s\" ", xyz->spec.run_id);
    bool complete = getline(line, size, reader) > 0 && strchr(*line, '\n') && (found = strstr(*line, " step="));
    if (!complete) return -1;
    long long step = strtoll(found + strlen(" step="), NULL, 10);
    if (!strstr(*line, id) || n_atoms != xyz->spec.n_atoms) *foreign = "holds frames of another run";
    else if (!has_velocities(xyz, *line))
        *foreign = "output.xyz_velocities cannot change within a file: leave it as it was, or go on without the file: "
                   "output.xyz_every=0";
    for (long long i = 0; i < n_atoms && !*foreign; i++) {
        ssize_t length = getline(line, size, reader);
        if (length <= 0 || (*line)[length - 1] != '\n') return -1;
    }
    return step;
}

MdXyz *md_xyz_reopen(const char *path, const MdH5mdSpec *spec, int velocities, int64_t last_step, int64_t n_frames,
                     MdErrors *errors) {
    MdXyz *xyz = open_file(path, O_RDWR, spec, velocities, errors);
    if (!xyz) return NULL;
    FILE *reader = fopen(path, "r");
    const char *problem = reader ? NULL : strerror(errno);
    char *line = NULL;
    size_t size = 0;
    int64_t step = -1;
    while (!problem && (step = skip_frame(xyz, reader, &line, &size, &problem)) >= 0 && !problem && step <= last_step) {
        xyz->n_frames++;
        xyz->end = ftello(reader);
    }
    const char *other = problem; /* content after the frames that stay is no reason to refuse them */
    for (; !other && step >= 0; step = skip_frame(xyz, reader, &line, &size, &other)) xyz->n_dropped++;
    free(line);
    if (reader) fclose(reader);
    if (!problem && xyz->n_frames < n_frames)
        problem = "has fewer frames than when the restart file was written: not the same file, or damaged";
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
