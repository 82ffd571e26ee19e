/* All tolerances for comparing a backend with the reference, derived from the arithmetic and from the state itself.
 * None is tuned: when a comparison is red, the code or the derivation below is wrong.
 *
 * u is the unit roundoff of the pair arithmetic, 2^-24 for single and mixed, 2^-53 for double; the reference adds
 * 2^-53 of its own. To first order in u, for one pair at distance r, in D dimensions:
 *
 *  position  Each coordinate is rounded to the pair precision (u X, X the largest coordinate; the length L of the box
 *            too); the difference rounds by up to u L, and subtracting the image by u r. So each component of the
 *            distance is off by up to u (2 X + L + r), and its length by sqrt(D) times that. A quantity q(r) then
 *            changes by |dq/dr|, a force vector by its stiffest direction, max(|dF/dr|, |F/r|).
 *  formula   F = A - B with A ~ r^-13, B ~ r^-7. r^2 has 3 u (sum of products); its reciprocal 5 u (1 ulp, as
 *            approximate reciprocals have); r^-6 17 u (cube and two products); the r^-12 part of force over r, counted
 *            through parameters and products, 44 u, times a component 46 u. PAIR_ROUNDINGS = 48 covers force, energy
 *            (40) and virial (48), relative to A + B, not to A - B: the difference cancels. force.arithmetic = fast:
 *            the reciprocal of r^2 has up to 6 u of its own in place of 2 u (rcp.approx of CUDA 2 u; rsqrt.approx,
 *            relative error 2^-22.9, squared 5.3 u; rcpps, 1.5 2^-12, after one Newton step 2.3 u and its roundings),
 *            which enters by its sixth power: 24 u more.
 *  cutoff    A pair nearer to the cutoff than the error of its distance may be counted by one side and not by the
 *            other: the whole value of the pair at the cutoff is allowed for.
 *
 * A force component sums the n pairs of one row: n u times the sum of absolute values (Higham, Accuracy and Stability
 * of Numerical Algorithms, 2nd ed., section 4.2), whatever the order. All of these are worst cases, and there are few
 * enough pairs in a row to add them as such. (Half lists add the same terms, in the order in which atomics come.)
 *
 * A total has N rows, and the worst case grows like N while real rounding errors, being independent, grow like
 * sqrt(N); the worst case would let a lost pair pass. For independent errors of mean zero bounded by e_k the sum stays
 * below LAMBDA sqrt(sum e_k^2) but for a probability of 2 exp(-LAMBDA^2/2), 3e-8 (Hoeffding; used for roundoff by
 * Higham and Mary, SIAM J. Sci. Comput. 41, A2815 (2019)). What is not independent is added in full: the rounding of
 * the parameters and of L, and adding up all pairs in double precision, in whatever order. A half list meets each pair
 * once and not twice, from either side with errors of their own: its error weighs twice in the sum of squares.
 *
 * reduce.accumulate = single: each value is rounded to single, and each addition on its way into the total rounds by u of
 * a partial sum: at most (depth + 2) u times the sum of absolute values, with the depth the longest way of any value: a
 * row of 128 elements, a tree over 1024 threads, and the partial sums of blocks of 32 one after the other. A block of
 * bricks has many rows a thread, each pair of them added to one sum: at worst all rows of a brick (or all there are, in the
 * systems of these tests), shared among 32 threads. Not taken as independent: equal numbers round alike. compensated: values rounded once, the result once, what is lost in between
 * is kept (Neumaier; Higham, section 4.3: 2 u and terms in u^2): 4 u whatever the depth.
 *
 * A run judges itself by bounds of its own (md_reference_bounds). These are kept apart on purpose: a mistake in the
 * ones cannot hide in the others. */
#ifndef MD_TESTS_TOLERANCE_H
#define MD_TESTS_TOLERANCE_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "near.h"
#include "system/system.h"

#define TOLERANCE_PAIR_ROUNDINGS 48.0
#define TOLERANCE_FAST_ROUNDINGS 24.0
#define TOLERANCE_LAMBDA         6.0

