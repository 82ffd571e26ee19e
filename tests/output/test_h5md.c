/* The trajectory: what it holds after a clean end, after a kill, on a full disk, and how it fails.
 *
 * `test_h5md FOLDER` only writes the sample files, for test_readers.py to open with other programs. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "sample.h"

static const Sample samples[] = {
    {"all3d", 101, 6, 4, {3, {7.5, 8.5, 9.25}, {true, true, true}}, 2, MD_FILE_PRECISION_SINGLE, 0, {50, 50, 50, 50}},
    {"plain2d", 64, 3, 3, {2, {8, 10, 0}, {true, true, false}}, 1, MD_FILE_PRECISION_DOUBLE, 0, {50, 0, 0, 0}},
    {"open3d", 33, 1, 1, {3, {5, 6, 7}, {true, false, true}}, 1, MD_FILE_PRECISION_SINGLE, 0, {50, 50, 0, 0}},
    {"many", 9, 700, 700, {3, {4, 4, 4}, {true, true, true}}, 8, MD_FILE_PRECISION_DOUBLE, 0, {50, 0, 50, 0}},
    {"gzip", 2000, 9, 8, {3, {7, 8, 9}, {true, true, true}}, 3, MD_FILE_PRECISION_SINGLE, 4, {50, 50, 0, 50}},
    {"intervals", 40, 12, 12, {3, {7, 8, 9}, {true, true, true}}, 2, MD_FILE_PRECISION_SINGLE, 0, {50, 100, 150, 50}},
    {"spare", 2, 3, 3, {3, {4, 4, 4}, {true, true, true}}, 8, MD_FILE_PRECISION_SINGLE, 0, {50, 0, 0, 0}},
    {"gzipped", 40, 12, 12, {3, {7, 8, 9}, {true, true, true}}, 2, MD_FILE_PRECISION_DOUBLE, 9, {50, 100, 50, 0}},
    {"drop", 20, 5, 5, {3, {5, 6, 7}, {false, false, false}}, 2, MD_FILE_PRECISION_SINGLE, 0, {50, 50, 100, 0}},
    {"openplane", 20, 3, 3, {2, {5, 6, 0}, {false, false, false}}, 1, MD_FILE_PRECISION_DOUBLE, 0, {50, 50, 0, 0}},
};
enum { N_SAMPLES = sizeof samples / sizeof samples[0] };

static void write_sample(const char *path, const Sample *sample) {
    MdErrors *errors = md_errors_create();
    MdH5md *file = sample_create(path, sample, errors);
    if (CHECK(file != NULL))
        for (int64_t t = 0; t < sample->n_written; t++) CHECK(sample_append(file, sample, t, errors) == MD_OK);
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
        sample_check(path, &samples[k], samples[k].n_written, samples[k].n_written);
        free(path);
    }
}

/* Beyond the plan, an append is refused and harms nothing. */
static void test_full_plan(const char *folder) {
    check_context("more frames than planned");
    char *path = md_format("%s/plan.h5", folder);
    const Sample *sample = &samples[1];
    MdErrors *errors = md_errors_create();
    MdH5md *file = sample_create(path, sample, errors);
    for (int64_t t = 0; t < sample->n_planned; t++) CHECK(sample_append(file, sample, t, errors) == MD_OK);
    CHECK(sample_append(file, sample, sample->n_planned, errors) == MD_ERROR_OUTPUT);
    CHECK(md_errors_count(errors) == 1 && strstr(md_errors_text(errors, 0), "planned"));
    CHECK(md_h5md_close(file, errors) == MD_OK);
    sample_check(path, sample, sample->n_planned, sample->n_planned);
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
            MdH5md *file = sample_create(path, &samples[0], errors);
            for (int64_t t = 0; t < n; t++) sample_append(file, &samples[0], t, errors);
            kill(getpid(), SIGKILL);
        }
        int status;
        waitpid(child, &status, 0);
        CHECK(WIFSIGNALED(status));
        sample_check(path, &samples[0], n, n);
    }
    free(path);
}

/* Fills the disk under a running trajectory. The failed frame is told with the system's words, and those before it
 * stay. by_limit: the disk is the process's own limit of file sizes, lowered in the run; else a small file system. */
