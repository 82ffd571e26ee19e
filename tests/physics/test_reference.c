/* The judge judged: the reference against all pairs, against numbers from outside, and against itself by
 * derivatives of the energy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "cpu/reference.h"
#include "state.h"
#include "tolerance.h"

typedef struct Result {
    double *force;
    MdSums sums;
} Result;

/* How the reference computes. */
static const MdConfig exact = {.run_precision = MD_PRECISION_DOUBLE,
                               .force_arithmetic = MD_ARITHMETIC_IEEE,
                               .neighbor_list = MD_LIST_FULL,
                               .reduce_accumulate = MD_ACCUMULATE_DOUBLE};

static Result evaluate(const MdSystem *system, const double *position, bool brute) {
    Result r = {.force = md_alloc((size_t)system->n_atoms * 3, sizeof(double), "forces")};
    (brute ? md_reference_forces_brute : md_reference_forces)(system, position, r.force, &r.sums);
    return r;
}

static double *copy_positions(const MdSystem *system) {
    double *copy = md_alloc((size_t)system->n_atoms * 3, sizeof *copy, "positions");
    memcpy(copy, system->position, (size_t)system->n_atoms * 3 * sizeof *copy);
    return copy;
}

/* Into [0, length) along periodic axes, as the reference asks. */
static void wrap(const MdBox *box, double *position, int64_t n_atoms) {
    for (int64_t k = 0; k < 3 * n_atoms; k++) {
        double length = box->length[k % 3];
        if (!box->periodic[k % 3]) continue;
        position[k] -= length * floor(position[k] / length);
        if (position[k] >= length) position[k] = 0; /* a tiny negative number rounds up to length */
    }
}

/* --- states ------------------------------------------------------------------------------------------------------- */

static const StateShape shapes[] = {
    /* dimension, at least n, density, shake, cutoff, skin, periodic, uneven, types, shift, seed */
    {3, 500, 0.8442, 0.10, 2.5, 0.3, {true, true, true}, false, 1, MD_SHIFT_NONE, 1},
    {3, 500, 0.80, 0.12, 2.5, 0.3, {true, true, true}, true, 1, MD_SHIFT_ENERGY, 2},
    {3, 700, 0.80, 0.12, 2.5, 0.3, {true, false, true}, true, 2, MD_SHIFT_FORCE, 3},
    {3, 300, 0.70, 0.12, 2.0, 0.3, {false, false, false}, true, 3, MD_SHIFT_ENERGY, 4},
    {2, 300, 0.80, 0.12, 2.5, 0.3, {true, true, false}, true, 1, MD_SHIFT_FORCE, 5},
    {2, 300, 0.75, 0.12, 2.5, 0.3, {false, true, false}, false, 2, MD_SHIFT_NONE, 6},
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

/* A state that could hide a fault is no state for a test. */
static void check_not_trivial(const MdSystem *system, const Result *result, const Tolerance *t) {
    double largest = 0;
    int visited = 0;
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) largest = fmax(largest, fabs(result->force[k]));
    for (int64_t i = 0; i < system->n_atoms; i++) { /* octants of the box that hold an atom */
        int octant = 0;
        for (int a = 0; a < system->box.dimension; a++)
            octant |= (system->position[3 * i + a] > system->box.length[a] / 2) << a;
        visited |= 1 << octant;
    }
    CHECK(largest > 10);
    CHECK(fabs(result->sums.potential) > 1e6 * t->potential);
    CHECK(fabs(result->sums.virial) > 1e6 * t->virial);
    CHECK(visited == (system->box.dimension == 3 ? 255 : 15));
}

static void check_same(const MdSystem *system, const Result *value, const Result *expected, const Tolerance *t) {
    for (int64_t k = 0; k < 3 * system->n_atoms; k++)
        if (!CHECK_NEAR(value->force[k], expected->force[k], t->force[k / 3])) break;
    CHECK_NEAR(value->sums.pairs, expected->sums.pairs, t->pairs);
    CHECK_NEAR(value->sums.potential, expected->sums.potential, t->potential);
    CHECK_NEAR(value->sums.virial, expected->sums.virial, t->virial);
    CHECK_NEAR(value->sums.truncation, expected->sums.truncation, t->truncation);
}

