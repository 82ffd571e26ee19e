#include "analysis/rdf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "deck/units.h"
#include "output/schedule.h"

MdRdf md_rdf_create(const MdConfig *config, const MdSystemPlan *plan) {
    MdRdf rdf = {.count = md_pair_count(config, &plan->box, &plan->potential, plan->n_atoms),
                 .box = plan->box,
                 .n_types = plan->potential.n_types};
    const size_t size = md_pair_count_size(&rdf.count);
    if (size == 0) return rdf;
    rdf.state_bytes = sizeof *rdf.state + MD_RDF_BLOCKS * size * sizeof *rdf.block;
    rdf.state = md_alloc(rdf.state_bytes, 1, "g(r)");
    *rdf.state = (MdRdfState){.every = config->analysis_rdf_every,
                              .from = config->analysis_rdf_from,
                              .n_bins = rdf.count.n_bins,
                              .n_kinds = rdf.count.n_kinds,
                              .range = rdf.count.range,
                              .block_samples = 1};
    rdf.block = (int64_t *)(rdf.state + 1);
    return rdf;
}

void md_rdf_free(MdRdf *rdf) {
    md_free(rdf->state);
    *rdf = (MdRdf){0};
}

void md_rdf_weigh(MdRdf *rdf, const int64_t n_of_type[MD_MAX_TYPES]) {
    for (int t = 0; t < rdf->n_types; t++) rdf->n_atoms[t] = (double)n_of_type[t];
}

bool md_rdf_is_due(const MdRdf *rdf, int64_t step) {
    return rdf->state && md_schedule_samples(rdf->state->every, rdf->state->from, step);
}

/* Each two blocks become one. */
static void join_blocks(MdRdf *rdf) {
    const size_t size = md_pair_count_size(&rdf->count);
    for (size_t b = 0; b < MD_RDF_BLOCKS / 2; b++)
        for (size_t k = 0; k < size; k++)
            rdf->block[b * size + k] = rdf->block[2 * b * size + k] + rdf->block[(2 * b + 1) * size + k];
    memset(rdf->block + MD_RDF_BLOCKS / 2 * size, 0, MD_RDF_BLOCKS / 2 * size * sizeof *rdf->block);
    rdf->state->n_blocks = MD_RDF_BLOCKS / 2;
    rdf->state->block_samples *= 2;
}

void md_rdf_add(MdRdf *rdf, const int64_t *counts) {
    MdRdfState *state = rdf->state;
    const size_t size = md_pair_count_size(&rdf->count);
    if (state->n_blocks == MD_RDF_BLOCKS) join_blocks(rdf);
    int64_t *block = rdf->block + (size_t)state->n_blocks * size;
    for (size_t k = 0; k < size; k++) block[k] += counts[k];
    state->n_samples++;
    state->n_blocks = state->n_samples / state->block_samples;
}

/* --- results ------------------------------------------------------------------------------------------------------- */

/* The types of a kind; -1: all. */
typedef struct Kind {
    int a, b;
} Kind;

static Kind kind_of(const MdRdf *rdf, int kind) {
    for (int a = 0; a < rdf->n_types && kind > 0; a++)
        for (int b = a; b < rdf->n_types; b++)
            if (md_pair_kind(a, b, rdf->n_types) == kind - 1) return (Kind){a, b};
    return (Kind){-1, -1};
}

static double atoms_of(const MdRdf *rdf, int type) {
    double n = 0;
    for (int t = 0; t < rdf->n_types; t++)
        if (type < 0 || type == t) n += rdf->n_atoms[t];
    return n;
}

/* Counts of a kind in a block and a bin; of kind 0, all atoms, those of all kinds. */
static double counts_of(const MdRdf *rdf, int64_t block, int kind, int bin) {
    const int n_kinds = rdf->count.n_kinds, n_bins = rdf->count.n_bins;
    const int64_t *counts = rdf->block + block * n_kinds * n_bins + bin;
    double sum = 0;
    for (int k = 0; k < n_kinds; k++)
        if (kind == 0 || kind == k + 1) sum += (double)counts[k * n_bins];
    return sum;
}

