#include "physics/spline.h"

#include <math.h>

/* Slopes are those by t. */
static MdCubic cubic_of(double y0, double y1, double slope0, double slope1) {
    const double rise = y1 - y0;
    return (MdCubic){{y0, slope0, 3 * rise - 2 * slope0 - slope1, slope0 + slope1 - 2 * rise}};
}

/* h: the length of the interval. */
static MdShape shape_of(const MdCubic *cubic, double t, double h) {
    const double *c = cubic->c, a0 = fabs(c[0]), a1 = fabs(c[1]), a2 = fabs(c[2]), a3 = fabs(c[3]), s = fabs(t);
    return (MdShape){.u = ((c[3] * t + c[2]) * t + c[1]) * t + c[0],
                     .du = ((3 * c[3] * t + 2 * c[2]) * t + c[1]) / h,
                     .ddu = (6 * c[3] * t + 2 * c[2]) / (h * h),
                     .size_u = ((a3 * s + a2) * s + a1) * s + a0,
                     .size_du = ((3 * a3 * s + 2 * a2) * s + a1) / h,
                     .size_ddu = (6 * a3 * s + 2 * a2) / (h * h)};
}

double md_spline_slope(int n, const double *y, int k) {
    if (k == 0) return y[1] - y[0];
    if (k == n - 1) return y[k] - y[k - 1];
    if (k == 1 || k == n - 2) return 0.5 * (y[k + 1] - y[k - 1]);
    return (y[k - 2] - y[k + 2] + 8 * (y[k + 1] - y[k - 1])) / 12;
}

void md_spline_pieces(int n, const double *y, MdCubic *pieces) {
    for (int k = 0; k < n - 1; k++)
        pieces[k] = cubic_of(y[k], y[k + 1], md_spline_slope(n, y, k), md_spline_slope(n, y, k + 1));
}

/* Beyond the last point. */
static MdShape shape_beyond(const MdSpline *spline, double x) {
    MdShape shape = shape_of(&spline->pieces[spline->n - 2], 1, spline->dx);
    const double over = x > spline->line_from ? x - spline->line_from : 0;
    shape.u += shape.du * over;
    shape.size_u += shape.size_du * over;
    shape.ddu = shape.size_ddu = 0;
    return shape;
}

MdShape md_spline_shape(const MdSpline *spline, double x) {
    const double at = x / spline->dx;
    const int k = (int)fmax(fmin(at, spline->n - 2), 0);
    if (at > spline->n - 1) return shape_beyond(spline, x);
    return shape_of(&spline->pieces[k], at - k, spline->dx);
}
