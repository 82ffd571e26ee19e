/* Recovery of files that are damaged, foreign or in use, and continuing a trajectory: in place, and in a copy where the
 * layout changes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <hdf5.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "output/xyz.h"
#include "sample.h"

/* As long as blind is set, nobody seems to hold a lock. In place of the C library's; HDF5 calls one of the two. */
static bool blind;

int fcntl64(int descriptor, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (blind && command == F_OFD_GETLK) {
        ((struct flock *)argument)->l_type = F_UNLCK;
        return 0;
    }
    return (int)syscall(SYS_fcntl, descriptor, command, argument);
}

int fcntl(int descriptor, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return fcntl64(descriptor, command, argument);
}

/* As long as dying is set, the program is killed when it cuts a series. */
static bool dying;
enum { KILLED = 9 };

herr_t H5Dset_extent(hid_t dataset, const hsize_t extents[]) {
    herr_t (*real)(hid_t, const hsize_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "H5Dset_extent");
    if (dying) _exit(KILLED);
    return real(dataset, extents);
}

static const Sample plain = {
    "plain", 500, 20, 0, {3, {7.5, 8.5, 9.25}, {true, true, true}}, 2, MD_FILE_PRECISION_SINGLE, 0, {50, 50, 0, 50}};
static const Sample gzip = {
    "gzip", 500, 20, 0, {3, {7.5, 8.5, 9.25}, {true, true, true}}, 2, MD_FILE_PRECISION_DOUBLE, 3, {50, 100, 50, 0}};

/* Its steps, which are the end of a plain file, take several pages: cut among them, it keeps some frames. */
static const Sample rows = {
    "rows", 9, 3000, 0, {3, {7.5, 8.5, 9.25}, {true, true, true}}, 2, MD_FILE_PRECISION_SINGLE, 0, {50, 0, 0, 0}};

static void write_frames(const char *path, const Sample *sample, int64_t n) {
    MdErrors *errors = md_errors_create();
    MdH5md *file = sample_create(path, sample, errors);
    md_require(file);
    for (int64_t t = 0; t < n; t++) CHECK(sample_append(file, sample, t, errors) == MD_OK);
    CHECK(md_h5md_close(file, errors) == MD_OK);
    md_errors_print(errors, stdout);
    md_errors_destroy(errors);
}

