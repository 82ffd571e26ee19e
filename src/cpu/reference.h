/* The judge: forces, energy and virial in double precision, written for reading: an atom at a time, the same sums on any
 * number of threads.
 *
 * It shares with the backends only the pair formula and the nearest image: it makes its own cells from the
 * positions each time, so that a fault in a list, an order or a kernel cannot hide in it. Cost: O(N), which is seconds for
 * a million atoms: once md_stop_requested, a running computation stops, and its results are invalid. */
#ifndef MD_CPU_REFERENCE_H
#define MD_CPU_REFERENCE_H

#include "physics/thermo.h"
#include "system/system.h"

/* position [n_own][3] in [0, length) along periodic axes, of the rows of system; force [n_own][3] is overwritten. Fills
 * pairs, potential, truncation, virial and virial_tensor of sums, of all processes; the other members are set to 0. Box and types are those
 * of system. Collective. */
void md_reference_forces(const MdSystem *system, const double *position, double *force, MdSums *sums);

/* The same by all pairs, O(N^2), in one process: checks the reference itself. */
void md_reference_forces_brute(const MdSystem *system, const double *position, double *force, MdSums *sums);

/* How far another implementation may be from the reference at these positions, if each of its operations is off by
 * `roundoff` (relative; a small multiple of the unit roundoff), adding up a total by `accumulate` times the sum of its
 * absolute values, and each distance by `shake` times the largest of the coordinates of the two atoms and the periodic
 * edges (from positions kept in less precision), or by shake times `wide` if that is more. First-order error bounds:
 * force_bound [n_own] for each component of the force; pairs, potential, truncation and virial of sums_bound for these
 * sums, and virial_tensor[0] for each component; the other members 0. Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. (2002), chapters 3, 4.
 *
 * scales: other quantities that the tolerances of a run depend on. Collective. */
typedef struct MdReferenceScales {
    /* Sum over all particles of the trace of the Hessian's own block over the mass, tr K_ii / m_i: how stiff their
     * surroundings are, in 1/tau^2. */
    double curvature;
    /* The same of each type, and its particles. */
    double curvature_of[MD_MAX_TYPES], n_of[MD_MAX_TYPES];
    /* Sum over all particles of the sizes of the forces of their pairs, which may cancel, epsilon/sigma. */
    double force;
    /* The largest coordinate of a particle with a partner, or periodic edge, sigma. */
    double extent;
} MdReferenceScales;
void md_reference_bounds(const MdSystem *system, const double *position, double roundoff, double accumulate,
                         double shake, double wide, double *force_bound, MdSums *sums_bound, MdReferenceScales *scales);

#endif
