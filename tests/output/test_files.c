/* Names of the output files, and what happens to those that exist. Each case has a folder of its own, and the folder's
 * content afterwards is compared as a whole, so that nothing else was touched. */
#define _XOPEN_SOURCE 700
#include "output/files.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    md_require(file && fputs(text, file) >= 0);
    fclose(file);
}

/* `name=content` of all files here in alphabetical order, the deck left out. */
static void check_folder(const char *expected) {
    struct dirent **entries;
    char seen[2048] = "";
    int n = scandir(".", &entries, NULL, alphasort);
    for (int k = 0; k < n; k++) {
        char content[64] = "";
        if (entries[k]->d_name[0] != '.' && strcmp(entries[k]->d_name, "xy.txt") != 0) {
            FILE *file = fopen(entries[k]->d_name, "r");
            if (file && !fgets(content, sizeof content, file)) content[0] = 0;
            if (file) fclose(file);
            size_t length = strlen(seen);
            snprintf(seen + length, sizeof seen - length, "%s%s=%s", length ? " " : "", entries[k]->d_name, content);
        }
        free(entries[k]);
    }
    free(entries);
    if (!CHECK(strcmp(seen, expected) == 0)) printf("    there is: %s\n    expected: %s\n", seen, expected);
}

/* Plan and prepare for the deck xy.txt with overrides (NULL ends them). */
typedef struct Case {
    MdStatus plan, prepare;
    MdFiles files;
    MdErrors *errors;
    char log[1024];
} Case;

static Case run_deck(const char *path, const char *const *overrides) {
    char *arguments[8] = {(char *)path};
    int n = 1;
    for (; *overrides; overrides++) arguments[n++] = (char *)*overrides;
    Case result = {.errors = md_errors_create()};
    MdDeck *deck = md_deck_read(n, arguments, result.errors);
    md_errors_print(result.errors, stdout);
    md_require(deck != NULL);
    result.plan = md_files_plan(deck, &(MdFilesUse){0}, &result.files, result.errors);
    FILE *terminal = tmpfile();
    MdLog *log = md_log_create(terminal);
    if (result.plan == MD_OK) result.prepare = md_files_prepare(deck, &result.files, log, result.errors);
    md_log_destroy(log);
    rewind(terminal);
    result.log[fread(result.log, 1, sizeof result.log - 1, terminal)] = 0;
    fclose(terminal);
    md_deck_destroy(deck);
    return result;
}
#define RUN(...) run_deck("xy.txt", (const char *const[]){__VA_ARGS__, NULL})

static void end_case(Case *result) {
    md_files_free(&result->files);
    md_errors_destroy(result->errors);
}

/* The run is refused as bad input, with n messages of which the first k hold these texts. */
static void check_refused(Case *result, int n, const char *text) {
    CHECK(result->plan == MD_ERROR_INPUT && md_errors_status(result->errors) == MD_ERROR_INPUT);
    if (!CHECK(md_errors_count(result->errors) == n && strstr(md_errors_text(result->errors, 0), text)))
        md_errors_print(result->errors, stdout);
    CHECK(!result->files.json && !result->files.log && !result->files.h5);
    end_case(result);
}

static void begin_case(const char *name, char *root) {
    check_context("%s", name);
    md_require(chdir(root) == 0 && mkdir(name, 0700) == 0 && chdir(name) == 0);
    write_file("xy.txt", "[output]\nframes_every = 10\n");
}

static void test_names(char *root) {
    begin_case("names", root);
    Case result = RUN("output.directory=.");
    CHECK(result.plan == MD_OK && result.prepare == MD_OK);
    CHECK(strcmp(result.log, "") == 0 && !result.files.neighbors);
    const char *base = strrchr(result.files.h5, '/');
    CHECK(strcmp(base ? base + 1 : result.files.h5, "xy.h5") == 0);
    end_case(&result);
    check_folder(""); /* names are made, no file */

    mkdir("sub", 0700);
    result = RUN("output.directory=sub", "output.name=other", "output.frames_every=0", "report.neighbors=sub/list",
                 "report.trace=sub/t.json");
    CHECK(result.plan == MD_OK && !result.files.h5);
    CHECK(result.files.json && strstr(result.files.json, "sub/other.json"));
    CHECK(result.files.log && strstr(result.files.log, "sub/other.log"));
    CHECK(result.files.neighbors && strstr(result.files.neighbors, "sub/list"));
    CHECK(result.files.trace && strstr(result.files.trace, "sub/t.json"));
    end_case(&result);
}

