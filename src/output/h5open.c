#include "output/h5open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool exists(hid_t file, const char *path) { return H5Lexists(file, path, H5P_DEFAULT) > 0; }

/* A text of fixed length that is shorter than size; empty where there is none. */
static void read_text(MdH5Calls *calls, hid_t file, const char *group, const char *name, size_t size, char *text) {
    memset(text, 0, size);
    if (H5Aexists_by_name(file, group, name, H5P_DEFAULT) <= 0) return;
    hid_t attribute = H5_CALL(calls, H5Aopen_by_name(file, group, name, H5P_DEFAULT, H5P_DEFAULT));
    hid_t type = H5_CALL(calls, H5Aget_type(attribute));
    bool fixed = H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0;
    if (fixed && H5Tget_size(type) < size) H5_CALL(calls, H5Aread(attribute, type, text));
    H5_CALL(calls, H5Tclose(type));
    H5_CALL(calls, H5Aclose(attribute));
}

/* Whether mdmini made the file. */
static void check_creator(MdH5Calls *calls, hid_t file) {
    char name[16];
    read_text(calls, file, "h5md/creator", "name", sizeof name, name);
    if (strcmp(name, "mdmini") != 0) md_h5_fail(calls, MD_ERROR_INPUT, "is not a trajectory of mdmini");
}

/* Extents of a dataset: those present, and the greatest; whether it has the rank. */
static bool get_extents(MdH5Calls *calls, hid_t dataset, int rank, hsize_t present[3], hsize_t most[3]) {
    hid_t space = H5_CALL(calls, H5Dget_space(dataset));
    bool right = H5Sget_simple_extent_ndims(space) == rank;
    if (right) H5_CALL(calls, H5Sget_simple_extent_dims(space, present, most));
    H5_CALL(calls, H5Sclose(space));
    return right;
}

/* Of gzip, among all filters; 0: it is not one of them. */
static int find_level(hid_t creation) {
    unsigned flags, config, level = 0;
    for (int k = 0; k < H5Pget_nfilters(creation); k++) {
        size_t n = 1;
        unsigned value = 0;
        if (H5Pget_filter2(creation, (unsigned)k, &flags, &n, &value, 0, NULL, &config) == H5Z_FILTER_DEFLATE)
            level = value;
    }
    return (int)level;
}

/* A filter that this library lacks: h5py has additional ones. */
static void check_filters(MdH5Calls *calls, hid_t creation, const char *path) {
    for (int k = 0; k < H5Pget_nfilters(creation) && !calls->failed; k++) {
        char name[64] = "";
        unsigned flags, config;
        size_t n = 0;
        const H5Z_filter_t id = H5Pget_filter2(creation, (unsigned)k, &flags, &n, NULL, sizeof name, name, &config);
        if (id < 0 || H5Zfilter_avail(id) > 0) continue;
        md_h5_fail(calls, MD_ERROR_INPUT,
                   "%s is compressed by filter %d%s%.60s, which this HDF5 does not have: take it off (h5repack -f "
                   "NONE, where it is known), or name the folder of its plugin by HDF5_PLUGIN_PATH",
                   path, (int)id, *name ? ", " : "", name);
    }
}

/* Whether a dataset is stored as h5create.c and h5head.c do it. Others are written again before anything is appended. level: of gzip. */
static bool is_own_form(hid_t dataset, hid_t creation, hid_t own_type, int level) {
    hid_t type = H5Dget_type(dataset);
    const bool same = H5Tequal(type, own_type) > 0;
    H5Tclose(type);
    return same && H5Pget_layout(creation) == H5D_CHUNKED && find_level(creation) == level &&
           H5Pget_nfilters(creation) == (level ? 2 : 0); /* shuffle is the other one */
}

static void look_at_form(MdH5Calls *calls, MdH5md *file, hid_t dataset, const char *path, hid_t own_type, int level) {
    hid_t creation = H5_CALL(calls, H5Dget_create_plist(dataset));
    if (calls->failed) return;
    check_filters(calls, creation, path);
    if (H5Pget_layout(creation) == H5D_VIRTUAL || H5Pget_external_count(creation) > 0)
        snprintf(file->elsewhere, sizeof file->elsewhere, "%s", path);
    file->reformed = file->reformed || !is_own_form(dataset, creation, own_type, level);
    H5_CALL(calls, H5Pclose(creation));
}

/* How particles are stored, from the positions. */
static void read_format(MdH5Calls *calls, MdH5md *file, hid_t position) {
    hsize_t present[3], most[3];
    hid_t type = H5_CALL(calls, H5Dget_type(position)), creation = H5_CALL(calls, H5Dget_create_plist(position));
    bool real = H5Tget_class(type) == H5T_FLOAT;
    if (!get_extents(calls, position, 3, present, most) || !real || present[2] != 3) {
        md_h5_fail(calls, MD_ERROR_INPUT, "holds positions of another kind than mdmini writes");
    } else {
        file->spec.n_atoms = (int64_t)present[1];
        file->spec.precision =
            H5Tget_size(type) == sizeof(double) ? MD_FILE_PRECISION_DOUBLE : MD_FILE_PRECISION_SINGLE;
        file->spec.compression = find_level(creation);
    }
    H5_CALL(calls, H5Pclose(creation));
    H5_CALL(calls, H5Tclose(type));
}

