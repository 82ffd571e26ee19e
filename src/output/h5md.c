/* Layout and crash safety of the trajectory.
 *
 * Every element that depends on time is a chunked dataset whose first axis counts frames. Its greatest extent is the
 * planned number of frames and its room is reserved at creation (the file is sparse: room that was not written takes
 * no disk), so HDF5 places chunk k at a computed address and keeps no index of chunks. That is what makes appending
 * safe: a frame changes nothing but its own bytes and the extents in a few small object headers. A full disk cannot
 * break what is there, and after each frame's flush a killed run leaves a file that opens as it is. The layout without
 * an index needs file format 1.10. The superblock stays that of 1.8: it has no `open for writing` mark, which a kill
 * would leave set, and which readers refuse.
 *
 * What it costs: the file shows the planned size in `ls` from the start, also after an early stop (a compressed copy by
 * `h5repack -f SHUF -f GZIP=1` holds what is there), and it takes no more frames than were planned. */
#define _POSIX_C_SOURCE 200809L
#include "output/h5md.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/version.h"
#include "output/h5calls.h"

/* Written in this order: a frame whose step is there is complete. */
enum {
    POSITION,
    VELOCITY,
    FORCE,
    IMAGE,
    EDGES,
    PARTICLE_NUMBER,
    TEMPERATURE,
    PRESSURE,
    DENSITY,
    POTENTIAL_ENERGY,
    KINETIC_ENERGY,
    INTERNAL_ENERGY,
    CONSERVED_ENERGY,
    TIME,
    STEP,
    N_SERIES
};

/* One dataset that grows by a row with each frame. */
typedef struct Series {
    hid_t dataset; /* 0: not asked for */
    hid_t type;    /* in memory */
    hid_t row_space;
    int rank;
    hsize_t row[3]; /* extents with one frame: {1, ...} */
} Series;

struct MdH5md {
    char *path;
    hid_t file;
    Series series[N_SERIES];
    MdH5mdSpec spec;
    double edges[9];
    int64_t n_frames; /* stored */
    int64_t capacity; /* frames that the file has room for */
};

/* Largest chunk; HDF5 wants them below 4 GiB. */
#define MAX_CHUNK_BYTES   (UINT64_C(1) << 31)
/* Rows of a few numbers share a chunk of this size: a page. */
#define SMALL_CHUNK_BYTES 4096
/* Everything that has no row per atom or frame. */
#define HEADER_BYTES      (UINT64_C(1) << 20)

static uint64_t row_bytes(const Series *series) {
    uint64_t bytes = H5Tget_size(series->type);
    for (int a = 0; a < series->rank; a++) bytes *= series->row[a];
    return bytes;
}

/* Bytes that a file at path may grow to: free space of the file system and the process's own limit. */
static uint64_t available_bytes(const char *path) {
    uint64_t bytes = UINT64_MAX;
    struct statvfs system;
    if (statvfs(path, &system) == 0 && system.f_blocks > 0) bytes = (uint64_t)system.f_bavail * system.f_frsize;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
        bytes = limit.rlim_cur;
    return bytes;
}

static void define_series(MdH5md *file, int k, hid_t type, int rank, hsize_t n1, hsize_t n2) {
    file->series[k] = (Series){.type = type, .rank = rank, .row = {1, n1, n2}};
}

static void define_all_series(MdH5md *file) {
    const MdH5mdSpec *spec = &file->spec;
    hid_t real = spec->precision == MD_FILE_PRECISION_DOUBLE ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    hsize_t n = (hsize_t)spec->n_atoms;
    define_series(file, POSITION, real, 3, n, 3);
    if (spec->velocities) define_series(file, VELOCITY, real, 3, n, 3);
    if (spec->forces) define_series(file, FORCE, real, 3, n, 3);
    if (spec->images) define_series(file, IMAGE, H5T_NATIVE_INT32, 3, n, 3);
    define_series(file, EDGES, H5T_NATIVE_DOUBLE, 3, 3, 3);
    for (int k = PARTICLE_NUMBER; k <= STEP; k++)
        define_series(file, k, k == PARTICLE_NUMBER || k == STEP ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, 1, 1, 1);
}

