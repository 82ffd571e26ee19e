/* The turns of rows and the time that they have: each row that is named has a first round before any has a second, in the order of
 * the names, those of little work first; when the time is spent nothing more is run, also within a row. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "check.h"
#include "microbench/host/measure.h"

enum { MOST_EVENTS = 4096 };

/* A backend that does nothing and takes notes. */
static struct Notes {
    const MdCeiling *prepared[MOST_EVENTS];
    int n_prepared, n_runs;
    int long_run; /* this one lasts as long as all together may; 0: none */
} notes;
static MdCeilingsBackend backend;

static int most_threads(const void *machine) { return machine ? 2 : 2; }
static double cache_bytes(const void *machine) { return machine ? 0 : 0; }
static double sheet(const void *machine, MdSheet of) { return machine || of ? 0 : 0; }

static void *prepare(void *machine, const MdCeilingCase *c, char reason[MD_CEILING_REASON]) {
    (void)machine;
    if (strcmp(c->row->variant, "barrier") == 0) {
        snprintf(reason, MD_CEILING_REASON, "no barrier here");
        return NULL;
    }
    md_require(notes.n_prepared < MOST_EVENTS);
    notes.prepared[notes.n_prepared++] = c->row;
    return &notes;
}

static double run(void *prepared, int64_t n_calls) {
    (void)prepared, (void)n_calls;
    if (++notes.n_runs == notes.long_run)
        for (const double begin_s = md_clock_s(); md_clock_s() < begin_s + backend.budget_s;)
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return 0.01; /* as long as a batch has to be */
}

static bool check(void *prepared, char reason[MD_CEILING_REASON]) { return prepared && reason; }
static void sum(void *prepared, MdCeilingSum *sum) { *sum = (MdCeilingSum){.n = prepared ? 0 : 1}; }
static void release(void *prepared) { CHECK(prepared == &notes); }

static MdCeilingsBackend backend = {.name = "cpu",
                                    .element_bytes = 8,
                                    .most_threads = most_threads,
                                    .cache_bytes = cache_bytes,
                                    .sheet = sheet,
                                    .prepare = prepare,
                                    .run = run,
                                    .check = check,
                                    .sum = sum,
                                    .release = release};

static MdCeilingResults measure(double budget_s, int long_run, const char *const *names, int n_names) {
    const MdCeilingsChoice choice = {.n_names = n_names, .names = names};
    MdCeilingResults results = {0};
    notes = (struct Notes){.long_run = long_run};
    backend.budget_s = budget_s;
    md_ceilings_measure(&backend, NULL, &choice, &results);
    return results;
}
#define MEASURE(budget, long_run, ...)                                                                                 \
    measure(budget, long_run, (const char *const[]){__VA_ARGS__},                                                      \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static double work(const MdCeiling *row) {
    return (row->bytes + row->operations) * md_ceiling_elements(row, row->size, row->threads == MD_THREADS_ONE ? 1 : 2);
}

static bool is_of(const MdCeiling *row, const char *group) { return strcmp(row->group, group) == 0; }

static void test_order(void) {
    MdCeilingResults results = MEASURE(1e9, 0, "latency", "bandwidth: stride 16", "transpose");
    const int n = notes.n_prepared / 2;
    check_context("all have all rounds");
    CHECK(results.n == n + 1 && n == 9); /* without the barrier */
    for (int k = 0; k < results.n; k++) {
        const bool out = strcmp(results.rows[k].of.row->variant, "barrier") == 0;
        CHECK(results.rows[k].state == (out ? MD_CEILING_LEFT_OUT : MD_CEILING_PASSED));
        CHECK(results.rows[k].n_rounds == (out ? 0 : MD_CEILING_ROUNDS));
        CHECK((strcmp(results.rows[k].reason, "no barrier here") == 0) == out);
    }
    check_context("order");
    for (int k = 0; k < n; k++) {
        const MdCeiling *row = notes.prepared[k];
        CHECK(is_of(row, k < 3 ? "latency" : k < 4 ? "bandwidth" : "transpose"));
        CHECK(row == notes.prepared[n + k]); /* the other rounds in the same order, after all first ones */
        if (k > 0 && is_of(row, notes.prepared[k - 1]->group)) CHECK(work(notes.prepared[k - 1]) <= work(row));
    }
    md_ceilings_free(&results);
    results = MEASURE(1e9, 0, "bandwidth", "latency");
    check_context("a row that is swept");
    CHECK(is_of(notes.prepared[0], "bandwidth") && work(notes.prepared[0]) <= work(notes.prepared[1]));
    CHECK(strcmp(notes.prepared[0]->variant, "read") != 0); /* the first of the table */
    md_ceilings_free(&results);
    results = measure(1e9, 0, NULL, 0);
    check_context("nothing is named: roofs first, and each row has all its rounds at once");
    for (int k = 0; k < results.n; k++)
        CHECK(results.rows[k].n_rounds == (results.rows[k].state == MD_CEILING_PASSED ? MD_CEILING_ROUNDS : 0));
    CHECK(notes.n_prepared == results.n - 1);
    CHECK(notes.prepared[0]->roof != MD_ROOF_NONE && notes.prepared[1]->roof != MD_ROOF_NONE);
    md_ceilings_free(&results);
}

/* Without any time: the first row has a round, and nothing else is run. */
static void test_no_time(void) {
    MdCeilingResults results = MEASURE(0, 0, "transpose", "latency");
    check_context("no time");
    CHECK(notes.n_prepared == 1 && notes.n_runs == 3); /* the first call, a batch, a round */
    int n = 0;
    for (int k = 0; k < results.n; k++) {
        const MdCeilingResult *r = &results.rows[k];
        n += r->state == MD_CEILING_PASSED;
        if (r->state == MD_CEILING_PASSED) CHECK(r->n_rounds == 1 && r->figure > 0 && r->figure_low != r->figure_low);
        else CHECK(strcmp(r->reason, "the 0 s for this part are spent; to measure them name fewer rows") == 0);
    }
    CHECK(n == 1);
    md_ceilings_free(&results);
    results = measure(0, 0, NULL, 0);
    CHECK(strstr(results.rows[results.n - 1].reason, "to measure them name their group") != NULL);
    md_ceilings_free(&results);
    results = MEASURE(0, 0, "transpose:copy");
    check_context("a row alone");
    CHECK(notes.n_prepared == 1 && results.rows[0].n_rounds == 1);
    md_ceilings_free(&results);
}

/* Time that ends in the middle of a row ends it, whichever of its runs it is. */
static void test_within_a_row(void) {
    const int whole[] = {1, 2,  3,  4, 5,
                         9, 10, 16, 23}; /* of the first row, of the second, and of both in the other rounds */
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++) {
        MdCeilingResults results = MEASURE(1, whole[k], "transpose:copy", "transpose:blocked");
        check_context("time is spent in run %d", whole[k]);
        /* The first row has its round anyhow: a call, two of a batch, the round; in the second run of the batch there is no third. */
        CHECK(notes.n_runs == (whole[k] == 1 ? 3 : whole[k] == 2 ? 3 : whole[k] == 3 ? 4 : whole[k]));
        int n_rounds = 0;
        for (int j = 0; j < results.n; j++) n_rounds += results.rows[j].n_rounds;
        CHECK(results.rows[0].n_rounds >= 1 && n_rounds < 2 * MD_CEILING_ROUNDS);
        md_ceilings_free(&results);
    }
}

int main(void) {
    test_order();
    test_no_time();
    test_within_a_row();
    return check_finish();
}
