/* What a kill leaves of a trajectory, and what recovery makes of it.
 *
 * The first part records every write that HDF5 makes while a file grows (this program has a pwrite of its own, which the
 * library finds before that of the system), and replays each prefix of that sequence: the file as a kill between any two
 * writes leaves it. A kill within a write cuts it at a page of the page cache; these states are replayed, too. The
 * second part kills writers at random moments. Each time the file is recovered, and must hold every frame committed
 * before the kill, all of them with the right numbers, and be as good for going on as any other.
 *
 * MDMINI_TEST_KILLS: how many writers are killed. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "sample.h"

static const Sample samples[] = {
    {"plain", 50, 14, 0, {3, {7.5, 8.5, 9.25}, {true, true, true}}, 2, MD_FILE_PRECISION_SINGLE, 0, {50, 50, 50, 50}},
    {"paged", 700, 16, 0, {3, {7, 8, 9}, {true, true, true}}, 1, MD_FILE_PRECISION_DOUBLE, 0, {50, 0, 0, 0}},
    {"intervals", 60, 14, 0, {2, {7, 8, 0}, {true, true, false}}, 2, MD_FILE_PRECISION_SINGLE, 0, {50, 100, 150, 0}},
    {"gzip", 60, 150, 0, {3, {7, 8, 9}, {true, true, true}}, 3, MD_FILE_PRECISION_SINGLE, 4, {50, 50, 0, 0}},
    {"gzipped", 500, 14, 0, {3, {7, 8, 9}, {true, true, true}}, 2, MD_FILE_PRECISION_DOUBLE, 9, {50, 100, 50, 50}},
};
enum { N_SAMPLES = sizeof samples / sizeof samples[0], PAGE = 4096 };

/* --- the recorder -------------------------------------------------------------------------------------------------- */

typedef struct Write {
    off_t at;      /* of a truncation: the size */
    size_t length; /* 0: a truncation */
    char *bytes;
    int64_t n_committed; /* frames, before it */
} Write;

static struct {
    bool on;
    dev_t device;
    ino_t inode;
    Write *writes;
    int n, room;
    int64_t n_committed;
} record;

/* Of the file that is recorded; all others pass. */
static void note(int descriptor, const void *bytes, size_t length, off_t at) {
    struct stat status;
    if (!record.on || fstat(descriptor, &status) != 0 || status.st_ino != record.inode ||
        status.st_dev != record.device)
        return;
    if (record.n == record.room) {
        record.room = record.room ? 2 * record.room : 1024;
        record.writes = realloc(record.writes, (size_t)record.room * sizeof *record.writes);
        md_require(record.writes);
    }
    Write *w = &record.writes[record.n++];
    *w = (Write){.at = at, .length = length, .bytes = malloc(length + 1), .n_committed = record.n_committed};
    md_require(w->bytes);
    if (length) memcpy(w->bytes, bytes, length);
}

/* Names for the linker: where _FILE_OFFSET_BITS is 64, headers rename pwrite to pwrite64. */
ssize_t own_pwrite(int descriptor, const void *bytes, size_t length, off_t at) __asm__("pwrite");
ssize_t own_pwrite64(int descriptor, const void *bytes, size_t length, off64_t at) __asm__("pwrite64");
int own_ftruncate(int descriptor, off_t size) __asm__("ftruncate");
int own_ftruncate64(int descriptor, off64_t size) __asm__("ftruncate64");

ssize_t own_pwrite64(int descriptor, const void *bytes, size_t length, off64_t at) {
    note(descriptor, bytes, length, at);
    return syscall(SYS_pwrite64, descriptor, bytes, length, at);
}

ssize_t own_pwrite(int descriptor, const void *bytes, size_t length, off_t at) {
    return own_pwrite64(descriptor, bytes, length, at);
}

int own_ftruncate64(int descriptor, off64_t size) {
    note(descriptor, NULL, 0, size);
    return (int)syscall(SYS_ftruncate, descriptor, size);
}

int own_ftruncate(int descriptor, off_t size) { return own_ftruncate64(descriptor, size); }

