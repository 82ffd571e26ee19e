#define _XOPEN_SOURCE 700
#include "sample.h"

#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "output/schedule.h"

static double value_of(const Sample *sample, int quantity, int64_t t, int64_t i, int a) {
    if (quantity == MD_H5MD_IMAGE) return (double)((3 * i + a) % 5 - 2 + t);
    if (a >= sample->box.dimension) return 0;
    double x = 0.618033988749895 * (double)(i + 1) * (a + 1) + 0.1 * (double)t + 0.37 * quantity;
    x -= floor(x);
    return quantity == MD_H5MD_POSITION ? x * sample->box.length[a] : 20 * x - 10;
}

/* As it is in the file. */
static double stored_value(const Sample *sample, int quantity, int64_t t, int64_t i, int a) {
    double value = value_of(sample, quantity, t, i, a);
    return sample->precision == MD_FILE_PRECISION_DOUBLE ? value : (double)(float)value;
}

static void *make_array(const Sample *sample, int quantity, int64_t t) {
    void *array = md_alloc(3 * (size_t)sample->n_atoms, sizeof(double), "array of a frame");
    for (int64_t k = 0; k < 3 * sample->n_atoms; k++) {
        double value = value_of(sample, quantity, t, k / 3, (int)(k % 3));
        if (quantity == MD_H5MD_IMAGE) ((int32_t *)array)[k] = (int32_t)value;
        else if (sample->precision == MD_FILE_PRECISION_DOUBLE) ((double *)array)[k] = value;
        else ((float *)array)[k] = (float)value;
    }
    return array;
}

MdH5mdSpec sample_spec(const Sample *sample) {
    double *mass = md_alloc(MD_MAX_TYPES, sizeof *mass, "masses");
    int32_t *type = md_alloc((size_t)sample->n_atoms, sizeof *type, "types");
    for (int a = 0; a < MD_MAX_TYPES; a++) mass[a] = 1 + 0.5 * a;
    for (int64_t i = 0; i < sample->n_atoms; i++) type[i] = (int32_t)(i * 7 % sample->n_types);
    return (MdH5mdSpec){.n_atoms = sample->n_atoms,
                        .box = sample->box,
                        .n_types = sample->n_types,
                        .type = type,
                        .mass = mass,
                        .type_name = {"Kr", "B", "C", "D", "E", "F", "G", "fourteen bytes\xc3\xb6x"},
                        .precision = sample->precision,
                        .compression = sample->compression,
                        .every = {sample->every[0], sample->every[1], sample->every[2], sample->every[3]},
                        .last_step = 50 * (sample->n_planned - 1),
                        .commit_frames = 1,
                        .commit_seconds = 10,
                        .run_id = "0123456789abcdef",
                        .deck = "[system]\nseed = 1  # Gr\xc3\xb6\xc3\x9f"
                                "e\n",
                        .provenance = "{\"commit\": \"abc\"}"};
}

void sample_free_spec(MdH5mdSpec *spec) {
    md_free((void *)spec->type);
    md_free((void *)spec->mass);
}

MdH5md *sample_create(const char *path, const Sample *sample, MdErrors *errors) {
    MdH5mdSpec spec = sample_spec(sample);
    MdH5md *file = md_h5md_create(path, &spec, NULL, errors);
    sample_free_spec(&spec);
    return file;
}

static bool is_due(const Sample *sample, int quantity, int64_t t) {
    return md_schedule_due(sample->every[quantity], 50 * t, 50 * (sample->n_planned - 1));
}

MdStatus sample_append(MdH5md *file, const Sample *sample, int64_t t, MdErrors *errors) {
    void *arrays[MD_H5MD_N_QUANTITIES] = {NULL};
    for (int q = 0; q < MD_H5MD_N_QUANTITIES; q++)
        if (is_due(sample, q, t)) arrays[q] = make_array(sample, q, t);
    double x = (double)t;
    MdFrame frame = {50 * t, 0.25 * x, sample->precision, arrays[0], arrays[1], arrays[2], arrays[3]};
    bool open = isnan(md_box_volume(&sample->box));
    MdThermo thermo = {.step = frame.step,
                       .time = frame.time,
                       .temperature = 1 + x,
                       .pressure = open ? NAN : 2 + x,
                       .potential = -3 - x,
                       .kinetic = 4 + x,
                       .total = 5 + x,
                       .conserved = 6 + x};
    MdStatus status = md_h5md_append(file, &frame, &thermo, errors);
    for (int q = 0; q < MD_H5MD_N_QUANTITIES; q++) md_free(arrays[q]);
    return status;
}

/* All of a dataset as doubles, md_free; *n_rows -1 where there is none. */
static double *read_all(hid_t file, const char *name, int64_t *n_rows) {
    *n_rows = -1;
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    if (set < 0) return NULL;
    hsize_t extent[3] = {0, 1, 1};
    hid_t space = H5Dget_space(set);
    H5Sget_simple_extent_dims(space, extent, NULL);
    double *values = md_alloc(extent[0] * extent[1] * extent[2] + 1, sizeof *values, "dataset");
    if (H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0) *n_rows = (int64_t)extent[0];
    H5Sclose(space);
    H5Dclose(set);
    return values;
}