/* All of a file; free(). */
static char *read_file(const char *path, size_t *size) {
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

static void write_file(const char *path, const char *bytes, size_t size) {
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    md_require(descriptor >= 0 && write(descriptor, bytes, size) == (ssize_t)size);
    close(descriptor);
}

/* Refused as bad input with this text in the message, and not a byte of the file is another. */
static void check_refused(const char *path, const char *text) {
    size_t size, size_after;
    char *before = read_file(path, &size), *after;
    MdErrors *errors = md_errors_create();
    MdH5mdRecovery recovery;
    CHECK(md_h5md_recover(path, &recovery, errors) == MD_ERROR_INPUT);
    if (!CHECK(md_errors_count(errors) == 1 && md_errors_status(errors) == MD_ERROR_INPUT &&
               strstr(md_errors_text(errors, 0), text) && strstr(md_errors_text(errors, 0), path)))
        md_errors_print(errors, stdout);
    after = read_file(path, &size_after);
    CHECK(size == size_after && (!before || memcmp(before, after, size) == 0));
    md_errors_destroy(errors);
    free(before);
    free(after);
}

static void test_good_order(const char *path) {
    for (int k = 0; k < 2; k++) {
        const Sample *sample = k ? &gzip : &plain;
        check_context("%s in good order", sample->name);
        write_frames(path, sample, 11);
        size_t size, size_after;
        char *before = read_file(path, &size), *after;
        MdErrors *errors = md_errors_create();
        MdH5mdRecovery recovery;
        CHECK(chmod(path, 0400) == 0); /* nothing needs to be written */
        CHECK(md_h5md_recover(path, &recovery, errors) == MD_OK && !recovery.changed);
        CHECK(recovery.series[0].n_kept == 11 && recovery.series[0].last_step == 500);
        CHECK(recovery.series[1].n_kept == (k ? 6 : -1) && recovery.series[2].n_kept == -1);
        char *text = md_h5md_describe_recovery(path, &recovery);
        CHECK(strstr(text, "good order") && strstr(text, "11 frames, the last of step 500"));
        after = read_file(path, &size_after);
        CHECK(size == size_after && memcmp(before, after, size) == 0);
        md_errors_destroy(errors);
        unlink(path);
        free(text), free(before), free(after);
    }
}

static void test_refused(const char *folder, const char *path) {
    check_context("no file");
    check_refused(path, "No such file");
    check_context("a folder");
    MdErrors *errors = md_errors_create();
    MdH5mdRecovery recovery;
    CHECK(md_h5md_recover(folder, &recovery, errors) == MD_ERROR_INPUT);
    md_errors_destroy(errors);
    check_context("an empty file");
    write_file(path, "", 0);
    check_refused(path, "empty");
    check_context("text");
    write_file(path, "[system]\n", 9);
    check_refused(path, "not an HDF5 file");

    check_context("HDF5 of somebody else");
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Gclose(H5Gcreate2(file, "h5md", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
    H5Pclose(access);
    check_refused(path, "not a trajectory of mdmini");
    check_context("the same, open for writing when its program died");
    size_t size;
    char *bytes = read_file(path, &size);
    bytes[size] = 0;
    char *longer = md_alloc(size + 10000, 1, "file");
    memcpy(longer, bytes, size);
    write_file(path, longer, size + 10000);
    check_refused(path, "not a trajectory of mdmini");
    md_free(longer);
    free(bytes);

    write_frames(path, &plain, 5);
    bytes = read_file(path, &size);
    check_context("a damaged superblock");
    bytes[30] ^= 4;
    write_file(path, bytes, size);
    check_refused(path, "damaged");
    bytes[30] ^= 4;
    check_context("damaged groups");
    for (size_t k = 48; k < 4096; k++) bytes[k] = 'x';
    write_file(path, bytes, size);
    check_refused(path, "it was left as it is");
    check_context("only the first page is there");
    write_file(path, bytes, 4096);
    check_refused(path, "mdmini --restart FILE");
    free(bytes);
    unlink(path);
}

/* The first frames of which every chunk lies in the first n_bytes of a whole file: those that must not be lost. */
typedef struct Kept {
    int64_t n_planned, n;
    uint64_t n_bytes;
} Kept;

static void keep_stored(hid_t file, const char *name, Kept *kept) {
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    if (set < 0) return;
    hid_t space = H5Dget_space(set), list = H5Dget_create_plist(set);
    hsize_t extent[3] = {0}, chunk[3] = {0}, at[3] = {0};
    H5Sget_simple_extent_dims(space, extent, NULL);
    H5Pget_chunk(list, 3, chunk);
    CHECK((int64_t)extent[0] == kept->n_planned && chunk[0] > 0);
    for (; chunk[0] > 0 && (int64_t)at[0] < kept->n; at[0] += chunk[0]) {
        haddr_t address = 0;
        hsize_t size = 0;
        CHECK(H5Dget_chunk_info_by_coord(set, at, NULL, &address, &size) >= 0);
        if (address + size > kept->n_bytes) kept->n = (int64_t)at[0];
    }
    H5Pclose(list), H5Sclose(space), H5Dclose(set);
}

static int64_t count_stored(const char *path, const Sample *sample, uint64_t n_bytes) {
    static const char *const names[] = {
        "particles/all/position/value",     "particles/all/position/step",       "particles/all/position/time",
        "particles/all/force/value",        "particles/all/velocity/value",      "particles/all/image/value",
        "particles/all/box/edges/value",    "observables/particle_number/value", "observables/temperature/value",
        "observables/pressure/value",       "observables/density/value",         "observables/potential_energy/value",
        "observables/kinetic_energy/value", "observables/internal_energy/value", "observables/conserved_energy/value",
    };
    Kept kept = {sample->n_planned, sample->n_planned, n_bytes};
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) keep_stored(file, names[k], &kept);
    H5Fclose(file);
    return kept.n;
}

/* Cut short anywhere: refused, or what is left of it is right. */
static void test_truncated(const char *path) {
    for (int k = 0; k < 2; k++) {
        const Sample *sample = k ? &gzip : &plain;
        write_frames(path, sample, sample->n_planned);
        size_t size;
        char *bytes = read_file(path, &size), *whole = md_format("%s.whole", path);
        write_file(whole, bytes, size);
        int n_recovered = 0, n_partly = 0, n_refused = 0;
        for (size_t cut = size - 1; cut > 4096; cut -= cut > 30000 ? 5003 : 701) {
            check_context("%s cut after %zu of %zu bytes", sample->name, cut, size);
            write_file(path, bytes, cut);
            MdErrors *errors = md_errors_create();
            MdH5mdRecovery recovery;
            MdStatus status = md_h5md_recover(path, &recovery, errors);
            md_errors_destroy(errors);
            const int64_t n_least = count_stored(whole, sample, cut);
            if (status == MD_OK) {
                int64_t n = recovery.series[0].n_kept;
                n_recovered++;
                n_partly += n > 0 && n < sample->n_planned;
                CHECK(recovery.changed);
                CHECK(sample_check(path, sample, n_least, sample->n_planned) == n);
                CHECK(n > 0); /* a file of frames that none is left of is not made an empty one */
            } else {
                CHECK(n_least == 0);
                check_refused(path, "is damaged: "); /* again, and as it was */
                size_t size_after;
                char *after = read_file(path, &size_after);
                CHECK(size_after == cut && memcmp(after, bytes, cut) == 0);
                free(after);
                n_refused++;
            }
        }
        printf("%s: %d truncated files recovered, %d of them partly; %d refused\n", sample->name, n_recovered, n_partly,
               n_refused);
        CHECK(n_recovered > 0 && n_refused > 0);
        unlink(whole);
        free(whole);
        free(bytes);
        unlink(path);
    }
}

/* A recovery that is killed when the file is as long again as it was, and frames are not yet cut: the next one finds what
 * it would have found. */
static void test_broken_off(const char *path) {
    for (int k = 0; k < 2; k++) {
        const Sample *sample = k ? &gzip : &rows;
        write_frames(path, sample, sample->n_planned);
        size_t size;
        char *bytes = read_file(path, &size);
        const size_t lengths[] = {k ? size * 6 / 10 : size - 16000, k ? size * 8 / 10 : size - 8000};
        for (int m = 0; m < 2; m++) {
            check_context("%s cut after %zu of %zu bytes, and a recovery killed", sample->name, lengths[m], size);
            MdErrors *errors = md_errors_create();
            MdH5mdRecovery straight, again;
            write_file(path, bytes, lengths[m]);
            CHECK(md_h5md_recover(path, &straight, errors) == MD_OK && straight.series[0].n_kept < sample->n_planned);
            write_file(path, bytes, lengths[m]);
            fflush(stdout);
            const pid_t child = fork();
            if (child == 0) {
                dying = true;
                md_h5md_recover(path, &again, errors);
                _exit(1);
            }
            int status;
            waitpid(child, &status, 0);
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == KILLED);
            CHECK(md_h5md_recover(path, &again, errors) == MD_OK && again.changed);
            CHECK(again.series[0].n_kept == straight.series[0].n_kept);
            sample_check(path, sample, straight.series[0].n_kept, straight.series[0].n_kept);
            CHECK(md_h5md_recover(path, &again, errors) == MD_OK && !again.changed);
            md_errors_print(errors, stdout);
            md_errors_destroy(errors);
        }
        free(bytes);
        unlink(path);
    }
}

/* Frames that are not whole must go, and the disk takes no byte: that is no fault of the file. */
static void test_no_room_for_headers(const char *path) {
    check_context("no room for the headers");
    write_frames(path, &plain, 5);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, "observables/temperature/value", H5P_DEFAULT);
    CHECK(H5Dset_extent(set, (const hsize_t[]){3}) >= 0);
    H5Dclose(set);
    CHECK(H5Fclose(file) >= 0);
    struct rlimit before, none;
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    none = before;
    none.rlim_cur = 100;
    MdErrors *errors = md_errors_create();
    MdH5mdRecovery recovery;
    CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
    MdStatus status = md_h5md_recover(path, &recovery, errors);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(status == MD_ERROR_OUTPUT && md_errors_status(errors) == MD_ERROR_OUTPUT);
    CHECK(md_errors_count(errors) == 1 && strstr(md_errors_text(errors, 0), "File too large"));
    md_errors_destroy(errors);
    errors = md_errors_create();
    CHECK(md_h5md_recover(path, &recovery, errors) == MD_OK && recovery.series[0].n_kept == 3);
    md_errors_destroy(errors);
    sample_check(path, &plain, 3, 3);
    unlink(path);
}

