/* Several processes make one system, each a block of the ids: side by side the blocks are the bits that one process makes. Threads
 * stand for the processes. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backends.h"
#include "base/memory.h"
#include "check.h"
#include "state.h"
#include "system/random_source.h"
#include "system/velocity.h"
#include "thread_ranks.h"

enum { MOST_RANKS = 8 };

typedef struct Rank {
    const MdDeck *deck;
    MdSystemPlan plan;
    MdErrors *errors;
    MdSystem *system;
    double mass;
    uint64_t bytes;
} Rank;

static void make_block(MdComm *comm, void *argument) {
    Rank *rank = argument;
    rank->plan.comm = comm;
    rank->errors = md_errors_create();
    rank->system = md_system_create(rank->deck, &rank->plan, rank->errors);
    rank->bytes = md_system_bytes(&rank->plan);
    if (rank->system) rank->mass = md_system_mass(rank->system);
}

static bool same(const void *block, const void *all, int64_t first, int64_t n, size_t row) {
    return memcmp(block, (const char *)all + (size_t)first * row, (size_t)n * row) == 0;
}

static void check_blocks(const MdSystem *one, const Rank *rank, int n_ranks) {
    int64_t next = 0;
    for (int r = 0; r < n_ranks; r++) {
        const MdSystem *s = rank[r].system;
        if (!CHECK(s != NULL)) return;
        CHECK(s->n_atoms == one->n_atoms && s->first == next && s->n_own >= one->n_atoms / n_ranks);
        CHECK(same(s->position, one->position, s->first, s->n_own, 3 * sizeof *s->position));
        CHECK(same(s->velocity, one->velocity, s->first, s->n_own, 3 * sizeof *s->velocity));
        CHECK(same(s->image, one->image, s->first, s->n_own, 3 * sizeof *s->image));
        CHECK(same(s->type, one->type, s->first, s->n_own, sizeof *s->type));
        CHECK(memcmp(s->mass, one->mass, sizeof s->mass) == 0);
        CHECK(rank[r].mass == md_system_mass(one));
        next = s->first + s->n_own;
    }
    CHECK(next == one->n_atoms);
}

/* NaN would be the same bits everywhere. */
static bool is_finite(const MdSystem *system) {
    bool finite = true;
    for (int64_t k = 0; k < 3 * system->n_own; k++)
        finite = finite && isfinite(system->position[k]) && isfinite(system->velocity[k]);
    return finite;
}

static void test_system(const char *name, const char *const *words) {
    MdDeck *deck = state_deck(words);
    MdErrors *errors = md_errors_create();
    MdSystemPlan plan;
    check_context("%s", name);
    if (!CHECK(md_system_plan(deck, md_backend_random(), &plan, errors) == MD_OK)) md_errors_print(errors, stdout);
    MdSystem *one = md_system_create(deck, &plan, errors);
    md_require(one != NULL && one->first == 0 && one->n_own == one->n_atoms);
    CHECK(is_finite(one));
    for (int n_ranks = 2; n_ranks <= MOST_RANKS; n_ranks = n_ranks == 3 ? MOST_RANKS : n_ranks + 1) {
        Rank rank[MOST_RANKS] = {{0}};
        uint64_t bytes = 0;
        void *arguments[MOST_RANKS];
        for (int r = 0; r < n_ranks; r++) {
            rank[r] = (Rank){.deck = deck, .plan = plan};
            arguments[r] = &rank[r];
        }
        run_thread_ranks(n_ranks, make_block, arguments);
        check_context("%s, %d atoms, %d processes", name, (int)one->n_atoms, n_ranks);
        check_blocks(one, rank, n_ranks);
        for (int r = 0; r < n_ranks; r++) {
            bytes += rank[r].bytes;
            md_system_destroy(rank[r].system);
            md_errors_destroy(rank[r].errors);
        }
        CHECK(bytes == md_system_bytes(&plan));
    }
    md_system_destroy(one);
    md_system_plan_free(&plan);
    md_errors_destroy(errors);
    md_deck_destroy(deck);
}

#define SYSTEM(name, ...) test_system(name, (const char *const[]){__VA_ARGS__, NULL})

/* Atoms of three kinds with velocities that drift, some of them very fast, in no order of their ids. */
static void write_file(FILE *file, int n) {
    fprintf(file, "%d\nProperties=species:S:1:pos:R:3:velo:R:3:id:I:1\n", n);
    for (int k = 0; k < n; k++) {
        const int i = (int)((int64_t)k * 7919 % n); /* n is no multiple of this prime */
        const double speed = i % 1000 == 7 ? 1e8 : 1.5 + 0.001 * (i % 917);
        fprintf(file, "%s %d.25 %d.5 %d.125 %.17g %.17g %.17g %d\n",
                i % 3 == 0   ? "Ar"
                : i % 5 == 0 ? "Xe"
                             : "Kr",
                i % 40, i / 40 % 40, i / 1600, speed, -0.3 * speed, speed / 7, 10 + i);
    }
}

static void test_file(int n) {
    char path[] = "blocks-XXXXXX", word[64], name[64];
    FILE *file = fdopen(mkstemp(path), "w");
    md_require(file != NULL);
    write_file(file, n);
    fclose(file);
    snprintf(word, sizeof word, "system.file=%s", path);
    snprintf(name, sizeof name, "file of %d atoms", n);
    SYSTEM(name, "system.start=file", word, "system.boundary=open", "system.masses=1 40.5 0.37");
    SYSTEM(name, "system.start=file", word, "system.boundary=open", "system.temperature=0.7");
    unlink(path);
}

int main(void) {
    SYSTEM("fcc", "system.density=0.8442", "system.cells=5");
    SYSTEM("fcc, several chunks of numbers", "system.density=0.8442", "system.cells=42", "system.temperature=1.44");
    SYSTEM("fcc, two types", "system.density=0.8442", "system.cells=11", "system.types=2", "system.fractions=0.3 0.7",
           "system.masses=1 3.7");
    SYSTEM("bcc, at rest", "system.start=bcc", "system.density=1", "system.cells=7 5 6", "system.temperature=0");
    SYSTEM("square", "system.dimension=2", "system.start=square", "system.density=0.8", "system.cells=10");
    SYSTEM("square, two types, several chunks", "system.dimension=2", "system.start=square", "system.density=0.8",
           "system.cells=433 411", "system.types=2", "system.masses=2 0.1");
    SYSTEM("hexagonal", "system.dimension=2", "system.start=hexagonal", "system.density=0.9", "system.cells=31 17");
    SYSTEM("random", "system.start=random", "system.atoms=251", "system.density=0.5");
    SYSTEM("random, two types", "system.start=random", "system.atoms=100003", "system.density=0.5", "system.types=2");
    SYSTEM("more processes than atoms", "system.start=random", "system.atoms=5", "system.density=0.005");
    test_file(100);
    test_file(20011);
#ifdef MDMINI_HAVE_CUDA /* mt19937, which takes seconds to begin, cannot jump: test_random skips its numbers */
    SYSTEM("xorwow", "system.density=0.8442", "system.cells=30", "system.types=2", "system.generator=xorwow");
    SYSTEM("mrg32k3a", "system.density=0.8442", "system.cells=30", "system.types=2", "system.generator=mrg32k3a");
#endif
    return check_finish();
}
