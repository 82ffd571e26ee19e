/* Coordinate files, good and bad: tables, XYZ, extended XYZ. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "check.h"
#include "refused.h"
#include "system/coordinates.h"

static char path[] = "/tmp/mdmini_coordinates_XXXXXX";

static void write_text(const char *text, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(text, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

/* A deck that starts from the text, with up to three more words. */
static const char *const *file_words(const char *text, const char *a, const char *b, const char *c) {
    static char file_word[64];
    static const char *words[6];
    write_text(text, strlen(text));
    snprintf(file_word, sizeof file_word, "system.file=%s", path);
    const char *all[6] = {"system.start=file", file_word, a, b, c, NULL};
    memcpy(words, all, sizeof all);
    return words;
}

/* `:line: text` of the file. */
static const char *at(int line, const char *text) {
    static char fragments[4][256];
    static int next;
    char *fragment = fragments[next++ % 4];
    snprintf(fragment, sizeof fragments[0], "%s:%d: %s", path, line, text);
    return fragment;
}

static MdSystem *system_of(const char *text, const char *a, const char *b, const char *c) {
    MdDeck *deck = state_deck(file_words(text, a, b, c));
    MdSystem *system = state_system(deck);
    md_deck_destroy(deck);
    return system;
}

static void check_place(const MdSystem *system, int i, double x, double y, double z) {
    const double expected[3] = {x, y, z};
    for (int a = 0; a < 3; a++) CHECK_NEAR(system->position[3 * i + a], expected[a], 1e-14);
}

#define OPEN "system.boundary=open"
#define FLAT "system.dimension=2"

static void test_tables(void) {
    check_context("a table of two columns, open");
    MdSystem *s = system_of("# x y\n\n 0.5\t-2e1 \r\n  +3.25 4. # last\n1 1\n", OPEN, FLAT, NULL);
    CHECK(s->n_atoms == 3);
    check_place(s, 0, 0.5, -20, 0);
    check_place(s, 1, 3.25, 4, 0);
    CHECK(s->box.dimension == 2 && !s->box.periodic[0] && !s->box.periodic[1]);
    CHECK_NEAR(s->box.length[0], 2.75, 1e-14);
    CHECK_NEAR(s->box.length[1], 24, 1e-14);
    CHECK(s->potential.n_types == 1);
    md_system_destroy(s);

    check_context("a table read by its name alone");
    write_text("1 2\n3 4", 7);
    MdErrors *errors = md_errors_create();
    char *argument[] = {path};
    MdDeck *deck = md_deck_read(1, argument, errors);
    CHECK(deck != NULL);
    md_errors_print(errors, stdout);
    s = state_system(deck);
    CHECK(s->n_atoms == 2 && s->box.dimension == 2);
    md_system_destroy(s);
    md_deck_destroy(deck);
    md_errors_destroy(errors);

    check_context("a table of three columns, periodic, wrapped");
    s = system_of("1 2 3\n-1 10 25\n-1e-20 20.5 -30.5\n", "system.box=10 10 10", NULL, NULL);
    check_place(s, 0, 1, 2, 3);
    check_place(s, 1, 9, 0, 5);
    check_place(s, 2, 0, 0.5, 9.5);
    for (int k = 0; k < 9; k++) CHECK(s->image[k] == 0);
    md_system_destroy(s);

    check_context("atoms in a row: an extent of 0 becomes 1");
    s = system_of("1 0 0\n2 0 0\n9 0 0\n", OPEN, NULL, NULL);
    CHECK(s->box.length[0] == 8 && s->box.length[1] == 1 && s->box.length[2] == 1);
    md_system_destroy(s);

    check_context("a third column of zeros in two dimensions");
    s = system_of("1 0 0\n2 5 0\n", OPEN, FLAT, NULL);
    CHECK(s->n_atoms == 2);
    md_system_destroy(s);
}