/* A file that is being written is left alone. */
static void test_in_use(const char *path) {
    for (int k = 0; k < 2; k++) {
        const Sample *sample = k ? &gzip : &plain;
        check_context("%s, in use", sample->name);
        int ready[2];
        md_require(pipe(ready) == 0);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            MdErrors *errors = md_errors_create();
            MdH5md *file = sample_create(path, sample, errors);
            bool good = file && sample_append(file, sample, 0, errors) == MD_OK;
            if (write(ready[1], "", good) != good) _exit(1);
            for (;;) pause();
        }
        char byte;
        CHECK(read(ready[0], &byte, 1) == 1);
        MdErrors *errors = md_errors_create();
        MdH5mdRecovery recovery;
        CHECK(md_h5md_recover(path, &recovery, errors) == MD_ERROR_INPUT);
        CHECK(md_errors_count(errors) == 1 && strstr(md_errors_text(errors, 0), "running program"));
        md_errors_destroy(errors);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(ready[0]), close(ready[1]);
        errors = md_errors_create();
        CHECK(md_h5md_recover(path, &recovery, errors) == MD_OK && recovery.series[0].n_kept == 1);
        sample_check(path, sample, 1, 1);
        md_errors_destroy(errors);
        unlink(path);
    }
}

/* Two jobs of one run that come at the same moment: each finds the file free, and one of them gets the lock. */
static void test_two_writers(const char *path) {
    check_context("two writers");
    write_frames(path, &plain, 10);
    int other = open(path, O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    md_require(other >= 0 && fcntl(other, F_OFD_SETLK, &lock) == 0);
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
    blind = true;
    MdErrors *errors = md_errors_create();
    MdH5mdSpec spec = sample_spec(&plain);
    CHECK(md_h5md_reopen(path, &spec, &(MdH5mdKept){.last_step = {200, 200, 200, 200}}, errors) == NULL);
    CHECK(md_errors_count(errors) == 1 && strstr(md_errors_text(errors, 0), "running program"));
    blind = false;
    unsetenv("HDF5_USE_FILE_LOCKING");
    close(other);
    md_errors_destroy(errors);
    sample_free_spec(&spec);
    sample_check(path, &plain, 10, 10); /* none is cut */
}

/* --- continuing ---------------------------------------------------------------------------------------------------- */

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
    write_frames(path, first, n);
    CHECK(stat(path, &before) == 0);
    MdErrors *errors = md_errors_create();
    MdH5md *file = reopen(path, then, 50 * (from - 1), errors);
    if (CHECK(file != NULL)) {
        CHECK(md_h5md_frames(file) == from);
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
    Sample longer = plain, other;
    check_context("in place");
    test_continue(path, &plain, 20, &plain, 13, true);
    sample_check(path, &plain, 20, 20);
    test_continue(path, &plain, 5, &plain, 5, true);
    sample_check(path, &plain, 20, 20);
    test_continue(path, &gzip, 20, &gzip, 7, true);
    sample_check(path, &gzip, 20, 20);
    check_context("from the very start");
    test_continue(path, &gzip, 20, &gzip, 0, true);
    sample_check(path, &gzip, 20, 20);

    check_context("more frames than were planned");
    longer.n_planned = 35;
    test_continue(path, &plain, 20, &longer, 20, false);
    sample_check(path, &longer, 35, 35);
    longer = gzip;
    longer.n_planned = 41; /* frame 19 has velocities, as the last one then; sample_check would miss that */
    test_continue(path, &gzip, 19, &longer, 19, false);
    sample_check(path, &longer, 41, 41);

    check_context("compression and precision change");
    other = plain;
    other.compression = 6;
    test_continue(path, &plain, 20, &other, 8, false);
    sample_check(path, &plain, 20, 20);
    test_continue(path, &other, 20, &plain, 8, false);
    sample_check(path, &plain, 20, 20);
    other = gzip;
    other.precision = MD_FILE_PRECISION_SINGLE;
    test_continue(path, &gzip, 20, &other, 8, false);
    sample_check(path, &other, 20, 20);
}

/* Velocities from some frame on, and no more of them: the file keeps what it has, at steps of their own. */
static void test_quantities_change(const char *path) {
    Sample without = plain, with = plain;
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
    check_not_continued(path, &plain, "No such file");
    write_frames(path, &plain, 10);
    Sample other = plain;
    other.n_atoms--;
    check_not_continued(path, &other, "another number of particles");
    MdErrors *told = md_errors_create();
    MdH5mdSpec foreign = sample_spec(&plain);
    foreign.run_id = "0123456789abcdee";
    CHECK(md_h5md_reopen(path, &foreign, &(MdH5mdKept){0}, told) == NULL &&
          strstr(md_errors_text(told, 0), "another run"));
    md_errors_destroy(told);
    sample_free_spec(&foreign);
    other = plain;
    other.every[MD_H5MD_IMAGE] = 0;
    check_not_continued(path, &other, "output.images_every");
    MdErrors *errors = md_errors_create();
    MdH5mdSpec spec = sample_spec(&plain);
    const MdH5mdKept kept = {.last_step = {200, 200, 200, 200}, .n_frames = 6}; /* 5 are up to there */
    CHECK(md_h5md_reopen(path, &spec, &kept, errors) == NULL && md_errors_status(errors) == MD_ERROR_INPUT);
    sample_free_spec(&spec);
    md_errors_destroy(errors);
    sample_check(path, &plain, 10, 10);
}

/* The copy finds no room: the file stays as it is. */
static void test_no_room_for_copy(const char *path) {
    check_context("no room for a copy");
    write_frames(path, &plain, 20);
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = 300000; /* twenty frames take 360000 bytes */
    setrlimit(RLIMIT_FSIZE, &limit);
    Sample longer = plain;
    longer.n_planned = 30;
    MdErrors *errors = md_errors_create();
    CHECK(reopen(path, &longer, 950, errors) == NULL && md_errors_status(errors) == MD_ERROR_OUTPUT);
    setrlimit(RLIMIT_FSIZE, &old);
    md_errors_destroy(errors);
    sample_check(path, &plain, 20, 20);
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
    char *whole = read_file(path, &size), *after;
    const int64_t cuts[] = {0, 1, 77, 200};
    for (int k = 0; k < 4; k++)
        for (int64_t last = -50; last <= 450; last += 250) {
            write_file(path, whole, size - (size_t)cuts[k]);
            file = md_xyz_reopen(path, &spec, true, last, 0, errors);
            if (!CHECK(file != NULL && md_xyz_cut(file, errors) == MD_OK)) continue;
            int64_t from = md_xyz_frames(file);
            CHECK(from == last / 50 + 1 || (last == 450 && from == 9 && k > 0));
            for (int64_t t = from; t < 10; t++) append_xyz(file, t, true);
            CHECK(md_xyz_close(file, errors) == MD_OK);
            after = read_file(path, &size_after);
            CHECK(size == size_after && memcmp(whole, after, size) == 0);
            free(after);
        }
    CHECK(md_errors_count(errors) == 0);
    CHECK(md_xyz_reopen(path, &spec, false, 450, 0, errors) == NULL && md_errors_status(errors) == MD_ERROR_INPUT);
    after = read_file(path, &size_after);
    CHECK(size == size_after && memcmp(whole, after, size) == 0); /* refused, and left alone */
    free(after);
    CHECK(md_xyz_reopen(path, &spec, true, 200, 6, errors) == NULL &&
          md_errors_count(errors) == 2); /* 5 are up to there */
    after = read_file(path, &size_after);
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
    char folder[] = "test_recover_XXXXXX";
    if (!CHECK(mkdtemp(folder) != NULL)) return check_finish();
    char *path = md_format("%s/x.h5", folder);
    test_good_order(path);
    test_refused(folder, path);
    test_truncated(path);
    test_broken_off(path);
    test_no_room_for_headers(path);
    test_in_use(path);
    test_two_writers(path);
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
