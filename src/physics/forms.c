#include <math.h>

#include "physics/forms.def"
#include "physics/formulas.h"

#define FORMULAS(name, word, file, ...) extern const MdFormFormulas md_formulas_##file;
MD_FORMS(FORMULAS)
#undef FORMULAS

const MdForm *md_form(int potential) {
#define ROW(name, word, file, words, traits, formula) {word, #file, words, traits, &md_formulas_##file},
    static const MdForm forms[] = {MD_FORMS(ROW)};
#undef ROW
    return &forms[potential];
}

MdPair_d md_pair_make(const MdForm *form, const double *words, double cutoff, int shift, double switch_from) {
    MdPair_d pair = {.cutoff_sq = cutoff * cutoff, .cutoff = cutoff};
    form->formulas->parameters(words, pair.p);
    const double over_r = md_pair_force(form, &pair, cutoff * cutoff),
                 at_cutoff = md_pair_energy(form, &pair, cutoff * cutoff);
    if (shift == MD_SHIFT_ENERGY || shift == MD_SHIFT_FORCE) pair.energy_shift = at_cutoff;
    if (shift == MD_SHIFT_NONE) pair.truncation = at_cutoff;
    if (shift == MD_SHIFT_FORCE) pair.force_shift = over_r * cutoff;
    if (shift == MD_SHIFT_SWITCH) {
        pair.switch_sq = switch_from * switch_from;
        pair.switch_rate = 1 / (pair.cutoff_sq - pair.switch_sq);
    }
    return pair;
}

double md_form_minimum_of(const MdForm *form, const double *words) { return form->formulas->minimum(words); }

MdPair_f md_pair_to_single(MdPair_d pair) {
    MdPair_f single = {.cutoff_sq = (float)pair.cutoff_sq,
                       .cutoff = (float)pair.cutoff,
                       .energy_shift = (float)pair.energy_shift,
                       .force_shift = (float)pair.force_shift,
                       .switch_sq = (float)pair.switch_sq,
                       .switch_rate = (float)pair.switch_rate,
                       .truncation = (float)pair.truncation};
    for (int k = 0; k < MD_FORM_NUMBERS; k++) single.p[k] = (float)pair.p[k];
    return single;
}

/* Of a pair, from its numbers; none and energy are one: without a shift of the energy that is 0. */
static int shift_of(double force_shift, double switch_rate) {
    return switch_rate != 0 ? MD_SHIFT_SWITCH : force_shift != 0 ? MD_SHIFT_FORCE : MD_SHIFT_NONE;
}

double md_pair_force(const MdForm *form, const MdPair_d *pair, double r_sq) {
    return form->formulas->force(pair, shift_of(pair->force_shift, pair->switch_rate), r_sq);
}

double md_pair_energy(const MdForm *form, const MdPair_d *pair, double r_sq) {
    return form->formulas->energy(pair, shift_of(pair->force_shift, pair->switch_rate), r_sq);
}

float md_pair_force_in_single(const MdForm *form, const MdPair_f *pair, float r_sq) {
    return form->formulas->force_in_single(pair, shift_of(pair->force_shift, pair->switch_rate), r_sq);
}

MdShape md_pair_shape(const MdForm *form, const MdPair_d *pair, double r) { return form->formulas->shape(pair->p, r); }

MdShape md_pair_shape_shifted(const MdForm *form, const MdPair_d *pair, double r) {
    MdShape shape = md_pair_shape(form, pair, r);
    const double shift = fabs(pair->force_shift), rate = pair->switch_rate, from_sq = pair->switch_sq;
    shape.u -= pair->energy_shift - (r - pair->cutoff) * pair->force_shift;
    shape.du += pair->force_shift;
    shape.size_u += fabs(pair->energy_shift) + r * shift;
    shape.size_du += shift;
    if (rate == 0 || r * r < 0.999 * from_sq) return shape; /* just below, U'' may be that of just above */
    const double t = fmin(fmax(r * r - from_sq, 0) * rate, 1), slope = -12 * t * (1 - t) * rate * r,
                 s = (1 - t) * (1 - t) * (1 + 2 * t),
                 bend = t > 0 ? slope / r + (2 * t - 1) * 24 * rate * rate * r * r : 0, size_s = s + t,
                 size_slope = 12 * t * rate * r, size_bend = 12 * rate * (1 + 2 * rate * r * r);
    return (MdShape){.u = shape.u * s,
                     .du = shape.du * s + shape.u * slope,
                     .ddu = shape.ddu * s + 2 * shape.du * slope + shape.u * bend,
                     .size_u = shape.size_u * size_s,
                     .size_du = shape.size_du * size_s + shape.size_u * size_slope,
                     .size_ddu = shape.size_ddu * size_s + 2 * shape.size_du * size_slope + shape.size_u * size_bend};
}

/* --- properties of a form for messages and limits, found numerically ------------------------------------------------ */

