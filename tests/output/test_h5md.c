/* The trajectory: what it holds after a clean end, after a kill, on a full disk, and how it fails.
 *
 * `test_h5md FOLDER` only writes the sample files, for test_readers.py to open with other programs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "output/h5md.h"
#include "output/schedule.h"

typedef struct Sample {
    const char *name;
    int64_t n_atoms, n_planned, n_written;
    MdBox box;
    int n_types, precision, compression;
    int64_t every[MD_H5MD_N_QUANTITIES]; /* positions every 50 steps */
} Sample;

static const Sample samples[] = {
    {"all3d", 101, 6, 4, {3, {7.5, 8.5, 9.25}, {true, true, true}}, 2, MD_FILE_PRECISION_SINGLE, 0, {50, 50, 50, 50}},
    {"plain2d", 64, 3, 3, {2, {8, 10, 0}, {true, true, false}}, 1, MD_FILE_PRECISION_DOUBLE, 0, {50, 0, 0, 0}},
    {"open3d", 33, 1, 1, {3, {5, 6, 7}, {true, false, true}}, 1, MD_FILE_PRECISION_SINGLE, 0, {50, 50, 0, 0}},
    {"many", 9, 700, 700, {3, {4, 4, 4}, {true, true, true}}, 8, MD_FILE_PRECISION_DOUBLE, 0, {50, 0, 50, 0}},
    {"gzip", 2000, 9, 8, {3, {7, 8, 9}, {true, true, true}}, 3, MD_FILE_PRECISION_SINGLE, 4, {50, 50, 0, 50}},
    {"intervals", 40, 12, 12, {3, {7, 8, 9}, {true, true, true}}, 2, MD_FILE_PRECISION_SINGLE, 0, {50, 100, 150, 50}},
    {"gzipped", 40, 12, 12, {3, {7, 8, 9}, {true, true, true}}, 2, MD_FILE_PRECISION_DOUBLE, 9, {50, 100, 50, 0}},
};
enum { N_SAMPLES = sizeof samples / sizeof samples[0] };

/* The numbers in the samples; test_readers.py has the same formula. quantity: 0 position, 1 velocity, 2 force. */
static double value_of(const Sample *sample, int quantity, int64_t t, int64_t i, int a) {
    if (a >= sample->box.dimension) return 0;
    double x = 0.618033988749895 * (double)(i + 1) * (a + 1) + 0.1 * (double)t + 0.37 * quantity;
    x -= floor(x);
    return quantity == 0 ? x * sample->box.length[a] : 20 * x - 10;
}

static void fill(const Sample *sample, int quantity, int64_t t, void *array) {
    for (int64_t i = 0; i < sample->n_atoms; i++)
        for (int a = 0; a < 3; a++) {
            double value = value_of(sample, quantity, t, i, a);
            if (sample->precision == MD_FILE_PRECISION_DOUBLE) ((double *)array)[3 * i + a] = value;
            else ((float *)array)[3 * i + a] = (float)value;
        }
}

static MdH5md *open_sample(const char *path, const Sample *sample, MdErrors *errors) {
    double mass[MD_MAX_TYPES];
    int32_t *type = md_alloc((size_t)sample->n_atoms, sizeof *type, "types");
    for (int a = 0; a < MD_MAX_TYPES; a++) mass[a] = 1 + 0.5 * a;
    for (int64_t i = 0; i < sample->n_atoms; i++) type[i] = (int32_t)(i * 7 % sample->n_types);
    MdH5mdSpec spec = {.n_atoms = sample->n_atoms,
                       .box = sample->box,
                       .n_types = sample->n_types,
                       .type = type,
                       .mass = mass,
                       .type_name = {"Kr", "B", "C", "D", "E", "F", "G", "H"},
                       .precision = sample->precision,
                       .compression = sample->compression,
                       .every = {sample->every[0], sample->every[1], sample->every[2], sample->every[3]},
                       .last_step = 50 * (sample->n_planned - 1),
                       .commit_frames = 1,
                       .commit_seconds = 10,
                       .deck = "[system]\nseed = 1  # Gr\xc3\xb6\xc3\x9f"
                               "e\n",
                       .provenance = "{\"commit\": \"abc\"}"};
    MdH5md *file = md_h5md_create(path, &spec, errors);
    md_free(type);
    return file;
}

