/* The micro-benchmark judges before it times: backends with a planted fault are caught, and what was caught has no
 * speed. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "cpu/backend.h"
#include "microbench/stages/judge.h"
#include "microbench/stages/measure.h"
#include "microbench/stages/table.h"
#include "state.h"

static const MdBackendOps *const good = &md_backend_cpu;

/* --- faults -------------------------------------------------------------------------------------------------------- */

/* One component of one force has the wrong sign. */
static MdStatus gather_negated(void *context, MdFrame *frame) {
    MdStatus status = good->gather(context, frame);
    if (status == MD_OK && frame->force) ((double *)frame->force)[7] *= -1;
    return status;
}

static MdStatus sum_pair_lost(void *context, MdSums *sums) {
    MdStatus status = good->sum(context, sums);
    sums->pairs -= 1;
    return status;
}

static MdStatus sum_kinetic_short(void *context, MdSums *sums) {
    MdStatus status = good->sum(context, sums);
    sums->kinetic *= 0.9;
    return status;
}

static MdStatus advance_heated(void *context, int64_t first_step, int64_t n_steps, bool with_energy) {
    static const double no_shift[3];
    MdStatus status = good->advance(context, first_step, n_steps, with_energy);
    return status == MD_OK ? good->scale_velocities(context, 1.01, no_shift) : status;
}

/* The fault of rows in neighbor.sorted = on alone. */
static bool is_sorted;
static MdStatus create_watched(void **context, const MdConfig *config, const MdConfig *asked, const MdSystem *system,
                               MdErrors *errors) {
    is_sorted = config->neighbor_sorted == MD_ON;
    return good->create(context, config, asked, system, errors);
}
static MdStatus gather_watched(void *context, MdFrame *frame) {
    return is_sorted ? gather_negated(context, frame) : good->gather(context, frame);
}

/* Not wrong: not possible here. */
static MdStatus create_refused(void **context, const MdConfig *config, const MdConfig *asked, const MdSystem *system,
                               MdErrors *errors) {
    (void)context, (void)config, (void)asked, (void)system;
    return md_fail(errors, MD_ERROR_INPUT, "no room for that");
}

/* The first call of a context that stands still, as those that are timed do, takes long; the others nothing. */
static bool is_still;
static int n_rebuilds;
static MdStatus create_cold(void **context, const MdConfig *config, const MdConfig *asked, const MdSystem *system,
                            MdErrors *errors) {
    is_still = config->run_timestep < 1e-6;
    n_rebuilds = 0;
    return good->create(context, config, asked, system, errors);
}
static MdStatus rebuild_cold(void *context) {
    if (!is_still) return good->rebuild(context);
    struct timespec pause = {.tv_nsec = 20000000}; /* four times a batch */
    if (n_rebuilds++ == 0) nanosleep(&pause, NULL);
    return MD_OK;
}

/* --- checks -------------------------------------------------------------------------------------------------------- */

typedef struct Setup {
    MdDeck *deck;
    MdSystem *system;
    MdRecord record;
    MdConfig config;
} Setup;

static Setup make_setup(void) {
    static const char *const words[] = {
        "system.cells=5", "system.density=0.8442", "system.temperature=1.44", "run.backend=cpu",
        "run.threads=1",  "neighbor.sorted=off",   "neighbor.search=cell",    NULL};
    Setup s = {.deck = state_deck(words)};
    s.system = state_system(s.deck);
    s.record = (MdRecord){.deck = s.deck, .asked = md_deck_config(s.deck), .ops = good, .errors = md_errors_create()};
    CHECK(md_system_plan(s.deck, NULL, &s.record.plan, s.record.errors) == MD_OK);
    s.config = *s.record.asked;
    CHECK(good->resolve(&s.config, &s.record.plan, NULL, s.record.errors) == MD_OK);
    return s;
}

static void free_setup(Setup *s) {
    md_system_destroy(s->system);
    md_errors_destroy(s->record.errors);
    md_deck_destroy(s->deck);
}

static const MdBenchStage *stage_named(const char *name) {
    const MdBenchStage *stage = NULL;
    for (int k = 0; (stage = md_bench_stage(k)) != NULL && strcmp(stage->name, name) != 0;) k++;
    return stage;
}

/* What the judge says of the base with these operations. */
static void check_judged(const Setup *s, const MdBackendOps *ops, MdBenchState state, const char *says) {
    MdBenchCase c = {.variant = "base", .asked = *s->record.asked, .config = s->config};
    check_context("expected: %s", says);
    md_bench_judge(ops, s->system, &c);
    CHECK(c.state == state);
    if (!CHECK(strstr(c.reason, says) != NULL)) printf("  it says: %s\n", c.reason);
}

