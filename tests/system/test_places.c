/* Where particles start: lattices, random placement, types by shares, and the checks on box and cells. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "check.h"
#include "refused.h"

/* By the definition, all pairs; the system under test has its own search. */
static double distance_of(const MdSystem *system, int64_t i, int64_t j) {
    double r_sq = 0;
    for (int a = 0; a < 3; a++) {
        double d = fabs(system->position[3 * i + a] - system->position[3 * j + a]);
        if (system->box.periodic[a]) d = fmin(d, system->box.length[a] - d);
        r_sq += d * d;
    }
    return sqrt(r_sq);
}

static double nearest_pair(const MdSystem *system) {
    double nearest = INFINITY;
    for (int64_t i = 0; i < system->n_atoms; i++)
        for (int64_t j = 0; j < i; j++) nearest = fmin(nearest, distance_of(system, i, j));
    return nearest;
}

static void check_inside(const MdSystem *system) {
    int64_t n_outside = 0;
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) {
        double length = system->box.length[k % 3], x = system->position[k];
        n_outside += !(x >= 0 && x < length) || system->image[k] != 0;
    }
    CHECK(n_outside == 0);
}

typedef struct LatticeCase {
    const char *start, *cells;
    double density;
    int dimension, n_atoms;
    double nearest_cubed; /* distance of nearest neighbours to the power of the dimension, times density */
    int coordination;
} LatticeCase;

/* From any text on crystals: sc 1; bcc sqrt(3)/2 a with 2 / a^3; fcc a/sqrt(2) with 4 / a^3; square 1; hexagonal
 * 2/sqrt(3). */
static const LatticeCase lattices[] = {
    {"sc", "7 8 9", 0.8, 3, 504, 1, 6},
    {"bcc", "6", 0.95, 3, 432, 1.299038105676658, 8},
    {"fcc", "5 6 7", 0.8442, 3, 840, 1.4142135623730951, 12},
    {"fcc", "5", 1.3, 3, 500, 1.4142135623730951, 12},
    {"square", "9 13", 0.7, 2, 117, 1, 4},
    {"hexagonal", "12 8", 0.9, 2, 192, 1.1547005383792517, 6},
};

static void test_lattice(const LatticeCase *c) {
    char words[4][64];
    snprintf(words[0], sizeof words[0], "system.start=%s", c->start);
    snprintf(words[1], sizeof words[1], "system.cells=%s", c->cells);
    snprintf(words[2], sizeof words[2], "system.density=%.17g", c->density);
    snprintf(words[3], sizeof words[3], "system.dimension=%d", c->dimension);
    MdDeck *deck = state_deck(WORDS(words[0], words[1], words[2], words[3]));
    MdSystem *system = state_system(deck);
    check_context("%s %s", c->start, c->cells);
    CHECK(system->n_atoms == c->n_atoms);
    CHECK_NEAR((double)system->n_atoms / md_box_volume(&system->box), c->density, 1e-13 * c->density);
    double nearest = pow(c->nearest_cubed / c->density, 1.0 / c->dimension);
    CHECK_NEAR(nearest_pair(system), nearest, 1e-12 * nearest);
    /* Each atom has its full shell, across the faces too. */
    int n_wrong = 0;
    for (int64_t i = 0; i < system->n_atoms; i++) {
        int shell = 0;
        for (int64_t j = 0; j < system->n_atoms; j++) shell += i != j && distance_of(system, i, j) < 1.05 * nearest;
        n_wrong += shell != c->coordination;
    }
    CHECK(n_wrong == 0);
    check_inside(system);
    for (int a = 0; a < 3; a++) CHECK(system->position[a] == 0);
    CHECK(c->dimension == 3 || (!system->box.periodic[2] && system->box.length[2] > 0));
    md_system_destroy(system);
    md_deck_destroy(deck);
}

