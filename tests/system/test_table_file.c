/* Files of LAMMPS' pair_style table: what is accepted, what is refused, the rows they give. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "physics/spline.h"
#include "system/table_file.h"

static char path[] = "/tmp/mdmini_table_XXXXXX";
enum { ROWS = 40 };

static void write_text(const char *text) {
    FILE *file = fopen(path, "wb");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

/* A well with an inflection. */
static double energy(double r) { return 4 * (pow(r, -12) - pow(r, -6)); }
static double force(double r) { return 4 * (12 * pow(r, -13) - 6 * pow(r, -7)); }

typedef double Distance(int k);
static double in_r(int k) { return 0.9 + 1.6 * k / (ROWS - 1); }
static double in_rsq(int k) { return sqrt(0.81 + (6.25 - 0.81) * k / (ROWS - 1)); }
static double uneven(int k) { return 0.9 + 1.6 * pow(k / (ROWS - 1.0), 1.5); }

/* A section whose rows are written with so many digits. */
static void add_section(MdText *text, const char *head, Distance *distance, int digits) {
    md_text_add(text, "%s\n\n", head);
    for (int k = 0; k < ROWS; k++) {
        const double r = distance(k);
        md_text_add(text, "%d %.*g %.*g %.*g\n", k + 1, digits, r, digits, energy(r), digits, force(r));
    }
    md_text_add(text, "\n");
}

/* Lines: 1 tag, 3 EVEN, 4 parameters, 6 to 45 rows; 47 SQUARES; 91 UNEVEN. */
static char *file_text(void) {
    MdText text = {0};
    md_text_add(&text, "# UNITS: lj\n\n");
    add_section(&text, "EVEN\nN 40 R 0.9 2.5", in_r, 15);
    add_section(&text, "SQUARES words after the name\nRSQ 0.9 2.5 N 40", in_rsq, 15);
    add_section(&text, "UNEVEN\nN 40 FPRIME -1500 0.1", uneven, 15);
    return md_text_take(&text);
}

static char *with(char *text, const char *words, const char *others) {
    char *at = strstr(text, words);
    if (!CHECK(at != NULL)) exit(1);
    char *changed = md_format("%.*s%s%s", (int)(at - text), text, others, at + strlen(words));
    free(text);
    return changed;
}

/* --- accepted ---------------------------------------------------------------------------------------------------- */

static MdTableFile *read_text(char *text, const char *section) {
    write_text(text);
    free(text);
    MdErrors *errors = md_errors_create();
    MdTableFile *table = md_table_file_read(path, section, "lj", 2.5, errors);
    CHECK(table != NULL && md_errors_count(errors) == 0);
    md_errors_print(errors, stdout);
    md_errors_destroy(errors);
    return table;
}

static void check_notes(const MdNotes *notes, const char *fragment) {
    CHECK(notes->n == (fragment != NULL));
    if (notes->n == 1 && fragment && CHECK(strstr(notes->text[0], fragment) != NULL)) return;
    if (fragment) printf("expected: %s\n", fragment);
    for (int k = 0; k < notes->n; k++) printf("note: %s\n", notes->text[k]);
}

/* tolerance: relative, of energies and forces; distances are exact with R and RSQ. */
static void check_table(char *text, const char *section, Distance *distance, double tolerance, const char *note) {
    MdTableFile *table = read_text(text, section);
    if (!table) return;
    if (!CHECK(table->n == ROWS)) exit(1);
    for (int k = 0; k < ROWS; k++) {
        const double r = distance(k);
        CHECK_NEAR(table->r[k], r, 6e-15);
        CHECK_NEAR(table->energy[k], energy(r), tolerance * fabs(energy(r)) + 1e-14);
        CHECK_NEAR(table->force[k], force(r), tolerance * fabs(force(r)) + 1e-14);
    }
    check_notes(&table->notes, note);
    check_notes(&table->warnings, NULL);
    md_table_file_free(table);
}

static void test_accepted(void) {
    const char *fprime = ":92: FPRIME is not used";
    check_context("sections");
    check_table(file_text(), "EVEN", in_r, 1e-14, NULL);
    check_table(file_text(), "SQUARES", in_rsq, 1e-14, NULL);
    check_table(file_text(), "UNEVEN", uneven, 1e-14, fprime);
    check_context("rounded to seven digits");
    MdText text = {0};
    add_section(&text, "# UNITS: lj\nEVEN\nN 40 R 0.9 2.5", in_r, 7);
    check_table(md_text_take(&text), "EVEN", in_r, 1e-6, NULL);
    check_context("no UNITS");
    check_table(with(file_text(), "UNITS: lj", ""), "EVEN", in_r, 1e-14, "no UNITS tag; lj units are taken");
    check_context("D exponents, tabs, comments, blank lines, CR LF, a byte-order mark");
    check_table(with(file_text(), "1 0.9 ", "\t1\t9.D-1  "), "EVEN", in_r, 1e-14, NULL);
    check_table(with(file_text(), "\n2 ", " # 7\n#\n \n2 "), "EVEN", in_r, 1e-14, NULL);
    check_table(with(file_text(), "EVEN\nN 40 R 0.9 2.5\n", "EVEN\r\nN 40 R 0.9 2.5\r\n"), "EVEN", in_r, 1e-14, NULL);
    check_table(with(file_text(), "# UNITS: lj\n\nEVEN",
                     "\xef\xbb\xbf"
                     "EVEN # UNITS: lj"),
                "EVEN", in_r, 1e-14, NULL);
    check_context("more columns");
    check_table(with(file_text(), "\n2 ", " 5\n2 "), "EVEN", in_r, 1e-14, "columns after the fourth are not used");
}

