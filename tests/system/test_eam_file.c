/* Potential files of the embedded-atom method: what is accepted, what is refused, and the tables that they give. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "physics/spline.h"
#include "system/eam_file.h"

enum { N_RHO = 6, N_R = 7 };
static const double d_rho = 0.5, d_r = 0.25;

/* --- files ------------------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/mdmini_eam_XXXXXX", first_path[64], second_path[64];

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

/* The tables by formula; maker and at are elements. */
static double embedding(int e, int k) { return -1.5 - e - sqrt(k + 0.25); }
static double density(MdEamKind kind, int maker, int at, int k) {
    return (10 * maker + (kind == MD_EAM_FS ? 3 * at : 0) + 2.5) / (k + 1);
}
static double pair(int a, int b, int k) { return 7.5 * (a + b) + a * b + 0.125 * k * k; }

/* How the values stand in the file. */
typedef struct Spelling {
    int values_a_line; /* 0: blocks that follow each other are one line */
    const char *separator, *line_end, *lattice;
} Spelling;
static const Spelling plain = {3, " ", "\n", " fcc"};

typedef struct Writer {
    MdText text;
    Spelling spelling;
    int n_in_line;
} Writer;

static void end_line(Writer *w) {
    if (w->n_in_line) md_text_add(&w->text, "%s", w->spelling.line_end);
    w->n_in_line = 0;
}

static void add_value(Writer *w, double value) {
    md_text_add(&w->text, "%s%.17g", w->n_in_line++ ? w->spelling.separator : "", value);
    if (w->n_in_line == w->spelling.values_a_line) end_line(w);
}

static void add_element(Writer *w, MdEamKind kind, int n, int e) {
    md_text_add(&w->text, "%d %g 3.5%s%s", 28 + e, 50.5 + e, w->spelling.lattice, w->spelling.line_end);
    for (int k = 0; k < N_RHO; k++) add_value(w, embedding(e, k));
    for (int at = 0; at < (kind == MD_EAM_FS ? n : 1); at++)
        for (int k = 0; k < N_R; k++) add_value(w, density(kind, e, at, k));
    end_line(w);
}

static const char names[3][3] = {"Ni", "Cu", "Zn"};

/* setfl or fs of n elements. */
static char *alloy(MdEamKind kind, int n, Spelling spelling) {
    Writer w = {.spelling = spelling};
    const char *end = spelling.line_end[0] == '\r' ? "\r\n" : "\n";
    md_text_add(&w.text, "UNITS: metal%ssecond%sthird%s%d", end, end, end, n);
    for (int e = 0; e < n; e++) md_text_add(&w.text, " %s", names[e]);
    md_text_add(&w.text, "%s%d %g %d %g 1.5%s", end, N_RHO, d_rho, N_R, d_r, end);
    for (int e = 0; e < n; e++) add_element(&w, kind, n, e);
    for (int a = 0; a < n; a++)
        for (int b = 0; b <= a; b++)
            for (int k = 0; k < N_R; k++) add_value(&w, pair(a, b, k));
    end_line(&w);
    return md_text_take(&w.text);
}

/* The text, which is consumed, with the first of some words replaced by others. */
static char *with(char *text, const char *words, const char *others) {
    char *at = strstr(text, words);
    if (!CHECK(at != NULL)) exit(1);
    char *changed = md_format("%.*s%s%s", (int)(at - text), text, others, at + strlen(words));
    free(text);
    return changed;
}

/* The same for a value, which is searched for as it was written, after a place in the text. */
static char *with_value(char *text, const char *after, double value, const char *others) {
    char *word = md_format("%.17g", value), *from = strstr(text, after), *at = from ? strstr(from, word) : NULL;
    if (!CHECK(at != NULL)) exit(1);
    char *changed = md_format("%.*s%s%s", (int)(at - text), text, others, at + strlen(word));
    free(word);
    free(text);
    return changed;
}

/* The text, consumed, up to some words. */
static char *until(char *text, const char *words) {
    char *at = strstr(text, words);
    if (!CHECK(at != NULL)) exit(1);
    *at = 0;
    return text;
}

/* The text, consumed, without its last values. */
static char *without_last(char *text, int n_values) {
    for (size_t length = strlen(text); n_values > 0; n_values--) {
        while (length && strchr(" \n", text[length - 1])) length--;
        while (length && !strchr(" \n", text[length - 1])) length--;
        text[length] = 0;
    }
    return text;
}

