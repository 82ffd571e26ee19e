/* How cases are timed. Contexts of a group of cases exist side by side, the base always among them. In each round every
 * one of them is timed once, in random order, so that drifts (clocks, other users) affect all alike; ratios are
 * taken within a round. A batch is long enough that reading the clock and the last wait do not count. */
#include "microbench/stages/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "microbench/stages/judge.h"
#include "system/random.h"

static const double batch_s = 5e-3; /* a clock reading takes 1e-7, a wait for a GPU 1e-5 */
enum { MOST_CALLS = 100000, GROUP = 16 };

/* One case on its way: its own context and frame. */
typedef struct Runner {
    MdBenchCase *c;
    MdConfig config;
    MdErrors *errors;
    void *context;
    MdFrame frame;
} Runner;

int md_bench_interval(int n, double *confidence) {
    double below = ldexp(1, -n), term = below; /* probability that fewer than k values lie below the median */
    int k = 1;
    for (;;) {
        *confidence = 1 - 2 * below;
        term *= (double)(n - k + 1) / k;
        if (2 * k + 1 > n || 1 - 2 * (below + term) < 0.95) return k;
        below += term;
        k++;
    }
}

double md_bench_summarize(const double *values, int n, double *low, double *median, double *high) {
    double *sorted = md_alloc((size_t)n, sizeof *sorted, "times"), confidence;
    memcpy(sorted, values, (size_t)n * sizeof *sorted);
    md_sort_reals(sorted, (size_t)n);
    const int k = md_bench_interval(n, &confidence);
    *low = sorted[k - 1];
    *median = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
    *high = sorted[n - k];
    md_free(sorted);
    return confidence;
}

/* Steps that move nothing: the arithmetic of a time step so short that the configuration stands still, and a list that
 * is never due by count. */
static MdConfig freeze(const MdConfig *config) {
    MdConfig frozen = *config;
    frozen.run_timestep *= 1e-6;
    frozen.neighbor_every = INT64_C(1000000000000000);
    return frozen;
}

static void fail_case(Runner *r, MdStatus status) {
    r->c->state = status == MD_ERROR_INPUT ? MD_BENCH_REFUSED : MD_BENCH_FAILED; /* no room beside the others, say */
    snprintf(r->c->reason, sizeof r->c->reason, "%s",
             md_errors_count(r->errors) ? md_errors_text(r->errors, 0) : "the backend stopped");
}

static MdStatus run_calls(const MdBackendOps *ops, const MdBenchStage *stage, Runner *r) {
    if (!stage->run) return ops->advance(r->context, 1, r->c->n_calls, false);
    MdStatus status = MD_OK;
    for (int64_t k = 0; k < r->c->n_calls && status == MD_OK; k++) status = stage->run(ops, r->context, &r->frame);
    return status;
}

/* Seconds of one call; NaN when one failed. */
static double time_batch(const MdBackendOps *ops, const MdBenchStage *stage, Runner *r) {
    const double start_s = md_clock_s();
    MdStatus status = run_calls(ops, stage, r);
    if (status == MD_OK) status = ops->finish(r->context);
    if (status == MD_OK) return (md_clock_s() - start_s) / (double)r->c->n_calls;
    fail_case(r, status);
    return NAN;
}

/* Finds how many calls a batch takes; warms up on the way. The first call has extra costs, and does
 * not count; one batch may be delayed: two in a row must be long enough. */
static void warm_up(const MdBackendOps *ops, const MdBenchStage *stage, Runner *r) {
    r->c->n_calls = 1;
    if (isnan(time_batch(ops, stage, r))) return;
    for (int n_long = 0;;) {
        double seconds = time_batch(ops, stage, r) * (double)r->c->n_calls;
        n_long = seconds < batch_s ? 0 : n_long + 1;
        if (isnan(seconds) || n_long == 2 || (n_long == 0 && r->c->n_calls == MOST_CALLS)) return;
        if (n_long == 1) continue;
        double wanted = 1.2 * (double)r->c->n_calls * batch_s / fmax(seconds, 1e-7);
        r->c->n_calls = (int64_t)fmin(fmax(wanted, 2.0 * (double)r->c->n_calls), MOST_CALLS);
    }
}

static void start(const MdRecord *record, const MdBenchStage *stage, const MdSystem *system, MdBenchCase *c,
                  Runner *r) {
    const size_t bytes = 3 * (size_t)system->n_atoms * sizeof(float);
    *r = (Runner){.c = c, .config = freeze(&c->config), .errors = md_errors_create()};
    r->frame = (MdFrame){.precision = MD_FILE_PRECISION_SINGLE,
                         .position = md_alloc(bytes, 1, "a frame"),
                         .velocity = md_alloc(bytes, 1, "a frame")};
    MdStatus status = record->ops->create(&r->context, &r->config, &c->asked, system, r->errors);
    if (status == MD_OK) status = record->ops->update_neighbors(r->context, 0);
    if (status == MD_OK) status = record->ops->compute_forces(r->context, true);
    if (status == MD_OK) status = record->ops->finish(r->context);
    if (status == MD_OK) warm_up(record->ops, stage, r);
    else fail_case(r, status);
}