static void open_series(MdH5Calls *calls, MdH5md *file, int k, int timeline) {
    hsize_t present[3], most[3];
    char *path = md_h5_series_path(k, timeline);
    hid_t access = H5_CALL(calls, H5Pcreate(H5P_DATASET_ACCESS));
    if (k < MD_H5MD_N_QUANTITIES) H5_CALL(calls, H5Pset_chunk_cache(access, 1, 0, 0));
    hid_t dataset = H5_CALL(calls, H5Dopen2(file->file, path, access));
    H5_CALL(calls, H5Pclose(access));
    md_h5_define_series(file, k, timeline);
    Series *series = &file->series[k];
    series->dataset = dataset;
    look_at_form(calls, file, dataset, path, series->type, k < MD_H5MD_N_QUANTITIES ? file->spec.compression : 0);
    bool right = dataset > 0 && get_extents(calls, dataset, series->rank, present, most);
    for (int a = 1; right && a < series->rank; a++) right = present[a] == series->row[a];
    if (!right) md_h5_fail(calls, MD_ERROR_INPUT, "holds other series than mdmini writes");
    else if (k == timeline) file->timeline[timeline].planned = file->timeline[timeline].capacity = INT64_MAX;
    Timeline *line = &file->timeline[timeline];
    if (right && most[0] != H5S_UNLIMITED && (int64_t)most[0] < line->capacity)
        line->planned = line->capacity = (int64_t)most[0];
    free(path);
}

/* The timeline of an element; -1 where there is none. */
static int find_timeline(const MdH5md *file, int element) {
    if (exists(file->file, md_h5_element(element, 0))) return 0;
    bool apart = element == MD_H5MD_VELOCITY || element == MD_H5MD_FORCE;
    return apart && exists(file->file, md_h5_element(element, element)) ? element : -1;
}

static void open_all_series(MdH5Calls *calls, MdH5md *file) {
    for (int k = 0; k < N_ELEMENTS && !calls->failed; k++) {
        bool optional = (k > MD_H5MD_POSITION && k <= EDGES) || k == PRESSURE_TENSOR;
        int timeline = find_timeline(file, k);
        if (timeline < 0 && optional) continue;
        if (timeline < 0) {
            md_h5_fail(calls, MD_ERROR_INPUT, "lacks an object that every trajectory of mdmini has");
            return;
        }
        open_series(calls, file, k, timeline);
        for (int s = TIME + 2 * timeline; k == timeline && s <= STEP + 2 * timeline; s++)
            open_series(calls, file, s, timeline);
    }
}

static void read_parameters(MdH5Calls *calls, MdH5md *file) {
    static const char group[] = "parameters/mdmini";
    if (!exists(file->file, group)) {
        md_h5_fail(calls, MD_ERROR_INPUT, "lacks an object that every trajectory of mdmini has");
        return;
    }
    char text[16];
    read_text(calls, file->file, group, "positions", sizeof text, text);
    read_text(calls, file->file, group, "run_id", sizeof file->run_id, file->run_id);
    file->spec.unwrapped = strcmp(text, "unwrapped") == 0;
    if (H5Aexists_by_name(file->file, group, "n_restarts", H5P_DEFAULT) > 0) {
        hid_t attribute = H5_CALL(calls, H5Aopen_by_name(file->file, group, "n_restarts", H5P_DEFAULT, H5P_DEFAULT));
        H5_CALL(calls, H5Aread(attribute, H5T_NATIVE_INT, &file->n_restarts));
        H5_CALL(calls, H5Aclose(attribute));
    }
}

MdH5md *md_h5_open(MdH5Calls *calls, unsigned flags) {
    hid_t access = md_h5_file_access(calls, true);
    MdH5md *file = md_alloc(1, sizeof *file, "trajectory");
    file->path = md_copy_text(calls->path);
    file->file = H5_CALL(calls, H5Fopen(calls->path, flags, access));
    H5_CALL(calls, H5Pclose(access));
    if (!calls->failed) {
        H5F_info2_t info = {0};
        H5_CALL(calls, H5Fget_info2(file->file, &info));
        file->reformed = info.super.version < 2;
    }
    if (!calls->failed) check_creator(calls, file->file);
    if (!calls->failed && !exists(file->file, "particles/all/position/value"))
        md_h5_fail(calls, MD_ERROR_INPUT, "holds no positions of particles");
    if (!calls->failed) {
        hid_t position = H5_CALL(calls, H5Dopen2(file->file, "particles/all/position/value", H5P_DEFAULT));
        read_format(calls, file, position);
        H5_CALL(calls, H5Dclose(position));
    }
    if (!calls->failed) read_parameters(calls, file);
    if (!calls->failed) open_all_series(calls, file);
    if (!calls->failed && exists(file->file, md_h5_schedule)) {
        hid_t schedule = H5_CALL(calls, H5Dopen2(file->file, md_h5_schedule, H5P_DEFAULT));
        look_at_form(calls, file, schedule, md_h5_schedule, H5T_STD_I64LE, 0);
        H5_CALL(calls, H5Dclose(schedule));
    }
    if (!calls->failed) return file;
    md_h5_release(calls, file);
    return NULL;
}