static double shell_volume(const MdRdf *rdf, int bin) {
    const double pi = 3.14159265358979323846, width = rdf->count.range / rdf->count.n_bins, inner = bin * width,
                 outer = (bin + 1) * width;
    if (rdf->box.dimension == 2) return pi * (outer * outer - inner * inner);
    return 4 * pi / 3 * (outer * outer * outer - inner * inner * inner);
}

/* Counts of a sample of independent atoms in a bin. */
static double counts_of_gas(const MdRdf *rdf, Kind kind, int bin) {
    const double a = atoms_of(rdf, kind.a), b = atoms_of(rdf, kind.b);
    return (kind.a == kind.b ? a * (b - 1) : 2 * a * b) * shell_volume(rdf, bin) / md_box_volume(&rdf->box);
}

/* Counts of all samples, and the standard error of their mean, from whole blocks: NaN for fewer than two. */
static double find_counts(const MdRdf *rdf, int kind, int bin, double *error) {
    const MdRdfState *state = rdf->state;
    double sum = 0, deviation_sq = 0, whole = 0;
    for (int64_t block = 0; block < MD_RDF_BLOCKS; block++) {
        sum += counts_of(rdf, block, kind, bin);
        if (block < state->n_blocks) whole += counts_of(rdf, block, kind, bin);
    }
    const double n = (double)state->n_blocks, length = (double)state->block_samples, mean = whole / n;
    for (int64_t block = 0; block < state->n_blocks; block++)
        deviation_sq += pow(counts_of(rdf, block, kind, bin) - mean, 2);
    *error = n > 1 ? sqrt(deviation_sq / (n * (n - 1))) / length : NAN;
    return sum;
}

static void fill_kind(MdCurves *curves, const MdRdf *rdf, int kind) {
    const Kind types = kind_of(rdf, kind);
    const bool is_mixed = types.a != types.b;
    double neighbors = 0;
    for (int bin = 0; bin < curves->n_points; bin++) {
        double error;
        const double counts = find_counts(rdf, kind, bin, &error), mean = counts / (double)rdf->state->n_samples,
                     gas = counts_of_gas(rdf, types, bin);
        const int at = bin * curves->n_kinds + 3 * kind;
        neighbors += mean / (is_mixed ? 2 : 1) / atoms_of(rdf, types.a);
        curves->mean[at] = gas > 0 ? mean / gas : NAN;
        curves->error[at] = gas > 0 ? error / gas : NAN;
        curves->mean[at + 1] = neighbors;
        curves->mean[at + 2] = counts / 2;
    }
    static const char *const names[] = {"g", "neighbors", "pairs"};
    for (int k = 0; k < 3; k++) {
        char *text = curves->kind[3 * kind + k];
        if (types.a < 0) snprintf(text, MD_KIND_BYTES, "%s", names[k]);
        else snprintf(text, MD_KIND_BYTES, "%s of types %d %d", names[k], types.a + 1, types.b + 1);
        curves->is_plain[3 * kind + k] = k > 0;
    }
}

MdCurves *md_rdf_curves(const MdRdf *rdf, const MdConfig *config) {
    const int n_kinds = rdf->count.n_kinds > 1 ? 1 + rdf->count.n_kinds : 1;
    MdCurves *curves = md_curves_create(rdf->count.n_bins, 3 * n_kinds, 2);
    curves->name = "rdf";
    curves->title = "radial_distribution";
    curves->units = md_config_units(config);
    curves->unit = MD_NO_UNIT;
    curves->blocks = "blocks";
    curves->axis[0].name = "r";
    curves->axis[1].name = "outer r";
    for (int bin = 0; bin < curves->n_points; bin++) {
        const double width = rdf->count.range / rdf->count.n_bins;
        curves->axis[0].values[bin] = (bin + 0.5) * width;
        curves->axis[1].values[bin] = (bin + 1) * width;
        curves->n_blocks[bin] = rdf->state->n_blocks;
    }
    for (int a = 0; a < 2; a++) curves->axis[a].unit = MD_LENGTH;
    for (int kind = 0; kind < n_kinds; kind++) fill_kind(curves, rdf, kind);
    return curves;
}