/* Brute force; total force; images and translations. */
static void test_shape(int k) {
    MdSystem *system = state_shaken(&shapes[k]);
    check_context("shape %d, %lld atoms", k, (long long)system->n_atoms);
    Result cells = evaluate(system, system->position, false), brute = evaluate(system, system->position, true);
    Tolerance t = tolerance_make(system, system->position, system->velocity, &exact);
    check_not_trivial(system, &brute, &t);
    check_same(system, &cells, &brute, &t);

    double total[3] = {0, 0, 0}, allowed = 0;
    for (int64_t i = 0; i < system->n_atoms; i++) {
        allowed += t.force[i];
        for (int a = 0; a < 3; a++) total[a] += cells.force[3 * i + a];
    }
    for (int a = 0; a < 3; a++) CHECK_NEAR(total[a], 0, allowed);
    if (system->box.dimension == 2)
        for (int64_t i = 0; i < system->n_atoms; i++)
            if (!CHECK(cells.force[3 * i + 2] == 0)) break;

    /* All atoms moved by the same vector and wrapped: nothing may change but by rounding, of the moved places too. */
    double *moved = copy_positions(system);
    for (int64_t i = 0; i < 3 * system->n_atoms; i++)
        if (i % 3 < system->box.dimension) moved[i] += 0.37 * system->box.length[i % 3];
    wrap(&system->box, moved, system->n_atoms);
    Tolerance t_moved = tolerance_make(system, moved, system->velocity, &exact);
    t_moved.pairs += t.pairs;
    t_moved.potential += t.potential;
    t_moved.virial += t.virial;
    t_moved.truncation += t.truncation;
    for (int64_t i = 0; i < system->n_atoms; i++) t_moved.force[i] += t.force[i];
    Result there = evaluate(system, moved, false);
    check_same(system, &there, &cells, &t_moved);

    tolerance_free(&t), tolerance_free(&t_moved);
    md_free(cells.force), md_free(brute.force), md_free(there.force), md_free(moved);
    md_system_destroy(system);
}

/* --- numbers from outside ----------------------------------------------------------------------------------------- */

/* The melt benchmark's crystal: see DESIGN, Numbers. The energy is a lattice sum and the same for each size. */
static void test_anchors(void) {
    static const char *const sizes[] = {"system.cells=4", "system.cells=7", "system.cells=5 6 11", "system.cells=20"};
    for (int k = 0; k < 4; k++) {
        const char *words[] = {"system.start=fcc",     "system.density=0.8442", "system.temperature=1.44", sizes[k],
                               "potential.cutoff=2.5", "potential.shift=none",  "neighbor.skin=0.3",       NULL};
        MdDeck *deck = state_deck(words);
        MdSystem *system = state_system(deck);
        check_context("fcc, %s", sizes[k]);
        Result r = evaluate(system, system->position, false);
        for (int64_t i = 0; i < system->n_atoms; i++)
            for (int a = 0; a < 3; a++) {
                double v = system->velocity[3 * i + a];
                r.sums.kinetic += system->mass[system->type[i]] * v * v / 2;
            }
        MdThermo thermo =
            md_thermo_from_sums(&r.sums, &system->box, system->n_atoms,
                                md_degrees_of_freedom(system->n_atoms, system->box.dimension, true), 0, 0.005, 0);
        CHECK_NEAR(thermo.potential, -6.7733681, 1e-7); /* the digits that the literature gives */
        CHECK_NEAR(thermo.temperature, 1.44, 1.44 * (double)system->n_atoms * DBL_EPSILON);
        if (k == 3) {
            CHECK(system->n_atoms == 32000);
            CHECK_NEAR(thermo.pressure, -5.0197073, 1e-6);
        }
        md_free(r.force);
        md_system_destroy(system);
        md_deck_destroy(deck);
    }
}

