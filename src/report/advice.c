#include "report/advice.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/units.h"
#include "report/tolerance.h"

static bool is_metal(const MdRecord *r) { return r->config->system_units != MD_UNITS_LJ; }

void md_advice_log_types(const MdRecord *r, const char *prefix) {
    const int *alike = r->plan.alike;
    if (alike[0] == alike[1]) return;
    md_log(r->log,
           "%snote      types %d and %d (%s, %s) have the same mass and the same forces: only their names differ\n",
           prefix, alike[0] + 1, alike[1] + 1, r->plan.type_name[alike[0]], r->plan.type_name[alike[1]]);
}

char *md_advice_cutoffs(const MdRecord *r) {
    enum { MOST = 4 };
    const MdPotential *potential = &r->plan.potential;
    MdText text = {0};
    int n = 0, first = 0;
    if (r->config->potential_form != MD_POTENTIAL_LJ) return NULL;
    for (int k = 0; k < potential->n_types * potential->n_types; k++) {
        const int i = k / potential->n_types, j = k % potential->n_types;
        const MdPair_d *pair = &potential->pair[k];
        if (i > j || pair->cutoff > 1.122462048309373 * md_potential_contact(potential, k) * (1 + 1e-9))
            continue; /* 2^(1/6) */
        if (n == 0) first = k;
        if (n++ < MOST)
            md_text_add(&text, "%s %d %d (sigma %.4g, cutoff %.4g%s)", n > 1 ? "," : "", i + 1, j + 1,
                        md_potential_contact(potential, k), pair->cutoff, md_config_unit_after(r->config, MD_LENGTH));
    }
    if (n == 0) return NULL;
    if (n > MOST) md_text_add(&text, " and %d more", n - MOST);
    const double sigma = md_potential_contact(potential, first);
    char *pairs = md_text_take(&text),
         *advice = md_format("cut at or inside the minimum, 2^(1/6) sigma, where they only repel: pair%s%s. For a "
                             "Lennard-Jones fluid give a "
                             "cutoff of some 2.5 sigma: potential.pairs = %d %d %.6g %.6g %.6g%s; for repulsion only "
                             "potential.form = wca",
                             n > 1 ? "s" : "", pairs, first / potential->n_types + 1, first % potential->n_types + 1,
                             md_potential_scale(potential, first), sigma, 2.5 * sigma, n > 1 ? " ; ..." : "");
    free(pairs);
    return advice;
}

char *md_advice_thermostat(const MdRecord *r) {
    const MdConfig *c = r->config;
    const bool ends_early = c->ensemble_last_step != MD_AUTO_INT && c->ensemble_last_step < c->run_steps;
    const int64_t end = ends_early ? c->ensemble_last_step : c->run_steps;
    if (md_bath_traits(c->ensemble_thermostat) & MD_BATH_BY_ATOM) return NULL;
    if (c->ensemble_thermostat == MD_THERMOSTAT_NONE || end == 0 || end >= c->ensemble_every) return NULL;
    return md_format("the thermostat never acts: ensemble.every is %lld (%s), %s %lld (%s): take "
                     "a smaller one, or ensemble.thermostat = none",
                     (long long)c->ensemble_every, md_deck_origin(r->deck, MD_OPTION_ensemble_every),
                     ends_early ? "ensemble.last_step" : "run.steps", (long long)end,
                     md_deck_origin(r->deck, ends_early ? MD_OPTION_ensemble_last_step : MD_OPTION_run_steps));
}

bool md_advice_tail(const MdRecord *r, const char **note) {
    const int shift = r->plan.potential.shift;
    *note = !isfinite(md_box_volume(&r->plan.box))                ? "none: an open box has no density"
            : r->plan.potential.form->traits & MD_FORM_OWN_CUTOFF ? "none: the form (wca) is zero beyond its own cutoff"
            : md_potential_embeds(&r->plan.potential)             ? "none: the energy of an atom is no sum over pairs"
            : shift == MD_SHIFT_FORCE  ? "none: potential.shift = force changes all pairs inside the cutoff, too"
            : shift == MD_SHIFT_SWITCH ? "none: potential.shift = switch changes pairs inside the cutoff, too"
                                       : NULL;
    if (*note) return false;
    *note = shift == MD_SHIFT_ENERGY
                ? "of a uniform fluid beyond the cutoff, added to no number; potential.shift = energy besides takes "
                  "U(cutoff) off each pair inside, which the energy here does not give back"
                : "of a uniform fluid beyond the cutoff, added to no number";
    return true;
}

