/* Mutations of the decks of inputs/ and of the tests, handed to the reader (fuzz_deck.c). Three seconds by default; by
 * hand, in a build with MDMINI_SANITIZE=address,undefined:
 *
 *   test_fuzz --seconds 600 --seed 7 */
#include "fuzz_deck.c"

#include "check.h"
#include "fuzz.h"

/* A word that the reader knows, or a number at the edge of something. */
static const char *draw_word(uint64_t (*draw)(uint64_t below)) {
    static const char *const words[] = {"[",
                                        "]",
                                        "=",
                                        "#",
                                        "\"",
                                        "\\",
                                        "\n",
                                        "\r\n",
                                        " ",
                                        "\t",
                                        "auto",
                                        "nan",
                                        "inf",
                                        "-0",
                                        "1e400",
                                        "1e-400",
                                        "0x10",
                                        "9223372036854775807",
                                        "9007199254740993",
                                        "1e15",
                                        "0.1",
                                        "2.5e3",
                                        "4.9e-324",
                                        "..",
                                        "/",
                                        ";",
                                        "Lattice=\"",
                                        "\xef\xbb\xbf",
                                        "\xc3\xa4"};
    const MdOptionRow *row = md_option_row((int)draw(MD_N_OPTIONS));
    int n_words = 0;
    while (row->words[n_words]) n_words++;
    switch (draw(4)) {
    case 0: return row->section;
    case 1: return row->key;
    case 2: return n_words ? row->words[draw((uint64_t)n_words)] : row->default_text;
    default: return words[draw(sizeof words / sizeof *words)];
    }
}

/* Such a word, or `[section]` and `key = default` of some row, which most often is legal. */
static const char *draw_piece(uint64_t (*draw)(uint64_t below), size_t *n) {
    static char lines[4096];
    const MdOptionRow *row = md_option_row((int)draw(MD_N_OPTIONS));
    const char *word = draw(2) ? draw_word(draw) : NULL;
    if (!word) snprintf(lines, sizeof lines, "\n[%s]\n%s = %s\n", row->section, row->key, row->default_text);
    *n = strlen(word ? word : lines);
    return word ? word : lines;
}

int main(int argc, char **argv) {
    static const char *const folders[] = {"inputs", "inputs/presets", "tests/deck/bad", "tests/deck/good", NULL};
    static const char *const endings[] = {".txt", NULL};
    const FuzzPlan plan = {.folders = folders, .endings = endings, .piece = draw_piece};
    const long n = fuzz_run(&plan, argc, argv);
    if (n < 0) return CHECK_SKIPPED;
    printf("%ld accepted\n", n_accepted);
    CHECK(n_accepted > n / 100); /* the way back was gone, too */
    CHECK(n > 100);              /* fewer, and the test has not done its work */
    return check_finish();
}