static bool is_due(const Sample *sample, int quantity, int64_t t) {
    return md_schedule_due(sample->every[quantity], 50 * t, 50 * (sample->n_planned - 1));
}

/* Step 50 t at time 0.25 t; every observable its own number. */
static MdStatus append_sample(MdH5md *file, const Sample *sample, int64_t t, MdErrors *errors) {
    size_t n = 3 * (size_t)sample->n_atoms;
    MdFrame frame = {.step = 50 * t,
                     .time = 0.25 * (double)t,
                     .precision = sample->precision,
                     .position = md_alloc(n, sizeof(double), "position")};
    if (is_due(sample, 1, t)) frame.velocity = md_alloc(n, sizeof(double), "velocity");
    if (is_due(sample, 2, t)) frame.force = md_alloc(n, sizeof(double), "force");
    if (is_due(sample, 3, t)) frame.image = md_alloc(n, sizeof(int32_t), "image");
    fill(sample, 0, t, frame.position);
    if (frame.velocity) fill(sample, 1, t, frame.velocity);
    if (frame.force) fill(sample, 2, t, frame.force);
    for (size_t k = 0; frame.image && k < n; k++) frame.image[k] = (int32_t)(k % 5) - 2 + (int32_t)t;
    double x = (double)t;
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
    md_free(frame.position);
    md_free(frame.velocity);
    md_free(frame.force);
    md_free(frame.image);
    return status;
}

/* Reads frame t of a dataset of doubles; false where there is no such frame. */
static bool read_row(hid_t file, const char *name, int64_t t, double *values) {
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    if (set < 0) return false;
    hid_t space = H5Dget_space(set);
    hsize_t extent[3] = {0}, start[3] = {(hsize_t)t, 0, 0};
    int rank = H5Sget_simple_extent_dims(space, extent, NULL);
    bool good = rank >= 1 && (hsize_t)t < extent[0];
    if (good) {
        extent[0] = 1;
        hid_t memory = H5Screate_simple(rank, extent, NULL);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, extent, NULL);
        good = H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) >= 0;
        H5Sclose(memory);
    }
    H5Sclose(space);
    H5Dclose(set);
    return good;
}

static int64_t n_rows(hid_t file, const char *name) {
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    hsize_t extent[3] = {0};
    hid_t space = H5Dget_space(set);
    H5Sget_simple_extent_dims(space, extent, NULL);
    H5Sclose(space);
    H5Dclose(set);
    return (int64_t)extent[0];
}

/* The file opens plainly and holds exactly n frames with the numbers of the sample. */
static void check_frames(const char *path, const Sample *sample, int64_t n) {
    static const char *const sets[] = {"/particles/all/position/value",  "/particles/all/position/step",
                                       "/particles/all/position/time",   "/particles/all/box/edges/value",
                                       "/observables/temperature/value", "/observables/internal_energy/value"};
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (!CHECK(file >= 0)) return;
    for (int k = 0; k < 6; k++) CHECK(n_rows(file, sets[k]) == n);
    double *row = md_alloc(3 * (size_t)sample->n_atoms, sizeof *row, "row"), number = -1;
    for (int64_t t = 0; t < n; t++) {
        if (!CHECK(read_row(file, sets[0], t, row))) break;
        double worst = 0;
        for (int64_t i = 0; i < sample->n_atoms; i++)
            for (int a = 0; a < 3; a++) worst = fmax(worst, fabs(row[3 * i + a] - value_of(sample, 0, t, i, a)));
        CHECK_NEAR(worst, 0, 1e-6);
        CHECK(read_row(file, sets[1], t, &number) && number == 50 * (double)t);
        CHECK(read_row(file, sets[2], t, &number) && number == 0.25 * (double)t);
        CHECK(read_row(file, sets[5], t, &number) && number == 5 + (double)t);
    }
    md_free(row);
    CHECK(H5Fclose(file) >= 0);
}

static void write_sample(const char *path, const Sample *sample) {
    MdErrors *errors = md_errors_create();
    MdH5md *file = open_sample(path, sample, errors);
    if (CHECK(file != NULL))
        for (int64_t t = 0; t < sample->n_written; t++) CHECK(append_sample(file, sample, t, errors) == MD_OK);
    CHECK(md_h5md_close(file, errors) == MD_OK);
    CHECK(md_errors_count(errors) == 0);
    md_errors_print(errors, stdout);
    md_errors_destroy(errors);
}

