/* A thermostat that acts on each atom, for the kernels of a backend. */
#ifndef MD_BACKEND_HEAT_BATH_H
#define MD_BACKEND_HEAT_BATH_H

#include "deck/config.h"
#include "physics/bath_atoms.h"
#include "physics/thermo.h"
#include "system/system.h"

/* Of a run with this configuration and these particles; its facts are 0 if there is no such thermostat. Collective: all ranks get the
 * numbers of rank 0. */
MdBathAtoms md_heat_bath_make(const MdConfig *config, const MdSystem *system);

/* Its facts alone. */
int md_heat_bath_facts(const MdConfig *config);

/* So many quanta of heat as a sum that is exact over ranks. */
MdSplitSum md_heat_bath_sum(const MdBathAtoms *bath, int64_t quanta);

/* A quantum of heat: 2^-24 of the next power of two of the hottest temperature of the deck, which in a quench is the start's. */
double md_heat_bath_quantum(const MdConfig *config);

#endif
