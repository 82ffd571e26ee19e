/* Cubic pieces: slopes by finite differences, values and derivatives, what holds beyond the ends. */
#include <math.h>

#include "check.h"
#include "physics/spline.h"

enum { N = 8 };
static const double dx = 0.25;

/* No cubic. */
static double curve(double x) { return exp(-x) + sin(3 * x); }

static void fill(double y[N]) {
    for (int k = 0; k < N; k++) y[k] = curve(k * dx);
}

/* Powers of the point's number: two points are exact for lines, three for squares, five for fourth powers. */
static void test_slopes(void) {
    check_context("slopes");
    const double squares[N] = {0, 1, 4, 9, 16, 25, 36, 49};
    const double slopes[N] = {1, 2, 4, 6, 8, 10, 12, 13};
    double fourth[N], y[N];
    fill(y);
    for (int k = 0; k < N; k++) {
        CHECK_NEAR(md_spline_slope(N, squares, k), slopes[k], 1e-13);
        fourth[k] = squares[k] * squares[k];
    }
    CHECK_NEAR(md_spline_slope(N, fourth, 1), 8, 1e-13); /* three points: 4 + 4 */
    for (int k = 2; k < N - 2; k++) CHECK_NEAR(md_spline_slope(N, fourth, k), 4.0 * k * k * k, 1e-10);
    CHECK_NEAR(md_spline_slope(N, fourth, N - 2), 4.0 * 216 + 4.0 * 6, 1e-10);
    CHECK_NEAR(md_spline_slope(N, y, 3), (y[1] - y[5] + 8 * (y[4] - y[2])) / 12, 1e-15);
    CHECK_NEAR(md_spline_slope(3, squares, 0), 1, 0);
    CHECK_NEAR(md_spline_slope(3, squares, 1), 2, 0);
    CHECK_NEAR(md_spline_slope(3, squares, 2), 3, 0);
}

static MdSpline spline_of(const double *y, MdCubic *pieces, double line_from) {
    md_spline_pieces(N, y, pieces);
    return (MdSpline){.n = N, .dx = dx, .line_from = line_from, .pieces = pieces};
}

/* The derivatives are those of the value and of each other. */
static void check_derivatives(MdShape (*shape_at)(double), double x) {
    const double h = 1e-5;
    const MdShape low = shape_at(x - h), middle = shape_at(x), high = shape_at(x + h);
    CHECK_NEAR(middle.du, (high.u - low.u) / (2 * h), 1e-8);
    CHECK_NEAR(middle.ddu, (high.du - low.du) / (2 * h), 1e-7);
    CHECK(middle.size_u >= fabs(middle.u) && middle.size_du >= fabs(middle.du) && middle.size_ddu >= fabs(middle.ddu));
}

static MdShape at_curve(double x) {
    double y[N];
    MdCubic pieces[N - 1];
    fill(y);
    const MdSpline spline = spline_of(y, pieces, INFINITY);
    return md_spline_shape(&spline, x);
}

static void test_inside(void) {
    check_context("between the points");
    double y[N];
    fill(y);
    for (int k = 0; k < N; k++) {
        CHECK_NEAR(at_curve(k * dx).u, y[k], 1e-15);
        CHECK_NEAR(at_curve(k * dx).du, md_spline_slope(N, y, k) / dx, 1e-13);
    }
    for (int k = 0; k < N - 1; k++) {
        const double s0 = md_spline_slope(N, y, k), s1 = md_spline_slope(N, y, k + 1);
        CHECK_NEAR(at_curve((k + 0.5) * dx).u, (y[k] + y[k + 1]) / 2 + (s0 - s1) / 8, 1e-14);
        for (int part = 1; part < 4; part++) check_derivatives(at_curve, (k + 0.25 * part) * dx);
    }
    check_derivatives(at_curve, -0.1); /* the first piece goes on */
    check_derivatives(at_curve, -0.4);
}

static void test_sizes(void) {
    check_context("sizes of terms");
    const MdCubic piece[] = {{{1, -2, 3, -4}}, {{1, -2, 3, -4}}};
    const MdSpline spline = {.n = 3, .dx = 0.5, .line_from = INFINITY, .pieces = piece};
    const MdShape shape = md_spline_shape(&spline, 0.75); /* t = 1/2 */
    CHECK_NEAR(shape.u, 1 - 1 + 0.75 - 0.5, 1e-15);
    CHECK_NEAR(shape.size_u, 1 + 1 + 0.75 + 0.5, 1e-15);
    CHECK_NEAR(shape.du, (-2 + 3 - 3) / 0.5, 1e-15);
    CHECK_NEAR(shape.size_du, (2 + 3 + 3) / 0.5, 1e-15);
    CHECK_NEAR(shape.ddu, (6 - 12) / 0.25, 1e-15);
    CHECK_NEAR(shape.size_ddu, (6 + 12) / 0.25, 1e-15);
}

static void check_beyond(double line_from, double x, double rise) {
    double y[N];
    MdCubic pieces[N - 1];
    fill(y);
    const MdSpline spline = spline_of(y, pieces, line_from);
    const MdShape shape = md_spline_shape(&spline, x);
    const double slope = (y[N - 1] - y[N - 2]) / dx;
    CHECK_NEAR(shape.u, y[N - 1] + slope * rise, 1e-13);
    CHECK_NEAR(shape.du, slope, 1e-13);
    CHECK_NEAR(shape.ddu, 0, 0);
    CHECK(shape.size_u >= fabs(shape.u) && shape.size_du >= fabs(shape.du));
}

static void test_beyond(void) {
    check_context("beyond the last point");
    const double last = (N - 1) * dx;
    check_beyond(INFINITY, last + 0.1, 0);
    check_beyond(INFINITY, 1e30, 0);
    check_beyond(last, last + 0.1, 0.1);
    check_beyond(last, last + 10, 10);
    check_beyond(last + dx, last + 0.5 * dx, 0); /* a line that begins later, as of funcfl */
    check_beyond(last + dx, last + 3 * dx, 2 * dx);
}

int main(void) {
    test_slopes();
    test_inside();
    test_sizes();
    test_beyond();
    return check_finish();
}