/* Writes the sample to path and records it, from the first commit on: before that there is no file to lose. */
static void record_sample(const char *path, const Sample *sample, int64_t commit_frames) {
    struct stat status;
    MdErrors *errors = md_errors_create();
    MdH5mdSpec spec = sample_spec(sample);
    spec.commit_frames = commit_frames;
    MdH5md *file = md_h5md_create(path, &spec, NULL, errors);
    md_require(file && stat(path, &status) == 0);
    record.device = status.st_dev, record.inode = status.st_ino, record.n = 0, record.n_committed = 0;
    record.on = true;
    for (int64_t t = 0; t < sample->n_planned; t++) {
        CHECK(sample_append(file, sample, t, errors) == MD_OK);
        if ((t + 1) % commit_frames == 0) record.n_committed = t + 1;
    }
    record.on = false;
    CHECK(md_h5md_close(file, errors) == MD_OK && md_errors_count(errors) == 0);
    CHECK(record.n > 2 * sample->n_planned / commit_frames); /* it does record */
    sample_free_spec(&spec);
    md_errors_destroy(errors);
}

/* Files of some hundred kilobytes. */
static void copy_file(const char *from, const char *to) {
    static char bytes[1 << 22];
    int source = open(from, O_RDONLY), target = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t n = read(source, bytes, sizeof bytes);
    md_require(n > 0 && n < (ssize_t)sizeof bytes && write(target, bytes, (size_t)n) == n);
    close(source);
    close(target);
}

static void apply(int descriptor, const Write *w, size_t length) {
    if (w->length == 0) md_require(syscall(SYS_ftruncate, descriptor, w->at) == 0);
    else md_require(syscall(SYS_pwrite64, descriptor, w->bytes, length, w->at) == (ssize_t)length);
}

/* The state at path is recovered, holds what was committed, is then in good order, and can be gone on with. */
static void check_state(const char *path, const Sample *sample, int64_t n_committed, int64_t n_most, bool go_on) {
    MdErrors *errors = md_errors_create();
    MdH5mdRecovery first, second;
    if (CHECK(md_h5md_recover(path, &first, errors) == MD_OK)) {
        int64_t n = sample_check(path, sample, n_committed, n_most);
        CHECK(first.series[0].n_kept == n && first.series[0].last_step == (n > 0 ? 50 * (n - 1) : -1));
        CHECK(md_h5md_recover(path, &second, errors) == MD_OK && !second.changed);
        if (go_on) {
            MdH5mdSpec spec = sample_spec(sample);
            int64_t from = n / 2;
            const int64_t last = 50 * (from - 1);
            MdH5md *file = md_h5md_reopen(path, &spec, &(MdH5mdKept){.last_step = {last, last, last, last}}, errors);
            if (CHECK(file != NULL)) {
                CHECK(md_h5md_frames(file) == from);
                for (int64_t t = from; t < sample->n_planned; t++)
                    CHECK(sample_append(file, sample, t, errors) == MD_OK);
                CHECK(md_h5md_close(file, errors) == MD_OK);
                sample_check(path, sample, sample->n_planned, sample->n_planned);
            }
            sample_free_spec(&spec);
        }
    }
    md_errors_print(errors, stdout);
    md_errors_destroy(errors);
}

