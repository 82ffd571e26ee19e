/* Pair potentials: parameters and mixing from the deck, and the formulas: force against the gradient of the energy,
 * continuity at the cutoff, single precision against double. */
#include <math.h>

#include "check.h"
#include "physics/formulas.h"
#include "refused.h"

/* Lennard-Jones as in a textbook. */
static double plain_energy(double epsilon, double sigma, double r) {
    double s6 = pow(sigma / r, 6);
    return 4 * epsilon * (s6 * s6 - s6);
}

static void check_formulas(const MdForm *form, const MdPair_d *pair, int shift) {
    double cutoff = pair->cutoff;
    const double below = cutoff * (1 - 1e-12);
    MdPair_f single = md_pair_to_single(*pair);
    for (int k = 0; k < 200; k++) {
        double r = cutoff * (0.33 + 0.0033 * k), h = 1e-4 * r;
        /* Fourth order: the error of the difference is 1e-16 of the largest numbers that cancel, over h. */
        double u[4], offset[4] = {-2, -1, 1, 2};
        for (int j = 0; j < 4; j++) {
            double x = r + offset[j] * h;
            u[j] = md_pair_energy(form, pair, x * x);
        }
        double gradient = (u[0] - 8 * u[1] + 8 * u[2] - u[3]) / (12 * h), force = r * md_pair_force(form, pair, r * r);
        CHECK_NEAR(force, -gradient, 1e-9 * fabs(force) + 1e-8 * fabs(u[0] / r) + 1e-10);
        float r_sq = (float)(r * r);
        double exact_r = sqrt((double)r_sq); /* the same place for both */
        CHECK_NEAR((double)md_pair_force_in_single(form, &single, r_sq), md_pair_force(form, pair, (double)r_sq),
                   1e-5 * md_pair_shape_shifted(form, pair, exact_r).size_du / exact_r);
    }
    double jump = md_pair_energy(form, pair, below * below);
    if (shift == MD_SHIFT_NONE) {
        CHECK(fabs(jump) > 1e-4);
        CHECK_NEAR(pair->truncation, jump, 1e-9 * fabs(jump));
    } else {
        CHECK_NEAR(jump, 0, 1e-10);
        CHECK_NEAR(pair->truncation, 0, 1e-15);
    }
    double force_at_cutoff = below * md_pair_force(form, pair, below * below);
    if (MD_SHIFTS_FORCE(shift)) CHECK_NEAR(force_at_cutoff, 0, 1e-9);
}

/* Bounds go by these: the derivatives of what is shifted. Off the switch's ends, where U'' jumps. */
static void check_derivatives(const MdForm *form, const MdPair_d *pair) {
    for (int k = 0; k < 100; k++) {
        const double r = pair->cutoff * (0.4 + 0.00597 * k), h = 1e-4 * r;
        if (fabs(r * r - pair->switch_sq) < 4 * h * r) continue;
        const MdShape s = md_pair_shape_shifted(form, pair, r), far = md_pair_shape_shifted(form, pair, r + h),
                      near = md_pair_shape_shifted(form, pair, r - h);
        CHECK_NEAR(s.u, md_pair_energy(form, pair, r * r), 1e-13 * s.size_u);
        CHECK_NEAR(s.du, -r * md_pair_force(form, pair, r * r), 1e-13 * s.size_du);
        CHECK_NEAR((far.u - near.u) / (2 * h), s.du, 1e-5 * s.size_du);
        CHECK_NEAR((far.du - near.du) / (2 * h), s.ddu, 1e-5 * s.size_ddu);
    }
}

static void test_shifts(void) {
    const char *words[] = {"none", "energy", "force", "switch"};
    for (int shift = 0; shift < 4; shift++) {
        char word[32];
        snprintf(word, sizeof word, "potential.shift=%s", words[shift]);
        MdDeck *deck = state_deck(WORDS("system.types=2", "potential.epsilon=1 0.7", "potential.sigma=1 1.3", word));
        MdErrors *errors = md_errors_create();
        MdPotential potential;
        CHECK(md_potential_from_config(deck, (int)md_deck_config(deck)->system_types, NULL, &potential, errors) == MD_OK);
        CHECK(potential.shift == shift && potential.cutoff_max == 2.5);
        for (int k = 0; k < 4; k++) {
            check_context("shift %s, pair %d", words[shift], k);
            check_formulas(potential.form, &potential.pair[k], shift);
            check_derivatives(potential.form, &potential.pair[k]);
        }
        /* None of this shows a wrong scale: a value from the textbook formula does. */
        double expected = plain_energy(1, 1, 1.5);
        if (shift == MD_SHIFT_ENERGY || shift == MD_SHIFT_FORCE) expected -= plain_energy(1, 1, 2.5);
        if (shift == MD_SHIFT_FORCE)
            expected -= (1.5 - 2.5) * (plain_energy(1, 1, 2.5 + 1e-5) - plain_energy(1, 1, 2.5 - 1e-5)) / 2e-5;
        CHECK_NEAR(md_pair_energy(potential.form, &potential.pair[0], 2.25), expected, 1e-10);
        const double t = (2.25 * 2.25 - 4) / (6.25 - 4); /* the switch begins at 0.8 of the cutoff */
        expected = plain_energy(1, 1, 2.25) * (1 - t) * (1 - t) * (1 + 2 * t);
        if (shift == MD_SHIFT_SWITCH)
            CHECK_NEAR(md_pair_energy(potential.form, &potential.pair[0], 2.25 * 2.25), expected, 1e-14);
        md_errors_destroy(errors);
        md_deck_destroy(deck);
    }
}

