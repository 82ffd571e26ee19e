/* Velocity Verlet (Swope, Andersen, Berens, Wilson, J. Chem. Phys. 76, 637 (1982)), as the backends make it. */
#ifndef MD_INTEGRATE_VERLET_H
#define MD_INTEGRATE_VERLET_H

#include "backend/backend.h"

/* List and forces at the current positions: the start of the first step. with_energy as in compute_forces. */
MdStatus md_verlet_start(const MdBackendOps *ops, void *context, bool with_energy);

#endif
