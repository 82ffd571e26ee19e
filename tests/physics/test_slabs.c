/* Several processes judge a slab of the box each: the same forces, bounds and totals as one that judges all, whatever the box; slabs of
 * about as many atoms; and a fault on one rank turns the verdict of all red. Threads stand in the place of processes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "cpu/reference.h"
#include "cpu/slabs.h"
#include "report/verify.h"
#include "state.h"
#include "thread_ranks.h"

enum { MOST_RANKS = 7 };

static const StateShape shapes[] = {
    /* dimension, at least n, density, shake, cutoff, skin, periodic, uneven, types, shift, seed */
    {3, 3000, 0.8442, 0.10, 2.5, 0.3, {true, true, true}, false, 1, MD_SHIFT_NONE, 1},
    {3, 700, 0.80, 0.12, 2.5, 0.3, {true, false, true}, true, 2, MD_SHIFT_FORCE, 3},
    {3, 300, 0.70, 0.12, 2.0, 0.3, {false, false, false}, true, 3, MD_SHIFT_ENERGY, 4},
    {2, 900, 0.75, 0.12, 2.5, 0.3, {true, true, false}, true, 2, MD_SHIFT_NONE, 6},
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

typedef enum Plant { NOTHING, FORCE_OFF, FORCE_LOST, PLACE_LOST, PLACE_MOVED, N_PLANTS } Plant;
static const char *const plant_names[N_PLANTS] = {"nothing", "a force", "a force that is no number",
                                                  "a place that nobody has", "a place moved"};

/* What is judged: forces by id, and totals. */
typedef struct Result {
    double *force, *bound; /* [n_atoms][3], [n_atoms] */
    MdSums sums, limits;
    MdReferenceScales scales;
} Result;

typedef struct Rank {
    const MdSystem *whole;
    Result result; /* arrays of all ids, of which this rank fills its own */
    int64_t n_here, n_judged;
    const Result *expected;
    Plant plant;
    int64_t planted; /* id */
    MdSystem own;
    MdVerification verification;
    MdStatus status;
} Rank;

/* The rows of a rank, in the arrays of all. */
static MdSystem part_of(const MdSystem *whole, MdComm *comm) {
    MdSystem own = *whole;
    own.comm = comm;
    own.first = md_comm_block_begin(comm, whole->n_atoms);
    own.n_own = md_comm_block_size(comm, whole->n_atoms);
    own.position = whole->position + 3 * own.first;
    own.type = whole->type + own.first;
    return own;
}

static void evaluate(MdComm *comm, void *argument) {
    Rank *rank = argument;
    Result *r = &rank->result;
    const MdSystem own = part_of(rank->whole, comm);
    md_reference_forces(&own, own.position, r->force + 3 * own.first, &r->sums);
    md_reference_bounds(&own, own.position, 1e-15, 1e-14, 1e-9, 0, r->bound + own.first, &r->limits, &r->scales);
    MdSlab slab = md_slab_take(&own, own.position, own.potential.cutoff_max);
    rank->n_here = slab.system.n_atoms;
    rank->n_judged = comm ? 0 : own.n_own;
    for (int64_t i = 0; comm && i < slab.system.n_atoms; i++) rank->n_judged += slab.is_judged[i];
    md_slab_free(&slab);
}

static Result make_result(const MdSystem *system) {
    return (Result){.force = md_alloc(3 * (size_t)system->n_atoms, sizeof(double), "forces"),
                    .bound = md_alloc((size_t)system->n_atoms, sizeof(double), "bounds")};
}

static void free_result(Result *r) {
    md_free(r->force);
    md_free(r->bound);
}

/* Totals come together in another order. */
static void check_total(double value, double expected) { CHECK_NEAR(value, expected, 1e-12 * fabs(expected)); }