static const char *about_units(const MdRecord *r) {
    return is_metal(r) ? "Lengths are in angstrom, also those of files of coordinates"
                       : "Lengths are in units of sigma: for coordinates in angstrom or nm give potential.sigma and "
                         "potential.cutoff in that unit, and a run.timestep of some 0.005 times that sigma";
}

/* The largest well depth; 1 in reduced units. */
static double energy_scale(const MdRecord *r) {
    const MdPotential *potential = &r->plan.potential;
    double most = 0;
    if (!is_metal(r)) return 1;
    for (int k = 0; k < potential->n_types * potential->n_types; k++)
        most = fmax(most, md_potential_scale(potential, k));
    return most;
}

/* A potential energy that is larger than the kinetic energy. */
static bool starts_too_close(const MdRecord *r, const MdThermo *first) {
    return first->potential > 2 * first->kinetic + energy_scale(r);
}

/* Up to this density random atoms can be placed with the default of system.min_distance, not too close to each other; particles per volume. */
static double most_random_density(const MdRecord *r) { return r->plan.box.dimension == 3 ? 0.85 : 0.75; }

/* How atoms start further apart. */
static char *way_apart(const MdRecord *r) {
    const bool has_room = r->plan.density <= most_random_density(r);
    if (r->config->system_start == MD_START_RANDOM && is_metal(r))
        return md_copy_text(
            "To start further apart take a larger system.min_distance, some 0.85 sigma, or a lattice, which melts");
    if (r->config->system_start == MD_START_FILE && is_metal(r)) return md_copy_text(about_units(r));
    if (r->config->system_start == MD_START_RANDOM && has_room)
        return md_copy_text("To start further apart take system.min_distance = 0.85");
    if (r->config->system_start == MD_START_RANDOM)
        return md_format("To start further apart take system.min_distance = 0.85 and a system.density up to %g, or a "
                         "lattice, which melts: system.start = %s with system.cells instead of system.atoms and "
                         "system.min_distance",
                         most_random_density(r), r->plan.box.dimension == 3 ? "fcc" : "hexagonal");
    if (r->config->system_start == MD_START_FILE && has_room)
        return md_format(
            "%s. If the positions need not be those of the file, let the program make positions further apart: "
            "system.start = random, system.atoms = %lld and system.density = %.4g instead of the file",
            about_units(r), (long long)r->plan.n_atoms, r->plan.density);
    if (r->config->system_start == MD_START_FILE) return md_copy_text(about_units(r));
    if (is_metal(r))
        return md_copy_text("To start further apart take a lower system.density, in atoms per cubic angstrom");
    return md_copy_text("To start further apart take a lower system.density: a liquid has some 0.8 at a sigma of 1");
}

void md_advice_log_start(const MdRecord *r, const MdThermo *first) {
    char *text = NULL;
    if (starts_too_close(r, first)) {
        char *way = way_apart(r);
        text = md_format("atoms start very close to each other: a potential energy of %.3g%s per atom will turn into "
                         "heat. %s%s",
                         first->potential, md_config_unit_after(r->config, MD_ENERGY), way,
                         r->minimization.seconds > 0 ? "" : ". run.minimize = fire moves them apart before the run");
        free(way);
    } else if (first->pairs == 0 && r->plan.n_atoms > 1) {
        text = md_format("no pair of atoms is within the cutoff (%g%s): all forces are zero. %s",
                         r->plan.potential.cutoff_max, md_config_unit_after(r->config, MD_LENGTH), about_units(r));
    }
    if (text) md_log_wrapped(r->log, "warning:", text);
    free(text);
}

/* The pair of types with the smallest sigma. */
static int smallest_pair(const MdPotential *potential, double *sigma) {
    int smallest = 0;
    *sigma = INFINITY;
    for (int k = 0; k < potential->n_types * potential->n_types; k++) {
        const double of_pair = md_potential_contact(potential, k);
        if (of_pair < *sigma) smallest = k;
        *sigma = fmin(*sigma, of_pair);
    }
    return smallest;
}

