/* The judge: forces, energy and virial in double precision, serial, written for reading.
 *
 * It shares nothing with the backends but the pair formula and the nearest image: it makes its own cells from the
 * positions each time, so that a fault in a list, an order or a kernel cannot hide in it. Cost: O(N). */
#ifndef MD_CPU_REFERENCE_H
#define MD_CPU_REFERENCE_H

#include "physics/thermo.h"
#include "system/system.h"

/* position [n_atoms][3] in [0, length) along periodic axes, by id; force [n_atoms][3] is overwritten. Fills potential,
 * truncation and virial of sums; the other members are set to 0. Box and types are those of system. */
void md_reference_forces(const MdSystem *system, const double *position, double *force, MdSums *sums);

/* The same by all pairs, O(N^2): checks the reference itself. */
void md_reference_forces_brute(const MdSystem *system, const double *position, double *force, MdSums *sums);

#endif