/* Two atoms: the formula by hand at r = 1.2, and on either side of the cutoff. */
static void test_two_atoms(void) {
    for (int shift = MD_SHIFT_NONE; shift <= MD_SHIFT_FORCE; shift++) {
        StateShape shape = shapes[0];
        shape.shift = shift;
        MdSystem *system = state_shaken(&shape);
        system->n_atoms = system->n_own = 2;
        check_context("two atoms, shift %d", shift);
        const double places[] = {1.2, 2.499999, 2.500001}, length = system->box.length[0];
        for (int k = 0; k < 3; k++) {
            double position[6] = {length - 0.1, 1, 2, places[k] - 0.1, 1, 2}, r = places[k]; /* across the face */
            double lj = 4 * (pow(r, -12) - pow(r, -6)), slope = 24 * (2 * pow(r, -13) - pow(r, -7));
            double cut = 4 * (pow(2.5, -12) - pow(2.5, -6)), cut_slope = 24 * (2 * pow(2.5, -13) - pow(2.5, -7));
            double energy = lj - (shift != MD_SHIFT_NONE ? cut : 0);
            double force = slope - (shift == MD_SHIFT_FORCE ? cut_slope : 0);
            if (shift == MD_SHIFT_FORCE) energy += (r - 2.5) * cut_slope;
            Result result = evaluate(system, position, false);
            /* Distances carry the rounding of coordinates of the size of the box; the steepest slope here is 24. */
            double tolerance = 24 * 4 * length * DBL_EPSILON;
            bool inside = r < 2.5;
            CHECK(result.sums.pairs == inside);
            CHECK_NEAR(result.sums.potential, inside ? energy : 0, tolerance);
            CHECK_NEAR(result.sums.virial, inside ? force * r : 0, tolerance);
            CHECK_NEAR(result.sums.truncation, inside && shift == MD_SHIFT_NONE ? cut : 0, tolerance);
            CHECK_NEAR(result.force[0], inside ? -force : 0, tolerance);
            CHECK_NEAR(result.force[3], inside ? force : 0, tolerance);
            md_free(result.force);
        }
        md_system_destroy(system);
    }
}

/* --- derivatives -------------------------------------------------------------------------------------------------- */

/* What central differences of fourth order with step h are off by at atom i: h^4/30 of the fifth derivative, and the
 * rounding of four energies. False when a pair is so near its cutoff that it may cross it. */
static bool difference_error(const MdSystem *system, const double *position, int64_t i, double h, double energy_error,
                             double *error) {
    double fifth = 0;
    for (int64_t j = 0; j < system->n_atoms; j++) {
        if (j == i) continue;
        const MdPair_d *pair = &system->potential.pair[system->type[i] * system->potential.n_types + system->type[j]];
        double r_sq = 0;
        for (int a = 0; a < 3; a++) {
            double d = md_nearest_image_d(position[3 * i + a] - position[3 * j + a], system->box.length[a],
                                          md_box_inverse(&system->box, a));
            r_sq += d * d;
        }
        double r = sqrt(r_sq);
        if (fabs(r - pair->cutoff) < 4 * h) return false;
        if (r > pair->cutoff) continue;
        r -= 2 * h; /* the derivative at the worst place in reach */
        /* Of r^-12: 12 13 14 15 16 r^-17; of r^-6: 6 7 8 9 10 r^-11; twice that, for directions across r. */
        fifth += 2 * (524160 * pair->p[2] * pow(r, -17) + 30240 * pair->p[3] * pow(r, -11));
    }
    *error = h * h * h * h / 30 * fifth + 1.5 * energy_error / h;
    return true;
}

static void check_gradient(const MdSystem *system) {
    const double h = 1e-4;
    double *position = copy_positions(system);
    Result at = evaluate(system, position, false);
    Tolerance t = tolerance_make(system, position, system->velocity, &exact);
    double largest = 0;
    int64_t n_tested = 0;
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) {
        double error, energy[4], from = position[k];
        if (k % 3 >= system->box.dimension) continue;
        if (!difference_error(system, position, k / 3, h, t.potential, &error)) continue;
        for (int s = 0; s < 4; s++) { /* outside [0, length) by h at most: the nearest image does not mind */
            position[k] = from + h * (double[]){-2, -1, 1, 2}[s];
            Result r = evaluate(system, position, true);
            energy[s] = r.sums.potential;
            md_free(r.force);
        }
        position[k] = from;
        double slope = (energy[0] - 8 * energy[1] + 8 * energy[2] - energy[3]) / (12 * h);
        n_tested++;
        largest = fmax(largest, fabs(slope));
        if (!CHECK_NEAR(at.force[k], -slope, error + t.force[k / 3])) break;
    }
    CHECK(n_tested > system->n_atoms); /* more than one component of each atom, on average */
    CHECK(largest > 10);
    tolerance_free(&t);
    md_free(at.force), md_free(position);
}