/* Frames that there is room for: those planned, or fewer when the disk is too small for them. */
static int64_t plan_capacity(const MdH5md *file) {
    uint64_t per_frame = 0, per_atom = 2 * sizeof(int32_t) + sizeof(double); /* species, id; mass */
    for (int k = 0; k < N_SERIES; k++)
        if (file->series[k].rank) per_frame += row_bytes(&file->series[k]);
    uint64_t fixed = HEADER_BYTES + (uint64_t)file->spec.n_atoms * per_atom, bytes = available_bytes(file->path);
    if (bytes < fixed + per_frame) return 0;
    uint64_t fitting = (bytes - fixed) / per_frame;
    return fitting < (uint64_t)file->spec.n_frames ? (int64_t)fitting : file->spec.n_frames;
}

static void create_series(MdH5Calls *calls, MdH5md *file, int k, hid_t parent, const char *name) {
    Series *series = &file->series[k];
    hsize_t none[3], most[3], chunk[3];
    memcpy(none, series->row, sizeof none);
    memcpy(most, series->row, sizeof most);
    memcpy(chunk, series->row, sizeof chunk);
    none[0] = 0;
    most[0] = (hsize_t)file->capacity;
    uint64_t bytes = row_bytes(series), n_parts = (bytes - 1) / MAX_CHUNK_BYTES + 1;
    if (series->rank > 1) chunk[1] = (chunk[1] - 1) / n_parts + 1;
    if (bytes < SMALL_CHUNK_BYTES) chunk[0] = SMALL_CHUNK_BYTES / bytes;
    if (chunk[0] > most[0]) chunk[0] = most[0];

    hid_t space = H5_CALL(calls, H5Screate_simple(series->rank, none, most));
    hid_t properties = H5_CALL(calls, H5Pcreate(H5P_DATASET_CREATE));
    H5_CALL(calls, H5Pset_chunk(properties, series->rank, chunk));
    H5_CALL(calls, H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY));
    H5_CALL(calls, H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER));
    series->dataset =
        H5_CALL(calls, H5Dcreate2(parent, name, series->type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    series->row_space = H5_CALL(calls, H5Screate_simple(series->rank, series->row, NULL));
    H5_CALL(calls, H5Pclose(properties));
    H5_CALL(calls, H5Sclose(space));
}

/* The group `name` with value, step and time; the last two are hard links to those of position, as H5MD demands for
 * the box and allows for all. */
static void create_element(MdH5Calls *calls, MdH5md *file, int k, hid_t parent, const char *name) {
    hid_t group = md_h5_group(calls, parent, name);
    create_series(calls, file, k, group, "value");
    if (k == POSITION) {
        create_series(calls, file, STEP, group, "step");
        create_series(calls, file, TIME, group, "time");
    } else {
        H5_CALL(calls, H5Olink(file->series[STEP].dataset, group, "step", H5P_DEFAULT, H5P_DEFAULT));
        H5_CALL(calls, H5Olink(file->series[TIME].dataset, group, "time", H5P_DEFAULT, H5P_DEFAULT));
    }
    H5_CALL(calls, H5Gclose(group));
}

/* A dataset with a number for each atom, made block by block: a copy of the whole would cost memory. */
enum { PER_ATOM_SPECIES, PER_ATOM_ID, PER_ATOM_MASS };

static void write_per_atom(MdH5Calls *calls, const MdH5mdSpec *spec, hid_t parent, const char *name, int what) {
    enum { BLOCK = 65536 };
    bool real = what == PER_ATOM_MASS;
    size_t size = real ? sizeof(double) : sizeof(int32_t);
    void *block = md_alloc(BLOCK, size, "trajectory block");
    hid_t type = real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT32;
    hsize_t n_atoms = (hsize_t)spec->n_atoms;
    hid_t space = H5_CALL(calls, H5Screate_simple(1, &n_atoms, NULL));
    hid_t set = H5_CALL(calls, H5Dcreate2(parent, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    for (hsize_t first = 0; first < n_atoms && !calls->failed; first += BLOCK) {
        hsize_t n = n_atoms - first < BLOCK ? n_atoms - first : BLOCK;
        for (hsize_t i = 0; i < n; i++) {
            if (real) ((double *)block)[i] = spec->mass[spec->type[first + i]];
            else ((int32_t *)block)[i] = what == PER_ATOM_ID ? (int32_t)(first + i) : spec->type[first + i];
        }
        hid_t memory = H5_CALL(calls, H5Screate_simple(1, &n, NULL));
        H5_CALL(calls, H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &n, NULL));
        H5_CALL(calls, H5Dwrite(set, type, memory, space, H5P_DEFAULT, block));
        H5_CALL(calls, H5Sclose(memory));
    }
    H5_CALL(calls, H5Dclose(set));
    H5_CALL(calls, H5Sclose(space));
    md_free(block);
}

static void create_head(MdH5Calls *calls, hid_t file) {
    const MdVersion *version = md_version();
    const char *author = getenv("MDMINI_AUTHOR_NAME");
    char *creator = md_format("%s+g%s%s", version->version, version->commit, version->dirty ? ".dirty" : "");
    hid_t head = md_h5_group(calls, file, "h5md");
    md_h5_attribute_ints(calls, head, "version", 2, (const int[]){1, 1});
    hid_t group = md_h5_group(calls, head, "author");
    md_h5_attribute_text(calls, group, "name", author && *author ? author : "N/A");
    H5_CALL(calls, H5Gclose(group));
    group = md_h5_group(calls, head, "creator");
    md_h5_attribute_text(calls, group, "name", "mdmini");
    md_h5_attribute_text(calls, group, "version", creator);
    H5_CALL(calls, H5Gclose(group));
    hid_t modules = md_h5_group(calls, head, "modules");
    group = md_h5_group(calls, modules, "thermodynamics");
    md_h5_attribute_ints(calls, group, "version", 2, (const int[]){1, 0});
    H5_CALL(calls, H5Gclose(group));
    H5_CALL(calls, H5Gclose(modules));
    H5_CALL(calls, H5Gclose(head));
    free(creator);
}

/* The box as three edge vectors. An axis that the dimension lacks needs some edge above 0, or readers drop the whole
 * box; H5MD leaves the edge of a boundary `none` free. */
static void create_box(MdH5Calls *calls, MdH5md *file, hid_t parent) {
    const MdBox *box = &file->spec.box;
    const char *boundary[3];
    double largest = 0;
    for (int a = 0; a < box->dimension; a++)
        if (box->length[a] > largest) largest = box->length[a];
    for (int a = 0; a < 3; a++) {
        bool real = a < box->dimension;
        boundary[a] = real && box->periodic[a] ? "periodic" : "none";
        file->edges[4 * a] = real ? box->length[a] : largest;
    }
    hid_t group = md_h5_group(calls, parent, "box");
    md_h5_attribute_int(calls, group, "dimension", 3);
    md_h5_attribute_texts(calls, group, "boundary", 3, boundary);
    create_element(calls, file, EDGES, group, "edges");
    H5_CALL(calls, H5Gclose(group));
}

static void create_particles(MdH5Calls *calls, MdH5md *file) {
    const MdH5mdSpec *spec = &file->spec;
    hid_t particles = md_h5_group(calls, file->file, "particles"), all = md_h5_group(calls, particles, "all");
    create_element(calls, file, POSITION, all, "position");
    create_box(calls, file, all);
    if (spec->velocities) create_element(calls, file, VELOCITY, all, "velocity");
    if (spec->forces) create_element(calls, file, FORCE, all, "force");
    if (spec->images) create_element(calls, file, IMAGE, all, "image");
    write_per_atom(calls, spec, all, "species", PER_ATOM_SPECIES);
    write_per_atom(calls, spec, all, "id", PER_ATOM_ID);
    write_per_atom(calls, spec, all, "mass", PER_ATOM_MASS);
    H5_CALL(calls, H5Gclose(all));
    H5_CALL(calls, H5Gclose(particles));
}

/* Flat and with the frames of the trajectory: MDAnalysis reads row k of every observable with frame k. */
static void create_observables(MdH5Calls *calls, MdH5md *file) {
    static const char *const names[] = {[PARTICLE_NUMBER] = "particle_number",
                                        [TEMPERATURE] = "temperature",
                                        [PRESSURE] = "pressure",
                                        [DENSITY] = "density",
                                        [POTENTIAL_ENERGY] = "potential_energy",
                                        [KINETIC_ENERGY] = "kinetic_energy",
                                        [INTERNAL_ENERGY] = "internal_energy",
                                        [CONSERVED_ENERGY] = "conserved_energy"};
    hid_t group = md_h5_group(calls, file->file, "observables");
    md_h5_attribute_int(calls, group, "dimension", file->spec.box.dimension);
    for (int k = PARTICLE_NUMBER; k <= CONSERVED_ENERGY; k++) create_element(calls, file, k, group, names[k]);
    H5_CALL(calls, H5Gclose(group));
}

static void create_parameters(MdH5Calls *calls, const MdH5md *file) {
    const MdH5mdSpec *spec = &file->spec;
    hid_t parameters = md_h5_group(calls, file->file, "parameters"), group = md_h5_group(calls, parameters, "mdmini");
    md_h5_attribute_int(calls, group, "dimension", spec->box.dimension);
    md_h5_attribute_text(calls, group, "unit_style", "lj");
    md_h5_dataset_text(calls, group, "deck", spec->deck);
    md_h5_dataset_text(calls, group, "provenance", spec->provenance);
    H5_CALL(calls, H5Gclose(group));

    /* How VMD names and draws the species. It wants a chemical element: argon, which Lennard-Jones atoms stand for. */
    int species[MD_MAX_TYPES], element[MD_MAX_TYPES], n = spec->n_types;
    float radius[MD_MAX_TYPES];
    for (int a = 0; a < n; a++) species[a] = a, element[a] = 18, radius[a] = 0.5f;
    group = md_h5_group(calls, parameters, "vmd_structure");
    md_h5_dataset_vector(calls, group, "indexOfSpecies", H5T_STD_I32LE, H5T_NATIVE_INT, n, species);
    md_h5_dataset_texts(calls, group, "name", n, spec->type_name);
    md_h5_dataset_texts(calls, group, "type", n, spec->type_name);
    md_h5_dataset_vector(calls, group, "radius", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, n, radius);
    md_h5_dataset_vector(calls, group, "atomicnumber", H5T_STD_I32LE, H5T_NATIVE_INT, n, element);
    H5_CALL(calls, H5Gclose(group));
    H5_CALL(calls, H5Gclose(parameters));
}

static hid_t create_file(MdH5Calls *calls) {
    /* HDF5's own clean-up at exit crashes after a failed flush; and errors are ours to print. */
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t access = H5_CALL(calls, H5Pcreate(H5P_FILE_ACCESS));
    H5_CALL(calls, H5Pset_fclose_degree(access, H5F_CLOSE_STRONG));
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
    /* Cluster file systems without locks must not stop a run. */
    H5_CALL(calls, H5Pset_file_locking(access, 1, 1));
#endif
    H5_CALL(calls, H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110));
    hid_t file = H5_CALL(calls, H5Fcreate(calls->path, H5F_ACC_TRUNC, H5P_DEFAULT, access));
    H5_CALL(calls, H5Pclose(access));
    if (file < 0) return file;
    H5_CALL(calls, H5Fset_libver_bounds(file, H5F_LIBVER_V110, H5F_LIBVER_V110));
    return file;
}

/* Closes what is open, whatever state it is in. */
static void release(MdH5Calls *calls, MdH5md *file) {
    for (int k = 0; k < N_SERIES; k++) {
        if (file->series[k].row_space > 0) H5_CALL(calls, H5Sclose(file->series[k].row_space));
        if (file->series[k].dataset > 0) H5_CALL(calls, H5Dclose(file->series[k].dataset));
    }
    if (file->file > 0) H5_CALL(calls, H5Fclose(file->file));
    free(file->path);
    md_free(file);
}

MdH5md *md_h5md_create(const char *path, const MdH5mdSpec *spec, MdErrors *errors) {
    md_require(spec->n_atoms > 0 && spec->n_frames > 0 && spec->n_types <= MD_MAX_TYPES);
    MdH5Calls calls = {.path = path, .errors = errors};
    MdH5md *file = md_alloc(1, sizeof *file, "trajectory");
    file->path = md_copy_text(path);
    file->spec = *spec;
    file->file = create_file(&calls);
    if (calls.failed) {
        release(&calls, file);
        return NULL;
    }
    define_all_series(file);
    file->capacity = plan_capacity(file);
    if (file->capacity == 0) {
        calls.failed = true;
        md_fail(errors, MD_ERROR_OUTPUT, "%s: no space left for a single frame", path);
    } else {
        create_head(&calls, file->file);
        create_particles(&calls, file);
        create_observables(&calls, file);
        create_parameters(&calls, file);
        H5_CALL(&calls, H5Fflush(file->file, H5F_SCOPE_GLOBAL));
    }
    if (calls.failed) {
        unlink(path);
        release(&calls, file);
        return NULL;
    }
    /* What belongs to the caller is not read again. */
    file->spec.type = NULL, file->spec.mass = NULL, file->spec.deck = NULL, file->spec.provenance = NULL;
    return file;
}

static void set_extents(MdH5Calls *calls, const MdH5md *file, int64_t n_frames) {
    for (int k = 0; k < N_SERIES; k++) {
        const Series *series = &file->series[k];
        if (!series->rank) continue;
        hsize_t extent[3] = {(hsize_t)n_frames, series->row[1], series->row[2]};
        H5_CALL(calls, H5Dset_extent(series->dataset, extent));
    }
}

static void write_row(MdH5Calls *calls, const MdH5md *file, int k, const void *values) {
    const Series *series = &file->series[k];
    hsize_t start[3] = {(hsize_t)file->n_frames, 0, 0};
    hid_t space = H5_CALL(calls, H5Dget_space(series->dataset));
    H5_CALL(calls, H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, series->row, NULL));
    H5_CALL(calls, H5Dwrite(series->dataset, series->type, series->row_space, space, H5P_DEFAULT, values));
    H5_CALL(calls, H5Sclose(space));
}

