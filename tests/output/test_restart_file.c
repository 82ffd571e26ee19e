/* Writing restart files: no failure costs what was there, whenever it comes. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "output/restart.h"

/* Short ones and long ones, of lengths that want filling up. */
static const uint64_t lengths[] = {3, 12000, 0, 700, 64, 9001, 5, 4096, 1};
enum { N_SECTIONS = sizeof lengths / sizeof *lengths };

/* The step of a file; -1 where there is no good one. */
static int64_t read_step(const char *path) {
    int64_t step = -1;
    MdErrors *errors = md_errors_create();
    MdRestart *file = md_restart_open(path, errors);
    if (file && md_restart_find(file, "step", sizeof step) == MD_OK) md_restart_read(file, &step, sizeof step);
    md_restart_close(file);
    md_errors_destroy(errors);
    return step;
}

/* As the program does: a section is written where it could be begun. */
static MdStatus write_file(const char *path, bool keep, int64_t step, MdErrors *errors) {
    static const char content[12000];
    MdRestart *file = md_restart_create(path, keep, errors);
    if (!file) return MD_ERROR_OUTPUT;
    if (md_restart_begin(file, "step", sizeof step) == MD_OK) md_restart_write(file, &step, sizeof step);
    for (int k = 0; k < N_SECTIONS; k++) {
        char name[16];
        snprintf(name, sizeof name, "section %d", k);
        if (md_restart_begin(file, name, lengths[k]) == MD_OK) md_restart_write(file, content, lengths[k]);
    }
    bool stands;
    const MdStatus status = md_restart_commit(file, MD_OK, &stands);
    CHECK(stands == (read_step(path) == step) && (stands || status != MD_OK));
    return status;
}

static void check_steps(const char *path, int64_t now, int64_t before) {
    char *previous = md_format("%s.prev", path);
    CHECK(read_step(path) == now);
    CHECK(read_step(previous) == before);
    free(previous);
    static const char *const endings[] = {".tmp", ".prev.tmp"};
    for (int k = 0; k < 2; k++) {
        char *aside = md_format("%s%s", path, endings[k]);
        CHECK(access(aside, F_OK) != 0);
        free(aside);
    }
}

static void test_generations(const char *path) {
    check_context("generations");
    MdErrors *errors = md_errors_create();
    CHECK(write_file(path, false, 1, errors) == MD_OK);
    check_steps(path, 1, -1);
    CHECK(write_file(path, true, 2, errors) == MD_OK);
    check_steps(path, 2, 1);
    CHECK(truncate(path, 100) == 0); /* the older one is all there is, and has to stay */
    CHECK(write_file(path, false, 3, errors) == MD_OK);
    check_steps(path, 3, 1);
    CHECK(write_file(path, true, 4, errors) == MD_OK);
    check_steps(path, 4, 3);
    CHECK(md_errors_count(errors) == 0);
    md_errors_destroy(errors);
}

/* Everywhere: within a section, between two, in the head and at the end. Leaves generations 4 and 3. */
static void test_full_disk(const char *path) {
    struct stat status;
    struct rlimit old, limit;
    CHECK(stat(path, &status) == 0 && getrlimit(RLIMIT_FSIZE, &old) == 0);
    for (off_t room = 0; room < status.st_size; room += 97) {
        check_context("a disk with room for %lld of %lld bytes", (long long)room, (long long)status.st_size);
        MdErrors *errors = md_errors_create();
        limit = old;
        limit.rlim_cur = (rlim_t)room;
        setrlimit(RLIMIT_FSIZE, &limit);
        const MdStatus written = write_file(path, true, 5, errors);
        setrlimit(RLIMIT_FSIZE, &old);
        CHECK(written == MD_ERROR_OUTPUT && md_errors_count(errors) == 1);
        md_errors_destroy(errors);
        check_steps(path, 4, 3);
    }
}

/* A folder in the way of a name: the new state stands without the older one, or both generations are as before. */
static void test_no_place(const char *folder) {
    check_context("the name of the older generation is taken");
    char *path = md_format("%s/y.restart", folder), *previous = md_format("%s.prev", path);
    MdErrors *errors = md_errors_create();
    CHECK(write_file(path, false, 1, errors) == MD_OK && mkdir(previous, 0700) == 0);
    CHECK(write_file(path, true, 2, errors) == MD_ERROR_OUTPUT && md_errors_count(errors) == 1);
    check_steps(path, 2, -1);
    rmdir(previous);
    check_context("the name is taken");
    CHECK(rename(path, previous) == 0 && mkdir(path, 0700) == 0);
    CHECK(write_file(path, true, 3, errors) == MD_ERROR_OUTPUT);
    check_steps(path, -1, 2);
    md_errors_destroy(errors);
    rmdir(path);
    unlink(previous);
    free(path);
    free(previous);
}

int main(void) {
    signal(SIGXFSZ, SIG_IGN);
    char folder[] = "test_restart_file_XXXXXX";
    if (!CHECK(mkdtemp(folder) != NULL)) return check_finish();
    char *path = md_format("%s/x.restart", folder), *previous = md_format("%s.prev", path);
    test_generations(path);
    test_full_disk(path);
    test_no_place(folder);
    unlink(path);
    unlink(previous);
    free(path);
    free(previous);
    CHECK(rmdir(folder) == 0);
    return check_finish();
}