/* --- forces ------------------------------------------------------------------------------------------------------ */

static double halved(double r) { return force(r) / 2; }
static double negative(double r) { return -force(r); }

static void check_forces(double (*written)(double), double from, double to, const char *note) {
    MdText text = {0};
    md_text_add(&text, "# UNITS: lj\nX\nN 40 R 0.9 2.5\n");
    for (int k = 0; k < ROWS; k++) {
        const double r = in_r(k);
        md_text_add(&text, "%d %.15g %.15g %.15g\n", k + 1, r, energy(r), r > from && r < to ? written(r) : force(r));
    }
    MdTableFile *table = read_text(md_text_take(&text), "X");
    if (!table) return;
    check_notes(&table->warnings, note);
    md_table_file_free(table);
}

/* Many rows, energies of six digits: what these round is no fault. */
static void test_rounded_energies(void) {
    check_context("rounded energies");
    enum { MANY = 3000 };
    MdText text = {0};
    md_text_add(&text, "# UNITS: lj\nX\nN %d R 0.9 2.5\n", MANY);
    for (int k = 0; k < MANY; k++) {
        const double r = 0.9 + 1.6 * k / (MANY - 1);
        md_text_add(&text, "%d %.9f %.5e %.5e\n", k + 1, r, energy(r), force(r));
    }
    MdTableFile *table = read_text(md_text_take(&text), "X");
    if (!table) return;
    check_notes(&table->warnings, NULL);
    md_table_file_free(table);
}

static void test_forces(void) {
    check_context("forces that are not minus the slope of the energy");
    check_forces(force, 0, 3, NULL);
    check_forces(negative, 0.93, 0.95, "the force of 1 of 40 rows is not minus the slope of the energy: rows 2");
    check_forces(negative, 0.89, 0.91, NULL); /* the first row, and the last */
    check_forces(negative, 2.49, 3, NULL);
    check_forces(halved, in_r(2) - 0.01, in_r(3) + 0.01,
                 "section X: the force of 2 of 40 rows is not minus the slope of the energy: rows 3, 4");
    check_forces(negative, in_r(20) - 0.01, in_r(35) + 0.01,
                 "the force of 16 of 40 rows is not minus the slope of the energy: rows 21, 22, 23, 24, 25, 26, 27, "
                 "28, 29, 30, ...");
}

/* --- refused ----------------------------------------------------------------------------------------------------- */

static void check_bad_at(char *text, const char *section, double cutoff, int line, const char *message) {
    check_context("%s", message);
    write_text(text);
    free(text);
    MdErrors *errors = md_errors_create();
    MdTableFile *table = md_table_file_read(path, section, "lj", cutoff, errors);
    CHECK(table == NULL);
    md_table_file_free(table);
    char *fragment = line ? md_format("%s:%d: %s", path, line, message) : md_format("%s: %s", path, message);
    CHECK(md_errors_status(errors) == MD_ERROR_INPUT && md_errors_count(errors) == 1);
    if (md_errors_count(errors) > 0 && !CHECK(strstr(md_errors_text(errors, 0), fragment) != NULL))
        printf("expected: %s\nmessage:  %s\n", fragment, md_errors_text(errors, 0));
    free(fragment);
    md_errors_destroy(errors);
}

static void check_bad(char *text, const char *section, int line, const char *message) {
    check_bad_at(text, section, 2.5, line, message);
}

static char *of_line_4(const char *line) { return with(file_text(), "N 40 R 0.9 2.5", line); }
static char *until(char *text, const char *words) {
    char *at = strstr(text, words);
    if (!CHECK(at != NULL)) exit(1);
    *at = 0;
    return text;
}

static void test_sections(void) {
    check_bad(file_text(), "even", 0, "no section `even`; it has EVEN, SQUARES, UNEVEN");
    check_bad(md_copy_text("# UNITS: lj\n1 2 3 4\n"), "EVEN", 0, "no section `EVEN`, nor any other");
    check_bad(with(file_text(), "UNITS: lj", "UNITS: real"), "EVEN", 1, "UNITS: real, but system.units = lj");
    check_bad(until(file_text(), "N 40"), "EVEN", 3, "the file ends before the parameters of section EVEN");
    check_bad_at(file_text(), "EVEN", 2.51, 0, "section EVEN ends at r = 2.5, before the cutoff of 2.51");
}