/* --- what is read ------------------------------------------------------------------------------------------------ */

static MdEamFile *read_files(const char *const *paths, int n) {
    MdErrors *errors = md_errors_create();
    MdEamFile *file = md_eam_file_read(paths, n, errors);
    CHECK(file != NULL && md_errors_count(errors) == 0);
    md_errors_print(errors, stdout);
    md_errors_destroy(errors);
    return file;
}

static MdEamFile *read_text(char *text) {
    const char *paths[] = {first_path};
    write_text(first_path, text);
    free(text);
    return read_files(paths, 1);
}

static const double *density_at(const MdEamFile *file, int at, int maker) {
    return file->density + (at * file->n_elements + maker) * file->n_r;
}
static const double *pair_of(const MdEamFile *file, int a, int b) {
    return file->pair + (a * file->n_elements + b) * file->n_r;
}

static void check_values(const MdEamFile *file, MdEamKind kind) {
    const int n = file->n_elements;
    for (int a = 0; a < n; a++)
        for (int k = 0; k < N_RHO; k++) CHECK(file->embedding[a * N_RHO + k] == embedding(a, k));
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            for (int k = 0; k < N_R; k++) {
                CHECK(density_at(file, a, b)[k] == density(kind, b, a, k));
                CHECK(pair_of(file, a, b)[k] == pair(a > b ? a : b, a > b ? b : a, k));
            }
}

static void check_notes(const MdNotes *notes, const char *fragment) {
    CHECK(notes->n == (fragment != NULL));
    if (notes->n == 1 && fragment && CHECK(strstr(notes->text[0], fragment) != NULL)) return;
    if (fragment) printf("expected: %s\n", fragment);
    for (int k = 0; k < notes->n && !fragment; k++) printf("note: %s\n", notes->text[k]);
}

/* note: what the only line for the log says; NULL: there is none. Consumes the text. */
static void check_alloy(char *text, MdEamKind kind, int n, const char *note) {
    MdEamFile *file = read_text(text);
    if (!file) return;
    CHECK(file->kind == kind && file->n_elements == n);
    if (!CHECK(file->n_rho == N_RHO && file->n_r == N_R)) exit(1);
    CHECK(file->d_rho == d_rho && file->d_r == d_r && file->rho_max == 2.5);
    for (int e = 0; e < n; e++) CHECK(strcmp(file->name[e], names[e]) == 0 && file->mass[e] == 50.5 + e);
    check_values(file, kind);
    check_notes(&file->notes, note);
    md_eam_file_free(file);
}

static void test_kinds(void) {
    for (int n = 1; n <= 3; n++) {
        check_context("setfl and fs of %d elements", n);
        check_alloy(alloy(MD_EAM_SETFL, n, plain), MD_EAM_SETFL, n, NULL);
        if (n > 1) check_alloy(alloy(MD_EAM_FS, n, plain), MD_EAM_FS, n, NULL);
    }
}

/* Values a line, tabs, CR LF, blocks that begin within a line, blank lines, comments, no lattice. */
static void test_spellings(void) {
    const Spelling spellings[] = {
        {1, " ", "\n", " fcc"},       {2, "\t", "\n", "\tfcc"},       {5, "  ", "\r\n", " fcc "},
        {0, " ", "\n", " fcc"},       {4, " ", "\n\n", " fcc"},       {3, " ", "\n", ""},
        {3, " ", " # 1 2\n", " fcc"}, {3, " ", "\n# 9 9 9\n \n", ""}, {7, " ", "\r\n \t\r\n", " fcc extra"},
        {3, " ", " \n", " fcc # 1"}};
    for (size_t k = 0; k < sizeof spellings / sizeof *spellings; k++)
        for (int kind = MD_EAM_SETFL; kind <= MD_EAM_FS; kind++) {
            check_context("spelling %zu, %s", k, kind == MD_EAM_FS ? "fs" : "setfl");
            check_alloy(alloy((MdEamKind)kind, 2, spellings[k]), (MdEamKind)kind, 2, NULL);
        }
}