MdStatus md_h5md_append(MdH5md *file, const MdFrame *frame, const MdThermo *thermo, MdErrors *errors) {
    if (file->n_frames == file->capacity)
        return md_fail(errors, MD_ERROR_OUTPUT, "%s: full with %lld frames: %s", file->path, (long long)file->capacity,
                       file->capacity < file->spec.n_frames ? "no more fit on the disk when the run began"
                                                            : "no more were planned");
    md_require(frame->precision == file->spec.precision);
    double density = (double)file->spec.n_atoms / md_box_volume(&file->spec.box);
    const void *values[N_SERIES] = {[POSITION] = frame->position,
                                    [VELOCITY] = frame->velocity,
                                    [FORCE] = frame->force,
                                    [IMAGE] = frame->image,
                                    [EDGES] = file->edges,
                                    [PARTICLE_NUMBER] = &file->spec.n_atoms,
                                    [TEMPERATURE] = &thermo->temperature,
                                    [PRESSURE] = &thermo->pressure,
                                    [DENSITY] = &density,
                                    [POTENTIAL_ENERGY] = &thermo->potential,
                                    [KINETIC_ENERGY] = &thermo->kinetic,
                                    [INTERNAL_ENERGY] = &thermo->total,
                                    [CONSERVED_ENERGY] = &thermo->conserved,
                                    [TIME] = &frame->time,
                                    [STEP] = &frame->step};
    MdH5Calls calls = {.path = file->path, .errors = errors};
    set_extents(&calls, file, file->n_frames + 1);
    for (int k = 0; k < N_SERIES && !calls.failed; k++) {
        if (!file->series[k].rank) continue;
        md_require(values[k]);
        write_row(&calls, file, k, values[k]);
    }
    H5_CALL(&calls, H5Fflush(file->file, H5F_SCOPE_GLOBAL));
    if (!calls.failed) {
        file->n_frames++;
        return MD_OK;
    }
    /* The frames before this one stay as they are, and readable. The first problem has been told. */
    MdH5Calls undo = {.path = file->path, .errors = errors, .failed = true};
    set_extents(&undo, file, file->n_frames);
    H5_CALL(&undo, H5Fflush(file->file, H5F_SCOPE_GLOBAL));
    return MD_ERROR_OUTPUT;
}

MdStatus md_h5md_commit(MdH5md *file, bool sync, MdErrors *errors) {
    (void)sync;
    MdH5Calls calls = {.path = file->path, .errors = errors};
    H5_CALL(&calls, H5Fflush(file->file, H5F_SCOPE_GLOBAL));
    return calls.failed ? MD_ERROR_OUTPUT : MD_OK;
}

MdStatus md_h5md_close(MdH5md *file, MdErrors *errors) {
    if (!file) return MD_OK;
    char *path = md_copy_text(file->path);
    MdH5Calls calls = {.path = path, .errors = errors};
    H5_CALL(&calls, H5Fflush(file->file, H5F_SCOPE_GLOBAL));
    release(&calls, file);
    free(path);
    return calls.failed ? MD_ERROR_OUTPUT : MD_OK;
}

const char *md_h5md_library_version(char buffer[32]) {
    unsigned major, minor, release_number;
    H5get_libversion(&major, &minor, &release_number);
    snprintf(buffer, 32, "%u.%u.%u", major, minor, release_number);
    return buffer;
}