static void test_xyz(void) {
    check_context("plain XYZ");
    MdSystem *s = system_of("3\nany comment\nAr 0 0 0\nKr 1.5 0 0 9 9\nAr 0 3 0\n", OPEN, "system.masses=1 3", NULL);
    CHECK(s->n_atoms == 3 && s->potential.n_types == 2);
    CHECK(s->type[0] == 0 && s->type[1] == 1 && s->type[2] == 0);
    CHECK(s->mass[1] == 3);
    check_place(s, 1, 1.5, 0, 0);
    md_system_destroy(s);

    check_context("types that are numbers keep their order");
    s = system_of("3\nc\n10 0 0 0\n2 1.5 0 0\n10 0 3 0\n", OPEN, "system.masses=1 3", NULL);
    CHECK(s->type[0] == 1 && s->type[1] == 0 && s->type[2] == 1 && s->mass[1] == 3);
    md_system_destroy(s);

    check_context("types that are numbers with a gap");
    for (int k = 0; k < 4; k++) {
        static const char *const names[4][2] = {{"1", "3"}, {"0", "1"}, {"1", "2"}, {"3", "A"}};
        char gap[128];
        snprintf(gap, sizeof gap, "3\nc\n%s 0 0 0\n%s 1.5 0 0\n%s 0 3 0\n", names[k][1], names[k][0], names[k][1]);
        MdDeck *deck = state_deck(file_words(gap, OPEN, NULL, NULL));
        MdErrors *errors = md_errors_create();
        MdSystemPlan plan;
        if (CHECK(md_system_plan(deck, NULL, &plan, errors) == MD_OK)) {
            const bool told = plan.file_note && strstr(plan.file_note, "types count from 1: `");
            CHECK(told == (k < 2));
            CHECK(k != 0 || strstr(plan.file_note, "`1` is type 1, `3` is type 2"));
            md_system_plan_free(&plan);
        }
        md_errors_destroy(errors);
        md_deck_destroy(deck);
    }

    check_context("extended XYZ");
    const char *text = "2\ntitle=\"no pbc=no Lattice=7 here\" Lattice=\"11 0 0 0 12 0 0 0 13\" "
                       "Properties=id:I:1:pos:R:3:species:S:1:velo:R:3 pbc=\"T F T\" Time=0.5\n"
                       "7 1 2 3 B 0.1 0.2 0.3\n3 12 14 -1 A -1 -2 -3\n\n";
    s = system_of(text, NULL, NULL, NULL);
    CHECK(s->box.periodic[0] && !s->box.periodic[1] && s->box.periodic[2]);
    CHECK(s->box.length[0] == 11 && s->box.length[1] == 12 && s->box.length[2] == 13);
    check_place(s, 0, 1, 14, 12); /* in the order of the ids */
    check_place(s, 1, 1, 2, 3);
    CHECK(s->type[0] == 1 && s->type[1] == 0);
    const double v[6] = {-1, -2, -3, 0.1, 0.2, 0.3};
    const double mass_b = s->mass[1], mass_a = s->mass[0]; /* less the velocity of the centre of mass */
    for (int k = 0; k < 6; k++)
        CHECK_NEAR(s->velocity[k], v[k] - (mass_a * v[k % 3] + mass_b * v[k % 3 + 3]) / (mass_a + mass_b), 1e-15);
    md_system_destroy(s);
    check_context("extended XYZ, its velocities replaced");
    s = system_of(text, "system.temperature=2", NULL, NULL);
    double kinetic = 0; /* two atoms in three dimensions have three degrees of freedom: 3 T / 2 */
    for (int k = 0; k < 6; k++) kinetic += s->mass[s->type[k / 3]] * s->velocity[k] * s->velocity[k] / 2;
    CHECK_NEAR(kinetic, 3, 1e-12);
    md_system_destroy(s);

    check_context("Lattice without pbc is periodic; the deck may open it; more types in the deck than symbols");
    const char *small = "2\nLattice=\"11 0 0 0 12 0 0 0 13\"\nA 1 2 3\nA 4 5 6\n";
    s = system_of(small, "system.types=2", "system.boundary=periodic periodic open", NULL);
    CHECK(s->box.periodic[0] && s->box.periodic[1] && !s->box.periodic[2] && s->box.length[2] == 13);
    CHECK(s->potential.n_types == 2 && s->type[0] == 0 && s->type[1] == 0);
    md_system_destroy(s);
    REFUSED(file_words(small, "system.box=11 12 13.5", NULL, NULL), "13.5 along z, but the Lattice of");
}