static void stop(const MdRecord *record, const MdBenchStage *stage, Runner *r) {
    MdBenchCase *c = r->c;
    if (c->state == MD_BENCH_PASSED) {
        MdStatistics statistics;
        record->ops->statistics(r->context, &statistics);
        MdWork work = {0, 0};
        for (int k = 0; stage->work[k]; k++) {
            MdWork more = md_variants_work(record->ops->variants(), stage->work[k], &c->config,
                                           (double)record->plan.n_atoms, (double)statistics.n_entries);
            work.bytes += more.bytes;
            work.flops += more.flops;
        }
        md_bench_summarize(c->samples, MD_BENCH_ROUNDS, &c->seconds_low, &c->seconds, &c->seconds_high);
        c->figures = md_figures_of_work(work, c->seconds);
        c->state = MD_BENCH_TIMED;
    }
    if (r->context) record->ops->destroy(r->context);
    md_free(r->frame.position);
    md_free(r->frame.velocity);
    md_errors_destroy(r->errors);
}

/* Speed against the base, round by round. */
static void compare_with(const MdBenchCase *base, MdBenchCase *c) {
    double ratios[MD_BENCH_ROUNDS], low, high;
    for (int k = 0; k < MD_BENCH_ROUNDS; k++) ratios[k] = base->samples[k] / c->samples[k];
    md_bench_summarize(ratios, MD_BENCH_ROUNDS, &c->ratio_low, &c->ratio, &c->ratio_high);
    md_bench_summarize(base->samples, MD_BENCH_ROUNDS, &low, &c->base_seconds, &high);
}

static void run_rounds(const MdBackendOps *ops, const MdBenchStage *stage, Runner *runners, int n, MdRandom *random) {
    for (int round = 0; round < MD_BENCH_ROUNDS; round++) {
        int order[GROUP];
        for (int k = 0; k < n; k++) order[k] = k;
        for (int k = n - 1; k > 0; k--) {
            double u;
            md_random_uniform(random, &u, 1);
            const int other = (int)((1 - u) * (k + 1)), swapped = order[k];
            order[k] = order[other];
            order[other] = swapped;
        }
        for (int k = 0; k < n; k++) {
            Runner *r = &runners[order[k]];
            if (r->c->state == MD_BENCH_PASSED) r->c->samples[round] = time_batch(ops, stage, r);
        }
    }
}

/* The base and up to GROUP - 1 others that passed: as many as half the free memory holds. */
static int gather_group(const MdRecord *record, MdBenchCases *cases, MdBenchCase **group) {
    const MdMemory need = record->ops->estimate(record->config, &record->plan);
    const bool device = record->machine.device_total_bytes > 0;
    const uint64_t room = (device ? record->machine.device_free_bytes : md_host_memory_available_bytes()) / 2;
    const uint64_t each = (device ? need.device_bytes : need.host_bytes) + 1;
    int n = 1;
    group[0] = &cases->rows[0];
    for (int k = 1; k < cases->n && n < GROUP && (n < 2 || (uint64_t)(n + 1) * each <= room); k++)
        if (cases->rows[k].state == MD_BENCH_PASSED) group[n++] = &cases->rows[k];
    return n;
}

void md_bench_measure(const MdRecord *record, const MdBenchStage *stage, const MdSystem *system, MdBenchCases *cases) {
    for (int k = 0; k < cases->n; k++)
        if (cases->rows[k].state == MD_BENCH_READY) md_bench_judge(record->ops, system, &cases->rows[k]);
    if (cases->rows[0].state != MD_BENCH_PASSED) return; /* nothing to compare with */
    MdRandom *random = md_random_create(NULL, MD_GENERATOR_PHILOX, 1, MD_STREAM_SHUFFLE, record->errors);
    for (;;) {
        MdBenchCase *group[GROUP];
        Runner runners[GROUP];
        cases->rows[0].state = MD_BENCH_PASSED; /* timed again in each group */
        const int n = gather_group(record, cases, group);
        if (n == 1 && cases->rows[0].seconds > 0) break;
        for (int k = 0; k < n; k++) start(record, stage, system, group[k], &runners[k]);
        run_rounds(record->ops, stage, runners, n, random);
        for (int k = 0; k < n; k++)
            if (group[k]->state == MD_BENCH_PASSED) compare_with(group[0], group[k]);
        for (int k = 0; k < n; k++) stop(record, stage, &runners[k]);
        if (group[0]->state != MD_BENCH_TIMED) break;
    }
    if (cases->rows[0].state == MD_BENCH_PASSED) cases->rows[0].state = MD_BENCH_TIMED;
    md_random_destroy(random, NULL);
}
