#include "report/places.h"

#include <stdlib.h>

#include "backends/backends.h"
#include "base/memory.h"
#include "report/tolerance.h"

/* Said from this share of what is refused on. */
static const double worth_a_word = 0.2;

/* How coarse places are, as a share of what is refused. */
static double coarseness(const MdRecord *r, const MdBackendOps *ops, int precision, double extent) {
    MdConfig config = *r->config;
    config.run_precision = precision;
    const double rounding = ops->rounding(&config, &r->plan.box, extent, r->plan.spread);
    return rounding / md_tolerance_rounding(&r->plan.potential);
}

static double coarseness_now(const MdRecord *r) {
    return coarseness(r, r->ops, r->config->run_precision, r->plan.extent);
}

static void add_way(char **ways, bool serves, const char *way) {
    if (!serves) return;
    char *longer = md_format("%s%s%s", *ways, **ways ? ", or " : ": take ", way);
    free(*ways);
    *ways = longer;
}

/* Of precision, backend and origin what would leave nothing to say. */
static char *find_ways(const MdRecord *r) {
    const MdBox *box = &r->plan.box;
    const int precision = r->config->run_precision;
    double about_origin = r->plan.spread / 2;
    for (int a = 0; a < box->dimension; a++)
        if (box->periodic[a]) about_origin = fmax(about_origin, box->length[a]);
    char *ways = md_copy_text("");
    add_way(&ways, coarseness(r, r->ops, MD_PRECISION_MIXED, r->plan.extent) < worth_a_word, "run.precision = mixed");
    add_way(&ways, coarseness(r, r->ops, MD_PRECISION_DOUBLE, r->plan.extent) < worth_a_word, "run.precision = double");
    add_way(&ways, coarseness(r, md_backend_find("cpu"), precision, r->plan.extent) < worth_a_word,
            "run.backend = cpu");
    add_way(&ways, coarseness(r, r->ops, precision, about_origin) < worth_a_word, "coordinates about the origin");
    return ways;
}

static char *describe(const MdRecord *r) {
    const double rounding = r->ops->rounding(r->config, &r->plan.box, r->plan.extent, r->plan.spread);
    char *precision = md_deck_value_text(r->deck, MD_OPTION_run_precision), *ways = find_ways(r);
    char *text = md_format("run.precision = %s keeps positions only to within %.2g sigma here, as coordinates come to "
                           "%.6g: the energy of two atoms that touch is off by up to %.2g of its depth%s",
                           precision, rounding, r->plan.extent, 0.05 * coarseness_now(r), ways);
    free(precision);
    free(ways);
    return text;
}

MdStatus md_places_check(const MdRecord *r) {
    if (r->no_gpu || !(coarseness_now(r) > 1)) return MD_OK;
    char *text = describe(r);
    md_fail(r->errors, MD_ERROR_INPUT, "%s: %s", md_deck_origin(r->deck, MD_OPTION_run_precision), text);
    free(text);
    return MD_ERROR_INPUT;
}

char *md_places_warning(const MdRecord *r) {
    return r->no_gpu || !(coarseness_now(r) > worth_a_word) ? NULL : describe(r);
}