void md_advice_log_fault(const MdRecord *r) {
    const MdFault *fault = &r->verification.fault;
    const MdPotential *potential = &r->plan.potential;
    double sigma;
    const int pair = smallest_pair(potential, &sigma);
    const char *length = md_config_unit(r->config, MD_LENGTH);
    char *core = is_metal(r) || sigma >= 0.25 || !(potential->form->traits & MD_FORM_MIXES)
                     ? md_copy_text("")
                     : md_format("; steps must be much shorter than the sigma of a pair, and that of types "
                                 "%d and %d is %.3g",
                                 pair / potential->n_types + 1, pair % potential->n_types + 1, sigma);
    char *why =
        r->history.n > 0 && starts_too_close(r, &r->history.rows[0])
            ? md_copy_text("atoms started too close to each other (see the warning at step 0)")
        : is_metal(r)
            ? md_format("run.timestep = %g ps is too large: take a smaller one (0.005 ps is usual for argon)",
                        md_config_shown_timestep(r->config))
            : md_format("run.timestep = %g is too large: take a smaller one (0.005 is usual near a temperature of 1)",
                        r->config->run_timestep);
    char *text =
        md_format("at step %lld: atom %d would have moved %.3g %s in one step, the limit is %.3g. The "
                  "motion has become unstable: %s%s. Times are in %s and temperatures in "
                  "%s (inputs/README.md, Units). What was written up "
                  "to then is kept.",
                  (long long)fault->step, fault->id, fault->displacement, length,
                  md_fault_distance(r->config, potential), why, core, is_metal(r) ? "ps" : "sigma sqrt(m/epsilon)",
                  is_metal(r) ? "K" : "epsilon/k, not in femtoseconds and kelvin");
    md_log_wrapped(r->log, "stopped", text);
    free(why);
    free(core);
    free(text);
}

double md_advice_time_step(const MdRecord *r, char **note) {
    const double dt = r->config->run_timestep, shown = md_config_shown_timestep(r->config),
                 most = md_tolerance_temperature_share;
    *note = NULL;
    if (r->step == 0 || !r->verification.complete) return NAN;
    const double share = md_tolerance_temperature_error(r->verification.curvature_at_end, r->plan.box.dimension, dt);
    if (share > most)
        *note =
            md_format("run.timestep = %g%s (%s) is long for how fast the atoms oscillate: the temperature of the "
                      "velocities is %.1f %% too low for their positions. Potential energy and pressure are those of "
                      "a higher temperature, although the energy is conserved. Below %.2g%s it is less than %g %%",
                      shown, md_config_unit_after(r->config, MD_TIME), md_deck_origin(r->deck, MD_OPTION_run_timestep),
                      100 * share, 0.95 * shown * sqrt(most / share), md_config_unit_after(r->config, MD_TIME),
                      100 * most); /* less than 5 % by the rounding to two digits */
    return share;
}

void md_advice_log_energy(const MdRecord *r) {
    bool failed = false;
    for (int k = 0; k < r->verification.n_checks; k++) {
        const MdCheck *check = &r->verification.checks[k];
        failed = failed || (strncmp(check->name, "conserved energy", 16) == 0 && !md_check_passed(check));
    }
    if (!failed) return;
    char *text =
        md_format("the conserved energy has changed by more than its limit: take run.timestep below %g%s%s",
                  md_config_shown_timestep(r->config), md_config_unit_after(r->config, MD_TIME),
                  r->plan.potential.shift == MD_SHIFT_NONE
                      ? ", or potential.shift = energy, force or switch: pairs that cross the cutoff jump in energy"
                      : "");
    md_log_wrapped(r->log, "failed", text);
    free(text);
}

void md_advice_log_verdict(const MdRecord *r, MdVerdict verdict, MdStatus status) {
    const char *why = "";
    if (verdict == MD_VERDICT_NOT_CHECKED)
        why = r->config->report_verify != MD_ON
                  ? " - forces were compared with nothing, and neither energy nor momentum was judged: report.verify = "
                    "off; run with report.verify = on"
              : status == MD_STOPPED ? " - forces at the last step, energy and momentum are judged at the end, and the "
                                       "run was stopped before it: resume it by the command above"
                                     : " - forces at the last step, energy and momentum are judged at the end, and the "
                                       "run did not get there: see the error";
    char *text = md_format("%s%s", md_verdict_text(verdict), why);
    md_log(r->log, "\n");
    md_log_wrapped(r->log, "verdict:", text);
    free(text);
}