static void test_frames(const char *folder) {
    for (int k = 0; k < N_SAMPLES; k++) {
        char *path = md_format("%s/%s.h5", folder, samples[k].name);
        check_context("%s", samples[k].name);
        write_sample(path, &samples[k]);
        check_frames(path, &samples[k], samples[k].n_written);
        free(path);
    }
}

/* Beyond the plan, an append is refused and harms nothing. */
static void test_full_plan(const char *folder) {
    check_context("more frames than planned");
    char *path = md_format("%s/plan.h5", folder);
    const Sample *sample = &samples[1];
    MdErrors *errors = md_errors_create();
    MdH5md *file = open_sample(path, sample, errors);
    for (int64_t t = 0; t < sample->n_planned; t++) CHECK(append_sample(file, sample, t, errors) == MD_OK);
    CHECK(append_sample(file, sample, sample->n_planned, errors) == MD_ERROR_OUTPUT);
    CHECK(md_errors_count(errors) == 1 && strstr(md_errors_text(errors, 0), "planned"));
    CHECK(md_h5md_close(file, errors) == MD_OK);
    check_frames(path, sample, sample->n_planned);
    md_errors_destroy(errors);
    free(path);
}

/* A killed run keeps what was appended, and the file opens as it is. */
static void test_kill(const char *folder) {
    char *path = md_format("%s/kill.h5", folder);
    for (int64_t n = 0; n <= 3; n += 3) {
        check_context("killed after %d frames", (int)n);
        pid_t child = fork();
        if (child == 0) {
            MdErrors *errors = md_errors_create();
            MdH5md *file = open_sample(path, &samples[0], errors);
            for (int64_t t = 0; t < n; t++) append_sample(file, &samples[0], t, errors);
            kill(getpid(), SIGKILL);
        }
        int status;
        waitpid(child, &status, 0);
        CHECK(WIFSIGNALED(status));
        check_frames(path, &samples[0], n);
    }
    free(path);
}

/* Fills the disk under a running trajectory. The failed frame is told with the system's words, and those before it
 * stay. by_limit: the disk is the process's own limit of file sizes, lowered in the run; else a small file system. */
static void fill_disk(const char *folder, const Sample *sample, bool by_limit) {
    check_context("disk full by %s, %d atoms", by_limit ? "limit" : "tmpfs", (int)sample->n_atoms);
    char *path = md_format("%s/full.h5", folder), *filler = md_format("%s/filler", folder);
    MdErrors *errors = md_errors_create();
    MdH5md *file = open_sample(path, sample, errors);
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    int64_t t = 0;
    for (; file && t < 2; t++) CHECK(append_sample(file, sample, t, errors) == MD_OK);
    if (by_limit) {
        limit.rlim_cur = 1300000; /* within the third frame */
        setrlimit(RLIMIT_FSIZE, &limit);
    } else {
        static const char zeros[4096];
        int fd = open(filler, O_WRONLY | O_CREAT, 0600);
        while (write(fd, zeros, sizeof zeros) > 0) {}
        close(fd);
    }
    while (file && t < sample->n_planned && append_sample(file, sample, t, errors) == MD_OK) t++;
    CHECK(t >= 2 && t < sample->n_planned);
    const char *text = md_errors_count(errors) == 1 ? md_errors_text(errors, 0) : "";
    CHECK(strstr(text, path) && strstr(text, by_limit ? "File too large" : "No space left on device"));
    if (file) CHECK(append_sample(file, sample, t, errors) == MD_ERROR_OUTPUT); /* and once more */
    CHECK(md_h5md_close(file, errors) == MD_ERROR_OUTPUT && md_errors_count(errors) == 1); /* told once */
    setrlimit(RLIMIT_FSIZE, &old);
    check_frames(path, sample, t);
    md_errors_destroy(errors);
    unlink(path);
    unlink(filler);
    free(path);
    free(filler);
}

/* Frames of half a megabyte, and frames so small that many share a page. */
static const Sample big_sample = {
    "full", 40000, 6, 6, {3, {9, 9, 9}, {true, true, true}}, 1, MD_FILE_PRECISION_SINGLE, 0, {50, 0, 0, 0}};
static const Sample small_sample = {
    "full", 100, 500, 500, {3, {9, 9, 9}, {true, true, true}}, 1, MD_FILE_PRECISION_SINGLE, 0, {50, 50, 0, 0}};

static bool write_text(const char *path, const char *text) {
    int fd = open(path, O_WRONLY);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return good;
}