static void test_bad_tables(void) {
    check_context("bad tables");
#define BAD(text, a, b, ...) REFUSED(file_words(text, a, b, NULL), __VA_ARGS__)
    BAD("1 2 3\n4 5\n", OPEN, NULL, at(2, "2 columns, where the first row has 3"));
    BAD("1\n2 3\n", OPEN, FLAT, at(1, "1 atom")); /* a lone number opens an XYZ file */
    BAD("1.5\n2\n", OPEN, FLAT, at(1, "1 column; a table of coordinates has two or three"), at(2, "1 column"));
    BAD("1 2 3 4\n", OPEN, NULL, at(1, "4 columns; a table"));
    BAD("1 2\n3 4\n", OPEN, NULL, at(1, "2 columns, but system.dimension = 3"));
    BAD("1 2 0\n3 4 1\n", OPEN, FLAT, at(2, "z = 1, but system.dimension = 2"));
    BAD("1 2\n3 nan\n", OPEN, FLAT, at(2, "`nan` is not a finite number"));
    BAD("1 2\n-inf 4\n", OPEN, FLAT, at(2, "`-inf` is not a finite number"));
    BAD("1 2\n1e400 4\n", OPEN, FLAT, at(2, "`1e400` is not a finite number"));
    BAD("1 2\n-2e9 4\n", OPEN, FLAT, at(2, "-2e+09 is out of range; numbers up to 1e+09"));
    BAD("1 2\n0x10 4\n", OPEN, FLAT, at(2, "`0x10` is not a finite number"));
    BAD("1, 2\n3, 4\n", OPEN, FLAT,
        at(1, "`1,` is not a finite number; separate numbers by blanks, with a decimal point"));
    BAD("x y\n3 4\n", OPEN, FLAT, at(1, "`x` is not a finite number"));
    BAD("# nothing\n\n", OPEN, FLAT, "holds no coordinates");
    BAD("", OPEN, FLAT, "is empty");
    BAD("1 2\n", OPEN, FLAT, "1 atom; two are needed at least");
    BAD("1 2\n3 4\n", FLAT, NULL, "periodic along x", "periodic along y", "system.boundary = open");
    BAD("1 2\n3 4\n", FLAT, "system.box=9 3", "the box is 3 long along y");
    BAD("0 0\n5 5\n1 1\n5 5.0000005\n", OPEN, FLAT, at(4, "the atom at 5 5.0000005 0 is where that of line 2 is"));
    BAD("0 3\n5 5\n10 13\n", FLAT, "system.box=10 10", at(3, "the atom at 0 3 0 is where that of line 1 is"));
    BAD("0 3\n5 5\n9.9999995 3\n", FLAT, "system.box=10 10",
        at(3, "the atom at 9.9999995 3 0 is where that of line 1 is"));
    BAD("0 0\n\033[31m 1\n", OPEN, FLAT, at(2, "`?[31m` is not"));
    write_text("1 2\n3 4\0\n", 9);
    REFUSED(WORDS("system.start=file", file_words("", NULL, NULL, NULL)[1]), "is empty");
    write_text("1 2\n3 4\0\n", 9);
    char word[64];
    snprintf(word, sizeof word, "system.file=%s", path);
    REFUSED(WORDS("system.start=file", word), "zero bytes");
    write_text("\x1f\x8b\x08\0\0\0", 6);
    REFUSED(WORDS("system.start=file", word), "is gzipped; unpack it: gunzip --keep /");
    REFUSED(WORDS("system.start=file", "system.file=/tmp/no/such/file"),
            "/tmp/no/such/file: cannot be read: No such file");
    REFUSED(WORDS("system.start=file", "system.file=/tmp"), "/tmp: cannot be read: Is a directory");
}