static void check_result(const MdSystem *system, const Result *r, const Result *whole) {
    for (int64_t i = 0; i < system->n_atoms; i++) {
        double size = 0;
        for (int a = 0; a < 3; a++) size = fmax(size, fabs(whole->force[3 * i + a]));
        for (int a = 0; a < 3; a++)
            if (!CHECK_NEAR(r->force[3 * i + a], whole->force[3 * i + a], 1e-11 * (1 + size))) return;
        if (!CHECK_NEAR(r->bound[i], whole->bound[i], 1e-12 * whole->bound[i])) return;
    }
    CHECK(r->sums.pairs == whole->sums.pairs && r->limits.pairs == whole->limits.pairs);
    check_total(r->sums.potential, whole->sums.potential);
    check_total(r->sums.truncation, whole->sums.truncation);
    check_total(r->sums.virial, whole->sums.virial);
    check_total(r->limits.potential, whole->limits.potential);
    check_total(r->limits.truncation, whole->limits.truncation);
    check_total(r->limits.virial, whole->limits.virial);
    check_total(r->scales.curvature, whole->scales.curvature);
    check_total(r->scales.force, whole->scales.force);
    CHECK(r->scales.extent == whole->scales.extent);
}

/* Arrays that all ranks fill, a part each. */
static void run(int n, void (*what)(MdComm *, void *), Rank *ranks) {
    void *arguments[MOST_RANKS];
    for (int k = 0; k < n; k++) arguments[k] = &ranks[k];
    run_thread_ranks(n, what, arguments);
}

static void test_reference(const MdSystem *system, const Result *whole, int n) {
    Result shared = make_result(system);
    Rank ranks[MOST_RANKS];
    for (int k = 0; k < n; k++) ranks[k] = (Rank){.whole = system, .result = shared};
    run(n, evaluate, ranks);
    int64_t n_judged = 0;
    for (int k = 0; k < n; k++) {
        check_result(system, &ranks[k].result, whole);
        n_judged += ranks[k].n_judged;
        CHECK((double)ranks[k].n_judged <=
              1.5 * (double)system->n_atoms / n); /* planes of atoms are in one slab or the next */
        CHECK(system->n_atoms < 2000 || n < 5 || (double)ranks[k].n_here < 0.9 * (double)system->n_atoms);
    }
    CHECK(n_judged == system->n_atoms);
    free_result(&shared);
}

/* --- the verdict ---------------------------------------------------------------------------------------------------- */

static MdStatus compute_forces(void *context, bool with_energy) {
    (void)context, (void)with_energy;
    return MD_OK;
}

static MdStatus sum(void *context, MdSums *sums) {
    *sums = ((const Rank *)context)->expected->sums;
    return MD_OK;
}

static void statistics(void *context, MdStatistics *statistics) {
    (void)context;
    *statistics = (MdStatistics){.neighbors_per_atom = (double)NAN};
}

static double rounding(const MdConfig *config, const MdBox *box, double extent, double spread) {
    (void)config, (void)box, (void)extent, (void)spread;
    return 1e-12;
}

/* What it should be, but for one id. */
static MdStatus gather(void *context, MdFrame *frame) {
    const Rank *rank = context;
    const MdSystem *own = &rank->own;
    double *position = frame->position, *force = frame->force;
    memcpy(position, own->position, 3 * (size_t)own->n_own * sizeof *position);
    memcpy(force, rank->expected->force + 3 * own->first, 3 * (size_t)own->n_own * sizeof *force);
    const int64_t i = rank->planted - own->first;
    if (i < 0 || i >= own->n_own) return MD_OK;
    if (rank->plant == FORCE_OFF) force[3 * i] *= 1 + 1e-6;
    if (rank->plant == FORCE_LOST) force[3 * i + 2] = (double)NAN;
    if (rank->plant == PLACE_LOST) position[3 * i + 1] = (double)NAN;
    if (rank->plant == PLACE_MOVED) position[3 * i] += 1e-6;
    return MD_OK;
}

static const MdBackendOps known = {
    .compute_forces = compute_forces, .sum = sum, .statistics = statistics, .rounding = rounding, .gather = gather};

static void judge(MdComm *comm, void *argument) {
    Rank *rank = argument;
    MdConfig config = state_config();
    config.run_precision = MD_PRECISION_DOUBLE;
    rank->own = part_of(rank->whole, comm);
    rank->verification = (MdVerification){.fault.step = -1, .complete = true};
    rank->status = md_verify_forces(&rank->verification, &known, rank, &rank->own, &config, 0);
}

