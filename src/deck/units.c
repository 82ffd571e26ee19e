/* Units of the deck. All keys are converted here, by the unit that options.def has for them, once all layers are read; what the deck
 * says stays in `given`, for all that shows it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/reader.h"
#include "deck/units.h"

static bool is_number(const MdOptionRow *row) {
    return row->type == MD_TYPE_REAL || row->type == MD_TYPE_REAL_AUTO || row->type == MD_TYPE_REALS;
}

/* Whether the default is a number that suits reduced units only, and these are others. */
static bool has_no_default(const MdDeck *deck, int option) {
    const MdOptionRow *row = md_option_row(option);
    return deck->config.system_units != MD_UNITS_LJ && row->kind == MD_KIND_PHYSICS && is_number(row) &&
           md_unit_find(row->unit) != MD_NO_UNIT && strcmp(row->default_text, "auto") != 0;
}

/* The largest number of a list that the deck gives; NaN: it gives none. */
static double largest_given(const MdDeck *deck, int option) {
    const MdRealList *list =
        (const MdRealList *)(const void *)((const char *)&deck->config + md_option_row(option)->offset);
    double most = NAN;
    for (int k = 0; k < list->n && deck->layer[option] > 0; k++) most = fmax(most, list->values[k]);
    return most;
}

/* A value that works: ` = 8.5 (2.5 sigma)` of this deck where it says sigma, else that of argon. */
static char *suggest(const MdDeck *deck, int option) {
    const double sigma = largest_given(deck, MD_OPTION_potential_sigma),
                 mass = largest_given(deck, MD_OPTION_system_masses),
                 kelvin = largest_given(deck, MD_OPTION_potential_epsilon_kelvin),
                 epsilon = isnan(kelvin) ? largest_given(deck, MD_OPTION_potential_epsilon)
                                         : kelvin / md_unit_factor(MD_STYLE_METAL, MD_KELVIN),
                 tau = md_unit_factor(MD_STYLE_METAL, MD_TIME) * sigma * sqrt(mass / epsilon);
    const bool knows_sigma = !isnan(sigma), knows_tau = !isnan(tau);
    switch (option) {
    case MD_OPTION_potential_epsilon:
        return md_copy_text("0.01032 for argon; or potential.epsilon_kelvin, 119.8 for argon");
    case MD_OPTION_potential_sigma: return md_copy_text("3.405 for argon");
    case MD_OPTION_potential_cutoff:
        return md_format("%.4g (2.5 sigma)%s", 2.5 * (knows_sigma ? sigma : 3.405), knows_sigma ? "" : " for argon");
    case MD_OPTION_system_min_distance:
        return md_format("%.4g (0.85 sigma)%s", 0.85 * (knows_sigma ? sigma : 3.405), knows_sigma ? "" : " for argon");
    case MD_OPTION_run_timestep:
        return md_format("%.2g (0.005 tau)%s", 0.005 * (knows_tau ? tau : 2.156), knows_tau ? "" : " for argon");
    case MD_OPTION_run_minimize_force: return md_copy_text("0.03 (10 epsilon/sigma) for argon");
    default: return md_copy_text("94.4 for liquid argon");
    }
}

static void refuse_default(const MdDeck *deck, int option, MdErrors *errors) {
    char *value = suggest(deck, option);
    md_fail(errors, MD_ERROR_INPUT, "%s: system.units: metal has no default of %s: give it, in %s; for example %s",
            md_deck_origin(deck, MD_OPTION_system_units), md_option_name(option),
            md_config_unit(&deck->config, md_unit_find(md_option_row(option)->unit)), value);
    free(value);
}

static void convert(MdConfig *config, const MdOptionRow *row) {
    const double factor = md_config_factor(config, md_unit_find(row->unit));
    void *field = (char *)config + row->offset;
    if (factor == 1) return;
    if (row->type != MD_TYPE_REALS) {
        *(double *)field /= factor; /* an auto stays NaN */
        return;
    }
    MdRealList *list = field;
    for (int k = 0; k < list->n; k++) list->values[k] /= factor;
}

void md_deck_settle_units(MdDeck *deck, MdErrors *errors) {
    MdConfig *config = &deck->config;
    const bool is_metal = config->system_units != MD_UNITS_LJ && !deck->doubtful[MD_OPTION_system_units];
    for (int k = 0; k < MD_N_OPTIONS && is_metal; k++)
        if (has_no_default(deck, k) && deck->layer[k] == 0 && !deck->doubtful[k] && md_option_has_effect(config, k))
            refuse_default(deck, k, errors);
    if (is_metal && deck->layer[MD_OPTION_neighbor_skin] == 0) config->neighbor_skin = NAN; /* auto */
    deck->given = *config;
    deck->is_settled = true;
    for (int k = 0; k < MD_N_OPTIONS && is_metal; k++)
        if (is_number(md_option_row(k)) && md_unit_find(md_option_row(k)->unit) != MD_NO_UNIT)
            convert(config, md_option_row(k));
    if (config->potential_epsilon_kelvin.n > 0) config->potential_epsilon = config->potential_epsilon_kelvin;
}

double md_config_shown_timestep(const MdConfig *config) {
    const double factor = md_config_factor(config, MD_TIME);
    if (factor == 1) return config->run_timestep;
    char text[32]; /* 15 digits bring back the number of the deck */
    snprintf(text, sizeof text, "%.15g", factor * config->run_timestep);
    return strtod(text, NULL);
}

bool md_config_shows_tensor(const MdConfig *config, int component) {
    return config->analysis_pressure == MD_PRESSURE_TENSOR && md_tensor_has((int)config->system_dimension, component);
}

MdThermo md_thermo_shown(const MdConfig *config, const MdThermo *thermo) {
    MdThermo shown = *thermo;
    const MdQuantity pressure = md_unit_pressure((int)config->system_dimension);
    if (config->system_units == MD_UNITS_LJ) return shown;
    shown.time = (double)thermo->step * md_config_shown_timestep(config);
    shown.temperature *= md_config_factor(config, MD_TEMPERATURE);
    shown.pressure *= md_config_factor(config, pressure);
    for (int k = 0; k < MD_N_TENSOR; k++) shown.pressure_tensor[k] *= md_config_factor(config, pressure);
    shown.momentum *= md_config_factor(config, MD_MOMENTUM);
    return shown;
}