static void test_random_places(const char *name, double least, const char *const *words) {
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck), *again = state_system(deck);
    check_context("random placement, %s", name);
    CHECK(system->n_atoms == md_deck_config(deck)->system_atoms);
    double nearest = nearest_pair(system);
    CHECK(nearest >= least);
    CHECK(nearest < 1.2 * least); /* random, not a lattice in disguise */
    check_inside(system);
    double mean[3] = {0, 0, 0};
    for (int64_t i = 0; i < system->n_atoms; i++)
        for (int a = 0; a < 3; a++) mean[a] += system->position[3 * i + a] / system->box.length[a];
    double deviation = 1 / sqrt(12.0 * (double)system->n_atoms);
    for (int a = 0; a < system->box.dimension; a++) CHECK_NEAR(mean[a] / (double)system->n_atoms, 0.5, 5 * deviation);
    CHECK(memcmp(system->position, again->position, 3 * (size_t)system->n_atoms * sizeof(double)) == 0);
    md_system_destroy(system);
    md_system_destroy(again);
    md_deck_destroy(deck);
}

/* With open boundaries atoms at opposite faces do not see each other: some are nearer than the distance across. */
static void test_open_places(void) {
    MdDeck *deck = state_deck(WORDS("system.start=random", "system.atoms=2000", "system.box=12 14 16",
                                    "system.min_distance=0.9", "system.boundary=periodic open open"));
    MdSystem *system = state_system(deck);
    check_context("random placement, open boundaries");
    CHECK(nearest_pair(system) >= 0.9);
    system->box.periodic[0] = false;
    CHECK(nearest_pair(system) >= 0.9);
    system->box.periodic[0] = system->box.periodic[1] = true;
    CHECK(nearest_pair(system) < 0.9);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

static void test_types(void) {
    MdDeck *deck = state_deck(WORDS("system.density=1.2", "system.cells=8", "system.types=3",
                                    "system.fractions=0.8 0.1999 0.0001", "system.masses=1 2 3"));
    MdSystem *system = state_system(deck);
    check_context("types by shares of %d atoms", (int)system->n_atoms);
    int64_t count[3] = {0, 0, 0}, n_runs = 1, first_half = 0;
    for (int64_t i = 0; i < system->n_atoms; i++) {
        count[system->type[i]]++;
        n_runs += i > 0 && system->type[i] != system->type[i - 1];
        first_half += 2 * i < system->n_atoms && system->type[i] == 1;
    }
    /* 2048 atoms: shares of 1638.4, 409.3952 and 0.2048; the largest remainder gets the one that is left */
    CHECK(count[0] == 1639 && count[1] == 409 && count[2] == 0);
    /* Mixed at random: expected runs 1 + 2 n1 n2 / n = 655.6 with deviation 14.5, half of the 409 in the first half
     * with deviation 9.1; five of each. */
    CHECK_NEAR((double)n_runs, 655.6, 73);
    CHECK_NEAR((double)first_half, 204.5, 46);
    CHECK(system->mass[0] == 1 && system->mass[1] == 2 && system->mass[2] == 3);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

static void test_refusals(void) {
    check_context("refusals");
    REFUSED(WORDS("system.cells=4"), "system.density: a lattice needs it");
    REFUSED(WORDS("system.density=1", "system.dimension=2"), "fcc is a lattice of 3 dimensions");
    REFUSED(WORDS("system.density=1", "system.start=hexagonal"), "hexagonal is a lattice of 2 dimensions");
    REFUSED(WORDS("system.density=1", "system.cells=8 8"), "system.cells: 2 numbers; one for each of the 3 axes");
    REFUSED(WORDS("system.density=1", "system.cells=1000000"), "system.cells: 4000000000000000000 atoms");
    REFUSED(WORDS("system.density=1", "system.boundary=open open"), "system.boundary: 2 words");
    REFUSED(WORDS("system.start=random", "system.atoms=100"), "either system.density or system.box, and none is given");
    REFUSED(WORDS("system.start=random", "system.density=0.1"), "system.atoms: system.start = random needs");
    REFUSED(WORDS("system.start=random", "system.atoms=100", "system.density=0.1", "system.box=10 10 10"), "not both");
    REFUSED(WORDS("system.start=random", "system.atoms=100", "system.box=10 10"), "system.box: 2 numbers");
    REFUSED(WORDS("system.start=file"), "system.file: system.start = file needs");
    /* two options wrong: both are named */
    REFUSED(WORDS("system.density=1", "system.types=2", "system.fractions=0.5 0.6", "system.masses=1 2 3",
                  "potential.epsilon=1 2 3"),
            "they sum to 1.1", "system.masses: 3 numbers; one for each of the 2 types", "potential.epsilon: 3 numbers");
    REFUSED(WORDS("system.density=1", "system.types=2", "system.fractions=0.5"), "a single number must be 1");
    REFUSED(WORDS("system.start=random", "system.atoms=10000", "system.density=1.5"),
            "system.min_distance: random placement", "take a smaller system.min_distance");
}

/* The box may be as short as twice the reach of the list, no shorter. */
static void test_smallest_box(void) {
    check_context("smallest box");
    const char *words[] = {"system.start=random", "system.atoms=20", "system.box=5.6 5.6 5.6", NULL, NULL};
    MdDeck *deck = state_deck(words);
    md_system_destroy(state_system(deck)); /* ends the test when refused */
    md_deck_destroy(deck);
    words[2] = "system.box=5.6 5.5999 8";
    REFUSED(words, "5.5999 long along y", "needs at least 5.6 = 2 (cutoff 2.5 + skin 0.3)");
    words[3] = "system.boundary=periodic open periodic";
    deck = state_deck(words);
    md_system_destroy(state_system(deck));
    md_deck_destroy(deck);
    REFUSED(WORDS("system.density=1", "system.cells=2"), "3.1748021 long along x", "system.cells = 4");
    REFUSED(WORDS("system.dimension=2", "system.start=square", "system.density=1", "system.cells=20", "system.types=2",
                  "potential.pairs=2 2 1 3 9.71"),
            "needs at least 20.02");
}

/* A skin that the backend is to choose: the cutoff must fit at once, the whole range when the skin is known. */
static void test_skin_to_come(void) {
    check_context("neighbor.skin = auto");
    const char *words[] = {"system.start=random", "system.atoms=20", "system.box=5.2 5.2 5.2", "neighbor.skin=auto",
                           NULL};
    MdDeck *deck = state_deck(words);
    MdErrors *errors = md_errors_create();
    MdSystemPlan plan;
    CHECK(md_system_plan(deck, NULL, &plan, errors) == MD_OK);
    CHECK(md_system_check_range(deck, &plan, 0.1, errors) == MD_OK && md_errors_count(errors) == 0);
    CHECK(md_system_check_range(deck, &plan, 0.11, errors) == MD_ERROR_INPUT);
    CHECK(refused_mentions(errors, "system.box: the box is 5.2 long along x") &&
          refused_mentions(errors, "needs at least 5.22 = 2 (cutoff 2.5 + skin 0.11)"));
    md_errors_destroy(errors);
    md_deck_destroy(deck);
    words[2] = "system.box=5.2 4.9 5.2";
    REFUSED(words, "4.9 long along y", "needs at least 5 = 2 (cutoff 2.5 + skin 0)");
}

int main(void) {
    for (size_t k = 0; k < sizeof lattices / sizeof *lattices; k++) test_lattice(&lattices[k]);
    test_random_places("3-D", 0.85, WORDS("system.start=random", "system.atoms=3000", "system.density=0.8442"));
    test_random_places("2-D", 1,
                       WORDS("system.start=random", "system.atoms=2000", "system.box=60 70", "system.dimension=2",
                             "system.min_distance=1"));
    test_random_places("small box", 0.85, WORDS("system.start=random", "system.atoms=100", "system.box=5.6 5.6 5.6"));
    test_open_places();
    test_types();
    test_refusals();
    test_smallest_box();
    test_skin_to_come();
    return check_finish();
}