static void test_verdict(const MdSystem *system, const Result *whole, int n, Plant plant) {
    Rank ranks[MOST_RANKS];
    for (int k = 0; k < n; k++)
        ranks[k] = (Rank){.whole = system, .expected = whole, .plant = plant, .planted = system->n_atoms - 5};
    run(n, judge, ranks);
    const MdVerification *first = &ranks[0].verification;
    for (int k = 0; k < n; k++) {
        const MdVerification *v = &ranks[k].verification;
        CHECK(ranks[k].status == MD_OK && v->n_checks == first->n_checks && v->n_checks > 5);
        CHECK(md_verify_verdict(v) == (plant == NOTHING ? MD_VERDICT_PASSED : MD_VERDICT_FAILED));
        for (int c = 0; c < v->n_checks; c++) /* bit by bit: all ranks write the same report */
            CHECK(memcmp(&v->checks[c].value, &first->checks[c].value, 2 * sizeof(double)) == 0); /* and the limit */
    }
}

/* --- shapes of their own -------------------------------------------------------------------------------------------- */

static void count(MdComm *comm, void *argument) {
    Rank *rank = argument;
    const MdSystem own = part_of(rank->whole, comm);
    MdSlab slab = md_slab_take(&own, own.position, own.potential.cutoff_max);
    rank->n_here = slab.system.n_atoms;
    for (int64_t i = 0; i < slab.system.n_atoms; i++) rank->n_judged += slab.is_judged[i];
    md_slab_free(&slab);
}

/* Samples of a lattice must not be those of one plane, as ids run along it; half of the first plane has moved through the end of the box. */
static void test_lattice(void) {
    MdDeck *deck = state_deck((const char *[]){"system.start=fcc", "system.cells=32", "system.density=0.8442", NULL});
    MdSystem *system = state_system(deck);
    for (int64_t i = 0; i < system->n_atoms; i++)
        if (system->position[3 * i] < 0.01 && i / 128 % 2) system->position[3 * i] = system->box.length[0] - 1e-3;
    MdSystemPlan plan = state_plan(system);
    static const int sizes[] = {2, 4, MOST_RANKS};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const int n = sizes[s];
        Rank ranks[MOST_RANKS];
        for (int k = 0; k < n; k++) ranks[k] = (Rank){.whole = system};
        run(n, count, ranks);
        for (int k = 0; k < n; k++) {
            check_context("lattice, rank %d of %d", k, n);
            plan.comm = lone_rank(k, n);
            CHECK((double)ranks[k].n_judged < 1.2 * (double)system->n_atoms / n);
            CHECK(ranks[k].n_here <= md_slab_most(&plan, system->potential.cutoff_max));
            md_free(plan.comm);
        }
    }
    md_system_destroy(system);
    md_deck_destroy(deck);
}

/* More ranks than atoms. */
static void test_few(void) {
    MdDeck *deck = state_deck((const char *[]){"system.start=random", "system.atoms=5", "system.density=0.01", NULL});
    MdSystem *system = state_system(deck);
    Rank alone = {.whole = system, .result = make_result(system)};
    evaluate(NULL, &alone);
    check_context("5 atoms, 7 ranks");
    test_verdict(system, &alone.result, MOST_RANKS, NOTHING);
    test_verdict(system, &alone.result, MOST_RANKS, PLACE_MOVED);
    free_result(&alone.result);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

int main(void) {
    test_lattice();
    test_few();
    static const int sizes[] = {2, 3, 5, MOST_RANKS};
    for (int k = 0; k < N_SHAPES; k++) {
        MdSystem *system = state_shaken(&shapes[k]);
        Rank alone = {.whole = system, .result = make_result(system)};
        evaluate(NULL, &alone);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            check_context("shape %d, %lld atoms, %d ranks", k, (long long)system->n_atoms, sizes[s]);
            test_reference(system, &alone.result, sizes[s]);
        }
        for (Plant plant = NOTHING; plant < N_PLANTS; plant++) {
            check_context("shape %d, 3 ranks, planted: %s", k, plant_names[plant]);
            test_verdict(system, &alone.result, 3, plant);
        }
        free_result(&alone.result);
        md_system_destroy(system);
    }
    return check_finish();
}