int64_t *md_h5_read_steps(MdH5Calls *calls, const MdH5md *file, int timeline, int64_t n) {
    int64_t *steps = md_alloc((size_t)n + 1, sizeof *steps, "steps of the trajectory");
    if (n > 0) md_h5_read_rows(calls, &file->series[STEP + 2 * timeline], 0, n, steps);
    return steps;
}

/* Whether the chunks of a row are there, and within the first n_bytes of the file. */
static bool row_is_stored(const Series *series, const hsize_t chunk[3], int64_t row, uint64_t n_bytes) {
    hsize_t at[3] = {(hsize_t)row / chunk[0] * chunk[0], 0, 0}, size;
    unsigned mask;
    haddr_t place;
    for (; at[1] < series->row[1]; at[1] += chunk[1]) {
        if (H5Dget_chunk_info_by_coord(series->dataset, at, &mask, &place, &size) < 0) return false;
        if (place == HADDR_UNDEF || size == 0 || (n_bytes && place + size > n_bytes)) return false;
        if (series->rank == 1) break;
    }
    return true;
}

/* A row of compressed chunks that are cut short, or not of the checksum that they end with, cannot be read. */
static bool row_is_readable(const Series *series, int64_t row) {
    void *values = md_alloc(1, series->row_bytes, "row of the trajectory");
    MdErrors *ignored = md_errors_create();
    MdH5Calls calls = md_h5_calls("", ignored);
    md_h5_read_rows(&calls, series, row, 1, values);
    md_errors_destroy(ignored);
    md_free(values);
    return !calls.failed;
}

/* Rows without chunks that lie within the first n_bytes of the file. */
static int64_t count_within(MdH5Calls *calls, const Series *series, int64_t n, uint64_t n_bytes) {
    const int64_t n_rows = md_h5_rows(calls, series);
    const haddr_t first = H5Dget_offset(series->dataset);
    if (!n_bytes || n_rows == 0 || first == HADDR_UNDEF) return n;
    const uint64_t row_bytes = H5Dget_storage_size(series->dataset) / (uint64_t)n_rows;
    const int64_t within = n_bytes > first ? (int64_t)((n_bytes - first) / row_bytes) : 0;
    return within < n ? within : n;
}

/* Of the first n rows of a series, those before the first that is not stored; the last of them can be read. */
static int64_t stored_rows(MdH5Calls *calls, const Series *series, int64_t n, uint64_t n_bytes) {
    hsize_t chunk[3] = {1, 1, 1};
    hid_t creation = H5_CALL(calls, H5Dget_create_plist(series->dataset));
    const bool chunked = H5Pget_layout(creation) == H5D_CHUNKED, compressed = H5Pget_nfilters(creation) > 0;
    if (chunked) H5_CALL(calls, H5Pget_chunk(creation, series->rank, chunk));
    H5_CALL(calls, H5Pclose(creation));
    if (!chunked) return count_within(calls, series, n, n_bytes);
    if (!compressed && !n_bytes) return n;
    int64_t stored = 0;
    while (stored < n && row_is_stored(series, chunk, stored, n_bytes)) stored++;
    while (compressed && stored > 0 && !row_is_readable(series, stored - 1)) stored--;
    return stored;
}

int64_t md_h5_whole_rows(MdH5Calls *calls, const MdH5md *file, int timeline, uint64_t n_bytes) {
    int64_t n = INT64_MAX;
    for (int k = 0; k < N_SERIES; k++) {
        const Series *series = &file->series[k];
        if (series->dataset <= 0 || series->timeline != timeline) continue;
        int64_t rows = md_h5_rows(calls, series);
        n = rows < n ? rows : n;
    }
    for (int k = 0; k < N_SERIES && !calls->failed; k++) {
        const Series *series = &file->series[k];
        if (series->dataset > 0 && series->timeline == timeline) n = stored_rows(calls, series, n, n_bytes);
    }
    if (calls->failed) return 0;
    int64_t *steps = md_h5_read_steps(calls, file, timeline, n), whole = 0;
    while (whole < n && steps[whole] >= 0 && (whole == 0 || steps[whole] > steps[whole - 1])) whole++;
    md_free(steps);
    return calls->failed ? 0 : whole;
}
