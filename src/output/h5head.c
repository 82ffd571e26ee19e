/* What a trajectory holds besides series: who made it, the box, what the particles are, the deck. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/version.h"
#include "output/h5file.h"

static void write_creator(MdH5Calls *calls, hid_t file) {
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

static void write_box(MdH5Calls *calls, const MdBox *box, hid_t group) {
    const char *boundary[3];
    for (int a = 0; a < 3; a++) boundary[a] = a < box->dimension && box->periodic[a] ? "periodic" : "none";
    md_h5_attribute_int(calls, group, "dimension", 3);
    md_h5_attribute_texts(calls, group, "boundary", 3, boundary);
}

static void write_fixed_edges(MdH5Calls *calls, const MdBox *box, hid_t group) {
    double edges[9];
    const hsize_t extents[2] = {3, 3};
    md_box_fill_edges(box, edges);
    hid_t space = H5_CALL(calls, H5Screate_simple(2, extents, NULL));
    hid_t set =
        H5_CALL(calls, H5Dcreate2(group, "edges", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5_CALL(calls, H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, edges));
    H5_CALL(calls, H5Dclose(set));
    H5_CALL(calls, H5Sclose(space));
}

/* What a group of velocities or forces at steps of their own needs to stand alone: a box, which is a fixed one where there
 * are no positions, and the particles. */
static void write_group_apart(MdH5Calls *calls, const MdH5md *file, int quantity) {
    static const char *const shared[] = {"species", "id", "mass"};
    const char *name = quantity == MD_H5MD_VELOCITY ? "particles/all_velocity" : "particles/all_force";
    hid_t group = H5_CALL(calls, H5Gopen2(file->file, name, H5P_DEFAULT)), box = md_h5_group(calls, group, "box");
    write_box(calls, &file->spec.box, box);
    if (!md_box_is_open(&file->spec.box)) write_fixed_edges(calls, &file->spec.box, box);
    for (int k = 0; k < 3; k++) {
        char *path = md_format("/particles/all/%s", shared[k]);
        H5_CALL(calls, H5Lcreate_hard(group, path, group, shared[k], H5P_DEFAULT, H5P_DEFAULT));
        free(path);
    }
    H5_CALL(calls, H5Gclose(box));
    H5_CALL(calls, H5Gclose(group));
}

static void write_particles(MdH5Calls *calls, const MdH5md *file) {
    hid_t all = H5_CALL(calls, H5Gopen2(file->file, "particles/all", H5P_DEFAULT));
    write_per_atom(calls, &file->spec, all, "species", PER_ATOM_SPECIES);
    write_per_atom(calls, &file->spec, all, "id", PER_ATOM_ID);
    write_per_atom(calls, &file->spec, all, "mass", PER_ATOM_MASS);
    hid_t box = md_box_is_open(&file->spec.box) ? md_h5_group(calls, all, "box")
                                                : H5_CALL(calls, H5Gopen2(all, "box", H5P_DEFAULT));
    write_box(calls, &file->spec.box, box);
    H5_CALL(calls, H5Gclose(box));
    H5_CALL(calls, H5Gclose(all));
    for (int q = MD_H5MD_VELOCITY; q < N_TIMELINES; q++)
        if (file->series[q].timeline == q) write_group_apart(calls, file, q);
    hid_t observables = H5_CALL(calls, H5Gopen2(file->file, "observables", H5P_DEFAULT));
    md_h5_attribute_int(calls, observables, "dimension", file->spec.box.dimension);
    H5_CALL(calls, H5Gclose(observables));
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

static void write_vmd_structure(MdH5Calls *calls, const MdH5mdSpec *spec, hid_t parameters) {
    bool present[MD_MAX_TYPES] = {false};
    for (int64_t i = 0; i < spec->n_atoms; i++) present[spec->type[i]] = true;
    int species[MD_MAX_TYPES], element[MD_MAX_TYPES], n = 0;
    float radius[MD_MAX_TYPES];
    char names[MD_MAX_TYPES][VMD_NAME_SIZE];
    const char *name[MD_MAX_TYPES];
    for (int a = 0; a < spec->n_types; a++) {
        if (!present[a]) continue;
        copy_name(names[n], spec->type_name[a]);
        name[n] = names[n], species[n] = a, element[n] = ARGON, radius[n] = 0.5f;
        n++;
    }
    hid_t group = md_h5_group(calls, parameters, "vmd_structure");
    md_h5_dataset_vector(calls, group, "indexOfSpecies", H5T_STD_I32LE, H5T_NATIVE_INT, n, species);
    md_h5_dataset_texts(calls, group, "name", n, name);
    md_h5_dataset_texts(calls, group, "type", n, name);
    md_h5_dataset_vector(calls, group, "radius", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, n, radius);
    md_h5_dataset_vector(calls, group, "atomicnumber", H5T_STD_I32LE, H5T_NATIVE_INT, n, element);
    H5_CALL(calls, H5Gclose(group));
}

static void write_parameters(MdH5Calls *calls, const MdH5md *file) {
    const MdH5mdSpec *spec = &file->spec;
    hid_t parameters = md_h5_group(calls, file->file, "parameters"), group = md_h5_group(calls, parameters, "mdmini");
    md_h5_attribute_int(calls, group, "dimension", spec->box.dimension);
    md_h5_attribute_int(calls, group, "n_restarts", file->n_restarts);
    md_h5_attribute_text(calls, group, "run_id", spec->run_id);
    md_h5_attribute_text(calls, group, "unit_style", "lj");
    md_h5_attribute_text(calls, group, "positions", spec->unwrapped ? "unwrapped" : "wrapped");
    md_h5_dataset_text(calls, group, "deck", spec->deck);
    md_h5_dataset_text(calls, group, "provenance", spec->provenance);
    md_h5_begin_process(calls, file);
    H5_CALL(calls, H5Gclose(group));
    write_vmd_structure(calls, spec, parameters);
    H5_CALL(calls, H5Gclose(parameters));
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
    hid_t set = H5_CALL(
        calls, H5Dcreate2(file->file, md_h5_schedule, H5T_STD_I64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
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
    hsize_t extent[2] = {0, N_SCHEDULE}, first[2] = {0, 0};
    const hsize_t one[2] = {1, N_SCHEDULE};
    hid_t space = H5_CALL(calls, H5Dget_space(set)), memory = H5_CALL(calls, H5Screate_simple(2, one, NULL));
    H5_CALL(calls, H5Sget_simple_extent_dims(space, extent, NULL));
    H5_CALL(calls, H5Sclose(space));
    first[0] = extent[0]++;
    H5_CALL(calls, H5Dset_extent(set, extent));
    space = H5_CALL(calls, H5Dget_space(set));
    H5_CALL(calls, H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, one, NULL));
    H5_CALL(calls, H5Dwrite(set, H5T_NATIVE_INT64, memory, space, H5P_DEFAULT, row));
    H5_CALL(calls, H5Sclose(memory));
    H5_CALL(calls, H5Sclose(space));
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
    write_creator(calls, file->file);
    write_particles(calls, file);
    write_parameters(calls, file);
}
