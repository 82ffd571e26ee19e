#include "microbench/stages/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "microbench/stages/measure.h"

static bool distinguishable(const MdBenchCase *c) { return c->ratio_low > 1 || c->ratio_high < 1; }

static const char *verdict_of(const MdBenchCase *c) {
    return c->state == MD_BENCH_TIMED || c->state == MD_BENCH_PASSED ? "PASSED"
           : c->state == MD_BENCH_FAILED                             ? "FAILED"
                                                                     : "NOT CHECKED";
}

static void print_timed(MdLog *log, const MdBenchCase *c) {
    char bandwidth[MD_FIGURE_BYTES], speed[MD_FIGURE_BYTES], ratio[64] = "";
    if (strcmp(c->variant, "base") != 0)
        snprintf(ratio, sizeof ratio, "%6.3f  %.3f to %.3f%s", c->ratio, c->ratio_low, c->ratio_high,
                 distinguishable(c) ? "" : " =");
    md_log(log, "%-34s %11.2f %11.2f %6.1f%% %8s %8s  %-26s %s\n", c->variant, 1e6 * c->seconds, 1e6 * c->base_seconds,
           100 * (c->seconds_high - c->seconds_low) / c->seconds, md_figure_text(bandwidth, c->figures.gb_per_s),
           md_figure_text(speed, c->figures.gflop_per_s), ratio, verdict_of(c));
    if (c->with[0]) md_log(log, "  and with it %s\n", c->with);
}

/* The fastest first. */
static int compare_speed(const void *a, const void *b) {
    const MdBenchCase *const *x = a, *const *y = b;
    const double left = strcmp((*x)->variant, "base") == 0 ? 1 : (*x)->ratio;
    const double right = strcmp((*y)->variant, "base") == 0 ? 1 : (*y)->ratio;
    return (left < right) - (left > right);
}

static void print_ranking(MdLog *log, const MdBenchCases *cases) {
    const MdBenchCase **timed = md_alloc((size_t)cases->n, sizeof *timed, "ranking");
    int n = 0;
    for (int k = 0; k < cases->n; k++)
        if (cases->rows[k].state == MD_BENCH_TIMED) timed[n++] = &cases->rows[k];
    qsort(timed, (size_t)n, sizeof *timed, compare_speed);
    for (int k = 0; k < n; k++) print_timed(log, timed[k]);
    md_free(timed);
}

/* Variants of the base, without effect, that could not run, and that would have taken too long. */
static void print_untimed(MdLog *log, const MdBenchCases *cases) {
    MdText same = {0};
    for (int k = 0; k < cases->n; k++) {
        const MdBenchCase *c = &cases->rows[k];
        if (c->state == MD_BENCH_REFUSED) {
            const bool named = strncmp(c->reason, c->variant, strlen(c->variant)) == 0;
            char *text = md_format("%s%s%s", named ? "" : c->variant, named ? "" : ": ", c->reason);
            md_log_wrapped(log, "refused    ", text);
            free(text);
        }
        if (c->state == MD_BENCH_MOOT) md_log(log, "no effect   %s: %s\n", c->variant, c->reason);
        if (c->state == MD_BENCH_SKIPPED) md_log(log, "skipped     %s: %s\n", c->variant, c->reason);
        if (c->state == MD_BENCH_SAME) md_text_add(&same, " %s", c->variant);
    }
    if (same.text) md_log_wrapped(log, "of the base", same.text);
    free(same.text);
}

void md_bench_print(MdLog *log, const MdBenchStage *stage, const char *configuration, const MdBenchCases *cases) {
    md_log(log, "\n%s, %s: %s\n", stage->name, configuration, stage->call);
    md_log(log, "%-34s %11s %11s %7s %8s %8s  %6s  %-18s %s\n", "variant", "us per call", "base", "spread", "GB/s",
           "GFLOP/s", "speed", "interval", "verdict");
    print_ranking(log, cases);
    for (int k = 0; k < cases->n; k++) {
        const MdBenchCase *c = &cases->rows[k];
        if (c->state == MD_BENCH_FAILED)
            md_log(log, "%-34s %11s %11s %7s %8s %8s  %-26s FAILED: %s\n", c->variant, "-", "-", "-", "-", "-", "",
                   c->reason);
    }
    print_untimed(log, cases);
}

/* --- JSON ---------------------------------------------------------------------------------------------------------- */

static void write_times(MdJson *json, const MdBenchCase *c) {
    md_json_int(json, "calls_per_batch", c->n_calls);
    double confidence;
    md_bench_interval(MD_BENCH_ROUNDS, &confidence);
    md_json_int(json, "rounds", MD_BENCH_ROUNDS);
    md_json_real(json, "interval_confidence", confidence);
    md_json_real(json, "seconds_per_call", c->seconds);
    md_json_real(json, "seconds_low", c->seconds_low);
    md_json_real(json, "seconds_high", c->seconds_high);
    md_json_real(json, "base_seconds_per_call", c->base_seconds); /* in the same rounds */
    md_json_real(json, "speed", c->ratio);                        /* that of the base is 1 */
    md_json_real(json, "speed_low", c->ratio_low);
    md_json_real(json, "speed_high", c->ratio_high);
    md_json_bool(json, "distinguishable", distinguishable(c));
    md_json_real(json, "model_bytes", c->figures.work.bytes);
    md_json_real(json, "model_flops", c->figures.work.flops);
    md_json_real(json, "gb_per_s", c->figures.gb_per_s);
    md_json_real(json, "gflop_per_s", c->figures.gflop_per_s);
}

void md_bench_write(MdJson *json, const MdBenchStage *stage, const char *configuration, const MdBenchCases *cases) {
    static const char *const states[] = {
        [MD_BENCH_READY] = "not run",    [MD_BENCH_SAME] = "same as base", [MD_BENCH_MOOT] = "without effect here",
        [MD_BENCH_REFUSED] = "refused",  [MD_BENCH_SKIPPED] = "skipped",   [MD_BENCH_FAILED] = "failed",
        [MD_BENCH_PASSED] = "not timed", [MD_BENCH_TIMED] = "timed"};
    for (int k = 0; k < cases->n; k++) {
        const MdBenchCase *c = &cases->rows[k];
        md_json_begin_object(json, NULL);
        md_json_text(json, "stage", stage->name);
        md_json_text(json, "configuration", configuration);
        md_json_text(json, "variant", c->variant);
        md_json_text(json, "state", states[c->state]);
        md_json_text(json, "verdict", verdict_of(c));
        if (c->with[0]) md_json_text(json, "with", c->with);
        if (c->reason[0]) md_json_text(json, "reason", c->reason);
        if (c->state == MD_BENCH_TIMED) write_times(json, c);
        md_json_end_object(json);
    }
}