typedef struct Tolerance {
    int precision;
    double *force;         /* [n_atoms], of each component */
    double accumulated_sq; /* sum over atoms of the squared rounding of adding up a row, as independent errors */
    double pairs;          /* that lie on the cutoff within rounding */
    double potential, truncation, virial, kinetic, momentum, force_sq_mass;
    double virial_tensor, kinetic_tensor; /* of each component */
} Tolerance;

static inline double tolerance_roundoff(int precision) {
    return precision == MD_PRECISION_DOUBLE ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
}

/* What is kept of a position: mixed precision has at least 33 significant bits. */
static inline double tolerance_place_roundoff(int precision) {
    if (precision == MD_PRECISION_MIXED) return 0x1p-33;
    return precision == MD_PRECISION_SINGLE ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
}

/* Of a velocity: mixed precision may have a float. */
static inline double tolerance_velocity_roundoff(int precision) { return tolerance_roundoff(precision); }

/* Of one pair, in u. */
static inline double tolerance_pair_roundings(const MdConfig *config) {
    return TOLERANCE_PAIR_ROUNDINGS + (config->force_arithmetic == MD_ARITHMETIC_FAST ? TOLERANCE_FAST_ROUNDINGS : 0);
}

static inline bool tolerance_has_bricks(const MdConfig *config) {
    const bool may = config->force_kernel == MD_KERNEL_AUTO && config->neighbor_list == MD_LIST_FULL;
    return config->force_kernel == MD_KERNEL_BRICK || may;
}

/* What reduce.accumulate adds to the error of a total of n_atoms values, as a share of the sum of absolute values. */
static inline double tolerance_accumulate(const MdConfig *config, int64_t n_atoms) {
    const double u = FLT_EPSILON / 2, row = 128, rows = tolerance_has_bricks(config) ? 1 + (double)n_atoms / 32 : 1;
    const double depth = rows * row + 10 + (double)n_atoms / 32;
    if (config->reduce_accumulate == MD_ACCUMULATE_SINGLE) return (depth + 2) * u;
    return config->reduce_accumulate == MD_ACCUMULATE_COMPENSATED ? 4 * u : 0;
}

/* Error of one total as it is collected: see above. */
typedef struct ToleranceTotal {
    double pair_sq, row_sq; /* sums of e_k^2 */
    double coherent;        /* added in full */
    double wrapped[3];      /* derivative by the length of each axis */
    double value_abs;       /* sum over pairs of absolute values */
} ToleranceTotal;

/* What one pair adds: value q, the sum of the absolute values of its parts, slope dq/dr. */
typedef struct TolerancePart {
    double value, parts, slope;
} TolerancePart;

/* Sums over one row, per quantity. */
typedef struct ToleranceRow {
    double value_abs, slope_abs;
} ToleranceRow;

static inline void tolerance_add_pair(ToleranceTotal *total, ToleranceRow *row, TolerancePart q, double roundings,
                                      double u, double image_error, const double unit[3], const double wraps[3]) {
    double e = roundings * u * q.parts + image_error * fabs(q.slope);
    total->pair_sq += e * e / 2; /* each pair is met twice, once from either side */
    total->coherent += u * q.parts / 2;
    for (int a = 0; a < 3; a++) total->wrapped[a] += q.slope * unit[a] * wraps[a] / 2;
    row->value_abs += fabs(q.value);
    row->slope_abs += fabs(q.slope);
}

static inline void tolerance_add_row(ToleranceTotal *total, const ToleranceRow *row, double u, double extent,
                                     int64_t n_row) {
    double accumulated = (double)n_row * u * row->value_abs / 2, moved = u * extent * row->slope_abs;
    total->row_sq += accumulated * accumulated + moved * moved;
    total->value_abs += row->value_abs / 2;
}

