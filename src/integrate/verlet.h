/* Velocity Verlet as a sequence of backend operations.
 * Source: Swope, Andersen, Berens, Wilson, J. Chem. Phys. 76, 637 (1982). */
#ifndef MD_INTEGRATE_VERLET_H
#define MD_INTEGRATE_VERLET_H

#include "backend/backend.h"

/* List and forces at the places as they are: what the first step starts from. with_energy as in compute_forces. */
MdStatus md_verlet_start(const MdBackendOps *ops, void *context, bool with_energy);

/* From step - 1 to step. with_energy: energy and virial of the new places are wanted. */
MdStatus md_verlet_step(const MdBackendOps *ops, void *context, int64_t step, bool with_energy);

#endif
