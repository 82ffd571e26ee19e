#include "microbench/host/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/figures.h"

static const char *const backends[] = {"cpu", "cuda"};
enum { N_BACKENDS = sizeof backends / sizeof backends[0] };

static bool same_group(const MdCeiling *a, const MdCeiling *b) {
    return strcmp(a->backend, b->backend) == 0 && strcmp(a->group, b->group) == 0;
}

/* `triad, 2 threads` */
static char *name_of(const MdCeilingResult *r) {
    if (r->of.row->threads != MD_THREADS_SWEEP || r->state == MD_CEILING_LEFT_OUT)
        return md_copy_text(r->of.row->variant);
    return md_format("%s, %d thread%s", r->of.row->variant, r->of.n_threads, r->of.n_threads == 1 ? "" : "s");
}

static double relative_error(const MdCeilingSum *sum) { return fabs(sum->result / (sum->value * (double)sum->n) - 1); }

static void log_row(MdLog *log, const MdCeilingResult *r) {
    const MdCeiling *row = r->of.row;
    char figure[MD_FIGURE_BYTES] = "-", spread[16] = "-", fraction[32] = "-", size[32];
    char *name = name_of(r);
    snprintf(size, sizeof size, "%lld%s", (long long)r->of.size,
             row->dimension == 2   ? "^2"
             : row->dimension == 3 ? "^3"
                                   : "");
    const bool is_short = r->state == MD_CEILING_PASSED && !r->of.quick && r->n_rounds < MD_CEILING_FEWEST;
    if (r->state == MD_CEILING_PASSED) {
        snprintf(figure, sizeof figure, "%.4g", r->figure);
        if (r->n_rounds > 1)
            snprintf(spread, sizeof spread, "%.1f%%", 100 * (r->figure_high - r->figure_low) / r->figure);
        if (isfinite(r->sheet)) snprintf(fraction, sizeof fraction, "%.1f%%", 100 * r->figure / r->sheet);
        else if (row->sheet != MD_SHEET_NONE) snprintf(fraction, sizeof fraction, "unknown");
    }
    char *sum = r->sum.n > 0 ? md_format("; %lld x %.4g = %.9g, off by %.1e", (long long)r->sum.n, r->sum.value,
                                         r->sum.result, relative_error(&r->sum))
                             : md_copy_text("");
    char *rounds = is_short ? md_format(", %d round%s", r->n_rounds, r->n_rounds > 1 ? "s" : "") : md_copy_text("");
    md_log(log, "  %-30s %12s %11s %-8s %7s %11s  %s%s%s%s%s\n", name, size, figure, md_ceiling_unit(row->unit), spread,
           fraction, r->state == MD_CEILING_PASSED ? "passed" : "FAILED", rounds, sum, r->reason[0] ? ": " : "",
           r->reason);
    free(rounds);
    free(sum);
    free(name);
}

/* Rows with the same reason are listed together. */
static void log_left_out(MdLog *log, const MdCeilingResults *results, int first) {
    int n_told = 0;
    for (int k = first; k < results->n; k++) {
        const MdCeilingResult *r = &results->rows[k];
        bool told = r->state != MD_CEILING_LEFT_OUT;
        for (int j = first; j < k && !told; j++)
            told = results->rows[j].state == MD_CEILING_LEFT_OUT && strcmp(results->rows[j].reason, r->reason) == 0;
        if (told) continue;
        md_log(log, n_told++ == 0 ? "\n" : "");
        MdText text = {0};
        md_text_add(&text, "%s:", r->reason);
        const MdCeiling *before = NULL;
        for (int j = k; j < results->n; j++) {
            const MdCeilingResult *other = &results->rows[j];
            const MdCeiling *row = other->of.row;
            if (other->state != MD_CEILING_LEFT_OUT || strcmp(other->reason, r->reason) != 0 || row == before) continue;
            const bool begins = !before || !same_group(before, row);
            md_text_add(&text, "%s %s%s%s", before ? (begins ? ";" : " /") : "", begins ? row->group : "",
                        begins ? ": " : "", row->variant);
            before = row;
        }
        md_log_wrapped(log, "left out ", text.text);
        free(text.text);
    }
}