/* Planar files in three dimensions, as LAMMPS writes them: what is refused along that axis names the dimension first. */
static void test_planar(void) {
    check_context("planar files");
#define BOX(x, y, z) "2\nLattice=\"" x " 0 0 0 " y " 0 0 0 " z "\" pbc=\"T T T\" Properties=species:S:1:pos:R:3:vel:R:3"
    const char *const z = "0.2 long along z, but a periodic axis needs at least 5.6 = 2 (cutoff 2.5 + skin 0.3): take "
                          "system.dimension = 2 (all atoms have one z), or take a larger box";
    BAD(BOX("9", "9", "0.2") "\nA 0 0 0 1 1 0\nA 3 3 0 0 0 0\n", "neighbor.skin=0.3", NULL, z);
    BAD(BOX("9", "9", "0.2") " Origin=\"0 0 -0.1\"\nA 0 0 0 1 1 0\nA 3 3 0 0 0 0\n", "neighbor.skin=0.3", NULL, z);
    BAD(BOX("9", "9", "0.2") "\nA 0 0 0.1 1 1 0\nA 3 3 0.1 0 0 0\n", NULL, NULL, "2 with all z and their velocities 0");
    BAD(BOX("9", "9", "0.2") "\nA 0 0 0 1 1 0\nA 3 3 0 0 0 1\n", NULL, NULL, "2 with all z and their velocities 0");
    BAD(BOX("0.2", "9", "9") "\nA 0 0 0 1 1 0\nA 0 3 3 0 0 0\n", NULL, NULL, "2 with x as the third column, of 0");
    BAD(BOX("9", "0.2", "9") "\nA 0 0 0 1 1 0\nA 3 0 3 0 0 0\n", NULL, NULL, "2 with y as the third column, of 0");
    BAD(BOX("9", "9", "0.2") "\nA 0 0 0 1 1 0\nA 3 3 0.1 0 0 0\n", NULL, NULL, "skin 0.3): take a larger box");
    BAD(BOX("9", "9", "0") "\nA 0 0 0 1 1 0\nA 3 3 0 0 0 0\n", NULL, NULL,
        "needs a box: take system.dimension = 2 (all atoms have one z), or give system.box");
    BAD("0 0 0\n3 3 0\n", "system.boundary=periodic", "system.box=9 9 0.2", "take system.dimension = 2 (all");
    md_system_destroy(system_of(BOX("9", "9", "0.2") "\nA 0 0 0 1 1 0\nA 3 3 0 0 0 0\n", FLAT, NULL, NULL));
    md_system_destroy(system_of(BOX("9", "9", "9") "\nA 0 0 0 1 1 0\nA 3 3 0 0 0 0\n", NULL, NULL, NULL));
#undef BOX
}

static void test_bad_xyz(void) {
    check_context("bad XYZ");
    BAD("3\nc\nA 1 2 3\nA 4 5 6\n", OPEN, NULL, at(4, "the file ends after 2 of 3 atoms"));
    BAD("2\nc\nA 1 2 3\nA 4 5 6\nA 7 8 9\n", OPEN, NULL,
        at(5, "`A 7 8 9` follows the last of 2 atoms; a file holds one frame"));
    BAD("2\nc\nA 1 2 3\nA 4 5\n", OPEN, NULL, at(4, "3 columns, where at least 4 are needed"));
    BAD("2\nc\nA 1 2 3\nA 4 5 nan\n", OPEN, NULL, at(4, "`nan` is not a finite number"));
    BAD("2\nc\nA 1 2 3\nA 4,5 6 7\n", OPEN, NULL, at(4, "`4,5` is not a finite number; separate numbers by blanks"));
    BAD("2\nc\nA,1,2,3\nA,4,5,6\n", OPEN, NULL,
        at(3, "1 column, where at least 4 are needed (separate them by blanks"));
    BAD("2\nc\nA 1 2 3\nA 4 5 6\n", OPEN, FLAT, at(3, "z = 3, but system.dimension = 2"));
    BAD("1\nc\nA 1 2 3\n", OPEN, NULL, at(1, "1 atom"));
    BAD("99999999999999999999\nc\nA 1 2 3\n", OPEN, NULL, at(1, "99999999999999999999 atoms; from 2 to"));
    BAD("9\nc\nA 0 0 0\nB 2 0 0\nC 4 0 0\nD 6 0 0\nE 8 0 0\nF 0 2 0\nG 0 4 0\nH 0 6 0\nI 0 8 0\n", OPEN, NULL,
        at(11, "`I`: more than 8 different symbols"));
    const char *const gap = "2\nc\n1 0 0 0\n3 2 0 0\n", *const no_gap = "2\nc\n2 0 0 0\n1 2 0 0\n";
    BAD(gap, OPEN, "potential.pairs=1 2 1 1", "potential.pairs: in /",
        "`3` is type 2, so that a number may mean either");
    BAD(gap, OPEN, "system.types=3", "system.types: in /", "`3` is type 2, so that a number may mean either");
    md_system_destroy(system_of(no_gap, OPEN, "potential.pairs=1 2 1 1", NULL));
    md_system_destroy(system_of(no_gap, OPEN, "system.types=3", NULL));
    BAD("3\nc\nA 0 0 0\nB 2 0 0\nC 4 0 0\n", OPEN, "system.types=2", "system.types: 2, but", "has 3 different symbols");
    BAD("3\nc\nA 0 0 0\nB 2 0 0\nC 4 0 0\n", OPEN, "system.masses=1 2",
        "system.masses: 2 numbers; one for each of the 3 types");
    BAD("2\nLattice=\"9 0 0 1 9 0 0 0 9\"\nA 0 0 0\nA 1 1 1\n", NULL, NULL,
        at(2, "Lattice=\"9 0 0 1 9 0 0 0 9\": the box must be"));
    BAD("2\nLattice=\"9 0 0 0 9 0 0 0\"\nA 0 0 0\nA 1 1 1\n", NULL, NULL,
        at(2, "Lattice=\"9 0 0 0 9 0 0 0\": nine finite numbers are needed"));
    BAD("2\nLattice=\"9 0 0 0 9 0 0 0 -9\"\nA 0 0 0\nA 1 1 1\n", NULL, NULL, at(2, "Lattice="));
    BAD("2\nLattice=\"9 0 0 0 9 0 0 0 9\" pbc=\"T T\"\nA 0 0 0\nA 1 1 1\n", NULL, NULL,
        at(2, "pbc=\"T T\": three words T or F"));
    BAD("2\nProperties=species:S:1:pos:R:2\nA 0 0 0\nA 1 1 1\n", OPEN, NULL,
        at(2, "Properties: `pos:R:2` cannot be used; pos:R:3 is possible"));
    BAD("2\nProperties=species:S:1\nA\nA\n", OPEN, NULL,
        at(2, "Properties: species:S:1 (or Z:I:1) and pos:R:3 are needed"));
    BAD("2\nProperties=species:S:1:pos:R:3:x\nA 0 0 0\nA 1 1 1\n", OPEN, NULL, "`x` is not understood");
    BAD("2\nProperties=species:S:1:pos:R:3\nA 0 0 0\nA 1 1 1 7\n", OPEN, NULL, at(4, "5 columns, where 4 are needed"));
    BAD("2\nc\nA 1 1 1\nB 1 1 1\n", OPEN, NULL, at(4, "the atom at 1 1 1 is where that of line 3 is"));
}