/* All prefixes of what was recorded, and every write that crosses pages cut at each of them. */
static void replay(const char *folder, const Sample *sample, int64_t commit_frames) {
    char *path = md_format("%s/recorded.h5", folder), *base = md_format("%s/base.h5", folder);
    char *state = md_format("%s/state.h5", folder);
    check_context("%s, recorded with a commit every %d frames", sample->name, (int)commit_frames);
    /* The file as it is when the recorder starts is that of a run that ended before its first frame, still open. */
    MdErrors *errors = md_errors_create();
    MdH5mdSpec spec = sample_spec(sample);
    MdH5md *file = md_h5md_create(base, &spec, NULL, errors);
    md_require(file);
    copy_file(base, state);
    CHECK(md_h5md_close(file, errors) == MD_OK);
    rename(state, base);
    sample_free_spec(&spec);
    md_errors_destroy(errors);
    record_sample(path, sample, commit_frames);
    int n_states = 0, n_torn = 0;
    int descriptor = open(base, O_RDWR);
    for (int k = 0; k < record.n; k++) {
        const Write *w = &record.writes[k];
        check_context("%s, a commit every %d frames, killed before write %d of %d (%zu bytes at %lld)", sample->name,
                      (int)commit_frames, k, record.n, w->length, (long long)w->at);
        copy_file(base, state);
        check_state(state, sample, w->n_committed, sample->n_planned, k % 40 == 0);
        n_states++;
        for (size_t cut = PAGE - (size_t)w->at % PAGE; cut < w->length; cut += PAGE) {
            check_context("%s, write %d of %zu bytes at %lld cut after %zu", sample->name, k, w->length,
                          (long long)w->at, cut);
            copy_file(base, state);
            int torn = open(state, O_RDWR);
            apply(torn, w, cut);
            close(torn);
            check_state(state, sample, w->n_committed, sample->n_planned, false);
            n_torn++;
        }
        apply(descriptor, w, w->length);
    }
    close(descriptor);
    printf("%s: %d prefixes, %d torn writes\n", sample->name, n_states, n_torn);
    for (int k = 0; k < record.n; k++) free(record.writes[k].bytes);
    unlink(path), unlink(base), unlink(state);
    free(path), free(base), free(state);
}

/* --- real kills ---------------------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* A child writes the sample again and again, and counts what is committed where the parent can see it. */
static void write_until_killed(const char *path, const Sample *sample, atomic_llong *n_committed) {
    MdErrors *errors = md_errors_create();
    MdH5md *file = sample_create(path, sample, errors);
    atomic_store(n_committed, 0);
    for (int64_t t = 0; t < sample->n_planned; t++)
        if (sample_append(file, sample, t, errors) == MD_OK) atomic_store(n_committed, t + 1);
    for (;;) pause(); /* all frames are there; not closed */
}

static void test_kills(const char *folder, int n_kills) {
    atomic_llong *n_committed =
        mmap(NULL, sizeof *n_committed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    md_require(n_committed != MAP_FAILED);
    char *path = md_format("%s/killed.h5", folder);
    uint64_t random = 12345;
    int n_early = 0, n_late = 0;
    fflush(stdout);
    for (int k = 0; k < n_kills; k++) {
        const Sample *sample = &samples[k % N_SAMPLES];
        unlink(path);
        atomic_store(n_committed, -1);
        pid_t child = fork();
        if (child == 0) write_until_killed(path, sample, n_committed);
        /* A moment after some commit, so that the machine's speed does not decide where it falls. */
        long long target = (long long)(next_random(&random) % (uint64_t)sample->n_planned);
        while (atomic_load(n_committed) < target) sched_yield();
        struct timespec nap = {.tv_nsec = (long)(next_random(&random) % 300000)};
        nanosleep(&nap, NULL);
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        int64_t n = atomic_load(n_committed);
        check_context("%s, killed after %d commits, kill %d", sample->name, (int)n, k);
        n_early += n < sample->n_planned / 2, n_late += n >= sample->n_planned / 2 && n < sample->n_planned;
        check_state(path, sample, n, n + 1, k % 10 < 5);
    }
    check_context("kills");
    CHECK(n_kills < 20 || (n_early > 0 && n_late > 0));
    printf("%d writers killed, %d early, %d late\n", n_kills, n_early, n_late);
    unlink(path);
    free(path);
}

int main(void) {
    signal(SIGXFSZ, SIG_IGN);
    char folder[] = "test_crash_XXXXXX";
    if (!CHECK(mkdtemp(folder) != NULL)) return check_finish();
    const char *kills = getenv("MDMINI_TEST_KILLS");
    test_kills(folder, kills ? atoi(kills) : 100);
    for (int k = 0; k < N_SAMPLES; k++) replay(folder, &samples[k], k % 2 ? 7 : 2);
    CHECK(rmdir(folder) == 0);
    return check_finish();
}
