/* The content of a trajectory besides series: the author, the box, the particles' properties, the deck. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/version.h"
#include "deck/config.h"
#include "output/h5file.h"

static void write_creator(MdH5Calls *calls, hid_t file, MdUnits units) {
    const MdVersion *version = md_version();
    const char *author = getenv("MDMINI_AUTHOR_NAME");
    char *creator = md_format("%s+g%s%s", version->version, version->commit, version->dirty ? ".dirty" : "");
    md_h5_put_ints(calls, file, "h5md", "version", 2, (const int[]){1, 1});
    md_h5_put_text(calls, file, "h5md/author", "name", author && *author ? author : "N/A");
    md_h5_put_text(calls, file, "h5md/creator", "name", "mdmini");
    md_h5_put_text(calls, file, "h5md/creator", "version", creator);
    md_h5_put_ints(calls, file, "h5md/modules/thermodynamics", "version", 2, (const int[]){1, 0});
    if (units != MD_STYLE_LJ) md_h5_put_ints(calls, file, "h5md/modules/units", "version", 2, (const int[]){1, 0});
    free(creator);
}

/* A dataset with a number for each atom, made block by block: a copy of the whole would cost memory. */
enum { PER_ATOM_SPECIES, PER_ATOM_ID, PER_ATOM_MASS };

