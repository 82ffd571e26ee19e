/* Pair potentials: the functions of a form, and the pair of types made from it.
 *
 * A form is a row of forms.def and a file in forms/, which is compiled for float, double, registers of lanes and CUDA. It has, with
 * p the numbers that md_form_parameters makes of the words of a deck,
 *   md_form_over_r(p, 1/r^2, 1/r, r) force over distance, -U'/r, in units of p[0]: a factor that all pairs have in common waits until
 *                                   they are added up
 *   md_form_energy(p, 1/r^2, 1/r, r) U. It shares no product with the force: a compiler would compute that once and round it, where
 *                                   kernels of forces only fuse it with the operation that follows, and forces would differ between
 *                                   kernels with energies and without
 *   MD_FORM_COPIES                  1: the cpu has compiled copies for each memory.layout and force.arithmetic, which take a second
 *                                   each to compile; 0: these are asked for at run time
 * (MD_EXP and MD_POW are exponential and power of every kind of number; a constant is a whole number, or stands in p: registers of
 * lanes know no other)
 * and under MD_FORM_HOST, in double precision on the host,
 *   md_form_parameters(words, p): none of p may be 0 (sums are divided by p[0], and checks scale by the others); unused ones are 1
 *   md_form_minimum(words): the distance of the minimum; 0: there is none
 *   md_form_shape(p, r)             U and its derivatives, for the verification.
 *
 * The truncation (potential.shift) stands once, in pair.inc: U(r) for r < cutoff, 0 beyond, with
 *   shift none    U as it stands: the energy jumps at the cutoff;
 *   shift energy  U(r) - U(cutoff);
 *   shift force   U(r) - U(cutoff) + (r - cutoff) F(cutoff): energy and force go to zero, F(r) - F(cutoff);
 *   shift switch  U(r) S(r): as it stands up to switch_from, from where S takes energy and force to zero:
 *                 S = (1 - t)^2 (1 + 2 t) with t = (r^2 - switch_from^2) / (cutoff^2 - switch_from^2).
 * Source: Allen, Tildesley, Computer Simulation of Liquids, 2nd ed. (2017), sections 1.2 and 5.2; the switch: B. R. Brooks et al.,
 * J. Comput. Chem. 4, 187 (1983), as in CHARMM and X-PLOR. */
#ifndef MD_PHYSICS_FORM_H
#define MD_PHYSICS_FORM_H

#include <stdbool.h>

#include "physics/forms.def"
#include "physics/real.h"

#define MD_MAX_TYPES           8
#define MD_SHIFTS_FORCE(shift) ((shift) >= MD_SHIFT_FORCE) /* the forces of all pairs inside the cutoff, or of some */
enum { MD_FORM_NUMBERS = 4 };

/* Of one pair of types. */
#define MD_PAIR_FIELDS(real)                                                                                           \
    real cutoff_sq;                                                                                                    \
    real p[MD_FORM_NUMBERS]; /* of the form */                                                                         \
    real cutoff;                                                                                                       \
    real energy_shift; /* subtracted from the energy */                                                                \
    real force_shift;  /* subtracted from the force (not from force over r) */                                         \
    real switch_sq;    /* switch_from squared */                                                                       \
    real switch_rate;  /* 1 / (cutoff^2 - switch_from^2); 0: no switch */                                              \
    real truncation;   /* step of the energy at the cutoff that is left: 0 except with shift none */
typedef struct MdPair_f {
    MD_PAIR_FIELDS(float)
} MdPair_f;
typedef struct MdPair_d {
    MD_PAIR_FIELDS(double)
} MdPair_d;

#ifndef __CUDACC_RTC__ /* the host makes them */
/* U, U' and U'' at a distance, and the sums of the sizes of their terms, which bound the rounding errors. */
typedef struct MdShape {
    double u, du, ddu, size_u, size_du, size_ddu;
} MdShape;

typedef struct MdForm {
    const char *word, *file, *words; /* as forms.def has them */
    int traits;
    const struct MdFormFormulas *formulas;
} MdForm;

/* Of potential.form (MD_POTENTIAL_...). */
const MdForm *md_form(int potential);

/* One pair of types from the words of the form; shift: MD_SHIFT_...; switch_from: for MD_SHIFT_SWITCH, below the cutoff. */
MdPair_d md_pair_make(const MdForm *form, const double *words, double cutoff, int shift, double switch_from);
double md_form_minimum_of(const MdForm *form, const double *words); /* 0: there is none */
MdPair_f md_pair_to_single(MdPair_d pair);

/* At a squared distance below cutoff_sq, with the shift of the pair: force over distance, positive when repulsive; energy. */
double md_pair_force(const MdForm *form, const MdPair_d *pair, double r_sq);
double md_pair_energy(const MdForm *form, const MdPair_d *pair, double r_sq);
float md_pair_force_in_single(const MdForm *form, const MdPair_f *pair, float r_sq);
MdShape md_pair_shape(const MdForm *form, const MdPair_d *pair, double r); /* without shift */
MdShape md_pair_shape_shifted(const MdForm *form, const MdPair_d *pair, double r);

/* The distance where U is zero: sigma of Lennard-Jones. A form without a well has half of the cutoff. */
double md_pair_contact(const MdForm *form, const MdPair_d *pair);
/* Whether the formulas agree with the shape, and its derivatives with each other, at 64 distances up to the cutoff, also as the pair is
 * truncated; if not, r is a distance where they do not. */
bool md_pair_is_consistent(const MdForm *form, const MdPair_d *pair, double *r);

/* Tail corrections for density 1: particles spread evenly beyond the cutoff add this to the energy of an atom and, times the
 * density once more, to the pressure: the integrals of U and of -r U' / D over half of its pairs (Allen, Tildesley, section 2.8). For U
 * without a shift. */
typedef struct MdTail {
    double energy, pressure;
} MdTail;
MdTail md_pair_tail(const MdForm *form, const MdPair_d *pair, int dimension);
#endif

#endif