/* Densities where setfl has the line of the second element. */
static void check_likeness(const char *line) {
    check_context("densities that look like the line of an element: %s", line);
    const Spelling spelling = {N_RHO + N_R, " ", "\n", " fcc"};
    char *values = md_format("\n%.17g %.17g %.17g ", density(MD_EAM_FS, 0, 1, 0), density(MD_EAM_FS, 0, 1, 1),
                             density(MD_EAM_FS, 0, 1, 2));
    char *written = md_format("\n%s\n", line);
    MdEamFile *file = read_text(with(alloy(MD_EAM_FS, 2, spelling), values, written));
    free(values);
    free(written);
    if (!file) return;
    CHECK(file->kind == MD_EAM_FS && density_at(file, 1, 0)[2] == 0.5 &&
          density_at(file, 1, 0)[3] == density(MD_EAM_FS, 0, 1, 3));
    md_eam_file_free(file);
}

static void test_accepted(void) {
    check_context("a byte-order mark, Latin-1 in comments");
    check_alloy(with(alloy(MD_EAM_FS, 2, plain), "UNITS: metal\nsecond", "\xef\xbb\xbfR\xe9mi UNITS: metal\n\xb5"),
                MD_EAM_FS, 2, NULL);
    check_context("empty comment lines");
    check_alloy(with(alloy(MD_EAM_SETFL, 1, plain), "second\nthird", "\n"), MD_EAM_SETFL, 1, NULL);
    check_context("D exponents");
    char *text = with(alloy(MD_EAM_SETFL, 1, plain), "28 50.5", "28 5.05D1");
    text = with(text, "6 0.5 7 0.25 1.5", "6 5.D-01 7 2.5d-1 0.15D+0001");
    check_alloy(with_value(text, "fcc", embedding(0, 2), "-.3D+01"), MD_EAM_SETFL, 1, NULL);
    check_context("no UNITS");
    check_alloy(with(alloy(MD_EAM_SETFL, 1, plain), "UNITS: metal", "a potential"), MD_EAM_SETFL, 1, "no UNITS tag");
    check_context("a UNITS tag in the third line, without a blank");
    check_alloy(with(with(alloy(MD_EAM_SETFL, 1, plain), "UNITS: metal", "x"), "third", "UNITS:metal"), MD_EAM_SETFL, 1,
                NULL);
    check_context("values after the last");
    text = alloy(MD_EAM_FS, 2, plain);
    char *more = md_format("%s 1 2\n\n3 # 4\n", text);
    free(text);
    check_alloy(more, MD_EAM_FS, 2, "3 values after the last table are not used");
    check_context("another atomic number");
    check_alloy(with(alloy(MD_EAM_SETFL, 2, plain), "\n29 ", "\n1 "), MD_EAM_SETFL, 2,
                "Cu has the atomic number 1 there, that of H");
    check_context("a word after the cutoff");
    check_alloy(with(alloy(MD_EAM_SETFL, 1, plain), "0.25 1.5", "0.25 1.5 more"), MD_EAM_SETFL, 1,
                "`more` after the cutoff");
    check_context("one interval before the cutoff, far beyond it");
    check_alloy(with(alloy(MD_EAM_SETFL, 1, plain), "0.25 1.5", "0.25 1.75"), MD_EAM_SETFL, 1,
                "end at r = 1.5, 1 of an interval before");
    check_alloy(with(alloy(MD_EAM_SETFL, 1, plain), "0.25 1.5", "0.25 0.75"), MD_EAM_SETFL, 1, NULL);
}

/* --- what is refused --------------------------------------------------------------------------------------------- */

static void check_refused(const char *const *paths, int n, const char *fragment) {
    MdErrors *errors = md_errors_create();
    MdEamFile *file = md_eam_file_read(paths, n, errors);
    CHECK(file == NULL);
    md_eam_file_free(file);
    CHECK(md_errors_status(errors) == MD_ERROR_INPUT && md_errors_count(errors) == 1);
    if (md_errors_count(errors) > 0 && !CHECK(strstr(md_errors_text(errors, 0), fragment) != NULL))
        printf("expected: %s\nmessage:  %s\n", fragment, md_errors_text(errors, 0));
    md_errors_destroy(errors);
}

/* line: where it says that it is; 0: nowhere. Consumes the text. */
static void check_bad(char *text, int line, const char *message) {
    const char *paths[] = {first_path};
    char *fragment =
        line ? md_format("%s:%d: %s", first_path, line, message) : md_format("%s: %s", first_path, message);
    check_context("%s", message);
    write_text(first_path, text);
    check_refused(paths, 1, fragment);
    free(fragment);
    free(text);
}