static void test_backup(char *root) {
    begin_case("backup", root);
    write_file("xy.json", "a");
    write_file("xy.h5", "b");
    write_file("xy.1.log", "old");
    write_file("xyz.json", "stays");
    Case result = RUN("output.existing=backup");
    CHECK(result.plan == MD_OK && result.prepare == MD_OK);
    /* Number 1 is taken by one of the three, so all go to 2. */
    check_folder("xy.1.log=old xy.2.h5=b xy.2.json=a xyz.json=stays");
    CHECK(strcmp(result.log, "existing xy.h5, xy.json -> xy.2.*\n") == 0);
    end_case(&result);

    check_context("backup again, with the list of neighbours and without a trajectory");
    write_file("xy.h5", "c");
    write_file("list.txt", "d");
    write_file("t.json", "e");
    result = RUN("output.frames_every=0", "report.neighbors=list.txt", "report.trace=t.json");
    CHECK(result.prepare == MD_OK);
    check_folder("list.3.txt=d t.3.json=e xy.1.log=old xy.2.h5=b xy.2.json=a xy.3.h5=c xyz.json=stays");
    CHECK(strstr(result.log, "list.txt -> ") && strstr(result.log, "list.3.txt\n"));
    CHECK(strstr(result.log, "t.json -> ") && strstr(result.log, "t.3.json\n"));
    end_case(&result);
}

static void test_refuse_and_overwrite(char *root) {
    begin_case("refuse", root);
    write_file("xy.json", "a");
    write_file("xy.log", "b");
    Case result = RUN("output.existing=refuse");
    check_refused(&result, 2, "xy.json");
    check_folder("xy.json=a xy.log=b");
    result = RUN("output.existing=refuse", "output.name=new");
    CHECK(result.plan == MD_OK && result.prepare == MD_OK);
    end_case(&result);
    result = RUN("output.existing=overwrite");
    CHECK(result.plan == MD_OK && result.prepare == MD_OK && strcmp(result.log, "") == 0);
    end_case(&result);
    check_folder("xy.log=b"); /* the report is written last: until then there is none */
    write_file("xy.h5", "c");
    result = RUN("output.existing=overwrite", "output.frames_every=1");
    CHECK(result.plan == MD_OK && result.prepare == MD_OK);
    end_case(&result);
    check_folder("xy.h5=c xy.log=b"); /* of those that this run writes, the writer makes new ones */
    result = RUN("output.existing=overwrite", "output.frames_every=0");
    CHECK(result.plan == MD_OK && result.prepare == MD_OK);
    end_case(&result);
    check_folder("xy.log=b");
    mkdir("xy.h5", 0700);
    result = RUN("output.existing=overwrite");
    check_refused(&result, 1, "no plain file");
}

static void test_bad_folders(char *root) {
    begin_case("folders", root);
    Case result = RUN("output.directory=none");
    check_refused(&result, 1, "output.directory");
    result = RUN("output.directory=none");
    CHECK(strstr(md_errors_text(result.errors, 0), "command line"));
    CHECK(strstr(md_errors_text(result.errors, 0), "No such file"));
    end_case(&result);
    write_file("plain", "");
    result = RUN("output.directory=plain");
    check_refused(&result, 1, "not a folder");
    result = RUN("output.name=a/b");
    check_refused(&result, 1, "output.directory");
    mkdir("results", 0700);
    result = RUN("report.trace=results");
    check_refused(&result, 1, "names a folder");
    result = RUN("restart.file=results", "restart.every=1");
    check_refused(&result, 1, "names a folder");
    rmdir("results");
    result = RUN("report.neighbors=none/list");
    check_refused(&result, 1, "report.neighbors");
    result = RUN("output.directory=none", "report.neighbors=none/list");
    check_refused(&result, 2, "output.directory");
    result = RUN("report.neighbors=xy.log");
    check_refused(&result, 1, "report.neighbors");
    result = RUN("report.trace=none/t.json");
    check_refused(&result, 1, "report.trace");
    result = RUN("report.trace=sub/");
    check_refused(&result, 1, "report.trace");
    result = RUN("report.neighbors=list", "report.trace=list");
    check_refused(&result, 2, "report.neighbors");
    result = RUN("report.trace=xy.restart");
    check_refused(&result, 1, "report.trace");
    check_folder("plain=");
    /* The superuser may write everywhere but where the system itself forbids it. */
    mkdir("closed", 0500);
    const char *closed = geteuid() ? "output.directory=closed" : "output.directory=/proc/self";
    if (access(closed + strlen("output.directory="), W_OK) != 0) {
        result = RUN(closed);
        check_refused(&result, 1, "output.directory");
    } else printf("not tested: a folder that this user may not write to\n");
    /* The default is the folder where the program was started, which is named by its path. */
    char *here = realpath(".", NULL), *deck = md_format("%s/xy.txt", here);
    if (chdir(closed + strlen("output.directory=")) == 0 && access(".", W_OK) != 0) {
        char *folder = realpath(".", NULL), *expected = md_format("%s: ", folder);
        result = run_deck(deck, (const char *const[]){NULL});
        check_refused(&result, 1, expected);
        free(folder);
        free(expected);
    }
    CHECK(chdir(here) == 0);
    free(here);
    free(deck);
}

