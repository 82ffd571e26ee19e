/* Relaxation of a start before step 0: atoms move along their forces until no force is beyond a bound.
 *
 * First atoms that overlap come apart: x += s F with a fixed s, as long as any atom would move by more than a tenth of the contact
 * distance. Then
 *   steepest  the same with the s of Barzilai and Borwein (IMA J. Numer. Anal. 8, 141 (1988)), from two steps
 *   fire      molecular dynamics whose velocities are turned towards the forces, and are set to zero when they point uphill (Bitzek,
 *             Koskinen, Gaehler, Moseler, Gumbsch, Phys. Rev. Lett. 97, 170201 (2006))
 *
 * The largest displacement of an atom per step is a tenth of the shortest contact distance. Lengths of steps follow from the curvature of
 * the stiffest pair at contact, with masses of 1: neither run.timestep nor masses matter.
 *
 * All of this is done in double precision, in a separate context with the default switches: r^-14 of overlapping atoms is beyond the range
 * of a float, and so the switches of a run do not change where it starts. Its sums do not depend on the order of their terms, so that the
 * result does not depend on the number of processes. Velocities, masses and types stay as they are. */
#ifndef MD_INTEGRATE_MINIMIZE_H
#define MD_INTEGRATE_MINIMIZE_H

#include "backend/backend.h"

typedef struct MdMinimization {
    int64_t n_steps;                    /* made */
    double force_before, force;         /* largest on an atom, epsilon/sigma */
    double potential_before, potential; /* energy, epsilon per atom */
    double seconds;                     /* host clock */
} MdMinimization;

/* Memory of that context, by the configuration before resolve; input errors as in resolve. */
MdStatus md_minimize_estimate(const MdBackendOps *ops, const MdConfig *asked, const MdSystemPlan *plan,
                              MdMemory *memory, MdErrors *errors);

/* Changes position (and image) of system by run.minimize, run.minimize_force, run.minimize_steps of asked, the configuration before
 * resolve. Collective. MD_STOPPED when the run is to stop (base/stop.h). Input errors: the backend cannot do it (memory); a force that is
 * not finite, as of two atoms at one place. */
MdStatus md_minimize(const MdBackendOps *ops, const MdConfig *asked, const MdSystemPlan *plan, MdSystem *system,
                     MdMinimization *result, MdErrors *errors);

#endif