static char *of_line_5(const char *line) { return with(alloy(MD_EAM_SETFL, 2, plain), "6 0.5 7 0.25 1.5", line); }
static char *of_line_4(const char *line) { return with(alloy(MD_EAM_SETFL, 2, plain), "2 Ni Cu", line); }

static void test_heads(void) {
    check_bad(of_line_4("3 Ni Cu"), 4, "3 elements, but 2 names");
    check_bad(of_line_4("1 Ni Cu"), 4, "1 elements, but 2 names");
    check_bad(of_line_4("0"), 4, "0 elements, but 0 names");
    check_bad(of_line_4("2 Ni Ni"), 4, "element Ni is named twice");
    check_bad(of_line_4("Ni Cu"), 4, "no EAM file: `Ni Cu`");
    check_bad(of_line_4("1 abcdefghijklmnopqrstuvwxyzabcdefg"), 4,
              "`abcdefghijklmnopqrstuvwxyzabcdefg...`: a name has no more than 31");
    check_bad(until(alloy(MD_EAM_SETFL, 2, plain), "2 Ni"), 3, "no EAM file");
    check_bad(until(alloy(MD_EAM_SETFL, 2, plain), "6 0.5"), 4, "the file ends before n_rho d_rho n_r d_r cutoff");
    check_bad(of_line_5("6 0.5 7 0.25"), 5, "`` is not a finite number (cutoff)");
    check_bad(of_line_5("6.0 0.5 7 0.25 1.5"), 5, "`6.0` is not a number of points (n_rho)");
    check_bad(of_line_5("4 0.5 7 0.25 1.5"), 5, "n_rho = 4 points; 5 are needed at least");
    check_bad(of_line_5("6 0.5 -7 0.25 1.5"), 5, "`-7` is not a number of points (n_r)");
    check_bad(of_line_5("6 0 7 0.25 1.5"), 5, "d_rho = 0; it is above 0");
    check_bad(of_line_5("6 0.5 7 -0.25 1.5"), 5, "d_r = -0.25; it is above 0");
    check_bad(of_line_5("6 0.5 7 0.25 0"), 5, "cutoff = 0; it is above 0");
    check_bad(of_line_5("6 nan 7 0.25 1.5"), 5, "`nan` is not a finite number (d_rho)");
    check_bad(of_line_5("6 0.5 7 0.25 1.76"), 5,
              "cutoff = 1.76, but the last of 7 points, 0.25 apart, is at 1.5: it may be one interval beyond that, "
              "up to 1.75");
    check_bad(with(alloy(MD_EAM_SETFL, 1, plain), "UNITS: metal", "UNITS: real"), 1,
              "UNITS: real; only files in metal units");
    check_bad(with(alloy(MD_EAM_SETFL, 1, plain), "UNITS: metal\nsecond", "\nUNITS: lj"), 2,
              "UNITS: lj; only files in metal units");
}

static void test_ends(void) {
    check_bad(until(alloy(MD_EAM_FS, 2, plain), "28 50.5"), 5, "the file ends before element Ni (1 of 2)");
    check_bad(until(alloy(MD_EAM_SETFL, 2, plain), "29 51.5"), 11,
              "the file ends in the density of Ni at Cu: 0 of 7 values");
    check_bad(without_last(alloy(MD_EAM_SETFL, 1, plain), 7 + 7 + 2), 8,
              "the file ends in the embedding function of Ni: 4 of 6 values");
    check_bad(without_last(alloy(MD_EAM_SETFL, 1, plain), 7 + 3), 10,
              "the file ends in the density of Ni: 4 of 7 values");
    check_bad(without_last(alloy(MD_EAM_FS, 2, plain), 21 + 1), 21,
              "the file ends in the density of Cu at Cu: 6 of 7 values");
    check_bad(without_last(alloy(MD_EAM_FS, 2, plain), 7 + 7), 24,
              "the file ends in the pair energy of Cu-Ni: 0 of 7 values");
    check_bad(without_last(alloy(MD_EAM_SETFL, 3, plain), 1), 37,
              "the file ends in the pair energy of Zn-Zn: 6 of 7 values");
    /* a count far beyond what the file holds takes no memory */
    check_bad(of_line_5("999999999 0.5 999999999 0.25 1.5"), 12,
              "`29 51.5 3.5 fcc` looks like the line of the next element, after 13 values for Ni");
}