static inline double tolerance_of_total(const ToleranceTotal *total, const MdConfig *config, double u,
                                        const MdSystem *system, int64_t n_terms) {
    const MdBox *box = &system->box;
    double half = config->neighbor_list == MD_LIST_HALF ? 2 : 1;
    double sum =
        TOLERANCE_LAMBDA * sqrt(half * total->pair_sq + total->row_sq) + total->coherent +
        ((double)n_terms * (DBL_EPSILON / 2) + tolerance_accumulate(config, system->n_atoms)) * total->value_abs;
    for (int a = 0; a < 3; a++)
        if (box->periodic[a]) sum += u * box->length[a] * fabs(total->wrapped[a]);
    return sum;
}

/* Largest coordinate, which sets the rounding of positions. */
static inline double tolerance_extent(const MdSystem *system, const double *position) {
    double extent = 0;
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) extent = fmax(extent, fabs(position[k]));
    for (int a = 0; a < system->box.dimension; a++)
        if (system->box.periodic[a]) extent = fmax(extent, system->box.length[a]);
    return extent;
}

/* Vector from j to i and how many box lengths were taken off, for places in [0, length): written with comparisons, not
 * with the formula under test, and quick. Returns its square. */
static inline double tolerance_separation(const MdSystem *system, const double *position, int64_t i, int64_t j,
                                          double d[3], double wraps[3]) {
    double r_sq = 0;
    for (int a = 0; a < 3; a++) {
        double plain = position[3 * i + a] - position[3 * j + a], length = system->box.length[a];
        wraps[a] = !system->box.periodic[a] ? 0 : plain > length / 2 ? 1 : plain < -length / 2 ? -1 : 0;
        d[a] = plain - wraps[a] * length;
        r_sq += d[a] * d[a];
    }
    return r_sq;
}

