#include "report/places.h"

#include <stdlib.h>

#include "backends/backends.h"
#include "base/memory.h"
#include "report/tolerance.h"

/* The warning begins at this share of the limit. */
static const double worth_a_word = 0.2;

/* The resolution of positions, as a share of the limit. */
static double coarseness(const MdRecord *r, const MdBackendOps *ops, int precision, double extent) {
    MdConfig config = *r->config;
    config.run_precision = precision;
    const double rounding = ops->rounding(&config, &r->plan.box, extent, r->plan.spread);
    return rounding / md_tolerance_rounding(&r->plan.potential);
}

/* The rounding of a position in a step, as a share of the warning's limit. */
static double step_rounding(const MdRecord *r, const MdBackendOps *ops, int precision, double extent) {
    MdConfig config = *r->config;
    config.run_precision = precision;
    const double step = r->plan.slowest * config.run_timestep;
    return step > 0 ? ops->position_roundoff(&config) * extent / (md_tolerance_step_share * step) : 0;
}

typedef double (*Measure)(const MdRecord *, const MdBackendOps *, int precision, double extent);

static double now(const MdRecord *r, Measure measure) {
    return measure(r, r->ops, r->config->run_precision, r->plan.extent);
}

static void add_way(MdText *ways, bool serves, const char *way) {
    if (serves) md_text_add(ways, "%s%s", ways->length ? ", or " : ": take ", way);
}

/* A remedy among precision, backend and origin: one that brings the share below `least`. */
static char *find_ways(const MdRecord *r, Measure measure, double least) {
    const MdBox *box = &r->plan.box;
    const int precision = r->config->run_precision;
    double about_origin = r->plan.spread / 2;
    for (int a = 0; a < box->dimension; a++)
        if (box->periodic[a]) about_origin = fmax(about_origin, box->length[a]);
    MdText ways = {0};
    add_way(&ways, measure(r, r->ops, MD_PRECISION_MIXED, r->plan.extent) < least, "run.precision = mixed");
    add_way(&ways, measure(r, r->ops, MD_PRECISION_DOUBLE, r->plan.extent) < least, "run.precision = double");
    add_way(&ways, measure(r, md_backend_find("cpu"), precision, r->plan.extent) < least, "run.backend = cpu");
    add_way(&ways, measure(r, r->ops, precision, about_origin) < least, "coordinates about the origin");
    return md_text_take(&ways);
}

static char *describe(const MdRecord *r) {
    const double rounding = r->ops->rounding(r->config, &r->plan.box, r->plan.extent, r->plan.spread);
    char *precision = md_deck_value_text(r->deck, MD_OPTION_run_precision),
         *ways = find_ways(r, coarseness, worth_a_word);
    char *text = md_format("run.precision = %s keeps positions only to within %.2g %s here, as coordinates come to "
                           "%.6g: the energy of two atoms that touch is off by up to %.2g of its depth%s",
                           precision, rounding, md_config_unit(r->config, MD_LENGTH), r->plan.extent,
                           0.05 * now(r, coarseness), ways);
    free(precision);
    free(ways);
    return text;
}

MdStatus md_places_check(const MdRecord *r) {
    if (r->no_gpu || !(now(r, coarseness) > 1)) return MD_OK;
    char *text = describe(r);
    md_fail(r->errors, MD_ERROR_INPUT, "%s: %s", md_deck_origin(r->deck, MD_OPTION_run_precision), text);
    free(text);
    return MD_ERROR_INPUT;
}

char *md_places_warning(const MdRecord *r) {
    return r->no_gpu || !(now(r, coarseness) > worth_a_word) ? NULL : describe(r);
}

char *md_places_warning_of_motion(const MdRecord *r) {
    if (r->no_gpu || !(now(r, step_rounding) > 1)) return NULL;
    char *precision = md_deck_value_text(r->deck, MD_OPTION_run_precision), *ways = find_ways(r, step_rounding, 1);
    const double step = r->plan.slowest * r->config->run_timestep;
    char *text =
        md_format("run.precision = %s rounds a position by up to %.2g %s in each step, as coordinates come to "
                  "%.6g, and atoms move by %.2g along an axis: slow ones move by wrong amounts, or not at all%s",
                  precision, md_tolerance_step_share * step * now(r, step_rounding),
                  md_config_unit(r->config, MD_LENGTH), r->plan.extent, step, ways);
    free(precision);
    free(ways);
    return text;
}