void md_ceilings_log(MdLog *log, const MdCeilingResults *results, int first) {
    const MdCeiling *before = NULL;
    for (int k = first; k < results->n; k++) {
        const MdCeilingResult *r = &results->rows[k];
        const MdCeiling *row = r->of.row;
        if (r->state == MD_CEILING_LEFT_OUT) continue;
        if (!before || !same_group(before, row)) {
            md_log(log, "\n%s, %s: %s\n", row->backend, row->group, md_ceiling_group(row->group));
            md_log(log, "  %-30s %12s %11s %-8s %7s %11s  %s\n", "variant", "size", "median", "unit", "spread",
                   "data sheet", "check");
        }
        log_row(log, r);
        before = row;
    }
    log_left_out(log, results, first);
}

/* The result that a roof rests on; NULL: it was not measured. */
static const MdCeilingResult *roof_of(const MdCeilingResults *results, const char *backend, MdRoof roof) {
    const MdCeilingResult *best = NULL;
    for (int k = 0; k < results->n; k++) {
        const MdCeilingResult *r = &results->rows[k];
        if (r->of.row->roof != roof || strcmp(r->of.row->backend, backend) != 0 || !isfinite(r->figure)) continue;
        if (!best || r->figure > best->figure) best = r;
    }
    return best;
}

void md_ceilings_log_roofs(MdLog *log, const MdCeilingResults *results) {
    const char *heading = "\nroofline\n";
    for (int b = 0; b < N_BACKENDS; b++)
        for (MdRoof roof = MD_ROOF_NONE + 1; roof < MD_N_ROOFS; roof++) {
            const MdCeilingResult *r = roof_of(results, backends[b], roof);
            if (!r) continue;
            char *name = name_of(r);
            md_log(log, "%s", heading);
            heading = "";
            md_log(log, "  %-6s %-18s %11.4g %-8s  %s: %s\n", backends[b], md_roof_name(roof), r->figure,
                   md_ceiling_unit(r->of.row->unit), r->of.row->group, name);
            free(name);
        }
}

static void write_result(MdJson *json, const MdCeilingResult *r) {
    static const char *const states[] = {
        [MD_CEILING_PASSED] = "passed", [MD_CEILING_FAILED] = "FAILED", [MD_CEILING_LEFT_OUT] = "left out"};
    const MdCeiling *row = r->of.row;
    md_json_begin_object(json, NULL);
    md_json_text(json, "backend", row->backend);
    md_json_text(json, "group", row->group);
    md_json_text(json, "variant", row->variant);
    md_json_text(json, "check", states[r->state]);
    md_json_text(json, "reason", r->reason[0] ? r->reason : NULL);
    md_json_text(json, "unit", md_ceiling_unit(row->unit));
    md_json_real(json, "median", r->figure);
    md_json_real(json, "low", r->figure_low);
    md_json_real(json, "high", r->figure_high);
    md_json_real(json, "confidence", r->confidence);
    md_json_real(json, "data_sheet", r->state == MD_CEILING_PASSED ? r->sheet : NAN);
    md_json_real(json, "fraction", r->figure / r->sheet);
    if (r->sum.n > 0) {
        md_json_begin_object(json, "sum"); /* of equal numbers in single precision */
        md_json_int(json, "numbers", r->sum.n);
        md_json_real(json, "number", r->sum.value);
        md_json_real(json, "result", r->sum.result);
        md_json_real(json, "relative_error", relative_error(&r->sum));
        md_json_end_object(json);
    } else md_json_text(json, "sum", NULL);
    md_json_real(json, "seconds_per_call", r->seconds);
    md_json_int(json, "calls_per_batch", r->n_calls);
    md_json_int(json, "rounds", r->n_rounds);
    md_json_int(json, "size", r->of.size);
    md_json_int(json, "dimension", row->dimension);
    md_json_int(json, "threads", r->of.n_threads);
    md_json_real(json, "bytes_per_call", row->bytes * r->of.n_elements);
    md_json_real(json, "operations_per_call", row->operations * r->of.n_elements);
    md_json_end_object(json);
}

void md_ceilings_write(MdJson *json, const MdCeilingResults *results) {
    md_json_begin_object(json, "ceilings");
    for (MdRoof roof = MD_ROOF_NONE + 1; roof < MD_N_ROOFS; roof++) {
        md_json_begin_object(json, md_roof_name(roof));
        md_json_text(json, "unit", md_ceiling_unit(md_roof_unit(roof)));
        for (int b = 0; b < N_BACKENDS; b++) {
            const MdCeilingResult *r = roof_of(results, backends[b], roof);
            md_json_real(json, backends[b], r ? r->figure : NAN);
        }
        md_json_end_object(json);
    }
    md_json_end_object(json);
    md_json_begin_array(json, "results");
    for (int k = 0; k < results->n; k++) write_result(json, &results->rows[k]);
    md_json_end_array(json);
}
