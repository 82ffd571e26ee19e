/* Mutations of coordinate files, handed to the readers (fuzz_coordinates.c). Three seconds by default; by hand, in a
 * build with MDMINI_SANITIZE=address,undefined:
 *
 *   test_fuzz_coordinates --seconds 600 --seed 7 */
#include "fuzz_coordinates.c"

#include "check.h"

static const char *draw_piece(uint64_t (*draw)(uint64_t below), size_t *n) {
    static const char *const pieces[] = {"\"",
                                         "'",
                                         "\\",
                                         "\\\"",
                                         "[",
                                         "]",
                                         "{",
                                         "}",
                                         "=",
                                         ",",
                                         ":",
                                         "\n",
                                         "\r\n",
                                         " ",
                                         "\t",
                                         "#",
                                         "0",
                                         "-0",
                                         "1e400",
                                         "1e-400",
                                         "1.5d0",
                                         "0x10",
                                         "nan",
                                         "9223372036854775808",
                                         "1e9",
                                         "2147483647",
                                         " Lattice=\"9 0 0 0 9 0 0 0 9\"",
                                         " lattice = [[9, 0, 0], [0, 9, 0], [0, 0, 9]]",
                                         " Lattice={9 9 0}",
                                         " pbc=\"T F T\"",
                                         " pbc=[True, false, 1]",
                                         " pbc",
                                         " Origin=\"1 2 3\"",
                                         " note=\"a \\\" pbc=\\\"F F F\\\" b\"",
                                         " Properties=species:S:1:pos:R:3",
                                         ":velo:R:3",
                                         ":momenta:R:3:mass:R:1",
                                         ":id:I:1",
                                         ":Z:I:1",
                                         ":forces:R:3",
                                         ":x:L:900",
                                         "\nAr 1 2 3",
                                         " 4 5 6",
                                         "\n0 1 2\n3 4 5"};
    const char *piece = pieces[draw(sizeof pieces / sizeof *pieces)];
    *n = strlen(piece);
    return piece;
}

int main(int argc, char **argv) {
    static const char *const folders[] = {"tests/system/files", "tests/system/files", "tests/deck/bad", NULL};
    static const char *const endings[] = {".xyz", ".txt", NULL};
    const FuzzPlan plan = {.folders = folders, .endings = endings, .piece = draw_piece};
    const long n = fuzz_run(&plan, argc, argv);
    if (n < 0) return CHECK_SKIPPED;
    printf("%ld accepted\n", n_accepted);
    CHECK(n_accepted > n / 200); /* what was accepted was written out and read again */
    CHECK(n > 100);              /* fewer, and the test has not done its work */
    return check_finish();
}