/* Ten problems are shown, and that there are more. */
static void test_many_problems(void) {
    check_context("many problems");
    char text[4096] = "";
    for (int k = 0; k < 300; k++) strcat(text, k % 2 ? "1 x\n" : "1 2\n");
    MdErrors *errors = md_errors_create();
    write_text(text, strlen(text));
    CHECK(md_coordinates_read(path, NULL, 0, 2, errors) == NULL);
    CHECK(md_errors_count(errors) == 11);
    CHECK(refused_mentions(errors, "more problems follow"));
    md_errors_destroy(errors);
}

/* A million rows, read, wrapped and searched: also when one atom is far away, when all sit in one small corner of a large
 * box. Prints the time, about a second; the limit is for a busy machine and
 * a build with sanitizers, while a search of all pairs would take hours. */
static void test_large(const char *name, double spread, double far) {
    enum { SIDE = 100, N = SIDE * SIDE * SIDE };
    FILE *file = fopen(path, "wb");
    for (int k = 0; k < N; k++)
        fprintf(file, "%.9f %.9f %.9f\n", spread * (k % SIDE), spread * (k / SIDE % SIDE), spread * (k / SIDE / SIDE));
    fprintf(file, "%.9f 0 0\n", far);
    fclose(file);
    MdErrors *errors = md_errors_create();
    double start = md_clock_s();
    MdCoordinates *c = md_coordinates_read(path, NULL, 0, 3, errors);
    CHECK(c && c->n_atoms == N + 1);
    MdBox box = {.dimension = 3, .length = {1, 1, 1}};
    double read = md_clock_s();
    CHECK(c && md_coordinates_settle(c, &box, path, errors) == MD_OK);
    double end = md_clock_s();
    printf("a million rows, %s: read in %.2f s, searched in %.2f s\n", name, read - start, end - read);
    check_context("a million rows, %s", name);
    CHECK(end - start < 100);
    md_errors_print(errors, stdout);
    md_coordinates_destroy(c);
    md_errors_destroy(errors);
}

int main(void) {
    int file = mkstemp(path);
    if (file < 0) return 1;
    close(file);
    test_tables();
    test_xyz();
    test_bad_tables();
    test_planar();
    test_bad_xyz();
    test_many_problems();
    test_large("even", 1.07, -1);
    test_large("one far away", 1.07, 1e9);
    test_large("a dense corner", 2e-6, 1e6);
    unlink(path);
    return check_finish();
}
