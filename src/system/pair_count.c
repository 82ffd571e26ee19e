#include "system/pair_count.h"

#include <math.h>

#include "base/number.h"
#include "deck/units.h"

static double range_of(const MdConfig *config, const MdPotential *potential) {
    return md_is_auto(config->analysis_rdf_max) ? potential->cutoff_max : config->analysis_rdf_max;
}

static int kinds_of(const MdConfig *config, const MdPotential *potential) {
    const int n = potential->n_types;
    return config->analysis_rdf_types == MD_RDF_TYPES_ALL ? n * (n + 1) / 2 : 1;
}

/* No more than some for each atom: those of a gas are larger than they need be. */
static MdPairCells make_cells(const MdBox *box, double range, int64_t n_atoms) {
    MdPairCells cells = {.n = {1, 1, 1}, .edge = {1, 1, 1}};
    for (int a = 0; a < box->dimension; a++) cells.n[a] = (int)fmin(fmax(1, floor(box->length[a] / range)), 1 << 20);
    while ((double)cells.n[0] * cells.n[1] * cells.n[2] > 2 * (double)n_atoms + 64) {
        int longest = 0;
        for (int a = 1; a < box->dimension; a++)
            if (cells.n[a] > cells.n[longest]) longest = a;
        cells.n[longest] = (cells.n[longest] + 1) / 2;
    }
    for (int a = 0; a < box->dimension; a++) {
        cells.edge[a] = box->length[a] / cells.n[a];
        cells.inverse[a] = cells.n[a] / box->length[a];
    }
    return cells;
}

MdPairCount md_pair_count(const MdConfig *config, const MdBox *box, const MdPotential *potential, int64_t n_atoms) {
    if (config->analysis_rdf_every == 0) return (MdPairCount){0};
    MdPairCount count = {.n_bins = (int)config->analysis_rdf_bins,
                         .n_kinds = kinds_of(config, potential),
                         .range = range_of(config, potential)};
    const double rounded = 1 + 1e-9; /* a coordinate that rounds into the next cell */
    count.cells = make_cells(box, rounded * count.range, n_atoms);
    return count;
}

static MdStatus check_range(const MdDeck *deck, const MdSystemPlan *plan, MdErrors *errors) {
    const MdConfig *c = md_deck_config(deck);
    const double range = range_of(c, &plan->potential), cutoff = plan->potential.cutoff_max;
    const char *origin = md_deck_origin(deck, MD_OPTION_analysis_rdf_max), *unit = md_config_unit(c, MD_LENGTH);
    double half = INFINITY;
    char most[MD_NUMBER_BYTES];
    for (int a = 0; a < plan->box.dimension; a++) half = fmin(half, plan->box.length[a] / 2);
    if (range > half)
        return md_fail(errors, MD_ERROR_INPUT,
                       "%s: analysis.rdf_max: %g %s is more than half of the shortest edge of the box; allowed: up to "
                       "%s, or auto, the largest cutoff (%g)",
                       origin, range, unit, md_number_at_most(most, half), cutoff);
    if (range > cutoff && md_comm_size(plan->comm) > 1)
        return md_fail(
            errors, MD_ERROR_INPUT,
            "%s: analysis.rdf_max: %g %s is more than the largest cutoff, %g, and a process of several knows "
            "the atoms around its own only up to there; allowed: up to the cutoff, or one process",
            origin, range, unit, cutoff);
    return MD_OK;
}

MdStatus md_pair_count_check(const MdDeck *deck, const MdSystemPlan *plan, MdErrors *errors) {
    const MdConfig *c = md_deck_config(deck);
    if (c->analysis_rdf_every == 0) return MD_OK;
    if (!isfinite(md_box_volume(&plan->box)))
        return md_fail(
            errors, MD_ERROR_INPUT,
            "%s: analysis.rdf_every: g(r) needs the density of the whole box, and an axis is open; allowed: 0, "
            "or system.boundary = periodic; tools/plot.py draws g(r) of the inner part from frames",
            md_deck_origin(deck, MD_OPTION_analysis_rdf_every));
    const int kinds = kinds_of(c, &plan->potential);
    if (kinds * c->analysis_rdf_bins > MD_MOST_PAIR_COUNTS)
        return md_fail(errors, MD_ERROR_INPUT,
                       "%s: analysis.rdf_bins: read %lld, of each of %d pairs of types; allowed: up to %d, or "
                       "analysis.rdf_types = auto",
                       md_deck_origin(deck, MD_OPTION_analysis_rdf_bins), (long long)c->analysis_rdf_bins, kinds,
                       MD_MOST_PAIR_COUNTS / kinds);
    return check_range(deck, plan, errors);
}