/* A series of one number a frame: scale t + offset. */
static void check_line(hid_t file, const char *name, int64_t n, double scale, double offset) {
    int64_t n_rows;
    double *values = read_all(file, name, &n_rows);
    bool right = n_rows == n;
    for (int64_t t = 0; right && t < n; t++) right = values[t] == scale * (double)t + offset;
    if (!CHECK(right)) printf("    %s: %lld rows, expected %lld\n", name, (long long)n_rows, (long long)n);
    md_free(values);
}

static void check_quantity(hid_t file, const Sample *sample, int quantity, int64_t n_least, int64_t n_most) {
    static const char *const names[] = {"position", "velocity", "force", "image"};
    /* At steps of their own they are in a group of their own. */
    char *group = sample->every[quantity] == 50 ? md_format("particles/all/%s", names[quantity])
                                                : md_format("particles/all_%s/%s", names[quantity], names[quantity]);
    char *path = md_format("%s/value", group), *step_path = md_format("%s/step", group);
    int64_t n_rows, n_steps, row = 0, n_needed = 0, t = -1;
    double *values = read_all(file, path, &n_rows), *steps = read_all(file, step_path, &n_steps);
    for (int64_t s = 0; s < n_least; s++) n_needed += is_due(sample, quantity, s);
    bool right = n_rows == n_steps && n_rows >= n_needed;
    for (; right && row < n_rows; row++) {
        do t++;
        while (t < n_most && !is_due(sample, quantity, t));
        right = t < n_most && steps[row] == 50 * (double)t;
        const double *frame = values + 3 * row * sample->n_atoms;
        for (int64_t k = 0; right && k < 3 * sample->n_atoms; k++)
            right = frame[k] == stored_value(sample, quantity, t, k / 3, (int)(k % 3));
    }
    if (!CHECK(right))
        printf("    %s: %lld rows and %lld steps, at least %lld expected; wrong at %lld\n", path, (long long)n_rows,
               (long long)n_steps, (long long)n_needed, (long long)row - 1);
    md_free(values);
    md_free(steps);
    free(group);
    free(path);
    free(step_path);
}

int64_t sample_check(const char *path, const Sample *sample, int64_t n_least, int64_t n_most) {
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (!CHECK(file >= 0)) return -1;
    int64_t n;
    md_free(read_all(file, "particles/all/position/step", &n));
    if (!CHECK(n >= n_least && n <= n_most))
        printf("    %lld frames, expected %lld to %lld\n", (long long)n, (long long)n_least, (long long)n_most);
    for (int q = 0; q < MD_H5MD_N_QUANTITIES; q++)
        if (sample->every[q] == 50) check_quantity(file, sample, q, n, n);
        else if (sample->every[q] > 0) check_quantity(file, sample, q, n_least, n_most);
    check_line(file, "particles/all/position/time", n, 0.25, 0);
    check_line(file, "observables/temperature/value", n, 1, 1);
    check_line(file, "observables/conserved_energy/value", n, 1, 6);
    int64_t n_edges;
    md_free(read_all(file, "particles/all/box/edges/value", &n_edges));
    CHECK(n_edges == (md_box_is_open(&sample->box) ? -1 : n));
    CHECK(H5Fclose(file) >= 0);
    return n;
}

const Sample sample_plain = {
    "plain", 500, 20, 0, {3, {7.5, 8.5, 9.25}, {true, true, true}}, 2, MD_FILE_PRECISION_SINGLE, 0, {50, 50, 0, 50}};
const Sample sample_gzip = {
    "gzip", 500, 20, 0, {3, {7.5, 8.5, 9.25}, {true, true, true}}, 2, MD_FILE_PRECISION_DOUBLE, 3, {50, 100, 50, 0}};

void sample_write(const char *path, const Sample *sample, int64_t n) {
    MdErrors *errors = md_errors_create();
    MdH5md *file = sample_create(path, sample, errors);
    md_require(file);
    for (int64_t t = 0; t < n; t++) CHECK(sample_append(file, sample, t, errors) == MD_OK);
    CHECK(md_h5md_close(file, errors) == MD_OK);
    md_errors_print(errors, stdout);
    md_errors_destroy(errors);
}

char *sample_read_file(const char *path, size_t *size) {
    struct stat status;
    *size = 0;
    if (stat(path, &status) != 0) return NULL;
    char *bytes = malloc((size_t)status.st_size + 1);
    int descriptor = open(path, O_RDONLY);
    md_require(bytes && descriptor >= 0 && read(descriptor, bytes, (size_t)status.st_size) == status.st_size);
    close(descriptor);
    *size = (size_t)status.st_size;
    return bytes;
}

void sample_write_file(const char *path, const char *bytes, size_t size) {
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    md_require(descriptor >= 0 && write(descriptor, bytes, size) == (ssize_t)size);
    close(descriptor);
}