static void write_per_atom(MdH5Calls *calls, const MdH5md *file, const char *path, int what) {
    enum { BLOCK = 65536 };
    const MdH5mdSpec *spec = &file->spec;
    bool real = what == PER_ATOM_MASS;
    size_t size = real ? sizeof(double) : sizeof(int32_t);
    void *block = md_alloc(BLOCK, size, "trajectory block");
    hid_t type = real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT32;
    hsize_t n_atoms = (hsize_t)spec->n_atoms;
    hid_t space = H5_CALL(calls, H5Screate_simple(1, &n_atoms, NULL));
    hid_t set = md_h5_create_dataset(calls, file->file, path, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (real) md_h5_put_unit(calls, set, md_unit_in_h5md(spec->units, MD_MASS));
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

static void write_box(MdH5Calls *calls, const MdH5md *file, const char *path) {
    const MdBox *box = &file->spec.box;
    const char *boundary[3];
    for (int a = 0; a < 3; a++) boundary[a] = a < box->dimension && box->periodic[a] ? "periodic" : "none";
    md_h5_put_ints(calls, file->file, path, "dimension", 0, &(int){3});
    md_h5_put_texts(calls, file->file, path, "boundary", 3, boundary);
}

/* The additions that make a separate group of velocities or forces complete: a box, which is a fixed one where there
 * are no positions, and the particles. */
static void write_group_apart(MdH5Calls *calls, const MdH5md *file, const char *group) {
    static const char *const shared[] = {"species", "id", "mass"};
    char *box = md_format("%s/box", group), *edges = md_format("%s/edges", box);
    double values[9];
    md_box_fill_edges(&file->spec.box, values);
    write_box(calls, file, box);
    if (!md_box_is_open(&file->spec.box)) {
        md_h5_put(calls, file->file, edges, NULL, H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, 3, 3, values);
        hid_t set = H5_CALL(calls, H5Dopen2(file->file, edges, H5P_DEFAULT));
        md_h5_put_unit(calls, set, md_unit_in_h5md(file->spec.units, MD_LENGTH));
        H5_CALL(calls, H5Dclose(set));
    }
    for (int k = 0; k < 3; k++) {
        char *from = md_format("particles/all/%s", shared[k]), *to = md_format("%s/%s", group, shared[k]);
        H5_CALL(calls, H5Lcreate_hard(file->file, from, file->file, to, H5P_DEFAULT, H5P_DEFAULT));
        free(from);
        free(to);
    }
    free(box);
    free(edges);
}

static void write_particles(MdH5Calls *calls, const MdH5md *file) {
    write_per_atom(calls, file, "particles/all/species", PER_ATOM_SPECIES);
    write_per_atom(calls, file, "particles/all/id", PER_ATOM_ID);
    write_per_atom(calls, file, "particles/all/mass", PER_ATOM_MASS);
    write_box(calls, file, "particles/all/box");
    if (file->series[MD_H5MD_VELOCITY].timeline == MD_H5MD_VELOCITY)
        write_group_apart(calls, file, "particles/all_velocity");
    if (file->series[MD_H5MD_FORCE].timeline == MD_H5MD_FORCE) write_group_apart(calls, file, "particles/all_force");
    md_h5_put_ints(calls, file->file, "observables", "dimension", 0, &file->spec.box.dimension);
}

/* How VMD's plugin names and draws the species. It ignores a table with other species than there are atoms of, and VMD has
 * room for 15 bytes of a name. Drawn as argon, which Lennard-Jones atoms stand for. */
enum { VMD_NAME_SIZE = 16, ARGON = 18 };

static void copy_name(char to[VMD_NAME_SIZE], const char *name) {
    size_t length = strlen(name);
    if (length >= VMD_NAME_SIZE) /* not in the middle of a character */
        for (length = VMD_NAME_SIZE - 1; length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80;) length--;
    memcpy(to, name, length);
    to[length] = 0;
}

static void write_vmd_structure(MdH5Calls *calls, hid_t file, const MdH5mdSpec *spec) {
    bool present[MD_MAX_TYPES] = {false};
    for (int64_t i = 0; i < spec->n_atoms; i++) present[spec->type[i]] = true;
    int species[MD_MAX_TYPES], element[MD_MAX_TYPES], n = 0;
    float radius[MD_MAX_TYPES];
    char names[MD_MAX_TYPES][VMD_NAME_SIZE];
    const char *name[MD_MAX_TYPES];
    for (int a = 0; a < spec->n_types; a++) {
        if (!present[a]) continue;
        copy_name(names[n], spec->type_name[a]);
        name[n] = names[n], species[n] = a, element[n] = ARGON,
        radius[n] = spec->units == MD_STYLE_LJ ? 0.5f : 1.88f; /* A. Bondi, 1964, angstrom */
        n++;
    }
#define VMD "parameters/vmd_structure/"
    md_h5_put_ints(calls, file, VMD "indexOfSpecies", NULL, n, species);
    md_h5_put_texts(calls, file, VMD "name", NULL, n, name);
    md_h5_put_texts(calls, file, VMD "type", NULL, n, name);
    md_h5_put(calls, file, VMD "radius", NULL, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, n, 0, radius);
    md_h5_put_ints(calls, file, VMD "atomicnumber", NULL, n, element);
#undef VMD
}

static void write_parameters(MdH5Calls *calls, const MdH5md *file) {
    static const char group[] = "parameters/mdmini";
    const MdH5mdSpec *spec = &file->spec;
    md_h5_put_ints(calls, file->file, group, "dimension", 0, &spec->box.dimension);
    md_h5_put_ints(calls, file->file, group, "n_restarts", 0, &file->n_restarts);
    md_h5_put_text(calls, file->file, group, "run_id", spec->run_id);
    md_h5_put_text(calls, file->file, group, "unit_style", md_unit_style(spec->units));
    md_h5_put_text(calls, file->file, group, "positions", spec->unwrapped ? "unwrapped" : "wrapped");
    md_h5_put_text(calls, file->file, "parameters/mdmini/deck", NULL, spec->deck);
    md_h5_put_text(calls, file->file, "parameters/mdmini/provenance", NULL, spec->provenance);
    md_h5_begin_process(calls, file);
    md_h5_put_curves(calls, file, spec->curves, spec->n_curves);
    write_vmd_structure(calls, file->file, spec);
}

/* A row for each process of the run: its last step, the intervals of all quantities (0: none), and of each quantity the last
 * step that it had kept of the frames before, or up to which there could be none (-1: it began the run). */
enum { N_SCHEDULE = 1 + 2 * MD_H5MD_N_QUANTITIES };
const char md_h5_schedule[] = "parameters/mdmini/schedule";

static hid_t create_schedule(MdH5Calls *calls, const MdH5md *file) {
    const hsize_t none[2] = {0, N_SCHEDULE}, most[2] = {H5S_UNLIMITED, N_SCHEDULE}, chunk[2] = {16, N_SCHEDULE};
    hid_t space = H5_CALL(calls, H5Screate_simple(2, none, most));
    hid_t creation = H5_CALL(calls, H5Pcreate(H5P_DATASET_CREATE));
    H5_CALL(calls, H5Pset_chunk(creation, 2, chunk));
    hid_t set = md_h5_create_dataset(calls, file->file, md_h5_schedule, H5T_STD_I64LE, space, creation, H5P_DEFAULT);
    H5_CALL(calls, H5Pclose(creation));
    H5_CALL(calls, H5Sclose(space));
    return set;
}

static bool has_schedule(const MdH5md *file) { return H5Lexists(file->file, md_h5_schedule, H5P_DEFAULT) > 0; }

void md_h5_note_schedule(MdH5Calls *calls, const MdH5md *file, const MdH5mdKept *kept) {
    int64_t row[N_SCHEDULE] = {file->spec.last_step};
    for (int q = 0; q < MD_H5MD_N_QUANTITIES; q++) {
        row[1 + q] = file->spec.every[q];
        row[1 + MD_H5MD_N_QUANTITIES + q] = kept ? kept->last_step[q] : -1;
    }
    hid_t set = has_schedule(file) ? H5_CALL(calls, H5Dopen2(file->file, md_h5_schedule, H5P_DEFAULT))
                                   : create_schedule(calls, file);
    const Series schedule = {.dataset = set, .type = H5T_NATIVE_INT64, .rank = 2, .row = {1, N_SCHEDULE, 1}};
    const int64_t n = md_h5_rows(calls, &schedule);
    md_h5_set_rows(calls, &schedule, n + 1);
    md_h5_write_rows(calls, &schedule, n, 1, row);
    H5_CALL(calls, H5Dclose(set));
    H5_CALL(calls, H5Fflush(file->file, H5F_SCOPE_GLOBAL));
}

/* By its rows: they may be stored in another form. */
void md_h5_copy_schedule(MdH5Calls *calls, const MdH5md *from, const MdH5md *to) {
    if (!has_schedule(from)) return;
    hid_t set = H5_CALL(calls, H5Dopen2(from->file, md_h5_schedule, H5P_DEFAULT)), copy = create_schedule(calls, to);
    hid_t space = H5_CALL(calls, H5Dget_space(set));
    hsize_t extent[2] = {0, N_SCHEDULE};
    if (H5Sget_simple_extent_ndims(space) == 2) H5_CALL(calls, H5Sget_simple_extent_dims(space, extent, NULL));
    int64_t *rows = md_alloc((size_t)extent[0] * N_SCHEDULE, sizeof *rows, "schedule of the trajectory");
    if (extent[0] > 0 && extent[1] == N_SCHEDULE) {
        H5_CALL(calls, H5Dread(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows));
        H5_CALL(calls, H5Dset_extent(copy, extent));
        H5_CALL(calls, H5Dwrite(copy, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows));
    }
    md_free(rows);
    H5_CALL(calls, H5Sclose(space));
    H5_CALL(calls, H5Dclose(copy));
    H5_CALL(calls, H5Dclose(set));
}

void md_h5_write_head(MdH5Calls *calls, const MdH5md *file) {
    write_creator(calls, file->file, file->spec.units);
    write_particles(calls, file);
    write_parameters(calls, file);
}
