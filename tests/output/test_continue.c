/* Continuing a trajectory: in place, and in a copy where the layout changes; and an XYZ file. */
#define _GNU_SOURCE 1
#include <hdf5.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "output/xyz.h"
#include "sample.h"

static MdH5md *reopen(const char *path, const Sample *sample, int64_t last_step, MdErrors *errors) {
    MdH5mdSpec spec = sample_spec(sample);
    const MdH5mdKept kept = {.last_step = {last_step, last_step, last_step, last_step}};
    MdH5md *file = md_h5md_reopen(path, &spec, &kept, errors);
    sample_free_spec(&spec);
    return file;
}

/* The first n frames by one sample, from frame `from` on by another. */
static void test_continue(const char *path, const Sample *first, int64_t n, const Sample *then, int64_t from,
                          bool in_place) {
    struct stat before, after;
    sample_write(path, first, n);
    CHECK(stat(path, &before) == 0);
    MdErrors *errors = md_errors_create();
    MdH5md *file = reopen(path, then, 50 * (from - 1), errors);
    if (CHECK(file != NULL)) {
        CHECK(md_h5md_frames(file) == from);
        CHECK(strcmp(md_h5md_continued(file).added, "") == 0); /* all of it is known */
        for (int64_t t = from; t < then->n_planned; t++) CHECK(sample_append(file, then, t, errors) == MD_OK);
        CHECK(sample_append(file, then, then->n_planned, errors) == MD_ERROR_OUTPUT); /* no more were planned */
        CHECK(md_errors_count(errors) == 1);
        CHECK(md_h5md_close(file, errors) == MD_OK);
        CHECK(stat(path, &after) == 0 && (before.st_ino == after.st_ino) == in_place);
        char *copy = md_format("%s.tmp", path);
        CHECK(access(copy, F_OK) != 0);
        free(copy);
    } else {
        md_errors_print(errors, stdout);
    }
    md_errors_destroy(errors);
}

static void test_all_continuations(const char *path) {
    Sample longer = sample_plain, other;
    check_context("in place");
    test_continue(path, &sample_plain, 20, &sample_plain, 13, true);
    sample_check(path, &sample_plain, 20, 20);
    test_continue(path, &sample_plain, 5, &sample_plain, 5, true);
    sample_check(path, &sample_plain, 20, 20);
    test_continue(path, &sample_gzip, 20, &sample_gzip, 7, true);
    sample_check(path, &sample_gzip, 20, 20);
    check_context("from the very start");
    test_continue(path, &sample_gzip, 20, &sample_gzip, 0, true);
    sample_check(path, &sample_gzip, 20, 20);

    check_context("more frames than were planned");
    longer.n_planned = 35;
    test_continue(path, &sample_plain, 20, &longer, 20, false);
    sample_check(path, &longer, 35, 35);
    longer = sample_gzip;
    longer.n_planned = 41; /* frame 19 has velocities, as the last one then; sample_check would miss that */
    test_continue(path, &sample_gzip, 19, &longer, 19, false);
    sample_check(path, &longer, 41, 41);

    check_context("compression and precision change");
    other = sample_plain;
    other.compression = 6;
    test_continue(path, &sample_plain, 20, &other, 8, false);
    sample_check(path, &sample_plain, 20, 20);
    test_continue(path, &other, 20, &sample_plain, 8, false);
    sample_check(path, &sample_plain, 20, 20);
    other = sample_gzip;
    other.precision = MD_FILE_PRECISION_SINGLE;
    test_continue(path, &sample_gzip, 20, &other, 8, false);
    sample_check(path, &other, 20, 20);
}

/* Velocities from some frame on, and no more of them: the file keeps what it has, at steps of their own. */
static void test_quantities_change(const char *path) {
    Sample without = sample_plain, with = sample_plain;
    without.every[MD_H5MD_VELOCITY] = 0;
    check_context("velocities from the middle on");
    test_continue(path, &without, 20, &with, 10, false);
    sample_check(path, &without, 20, 20);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    double steps[20] = {0};
    hid_t set = H5Dopen2(file, "particles/all_velocity/velocity/step", H5P_DEFAULT);
    CHECK(set >= 0 && H5Dget_storage_size(set) > 0 &&
          H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, steps) >= 0);
    CHECK(steps[0] == 500 && steps[9] == 950 && steps[10] == 0);
    H5Dclose(set);
    H5Fclose(file);
    check_context("no velocities from the middle on");
    test_continue(path, &with, 20, &without, 10, false);
    sample_check(path, &without, 20, 20);
    memset(steps, 0, sizeof steps);
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    set = H5Dopen2(file, "particles/all_velocity/velocity/step", H5P_DEFAULT);
    CHECK(set >= 0 && H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, steps) >= 0);
    CHECK(steps[0] == 0 && steps[9] == 450 && steps[10] == 0);
    H5Dclose(set);
    H5Fclose(file);
}

static void check_not_continued(const char *path, const Sample *sample, const char *text) {
    MdErrors *errors = md_errors_create();
    CHECK(reopen(path, sample, 200, errors) == NULL);
    if (!CHECK(md_errors_count(errors) == 1 && md_errors_status(errors) == MD_ERROR_INPUT &&
               strstr(md_errors_text(errors, 0), text)))
        md_errors_print(errors, stdout);
    md_errors_destroy(errors);
}