/* A mount table of its own for this process. Who is not root gets one with a user namespace, in which the user must be
 * mapped: without a map no file can be created there. */
static bool unshare_mounts(void) {
    if (unshare(CLONE_NEWNS) == 0) return true;
    char *uid = md_format("0 %u 1", (unsigned)getuid()), *gid = md_format("0 %u 1", (unsigned)getgid());
    bool good = unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_text("/proc/self/setgroups", "deny") &&
                write_text("/proc/self/uid_map", uid) && write_text("/proc/self/gid_map", gid);
    free(uid);
    free(gid);
    return good;
}

/* In a child with a mount table of its own, so that nothing is left behind; its exit code counts as one check. */
static void test_full_file_system(const char *folder) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!unshare_mounts() || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("tmpfs", folder, "tmpfs", 0, "size=8m") != 0)
            _exit(CHECK_SKIPPED);
        fill_disk(folder, &big_sample, false);
        fill_disk(folder, &small_sample, false);
        int failed = check_finish();
        fflush(stdout);
        _exit(failed);
    }
    int status;
    waitpid(child, &status, 0);
    check_context("disk full on a tmpfs");
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHECK_SKIPPED)
        printf("not tested: a full tmpfs, for this user may not mount one\n");
    else CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A disk that holds fewer frames than planned: the file takes those that fit, and says why no more. */
static void test_capacity(const char *folder) {
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    Sample sample = samples[3];
    sample.n_planned = INT64_C(1) << 50;
    char *path = md_format("%s/capacity.h5", folder);
    MdErrors *errors = md_errors_create();

    check_context("no room for one frame");
    limit.rlim_cur = 10000;
    setrlimit(RLIMIT_FSIZE, &limit);
    CHECK(open_sample(path, &sample, errors) == NULL);
    CHECK(md_errors_status(errors) == MD_ERROR_OUTPUT && strstr(md_errors_text(errors, 0), "no space left"));
    CHECK(access(path, F_OK) != 0);
    md_errors_destroy(errors);

    check_context("room for some frames");
    limit.rlim_cur = 2000000;
    setrlimit(RLIMIT_FSIZE, &limit);
    errors = md_errors_create();
    MdH5md *file = open_sample(path, &sample, errors);
    int64_t n = 0;
    while (file && n < 100000 && append_sample(file, &sample, n, errors) == MD_OK) n++;
    CHECK(n > 100 && n < 100000);
    CHECK(md_errors_count(errors) == 1 && strstr(md_errors_text(errors, 0), "no more fit"));
    CHECK(md_h5md_close(file, errors) == MD_OK);
    setrlimit(RLIMIT_FSIZE, &old);
    check_frames(path, &sample, n);
    md_errors_destroy(errors);
    free(path);
}

static void test_bad_path(const char *folder) {
    check_context("a folder that does not exist");
    MdErrors *errors = md_errors_create();
    char *path = md_format("%s/none/x.h5", folder);
    CHECK(open_sample(path, &samples[0], errors) == NULL);
    CHECK(md_errors_count(errors) == 1 && md_errors_status(errors) == MD_ERROR_OUTPUT);
    if (md_errors_count(errors) == 1)
        CHECK(strstr(md_errors_text(errors, 0), path) && strstr(md_errors_text(errors, 0), "No such file"));
    CHECK(md_h5md_close(NULL, errors) == MD_OK);
    md_errors_destroy(errors);
    free(path);
}

int main(int n, char **arguments) {
    /* As the program does: a write beyond the limit then fails, instead of ending the process. */
    signal(SIGXFSZ, SIG_IGN);
    setenv("MDMINI_AUTHOR_NAME", "J. Doe", 1);
    if (n == 2) {
        test_frames(arguments[1]);
        return check_finish();
    }
    char folder[] = "test_h5md_XXXXXX";
    if (!CHECK(mkdtemp(folder) != NULL)) return check_finish();
    char version[32];
    CHECK(strchr(md_h5md_library_version(version), '.') != NULL);
    test_frames(folder);
    test_full_plan(folder);
    test_kill(folder);
    fill_disk(folder, &big_sample, true);
    test_full_file_system(folder);
    test_capacity(folder);
    test_bad_path(folder);
    char *command = md_format("rm -r '%s'", folder);
    CHECK(system(command) == 0);
    free(command);
    return check_finish();
}
