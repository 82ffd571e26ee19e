/* reduce.accumulate on every backend: pairs of floats hold what doubles hold, and reproducible sums have the same bits in every order.
 * The bounds of the other tests are those of any correct sum of rounded values; they cannot tell whether the second float of a
 * pair is of any use. And what the verification of a run allows for adding up is what the plainest sum of a crystal needs. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "cpu/sums.h"
#include "report/tolerance.h"
#include "state.h"
#include "walk.h"

static const char *const methods[] = {"global",      "shared", "shared-dynamic", "syncwarp", "shuffle",
                                      "cooperative", "cub"};
enum { N_METHODS = sizeof methods / sizeof *methods };

/* A crystal has few different terms, and they may sum exactly. */
static MdSystem *shaken_system(const MdDeck *deck) {
    MdSystem *system = state_system(deck);
    for (int64_t k = 0; k < 3 * system->n_atoms; k++)
        system->position[k] =
            fmod(system->position[k] + 0.03 * (1 + sin(12.9898 * (double)k)), system->box.length[k % 3]);
    return system;
}

static MdSums sums_of(const MdBackendOps *ops, MdConfig config, const MdSystem *system, int method, int accumulate) {
    MdSums sums = {0};
    WalkRun run;
    config.reduce_method = method;
    config.reduce_accumulate = accumulate;
    config.run_precision = MD_PRECISION_MIXED;
    if (!walk_create(&run, ops, &config, system)) return sums;
    if (walk_prepare(&run)) walk_ok(&run, ops->sum(run.context, &sums));
    walk_destroy(&run);
    return sums;
}

/* The energies and virials of pairs are floats before they are added, the same ones in all three runs. A row and a tree are
 * less than 256 additions, each of which loses 2^-48 of what is there when two floats hold it, and 2^-24 in one. The
 * single sum is off by less than its bound, of course; that it is off at all shows that the test can fail. */
static void test_pairs_of_floats(const MdBackendOps *ops, const MdDeck *deck, const MdSystem *system) {
    const double lost = 256 * ldexp(1, -48);
    const int n_methods = md_variants_have(ops->variants(), MD_OPTION_reduce_method) ? N_METHODS : 1;
    for (int method = 0; method < n_methods; method++) {
        check_context("%s, reduce.method=%s", ops->name, methods[method]);
        const MdConfig *config = md_deck_config(deck);
        const MdSums one = sums_of(ops, *config, system, method, MD_ACCUMULATE_SINGLE);
        const MdSums two = sums_of(ops, *config, system, method, MD_ACCUMULATE_COMPENSATED);
        const MdSums all = sums_of(ops, *config, system, method, MD_ACCUMULATE_DOUBLE);
        const double bound = lost * fabs(all.potential); /* nearly all terms have one sign: the sum of sizes is near */
        CHECK(all.potential < -4.0 * (double)system->n_atoms && all.pairs > 20.0 * (double)system->n_atoms);
        CHECK_NEAR(two.potential, all.potential, 2 * bound);
        CHECK_NEAR(two.truncation, all.truncation, lost * fabs(all.truncation));
        CHECK(fabs(one.potential - all.potential) > 2 * bound);
        CHECK(one.pairs == all.pairs && two.pairs == all.pairs);
    }
}

/* A thread adds up all the rows that it has of a brick, and equal numbers round alike: here one block of 32
 * threads has them all. The total is off by more than one row and the blocks would explain, and by less than is allowed. */