static void test_judge(const Setup *s) {
    check_judged(s, good, MD_BENCH_PASSED, "");
    MdBackendOps wrong = *good;
    wrong.gather = gather_negated;
    check_judged(s, &wrong, MD_BENCH_FAILED, "forces");
    wrong = *good;
    wrong.sum = sum_pair_lost;
    check_judged(s, &wrong, MD_BENCH_FAILED, "pairs");
    wrong.sum = sum_kinetic_short;
    check_judged(s, &wrong, MD_BENCH_FAILED, "conserved energy");
    wrong = *good;
    wrong.advance = advance_heated;
    check_judged(s, &wrong, MD_BENCH_FAILED, "conserved energy");
    wrong = *good;
    wrong.create = create_refused;
    check_judged(s, &wrong, MD_BENCH_REFUSED, "no room");
}

/* The line of a variant in what print leaves; "" when it has none. */
static void print_line(const MdBenchStage *stage, const MdBenchCases *cases, const char *variant, char line[256]) {
    FILE *stream = tmpfile();
    if (!CHECK(stream != NULL)) return;
    MdLog *log = md_log_create(stream);
    md_bench_print(log, stage, "ordered", cases);
    md_log_destroy(log);
    rewind(stream);
    while (fgets(line, 256, stream) && strncmp(line, variant, strlen(variant)) != 0) line[0] = '\0';
    fclose(stream);
}

/* A batch is as long as many calls that are warm, not as the first. */
static void test_warm_up(Setup *s) {
    MdBackendOps cold = *good;
    cold.create = create_cold;
    cold.rebuild = rebuild_cold;
    s->record.ops = &cold;
    s->record.config = &s->config;
    MdBenchCases cases = md_bench_cases(&s->record, stage_named("neighbor"));
    cases.n = 1; /* the base */
    md_bench_measure(&s->record, stage_named("neighbor"), s->system, &cases);
    check_context("warm-up: batches of %lld calls", (long long)cases.rows[0].n_calls);
    CHECK(cases.rows[0].state == MD_BENCH_TIMED && cases.rows[0].n_calls > 1000);
    md_bench_cases_free(&cases);
}

static void test_ranking(Setup *s) {
    MdBackendOps watched = *good;
    watched.create = create_watched;
    watched.gather = gather_watched;
    s->record.ops = &watched;
    s->record.config = &s->config;
    const MdBenchStage *stage = stage_named("neighbor");
    MdBenchCases cases = md_bench_cases(&s->record, stage);
    md_bench_measure(&s->record, stage, s->system, &cases);
    int n_timed = 0, n_failed = 0;
    for (int k = 0; k < cases.n; k++) {
        const MdBenchCase *c = &cases.rows[k];
        check_context("%s", c->variant);
        const bool sorted = strcmp(c->variant, "neighbor.sorted=on") == 0;
        CHECK((c->state == MD_BENCH_FAILED) == sorted);
        CHECK((c->state == MD_BENCH_TIMED) == (c->seconds > 0));
        n_timed += c->state == MD_BENCH_TIMED;
        n_failed += sorted;
        if (c->state != MD_BENCH_TIMED) continue;
        CHECK(c->seconds_low <= c->seconds && c->seconds <= c->seconds_high);
        CHECK(c->ratio_low <= c->ratio && c->ratio <= c->ratio_high && c->ratio > 0);
    }
    check_context("ranking");
    CHECK(n_timed >= 3 && n_failed == 1);
    char line[256] = "";
    print_line(stage, &cases, "neighbor.sorted=on", line);
    CHECK(strstr(line, "FAILED: forces") != NULL && strstr(line, "PASSED") == NULL && strchr(line, '%') == NULL);
    md_bench_cases_free(&cases);
}

static void test_quantile(void) {
    const double values[] = {5, 2, 3, 1, 9}, medians[] = {5, 3.5, 3, 2.5, 3};
    check_context("quantiles");
    for (int n = 1; n <= 5; n++) {
        double low, median, high;
        CHECK_NEAR(md_bench_summarize(values, n, &low, &median, &high), 1 - 2 * pow(0.5, n), 1e-12);
        CHECK(median == medians[n - 1] && low == (n == 1 ? 5 : n < 4 ? 2 : 1) && high == (n < 5 ? 5 : 9));
    }
    /* Tables of the binomial distribution: 11 values, 1 - 2 (1 + 11) / 2048; with the third ones it would be 0.935. */
    static const struct {
        int n, k;
        double confidence;
    } intervals[] = {{11, 2, 0.98828125}, {6, 1, 0.96875}, {5, 1, 0.9375}, {1, 1, 0}, {20, 6, 0.958610534667969}};
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++) {
        double confidence = -1;
        CHECK(md_bench_interval(intervals[i].n, &confidence) == intervals[i].k);
        CHECK_NEAR(confidence, intervals[i].confidence, 1e-12);
    }
}

int main(void) {
    Setup s = make_setup();
    test_quantile();
    test_judge(&s);
    test_warm_up(&s);
    test_ranking(&s);
    free_setup(&s);
    return check_finish();
}
