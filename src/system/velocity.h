/* Masses and initial velocities, of the particles of all processes. The functions are collective. */
#ifndef MD_SYSTEM_VELOCITY_H
#define MD_SYSTEM_VELOCITY_H

#include "system/coordinates.h"
#include "system/random.h"
#include "system/system.h"

/* Mass of all particles, the same bits for every number of processes. */
double md_system_mass(const MdSystem *system);

/* Maxwell velocities: normal numbers times sqrt(T / m), the total momentum removed, then scaled so that the temperature
 * with so many degrees of freedom is exact. Along z, 0 in two dimensions. */
void md_velocity_fill(MdSystem *system, double temperature, double degrees, MdRandom *random);

/* Takes the mean motion away: the temperature counts dimension (n_atoms - 1) degrees of freedom. */
void md_velocity_remove_momentum(MdSystem *system);

/* The thermal speed of the heaviest type along an axis, of the start or of the thermostat's target, whichever is more; less where
 * the velocities of a file make few atoms fast and most slow. c: the coordinates of a file, or NULL. */
double md_velocity_slowest(const MdConfig *config, const MdSystemPlan *plan, const double *mass,
                           const MdCoordinates *c);

#endif