static void test_blocks(void) {
    const char *needed = "looks like the line of the next element, after 12 values for Ni; 6 + 7 are needed "
                         "(eam/alloy), or 6 + 2 x 7 (eam/fs)";
    char *message = md_format("`29 51.5 3.5 fcc` %s", needed);
    check_bad(with_value(alloy(MD_EAM_SETFL, 2, plain), "fcc", embedding(0, 3), ""), 12, message);
    check_bad(with_value(alloy(MD_EAM_SETFL, 2, plain), "fcc", density(MD_EAM_SETFL, 0, 0, 3), ""), 12, message);
    free(message);
    check_bad(with_value(alloy(MD_EAM_FS, 2, plain), "fcc", density(MD_EAM_FS, 0, 1, 3), ""), 14,
              "`29 51.5 3.5 fcc` looks like the line of the next element, after 19 values for Ni");
    check_bad(with_value(alloy(MD_EAM_FS, 2, plain), "fcc", embedding(0, 3), "1 2"), 13,
              "`0.7857142857142857`, where the line of element Cu is needed");
    /* lines of elements without a lattice, of which a value is taken */
    check_bad(with_value(alloy(MD_EAM_SETFL, 3, (Spelling){3, " ", "\n", ""}), "29 51.5", embedding(1, 3), ""), 18,
              "`52.5 3.5`, where the line of element Zn is needed");
    check_bad(with_value(alloy(MD_EAM_SETFL, 2, plain), "fcc", embedding(0, 3), "1 2"), 12,
              "`29 51.5 3.5 fcc` looks like the line of the next element, after 14 values for Ni");
    check_bad(with_value(alloy(MD_EAM_SETFL, 3, plain), "29 51.5", embedding(1, 3), "1.5 2.5"), 17,
              "`1.7857142857142858`, where the line of element Zn is needed (atomic number, mass, lattice constant, "
              "lattice): the tables before it hold more or fewer values");
}

static void test_words(void) {
    const char *words[] = {"nan", "inf", "1e999", "abc", "0x10", "1,5", "1.5-100", "1e5e5", "-"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        char *message =
            md_format("`%s` is not a finite number (value 4 of 6 of the embedding function of Ni)", words[k]);
        check_bad(with_value(alloy(MD_EAM_SETFL, 1, plain), "fcc", embedding(0, 3), words[k]), 8, message);
        free(message);
    }
    check_bad(with_value(alloy(MD_EAM_FS, 2, plain), "29 51.5", density(MD_EAM_FS, 1, 1, 2), "x"), 20,
              "`x` is not a finite number (value 3 of 7 of the density of Cu at Cu)");
    check_bad(with_value(alloy(MD_EAM_SETFL, 2, plain), "29 51.5", pair(1, 1, 6), "x"), 24,
              "`x` is not a finite number (value 7 of 7 of the pair energy of Cu-Cu)");
    check_bad(
        with(alloy(MD_EAM_SETFL, 1, plain), "28 50.5", "Ni 50.5"), 6,
        "`Ni 50.5 3.5 fcc`, where the line of element Ni is needed (atomic number, mass, lattice constant, lattice)");
    check_bad(with(alloy(MD_EAM_SETFL, 1, plain), "28 50.5", "28 0"), 6, "a mass of 0; masses are above 0");
}

static void test_files(void) {
    check_bad(md_copy_text(""), 0, "is empty");
    check_bad(md_copy_text("one line"), 1, "no EAM file");
    check_context("a file that is absent");
    check_refused((const char *const[]){"/nonexistent/Cu.eam"}, 1, "/nonexistent/Cu.eam: cannot be read");
}

static void test_choice(void) {
    check_context("choice of elements");
    MdEamFile *file = read_text(alloy(MD_EAM_SETFL, 3, plain));
    MdErrors *errors = md_errors_create();
    int element[3];
    if (!file) return;
    CHECK(md_eam_file_choose(file, (const char *const[]){"Cu", "Zn", "Cu"}, 3, element, errors) == MD_OK);
    CHECK(element[0] == 1 && element[1] == 2 && element[2] == 1);
    check_notes(&file->notes, "elements that are not used: Ni");
    CHECK(md_eam_file_choose(file, (const char *const[]){"Cu", "ni"}, 2, element, errors) == MD_ERROR_INPUT);
    CHECK(md_errors_count(errors) == 1 &&
          strstr(md_errors_text(errors, 0), ": no element `ni`; it has Ni, Cu, Zn (case matters)"));
    md_errors_destroy(errors);
    md_eam_file_free(file);
}