static void test_bricks(const MdBackendOps *ops) {
    const char *words[] = {"system.cells=6",       "system.density=0.8442",   "potential.shift=none",
                           "force.kernel=brick",   "memory.sort=brick",       "memory.brick_cells=3",
                           "launch.block_size=32", "force.energy=every-step", NULL};
    if (!md_variants_have(ops->variants(), MD_OPTION_memory_brick_cells)) return;
    MdDeck *deck = state_deck(words);
    MdSystem *system = shaken_system(deck);
    MdConfig config = *md_deck_config(deck), rows = config;
    const MdSums one = sums_of(ops, config, system, config.reduce_method, MD_ACCUMULATE_SINGLE);
    const MdSums all = sums_of(ops, config, system, config.reduce_method, MD_ACCUMULATE_DOUBLE);
    const double off = fabs(one.truncation - all.truncation), size = fabs(all.truncation);
    config.reduce_accumulate = rows.reduce_accumulate = MD_ACCUMULATE_SINGLE;
    rows.force_kernel = MD_KERNEL_LIST;
    check_context("%s, bricks", ops->name);
    CHECK(off < md_tolerance_accumulate(&config, system->n_atoms) * size);
    CHECK(off > md_tolerance_accumulate(&rows, system->n_atoms) * size);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

/* Other methods and ways to the total add in other orders; and so do other orders of the atoms in memory, in which forces differ, but
 * not velocities. Sums of doubles differ. */
static void test_reproducible(const MdBackendOps *ops, const MdDeck *deck, const MdSystem *system) {
    const MdConfig *asked = md_deck_config(deck);
    const bool has_methods = md_variants_have(ops->variants(), MD_OPTION_reduce_method);
    static const int sorts[] = {MD_SORT_CELL, MD_SORT_MORTON, MD_SORT_HILBERT};
    const int n_methods = has_methods ? N_METHODS : 1, n_finishes = 3;
    const double near = has_methods ? 1e-13 : 1e-8; /* a processor adds floats of some rows first */
    MdSums first[2] = {{0}};
    bool same = true;
    for (int method = 0; method < n_methods; method++)
        for (int finish = 0; finish < n_finishes; finish++) {
            check_context("%s, reduce.method=%s, way %d", ops->name, methods[method], finish);
            MdConfig config = *asked;
            config.reduce_finish = finish;
            config.reduce_per_thread = (method + finish) % 2;
            if (!has_methods) config.memory_sort = sorts[finish];
            const MdSums sums = sums_of(ops, config, system, method, MD_ACCUMULATE_REPRODUCIBLE),
                         doubles = sums_of(ops, config, system, method, MD_ACCUMULATE_DOUBLE);
            if (method + finish == 0) first[0] = sums, first[1] = doubles;
            CHECK(sums.kinetic == first[0].kinetic && sums.momentum[1] == first[0].momentum[1]);
            if (has_methods) CHECK(memcmp(&sums, &first[0], sizeof sums) == 0);
            CHECK_NEAR(sums.potential, doubles.potential, near * fabs(doubles.potential));
            CHECK_NEAR(sums.kinetic, doubles.kinetic, 1e-13 * doubles.kinetic);
            CHECK(sums.pairs == doubles.pairs);
            same = same && (has_methods ? memcmp(&doubles, &first[1], sizeof doubles) == 0
                                        : doubles.momentum[1] == first[1].momentum[1]);
        }
    CHECK(!same);
}

/* As many terms as there is room for, all of one sign and as large as they may be, an odd number of quanta: of the first part; of the
 * second, of which a term leaves half a quantum of the first at most. No addition has rounded. */
static void test_room(void) {
    enum { TERMS = 20, SIZE = 8 };
    MdCpuAccumulate accumulate = {.how = MD_ACCUMULATE_REPRODUCIBLE};
    md_split_shifts(TERMS, SIZE, accumulate.shift);
    const double quantum[2] = {exp2(MD_SPLIT_EXPONENT(TERMS, SIZE, 0)), exp2(MD_SPLIT_EXPONENT(TERMS, SIZE, 1))};
    const double terms[2] = {exp2(SIZE) - quantum[0], quantum[0] / 2 - quantum[1]};
    for (int part = 0; part < 2; part++) {
        MdCpuSum one = {0}, all;
        md_cpu_sum_add(&one, terms[part], &accumulate);
        CHECK(one.wide.part[part] == terms[part]);
        all = one;
        for (int k = 1; k < TERMS; k++) { /* 2^k - 1 terms so far, and as many again, and one */
            const MdCpuSum before = all;
            md_cpu_sum_merge(&all, &before, &accumulate);
            md_cpu_sum_merge(&all, &one, &accumulate);
        }
        CHECK((long double)all.wide.part[part] == (long double)terms[part] * ((1 << TERMS) - 1));
    }
}

/* Terms of very different sizes, added in order, backwards, and in pieces that are then merged; against sums of long doubles. */
static void test_orders(void) {
    enum { N = 5000 };
    MdCpuAccumulate accumulate = {.how = MD_ACCUMULATE_REPRODUCIBLE};
    md_split_shifts(md_split_bits(N), 20, accumulate.shift);
    MdCpuSum forth = {0}, back = {0}, pieces[7] = {{0}}, merged = {0};
    long double exact = 0, size = 0;
    static double term[N];
    for (int i = 0; i < N; i++) {
        term[i] = sin(12.9898 * i) * exp2(20 - i % 40); /* up to 2^20 in size */
        exact += (long double)term[i];
        size += fabsl((long double)term[i]);
    }
    for (int i = 0; i < N; i++) {
        md_cpu_sum_add(&forth, term[i], &accumulate);
        md_cpu_sum_add(&back, term[N - 1 - i], &accumulate);
        md_cpu_sum_add(&pieces[i * 7 / N], term[i], &accumulate);
    }
    for (int k = 6; k >= 0; k--) md_cpu_sum_merge(&merged, &pieces[k], &accumulate);
    CHECK(memcmp(&forth.wide, &back.wide, sizeof forth.wide) == 0);
    CHECK(memcmp(&forth.wide, &merged.wide, sizeof forth.wide) == 0);
    const long double total = (long double)forth.wide.part[0] + forth.wide.part[1] + forth.wide.part[2];
    CHECK(fabsl(total - exact) < 1e-17L * size);
    CHECK(md_split_bits(1) == 0 && md_split_bits(2) == 1 && md_split_bits(1000188) == 20 &&
          md_split_bits(1 << 20) == 20);
}

/* The same energy of every atom, blocks of 32 of them added one after the other in double: reduce.finish = host with
 * reduce.per_thread = one, at a million atoms. It loses more than the pairs do, and less than is allowed. */
static void test_crystal(const MdDeck *deck) {
    MdConfig config = *md_deck_config(deck);
    const int64_t n_atoms = 1000188;
    double worst = 0;
    for (int k = 0; k < 64; k++) {
        const double energy = 6 + k / 63.0, block = 32 * energy;
        double total = 0;
        for (int64_t i = 0; i < n_atoms; i += 32) total += block;
        const long double exact = (long double)block * (long double)((n_atoms + 31) / 32);
        worst = fmax(worst, (double)fabsl(((long double)total - exact) / exact));
    }
    config.run_precision = MD_PRECISION_DOUBLE;
    config.reduce_accumulate = MD_ACCUMULATE_DOUBLE;
    CHECK(worst > md_tolerance_roundoff(&config, 80));
    CHECK(worst < md_tolerance_accumulate(&config, n_atoms));
}

int main(void) {
    const char *words[] = {"system.cells=7", "system.density=0.8442", "potential.shift=none", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = shaken_system(deck);
    for (const MdBackendOps *ops = NULL; (ops = walk_backend(ops, md_deck_config(deck))) != NULL;) {
        test_pairs_of_floats(ops, deck, system);
        test_reproducible(ops, deck, system);
        test_bricks(ops);
    }
    test_orders();
    test_room();
    test_crystal(deck);
    md_system_destroy(system);
    md_deck_destroy(deck);
    return check_finish();
}
