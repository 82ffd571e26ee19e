#include <math.h>
#include <stddef.h>

#include "physics/forms.def"
#include "physics/formulas.h"
#include "physics/potential.h"

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

/* A pair, or pair k of a potential, and of a many-body form its effective pair (potential.h). */
typedef struct Curve {
    const MdForm *form;
    const MdPair_d *pair;
    const MdPotential *potential; /* NULL: of the pair alone */
    int k;
} Curve;

/* Without shift. */
static MdShape curve_at(const Curve *c, double r) {
    const MdPotential *p = c->potential;
    MdShape shape = p && p->tables ? md_potential_pair_shape(p, c->k, r) : md_pair_shape(c->form, c->pair, r);
    for (int turn = 0; turn < 2 && p && md_potential_embeds(p); turn++) {
        const int k = turn ? md_potential_turned(p, c->k) : c->k;
        const MdShape g = p->tables ? md_potential_density_shape(p, k, r) : md_pair_shape(c->form, &p->density[k], r);
        const double slope = p->slope[k], size = fabs(slope);
        shape.u += slope * g.u;
        shape.du += slope * g.du;
        shape.ddu += slope * g.ddu;
        shape.size_u += size * g.size_u;
        shape.size_du += size * g.size_du;
        shape.size_ddu += size * g.size_ddu;
    }
    return shape;
}

static double reach_of(const Curve *c, double energy) {
    const double furthest = 1e3 * c->pair->cutoff, nearest = 1e-6 * c->pair->cutoff;
    double high = c->pair->cutoff;
    while (high < furthest && curve_at(c, high).u >= energy) high *= 1.02;
    if (high >= furthest) return INFINITY;
    double low = high;
    while (low > nearest && curve_at(c, low).u < energy) low /= 1.02;
    for (int k = 0; k < 70; k++) {
        const double r = (low + high) / 2;
        if (curve_at(c, r).u < energy) high = r;
        else low = r;
    }
    return low;
}

static double contact_of(const Curve *c) {
    const double r = reach_of(c, 0);
    return isfinite(r) ? r : c->pair->cutoff / 2;
}

static double scale_of(const Curve *c) {
    double low = contact_of(c), high = low;
    const double furthest = fmax(10 * low, c->pair->cutoff), at_contact = curve_at(c, low).u;
    while (high < furthest && curve_at(c, high).du < 0) high *= 1.02;
    if (high >= furthest) return fabs(at_contact);
    for (int k = 0; k < 50; k++) {
        const double r = (low + high) / 2;
        if (curve_at(c, r).du < 0) low = r;
        else high = r;
    }
    return fabs(curve_at(c, low).u);
}

double md_pair_contact(const MdForm *form, const MdPair_d *pair) {
    const Curve c = {form, pair, NULL, 0};
    return contact_of(&c);
}

static Curve curve_of(const MdPotential *potential, int k) {
    return (Curve){potential->form, &potential->pair[k], potential, k};
}

MdShape md_potential_shape(const MdPotential *potential, int k, double r) {
    const Curve c = curve_of(potential, k);
    return curve_at(&c, r);
}
double md_potential_reach(const MdPotential *potential, int k, double energy) {
    const Curve c = curve_of(potential, k);
    return reach_of(&c, energy);
}
double md_potential_contact(const MdPotential *potential, int k) {
    const Curve c = curve_of(potential, k);
    return contact_of(&c);
}
double md_potential_scale(const MdPotential *potential, int k) {
    const Curve c = curve_of(potential, k);
    return scale_of(&c);
}

double md_potential_edge_force(const MdPotential *potential, int k) {
    const MdPair_d *pair = &potential->pair[k];
    const double force = md_potential_force_at(potential, k, pair->cutoff_sq) * pair->cutoff;
    if (!md_potential_embeds(potential)) return force;
    const int turned = md_potential_turned(potential, k);
    return force + (potential->slope[k] * md_potential_density_force_at(potential, k, pair->cutoff_sq) +
                    potential->slope[turned] * md_potential_density_force_at(potential, turned, pair->cutoff_sq)) *
                       pair->cutoff;
}

/* --- pairs and densities as they are truncated ---------------------------------------------------------------------- */