static void test_gradients(void) {
    for (int dimension = 2; dimension <= 3; dimension++)
        for (int shift = MD_SHIFT_NONE; shift <= MD_SHIFT_FORCE; shift++)
            for (int n_types = 1; n_types <= 2; n_types++) {
                StateShape shape = {dimension, 100,     0.6,   0.12, 1.8, 0.1, {true, dimension == 3, false},
                                    true,      n_types, shift, 11};
                MdSystem *system = state_shaken(&shape);
                check_context("gradient, %d-D, shift %d, %d types", dimension, shift, n_types);
                check_gradient(system);
                md_system_destroy(system);
            }
    /* From a deck: WCA, and a binary mixture with mixed and with given parameters. */
    static const char *const decks[][12] = {
        {"system.start=random", "system.atoms=120", "system.density=0.5", "potential.form=wca", NULL},
        {"system.start=random", "system.atoms=120", "system.density=0.3", "system.types=2", "system.fractions=0.6 0.4",
         "system.masses=1 2", "potential.sigma=1 0.8", "potential.epsilon=1 0.5", "potential.cutoff=2.2",
         "potential.pairs=1 2 1.5 0.85 2.0", NULL},
    };
    for (int k = 0; k < 2; k++) {
        MdDeck *deck = state_deck(decks[k]);
        MdSystem *system = state_system(deck);
        check_context("gradient, deck %d", k);
        check_gradient(system);
        md_system_destroy(system);
        md_deck_destroy(deck);
    }
}

/* -dU/ds at s = 1, where s scales box and places, is the virial: known without a force. Shift force, so that
 * pairs that cross the cutoff do no harm to first order. */
static void test_virial(void) {
    for (int k = 0; k < N_SHAPES; k++) {
        StateShape shape = shapes[k];
        shape.shift = MD_SHIFT_FORCE;
        MdSystem *system = state_shaken(&shape);
        check_context("virial of shape %d", k);
        Result at = evaluate(system, system->position, false);
        Tolerance t = tolerance_make(system, system->position, system->velocity, &exact);
        const double h = 1e-5;
        double energy[4], fifth = 0, crossing = 0, *position = copy_positions(system);
        MdBox box = system->box;
        for (int s = 0; s < 4; s++) {
            double scale = 1 + h * (double[]){-2, -1, 1, 2}[s];
            for (int a = 0; a < 3; a++) system->box.length[a] = box.length[a] * scale;
            for (int64_t i = 0; i < 3 * system->n_atoms; i++) position[i] = system->position[i] * scale;
            Result r = evaluate(system, position, true);
            energy[s] = r.sums.potential;
            md_free(r.force);
        }
        system->box = box;
        /* Fifth derivative by s: as in difference_error, with r^-12 instead of r^-17; and a pair within 2 h r of
         * its cutoff meets a bend, U''/2 (2 h r)^2 at most, of which 1.5/h goes into the slope. */
        for (int64_t i = 0; i < system->n_atoms; i++)
            for (int64_t j = 0; j < i; j++) {
                const MdPair_d *pair =
                    &system->potential.pair[system->type[i] * system->potential.n_types + system->type[j]];
                double r_sq = 0;
                for (int a = 0; a < 3; a++) {
                    double d = md_nearest_image_d(system->position[3 * i + a] - system->position[3 * j + a],
                                                  box.length[a], md_box_inverse(&box, a));
                    r_sq += d * d;
                }
                double r = sqrt(r_sq), inverse_6 = 1 / (r_sq * r_sq * r_sq);
                double bend = fabs(156 * pair->p[2] * inverse_6 - 42 * pair->p[3]) * inverse_6 / r_sq;
                if (fabs(r - pair->cutoff) < 2 * h * r) crossing += 3 * h * r * r * bend;
                if (r < pair->cutoff)
                    fifth += 2 * (524160 * pair->p[2] * inverse_6 + 30240 * pair->p[3]) * inverse_6;
            }
        double slope = (energy[0] - 8 * energy[1] + 8 * energy[2] - energy[3]) / (12 * h);
        double error = h * h * h * h / 30 * fifth + 1.5 * t.potential / h + crossing + t.virial;
        CHECK(fabs(slope) > 1000 * error); /* else the comparison says nothing */
        CHECK_NEAR(at.sums.virial, -slope, error);
        tolerance_free(&t);
        md_free(at.force), md_free(position);
        md_system_destroy(system);
    }
}

int main(void) {
    for (int k = 0; k < N_SHAPES; k++) test_shape(k);
    test_anchors();
    test_two_atoms();
    test_gradients();
    test_virial();
    return check_finish();
}