static void fill_disk(const char *folder, const Sample *sample, bool by_limit) {
    check_context("disk full by %s, %d atoms", by_limit ? "limit" : "tmpfs", (int)sample->n_atoms);
    char *path = md_format("%s/full.h5", folder), *filler = md_format("%s/filler", folder);
    MdErrors *errors = md_errors_create();
    MdH5md *file = sample_create(path, sample, errors);
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    int64_t t = 0;
    for (; file && t < 2; t++) CHECK(sample_append(file, sample, t, errors) == MD_OK);
    if (by_limit) {
        limit.rlim_cur = 1300000; /* within the third frame */
        setrlimit(RLIMIT_FSIZE, &limit);
    } else {
        static const char zeros[4096];
        int fd = open(filler, O_WRONLY | O_CREAT, 0600);
        while (write(fd, zeros, sizeof zeros) > 0) {}
        close(fd);
    }
    while (file && t < sample->n_planned && sample_append(file, sample, t, errors) == MD_OK) t++;
    CHECK(t >= 2 && t < sample->n_planned);
    const char *text = md_errors_count(errors) == 1 ? md_errors_text(errors, 0) : "";
    CHECK(strstr(text, path) && strstr(text, by_limit ? "File too large" : "No space left on device"));
    if (file) CHECK(sample_append(file, sample, t, errors) == MD_ERROR_OUTPUT);            /* and once more */
    CHECK(md_h5md_close(file, errors) == MD_ERROR_OUTPUT && md_errors_count(errors) == 1); /* told once */
    setrlimit(RLIMIT_FSIZE, &old);
    sample_check(path, sample, t, t);
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
    CHECK(sample_create(path, &sample, errors) == NULL);
    CHECK(md_errors_status(errors) == MD_ERROR_OUTPUT && strstr(md_errors_text(errors, 0), "no space left"));
    CHECK(access(path, F_OK) != 0);
    md_errors_destroy(errors);

    check_context("room for some frames");
    limit.rlim_cur = 2000000;
    setrlimit(RLIMIT_FSIZE, &limit);
    errors = md_errors_create();
    MdH5md *file = sample_create(path, &sample, errors);
    int64_t n = 0;
    while (file && n < 100000 && sample_append(file, &sample, n, errors) == MD_OK) n++;
    CHECK(n > 100 && n < 100000);
    CHECK(md_errors_count(errors) == 1 && strstr(md_errors_text(errors, 0), "room for no more"));
    CHECK(md_h5md_close(file, errors) == MD_OK);
    setrlimit(RLIMIT_FSIZE, &old);
    sample_check(path, &sample, n, n);
    md_errors_destroy(errors);
    free(path);
}

/* At every limit: refused before anything is there, or room for all frames that the file says it has room for. */
static void sweep_limits(const char *folder, const Sample *sample, const char *deck, rlim_t enough) {
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    char *path = md_format("%s/sweep.h5", folder);
    int n_refused = 0, n_full = 0;
    rlim_t least = 0;
    for (limit.rlim_cur = 8000; limit.rlim_cur < enough + 100000; limit.rlim_cur += 3500) {
        check_context("%s with a deck of %zu bytes, a limit of %llu", sample->name, strlen(deck),
                      (unsigned long long)limit.rlim_cur);
        MdErrors *errors = md_errors_create();
        MdH5mdSpec spec = sample_spec(sample);
        spec.deck = deck;
        setrlimit(RLIMIT_FSIZE, &limit);
        MdH5md *file = md_h5md_create(path, &spec, NULL, errors);
        sample_free_spec(&spec);
        int64_t n = 0;
        while (file && sample_append(file, sample, n, errors) == MD_OK) n++;
        CHECK(md_h5md_close(file, errors) == MD_OK);
        setrlimit(RLIMIT_FSIZE, &old);
        const char *text = md_errors_count(errors) == 1 ? md_errors_text(errors, 0) : "";
        CHECK(strstr(text, file ? "room for no more" : "no space left"));
        if (file) n_full++, least = least ? least : limit.rlim_cur, sample_check(path, sample, n, n), CHECK(n > 0);
        else n_refused++, CHECK(access(path, F_OK) != 0);
        md_errors_destroy(errors);
        unlink(path);
    }
    check_context("%s with a deck of %zu bytes", sample->name, strlen(deck));
    printf("%s with a deck of %zu bytes: %d limits refused, room from %llu bytes on\n", sample->name, strlen(deck),
           n_refused, (unsigned long long)least);
    CHECK(n_refused > 0 && n_full > 0 && least <= enough);
    free(path);
}

static void test_small_limits(const char *folder) {
    char *deck = md_alloc(700001, 1, "deck");
    memset(deck, '#', 700000);
    Sample every = samples[0], apart = samples[5], doubled = samples[3];
    every.n_planned = apart.n_planned = doubled.n_planned = INT64_C(1) << 50;
    const Sample *const all[] = {&every, &apart, &doubled};
    for (int k = 0; k < 3; k++) sweep_limits(folder, all[k], "[system]\n", 256 << 10);
    sweep_limits(folder, &every, deck, 700000 + (256 << 10));
    md_free(deck);
}

/* Where what is written lies beyond 4 GiB. Only three frames are, so the file takes little of the disk; but it has to find
 * room for all. */
static void test_large(const char *folder) {
    check_context("a file over 4 GiB");
    const Sample sample = {
        "large", 50000, 8000, 3, {3, {9, 9, 9}, {true, true, true}}, 1, MD_FILE_PRECISION_SINGLE, 0, {50, 50, 50, 0}};
    char *path = md_format("%s/large.h5", folder);
    write_sample(path, &sample);
    struct stat status;
    CHECK(stat(path, &status) == 0);
    if (status.st_size > INT64_C(14000000000)) sample_check(path, &sample, 3, 3);
    else printf("not tested: files over 4 GiB, for the disk has no room\n");
    CHECK(status.st_blocks < 40000); /* of 512 bytes: three frames take 10547 of them */
    unlink(path);
    free(path);
}

static void test_bad_path(const char *folder) {
    check_context("a folder that does not exist");
    MdErrors *errors = md_errors_create();
    char *path = md_format("%s/none/x.h5", folder);
    CHECK(sample_create(path, &samples[0], errors) == NULL);
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
    test_small_limits(folder);
    test_large(folder);
    test_bad_path(folder);
    char *command = md_format("rm -r '%s'", folder);
    CHECK(system(command) == 0);
    free(command);
    return check_finish();
}