static void test_not_continued(const char *path) {
    check_context("what cannot be continued");
    unlink(path);
    check_not_continued(path, &sample_plain, "No such file");
    sample_write(path, &sample_plain, 10);
    Sample other = sample_plain;
    other.n_atoms--;
    check_not_continued(path, &other, "another number of particles");
    MdErrors *told = md_errors_create();
    MdH5mdSpec foreign = sample_spec(&sample_plain);
    foreign.run_id = "0123456789abcdee";
    CHECK(md_h5md_reopen(path, &foreign, &(MdH5mdKept){0}, told) == NULL &&
          strstr(md_errors_text(told, 0), "another run"));
    md_errors_destroy(told);
    sample_free_spec(&foreign);
    other = sample_plain;
    other.every[MD_H5MD_IMAGE] = 0;
    check_not_continued(path, &other, "output.images_every");
    MdErrors *errors = md_errors_create();
    MdH5mdSpec spec = sample_spec(&sample_plain);
    const MdH5mdKept kept = {.last_step = {200, 200, 200, 200}, .n_frames = 6}; /* 5 are up to there */
    CHECK(md_h5md_reopen(path, &spec, &kept, errors) == NULL && md_errors_status(errors) == MD_ERROR_INPUT);
    sample_free_spec(&spec);
    md_errors_destroy(errors);
    sample_check(path, &sample_plain, 10, 10);
}

/* The copy finds no room: the file stays as it is. */
static void test_no_room_for_copy(const char *path) {
    check_context("no room for a copy");
    sample_write(path, &sample_plain, 20);
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = 300000; /* twenty frames take 360000 bytes */
    setrlimit(RLIMIT_FSIZE, &limit);
    Sample longer = sample_plain;
    longer.n_planned = 30;
    MdErrors *errors = md_errors_create();
    CHECK(reopen(path, &longer, 950, errors) == NULL && md_errors_status(errors) == MD_ERROR_OUTPUT);
    setrlimit(RLIMIT_FSIZE, &old);
    md_errors_destroy(errors);
    sample_check(path, &sample_plain, 20, 20);
    char *copy = md_format("%s.tmp", path);
    CHECK(access(copy, F_OK) != 0);
    free(copy);
}

/* --- XYZ ----------------------------------------------------------------------------------------------------------- */

static void append_xyz(MdXyz *file, int64_t t, bool good) {
    float position[9] = {0.5f, 1, 2, 3, 4, (float)t, 0.1f, 0.25f, 1e-7f};
    MdFrame frame = {50 * t, 0.25 * (double)t, MD_FILE_PRECISION_SINGLE, position, position, NULL, NULL};
    MdThermo thermo = {.step = frame.step, .time = frame.time, .temperature = 1 + (double)t};
    MdErrors *errors = md_errors_create();
    CHECK((md_xyz_append(file, &frame, &thermo, errors) == MD_OK) == good);
    md_errors_destroy(errors);
}

/* Frames 0 .. 9, the last step of which is torn; continued after step 200, the file is that of a run that was not. */
static void test_xyz(const char *path) {
    check_context("XYZ");
    const Sample sample = {"",           3, 20, 0, {3, {5, 5, 5}, {true, true, true}}, 1, MD_FILE_PRECISION_SINGLE, 0,
                           {50, 0, 0, 0}};
    MdH5mdSpec spec = sample_spec(&sample);
    MdErrors *errors = md_errors_create();
    MdXyz *file = md_xyz_create(path, &spec, true, errors);
    for (int64_t t = 0; t < 10; t++) append_xyz(file, t, true);
    CHECK(md_xyz_frames(file) == 10 && md_xyz_close(file, errors) == MD_OK);
    size_t size, size_after;
    char *whole = sample_read_file(path, &size), *after;
    const int64_t cuts[] = {0, 1, 77, 200};
    for (int k = 0; k < 4; k++)
        for (int64_t last = -50; last <= 450; last += 250) {
            sample_write_file(path, whole, size - (size_t)cuts[k]);
            file = md_xyz_reopen(path, &spec, true, last, 0, errors);
            if (!CHECK(file != NULL && md_xyz_cut(file, errors) == MD_OK)) continue;
            int64_t from = md_xyz_frames(file);
            CHECK(from == last / 50 + 1 || (last == 450 && from == 9 && k > 0));
            CHECK(md_xyz_dropped(file) == (k > 0 ? 9 : 10) - from);
            for (int64_t t = from; t < 10; t++) append_xyz(file, t, true);
            CHECK(md_xyz_close(file, errors) == MD_OK);
            after = sample_read_file(path, &size_after);
            CHECK(size == size_after && memcmp(whole, after, size) == 0);
            free(after);
        }
    CHECK(md_errors_count(errors) == 0);
    CHECK(md_xyz_reopen(path, &spec, false, 450, 0, errors) == NULL && md_errors_status(errors) == MD_ERROR_INPUT);
    after = sample_read_file(path, &size_after);
    CHECK(size == size_after && memcmp(whole, after, size) == 0); /* refused, and left alone */
    free(after);
    CHECK(md_xyz_reopen(path, &spec, true, 200, 6, errors) == NULL &&
          md_errors_count(errors) == 2); /* 5 are up to there */
    after = sample_read_file(path, &size_after);
    CHECK(size == size_after && memcmp(whole, after, size) == 0);
    free(after);
    file = md_xyz_reopen(path, &spec, true, 450, 10, errors);
    unlink(path);
    append_xyz(file, 10, false); /* it is gone */
    CHECK(md_xyz_close(file, errors) == MD_ERROR_OUTPUT);
    md_errors_destroy(errors);
    sample_free_spec(&spec);
    free(whole);
}

int main(void) {
    signal(SIGXFSZ, SIG_IGN);
    char folder[] = "test_continue_XXXXXX";
    if (!CHECK(mkdtemp(folder) != NULL)) return check_finish();
    char *path = md_format("%s/x.h5", folder);
    test_all_continuations(path);
    test_quantities_change(path);
    test_not_continued(path);
    test_no_room_for_copy(path);
    test_xyz(path);
    unlink(path);
    free(path);
    CHECK(rmdir(folder) == 0);
    return check_finish();
}