/* Tolerances for a state and the switches of config. Free with tolerance_free. */
static inline Tolerance tolerance_make(const MdSystem *system, const double *position, const double *velocity,
                                       const MdConfig *config) {
    const int precision = config->run_precision;
    const double roundings = tolerance_pair_roundings(config);
    const double accumulate = tolerance_accumulate(config, system->n_atoms);
    const MdBox *box = &system->box;
    const int64_t n = system->n_atoms;
    const double u = tolerance_roundoff(precision) + DBL_EPSILON / 2, root_d = sqrt(box->dimension);
    const double extent = tolerance_extent(system, position);
    double longest = 0;
    for (int a = 0; a < box->dimension; a++) longest = box->periodic[a] ? fmax(longest, box->length[a]) : longest;
    const double reach = system->potential.cutoff_max * (1 + u * 8) + root_d * u * (2 * extent + longest);

    Tolerance t = {.precision = precision, .force = md_alloc((size_t)n, sizeof(double), "tolerances")};
    ToleranceTotal energy = {0}, virial = {0}, tensor = {0};
    double edge_energy = 0, edge_virial = 0, edge_truncation = 0, speed = 0, truncation_sum = 0;
    int64_t n_terms = 0;
    Near near = near_make(system, position, reach);
    for (int64_t i = 0; i < n; i++) {
        ToleranceRow energy_row = {0}, virial_row = {0}, tensor_row = {0};
        double stiff = 0, formula = 0, force_abs = 0, edge = 0, truncation_abs = 0, force[3] = {0, 0, 0};
        int64_t n_row = 1; /* the last rounding is that of the store */
        for (int64_t k = 0, n_near = near_find(&near, i); k < n_near; k++) {
            const int64_t j = near.found[k];
            if (j == i) continue;
            double unit[3], wraps[3], r_sq = tolerance_separation(system, position, i, j, unit, wraps);
            if (r_sq > reach * reach) continue;
            const MdPair_d *pair =
                &system->potential.pair[system->type[i] * system->potential.n_types + system->type[j]];
            double r = sqrt(r_sq), off = root_d * u * (2 * extent + longest + r);
            if (r > pair->cutoff + off) continue;
            for (int a = 0; a < 3; a++) unit[a] /= r;
            const MdShape shape = md_pair_shape_shifted(system->potential.form, pair, r);
            double f = -shape.du, slope = shape.ddu;
            TolerancePart e = {
                .slope = f, .value = md_pair_energy(system->potential.form, pair, r_sq), .parts = shape.size_u};
            TolerancePart w = {.slope = f - slope * r, .value = f * r, .parts = shape.size_du * r};
            if (fabs(r - pair->cutoff) <= off) {
                edge += fabs(f);
                t.pairs += 0.5;
                edge_energy += fabs(e.value) / 2;
                edge_virial += fabs(w.value) / 2;
                edge_truncation += fabs(pair->truncation) / 2;
            }
            n_row++;
            stiff += fmax(fabs(slope), fabs(f) / r) * off;
            formula += roundings * u * shape.size_du;
            force_abs += fabs(f);
            truncation_abs += fabs(pair->truncation);
            for (int a = 0; a < 3; a++) force[a] += f * unit[a];
            double image_error = root_d * u * (longest + r);
            tolerance_add_pair(&energy, &energy_row, e, roundings, u, image_error, unit, wraps);
            tolerance_add_pair(&virial, &virial_row, w, roundings, u, image_error, unit, wraps);
            /* A component f d_a d_b / r is no larger than f r; it changes with r as that does, and by 2 f with the direction. */
            const TolerancePart c = {
                .slope = 3 * fabs(f) + fabs(slope) * r, .value = fabs(f) * r, .parts = shape.size_du * r};
            tolerance_add_pair(&tensor, &tensor_row, c, roundings, u, image_error, unit, wraps);
        }
        tolerance_add_row(&energy, &energy_row, u, extent, n_row);
        tolerance_add_row(&virial, &virial_row, u, extent, n_row);
        tolerance_add_row(&tensor, &tensor_row, u, extent, n_row);
        t.force[i] = stiff + formula + (double)n_row * u * force_abs + edge;
        /* The same constant is added again and again, so these roundings are not independent. */
        t.truncation += (double)n_row * u * truncation_abs / 2;
        truncation_sum += truncation_abs / 2;
        n_terms += n_row;
        t.accumulated_sq += (double)n_row * u * u * force_abs * force_abs;

        /* Velocity: one rounding of what is kept; square, products with mass, sum: eight in all. */
        const double *v = velocity + 3 * i, mass = system->mass[system->type[i]];
        double state = tolerance_velocity_roundoff(precision) + DBL_EPSILON / 2, v_sq = 0, f_sq = 0;
        for (int a = 0; a < 3; a++) {
            v_sq += v[a] * v[a];
            f_sq += force[a] * force[a];
        }
        double sum_error = (double)n * DBL_EPSILON / 2 + accumulate;
        t.kinetic += (8 * state + sum_error) * mass * v_sq / 2;
        speed += (4 * state + sum_error) * mass * sqrt(v_sq);
        t.force_sq_mass += (2 * root_d * sqrt(f_sq) * t.force[i] + box->dimension * t.force[i] * t.force[i] +
                            (8 * u + sum_error) * f_sq) /
                           mass;
    }
    near_free(&near);
    t.momentum = speed;
    t.kinetic_tensor = 2 * t.kinetic;
    t.potential = tolerance_of_total(&energy, config, u, system, n_terms) + edge_energy;
    t.virial = tolerance_of_total(&virial, config, u, system, n_terms) + edge_virial;
    t.virial_tensor = tolerance_of_total(&tensor, config, u, system, n_terms) + edge_virial;
    t.truncation += ((double)n_terms * (DBL_EPSILON / 2) + accumulate) * truncation_sum + edge_truncation;
    return t;
}

static inline void tolerance_free(Tolerance *tolerance) {
    md_free(tolerance->force);
    memset(tolerance, 0, sizeof *tolerance);
}

/* Largest rounding of one coordinate as it is kept, for comparing what is gathered with what was put in. */
static inline double tolerance_position(const MdSystem *system, const double *position, int precision) {
    return 2 * tolerance_place_roundoff(precision) * tolerance_extent(system, position);
}

#endif
