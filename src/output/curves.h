/* Curves: quantities at some points, of several kinds of atoms, with standard errors, as files show them: in the units of system.units.
 * An analysis makes them, and NAME.msd.csv and the like have them. */
#ifndef MD_OUTPUT_CURVES_H
#define MD_OUTPUT_CURVES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/units.h"

enum { MD_CURVE_AXES = 2, MD_KIND_BYTES = 32 };

typedef struct MdAxis {
    const char *name; /* `time` */
    MdQuantity unit;
    double *values; /* [n_points] */
} MdAxis;

typedef struct MdCurves {
    const char *name, *title; /* `msd`; `mean_square_displacement` */
    MdUnits units;
    int n_points, n_kinds, n_axes;
    MdAxis axis[MD_CURVE_AXES];
    MdQuantity unit;             /* of the values */
    const char *blocks;          /* that errors come from: `windows` */
    char (*kind)[MD_KIND_BYTES]; /* [n_kinds] `msd`, `msd of type 1` */
    bool *is_plain;              /* [n_kinds] without an error */
    int64_t *n_blocks;           /* [n_points] */
    double *mean, *error;        /* [n_points][n_kinds]; NaN: not known */
} MdCurves;

MdCurves *md_curves_create(int n_points, int n_kinds, int n_axes);
void md_curves_destroy(MdCurves *curves); /* accepts NULL */

/* Writes them as CSV, a row for each point. */
MdStatus md_curves_write(const MdCurves *curves, const char *path, MdErrors *errors);

#endif