/* Names and paths are refused by the longest that is ever made of them. */
static void test_lengths(char *root) {
    begin_case("lengths", root);
    char name[300], word[400];
    const struct {
        const char *option;
        size_t most;
    } cases[] = {{"output.name", 255 - strlen(".restart.prev.tmp")},
                 {"restart.file", 255 - strlen(".prev.tmp")},
                 {"report.neighbors", 255 - strlen("..lock")},
                 {"report.trace", 255 - strlen(".from123456.tmp")}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (size_t n = cases[k].most; n <= 255; n++) {
            memset(name, 'n', n), name[n] = 0;
            snprintf(word, sizeof word, "%s=%s", cases[k].option, name);
            Case result = RUN("run.steps=123456", word);
            if (n > cases[k].most) {
                check_refused(&result, 1, cases[k].option);
                continue;
            }
            CHECK(result.plan == MD_OK && result.prepare == MD_OK);
            end_case(&result);
        }
    check_folder("");
    check_context("a path");
    char *here = realpath(".", NULL), folder[4096];
    for (size_t left; (left = 4070 - strlen(getcwd(folder, sizeof folder))) > 1;) {
        const size_t n = left < 250 ? left - 1 : 200;
        memset(name, 'd', n), name[n] = 0;
        md_require(mkdir(name, 0700) == 0 && chdir(name) == 0);
    }
    char *directory = md_format("output.directory=%s", folder);
    md_require(chdir(here) == 0);
    free(here);
    Case result = RUN(directory);
    CHECK(result.plan == MD_OK);
    end_case(&result);
    result = RUN(directory, "output.name=12345678901234567890");
    check_refused(&result, 1, "output.directory");
    free(directory);
}

/* A coordinate file with the name of an output would be lost. */
static void test_input_is_output(char *root) {
    begin_case("input", root);
    write_file("xy.log", "0 0\n5 5\n");
    Case result = RUN("system.start=file", "system.file=xy.log", "system.dimension=2", "system.box=20 20");
    check_refused(&result, 1, "system.file");
    result = RUN("system.start=file", "system.file=xy.log", "system.dimension=2", "system.box=20 20", "output.name=ok");
    CHECK(result.plan == MD_OK);
    end_case(&result);
    check_folder("xy.log=0 0\n");
}

/* Held files that are lost are told by name, a new file with the number of the old one included. */
static void test_held(char *root) {
    static const char *const words[] = {NULL, "deleted", "moved", "replaced"};
    for (int k = 0; k < 4; k++) {
        begin_case(k ? words[k] : "held", root);
        Case result = RUN("output.xyz_every=1");
        for (const char *const *name = (const char *const[]){"xy.h5", "xy.xyz", "xy.log", NULL}; *name; name++)
            write_file(*name, "a");
        md_files_hold(&result.files);
        write_file("xy.log", "more"); /* written to, as it should be */
        if (k == 1) CHECK(unlink("xy.h5") == 0), write_file("xy.h5", "another");
        if (k == 2) CHECK(rename("xy.log", "old") == 0);
        if (k == 3) CHECK(rename("xy.xyz", "old") == 0), write_file("xy.xyz", "a");
        CHECK(md_files_check_held(&result.files, result.errors) == (k ? MD_ERROR_OUTPUT : MD_OK));
        CHECK(md_errors_count(result.errors) == (k > 0) && (!k || strstr(md_errors_text(result.errors, 0), words[k])));
        end_case(&result);
    }
}

int main(void) {
    char root[] = "test_files_XXXXXX", *path = mkdtemp(root) ? realpath(root, NULL) : NULL;
    if (!CHECK(path != NULL)) return check_finish();
    test_names(path);
    test_backup(path);
    test_refuse_and_overwrite(path);
    test_bad_folders(path);
    test_lengths(path);
    test_input_is_output(path);
    test_held(path);
    char *command = md_format("rm -rf '%s'", path);
    CHECK(chdir("/") == 0 && system(command) == 0);
    free(command);
    free(path);
    return check_finish();
}