static void test_parameters(void) {
    check_bad(of_line_4("N 40 BITMAP 4 4"), "EVEN", 4,
              "`BITMAP`, where N, R lo hi, RSQ lo hi and FPRIME lo hi can stand");
    check_bad(of_line_4("R 0.9 2.5"), "EVEN", 4, "`R 0.9 2.5`: the number of rows is needed (N ...)");
    check_bad(of_line_4("N 40 R 0.9"), "EVEN", 4, "`N 40 R 0.9`: the last distance is missing");
    check_bad(of_line_4("N 40 R 0 2.5"), "EVEN", 4,
              "from 0 to 2.5; the first distance is above 0, the last above that");
    check_bad(of_line_4("N 40 R 2.5 2.5"), "EVEN", 4, "from 2.5 to 2.5; the first distance is above 0");
    check_bad(of_line_4("N 40 R 0.9 2.5 RSQ 0.9 2.5"), "EVEN", 4, "R or RSQ twice");
    check_bad(of_line_4("N 40.5 R 0.9 2.5"), "EVEN", 4, "N = 40.5; it is a number of rows, 2 at least");
    check_bad(of_line_4("N 1 R 0.9 2.5"), "EVEN", 4, "N = 1; it is a number of rows");
    check_bad(of_line_4("N x R 0.9 2.5"), "EVEN", 4, "`x` is not a finite number: N");
    check_bad(of_line_4("N 40 FPRIME 1"), "EVEN", 4, "`N 40 FPRIME 1`: FPRIME is missing");
}

static void test_rows(void) {
    check_bad(of_line_4("N 41"), "EVEN", 47, "section EVEN ends after 40 of 41 rows");
    check_bad(with(file_text(), "N 40 FPRIME", "N 41 FPRIME"), "UNEVEN", 134,
              "section UNEVEN and the file end after 40 of 41 rows");
    check_bad(with(file_text(), "N 40 FPRIME", "N 1000000000 FPRIME"), "UNEVEN", 134,
              "section UNEVEN and the file end after 40 of 1000000000 rows");
    check_bad(of_line_4("N 39"), "EVEN", 45,
              "`40 2.5 -0.016316891136 -0.0389994774528` follows the last of 39 rows (N)");
    check_bad(with(file_text(), "\n3 ", "\n3 # "), "EVEN", 8, "`3 `: r (columns: index r energy force) is missing");
    check_bad(with(file_text(), "40 2.5 -0.0", "40 2.5 # -0.0"), "EVEN", 45,
              "`40 2.5 `: the energy (columns: index r energy force) is missing");
    check_bad(with(file_text(), "40 2.5 ", "40 2.5 nan "), "EVEN", 45, "`nan` is not a finite number: the energy");
    check_bad(with(file_text(), "40 2.5 ", "40 2.500003 "), "EVEN", 45,
              "r = 2.500003, but row 40 of 40 is at 2.5 by R 0.9 2.5");
    check_bad(with(file_text(), "RSQ 0.9 2.5", "RSQ 0.9 2.51"), "SQUARES", 51,
              "r = 0.974416328, but row 2 of 40 is at");
    check_bad(with(file_text(), "RSQ 0.9 2.5", "R 0.9 2.5"), "SQUARES", 51, "r = 0.974416328, but row 2 of 40 is at");
    check_bad(with(of_line_4("N 40"), "40 2.5 ", "40 2.45 "), "EVEN", 45,
              "r = 2.45 after 2.45897436; distances ascend");
    check_bad(with(of_line_4("N 40"), "1 0.9 ", "1 0 "), "EVEN", 6, "r = 0; distances are above 0");
}

/* The rows come back exactly, and between them the energy is near the formula's. */
static void test_interpolation(void) {
    check_context("Hermite pieces of a table");
    MdTableFile *table = read_text(file_text(), "EVEN");
    if (!table) return;
    MdCubic pieces[ROWS - 1];
    double slope[ROWS];
    for (int k = 0; k < ROWS; k++) slope[k] = -table->force[k];
    md_hermite_pieces(ROWS, table->r, table->energy, slope, pieces);
    for (int k = 0; k < ROWS; k++) {
        const MdShape shape = md_hermite_shape(ROWS, table->r, pieces, table->r[k]);
        CHECK_NEAR(shape.u, table->energy[k], 1e-13 * fabs(table->energy[k]));
        CHECK_NEAR(-shape.du, table->force[k], 1e-11);
    }
    for (double r = 1.2; r < 2.5; r += 0.01) CHECK_NEAR(md_hermite_shape(ROWS, table->r, pieces, r).u, energy(r), 2e-4);
    md_table_file_free(table);
}

int main(void) {
    const int file = mkstemp(path);
    if (file < 0) return 1;
    close(file);
    test_accepted();
    test_forces();
    test_rounded_energies();
    test_sections();
    test_parameters();
    test_rows();
    test_interpolation();
    unlink(path);
    return check_finish();
}