/* phi from r phi; the argument of a table is rounded as well. */
static MdShape shape_from_product(MdShape z, double r) {
    MdShape shape = {.u = z.u / r, .size_u = (z.size_u + r * fabs(z.du)) / r};
    shape.du = (z.du - shape.u) / r;
    shape.ddu = (z.ddu - 2 * shape.du) / r;
    shape.size_du = (z.size_du + r * fabs(z.ddu) + shape.size_u) / r;
    shape.size_ddu = (z.size_ddu + 2 * shape.size_du) / r;
    return shape;
}

MdShape md_potential_pair_shape(const MdPotential *potential, int k, double r) {
    if (!potential->tables) return md_pair_shape_shifted(potential->form, &potential->pair[k], r);
    return shape_from_product(md_spline_shape(&potential->tables->pair[k], r), r);
}

MdShape md_potential_density_shape(const MdPotential *potential, int k, double r) {
    if (!potential->tables) return md_pair_shape_shifted(potential->form, &potential->density[k], r);
    MdShape g = md_spline_shape(&potential->tables->density[k], r);
    g.size_u += r * fabs(g.du);
    g.size_du += r * fabs(g.ddu);
    return g;
}

double md_potential_energy_at(const MdPotential *potential, int k, double r_sq) {
    if (potential->tables) return md_potential_pair_shape(potential, k, sqrt(r_sq)).u;
    return md_pair_energy(potential->form, &potential->pair[k], r_sq);
}
double md_potential_force_at(const MdPotential *potential, int k, double r_sq) {
    if (potential->tables) return -md_potential_pair_shape(potential, k, sqrt(r_sq)).du / sqrt(r_sq);
    return md_pair_force(potential->form, &potential->pair[k], r_sq);
}
double md_potential_density_at(const MdPotential *potential, int k, double r_sq) {
    if (potential->tables) return md_spline_shape(&potential->tables->density[k], sqrt(r_sq)).u;
    return md_pair_energy(potential->form, &potential->density[k], r_sq);
}
double md_potential_density_force_at(const MdPotential *potential, int k, double r_sq) {
    if (potential->tables) return -md_spline_shape(&potential->tables->density[k], sqrt(r_sq)).du / sqrt(r_sq);
    return md_pair_force(potential->form, &potential->density[k], r_sq);
}

/* --- many-body forms ------------------------------------------------------------------------------------------------ */

int md_potential_turned(const MdPotential *potential, int k) {
    return k % potential->n_types * potential->n_types + k / potential->n_types;
}

bool md_potential_embeds(const MdPotential *potential) {
    return potential->form && potential->form->traits & MD_FORM_EMBEDS;
}

MdEmbedding md_potential_embedding(const MdPotential *potential, int type, double rho) {
    const double s = potential->strength[type], root = sqrt(rho);
    if (potential->tables) {
        const MdShape f = md_spline_shape(&potential->tables->embedding[type], rho);
        return (MdEmbedding){f.u, f.du, f.ddu};
    }
    if (!(rho > 0)) return (MdEmbedding){0, 0, 0};
    return (MdEmbedding){.u = -s * root, .du = -s / (2 * root), .ddu = s / (4 * root * rho)};
}

/* Of an even crystal, face-centred cubic or square, that has only pairs of this kind; its neighbours are within half of the cutoff. */
static double density_of_crystal(const MdPotential *potential, int k, int dimension, double number_density) {
    const MdPair_d *density = &potential->density[k];
    const double side = dimension == 3 ? cbrt(0.5 / number_density) : sqrt(1 / number_density), /* of half a cell */
        edge = fmin(side, density->cutoff / (2 * (dimension == 3 ? sqrt(2.0) : 1)));
    const int n = (int)(density->cutoff / edge) + 1, depth = dimension == 3 ? n : 0;
    double rho = 0;
    for (int z = -depth; z <= depth; z++)
        for (int y = -n; y <= n; y++)
            for (int x = -n; x <= n; x++) {
                const double r_sq = edge * edge * (double)(x * x + y * y + z * z);
                if ((dimension == 3 && (x + y + z) % 2 != 0) || r_sq == 0 || r_sq >= density->cutoff_sq) continue;
                rho += md_potential_density_at(potential, k, r_sq);
            }
    return rho;
}

void md_potential_set_slopes(MdPotential *potential, int dimension, double number_density) {
    const int n = potential->n_types;
    for (int k = 0; k < n * n && md_potential_embeds(potential); k++) {
        const double rho = density_of_crystal(potential, k, dimension, number_density);
        potential->slope[k] = md_potential_embedding(potential, k / n, rho).du;
    }
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