/* The same of the forms that have no epsilon and sigma. */
static void test_forms(void) {
    const char *forms[][2] = {{"potential.form=morse", "potential.parameters=1 5 1.12"},
                              {"potential.form=yukawa", "potential.parameters=10 2"},
                              {"potential.form=power", "potential.parameters=1.5 0.9 9.5"}};
    const char *shifts[] = {"potential.shift=none", "potential.shift=energy", "potential.shift=force",
                            "potential.shift=switch"};
    for (int k = 0; k < 12; k++) {
        MdDeck *deck = state_deck(WORDS(forms[k / 4][0], forms[k / 4][1], shifts[k % 4], "potential.cutoff=2"));
        MdErrors *errors = md_errors_create();
        MdPotential potential;
        check_context("%s, %s", forms[k / 4][0], shifts[k % 4]);
        CHECK(md_potential_from_config(deck, 1, NULL, &potential, errors) == MD_OK);
        check_formulas(potential.form, &potential.pair[0], k % 4);
        check_derivatives(potential.form, &potential.pair[0]);
        md_errors_destroy(errors);
        md_deck_destroy(deck);
    }
}

/* epsilon, sigma and cutoff of a pair, from its coefficients. */
static void check_pair(const MdPotential *potential, int a, int b, double epsilon, double sigma, double cutoff) {
    for (int turn = 0; turn < 2; turn++) {
        const int k = turn ? a * potential->n_types + b : b * potential->n_types + a;
        const MdPair_d *pair = &potential->pair[k];
        CHECK_NEAR(pair->p[3] * pair->p[3] / (4 * pair->p[2]), epsilon, 1e-13 * epsilon);
        CHECK_NEAR(pow(pair->p[2] / pair->p[3], 1.0 / 6), sigma, 1e-13 * sigma);
        CHECK_NEAR(md_potential_scale(potential, k), epsilon, 1e-13 * epsilon);
        CHECK_NEAR(md_potential_contact(potential, k), sigma, 1e-13 * sigma);
        CHECK_NEAR(pair->cutoff, cutoff, 1e-15 * cutoff);
        CHECK_NEAR(pair->cutoff_sq, cutoff * cutoff, 1e-15 * cutoff * cutoff);
    }
}

static MdPotential potential_of(const char *const *words) {
    MdDeck *deck = state_deck(words);
    MdErrors *errors = md_errors_create();
    MdPotential potential = {0};
    CHECK(md_potential_from_config(deck, (int)md_deck_config(deck)->system_types, NULL, &potential, errors) == MD_OK);
    md_errors_print(errors, stdout);
    md_errors_destroy(errors);
    md_deck_destroy(deck);
    return potential;
}

