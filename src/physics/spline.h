/* Cubic pieces through the points of a table.
 *
 * A spline stands on an even grid from x = 0. Its pieces are cubics that have the values of the table at both
 * ends, and slopes by finite differences: five points inside, three at the second point and the last but one, two at
 * the ends. Its first derivative is continuous, the second is not. LAMMPS interpolates tables of EAM so
 * (pair_eam.cpp), and energies of other splines differ. Beyond the last point it keeps the value there, and its
 * derivative is the slope there, until line_from; from there on it is a straight line with that slope. Below x = 0
 * the first piece goes on. */
#ifndef MD_PHYSICS_SPLINE_H
#define MD_PHYSICS_SPLINE_H

#include "physics/form.h"

/* c[0] + c[1] t + c[2] t^2 + c[3] t^3, t from 0 to 1 between two points. */
typedef struct MdCubic {
    double c[4];
} MdCubic;

typedef struct MdSpline {
    int n; /* points, 3 at least */
    double dx;
    double line_from;      /* the straight line begins at this x; the last point, or beyond it; INFINITY: nowhere */
    const MdCubic *pieces; /* [n - 1] */
} MdSpline;

/* The slope at point k of n, in units of y over an interval. */
double md_spline_slope(int n, const double *y, int k);
/* Fills pieces[n - 1] from y[n]; n is 3 at least. */
void md_spline_pieces(int n, const double *y, MdCubic *pieces);
/* Value, derivatives by x, and the sums of the sizes of their terms for given coefficients; rounding of x is not
 * among them. */
MdShape md_spline_shape(const MdSpline *spline, double x);

#endif
