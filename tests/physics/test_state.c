/* The whole state of a backend, out and in again, for all pairs of values of its switches: the context that gets it goes
 * on as the one that gave it, bit by bit, and that one goes on as if it had not been asked. Cut somewhere between
 * two builds of the list, at a build, and one step before; what cannot promise the same bits must be near.
 * MDMINI_TEST_SYSTEM as in walk.h: of the cases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "check.h"
#include "integrate/verlet.h"
#include "store.h"
#include "walk.h"

/* --- one combination ---------------------------------------------------------------------------------------------- */

enum { EVERY = 6, N_AFTER = 30 };

static MdConfig base_config(void) {
    MdConfig config = state_config();
    config.run_threads = 3;
    config.run_timestep = 3e-3; /* in N_AFTER steps nearly every case wants a new list */
    config.neighbor_every = EVERY;
    return config;
}

/* The list, entry by entry: a few steps after a restart its sums may well be the same although it is another. */
static void check_same_rows(const WalkRun *a, const WalkRun *b) {
    MdRows rows[2];
    if (!walk_has_rows(a) || !md_variants_deterministic(a->ops->variants(), &a->config)) return;
    if (!walk_ok(a, a->ops->export_rows(a->context, &rows[0]))) return;
    if (walk_ok(b, b->ops->export_rows(b->context, &rows[1]))) {
        const size_t n = (size_t)rows[0].n_atoms, n_entries = (size_t)rows[0].offsets[n];
        CHECK(n_entries > 0 && memcmp(rows[0].offsets, rows[1].offsets, (n + 1) * sizeof *rows[0].offsets) == 0 &&
              memcmp(rows[0].ids, rows[1].ids, n_entries * sizeof *rows[0].ids) == 0);
        md_rows_free(&rows[1]);
    }
    md_rows_free(&rows[0]);
}

/* To the end without a break, to the end with a look into it, and by way of the file. */
static void check_cut(const WalkRun *first, const MdSystem *system, int64_t cut, int64_t *n_rebuilds) {
    WalkRun second;
    Store middle, end, end_of_second;
    MdStatistics before, statistics[2];
    if (!walk_prepare(first) || !walk_steps(first, 1, cut) || !store_save(&middle, first, cut)) return;
    first->ops->statistics(first->context, &before);
    bool ok = walk_create(&second, first->ops, &first->asked, system) && store_load(&middle, &second, system);
    if (ok) check_same_rows(first, &second);
    ok = ok && walk_steps(first, cut + 1, N_AFTER) && walk_steps(&second, cut + 1, N_AFTER);
    if (ok && store_save(&end, first, cut + N_AFTER) && store_save(&end_of_second, &second, cut + N_AFTER)) {
        first->ops->statistics(first->context, &statistics[0]);
        second.ops->statistics(second.context, &statistics[1]);
        *n_rebuilds += statistics[1].n_rebuilds;
        CHECK(statistics[0].n_rebuilds - before.n_rebuilds == statistics[1].n_rebuilds);
        CHECK(statistics[0].n_late_rebuilds - before.n_late_rebuilds == statistics[1].n_late_rebuilds);
        if (md_variants_deterministic(first->ops->variants(), &first->config)) store_check_same(&end, &end_of_second);
        CHECK(second.ops->fault(second.context).step == -1);
        store_free(&end);
        store_free(&end_of_second);
    }
    walk_destroy(&second);
    store_free(&middle);
}

/* Saving at every step against never. */
static void check_untouched(const WalkRun *looked_at, const MdSystem *system) {
    WalkRun alone;
    Store ends[2];
    const int64_t n = 2 * EVERY + 3;
    if (!walk_create(&alone, looked_at->ops, &looked_at->asked, system)) return;
    bool ok = walk_prepare(looked_at) && walk_prepare(&alone) && walk_steps(&alone, 1, n);
    for (int64_t step = 1; ok && step <= n; step++) {
        Store store;
        const bool last = step == n;
        ok = walk_ok(looked_at, looked_at->ops->advance(looked_at->context, step, 1, last));
        ok = ok && store_save(&store, looked_at, step);
        if (ok) store_free(&store);
    }
    if (ok && store_save(&ends[0], looked_at, n) && store_save(&ends[1], &alone, n)) {
        if (md_variants_deterministic(alone.ops->variants(), &alone.config)) store_check_same(&ends[0], &ends[1]);
        store_free(&ends[0]);
        store_free(&ends[1]);
    }
    walk_destroy(&alone);
}

/* Each combination on the next case that it can run, at the next of the cuts. */
static void test_pairs(const MdBackendOps *ops) {
    static const int64_t cuts[] = {EVERY + 2, 2 * EVERY, 2 * EVERY - 1};
    MdSystem *systems[16];
    MdSystemPlan plans[16];
    MdConfig bases[16], base = base_config();
    Walk walk;
    int n_runs = 0, n_cut = 0;
    int64_t n_rebuilds = 0; /* of the contexts that were loaded */
    md_require(cases_count <= 16);
    for (int k = 0; k < cases_count; k++) {
        bases[k] = base_config();
        systems[k] = cases_make(&cases_table[k], &bases[k]);
        plans[k] = state_plan(systems[k]);
    }
    for (walk_begin(&walk, ops, &base, DESIGN_PAIRS, NULL, plans, cases_count); walk_next(&walk);)
        for (int tries = 0; walk.n_created == 0 && tries < cases_count; tries++) {
            const int k = (walk.k + tries) % cases_count;
            WalkRun run;
            if (!walk_create_next(&walk, &run, cases_table[k].name, &bases[k], systems[k])) continue;
            if (walk.k % 5 == 4) check_untouched(&run, systems[k]);
            else check_cut(&run, systems[k], cuts[walk.k % 3], &n_rebuilds);
            walk_destroy(&run);
            n_runs++;
            n_cut += walk.k % 5 != 4;
        }
    printf("%s: %d combinations saved and loaded, %lld builds of lists after that\n", ops->name, n_runs,
           (long long)n_rebuilds);
    CHECK(n_rebuilds >= n_cut || n_cut < 5);
    for (int k = 0; k < cases_count; k++) md_system_destroy(systems[k]);
}

int main(void) {
    MdConfig base = base_config();
    for (const MdBackendOps *ops = NULL; (ops = walk_backend(ops, &base)) != NULL;) test_pairs(ops);
    return check_finish();
}
