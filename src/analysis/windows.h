/* Correlations with an origin: mean square displacement and velocity autocorrelation.
 *
 * Windows follow each other: the first begins at step `from`, each has n_lags samples, `every` steps apart, and the state at its first
 * sample is the origin of all of them. So an atom needs one reference, and a sample costs the same however many lags there are. The
 * value at a lag is the mean over the atoms of a kind, and over windows; windows are the blocks of its standard error.
 *
 * Displacements are those of the accumulated motion. That of the centre of mass is not taken out: it rests, as the total momentum of a
 * run is zero from its start; the noise of langevin moves it as that of Brownian particles.
 *
 * The diffusion coefficient of a window, in D dimensions: of displacements the slope over the second half of the lags by least squares,
 * divided by 2 D (Einstein); of velocities the integral over all lags by trapezoids, divided by D (Green, Kubo). D. Frenkel and B.
 * Smit, Understanding Molecular Simulation, 2nd ed., section 4.4. */
#ifndef MD_ANALYSIS_WINDOWS_H
#define MD_ANALYSIS_WINDOWS_H

#include <stdbool.h>

#include "analysis/mean.h"
#include "output/curves.h"
#include "system/system.h"

enum { MD_MAX_KINDS = 1 + MD_MAX_TYPES }; /* all atoms, and if there are several types those of each */

/* What is said of a correlation. */
typedef struct MdWindowsKind {
    int quantity;             /* MD_OBSERVE_... */
    const char *name, *title; /* see curves.h */
    MdQuantity unit;
} MdWindowsKind;

enum { MD_MSD, MD_VACF, MD_N_WINDOWS };
extern const MdWindowsKind md_windows_kinds[MD_N_WINDOWS];

/* In a restart file, with the arrays behind it; the head tells whether its sums are of the same samples. */
typedef struct MdWindowsState {
    int64_t every, from, n_lags, n_kinds;
    MdMean diffusion[MD_MAX_KINDS]; /* over whole windows */
} MdWindowsState;

typedef struct MdWindows {
    const MdWindowsKind *kind; /* NULL: the deck does not ask for it */
    MdWindowsState *state;
    uint64_t state_bytes;
    MdMean *lag;     /* [n_lags][n_kinds], within state as the next */
    double *window;  /* [n_lags][n_kinds] values of the present window */
    double interval; /* time between two samples */
    int dimension, n_types;
    double n_atoms[MD_MAX_KINDS]; /* of each kind */
} MdWindows;

/* Empty where config does not ask for it. */
MdWindows md_windows_create(int which, const MdConfig *config, const MdSystemPlan *plan);
void md_windows_free(MdWindows *windows);
void md_windows_weigh(MdWindows *windows, const int64_t n_of_type[MD_MAX_TYPES]);

/* Whether a sample is due at a step, and whether it is an origin. */
bool md_windows_are_due(const MdWindows *windows, int64_t step);
bool md_windows_begin(const MdWindows *windows, int64_t step);

/* The sample of that step: sums over the atoms of each type. Samples come in order. */
void md_windows_add(MdWindows *windows, int64_t step, const double *sums);

/* As shown with these units; md_curves_destroy. */
MdCurves *md_windows_curves(const MdWindows *windows, const MdConfig *config);

#endif