static void test_parameters(void) {
    check_context("Lorentz and Berthelot");
    MdPotential p = potential_of(
        WORDS("system.types=3", "potential.epsilon=1 4 0.25", "potential.sigma=1 2 0.5", "potential.cutoff=6"));
    check_pair(&p, 0, 0, 1, 1, 6);
    check_pair(&p, 0, 1, 2, 1.5, 6);
    check_pair(&p, 1, 2, 1, 1.25, 6);
    check_pair(&p, 0, 2, 0.5, 0.75, 6);
    check_context("geometric");
    p = potential_of(
        WORDS("system.types=2", "potential.epsilon=1 4", "potential.sigma=1 4", "potential.mixing=geometric"));
    check_pair(&p, 0, 1, 2, 2, 2.5);
    check_pair(&p, 1, 1, 4, 4, 2.5);

    /* Kob, Andersen, Phys. Rev. E 51, 4626 (1995): 80:20 mixture, cutoff 2.5 sigma of each pair. */
    check_context("Kob-Andersen");
    p = potential_of(WORDS("system.types=2", "potential.pairs=1 2 1.5 0.8 2.0; 2 2 0.5 0.88 2.2 ;"));
    check_pair(&p, 0, 0, 1, 1, 2.5);
    check_pair(&p, 0, 1, 1.5, 0.8, 2.0);
    check_pair(&p, 1, 1, 0.5, 0.88, 2.2);
    CHECK(p.cutoff_max == 2.5);

    /* In float the shifted force at this cutoff is exactly 0. */
    check_context("a cutoff of 2, shift force");
    p = potential_of(WORDS("run.precision=mixed", "potential.cutoff=2", "potential.shift=force"));
    check_pair(&p, 0, 0, 1, 1, 2);

    check_context("wca");
    p = potential_of(WORDS("system.types=2", "potential.form=wca", "potential.sigma=1 2", "potential.pairs=1 2 3 1.4"));
    double minimum = pow(2, 1.0 / 6);
    check_pair(&p, 0, 0, 1, 1, minimum);
    check_pair(&p, 0, 1, 3, 1.4, 1.4 * minimum);
    check_pair(&p, 1, 1, 1, 2, 2 * minimum);
    CHECK(p.shift == MD_SHIFT_ENERGY);
    for (int k = 0; k < 4; k++) {
        check_formulas(p.form, &p.pair[k], MD_SHIFT_ENERGY);
        double below = p.pair[k].cutoff * (1 - 1e-9), epsilon = k == 1 || k == 2 ? 3 : 1;
        CHECK_NEAR(md_pair_force(p.form, &p.pair[k], below * below) * below, 0, 1e-6);
        CHECK_NEAR(p.pair[k].energy_shift, -epsilon, 1e-14 * epsilon); /* the well is cut away: raised by its depth */
    }
}

/* Far from usual numbers: none is refused, and contact and depth are found. */
static void test_edges(void) {
    check_context("a cutoff that leaves nothing out");
    MdPotential p = potential_of(WORDS("run.precision=double", "potential.cutoff=1e4"));
    check_pair(&p, 0, 0, 1, 1, 1e4);
    check_context("steep");
    potential_of(WORDS("run.precision=double", "potential.form=power", "potential.parameters=1 1 200"));
    potential_of(WORDS("run.precision=double", "potential.form=morse", "potential.parameters=1 50 1"));
    check_context("no energy above zero");
    p = potential_of(WORDS("run.precision=double", "potential.form=morse", "potential.parameters=1 0.5 1"));
    CHECK_NEAR(md_potential_scale(&p, 0), 1, 1e-12);
}

static void test_refusals(void) {
    check_context("refusals");
#define PAIRS(text, ...) REFUSED(WORDS("system.density=1", "system.types=2", "potential.pairs=" text), __VA_ARGS__)
    PAIRS("1 2 1", "`1 2 1`: 3 numbers");
    PAIRS("1 2 1 1 2 3", "`1 2 1 1 2 3`");
    PAIRS("1 x 1 1", "`1 x 1 1`");
    PAIRS("1 3 1 1", "type 3; types are the whole numbers from 1 to 2");
    PAIRS("0 1 1 1", "type 0");
    PAIRS("1 1.5 1 1", "type 1.5");
    PAIRS("1 2 1 1; 2 1 1 1", "the pair 2 1 is given twice");
    PAIRS("1 2 -1 1", "-1; epsilon, sigma and cutoff are numbers above 0");
    PAIRS("1 2 nan 1", "nan");
    PAIRS("1 2 1 1 inf", "inf");
    PAIRS("1 1 1 1;; 1 2 1 1", "an empty entry");
    PAIRS("1 2 1 1e-60", "beyond the range of double precision");
    PAIRS("1 2 1 1e-3", "beyond the range of single precision");
    PAIRS("1 2 1 500 1250", "beyond the range of single precision");
    PAIRS("1 2 1e-39 1", "beyond the range of single precision");
    REFUSED(WORDS("system.density=1", "potential.form=wca", "potential.pairs=1 1 1 1 2"), "wca has its own");
}