double md_pair_reach(const MdForm *form, const MdPair_d *pair, double energy) {
    const double furthest = 1e3 * pair->cutoff, nearest = 1e-6 * pair->cutoff;
    double high = pair->cutoff;
    while (high < furthest && md_pair_shape(form, pair, high).u >= energy) high *= 1.02;
    if (high >= furthest) return INFINITY;
    double low = high;
    while (low > nearest && md_pair_shape(form, pair, low).u < energy) low /= 1.02;
    for (int k = 0; k < 70; k++) {
        const double r = (low + high) / 2;
        if (md_pair_shape(form, pair, r).u < energy) high = r;
        else low = r;
    }
    return low;
}

double md_pair_contact(const MdForm *form, const MdPair_d *pair) {
    const double r = md_pair_reach(form, pair, 0);
    return isfinite(r) ? r : pair->cutoff / 2;
}

double md_pair_scale(const MdForm *form, const MdPair_d *pair) {
    double low = md_pair_contact(form, pair), high = low;
    const double furthest = fmax(10 * low, pair->cutoff), at_contact = md_pair_shape(form, pair, low).u;
    while (high < furthest && md_pair_shape(form, pair, high).du < 0) high *= 1.02;
    if (high >= furthest) return fabs(at_contact);
    for (int k = 0; k < 50; k++) {
        const double r = (low + high) / 2;
        if (md_pair_shape(form, pair, r).du < 0) low = r;
        else high = r;
    }
    return fabs(md_pair_shape(form, pair, low).u);
}

/* At a distance, as the pair is truncated. Where U'' jumps, at both ends of a switch, it is not integrated. */
static bool agrees(const MdForm *form, const MdPair_d *pair, double r) {
    const double h = 1e-4 * r; /* powers up to 900 pass, and exponentials as steep */
    const double rate = pair->switch_rate, rounding = 1e-12 * (1 + rate * r * r);
    const bool is_smooth = rate == 0 || fmin(fabs(r - sqrt(pair->switch_sq)), fabs(r - pair->cutoff)) > 2 * h;
    const MdShape s = md_pair_shape_shifted(form, pair, r), far = md_pair_shape_shifted(form, pair, r + h),
                  near = md_pair_shape_shifted(form, pair, r - h);
    if (!(fabs(md_pair_energy(form, pair, r * r) - s.u) <= rounding * s.size_u)) return false;
    if (!(fabs(md_pair_force(form, pair, r * r) * r + s.du) <= rounding * s.size_du)) return false;
    if (!is_smooth) return true;
    /* Simpson's rule for the integrals of U' and U'' */
    const double du = (near.du + 4 * s.du + far.du) * h / 3, ddu = (near.ddu + 4 * s.ddu + far.ddu) * h / 3;
    return fabs(far.u - near.u - du) <= 1e-6 * s.size_du * h + rounding * s.size_u &&
           fabs(far.du - near.du - ddu) <= 1e-6 * s.size_ddu * h + rounding * s.size_du;
}

bool md_pair_is_consistent(const MdForm *form, const MdPair_d *pair, double *r) {
    enum { PLACES = 64 };
    const MdPair_d plain = {
        .cutoff_sq = pair->cutoff_sq, .cutoff = pair->cutoff, .p = {pair->p[0], pair->p[1], pair->p[2], pair->p[3]}};
    const double first = md_pair_contact(form, pair) * 0.7, begin = fmax(first, sqrt(pair->switch_sq));
    for (int k = 0; k < PLACES; k++) {
        *r = first + (pair->cutoff - first) * k / (PLACES - 1);
        if (!agrees(form, &plain, *r) || !agrees(form, pair, *r)) return false;
        *r = begin + (pair->cutoff - begin) * k / (PLACES - 1); /* a switch may be short */
        if (pair->switch_rate != 0 && !agrees(form, pair, *r)) return false;
    }
    return true;
}

/* By t from 0 to 1 with r = cutoff / t^4, so that a power of 3.25 is smooth, too: 32 parts, each with Gauss's five points. */
MdTail md_pair_tail(const MdForm *form, const MdPair_d *pair, int dimension) {
    static const double at[] = {-0.906179845938664, -0.5384693101056831, 0, 0.5384693101056831, 0.906179845938664},
                        weight[] = {0.2369268850561891, 0.4786286704993665, 0.5688888888888889, 0.4786286704993665,
                                    0.2369268850561891};
    enum { PARTS = 32 };
    const double half_sphere = (dimension == 3 ? 2 : 1) * 3.141592653589793; /* half of the surface of radius 1 */
    MdTail tail = {0, 0};
    for (int k = 0; k < 5 * PARTS; k++) {
        const double t = (k / 5 + (1 + at[k % 5]) / 2) / PARTS, r = pair->cutoff / (t * t * t * t);
        const double share = half_sphere * weight[k % 5] / (2 * PARTS) * 4 * pow(r, dimension) / t;
        const MdShape shape = md_pair_shape(form, pair, r);
        tail.energy += share * shape.u;
        tail.pressure -= share * shape.du * r / dimension;
    }
    return tail;
}