/* --- funcfl ------------------------------------------------------------------------------------------------------ */

/* Cubics, which four-point interpolation gives back at any place. */
static double charge(int e, double r) { return 3 + e - r + 0.5 * r * r - 0.125 * r * r * r; }
static double funcfl_density(int e, double r) { return 2 - e + r - 0.25 * r * r * r; }
static double funcfl_embedding(int e, double rho) { return -rho * (3 - e) + rho * rho - 0.125 * rho * rho * rho; }

static char *funcfl(int e, int n_rho, double spacing_rho, int n_r, double spacing_r, double cutoff) {
    Writer w = {.spelling = {4, " ", "\n", ""}};
    md_text_add(&w.text, "UNITS: metal\n%d %g 3.5 fcc\n%d %g %d %g %g\n", 28 + e, 50.5 + e, n_rho, spacing_rho, n_r,
                spacing_r, cutoff);
    for (int k = 0; k < n_rho; k++) add_value(&w, funcfl_embedding(e, k * spacing_rho));
    for (int k = 0; k < n_r; k++) add_value(&w, charge(e, k * spacing_r));
    for (int k = 0; k < n_r; k++) add_value(&w, funcfl_density(e, k * spacing_r));
    end_line(&w);
    return md_text_take(&w.text);
}

static void test_one_funcfl(void) {
    check_context("one funcfl file");
    MdEamFile *file = read_text(funcfl(1, 6, 0.5, 7, 0.25, 1.5));
    if (!file) return;
    CHECK(file->kind == MD_EAM_FUNCFL && file->n_elements == 1 && strcmp(file->name[0], "Cu") == 0 &&
          file->mass[0] == 51.5);
    if (!CHECK(file->n_rho == 5 && file->n_r == 6)) exit(1); /* one point fewer */
    CHECK(file->d_rho == 0.5 && file->d_r == 0.25 && file->cutoff == 1.5 && file->rho_max == 2.5);
    for (int k = 0; k < 5; k++) CHECK_NEAR(file->embedding[k], funcfl_embedding(1, 0.5 * k), 1e-14);
    for (int k = 0; k < 6; k++) {
        CHECK_NEAR(file->density[k], funcfl_density(1, 0.25 * k), 1e-14);
        CHECK_NEAR(file->pair[k], 14.3888 * charge(1, 0.25 * k) * charge(1, 0.25 * k), 2e-12); /* 27.2 * 0.529 */
    }
    check_notes(&file->notes, NULL);
    md_eam_file_free(file);
}

static double least(double a, double b) { return a < b ? a : b; }

/* Beyond the end of the shorter file its last value. */
static void test_funcfl_alloy(void) {
    check_context("two funcfl files");
    const char *paths[] = {first_path, second_path};
    char *first = funcfl(0, 8, 0.4, 7, 0.25, 1.4), *second = funcfl(1, 6, 0.5, 8, 0.3, 1.9);
    write_text(first_path, first);
    write_text(second_path, second);
    free(first);
    free(second);
    MdEamFile *file = read_files(paths, 2);
    if (!file) return;
    CHECK(file->n_elements == 2 && strcmp(file->name[0], "Ni") == 0 && strcmp(file->name[1], "Cu") == 0);
    if (!CHECK(file->n_rho == 6 && file->n_r == 7)) exit(1); /* 2.8 / 0.5 = 5.6, 2.1 / 0.3 = 7 */
    CHECK(file->d_rho == 0.5 && file->d_r == 0.3 && file->cutoff == 1.9);
    CHECK_NEAR(file->rho_max, 2.8, 1e-14);
    const double end_rho[] = {2.8, 2.5}, end_r[] = {1.5, 2.1};
    for (int a = 0; a < 2; a++) {
        for (int k = 0; k < 6; k++)
            CHECK_NEAR(file->embedding[6 * a + k], funcfl_embedding(a, least(0.5 * k, end_rho[a])), 1e-13);
        for (int b = 0; b < 2; b++)
            for (int k = 0; k < 7; k++) {
                const double at_a = least(0.3 * k, end_r[a]), at_b = least(0.3 * k, end_r[b]);
                CHECK_NEAR(density_at(file, a, b)[k], funcfl_density(b, at_b), 1e-13);
                CHECK_NEAR(pair_of(file, a, b)[k], 14.3888 * charge(a, at_a) * charge(b, at_b), 1e-11);
            }
    }
    md_eam_file_free(file);
}