/* A form with one wrong derivative or formula: found where force, energy and shape are compared. */
static int planted;
static MdShape planted_shape(const double *p, double r) {
    MdShape s = md_form(MD_POTENTIAL_MORSE)->formulas->shape(p, r);
    if (planted == 1) s.du *= 1.001;
    if (planted == 2) s.ddu *= 1.001;
    if (planted == 3) s.u *= 1 + 1e-9;
    return s;
}
static double planted_force(const MdPair_d *pair, int shift, double r_sq) {
    const double force = md_form(MD_POTENTIAL_MORSE)->formulas->force(pair, shift, r_sq);
    const bool is_switched = shift == MD_SHIFT_SWITCH && r_sq > 1.0001 * pair->switch_sq;
    return force * (planted == 4 || (planted == 6 && is_switched) ? 1 + 1e-9 : 1);
}
static double planted_energy(const MdPair_d *pair, int shift, double r_sq) {
    const double energy = md_form(MD_POTENTIAL_MORSE)->formulas->energy(pair, shift, r_sq);
    if (planted == 7 && shift == MD_SHIFT_SWITCH &&
        r_sq > pair->switch_sq) { /* 1 + t in place of 1 + 2 t in the factor */
        const double t = (r_sq - pair->switch_sq) * pair->switch_rate;
        return energy * (1 + t) / (1 + 2 * t);
    }
    return energy + (planted == 5 ? 1e-6 : 0);
}

static void test_wrong_form(void) {
    const double words[] = {1, 5, 1.12};
    MdFormFormulas formulas = *md_form(MD_POTENTIAL_MORSE)->formulas;
    MdForm form = *md_form(MD_POTENTIAL_MORSE);
    formulas.shape = planted_shape;
    formulas.force = planted_force;
    formulas.energy = planted_energy;
    form.formulas = &formulas;
    for (planted = 0; planted < 8; planted++)
        for (int shift = MD_SHIFT_NONE; shift <= MD_SHIFT_SWITCH; shift++)
            for (int end = 0; end < (shift == MD_SHIFT_SWITCH ? 3 : 1); end++) {
                double r;
                const double from[] = {2, 2.475, 0.9}; /* within the limits, and around the minimum */
                const MdPair_d pair = md_pair_make(&form, words, 2.5, shift, from[end]);
                check_context("fault %d, shift %d, %d", planted, shift, end);
                CHECK(md_pair_is_consistent(&form, &pair, &r) ==
                      (planted == 0 || (planted >= 6 && shift != MD_SHIFT_SWITCH)));
            }
    planted = 0;
}

/* No form is refused for its truncation. */
static void test_right_forms(void) {
    const double words[][3] = {[MD_POTENTIAL_LJ] = {1, 1},
                               [MD_POTENTIAL_MORSE] = {1, 5, 1.12},
                               [MD_POTENTIAL_YUKAWA] = {10, 2},
                               [MD_POTENTIAL_POWER] = {1, 1, 12}};
    for (int k = 0; k < (int)(sizeof words / sizeof *words); k++)
        for (int shift = MD_SHIFT_NONE; shift <= MD_SHIFT_SWITCH && words[k][0] > 0; shift++)
            for (int c = 0; c < 40; c++) {
                double r = 0;
                const double cutoff = 1.3 + 0.15 * c, from = cutoff * (c % 4 == 0 ? 0.99 : 0.3 + 0.017 * c);
                const MdPair_d pair = md_pair_make(md_form(k), words[k], cutoff, shift, from);
                check_context("form %d, shift %d, cutoff %g, from %g: %g", k, shift, cutoff, from, r);
                CHECK(md_pair_is_consistent(md_form(k), &pair, &r));
            }
}

/* Of a power the integral is known; the smallest falls so slowly that a rule for smooth functions misses some of it. */
static void test_tail(void) {
    const double pi = acos(-1);
    for (int k = 0; k < 4; k++) {
        const double n[] = {3.25, 4, 9, 12}, words[] = {2, 1.1, n[k]}, cutoff = 2.5;
        const MdForm *form = md_form(MD_POTENTIAL_POWER);
        const MdPair_d pair = md_pair_make(form, words, cutoff, MD_SHIFT_NONE, 0);
        for (int dimension = 2; dimension <= 3; dimension++) {
            check_context("tail of power %g in %d dimensions", n[k], dimension);
            const double energy =
                (dimension == 3 ? 2 : 1) * pi * 2 * pow(1.1, n[k]) * pow(cutoff, dimension - n[k]) / (n[k] - dimension);
            const MdTail tail = md_pair_tail(form, &pair, dimension);
            CHECK_NEAR(tail.energy, energy, 1e-11 * energy);
            CHECK_NEAR(tail.pressure, energy * n[k] / dimension, 1e-11 * energy * n[k]);
        }
    }
}

int main(void) {
    test_forms();
    test_tail();
    test_wrong_form();
    test_right_forms();
    test_shifts();
    test_parameters();
    test_edges();
    test_refusals();
    return check_finish();
}