static void check_bad_pair(char *first, char *second, const char *path, const char *message) {
    check_context("%s", message);
    write_text(first_path, first);
    write_text(second_path, second);
    free(first);
    free(second);
    char *fragment = md_format("%s: %s", path, message);
    check_refused((const char *const[]){first_path, second_path}, 2, fragment);
    free(fragment);
}

static char *one_funcfl(void) { return funcfl(1, 6, 0.5, 7, 0.25, 1.5); }

static void test_bad_funcfl(void) {
    check_bad(with(one_funcfl(), "29 51.5", "0 51.5"), 2,
              "0 is no atomic number; it tells the element of a funcfl file");
    check_bad(with(one_funcfl(), "29 51.5", "290 51.5"), 2, "290 is no atomic number");
    check_bad(with(one_funcfl(), "29 51.5", "29 -1"), 2, "a mass of -1; masses are above 0");
    check_bad(with(one_funcfl(), "6 0.5", "6 -0.5"), 3, "d_rho = -0.5; it is above 0");
    check_bad(with(one_funcfl(), "UNITS: metal", "UNITS: lj"), 1, "UNITS: lj; only files in metal units are read");
    check_bad(without_last(one_funcfl(), 1), 8, "the file ends in the density of Cu: 6 of 7 values");
    check_bad(without_last(one_funcfl(), 8), 6, "the file ends in the charge Z of Cu: 6 of 7 values");
    check_bad_pair(one_funcfl(), one_funcfl(), second_path, "element Cu, as in");
    check_bad_pair(one_funcfl(), alloy(MD_EAM_SETFL, 1, plain), second_path,
                   "a setfl or fs file holds all elements of an alloy");
    check_bad_pair(alloy(MD_EAM_SETFL, 1, plain), one_funcfl(), first_path,
                   "a setfl or fs file holds all elements of an alloy");
}

/* --- the files of LAMMPS ----------------------------------------------------------------------------------------- */

#define POTENTIALS "/usr/share/lammps/potentials/"

static bool ends_with(const char *text, const char *end) {
    return strlen(text) > strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static void check_lammps_file(const char *name) {
    check_context("%s", name);
    char *path = md_format("%s%s", POTENTIALS, name);
    MdEamFile *file = read_files((const char *const[]){path}, 1);
    free(path);
    if (!file) return;
    const bool many = file->n_elements > 1;
    CHECK(file->kind == (ends_with(name, ".fs") && many ? MD_EAM_FS
                         : ends_with(name, ".eam")      ? MD_EAM_FUNCFL
                                                        : MD_EAM_SETFL));
    CHECK(strstr(name, file->name[0]) != NULL);
    for (int k = 0; k < file->notes.n; k++) CHECK(!strstr(file->notes.text[k], "UNITS"));
    md_eam_file_free(file);
}

/* Values and slopes by physics-reference's own readers in numpy, which agree with LAMMPS. */
typedef struct Spot {
    const char *paths[2];
    int a, b;
    double r, rho, f[2], g[2], z[2];
} Spot;

static void check_spline(const double *y, int n, double d, double line_from, double x, const double expected[2]) {
    MdCubic *pieces = md_alloc((size_t)n, sizeof *pieces, "pieces");
    md_spline_pieces(n, y, pieces);
    const MdSpline spline = {.n = n, .dx = d, .line_from = line_from, .pieces = pieces};
    const MdShape shape = md_spline_shape(&spline, x);
    CHECK_NEAR(shape.u, expected[0], 1e-12 * fabs(expected[0]));
    CHECK_NEAR(shape.du, expected[1], 1e-10 * fabs(expected[1]));
    md_free(pieces);
}

static const Spot spots[] = {
    {{POTENTIALS "Cu_u3.eam"},
     0,
     0,
     2.5,
     0.0411,
     {-5.9660323596441689, -89.967149042113164},
     {0.0035499424550168458, -0.0068027630173597316},
     {1.1812988241878448, -3.2397641235447345}},
    {{POTENTIALS "Cu_smf7.eam", POTENTIALS "Ni_smf7.eam"},
     0,
     1,
     2.5,
     0.0411,
     {-6.3384807663420126, -88.994910376785811},
     {0.0051577922544744168, -0.01212101750436447},
     {1.6584840966831724, -4.6899085634289772}},
    {{POTENTIALS "Cu_smf7.eam", POTENTIALS "Ni_smf7.eam"},
     1,
     0,
     4.945,
     0.3,
     {-49.003339824797962, -160.52312385703726},
     {2.2692723846894263e-07, -2.3479115660988535e-05},
     {8.9125529396293024e-19, -9.1204375167686791e-17}},
    {{POTENTIALS "Cu_mishin1.eam.alloy"},
     0,
     0,
     2.5,
     1.8,
     {-2.0337226778594739, 0.45751235663211554},
     {0.081653718027090899, -0.13355734588971285},
     {-0.40017158812094966, -0.86006897112370195}},
    {{POTENTIALS "AlFe_mm.eam.fs"},
     0,
     1,
     2.5,
     30,
     {-5.6329705918000004, -0.096029260555556092},
     {1.3400976366907449, -1.4238239048702468},
     {0.13736032304825838, -1.6658478456453671}},
    {{POTENTIALS "AlFe_mm.eam.fs"},
     1,
     0,
     2.5,
     30,
     {-6.0210755419000002, -0.1234119541666671},
     {1.3400976366907449, -1.4238239048702468},
     {0.13736032304825838, -1.6658478456453671}},
    {{POTENTIALS "CuNi.eam.alloy"},
     1,
     0,
     2.5,
     1.1,
     {9.4012197820169039, 10.851351477743048},
     {0.080883809142215615, -0.063308782924077808},
     {-4.3443939786311034, 0.9849476643556424}},
    {{POTENTIALS "NiAlH_jea.eam.fs"},
     0,
     2,
     1.8,
     1.5,
     {-0.8185153850914435, 0.22093268243777606},
     {0.041812892706124975, -0.14101320570004344},
     {-1.2043654646467385, 1.5716064571660187}},
    {{POTENTIALS "NiAlH_jea.eam.fs"},
     2,
     0,
     1.8,
     1.5,
     {-1.2682034815763727, 1.0385168153398785},
     {0.59313668384069762, -1.0459502581210645},
     {-1.2043654646467385, 1.5716064571660187}},
};

static void check_spot(const Spot *spot) {
    check_context("values of %s", spot->paths[0]);
    MdEamFile *file = read_files(spot->paths, spot->paths[1] ? 2 : 1);
    if (!file) return;
    check_spline(file->embedding + spot->a * file->n_rho, file->n_rho, file->d_rho, file->rho_max, spot->rho, spot->f);
    check_spline(density_at(file, spot->a, spot->b), file->n_r, file->d_r, INFINITY, spot->r, spot->g);
    check_spline(pair_of(file, spot->a, spot->b), file->n_r, file->d_r, INFINITY, spot->r, spot->z);
    md_eam_file_free(file);
}

static void test_lammps_files(void) {
    DIR *potentials = opendir(POTENTIALS);
    int n = 0;
    if (!potentials) printf("not tested: the files of LAMMPS, as " POTENTIALS " is absent\n");
    for (struct dirent *entry; potentials && (entry = readdir(potentials));) {
        if (!ends_with(entry->d_name, ".eam") && !ends_with(entry->d_name, ".eam.alloy") &&
            !ends_with(entry->d_name, ".eam.fs"))
            continue;
        check_lammps_file(entry->d_name);
        n++;
    }
    if (!potentials) return;
    closedir(potentials);
    CHECK(n >= 29);
    for (size_t k = 0; k < sizeof spots / sizeof *spots; k++) check_spot(&spots[k]);
}

int main(void) {
    if (!mkdtemp(folder)) return 1;
    snprintf(first_path, sizeof first_path, "%s/first", folder);
    snprintf(second_path, sizeof second_path, "%s/second", folder);
    test_kinds();
    test_spellings();
    test_accepted();
    check_likeness("0 0 0.5");
    check_likeness("29 51.5 0.5");
    test_heads();
    test_ends();
    test_blocks();
    test_words();
    test_files();
    test_choice();
    test_one_funcfl();
    test_funcfl_alloy();
    test_bad_funcfl();
    test_lammps_files();
    unlink(first_path);
    unlink(second_path);
    rmdir(folder);
    return check_finish();
}
